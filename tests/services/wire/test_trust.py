"""Whom the data plane talks to: the right host behind a certificate, through a proxy where there is one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from servers.faults import FaultyProxy, Request
from servers.forward_proxy import ForwardProxy
from servers.lab_process import LabProcess
from servers.secure import SecureServer, certificate, server_context
from servers.stores import Store
from traindeck.domain.errors import AccessRefused, AppError, InvalidInput, NotFound, Unreachable
from traindeck.domain.objects import ObjectPath
from traindeck.domain.profiles import Profile, Provider, Signature
from traindeck.domain.secret import Credentials, Secret
from traindeck.services import retrying
from traindeck.services.storage.wire.data_plane import WireDataPlane
from traindeck.services.storage.wire.proxy import Proxy
from traindeck.services.storage.wire.requests import BytesBody

KEYS = Credentials("AKEXAMPLE123", Secret("SKEXAMPLE123"))
PASSWORD = Secret("p:w d")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)


@asynccontextmanager
async def plane_at(url: str, ca_file: str = "", proxy: Proxy | None = None) -> AsyncIterator[WireDataPlane]:
    profile = Profile("p", Provider.MODELARTS, "cn-north-4", obs_endpoint=url, ca_file=ca_file)
    plane = WireDataPlane(profile, KEYS, proxy=proxy)
    try:
        yield plane
    finally:
        await plane.close()


async def test_only_the_right_name_behind_a_known_certificate_is_told_anything(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    path = ObjectPath("bucket", "k")
    async with SecureServer(tmp_path) as right, SecureServer(tmp_path / "other", "obs.example.test") as other:
        async with plane_at(right.url, str(right.ca_file)) as plane:
            assert await plane.head(path) is None
            assert right.requests == 1
            with pytest.raises(NotFound):
                await plane.put(path, BytesBody(b"x"))
        for server, ca_file in ((right, ""), (other, str(other.ca_file)), (right, str(other.ca_file))):
            before = server.requests
            async with plane_at(server.url, ca_file) as plane:
                with pytest.raises(Unreachable, match="certificate"):
                    await plane.head(path)
            assert server.requests == before


@asynccontextmanager
async def front(lab: LabProcess, folder: Path) -> AsyncIterator[tuple[FaultyProxy, ForwardProxy, Path]]:
    """The Lab behind TLS, at `*.obs.example.test`, reached through a proxy as nobody resolves that name."""
    ca_file = certificate(folder, "*.obs.example.test")
    hosts: list[str] = []

    def readdress(request: Request, host: str) -> None:
        request.headers["Host"] = f"{hosts.pop()}.localhost:{urlsplit(lab.obs).port}"

    class Front(FaultyProxy):
        async def _forward(self, request: Request) -> tuple[bytes, bytes]:
            hosts.append(request.headers["Host"].removesuffix(".obs.example.test"))
            return await super()._forward(request)

    async with Front(lab.obs, readdress, server_context(folder)) as secure:
        place = "127.0.0.1", urlsplit(secure.url).port or 0
        async with ForwardProxy({"*.obs.example.test:443": place}, "me", PASSWORD.reveal()) as proxy:
            yield secure, proxy, ca_file


async def test_the_shape_of_production_works_through_a_proxy(
    lab: LabProcess, lab_obs: Store, bucket: str, tmp_path: Path
) -> None:
    content = os.urandom(3_000_000)
    path = ObjectPath(bucket, "folder/ä +%.bin")
    async with front(lab, tmp_path) as (secure, proxy, ca_file):
        way = Proxy("127.0.0.1", proxy.port, "me", PASSWORD)
        production = replace(
            lab_obs.profile,
            obs_endpoint="https://obs.example.test",
            ca_file=str(ca_file),
            signature=Signature.AUTO,
        )
        async with replace(lab_obs, profile=production).plane(proxy=way) as plane:
            await plane.put(path, BytesBody(content))
            pieces: list[bytes] = []
            await plane.get(path, pieces.append)
            assert b"".join(pieces) == content
            assert [row.key for row in (await plane.page(bucket)).rows] == [path.key]
            assert await plane.remove(bucket, [path.key]) == []
        assert set(proxy.seen) == {f"CONNECT {bucket}.obs.example.test:443 HTTP/1.1"}
        assert secure.connections == 1  # kept for the next request


@pytest.mark.parametrize(
    ("url", "password", "error"),
    [
        ("https://obs.example.test", "wrong", AccessRefused),
        ("http://obs.example.test", "wrong", AccessRefused),
        ("https://obs.elsewhere.test", "right", Unreachable),
    ],
)
async def test_a_proxy_that_refuses_is_named(url: str, password: str, error: type[AppError]) -> None:
    async with ForwardProxy({}, "me", "right") as proxy:
        way = Proxy("127.0.0.1", proxy.port, "me", Secret(password))
        async with plane_at(url, proxy=way) as plane:
            with pytest.raises(error, match=f"127.0.0.1:{proxy.port}") as caught:
                await plane.head(ObjectPath("bucket", "k"))
        assert password not in caught.value.sentence() + caught.value.detail


async def test_a_proxy_that_is_not_there_is_named(unused_port: int) -> None:
    async with plane_at("https://obs.example.test", proxy=Proxy("127.0.0.1", unused_port)) as plane:
        with pytest.raises(Unreachable, match=f"127.0.0.1:{unused_port}"):
            await plane.head(ObjectPath("bucket", "k"))


async def test_plain_requests_go_through_a_proxy_with_their_whole_address(
    lab: LabProcess, lab_obs: Store, bucket: str
) -> None:
    address = urlsplit(lab.obs)
    async with ForwardProxy({address.netloc: ("127.0.0.1", address.port or 0)}, "me", PASSWORD.reveal()) as proxy:
        async with lab_obs.plane(proxy=Proxy("127.0.0.1", proxy.port, "me", PASSWORD)) as plane:
            await plane.put(ObjectPath(bucket, "a b"), BytesBody(b"content"))
            found = await plane.head(ObjectPath(bucket, "a b"))
            assert found is not None and found.size_bytes == 7
        assert proxy.seen[0] == f"PUT {lab.obs}/{bucket}/a%20b HTTP/1.1"


@pytest.mark.parametrize(
    "keys", [Credentials("", Secret("")), Credentials("AK", Secret("")), Credentials("A K", Secret("S"))]
)
def test_without_keys_nothing_is_made(keys: Credentials) -> None:
    with pytest.raises((AccessRefused, InvalidInput)):
        WireDataPlane(Profile("p", Provider.MODELARTS, "cn-north-4"), keys)
