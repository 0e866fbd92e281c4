"""Servers that mean no good, or are none: nothing signed leaves, everything ends within bounds and with a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, closing
from typing import Any, cast

import pytest

from support.servers.faults import Answer, FaultyProxy
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.stores.written import Line, Script, WrittenServer
from support.waiting import PATIENT_S
from traindeck.domain.errors import AppError, LedAway, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.accounts.connections import Connection
from traindeck.services.http import bounds
from traindeck.services.http.proxies import LED_AWAY, LED_NOWHERE, LED_ON, led, may_follow
from traindeck.services.storage.documents import document, page_of
from traindeck.services.storage.wire import connection as wire

OBS = "https://obs.cn-north-4.myhuaweicloud.com"


@pytest.mark.parametrize(
    ("service", "location", "may"),
    [
        (OBS, "https://b.obs.cn-south-1.myhuaweicloud.com/k", True),
        (OBS, "https://obs.cn-north-4.myhuaweicloud.com:443/k", True),
        (OBS, "http://b.obs.cn-south-1.myhuaweicloud.com/k", False),
        (OBS, "https://b.obs.cn-south-1.myhuaweicloud.com:8443/k", False),
        (OBS, "https://myhuaweicloud.com.evil.example/k", False),
        (OBS, "https://evilmyhuaweicloud.com/k", False),
        (OBS, "https://obs.cn-north-4.myhuaweicloud.com@evil.example/", False),
        (OBS, "ftp://obs.cn-north-4.myhuaweicloud.com/", False),
        (OBS, "/elsewhere", False),
        (OBS, "https://[", False),
        (OBS, "https://obs.cn-north-4.myhuaweicloud.com:port/", False),
        ("http://storage.example.com.cn", "https://storage.example.com.cn/k", True),
        ("http://storage.example.com.cn", "http://b.storage.example.com.cn/k", True),
        ("http://storage.example.com.cn", "http://other.example.com.cn/k", False),
        ("http://127.0.0.1:7001", "http://127.0.0.1:7001/k", True),
        ("http://127.0.0.1:7001", "http://127.0.0.1:7002/k", False),
        ("http://127.0.0.1:7001", "http://x.127.0.0.1:7001/k", False),
    ],
)
def test_only_the_same_service_is_followed(service: str, location: str, may: bool) -> None:
    assert may_follow(service, location) is may


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("https://evil.example/k", LED_AWAY),
        ("https://obs.cn-north-4.myhuaweicloud.com/k", LED_ON),
        ("https://b.obs.cn-north-4.myhuaweicloud.com/k", LED_ON),
        ("https://b.obs.cn-south-1.myhuaweicloud.com/k", ""),
        ("", LED_NOWHERE),
    ],
)
def test_an_answer_that_sends_us_on_is_told_by_where_to(location: str, code: str) -> None:
    assert led(307, OBS, location) == code
    assert led(200, OBS, location) == ""


def connected(way: Way) -> AbstractContextManager[Connection]:
    return closing(Connection(way.profile, way.credentials, way.calls))


async def _first(connection: Connection, bucket: str) -> object:
    return await anext(connection.storage.entries(ObjectPath(bucket)))


CALLS: dict[str, Callable[[Connection, str], Awaitable[object]]] = {
    "buckets": lambda on, bucket: on.storage.buckets(),
    "create a bucket": lambda on, bucket: on.storage.create_bucket(bucket),
    "listing": _first,
    "info of a bucket": lambda on, bucket: on.storage.info(ObjectPath(bucket)),
    "info of an object": lambda on, bucket: on.storage.info(ObjectPath(bucket, "x")),
    "writing": lambda on, bucket: cast("Any", on.storage).try_to_write(ObjectPath(bucket, "x")),
    "policy": lambda on, bucket: on.access.exposure(bucket),
    "removing a bucket": lambda on, bucket: on.access.remove(bucket),
    "settings": lambda on, bucket: on.settings.tags(bucket),
}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("call", CALLS)
async def test_nobody_else_is_asked(way: Way, lab: LabProcess, call: str, status: int, no_waiting: None) -> None:
    async with FaultyProxy(lab.obs) as stranger, FaultyProxy(lab.obs) as proxy:
        location = {"Location": f"{stranger.url}/b/x?versionId=1", "Content-Type": "application/xml"}
        proxy.faults.extend([Answer(status, b"", location)] * 20)
        with connected(way.at(obs_endpoint=proxy.url)) as connection, pytest.raises(LedAway) as caught:
            await CALLS[call](connection, "for-redirects")
        assert stranger.url in caught.value.sentence()
        assert stranger.seen == [], "not even a connection"


@pytest.mark.parametrize("call", ["create a bucket", "policy", "settings"])
async def test_a_redirect_within_the_service_ends_after_two(
    way: Way, lab: LabProcess, call: str, no_waiting: None
) -> None:
    async with FaultyProxy(lab.obs) as proxy:
        location = {"Location": f"{proxy.url}/for-redirects", "Content-Type": "application/xml"}
        proxy.faults.extend([Answer(307, b"", location)] * 40)
        with connected(way.at(obs_endpoint=proxy.url)) as connection, pytest.raises(AppError):
            await CALLS[call](connection, "for-redirects")
    assert 1 <= len(proxy.seen) <= 6


async def _head_without_end(line: Line) -> None:
    await line.head()
    await line.say(b"HTTP/1.1 200 OK\r\n")
    while True:
        await line.say(b"X-More: " + b"x" * 10_000 + b"\r\n")


async def _body_without_end(line: Line) -> None:
    await line.head()
    await line.say(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: "x"\r\nTransfer-Encoding: chunked\r\n\r\n'
    )
    await line.say(b'19\r\n<ListBucketResult xmlns="\r\n')
    while True:
        await line.say(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


async def _elements_without_end(line: Line) -> None:
    page = b"<ListBucketResult>" + b"<a>" * 300_000 + b"</a>" * 300_000 + b"</ListBucketResult>"
    while True:
        await line.head()
        await line.answer(200, page, Content_Type="application/xml")


async def _a_page_to_sign_in(line: Line) -> None:
    while True:
        await line.head()
        await line.answer(200, b"<html><body>Sign in</body></html>", Content_Type="text/html")


async def _drops(line: Line) -> None:
    await line.head()
    await line.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await line.say(b" ")
        await asyncio.sleep(0.01)


# What is asked by HEAD, or answered without a body, leaves nothing to look at but the status.
SILENT = {
    "a body without end": {"info of a bucket"},
    "elements without end": {"info of a bucket", "create a bucket", "removing a bucket"},
    "drops": {"info of a bucket"},
    "a page to sign in": {"info of a bucket"},
}
SERVERS: dict[str, Script] = {
    "a head without end": _head_without_end,
    "a body without end": _body_without_end,
    "elements without end": _elements_without_end,
    "a page to sign in": _a_page_to_sign_in,
    "drops": _drops,
}


@pytest.mark.parametrize(
    ("server", "call"),
    [(server, call) for server in SERVERS for call in CALLS if call not in SILENT.get(server, ())],
)
async def test_it_ends_with_a_sentence(
    way: Way, server: str, call: str, no_waiting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "ANSWER_S", 0.5 if server == "drops" else 60)
    monkeypatch.setattr(bounds, "LOOK_S", 0.1)
    async with WrittenServer(SERVERS[server]) as hostile:
        with connected(way.at(obs_endpoint=hostile.url)) as connection:
            async with asyncio.timeout(PATIENT_S):
                with pytest.raises(AppError) as caught:
                    await CALLS[call](connection, "for-nobody")
    assert caught.value.kind in ("service", "not_offered") and caught.value.sentence()


def test_a_large_body_behind_a_head_in_two_pieces_is_no_head_without_end() -> None:
    loop = asyncio.new_event_loop()
    try:
        line = wire.HttpConnection(loop, wire.scratch())
        line._is_busy = True
        for piece in (b'HTTP/1.1 200 OK\r\nETag: "x"\r\n', b"Content-Length: 400000\r\n\r\n" + b"x" * 262_115):
            line.get_buffer(-1)[: len(piece)] = piece
            line.buffer_updated(len(piece))
        assert line._error is None and line._has_head
    finally:
        loop.close()


async def _content(line: Line, pause_s: float) -> None:
    await line.head()
    await line.say(b'HTTP/1.1 200 OK\r\nETag: "x"\r\nContent-Length: 40\r\n\r\n')
    for _ in range(40):
        await line.say(b"x")
        await asyncio.sleep(pause_s)


async def _slow_content(line: Line) -> None:
    await _content(line, 0.1)


async def _quick_content(line: Line) -> None:
    await _content(line, 0.0)


async def test_content_that_drips_is_given_up(way: Way, no_waiting: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ANSWER_S", 0.4)
    monkeypatch.setattr(bounds, "LOOK_S", 0.05)
    async with WrittenServer(_slow_content) as server, way.at(obs_endpoint=server.url).plane() as plane:
        with pytest.raises(ServiceTrouble) as caught:
            await plane.get(ObjectPath("for-nobody", "x"), lambda piece: None)
    assert "fewer than" in caught.value.detail


async def test_who_takes_content_slowly_is_not_given_up(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ANSWER_S", 0.1)
    monkeypatch.setattr(bounds, "SILENCE_S", 0.1)
    monkeypatch.setattr(bounds, "LOOK_S", 0.02)
    looked = asyncio.Event()
    asyncio.get_running_loop().call_later(0.5, looked.set)

    async def slowly(piece: bytes) -> None:
        await looked.wait()

    async with WrittenServer(_quick_content) as server, way.at(obs_endpoint=server.url).plane() as plane:
        found = await plane.get(ObjectPath("for-nobody", "x"), slowly)
    assert found.size_bytes == 40


@pytest.mark.parametrize(
    "xml",
    [
        "<ListBucketResult>" + "<a>" * 65 + "</a>" * 65 + "</ListBucketResult>",
        "<!DOCTYPE ListBucketResult><ListBucketResult/>",
        "<!doctype x [<!entity a 'b'>]><ListBucketResult>&a;</ListBucketResult>",
        "<ListBucketResult>" + "<a/>" * 200_001 + "</ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        f"<ListBucketResult><Contents><Key>a</Key><Size>{2**63}</Size></Contents></ListBucketResult>",
    ],
    ids=["deep", "declared", "entity", "wide", "without a marker", "negative", "too large"],
)
def test_such_a_page_is_not_believed(xml: str) -> None:
    with pytest.raises(ValueError):
        page_of(xml)


def test_an_error_of_usual_depth_is_read() -> None:
    assert document("<Error>" + "<a>" * 60 + "</a>" * 60 + "</Error>", "Error") is not None
