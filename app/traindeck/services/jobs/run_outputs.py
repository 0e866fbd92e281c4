"""The outputs of a run come home: by rule, as often as wanted, and never over a file that somebody edited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import NoBucket, NotFound
from traindeck.domain.jobs.job import Run
from traindeck.domain.outcomes import Outcomes
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.name_filter import FilterRules
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, Rules
from traindeck.domain.transfers.records import Item, ItemState
from traindeck.services.accounts.connections import Connections
from traindeck.services.transfers import Transfer, Transfers

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

_PAGE = 10_000

OnFolder = Callable[[ObjectPath, Path], None]


def _nobody(_: ObjectPath, __: Path) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class FetchRules:
    """Which files of the outputs are wanted, and what becomes of those that stand in their place."""

    filters: FilterRules = ()
    most_bytes: int = 0  # larger ones stay in OBS; 0: all come
    overwrite: bool = False  # also files that were edited here since they came, or never came from there


@dataclass(frozen=True, slots=True)
class FetchedOutputs:
    """What is here now as it is in OBS, and what is not."""

    folder: Path
    new: tuple[Path, ...] = ()
    equal: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    """Edited here, or of another origin: left alone."""
    too_large: tuple[tuple[str, int], ...] = ()
    """Names below their output with their bytes."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All that are here as they are in OBS."""
        return tuple(sorted((*self.new, *self.equal)))

    def with_more(self, other: FetchedOutputs) -> FetchedOutputs:
        return FetchedOutputs(
            self.folder,
            (*self.new, *other.new),
            (*self.equal, *other.equal),
            (*self.kept, *other.kept),
            (*self.too_large, *other.too_large),
        )


@dataclass(eq=False, slots=True)
class RunOutputs:
    """While the run goes on, too: what it has uploaded by then comes, and the next time what is new."""

    records: RunStore
    connections: Connections
    transfers: Transfers

    async def listed(self, run_id: str) -> list[ObjectEntry]:
        run = await self.records.existing(run_id)
        storage = (await self.connections.open(run.profile)).storage
        found: list[ObjectEntry] = []
        for place in _places(run):
            async for page in storage.entries(place, recursive=True):
                found += page
        return found

    async def fetch(
        self, run_id: str, target: Path, rules: FetchRules | None = None, on_folder: OnFolder = _nobody
    ) -> FetchedOutputs:
        """Bring every output folder into a folder of its name below `target`; of one output, into `target` itself."""
        run = await self.records.existing(run_id)
        outputs = run.filled_spec.outputs
        if not outputs:
            raise NotFound(text("“{name}” has no outputs in OBS.", name=run.name), text("Add an output to its form."))
        done = FetchedOutputs(target)
        outcomes = Outcomes()
        missing = 0
        for channel, source in zip(outputs, _places(run), strict=True):
            into = target / channel.name if len(outputs) > 1 else target
            with outcomes.one(channel.name):
                try:
                    done = done.with_more(await self._fetch(run, source, into, rules or FetchRules()))
                except NotFound as error:
                    # A job makes its folders, never a bucket.
                    if run.state.is_over or isinstance(error, NoBucket):
                        raise
                    missing += 1
                else:
                    on_folder(source, into)
        outcomes.end()
        if missing == len(outputs):
            raise NotFound(
                text("“{name}” has written no outputs yet.", name=run.name),
                text("Try again later, or download until the run ends."),
            )
        return done

    async def _fetch(self, run: Run, source: ObjectPath, into: Path, rules: FetchRules) -> FetchedOutputs:
        # By size and time, so that what comes is remembered: only then can be told what was edited since.
        wanted = Rules(
            compare=CompareBy.SIZE_AND_TIME,
            filters=rules.filters,
            keeps_edited=not rules.overwrite,
            most_bytes=rules.most_bytes,
        )
        here = _absolute(into)
        row = await self.transfers.move(Order(Kind.DOWNLOAD, run.profile, str(source), str(here), wanted))
        root = into / Path(row.root).relative_to(here)
        found: dict[ItemState, list[Item]] = {}
        async for item in self._items(row):
            found.setdefault(item.state, []).append(item)

        def places(state: ItemState) -> Iterator[Path]:
            return (root / item.name if item.name else root for item in found.get(state, []))

        return FetchedOutputs(
            into,
            tuple(places(ItemState.DONE)),
            tuple(places(ItemState.EQUAL)),
            tuple(places(ItemState.KEPT)),
            tuple((item.name, item.size_bytes) for item in found.get(ItemState.SKIPPED, [])),
        )

    async def _items(self, row: Transfer) -> AsyncIterator[Item]:
        after = ""
        states = (ItemState.DONE, ItemState.EQUAL, ItemState.KEPT, ItemState.SKIPPED)
        while page := await self.transfers.items(row.id, states, after=after, most=_PAGE):
            for item in page:
                yield item
            after = page[-1].key


def _absolute(folder: Path) -> Path:
    return folder.absolute()


def _places(run: Run) -> list[ObjectPath]:
    return [ObjectPath.parse(channel.place).as_folder() for channel in run.filled_spec.outputs]
