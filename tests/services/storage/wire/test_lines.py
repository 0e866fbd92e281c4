"""Connections: kept, found dead, held back, given up, and ended at once when nobody waits any more."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.servers.faults import FaultyProxy, Stall
from support.servers.lab_process import LabProcess
from support.servers.silent import SilentServer, unreachable_port
from support.stores.stores import Store, plane_at
from support.stores.written import Line, WrittenServer
from support.waiting import AT_ONCE_S, PATIENT_S, until
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    InvalidInput,
    LocalTrouble,
    ServiceTrouble,
    Unexpected,
    Unreachable,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.http import bounds
from traindeck.services.http import calls as retrying
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.wire import connection, pool

PATH = ObjectPath("bucket", "key")

pytestmark = pytest.mark.usefixtures("no_waiting")


class EndlessBody(BytesBody):
    """Large, and made as it is asked for."""

    def __init__(self, pieces: int, piece: bytes = bytes(100_000)) -> None:
        super().__init__(b"")
        self._pieces = pieces
        self._piece = piece
        self.size_bytes = pieces * len(piece)

    async def pieces(self) -> AsyncIterator[bytes]:
        for _ in range(self._pieces):
            yield self._piece


async def test_a_connection_is_kept_and_a_dead_one_replaced_at_once(
    lab: LabProcess, lab_obs: Store, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 60.0)  # the policy for real trouble would take long
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        for key in "ab":
            await plane.put(ObjectPath(bucket, key), BytesBody(b"x"))
        assert proxy.connections == 1
        proxy.drop_idle()
        moved: list[int] = []
        await plane.put(ObjectPath(bucket, "c"), BytesBody(b"content"), counted=moved.append)
        assert proxy.connections == 2 and sum(moved) == 7


async def test_a_connection_that_dies_under_the_request_is_replaced_once_with_the_whole_body() -> None:
    bodies: list[bytes] = []

    async def script(line: Line) -> None:
        await line.head()
        bodies.append(await line.body(7))
        await line.answer(200, etag='"9a0364b9e99bb480dd25e1f0284c8555"')
        await line.head()  # the second request on this line is heard and never answered

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        for _ in range(3):
            await plane.put(PATH, BytesBody(b"content"))
        assert bodies == [b"content"] * 3 and server.connections == 3


async def test_no_more_connections_than_allowed(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url, most_connections=3) as plane:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(plane.put(ObjectPath(bucket, f"k{number}"), BytesBody(b"x")))
        assert proxy.connections == 3
        assert len((await plane.page(bucket)).rows) == 20


async def test_many_connections_share_the_room_for_what_arrives_and_mix_nothing_up() -> None:
    count, size = 32, 2_000
    halfway = asyncio.Barrier(count)

    async def script(line: Line) -> None:
        content = (await line.head()).split()[1].rpartition("/")[2].encode() * (size // 2)
        await line.say(b'HTTP/1.1 200 OK\r\nETag: "x"\r\nContent-Length: %d\r\n\r\n' % size + content[: size // 2])
        await halfway.wait()  # all lines are open, and each has the half of its answer
        await line.say(content[size // 2 :])
        await line.head()

    async with WrittenServer(script) as server, plane_at(server.url) as plane:

        async def fetched(key: str) -> bytes:
            pieces: list[bytes] = []
            await plane.get(ObjectPath("bucket", key), pieces.append)
            return b"".join(pieces)

        tracemalloc.start()
        try:
            keys = [f"{number:02}" for number in range(count)]
            contents = await asyncio.gather(*map(fetched, keys))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert contents == [key.encode() * (size // 2) for key in keys]
        assert server.connections == count and peak < count * 100_000


async def test_what_is_idle_for_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "IDLE_S", 0.05)
    monkeypatch.setattr(bounds, "LOOK_S", 0.02)

    async def script(line: Line) -> None:
        while True:
            await line.head()
            await line.answer(404)

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        assert await plane.head(PATH) is None
        await until(lambda: server.open_connections == 0)
        assert await plane.head(PATH) is None
        assert server.connections == 2


@pytest.mark.parametrize("call", ["put", "get", "page", "waiting for its turn"])
async def test_who_stops_waiting_ends_the_connection_at_once(call: str) -> None:
    async def script(line: Line) -> None:
        await line.head()
        if call == "get":
            await line.say(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nETag: "x"\r\n\r\nfirst words')
        await line.body(10**10)

    moved: list[int] = []
    async with WrittenServer(script) as server, plane_at(server.url, most_connections=1) as plane:
        work: asyncio.Task[Any]
        match call:
            case "put":
                work = asyncio.create_task(plane.put(PATH, EndlessBody(10_000), counted=moved.append))
                await until(lambda: moved)
            case "get":
                pieces: list[bytes] = []
                work = asyncio.create_task(plane.get(PATH, pieces.append))
                await until(lambda: pieces)
            case _:
                work = asyncio.create_task(plane.page("bucket"))
                await until(lambda: server.open_connections)
        later = asyncio.create_task(plane.head(PATH))
        await asyncio.sleep(0)
        ended = later if call == "waiting for its turn" else work
        begin = time.monotonic()
        ended.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ended
        assert time.monotonic() - begin < AT_ONCE_S
        assert sum(moved) == 0  # it would all have to move again
        if ended is work:
            await until(lambda: server.open_connections == (1 if server.connections == 2 else 0))
        (work if ended is later else later).cancel()
        await asyncio.wait([work, later])


async def test_a_cancelled_upload_is_there_whole_or_not_at_all(lab_obs: Store, bucket: str) -> None:
    content = bytes(20_000_000)
    target = ObjectPath(bucket, "large")
    async with lab_obs.plane() as plane:
        for least in (1, 1_000_000, 10_000_000, 20_000_000):
            moved = 0

            def count(more: int) -> None:
                nonlocal moved
                moved += more

            body = EndlessBody(200)
            body.md5 = BytesBody(content).md5
            work = asyncio.create_task(plane.put(target, body, counted=count))
            while moved < least and not work.done():
                await asyncio.sleep(0)
            work.cancel()
            await asyncio.wait([work])
            found = await plane.head(target)
            assert found is None or found.size_bytes == len(content)


async def test_closing_ends_requests_under_way() -> None:
    async with SilentServer() as server:
        async with plane_at(f"http://127.0.0.1:{server.port}") as plane:
            work = asyncio.create_task(plane.put(PATH, BytesBody(b"x")))
            await until(lambda: server.heard)
        with pytest.raises(ServiceTrouble):
            async with asyncio.timeout(AT_ONCE_S):
                await work


async def test_progress_tells_only_what_left_us() -> None:
    async def script(line: Line) -> None:
        await asyncio.Event().wait()  # reads nothing, so that the line fills up

    moved: list[int] = []
    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        body = EndlessBody(1000)
        work = asyncio.create_task(plane.put(PATH, body, counted=moved.append))
        await until(lambda: moved)
        settled = -1
        while sum(moved) != settled:
            settled = sum(moved)
            await asyncio.sleep(0.05)
        assert 0 < settled < body.size_bytes / 2
        work.cancel()
        await asyncio.wait([work])
        assert sum(moved) == 0


async def test_a_slow_sink_holds_the_sender_back() -> None:
    sent = 0
    piece = bytes(1_000_000)

    async def script(line: Line) -> None:
        nonlocal sent
        await line.head()
        await line.say(f'HTTP/1.1 200 OK\r\nContent-Length: {len(piece) * 50}\r\nETag: "x"\r\n\r\n'.encode())
        for _ in range(50):
            await line.say(piece)
            sent += len(piece)

    may_resume = asyncio.Event()
    received = 0

    async def sink(data: bytes) -> None:
        nonlocal received
        received += len(data)
        await may_resume.wait()

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        work = asyncio.create_task(plane.get(PATH, sink))
        await until(lambda: received)
        settled = -1
        while sent != settled:
            settled = sent
            await asyncio.sleep(0.05)
        assert sent < 40_000_000 and received < 2_000_000
        may_resume.set()
        await work
        assert received == 50_000_000


class Clock:
    """What lines that stand still are judged by: much later when the test says so, however slow the machine is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead_s = 0.0
        self._looks = 0
        self._look = connection.HttpConnection.look
        monkeypatch.setattr(connection.HttpConnection, "look", lambda line, now: self._looked(line, now))
        monkeypatch.setattr(bounds, "LOOK_S", 0.02)

    def _looked(self, line: connection.HttpConnection, now: float) -> None:
        was_open = line.is_open
        self._look(line, now + self._ahead_s)
        self._looks += 1
        if was_open and not line.is_open:
            self._ahead_s = 0.0

    def put_forward(self) -> None:
        """Until the next line is given up."""
        self._ahead_s = 2 * bounds.SILENCE_S

    async def stay_forward(self) -> None:
        """While every line is looked at."""
        before = self._looks
        self.put_forward()
        await until(lambda: self._looks >= before + 2)
        self._ahead_s = 0.0


async def test_a_line_on_which_nothing_moves_is_given_up(
    lab: LabProcess, lab_obs: Store, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        proxy.faults.append(Stall())
        work = asyncio.create_task(plane.put(ObjectPath(bucket, "k"), BytesBody(b"content")))
        await until(lambda: proxy.seen)
        clock.put_forward()
        await work  # tried again
        assert len(proxy.seen) == 2
        proxy.faults.extend([Stall()] * retrying.TRIES)
        asking = asyncio.create_task(plane.head(ObjectPath(bucket, "k")))
        for number in range(retrying.TRIES):
            await until(lambda number=number: len(proxy.seen) == 3 + number)
            clock.put_forward()
        with pytest.raises(ServiceTrouble, match="in time"):
            await asking

        # Our own slowness is not the line's.
        taken: list[bytes] = []

        async def sink(data: bytes) -> None:
            await clock.stay_forward()
            taken.append(data)

        await plane.get(ObjectPath(bucket, "k"), sink)
        assert b"".join(taken) == b"content"

        class Slow(BytesBody):
            async def pieces(self) -> AsyncIterator[bytes]:
                await clock.stay_forward()
                async for piece in super().pieces():
                    yield piece

        await plane.put(ObjectPath(bucket, "k"), Slow(b"content"))
        assert len(proxy.seen) == 4 + retrying.TRIES


async def test_a_dead_address_is_given_up_soon(monkeypatch: pytest.MonkeyPatch, unused_port: int) -> None:
    with unreachable_port() as port, monkeypatch.context() as short:
        short.setattr(bounds, "CONNECT_S", 0.1)
        async with plane_at(f"http://127.0.0.1:{port}") as plane:
            with pytest.raises(Unreachable, match="cannot be reached"):
                await plane.head(PATH)
    async with plane_at(f"http://127.0.0.1:{unused_port}") as plane:
        with pytest.raises(Unreachable, match="Cannot connect"):
            await plane.head(PATH)
    async with plane_at("http://no-such-host.invalid") as plane:
        with pytest.raises(Unreachable, match="cannot be found"):
            await plane.head(PATH)


async def test_a_refusal_ends_the_sending_of_a_large_body() -> None:
    refusal = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"

    async def script(line: Line) -> None:
        await line.head()
        await line.answer(403, refusal)
        await asyncio.Event().wait()  # the body is never read

    moved: list[int] = []
    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        with pytest.raises(AccessRefused):
            async with asyncio.timeout(PATIENT_S):
                await plane.put(PATH, EndlessBody(10_000), counted=moved.append)
        assert sum(moved) == 0 and server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>sign in</html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n<html>sign in</html>",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: x\r\n" % number for number in range(10_000)),
        b"",
    ],
    ids=["another protocol", "cut", "no length", "no end", "a page", "headers without end", "nothing"],
)
async def test_what_is_no_answer_is_trouble_not_success(answer: bytes) -> None:
    async def script(line: Line) -> None:
        await line.head()
        await line.say(answer)

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        for call in (
            lambda: plane.page("bucket"),
            lambda: plane.put(PATH, BytesBody(b"")),
            lambda: plane.begin_upload(PATH),
            lambda: plane.finish_upload(PATH, "id", []),
        ):
            with pytest.raises(ServiceTrouble):
                await call()


async def test_another_version_than_asked_for_is_none_even_where_nobody_looked() -> None:
    async def script(line: Line) -> None:
        while True:
            await line.head()
            await line.answer(200, b"new", ETag='"ffff"')

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        with pytest.raises(Conflict):
            await plane.get(PATH, lambda piece: None, if_match="eeee")
        assert (await plane.get(PATH, lambda piece: None, if_match="ffff")).size_bytes == 3


async def test_no_name_or_value_ends_a_line_of_a_request() -> None:
    heads: list[str] = []

    async def script(line: Line) -> None:
        while True:
            heads.append(await line.head())
            await line.answer(200, b"x", ETag='"e"')

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        await plane.get(ObjectPath("bucket", "a\r\nEvil: 1\r\n\r\n"), lambda piece: None)
        for call in (
            lambda: plane.get(PATH, lambda piece: None, if_match="e\r\nEvil: 1"),
            lambda: plane.get(ObjectPath("bucket\r\nEvil: 1", "key"), lambda piece: None),
            lambda: plane.get(ObjectPath("bucket/?acl HTTP/1.1", "key"), lambda piece: None),
            lambda: plane.begin_upload(PATH, {"name\r\nEvil": "1"}),
        ):
            with pytest.raises(InvalidInput):
                await call()
        assert len(heads) == 1 and "\nEvil" not in heads[0]


async def test_answers_in_chunks_and_before_the_last_are_read() -> None:
    listing = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"

    async def script(line: Line) -> None:
        while True:
            await line.head()
            await line.say(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(listing), 7):
                piece = listing[at : at + 7]
                await line.say(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await line.say(b"0\r\n\r\n")

    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        for _ in range(2):
            assert (await plane.page("bucket")).rows == []
        assert server.connections == 1


async def test_what_the_source_says_reaches_the_caller_and_nothing_is_stored(lab_obs: Store, bucket: str) -> None:
    gone = LocalTrouble(text("Gone."), text("Look."))

    class Failing(BytesBody):
        async def pieces(self) -> AsyncIterator[bytes]:
            yield b"con"
            raise gone

    class Short(BytesBody):
        async def pieces(self) -> AsyncIterator[bytes]:
            yield b"con"

    target = ObjectPath(bucket, "k")
    async with lab_obs.plane() as plane:
        with pytest.raises(LocalTrouble) as caught:
            await plane.put(target, Failing(b"content"))
        assert caught.value is gone
        with pytest.raises(Unexpected):
            await plane.put(target, Short(b"content"))
        assert await plane.head(target) is None
        await plane.put(target, BytesBody(b"content"))

        def full(data: bytes) -> None:
            raise gone

        with pytest.raises(AppError) as refused:
            await plane.get(target, full)
        assert refused.value is gone
