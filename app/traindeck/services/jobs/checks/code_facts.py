"""What is in the folder of a job's code: looked through once for all checks, each file read once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.jobs.checks.python_source import MOST_BYTES, PythonSource, PythonVersion, python_source
from traindeck.services.jobs.code_limits import CodeLimits
from traindeck.services.jobs.code_tree import CodeEntry, CodeTree, FileStamp, FrozenCode, scan_code

_MOST_KEPT = 20_000


@dataclass(eq=False, slots=True)
class SourceMemory:
    """What files were found to be; one that has not changed since is not read again."""

    _known: dict[tuple[str, FileStamp | None, PythonVersion | None], PythonSource] = field(default_factory=dict)

    def read(self, place: Path, entry: CodeEntry, version: PythonVersion | None) -> PythonSource:
        key = (str(place), entry.stamp, version)
        found = self._known.get(key)
        if found is None:
            found = python_source(_beginning(place, MOST_BYTES + 1), version)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            if entry.stamp is not None:
                self._known[key] = found
        return found


@dataclass(eq=False, slots=True)
class CodeFacts:
    """One round's look at one folder; all raises AppError."""

    folder: Path
    ignore: Sequence[str]
    disk: BlockingCalls
    memory: SourceMemory
    frozen: FrozenCode | None = None
    """The code as an earlier run had it, in place of the folder."""
    limits: CodeLimits = field(default_factory=CodeLimits)
    """What the target takes."""
    _tree: CodeTree | None = None
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tree(self) -> CodeTree:
        async with self._looking:
            if self._tree is None:
                frozen = self.frozen
                self._tree = frozen.tree if frozen else await scan_code(self.folder, self.ignore, self.disk)
            return self._tree

    async def content(self, path: str, most_bytes: int) -> bytes:
        """The beginning of a file below the folder."""
        place = self._place(path)
        return await self.disk.run(lambda _: _beginning(place, most_bytes))

    async def sources(
        self,
        entries: Sequence[CodeEntry],
        version: PythonVersion | None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> dict[str, PythonSource]:
        """What these files are as Python, as far as there is time."""

        def read(token: CancelToken) -> dict[str, PythonSource]:
            found: dict[str, PythonSource] = {}
            for entry in entries:
                token.check()
                if not goes_on():
                    break
                found[entry.path] = self.memory.read(self._place(entry.path), entry, version)
            return found

        return await self.disk.run(read)

    def _place(self, path: str) -> Path:
        if self.frozen is not None and path in self.frozen.places:
            return self.frozen.places[path]
        return self.folder.joinpath(*PurePosixPath(path).parts)


def _beginning(place: Path, most_bytes: int) -> bytes:
    with local_errors(place), place.open("rb") as file:
        return file.read(most_bytes)
