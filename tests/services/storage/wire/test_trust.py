"""Whom the data plane talks to: the right host behind a certificate, through a proxy where there is one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.servers.http_proxy import HttpProxy
from support.servers.lab_process import LabProcess
from support.servers.secure import SecureFront, SecureServer
from support.stores.stores import Store, plane_at
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.errors import AccessRefused, InvalidInput, NotFound, Unreachable
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.wire.account import WireAccount

PATH = ObjectPath("bucket", "k")
PASSWORD = "p:w d"

pytestmark = pytest.mark.usefixtures("no_waiting")


async def test_only_the_right_name_behind_a_known_certificate_is_told_anything(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with SecureServer(tmp_path) as right, SecureServer(tmp_path / "other", "obs.example.test") as other:
        async with plane_at(right.url, str(right.ca_file)) as plane:
            assert await plane.head(PATH) is None
            assert right.requests == 1
            with pytest.raises(NotFound):
                await plane.put(PATH, BytesBody(b"x"))
        for server, ca_file in ((right, ""), (other, str(other.ca_file)), (right, str(other.ca_file))):
            before = server.requests
            async with plane_at(server.url, ca_file) as plane:
                with pytest.raises(Unreachable, match="certificate"):
                    await plane.head(PATH)
            assert server.requests == before


async def test_a_file_that_holds_no_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing", encoding="utf-8")
    for ca_file in (tmp_path / "ca.pem", tmp_path / "missing.pem"):
        async with plane_at("https://obs.example.test", str(ca_file)) as plane:
            with pytest.raises(InvalidInput, match=ca_file.name):
                await plane.head(PATH)


@pytest.mark.parametrize("signature", [Signature.OBS, Signature.V2])
async def test_the_shape_of_production_works_through_a_proxy(
    lab: LabProcess, lab_obs: Store, bucket: str, tmp_path: Path, signature: Signature
) -> None:
    """The bucket in the host's name (OBS), its certificate checked, by a tunnel of somebody with a password."""
    content = os.urandom(3_000_000)
    path = ObjectPath(bucket, "folder/ä +%.bin")
    async with (
        SecureFront(tmp_path, lab.obs, "localhost", f"{bucket}.localhost") as front,
        HttpProxy("me", PASSWORD) as proxy,
    ):
        there = replace(
            lab_obs.profile,
            obs_endpoint=front.url,
            ca_file=str(front.ca_file),
            signature=signature,
            proxy=proxy.url.replace("//", "//me@"),
        )
        keys = replace(lab_obs.credentials, proxy_password=Secret(PASSWORD))
        async with replace(lab_obs, profile=there, credentials=keys).plane() as plane:
            moved: list[int] = []
            await plane.put(path, BytesBody(content), counted=moved.append)
            assert sum(moved) == len(content) and len(moved) > 5
            pieces: list[bytes] = []
            await plane.get(path, pieces.append)
            assert b"".join(pieces) == content
            assert [row.key for row in (await plane.page(bucket)).rows] == [path.key]
            assert await plane.remove(bucket, [path.key]) == []
        host = f"{bucket}.localhost" if signature is Signature.OBS else "localhost"
        assert set(front.hosts) == {host}
        assert set(proxy.seen) == {f"CONNECT {host}:{urlsplit(front.url).port}"}


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_a_wrong_password_of_the_proxy_is_said_once(scheme: str) -> None:
    async with HttpProxy("me", "right") as proxy:
        address = proxy.url.replace("//", "//me@")
        async with plane_at(f"{scheme}://obs.example.test", proxy=address, proxy_password="wrong one") as plane:
            with pytest.raises(Unreachable, match="user and password") as caught:
                await plane.head(PATH)
        assert "wrong one" not in caught.value.sentence() + caught.value.detail
        assert proxy.refused == 1  # more of them would lock somebody out


async def test_a_proxy_that_says_no_and_one_that_is_not_there_are_named(unused_port: int) -> None:
    async with HttpProxy(forbids=True) as proxy, plane_at("https://obs.example.test", proxy=proxy.url) as plane:
        with pytest.raises(Unreachable, match="does not allow access"):
            await plane.head(PATH)
    async with plane_at("https://obs.example.test", proxy=f"127.0.0.1:{unused_port}") as plane:
        with pytest.raises(Unreachable, match=f"127.0.0.1:{unused_port} is not responding"):
            await plane.head(PATH)


async def test_plain_requests_go_through_a_proxy_with_their_whole_address(
    lab: LabProcess, lab_obs: Store, bucket: str
) -> None:
    async with HttpProxy() as proxy, lab_obs.plane(proxy=proxy.url) as plane:
        await plane.put(ObjectPath(bucket, "a b"), BytesBody(b"content"))
        found = await plane.head(ObjectPath(bucket, "a b"))
        assert found is not None and found.size_bytes == 7
        assert proxy.seen[0] == f"PUT {lab.obs}/{bucket}/a%20b"


@pytest.mark.parametrize(("access_key", "secret_key"), [("", ""), ("AK", ""), (" ", "S"), ("A K", "S"), ("AK", "S\n")])
def test_without_whole_keys_nothing_is_made(access_key: str, secret_key: str) -> None:
    with pytest.raises((AccessRefused, InvalidInput)):
        WireAccount(Profile("p", Provider.MODELARTS, "cn-north-4"), Credentials(access_key, Secret(secret_key)))
