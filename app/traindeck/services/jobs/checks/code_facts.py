"""What is in the folder of a job's code: looked through once for all checks, each file read once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from traindeck.domain.scripts.findings import DoctorReport
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.jobs.code.code_limits import CodeLimits
from traindeck.services.jobs.code.code_tree import CodeEntry, CodeTree, FileStamp, FrozenCode, scan_code
from traindeck.services.jobs.script_reading import ScriptMemory, scripts_of
from traindeck.services.scripts.arguments import script_arguments
from traindeck.services.scripts.doctor import examine
from traindeck.services.scripts.imports import reached_from
from traindeck.services.scripts.python_source import (
    MOST_BYTES,
    PythonSource,
    PythonVersion,
    engine_python,
    python_source,
)
from traindeck.services.scripts.script_tree import ScriptTree

_MOST_KEPT = 20_000
_MOST_REPORTS = 8


@dataclass(eq=False, slots=True)
class SourceMemory:
    """What files were found to be; one that has not changed since is not read again."""

    scripts: ScriptMemory = field(default_factory=ScriptMemory)
    reports: dict[Hashable, DoctorReport] = field(default_factory=dict)
    """What was found in scripts, by all that it depends on."""
    _known: dict[tuple[str, FileStamp | None, PythonVersion | None], PythonSource] = field(default_factory=dict)

    def keep(self, key: Hashable, report: DoctorReport) -> None:
        while len(self.reports) >= _MOST_REPORTS:
            del self.reports[next(iter(self.reports))]
        self.reports[key] = report

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
    _scripts: ScriptTree | None = None
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tree(self) -> CodeTree:
        async with self._looking:
            if self._tree is None:
                frozen = self.frozen
                self._tree = frozen.tree if frozen else await scan_code(self.folder, self.ignore, self.disk)
            return self._tree

    async def scripts(self, boot: str, version: PythonVersion | None) -> ScriptTree:
        """All scripts of the folder as they are read, those that the boot file needs first; of a run, only those."""
        tree, others = await self.tree(), self.frozen is None
        async with self._looking:
            if self._scripts is None:
                self._scripts = await self.disk.run(
                    lambda token: scripts_of(
                        tree, boot, version, token, self.memory.scripts, self._place, others=others
                    )
                )
            return self._scripts

    async def examined(self, boot: str, job: ScriptJob) -> DoctorReport:
        """What the rules say of the scripts for this job: worked out once, however many checks ask."""
        tree = await self.tree()
        scripts = await self.scripts(boot, engine_python(job.engine_version))
        stamps = tuple((entry.path, entry.stamp) for entry in tree.taken)
        frozen = tuple(self.frozen.places.items()) if self.frozen is not None else ()
        key = (str(self.folder), boot, stamps, frozen, job)
        async with self._looking:
            found = self.memory.reports.get(key)
            if found is None:
                found = await self.disk.run(
                    lambda token: examine(scripts, job, script_arguments(scripts), check=token.check)
                )
                self.memory.keep(key, found)
            return found

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

    async def reached_sources(
        self,
        entries: Mapping[str, CodeEntry],
        start: str,
        version: PythonVersion | None,
        needed: Callable[[str, PythonSource], Iterable[str]],
    ) -> dict[str, PythonSource]:
        """The file that is started and those of the entries it needs, as Python."""

        def read(token: CancelToken) -> dict[str, PythonSource]:
            found: dict[str, PythonSource] = {}

            def needed_by(path: str) -> Iterable[str]:
                token.check()
                found[path] = self.memory.read(self._place(path), entries[path], version)
                return needed(path, found[path])

            reached_from([start], entries, needed_by)
            return found

        return await self.disk.run(read)

    def _place(self, path: str) -> Path:
        if self.frozen is not None and path in self.frozen.places:
            return self.frozen.places[path]
        return self.folder.joinpath(*PurePosixPath(path).parts)


def _beginning(place: Path, most_bytes: int) -> bytes:
    with local_errors(place), place.open("rb") as file:
        return file.read(most_bytes)
