"""One HTTP/1.1 connection: a request leaves piece by piece, and its answer comes back the same way."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import lru_cache
from io import FileIO

import httptools

from traindeck.domain.errors import Unexpected
from traindeck.services.http import bounds
from traindeck.services.http.calls import OutOfTime
from traindeck.services.storage.data_ports import Basin, Body, Counted, InFile, InMemory, Sink
from traindeck.services.storage.wire.exchange import Answered, ChooseSink, LineBroken, Sent
from traindeck.services.storage.wire.file_sending import FileLine, can_send_files

# Below this the head and the body leave together: one packet, one call into the system.
_TOGETHER_BYTES = 64 * 1024
# Pieces that come slowly leave after this time: whoever looks on wants to see them go.
_TOGETHER_S = 0.1
_SLICE_BYTES = 256 * 1024
# Received and not taken yet; above it the sender is kept waiting.
_HELD_BYTES = 1024 * 1024
# What the system may hold unsent: keeps the progress honest and a cancelled body short.
_UNSENT_BYTES = 1024 * 1024


def scratch() -> memoryview:
    """Room for what comes at once."""
    return memoryview(bytearray(_SLICE_BYTES))


@lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    """Every answer says the same few."""
    return name.decode("latin-1").lower()


class HttpConnection(asyncio.BufferedProtocol):
    """One request at a time; closes itself when the next one could not be told apart from this one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, scratch: memoryview) -> None:
        self._loop = loop
        self._scratch = scratch  # shared by all of one loop: what came is taken out before anybody else is called
        self._transport: asyncio.Transport | None = None
        self._wake: asyncio.Future[None] | None = None
        self._error: BaseException | None = None
        self._is_blocked = False
        self._is_held_back = False
        self._served = 0
        self._is_busy = False
        self._waits_for_us = False
        self._moved_at = 0.0
        self._moved_before = 0
        self._looked_at = 0.0
        self._passed_bytes = 0  # taken from the line, and given to it
        self._pace = 0.0, 0
        self._head_bytes = 0
        self._answer_since = 0.0
        self.idle_since = 0.0
        self._headers: dict[str, str] = {}
        self._chunks: deque[bytes] = deque()
        self._basin: Basin | None = None
        self._left = 0
        self._is_full = False
        self._forget_answer("")

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    # What the loop tells us

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.use(transport)
        line: socket.socket | None = transport.get_extra_info("socket")
        option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
        if line is not None and option is not None:
            with suppress(OSError):  # a system that knows the option and refuses it is no worse than one without
                line.setsockopt(socket.IPPROTO_TCP, option, _UNSENT_BYTES)

    def use(self, transport: asyncio.Transport) -> None:
        """Go on over `transport`, as after TLS was laid over a tunnel."""
        self._transport = transport
        # Every piece is with the system before the next one is asked for. Not 0: TLS would hold us back for nothing.
        transport.set_write_buffer_limits(high=1)

    def connection_lost(self, error: BaseException | None) -> None:
        if error is None and self._has_head and not self._has_length:
            self._is_complete = True
        if self._error is None:
            self._error = error or ConnectionResetError("the other end closed the connection")
        self._is_blocked = False
        self._tell()

    def pause_writing(self) -> None:
        self._is_blocked = True

    def resume_writing(self) -> None:
        self._is_blocked = False
        self._tell()

    def get_buffer(self, sizehint: int) -> memoryview:
        # What is being poured into the basin at this moment comes first.
        is_waiting = bool(self._chunks) or self._is_full or self._waits_for_us
        self._is_direct = self._basin is not None and self._left > 0 and not is_waiting
        if self._basin is not None and self._is_direct:
            return self._basin.room()[: self._left]
        return self._scratch

    def buffer_updated(self, size_bytes: int) -> None:
        if self._basin is None or not self._is_direct:
            self._take_in(bytes(self._scratch[:size_bytes]))
            return
        self._moved_at = self._loop.time()
        self._passed_bytes += size_bytes
        self._left -= size_bytes
        self._is_complete = not self._left
        self._is_full = self._basin.came(size_bytes)
        if self._is_full and self._transport is not None and self.is_open:
            self._transport.pause_reading()
        if self._is_full or self._is_complete:
            self._tell()

    def _take_in(self, data: bytes) -> None:
        self._moved_at = self._loop.time()
        self._passed_bytes += len(data)
        if not self._is_busy or self._is_complete:
            self._fail(ConnectionAbortedError("an answer nobody asked for"))
        elif self._left:
            self._take_whole(data)
        else:
            self._answer_since = self._answer_since or self._moved_at
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserError as error:
                if not self._is_complete:
                    self._fail(error)
            # Only now: the end of a head comes together with the beginning of the body, as much as there is.
            self._head_bytes += 0 if self._has_head else len(data)
            if self._head_bytes > bounds.HEAD_BYTES:
                self._fail(ValueError("the head of the answer has no end"))
        self._tell()

    # What the parser tells us

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) >= bounds.HEADERS:
            raise ValueError("more headers than any answer has")
        self._headers[_lower(name)] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self._headers = {}
            return
        self._status = status
        self._has_head = True
        is_bare = self._method == "HEAD" or (self._method == "CONNECT" and status < 300) or status in (204, 304)
        # The parser takes an answer without a body for one without an end.
        may_resume = self._headers.get("connection", "").lower() != "close" and self._parser.get_http_version() == "1.1"
        self._keeps_alive = may_resume if is_bare else self._parser.should_keep_alive()
        length = bounds.whole_number(self._headers.get("content-length", ""))
        is_chunked = "transfer-encoding" in self._headers
        self._has_length = is_bare or is_chunked or length is not None
        if is_bare:
            self._is_complete = True
        elif length is not None and not is_chunked:
            self._left = length

    def on_body(self, piece: bytes) -> None:
        if self._is_complete:
            return
        if self._left:
            self._left -= len(piece)
        self._hold(piece)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_complete = True

    # What is asked of us

    async def exchange(
        self, method: str, head: bytes, body: Body | None, take: ChooseSink | None, counted: Counted | None
    ) -> Answered:
        """Send a request and give its answer; whatever ends this early ends the connection."""
        self._forget_answer(method)
        self._is_busy = True
        self._moved_at = self._loop.time()
        self._looked_at = self._moved_at
        self._pace = self._moved_at, self._passed_bytes - self._unsent
        sent = Sent(counted, len(head))
        try:
            is_all_sent = await self._send(head, body, sent)
            while not self._has_head:
                await self._news()
            answer = await self._receive(take)
        except BaseException:
            sent.take_back()
            self.abort()
            raise
        self._is_busy = False
        self._served += 1
        if answer.status >= 300:
            sent.take_back()
        if not (is_all_sent and self._keeps_alive and self._has_length):
            self.abort()
        return answer

    def abort(self) -> None:
        """Close at once; what was not sent yet never will be."""
        self._is_busy = False
        if self._transport is not None:
            self._transport.abort()

    def look(self, now: float) -> None:
        """Called now and then: gives up on a request whose line has not moved for too long."""
        moved = self._passed_bytes - self._unsent
        is_ours_to_wait = not self._is_busy or self._waits_for_us
        if is_ours_to_wait or now - self._pace[0] > bounds.ANSWER_S:
            is_slow = not is_ours_to_wait and moved - self._pace[1] < bounds.PACE_BYTES
            self._pace = now, moved
            if is_slow:
                self._give_up(OutOfTime(f"fewer than {bounds.PACE_BYTES} bytes in {bounds.ANSWER_S:.0f} s"))
                return
        if is_ours_to_wait:
            self._moved_at = now
        elif moved != self._moved_before:  # nobody says when what was handed to the system leaves it
            self._moved_at = max(self._moved_at, self._looked_at)
        self._moved_before, self._looked_at = moved, now
        if now - self._moved_at > bounds.SILENCE_S:
            self._give_up(TimeoutError(f"nothing moved for {bounds.SILENCE_S:.0f} s"))
            return
        if self._is_busy and self._is_kept and self._answer_since and now - self._answer_since > bounds.ANSWER_S:
            self._give_up(OutOfTime(f"no whole answer in {bounds.ANSWER_S:.0f} s"))

    def _give_up(self, error: TimeoutError) -> None:
        self._fail(error)
        self._tell()

    async def _send(self, head: bytes, body: Body | None, sent: Sent) -> bool:
        """False: an answer came that makes the rest of the body useless."""
        if body is None:
            self._write(head)
            return True
        whole = body.at_once if body.size_bytes < _TOGETHER_BYTES and isinstance(body, InMemory) else None
        if whole is not None:
            self._write(head + whole)
            sent.passed_bytes = len(head) + len(whole)
            while self._is_blocked and not self._is_complete:
                await self._news()
            sent.up_to(sent.passed_bytes - self._unsent)
            return not self._is_blocked
        if isinstance(body, InFile) and (file := await self._opened(body)) is not None:
            with file:
                return await self._send_file(head, body, file, sent)
        return await self._send_pieces(head, body, sent)

    async def _opened(self, body: InFile) -> FileIO | None:
        """None: it cannot leave without us, or should not."""
        if self._transport is None or not can_send_files(self._transport):
            return None
        self._waits_for_us = True
        try:
            return await body.opened()
        finally:
            self._waits_for_us = False

    async def _send_file(self, head: bytes, body: InFile, file: FileIO, sent: Sent) -> bool:
        self._write(head)
        sent.passed_bytes = len(head)
        while self._is_blocked and not self._is_complete:
            await self._news()
        if self._error is not None or self._transport is None:
            raise self._broken()
        at, end = body.offset, body.offset + body.size_bytes
        with FileLine(self._loop, self._transport, self._tell) as line:
            while at < end and not self._is_complete:
                try:
                    passed = line.send(file.fileno(), at, end - at)
                except ConnectionError:
                    passed = None  # what was answered before that is still to be read, and then we are told
                except OSError as error:
                    raise LineBroken(error, was_stale=False) from error
                if passed is None:
                    await self._news()
                    continue
                if not passed:
                    body.check(file)
                    raise Unexpected(f"a body of {body.size_bytes} bytes gave {at - body.offset}")
                at += passed
                self._passed_bytes += passed
                sent.passed_bytes += passed
                sent.up_to(sent.passed_bytes)
                self._moved_at = self._loop.time()
                await asyncio.sleep(0)  # an answer that comes early is read, and others have their turn
                if self._error is not None and not self._is_complete:
                    raise self._broken()
        return at == end

    async def _send_pieces(self, head: bytes, body: Body, sent: Sent) -> bool:
        waiting: list[bytes | memoryview] = [head]
        waiting_bytes, waits_since = len(head), self._loop.time()
        self._waits_for_us = True
        try:
            async for piece in body.pieces():
                self._waits_for_us = False
                sent.from_source_bytes += len(piece)
                waiting.append(piece)
                waiting_bytes += len(piece)
                if waiting_bytes >= _TOGETHER_BYTES or self._loop.time() - waits_since >= _TOGETHER_S:
                    await self._hand_over(waiting, sent)
                    if self._is_complete:
                        return False
                    waiting, waiting_bytes, waits_since = [], 0, self._loop.time()
                self._waits_for_us = True
        finally:
            self._waits_for_us = False
        if waiting:
            await self._hand_over(waiting, sent)
        if sent.from_source_bytes != body.size_bytes:
            raise Unexpected(f"a body of {body.size_bytes} bytes gave {sent.from_source_bytes}")
        return sent.passed_bytes == len(head) + body.size_bytes and not self._is_blocked

    async def _hand_over(self, pieces: Sequence[bytes | memoryview], sent: Sent) -> None:
        if len(pieces[-1]) < _TOGETHER_BYTES:
            pieces = [b"".join(pieces)]
        for piece in pieces:
            view = memoryview(piece)
            # What the socket does not take at once is copied: not all of a large piece, then.
            for start in range(0, len(piece), _SLICE_BYTES):
                self._write(view[start : start + _SLICE_BYTES])
                sent.passed_bytes += min(_SLICE_BYTES, len(piece) - start)
                while self._is_blocked and not self._is_complete:
                    await self._news()
                sent.up_to(sent.passed_bytes - self._unsent)
                if self._is_complete:
                    return

    @property
    def _unsent(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport else 0

    def _write(self, data: bytes | memoryview) -> None:
        if self._error is not None or self._transport is None:
            raise self._broken()
        self._passed_bytes += len(data)
        self._transport.write(data)

    async def _receive(self, take: ChooseSink | None) -> Answered:
        sink = take(self._status, self._headers) if take else None
        self._is_kept = sink is None
        kept: list[bytes] = []
        kept_bytes = 0
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._let_go(len(chunk))
                if sink is None:
                    kept.append(chunk)
                    kept_bytes += len(chunk)
                    if kept_bytes > bounds.ANSWER_BYTES:
                        raise LineBroken(ValueError("the answer is longer than any can be"), was_stale=False)
                else:
                    await self._pour(sink, chunk)
            if self._is_full:
                await self._empty()
                continue
            if self._is_complete:
                return Answered(self._status, self._headers, b"".join(kept))
            if isinstance(sink, Basin):
                self._basin = sink
            await self._news()

    async def _empty(self) -> None:
        assert self._basin is not None
        await self._without_watch(self._basin.empty())
        self._is_full = False
        if self._transport is not None and self.is_open and not self._is_held_back:
            self._transport.resume_reading()

    async def _pour(self, sink: Sink, chunk: bytes) -> None:
        waiting = sink(chunk)
        if waiting is not None:
            await self._without_watch(waiting)

    async def _without_watch(self, waiting: Awaitable[None]) -> None:
        self._waits_for_us = True
        try:
            await waiting
        finally:
            self._waits_for_us = False
            self._moved_at = self._loop.time()

    def _take_whole(self, data: bytes) -> None:
        """The body's bytes as they came from the socket: nothing in between is needed any more."""
        if len(data) > self._left:
            self._fail(ConnectionAbortedError("more than was announced"))
            return
        self._left -= len(data)
        self._hold(data)
        self._is_complete = not self._left

    def _hold(self, piece: bytes) -> None:
        self._chunks.append(piece)
        self._held += len(piece)
        if self._held > _HELD_BYTES and not self._is_held_back and self.is_open:
            assert self._transport is not None
            self._is_held_back = True
            self._transport.pause_reading()

    def _let_go(self, size_bytes: int) -> None:
        self._held -= size_bytes
        if self._is_held_back and self._held <= _HELD_BYTES // 2:
            self._is_held_back = False
            if self._transport is not None and self.is_open:
                self._transport.resume_reading()

    def _forget_answer(self, method: str) -> None:
        self._method = method
        self._parser = httptools.HttpResponseParser(self)
        self._status = 0
        self._headers = {}
        self._chunks.clear()
        self._basin = None
        self._is_direct = False
        self._is_full = False
        self._held = 0
        self._left = 0
        self._head_bytes = 0
        self._answer_since = 0.0
        self._is_kept = True
        self._has_head = False
        self._has_length = False
        self._is_complete = False
        self._keeps_alive = False

    async def _news(self) -> None:
        if self._error is not None:
            raise self._broken()
        self._wake = self._loop.create_future()
        try:
            await self._wake
        finally:
            self._wake = None

    def _tell(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _fail(self, error: BaseException) -> None:
        self._error = error
        if self._transport is not None:
            self._transport.abort()

    def _broken(self) -> LineBroken:
        cause = self._error or ConnectionResetError("not connected")
        was_stale = self._served > 0 and not self._has_head and not isinstance(cause, TimeoutError)
        return LineBroken(cause, was_stale=was_stale)
