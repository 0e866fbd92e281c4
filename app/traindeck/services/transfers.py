"""Moving files between this computer and object storage, with a list of what is under way."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from pathlib import Path, PurePosixPath
from typing import Literal

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NotFound, Unexpected
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.listeners import Listeners
from traindeck.runtime.platform_files import local_errors
from traindeck.runtime.together import together
from traindeck.services.connections import Connections
from traindeck.services.ports import Clock, ObjectStorage
from traindeck.services.submission import utc_now

_AT_ONCE = 8
Counted = Callable[[int, int | None], None]
"""Bytes done and bytes in all (None while unknown)."""


class TransferState(Enum):
    WAITING = auto()
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()
    CANCELLED = auto()

    @property
    def is_over(self) -> bool:
        return self in (TransferState.DONE, TransferState.FAILED, TransferState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One row of the list: a file or a whole folder on its way."""

    id: int
    direction: Literal["up", "down"]
    source: str
    target: str
    state: TransferState = TransferState.WAITING
    total_bytes: int | None = None
    done_bytes: int = 0
    files: int = 0
    error: AppError | None = None
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    local: Path
    remote: ObjectPath
    size_bytes: int


_Move = Callable[[ObjectStorage, _Item, Callable[[int], None]], Awaitable[None]]


class Transfers:
    """The transfers of this session, newest first."""

    def __init__(self, connections: Connections, calls: BlockingCalls, clock: Clock = utc_now) -> None:
        self._connections = connections
        self._calls = calls
        self._clock = clock
        self._numbers = itertools.count(1)
        self._rows: dict[int, Transfer] = {}
        self._tasks: dict[int, asyncio.Task[object]] = {}
        self.changed: Listeners[Transfer] = Listeners()

    def rows(self) -> list[Transfer]:
        return list(reversed(self._rows.values()))

    def cancel(self, transfer_id: int) -> None:
        if transfer_id in self._tasks:
            self._tasks[transfer_id].cancel()

    def clear_finished(self) -> None:
        self._rows = {key: row for key, row in self._rows.items() if not row.state.is_over}

    async def upload(
        self, profile: str, source: Path, target: ObjectPath, *, progress: Counted | None = None
    ) -> int:
        """Send a file, or a folder as a whole into the target folder; the answer counts the files."""

        async def plan(_: ObjectStorage) -> list[_Item]:
            return await self._calls.run(lambda token: _local_items(source, target, token))

        async def move(storage: ObjectStorage, item: _Item, count: Callable[[int], None]) -> None:
            await storage.upload(item.local, item.remote, count)

        row = Transfer(next(self._numbers), "up", str(source), str(target))
        return len(await self._transfer(profile, row, plan, move, progress))

    async def download(
        self, profile: str, source: ObjectPath, target: Path, *, progress: Counted | None = None
    ) -> int:
        """Fetch an object, or a folder as a whole into the target folder; the answer counts the files."""
        return len(await self.fetch(profile, source, target, progress=progress))

    async def fetch(
        self, profile: str, source: ObjectPath, target: Path, *, progress: Counted | None = None
    ) -> list[Path]:
        """As download, but the answer names the files."""

        async def plan(storage: ObjectStorage) -> list[_Item]:
            into_folder = await self._calls.run(lambda _: target.is_dir())
            return await _remote_items(storage, source, target / source.name if into_folder else target, target)

        async def move(storage: ObjectStorage, item: _Item, count: Callable[[int], None]) -> None:
            with local_errors(item.local):
                item.local.parent.mkdir(parents=True, exist_ok=True)
            await storage.download(item.remote, item.local, count)

        row = Transfer(next(self._numbers), "down", str(source), str(target))
        return [item.local for item in await self._transfer(profile, row, plan, move, progress)]

    async def _transfer(
        self,
        profile: str,
        row: Transfer,
        plan: Callable[[ObjectStorage], Awaitable[list[_Item]]],
        move: _Move,
        progress: Counted | None,
    ) -> list[_Item]:
        task = asyncio.current_task()
        assert task is not None
        self._tasks[row.id] = task
        self._show(replace(row, state=TransferState.RUNNING, started=self._clock()))
        try:
            items = await self._connections.work(profile, lambda connection: plan(connection.storage))
            total = sum(item.size_bytes for item in items)
            self._show(replace(self._rows[row.id], total_bytes=total, files=len(items)))
            await self._move_all(row.id, profile, items, move, progress)
        except AppError as error:
            self._end(row.id, TransferState.FAILED, error)
            raise
        except asyncio.CancelledError:
            self._end(row.id, TransferState.CANCELLED)
            raise
        except Exception as error:
            self._end(row.id, TransferState.FAILED, Unexpected(f"{type(error).__name__}: {error}"))
            raise
        finally:
            del self._tasks[row.id]
        self._end(row.id, TransferState.DONE)
        return items

    async def _move_all(
        self,
        row_id: int,
        profile: str,
        items: Sequence[_Item],
        move: _Move,
        progress: Counted | None,
    ) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)
        loop = asyncio.get_running_loop()

        def add(moved: int) -> None:
            row = self._rows.get(row_id)
            if row is None or row.state.is_over:
                return  # the last words of a worker after the end
            row = replace(row, done_bytes=row.done_bytes + moved)
            self._show(row)
            if progress:
                progress(row.done_bytes, row.total_bytes)

        def count(moved: int) -> None:
            loop.call_soon_threadsafe(add, moved)

        async def one(item: _Item) -> None:
            async with slots:
                await self._connections.work(profile, lambda connection: move(connection.storage, item, count))

        await together(one(item) for item in items)

    def _end(self, row_id: int, state: TransferState, error: AppError | None = None) -> None:
        row = self._rows[row_id]
        done = row.total_bytes if state is TransferState.DONE and row.total_bytes is not None else row.done_bytes
        self._show(replace(row, state=state, error=error, done_bytes=done, ended=self._clock()))

    def _show(self, row: Transfer) -> None:
        self._rows[row.id] = row
        self.changed.tell(row)


def _local_items(source: Path, target: ObjectPath, token: CancelToken) -> list[_Item]:
    with local_errors(source):
        if source.is_file():
            into = target.join(source.name) if target.is_folder else target
            return [_Item(source, into, source.stat().st_size)]
        if not source.is_dir():
            raise NotFound(
                text("“{place}” does not exist.", place=str(source)),
                text("Check the spelling, and whether the file was moved."),
            )
        folder = target.as_folder()
        items = []
        for here, _, names in os.walk(source):
            for name in sorted(names):
                token.check()
                path = Path(here) / name
                relative = path.relative_to(source).as_posix()
                items.append(_Item(path, folder.join(relative), path.stat().st_size))
        return items


async def _remote_items(storage: ObjectStorage, source: ObjectPath, file: Path, folder: Path) -> list[_Item]:
    """What there is to fetch: one object as `file`, or everything below a folder into `folder`."""
    if not source.is_folder:
        entry = await storage.info(source)
        if entry is not None and entry.size_bytes is not None:
            return [_Item(file, source, entry.size_bytes)]
        source = source.as_folder()
    items = []
    async for page in storage.entries(source, recursive=True):
        for entry in page:
            if entry.path.key.endswith("/") or entry.size_bytes is None:
                continue  # a folder marker has no content
            items.append(_Item(folder / _safe(entry.path.key[len(source.key) :]), entry.path, entry.size_bytes))
    if not items:
        raise NotFound(
            text("There is nothing at {place}.", place=str(source)),
            text("List the folder above it to see what is there."),
        )
    places = [str(item.local).casefold() for item in items]
    if len(set(places)) < len(places):
        raise Conflict(
            text("Two objects below {place} would become the same file here.", place=str(source)),
            text("Their names differ only by case; fetch them one by one under other names."),
        )
    return items


def _safe(relative: str) -> Path:
    """A key as a path below the target folder; one that would lead elsewhere is refused."""
    parts = PurePosixPath(relative).parts
    if not parts or relative.startswith("/") or ".." in parts or any("\\" in part or ":" in part for part in parts):
        raise InvalidInput(
            text("The object “{name}” cannot be a file below the target folder.", name=relative),
            text("Fetch it alone and give the file a name of its own."),
        )
    return Path(*parts)


