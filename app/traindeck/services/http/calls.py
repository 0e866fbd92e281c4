"""Calls to services: ended when nobody waits for them, tried again where that may help, loaded one at a time.

A worker that waits for a dead network cannot look at its token; shutting its socket wakes it.
"""

from __future__ import annotations

import asyncio
import importlib
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from traindeck.domain.errors import AppError, KeysRefused, TooSlow
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.clock import delays, utc_now

SocketOption = tuple[int, int, int | bytes]

_here = threading.local()


class AnswerUnusable(Exception):
    """Not what any service answers."""


class PageAnswered(AnswerUnusable):
    """A page for people."""


class OutOfTime(TimeoutError):
    """Something came, and not enough of it in all the time there was."""


class NotReached(Exception):
    """No connection could be made: nothing was sent."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Call:
    """One call in one worker, with a handle of its own on the socket it uses now.

    Wrapping in TLS takes the socket away from its object, and a closed one's number goes to somebody else.
    """

    def __init__(self, token: CancelToken) -> None:
        self._token = token
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None

    def use(self, line: socket.socket) -> None:
        self._token.check()
        with self._lock:
            self._let_go()
            self._handle = socket.socket(line.family, line.type, line.proto, fileno=socket.dup(line.fileno()))
        if self._token.is_cancelled:
            self.break_off()

    def break_off(self) -> None:
        with self._lock:
            if self._handle is None:
                return
            try:
                self._handle.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is not connected, or no longer: nothing to wait for, or the time-out of the attempt

    def end(self) -> None:
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


@contextmanager
def breakable(token: CancelToken) -> Iterator[None]:
    """What this thread sends and receives inside ends when `token` is cancelled."""
    call = _Call(token)
    forget = token.on_cancel(call.break_off)
    _here.call = call
    try:
        yield
    finally:
        _here.call = None
        forget()
        call.end()


def in_use(line: socket.socket) -> None:
    """The call of this thread goes on over this socket."""
    call: _Call | None = getattr(_here, "call", None)
    if call is not None:
        call.use(line)


def connected(
    address: tuple[str, int],
    timeout_s: float | None = None,
    source_address: tuple[str, int] | None = None,
    options: Sequence[SocketOption] = (),
) -> socket.socket:
    """As socket.create_connection, except that a cancelled call does not wait for it."""
    problem = OSError(f"no address for {address[0]}")
    # Names below it mean this computer too, which not every system knows.
    host = "localhost" if address[0].endswith(".localhost") else address[0]
    for family, kind, protocol, _, place in socket.getaddrinfo(host, address[1], 0, socket.SOCK_STREAM):
        line = socket.socket(family, kind, protocol)
        try:
            for option in options:
                line.setsockopt(*option)
            line.settimeout(timeout_s)
            if source_address:
                line.bind(source_address)
            in_use(line)
            line.connect(place)
        except OSError as error:
            problem = error
            line.close()
        except BaseException:
            line.close()
            raise
        else:
            return line
    raise problem


Result = TypeVar("Result")

TRIES = 4
FIRST_S = 0.3
LONGEST_S = 5.0
# A service that asks for more than this is better left to the caller, who can tell the user.
PATIENCE_S = 30.0

_chance = random.Random()


@dataclass(frozen=True, slots=True)
class Setback:
    """Something failed and is tried again by itself."""

    error: AppError
    tries: int
    """How many have failed."""
    next_try: datetime


OnSetback = Callable[[Setback], object]

# Of the task that asks: what it waits for is deep below, and on other threads.
_told: ContextVar[OnSetback | None] = ContextVar("told of setbacks", default=None)


@contextmanager
def setbacks_told(tell: OnSetback) -> Iterator[None]:
    """`tell` hears, on whatever thread it happens, of all that is tried again for what is inside."""
    before = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(before)


def pause_after(error: AppError, pauses: Iterator[float]) -> float | None:
    """How long to wait before another try, as the service asks or longer; None: waiting does not help."""
    return max(next(pauses), getattr(error, "retry_after_s", None) or 0.0) if error.passes else None


async def retried(
    attempt: Callable[[], Awaitable[Result]], tries: int = TRIES, may_again: Callable[[], bool] = lambda: True
) -> Result:
    """Only for what may be done twice: reading, and writing the same again.

    `may_again` is asked after each failure whether that still holds.
    """
    pauses = delays(FIRST_S, LONGEST_S, _chance)
    for number in range(1, tries):
        try:
            return await attempt()
        except AppError as error:
            pause = None if isinstance(error, TooSlow) else pause_after(error, pauses)
            if pause is None or pause > PATIENCE_S or not may_again():
                raise
            if (tell := _told.get()) is not None:
                tell(Setback(error, number, utc_now() + timedelta(seconds=pause)))
        await asyncio.sleep(pause)
    return await attempt()


_one_at_a_time = threading.Lock()


def load(*modules: str) -> None:
    """Import these completely.

    Two workers that import packages which import each other may see one of them half done: Python then prefers an
    ImportError to a deadlock.
    """
    with _one_at_a_time:
        for module in modules:
            importlib.import_module(module)


Refused = Callable[[KeysRefused], None]
"""Told when a service does not take the keys any more."""


def nobody_listens(_: KeysRefused) -> None:
    """Whoever asked gets the error all the same."""
