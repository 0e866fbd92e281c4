"""Looks at datasets, and makes small ones of them: here, in a service, or from the one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from traindeck.domain.datasets.places import DatasetFolder
from traindeck.domain.errors import AppError, Conflict, InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import HERE, LocalNames, part_name
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, Rules, is_remote
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.datasets.local_copy import OnFiles, copied_here
from traindeck.services.datasets.looking import DatasetLook, OnLookStage
from traindeck.services.datasets.mini_plan import MiniOptions, MiniPlan, MiniPlanner, OnNames
from traindeck.services.datasets.picture_checks import PictureChecks
from traindeck.services.datasets.places import dataset_place
from traindeck.services.datasets.record_cutting import MadeFile
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers import Transfers
from traindeck.services.transfers.bodies import Content
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.engine import TransferEngine
from traindeck.services.transfers.pace import RateLimit
from traindeck.services.transfers.part_files import PartFile

WhenMoved = Callable[[int], Awaitable[object]]
"""Waits for the end of a transfer of this number, and raises what kept it from its end."""


@dataclass(frozen=True, slots=True)
class Datasets:
    """For window and command line alike."""

    transfers: Transfers
    planes: Planes
    disk: BlockingCalls
    check_command: Sequence[str]
    """Starts the process that decodes pictures."""

    def look(
        self, source: DatasetFolder, profile: Callable[[], str], at: OnLookStage, *, contents: bool
    ) -> DatasetLook:
        place = dataset_place(source, self.disk, self.planes, profile)
        return DatasetLook(place, self.disk, PictureChecks(self.check_command, self.disk), at, contents=contents)

    async def plan(
        self, source: DatasetFolder, profile: Callable[[], str], options: MiniOptions, seen: OnNames
    ) -> MiniPlan:
        place = dataset_place(source, self.disk, self.planes, profile)
        return await MiniPlanner(place, self.disk, options, seen).plan()

    async def check_target(self, plan: MiniPlan, target: DatasetFolder, profile: Callable[[], str]) -> None:
        """Conflict: something else is there. One that was cut off may go on."""
        there: set[str] = set()
        place = dataset_place(target, self.disk, self.planes, profile)
        await place.each(lambda name, _size, _etag: there.add(name), may_be_empty=True)
        await self.disk.run(lambda _: _refuse_others(str(target), there, plan.all_names))

    async def make(
        self,
        plan: MiniPlan,
        source: DatasetFolder,
        target: DatasetFolder,
        profile: Callable[[], str],
        at: OnFiles,
        moved: WhenMoved,
    ) -> None:
        """What is written anew comes last: an index never names what is not there yet."""
        if isinstance(source, Path) and isinstance(target, Path):
            await copied_here(self.disk, source, target, plan.names, at)
        elif plan.names:
            await moved(await self._begun(_order(profile(), source, target, plan.names)))
        for made in plan.made:
            if isinstance(target, Path):
                await self.disk.run(partial(_written, target, made))
            else:
                await self._put(profile(), target, made)

    async def _begun(self, order: Order) -> int:
        """Who stops before the number is known would leave a transfer that nobody can end."""
        beginning = asyncio.ensure_future(self.transfers.begin(order))  # noqa: TID251 - awaited here, whoever leaves
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            with suppress(AppError):
                self.cancel(await beginning)
            raise

    async def moved(self, number: int) -> None:
        """For who shows transfers by other means."""
        await self.transfers.finished(number)

    def cancel(self, number: int) -> None:
        """The transfer of a small dataset that is not wanted any more; what was copied stays."""
        self.transfers.ask(TransferEngine.cancel, number)

    async def _put(self, profile: str, folder: ObjectPath, made: MadeFile) -> None:
        body = Content(made.content, md5(made.content).digest(), RateLimit(0))
        path = ObjectPath(folder.bucket, folder.as_folder().key + made.name)
        await self.planes.run(profile, lambda plane: plane.put(path, body))


def beside(source: DatasetFolder) -> DatasetFolder:
    """Where a small dataset goes if nobody says otherwise."""
    if isinstance(source, Path):
        if not source.name:
            raise InvalidInput(
                text("No folder can be created next to “{place}”.", place=str(source)),
                text("Specify a destination, for example obs://bucket/data_mini/."),
            )
        return source.with_name(f"{source.name}_mini")
    if source.is_bucket:
        raise InvalidInput(
            text("A whole bucket needs a destination."), text("Specify one, for example obs://bucket/data_mini/.")
        )
    return ObjectPath(source.bucket, f"{source.key.removesuffix('/')}_mini/")


def refuse_inside(source: DatasetFolder, target: DatasetFolder) -> None:
    if isinstance(source, Path) and isinstance(target, Path):
        inside = target.resolve().is_relative_to(source.resolve()) or source.resolve().is_relative_to(target.resolve())
    else:
        inside = (
            isinstance(source, ObjectPath)
            and isinstance(target, ObjectPath)
            and target.bucket == source.bucket
            and (target.key.startswith(source.key) or source.key.startswith(target.key))
        )
    if inside:
        raise InvalidInput(
            text("“{target}” is inside the dataset, or around it.", target=str(target)),
            text("Specify a folder outside of the dataset."),
        )


def _refuse_others(place: str, there: set[str], wanted: list[str]) -> None:
    """A dataset that is mixed with another one is neither."""
    others = there - set(wanted)
    if others:
        # What a killed copy left of a file of its own.
        others -= {_part_of(name) for name in wanted}
    if others:
        raise Conflict(
            text("{place} already contains other files, such as {name}.", place=place, name=min(others)),
            text("Specify an empty folder, or delete its files first."),
        )


def _part_of(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    return folder + slash + part_name(last, HERE, "")


def _order(profile: str, source: DatasetFolder, target: DatasetFolder, names: list[str]) -> Order:
    sides = str(source), str(target)
    kind = Kind.COPY if all(map(is_remote, sides)) else Kind.UPLOAD if is_remote(sides[1]) else Kind.DOWNLOAD
    # A remembered time tells that a file was sent; otherwise contents do.
    compare = CompareBy.SIZE_AND_TIME if kind is Kind.UPLOAD else CompareBy.MD5
    pairs = tuple((name, name) for name in names)
    rules = Rules(chosen=pairs, compare=compare, compares_if_allowed=kind is Kind.UPLOAD)
    return Order(kind, profile, *sides, rules)


def _written(folder: Path, made: MadeFile, _: CancelToken) -> None:
    # Its name may come from a bucket, where it can be anything.
    place = folder / LocalNames(HERE).place(made.name)
    with local_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    # What a kill leaves of it is known by its name, and no other file.
    part = PartFile(place)
    try:
        part.write(made.content)
        part.finish()
    finally:
        part.drop()
