"""Each step on the way to a service is found: its name, the proxy, the connection, TLS. All ends in bounded time."""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from support.places import closed_port
from support.servers.http_proxy import HttpProxy
from support.servers.secure import SecureServer
from support.servers.silent import SilentServer, unreachable_port
from support.waiting import PATIENT_S
from traindeck.domain.accounts.keys import Secret
from traindeck.domain.accounts.profiles import Check, Profile, Provider, Proxy
from traindeck.services.diagnosis import route
from traindeck.services.diagnosis.route import Route, look_at

PROFILE = Profile("mine", Provider.MODELARTS, "cn-north-4")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "STEP_S", 0.3)


def last(found: Route) -> Check:
    return found.checks[-1]


def said(check: Check) -> str:
    return f"{check.fact} {check.hint or ''}"


async def test_a_good_way_says_what_was_agreed_on_and_who_vouches(tmp_path: Path) -> None:
    async with SecureServer(tmp_path) as server:
        found = await look_at(server.url, replace(PROFILE, ca_file=str(server.ca_file)), None)
        assert server.requests == 0  # nothing was asked
    assert found.is_open and [check.id for check in found.checks] == ["dns", "proxy", "connection", "tls"]
    tls = last(found)
    assert "TLSv1.3" in said(tls) and str(server.ca_file) in said(tls)
    assert tls.passed is None and "renew" in str(tls.hint)  # it is made for one day
    assert [check.passed for check in found.checks[:3]] == [True, True, True]


async def test_a_certificate_that_is_not_trusted_is_told_by_its_reason(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with SecureServer(tmp_path) as server, SecureServer(tmp_path / "other", "other.example") as other:
        unknown = await look_at(server.url, PROFILE, None)
        assert not unknown.is_open and "self-signed" in said(last(unknown)) and "--ca" in said(last(unknown))
        wrong_file = await look_at(server.url, replace(PROFILE, ca_file=str(other.ca_file)), None)
        assert "does not contain its issuer" in said(last(wrong_file))
        other_host = await look_at(other.url, replace(PROFILE, ca_file=str(other.ca_file)), None)
        assert "for a different host" in said(last(other_host))
        missing = await look_at(server.url, replace(PROFILE, ca_file=str(tmp_path / "none.pem")), None)
        assert "none.pem" in said(last(missing))
    assert all(last(found).passed is False for found in (unknown, wrong_file, other_host, missing))


async def test_a_proxy_opens_a_tunnel_or_says_why_not(tmp_path: Path) -> None:
    secret = Secret("pw-0123456789")
    async with (
        SecureServer(tmp_path) as server,
        HttpProxy("me", secret.reveal()) as proxy,
        HttpProxy(forbids=True) as no,
    ):
        trusting = replace(PROFILE, ca_file=str(server.ca_file))
        through = await look_at(server.url, trusting, Proxy("127.0.0.1", proxy.port, "me", secret))
        assert through.is_open and proxy.seen == [f"CONNECT localhost:{server.port}"]
        unknown = await look_at(server.url, trusting, Proxy("127.0.0.1", proxy.port))
        assert "407" in said(last(unknown)) and "password" in said(last(unknown))
        refused = await look_at(server.url, trusting, Proxy("127.0.0.1", no.port))
        assert "403" in said(last(refused)) and not refused.is_open
        away = await look_at(server.url, trusting, Proxy("127.0.0.1", closed_port()))
        assert "cannot be reached" in said(last(away)) and last(away).id == "proxy"
    assert secret.reveal() not in repr((through, unknown, refused, away))


@pytest.mark.usefixtures("quick")
async def test_a_dead_line_is_given_up(tmp_path: Path) -> None:
    nobody = await look_at(f"http://127.0.0.1:{closed_port()}", PROFILE, None)
    assert last(nobody).id == "connection" and last(nobody).passed is False
    with unreachable_port() as port:
        dropped = await look_at(f"http://127.0.0.1:{port}", PROFILE, None)
    assert "timeout" in said(last(dropped)) and not dropped.is_open
    async with SilentServer() as silent:
        mute = await look_at(f"https://localhost:{silent.port}", PROFILE, None)
        assert last(mute).id == "tls" and not mute.is_open
        proxy = await look_at("https://localhost:1", PROFILE, Proxy("127.0.0.1", silent.port))
        assert last(proxy).id == "proxy" and "timeout" in said(last(proxy))
    async with SilentServer(b"x" * 100_000) as endless:
        talking = await look_at("https://localhost:1", PROFILE, Proxy("127.0.0.1", endless.port))
        assert last(talking).passed is False


async def test_a_name_that_nobody_knows_is_said_and_one_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    strange = await look_at(f"https://{'x' * 70}.invalid", PROFILE, None)
    assert last(strange).id == "dns" and last(strange).passed is False
    monkeypatch.setattr(route, "_LONGEST_S", 0.0)
    hung = await look_at("http://127.0.0.1:1", PROFILE, None)
    assert last(hung).passed is False and not hung.is_open


async def test_what_comes_when_nobody_waits_for_it_any_more_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    go, told = threading.Event(), list[object]()

    def slow(*_: object, **__: object) -> None:
        go.wait(PATIENT_S)
        raise OSError("too late to matter")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    monkeypatch.setattr(threading, "excepthook", told.append)
    monkeypatch.setattr(route, "_LONGEST_S", 0.05)
    assert not (await look_at("https://obs.example", PROFILE, None)).is_open
    [left] = [thread for thread in threading.enumerate() if thread.name == "route to a service"]
    go.set()
    await asyncio.to_thread(left.join, PATIENT_S)
    assert not told
