"""Tasks with an owner who ends them, waiting for several at once, listeners, and signals that wake the loop."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, Self, TypeVar

from traindeck.domain.errors import AppError, Unexpected
from traindeck.domain.texts import Text

log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[object]]
Report = Callable[[str, AppError], None]


def _unheard(_: str) -> None:
    """Nobody asked to be told."""


SHOWN_AFTER_S = 1.0
"""What takes longer is told while it lasts."""


class Repeat(Enum):
    """What starting a name that is still running means."""

    IGNORE = auto()
    REPLACE = auto()


@dataclass(eq=False, slots=True)
class _Telling:
    """What is told of a work that takes its time."""

    words: Text
    tell: Callable[[], None]
    is_late: bool = False
    questions: int = 0
    """So many are open that the user was asked by it."""

    @property
    def is_told(self) -> bool:
        return self.is_late and not self.questions


_of_this_work: ContextVar[_Telling | None] = ContextVar("_of_this_work", default=None)


@contextmanager
def user_is_asked() -> Iterator[None]:
    """Meanwhile the work does not take its time: it waits for the user, who is not told of it."""
    telling = _of_this_work.get()
    if telling is None:
        yield
        return
    telling.questions += 1
    telling.tell()
    try:
        yield
    finally:
        telling.questions -= 1
        telling.tell()


class TaskScope:
    """Owns the tasks of one window, dock or job; none outlives `async with`.

    Children fail alone: each failure is reported once, under the task's name; `succeeded` is told of the others.
    """

    def __init__(self, report: Report, succeeded: Callable[[str], None] = _unheard) -> None:
        self._report = report
        self._succeeded = succeeded
        self._running: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()
        self._open = False
        self._telling: list[_Telling] = []
        self._told: tuple[Text, ...] = ()
        self.under_way: Listeners[tuple[Text, ...]] = Listeners()
        """What takes its time at this moment, of all that was started with words; the oldest first."""

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._open = True
        return self

    async def __aexit__(self, *problem: Any) -> None:
        self._open = False
        for task in self._running.values():
            task.cancel()
        await self._group.__aexit__(*problem)

    def start(self, name: str, work: Work, repeat: Repeat = Repeat.IGNORE, words: Text | None = None) -> bool:
        """Run `work` as `name`; False when it was refused. `words` are told of where it takes longer than a moment."""
        before = self._running.get(name)
        if before is not None and before.done():
            before = None  # it is over, though its callbacks have not come yet: what is asked now must not be lost
        if not self._open or (before and repeat is Repeat.IGNORE):
            return False
        if before:
            before.cancel()
        telling = None if words is None else _Telling(words, self._tell)
        task = self._group.create_task(self._guarded(name, work, before, telling), name=name)
        self._running[name] = task
        task.add_done_callback(lambda done: self._forget(name, done))
        if telling is not None:
            later = asyncio.get_running_loop().call_later(SHOWN_AFTER_S, self._begin_telling, telling)
            task.add_done_callback(lambda _: self._end_telling(later, telling))
        return True

    def cancel(self, name: str) -> None:
        if name in self._running:
            self._running[name].cancel()

    def is_running(self, name: str) -> bool:
        return name in self._running and not self._running[name].done()

    def _begin_telling(self, telling: _Telling) -> None:
        telling.is_late = True
        self._telling.append(telling)
        self._tell()

    def _end_telling(self, later: asyncio.TimerHandle, telling: _Telling) -> None:
        later.cancel()
        if telling.is_late:
            self._telling.remove(telling)
            self._tell()

    def _tell(self) -> None:
        told = tuple(telling.words for telling in self._telling if telling.is_told)
        if told != self._told:
            self._told = told
            self.under_way.tell(told)

    def _forget(self, name: str, done: asyncio.Task[Any]) -> None:
        if self._running.get(name) is done:
            del self._running[name]

    async def _guarded(
        self, name: str, work: Work, before: asyncio.Task[None] | None, telling: _Telling | None
    ) -> None:
        _of_this_work.set(telling)
        if before:
            await asyncio.wait([before])  # its cleanup ends before we begin
        try:
            await work()
            self._succeeded(name)
        except Exception as error:
            causes = list(leaves(error))
            known = [cause for cause in causes if isinstance(cause, AppError)]
            if len(known) == len(causes):
                log.warning("task %s: %s %s", name, known[0], known[0].detail)
                self._report(name, known[0])
                return
            log.exception("task %s failed", name)
            mistake = next(cause for cause in causes if not isinstance(cause, AppError))
            self._report(name, Unexpected(f"{type(mistake).__name__}: {mistake}"))
        finally:
            # Before anybody else has a turn: who sees the end of the work may want it once more.
            task = asyncio.current_task()
            assert task is not None
            self._forget(name, task)


def leaves(error: BaseException) -> Iterator[BaseException]:
    """What really went wrong inside a group of tasks."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


async def set_within(event: asyncio.Event, limit_s: float | None) -> bool:
    """Wait for it for so long; whether it came."""
    try:
        async with asyncio.timeout(limit_s):
            return await event.wait()
    except TimeoutError:
        return False


Result = TypeVar("Result")


async def gather_or_raise(work: Iterable[Awaitable[Result]]) -> list[Result]:
    """All results in order. The first failure ends the rest and is raised itself: a group would say nothing more."""

    async def one(item: Awaitable[Result]) -> Result:
        return await item

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in work]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


@asynccontextmanager
async def few_at_once(most: int) -> AsyncIterator[Callable[[Work], Awaitable[None]]]:
    """Gives what starts work as soon as there is room; the first failure ends all of it and is raised itself."""
    room = asyncio.Semaphore(most)

    async def one(work: Work) -> None:
        try:
            await work()
        finally:
            room.release()

    async def start(work: Work) -> None:
        await room.acquire()
        group.create_task(one(work))

    try:
        async with asyncio.TaskGroup() as group:
            yield start
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures


News = TypeVar("News")


class Listeners(Generic[News]):
    """Callbacks told about one kind of news, on the loop, in the order they came.

    One that raises is reported; neither who tells nor the other listeners come to know of it.
    """

    def __init__(self) -> None:
        self._callbacks: list[Callable[[News], None]] = []

    def add(self, callback: Callable[[News], None]) -> Callable[[], None]:
        """Listen from now on; calling the answer ends it."""
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    @contextmanager
    def heard_by(self, callback: Callable[[News], None]) -> Iterator[None]:
        """Listen inside."""
        remove = self.add(callback)
        try:
            yield
        finally:
            remove()

    def tell(self, news: News) -> None:
        for callback in tuple(self._callbacks):
            safely(callback)(news)


def safely(callback: Callable[[News], None]) -> Callable[[News], None]:
    """The same for somebody whose work must go on whatever the callback does."""

    def call(news: News) -> None:
        try:
            callback(news)
        except Exception as error:  # noqa: BLE001 - it is reported
            _report(callback, error)

    return call


def _report(callback: Callable[..., None], error: Exception) -> None:
    message = f"a listener failed: {getattr(callback, '__qualname__', repr(callback))}"
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        log.error(message, exc_info=error)
    else:
        # As with any callback of the loop: in the window it becomes a report, in a command a line of the log.
        loop.call_exception_handler({"message": message, "exception": error})


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Who ends a program from outside lets it put down what it has, as Ctrl-C does; `nohup` stays what it is."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    is_main = threading.current_thread() is threading.main_thread()  # no other may change them
    changed = [number for number in numbers if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def woken_by_signals() -> Iterator[None]:
    """Let a signal wake the running loop: one that comes just before it waits would be noticed with the next event."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield  # the loop of Windows sees to it itself, and only the main thread hears of signals
        return
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, ours.recv, 4096)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(ours)
