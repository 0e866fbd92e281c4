"""`traindeck obs cp`: files, folders and objects from anywhere to anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.main import DONE, Call
from traindeck.cli.progress import ByteProgress
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath, names_a_service, size_words
from traindeck.domain.texts import say, text
from traindeck.domain.transfers.local_names import System, local_part
from traindeck.domain.transfers.packing import advises_packing, likely_shards
from traindeck.domain.transfers.records import Kind, Order, Rules
from traindeck.runtime.files import local_errors

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer, Transfers


def tell_of_small_files(call: Call, row: Transfer) -> bool:
    """Whether there was anything to say."""
    files, size_bytes = row.files - row.removals, row.total_bytes
    if row.kind is not Kind.UPLOAD or size_bytes is None or not advises_packing(files, size_bytes):
        return False
    call.output.note(
        say(
            "{count} small files, {size} each on average: every one costs a request, here and in each job that reads "
            "them. “traindeck obs pack” would make about {shards} tar shards with an index of them.",
            count=f"{files:,}",
            size=size_words(size_bytes // files),
            shards=likely_shards(files, size_bytes),
        )
    )
    return True


@contextmanager
def small_files_told(call: Call, transfers: Transfers) -> Iterator[None]:
    """As soon as the plan of the transfer inside is known, and once."""
    is_told = False

    def on_news(row: Transfer) -> None:
        nonlocal is_told
        is_told = is_told or tell_of_small_files(call, row)

    stop_listening = transfers.changed.add(on_news)
    try:
        yield
    finally:
        stop_listening()


STREAM = "-"
_BLOCK = 1 << 20

Place = ObjectPath | Path


@dataclass(frozen=True, slots=True)
class _Copying:
    """One `cp` under way."""

    call: Call
    core: DataCore
    profile: str

    async def one(self, source: Place, target: Place) -> Transfer:
        label = source.resolve().name if isinstance(source, Path) else source.name
        match source, target:
            case Path(), ObjectPath():
                order = Order(Kind.UPLOAD, self.profile, str(source.absolute()), str(target))
            case ObjectPath(), Path():
                order = Order(Kind.DOWNLOAD, self.profile, str(source), str(target.absolute()))
            case ObjectPath(), ObjectPath():
                order = Order(Kind.COPY, self.profile, str(source), str(target))
            case _:
                raise InvalidInput(
                    text("Both sides are on this computer."), text("Write at least one side as obs://bucket/key.")
                )
        with ByteProgress(self.call.output, label) as progress, small_files_told(self.call, self.core.transfers):
            return await self.core.transfers.move(order, progress=progress.at)

    async def from_standard_input(self, target: ObjectPath) -> int:
        from traindeck.services.transfers.pace import RateLimit
        from traindeck.services.transfers.streams import send_stream

        limit = RateLimit(self.call.options.limit)
        await self.core.planes.run(
            self.profile, lambda plane: send_stream(plane, target, terminal.bytes_from_standard_input, limit)
        )
        return 1

    async def to_standard_output(self, source: ObjectPath) -> int:
        from traindeck.cli.obs.cat import ByteRange, printed

        await printed(self.call, self.core, source, ByteRange(), self.call.options.limit)
        return 1


async def copy(call: Call) -> int:
    sources, target = [place(source) for source in call.options.sources], place(call.options.target)
    refuse_impossible(sources, target)
    if call.options.verify:
        return await _verify(call, sources, target)
    make_folder(target, call.options.target, is_folder=len(sources) > 1)
    count = verified = 0
    async with call.data() as core:
        core.transfers.set_rate(call.options.limit)
        copying = _Copying(call, core, call.profile(core))
        for source in sources:
            if source is None:
                assert isinstance(target, ObjectPath)
                count += await copying.from_standard_input(target)
            elif target is None:
                assert isinstance(source, ObjectPath)
                count += await copying.to_standard_output(source)
            else:
                row = await copying.one(source, below(target, source, alone=len(sources) == 1))
                count += row.done_files + row.equal_files
                verified += row.verified_files
    content: dict[str, object] = {"files": count, "target": call.options.target}
    if target is None:
        if call.output.json_wanted:
            call.output.document(content)
    else:
        words = say("Copied to {target}. Files: {count}", count=count, target=str(target))
        if None not in sources:
            content["verified"] = verified
            words = f"{words}. {say('Confirmed by size and MD5: {count}', count=verified)}"
        call.output.result(content, words)
    return DONE


async def _verify(call: Call, sources: list[Place | None], target: Place | None) -> int:
    from traindeck.cli.obs.sync import verify

    if target is None or None in sources:
        raise InvalidInput(
            text("What came from or went to a pipe cannot be verified."),
            text("Name a file or folder of this computer."),
        )
    known = [source for source in sources if source is not None]
    pairs = [(source, below(target, source, alone=len(known) == 1)) for source in known]
    async with call.data() as core:
        return await verify(call, core, pairs, Rules(both_sides=False))


def place(spelling: str) -> Place | None:
    """None is the standard stream."""
    if spelling == STREAM:
        return None
    if names_a_service(spelling):
        return ObjectPath.parse(spelling)
    return Path(spelling).expanduser()


def refuse_impossible(sources: list[Place | None], target: Place | None) -> None:
    several = len(sources) > 1
    if any(isinstance(source, Path) or source is None for source in sources) and not isinstance(target, ObjectPath):
        raise InvalidInput(
            text("Both sides are on this computer."), text("Write at least one side as obs://bucket/key.")
        )
    if None in sources and (several or (isinstance(target, ObjectPath) and target.is_folder)):
        raise InvalidInput(
            text("Standard input becomes one object, and that needs a name."),
            text("Give it as the only source, and a destination such as obs://bucket/name."),
        )
    if target is None and several:
        raise InvalidInput(
            text("Only one object can go to standard output."), text("Copy them one by one, or into a folder.")
        )
    if several and isinstance(target, ObjectPath) and not target.is_folder:
        raise InvalidInput(
            text("Several sources need a folder to go to."),
            text("End the destination with “/”: {folder}", folder=str(target.as_folder())),
        )


def make_folder(target: Place | None, spelling: str, *, is_folder: bool) -> None:
    """A destination on this computer that is meant to be a folder is one before anything is put there."""
    if isinstance(target, Path) and (is_folder or spelling.endswith(("/", os.sep))):
        with local_errors(target):
            target.mkdir(parents=True, exist_ok=True)


def below(target: Place, source: Place, *, alone: bool) -> Place:
    """Where this source goes: alone it is the destination, among others it keeps its name below it."""
    if alone:
        return target
    if isinstance(target, Path):
        # A key may end with what leads out of a folder here, or with what no file can be called.
        return target / local_part(source.name, System(is_windows=os.name == "nt"))
    if isinstance(source, Path):
        return target.join(source.resolve().name + ("/" if source.is_dir() else ""))
    return target.join(source.name + ("/" if source.is_folder else ""))
