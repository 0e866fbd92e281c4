"""What two to eight runs have in common and what not: forms, code, data, ends, numbers."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.comparison import MOST_RUNS, ComparedRow, ComparedRun, DataPrint, compared
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.accounts.connections import Connections
from traindeck.services.jobs.code.code_bundles import CodeBundles

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_MOST_OBJECTS = 200_000
_LONGEST_S = 20.0


@dataclass(frozen=True, slots=True)
class RunComparison:
    runs: tuple[Run, ...]
    rows: tuple[ComparedRow, ...]

    @property
    def different(self) -> tuple[ComparedRow, ...]:
        return tuple(row for row in self.rows if not row.is_equal)


@dataclass(eq=False, slots=True)
class RunComparing:
    """Reads what is kept of the runs; of data that nobody looked at in time it looks now."""

    records: RunStore
    connections: Connections
    bundles: CodeBundles
    clock: Clock = utc_now
    _looked_at: set[str] = field(default_factory=set)

    async def compare(self, run_ids: Sequence[str]) -> RunComparison:
        """In the order in which they were named."""
        ids = list(dict.fromkeys(run_ids))
        if not 2 <= len(ids) <= MOST_RUNS:
            raise InvalidInput(
                text("2 to {most} different runs can be compared.", most=MOST_RUNS),
                text("“traindeck job ls” lists the runs."),
            )
        runs = [await self.records.existing(run_id) for run_id in ids]
        now: dict[tuple[str, str], DataPrint | None] = {}
        prepared = []
        for measured in await self.records.measured(runs):
            run = measured.run
            prepared.append(ComparedRun(measured, await self._files(run), await self._data(run, now)))
        return RunComparison(tuple(runs), tuple(compared(prepared, self.clock())))

    async def look_at_data(self, run: Run) -> None:
        """Keep what its inputs hold about the time it was sent; that it cannot be told keeps nobody."""
        if run.id in self._looked_at or await self.records.data_prints(run.id):
            return
        self._looked_at.add(run.id)
        found: dict[tuple[str, str], DataPrint | None] = {}
        for channel in run.filled_spec.inputs:
            look = await self._look(run.profile, channel.place, found)
            if look is not None:
                await self.records.keep_data_print(run.id, channel.name, look)

    async def _files(self, run: Run) -> dict[str, str] | None:
        if not run.bundle:
            return None
        try:
            bundle = await self.bundles.open(run.bundle)
        except AppError as error:
            log.info("the code of %s: %s", run.name, error)
            return None
        return {file.path: file.sha256 for file in bundle.files}

    async def _data(self, run: Run, now: dict[tuple[str, str], DataPrint | None]) -> dict[str, DataPrint | None]:
        kept = await self.records.data_prints(run.id)
        inputs = run.filled_spec.inputs
        missing = [channel for channel in inputs if channel.name not in kept]
        looks = await gather_or_raise(self._look(run.profile, channel.place, now) for channel in missing)
        fresh = {channel.name: look for channel, look in zip(missing, looks, strict=True)}
        return {channel.name: kept.get(channel.name) or fresh.get(channel.name) for channel in inputs}

    async def _look(self, profile: str, place: str, known: dict[tuple[str, str], DataPrint | None]) -> DataPrint | None:
        key = (profile, place)
        if key not in known:
            try:
                known[key] = await self._print(profile, ObjectPath.parse(place))
            except AppError as error:
                log.warning("what is in %s: %s %s", place, error, error.detail)
                known[key] = None
        return known[key]

    async def _print(self, profile: str, place: ObjectPath) -> DataPrint:
        storage = (await self.connections.open(profile)).storage
        digest = hashlib.sha256()
        count = size = 0
        newest: datetime | None = None
        is_whole = True
        try:
            async with asyncio.timeout(_LONGEST_S):
                async for page in storage.entries(place, recursive=True):
                    for entry in page:
                        name = entry.path.key.removeprefix(place.key)
                        digest.update(f"{name}\0{entry.etag}\0{entry.size_bytes}\0".encode(errors="surrogatepass"))
                        size += entry.size_bytes or 0
                        if entry.modified is not None and (newest is None or entry.modified > newest):
                            newest = entry.modified
                    count += len(page)
                    if count >= _MOST_OBJECTS:
                        is_whole = False
                        break
        except TimeoutError:
            is_whole = False
        return DataPrint(str(place), self.clock(), count, size, newest, digest.hexdigest()[:12], is_whole)
