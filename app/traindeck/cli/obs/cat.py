"""`traindeck obs cat`: objects, or a part of each, to standard output as they are."""

from __future__ import annotations

import argparse
import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.progress import raise_worst
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.outcomes import Outcomes
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import count_text, say, text

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.storage.wire.data_plane import DataPlane


_RANGE = re.compile(r"(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Which bytes of an object; both ends belong to it. Without `first` these are the last ones, `last` of them."""

    first: int | None = 0
    last: int | None = None

    def within(self, path: ObjectPath, size_bytes: int) -> tuple[int, int]:
        """Where it begins in an object of this size, and how much it is."""
        if self.first is None:
            length = min(self.last or 0, size_bytes)
            return size_bytes - length, length
        if self.first and self.first >= size_bytes:
            raise InvalidInput(
                count_text(
                    "“{place}” has only {count} byte.", "“{place}” has only {count} bytes.", size_bytes, place=str(path)
                ),
                text("Bytes are counted from 0. Specify a range that starts before the end."),
            )
        end = size_bytes if self.last is None else min(size_bytes, self.last + 1)
        return self.first, end - self.first


def part(value: str) -> ByteRange:
    """`0-99`, `100-` or `-100`, as in a request for a range."""
    match = _RANGE.fullmatch(value.strip())
    if match is None or value.strip() == "-":
        raise argparse.ArgumentTypeError(say("enter a range such as 0-99, 100- or -100"))
    first, last = (int(digits) if digits else None for digits in match.groups())
    if first is not None and last is not None and last < first:
        raise argparse.ArgumentTypeError(say("the range ends before it starts"))
    return ByteRange(first, last)


async def cat(call: Call) -> int:
    paths = [ObjectPath.parse(path) for path in call.options.paths]
    for path in paths:
        if path.is_folder:
            raise InvalidInput(text("“{path}” is a folder.", path=str(path)), text("Specify the objects to print."))
    wanted: ByteRange = call.options.range or ByteRange()
    if call.options.head is not None:
        wanted = ByteRange(0, call.options.head - 1)
    count = 0
    outcomes = Outcomes()
    async with call.data() as core:
        for path in paths:
            with outcomes.one(str(path)):
                count += await printed(call, core, path, wanted)
    raise_worst(call.output, outcomes)
    if call.output.json_wanted:
        call.output.document({"objects": len(paths), "bytes": count})
    return DONE


async def printed(call: Call, core: DataCore, path: ObjectPath, wanted: ByteRange, bytes_per_s: int = 0) -> int:
    """The object, or this part of it, to standard output; the answer counts its bytes. 0 is no limit."""
    from traindeck.services.storage.content_check import ContentCheck
    from traindeck.services.storage.wire.data_plane import read_through
    from traindeck.services.transfers.pace import RateLimit

    limit = RateLimit(bytes_per_s)
    here = asyncio.get_running_loop()

    async def write(piece: bytes) -> None:
        call.output.bytes(piece)

    async def on_main(piece: bytes) -> None:
        await limit.take(len(piece))
        # Written where an interrupt arrives: a reader that stopped reading must not keep the program from ending.
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(write(piece), here))

    async def read(plane: DataPlane) -> int:
        found = None if path.is_folder else await plane.head(path)
        if found is None:
            raise no_object(path)
        offset, length = wanted.within(path, found.size_bytes)
        if length != found.size_bytes:
            return await read_through(plane, found, on_main, offset=offset, length=length)
        check = ContentCheck(found)

        async def on_main_and_checked(piece: bytes) -> None:
            check.update(piece)
            await on_main(piece)

        count = await read_through(plane, found, on_main_and_checked)
        check.finish()
        return count

    return await core.planes.run(call.profile(core), read)


def no_object(path: ObjectPath) -> NotFound:
    return NotFound(
        text("The object {place} does not exist.", place=str(path)), text("List the parent folder to see what exists.")
    )
