"""The logs on this computer: byte for byte what the service has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from traindeck.domain.jobs import LogChunk
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.listeners import Listeners
from traindeck.runtime.platform_files import local_errors, write_whole
from traindeck.services.ports import RunRecords

_BLOCK = 1 << 18
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class LogGrowth:
    run_id: str
    task: str
    size: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes the service no longer had when we asked, missing before this place of the file."""

    offset: int
    missing: int


class RunLogs:
    """One file per run and worker; only ever appended to."""

    def __init__(self, records: RunRecords, place: Callable[[str, str], Path], calls: BlockingCalls) -> None:
        self._records = records
        self._place = place
        self._calls = calls
        self.grew: Listeners[LogGrowth] = Listeners()

    def path(self, run_id: str, task: str = "worker-0") -> Path:
        return self._place(run_id, task)

    def size(self, run_id: str, task: str = "worker-0") -> int:
        try:
            return self.path(run_id, task).stat().st_size
        except FileNotFoundError:
            return 0

    def tail(self, run_id: str, task: str = "worker-0", max_bytes: int = 1 << 19) -> bytes:
        """The last bytes held; reads the disk, so call it in a worker."""
        return self.read(run_id, task, max(0, self.size(run_id, task) - max_bytes))

    def read(self, run_id: str, task: str, offset: int, max_bytes: int = -1) -> bytes:
        path = self.path(run_id, task)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(max_bytes)
        except FileNotFoundError:
            return b""

    def gaps(self, run_id: str, task: str = "worker-0") -> tuple[Gap, ...]:
        try:
            entries = json.loads(_gap_file(self.path(run_id, task)).read_bytes())
        except FileNotFoundError:
            return ()
        return tuple(Gap(*entry) for entry in entries)

    async def take(self, run_id: str, task: str, chunk: LogChunk) -> int:
        """Keep what is new in a look at the service's log; the answer is how many bytes that was."""
        added = await self._calls.run(lambda _: self._take(run_id, task, chunk))
        if added:
            self.grew.tell(LogGrowth(run_id, task, self.size(run_id, task)))
        return added

    def _take(self, run_id: str, task: str, chunk: LogChunk) -> int:
        path = self.path(run_id, task)
        with local_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # The window and a command may follow the same run; the size is read under the lock.
            with FileLock(path.with_name(path.name + ".lock"), thread_local=False):
                gaps = self.gaps(run_id, task)
                held = self.size(run_id, task)
                seen = held + sum(gap.missing for gap in gaps)
                if chunk.full_size < seen:
                    _set_aside(path)
                    gaps, held, seen = (), 0, 0
                new = chunk.full_size - seen
                if new <= 0:
                    return 0
                missing = new - len(chunk.data)
                if missing > 0:
                    gaps = (*gaps, Gap(held, missing))
                    write_whole(_gap_file(path), json.dumps([[gap.offset, gap.missing] for gap in gaps]).encode())
                fresh = chunk.data[-new:]
                with path.open("ab") as file:
                    file.write(fresh)
                return len(fresh)

    async def follow(self, run_id: str, task: str = "worker-0") -> AsyncIterator[bytes]:
        """All that is held, then what arrives, until the run is over and nothing is left."""
        grown = asyncio.Event()
        stop_listening = self.grew.add(lambda news: grown.set() if news.run_id == run_id else None)
        offset = 0
        try:
            while True:
                grown.clear()
                run = await self._records.get(run_id)
                over = run is None or run.state.is_over
                while block := await self._read_block(run_id, task, offset):
                    offset += len(block)
                    yield block
                if over:
                    return
                # Another program may be the one that writes: look even when nobody tells.
                try:
                    async with asyncio.timeout(_LOOK_AGAIN_S):
                        await grown.wait()
                except TimeoutError:
                    continue
        finally:
            stop_listening()

    async def _read_block(self, run_id: str, task: str, offset: int) -> bytes:
        return await self._calls.run(lambda _: self.read(run_id, task, offset, _BLOCK))


def _gap_file(path: Path) -> Path:
    return path.with_name(path.name + ".gaps")


def _set_aside(path: Path) -> None:
    """The service began a new log: the old one is kept beside it under a number."""
    number = 1
    while (older := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    path.replace(older)
    _gap_file(path).unlink(missing_ok=True)
