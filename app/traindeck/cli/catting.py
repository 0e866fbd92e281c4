"""`traindeck obs cat`: objects, or a part of each, to standard output as they are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from traindeck.cli.byte_part import Part
from traindeck.cli.call import DONE, Call
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.data_ports import DataPlane


async def cat(call: Call) -> int:
    paths = [ObjectPath.parse(path) for path in call.options.paths]
    for path in paths:
        if path.is_folder:
            raise InvalidInput(
                text("“{path}” is a folder.", path=str(path)), text("Name the objects whose content you want.")
            )
    wanted: Part = call.options.range or Part()
    if call.options.head is not None:
        wanted = Part(0, call.options.head - 1)
    count = 0
    async with call.data() as core:
        for path in paths:
            count += await printed(call, core, path, wanted)
    if call.output.json_wanted:
        call.output.document({"objects": len(paths), "bytes": count})
    return DONE


async def printed(call: Call, core: DataCore, path: ObjectPath, wanted: Part, bytes_per_s: int = 0) -> int:
    """The object, or this part of it, to standard output; the answer counts its bytes. 0 is no limit."""
    from traindeck.services.object_reading import read_through
    from traindeck.services.transfers.rate_limit import RateLimit

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
            raise NotFound(
                text("There is no object {place}.", place=str(path)),
                text("List the folder above it to see what is there."),
            )
        offset, length = wanted.within(path, found.size_bytes)
        return await read_through(plane, found, on_main, offset=offset, length=length)

    return await core.planes.run(call.profile(core), read)
