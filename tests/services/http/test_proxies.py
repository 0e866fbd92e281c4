"""The way through a proxy that wants a user and a password, for everything that talks to the services."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support import planted
from support.servers.http_proxy import HttpProxy
from support.servers.secure import SecureFront
from support.stores.way import Way
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Proxy, parse_proxy
from traindeck.domain.errors import AppError, InvalidInput, Unreachable
from traindeck.services.http.proxies import proxy_to

USER, PASSWORD = "ann@campus", planted.PROXY_PASSWORD

pytestmark = pytest.mark.usefixtures("no_waiting")


def through(way: Way, url: str, password: str = PASSWORD, **fields: str) -> Way:
    at = parse_proxy(url)
    keys = replace(way.credentials, proxy_password=Secret(password))
    return way.at(credentials=keys, proxy=Proxy(at.host, at.port, USER).address, **fields)


async def errors_of(way: Way) -> list[AppError]:
    """Of one request to OBS and one to ModelArts."""
    errors = []
    with way.storage() as storage, way.training() as training:
        for request in (storage.buckets, training.engines):
            with pytest.raises(AppError) as caught:
                await request()
            errors.append(caught.value)
    for error in errors:
        assert PASSWORD not in error.sentence() + error.detail + repr(error)
    return errors


async def test_storage_jobs_and_the_project_are_reached_by_it(way: Way) -> None:
    async with HttpProxy(USER, PASSWORD) as proxy:
        there = through(way, proxy.url, project_id="")
        with there.storage() as storage, there.training() as training:
            await storage.create_bucket("by-proxy")
            assert "by-proxy" in [bucket.name for bucket in await storage.buckets()]
            assert await training.engines()
        asked = " ".join(proxy.seen)
        for address in (way.profile.obs_endpoint, way.profile.modelarts_endpoint, way.profile.iam_endpoint):
            assert address.removeprefix("http://") in asked
        assert proxy.refused == 0
        assert len([line for line in proxy.seen if line.startswith("CONNECT")]) == 1, "the tunnel is kept"


async def test_tls_goes_through_it_and_the_host_is_still_checked(way: Way, tmp_path: Path) -> None:
    async with HttpProxy(USER, PASSWORD) as proxy:
        for number, (name, is_right) in enumerate((("localhost", True), ("elsewhere.example", False))):
            folder = tmp_path / str(number)
            folder.mkdir()
            async with SecureFront(folder, way.profile.obs_endpoint, name) as front:
                there = through(way, proxy.url, obs_endpoint=front.url, ca_file=str(front.ca_file))
                with there.storage() as storage:
                    if is_right:
                        await storage.buckets()
                        continue
                    with pytest.raises(Unreachable, match=r"different host|self-signed|authority"):
                        await storage.buckets()
                    assert front.requests == 0


async def test_a_wrong_password_is_said_to_be_one(way: Way) -> None:
    async with HttpProxy(USER, PASSWORD) as proxy:
        for modelarts in ("https://modelarts.example", way.profile.modelarts_endpoint):  # by a tunnel, and without
            for error in await errors_of(through(way, proxy.url, "another", modelarts_endpoint=modelarts)):
                assert isinstance(error, Unreachable)
                assert "rejected its user and password" in error.sentence()


async def test_a_proxy_that_says_no_and_one_that_is_not_there(way: Way, unused_port: int) -> None:
    behind_tls = {"modelarts_endpoint": "https://modelarts.example"}
    async with HttpProxy(forbids=True) as proxy:
        for error in await errors_of(through(way, proxy.url, **behind_tls)):
            assert isinstance(error, Unreachable) and "does not allow access" in error.sentence()
    for error in await errors_of(through(way, f"http://127.0.0.1:{unused_port}", **behind_tls)):
        assert isinstance(error, Unreachable) and f"The proxy 127.0.0.1:{unused_port} is not responding" in str(error)


@pytest.mark.parametrize(
    ("written", "proxy"),
    [
        ("proxy.campus.cn:3128", Proxy("proxy.campus.cn", 3128)),
        ("http://proxy.campus.cn", Proxy("proxy.campus.cn", 8080)),
        ("http://ann%40campus@10.0.0.1:80/", Proxy("10.0.0.1", 80, "ann@campus")),
        ("http://[::1]:3128", Proxy("::1", 3128)),
    ],
)
def test_addresses_are_read_and_written_again(written: str, proxy: Proxy) -> None:
    assert parse_proxy(written) == proxy
    assert parse_proxy(proxy.address) == proxy


@pytest.mark.parametrize(
    "written", ["socks5://h:1", "https://h:1", "http://", "http://h:x", "http://a b:1", "http://u:geheim@h:1", "h/x?y"]
)
def test_what_is_no_proxy_is_refused_without_repeating_it(written: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_proxy(written)
    assert "geheim" not in caught.value.sentence() + caught.value.detail


def test_without_one_in_the_profile_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Credentials("AK", Secret("SK"))
    profile = Profile("p", Provider.MODELARTS, "cn-north-4")
    assert proxy_to("https://obs.example.com", profile, keys) is None
    monkeypatch.setenv("https_proxy", "http://me:geheim@proxy:3128")
    monkeypatch.setenv("no_proxy", "inside.example.com")
    found = proxy_to("https://obs.example.com", profile, keys)
    assert found == Proxy("proxy", 3128, "me", Secret("geheim")) and "geheim" not in repr(found)
    assert proxy_to("https://inside.example.com", profile, keys) is None
    assert proxy_to("https://127.0.0.1:9", profile, keys) is None
    monkeypatch.setenv("https_proxy", "socks5://proxy:1080")
    assert proxy_to("https://obs.example.com", profile, keys) is None
