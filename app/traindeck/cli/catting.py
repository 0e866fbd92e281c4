"""`traindeck obs cat`: objects, or a part of each, to standard output as they are."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from traindeck.cli.byte_part import Part
from traindeck.cli.call import DONE, Call
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text

if TYPE_CHECKING:
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
    here = asyncio.get_running_loop()
    count = 0

    async def write(piece: bytes) -> None:
        call.output.bytes(piece)

    async def on_main(piece: bytes) -> None:
        # Written where an interrupt arrives: a reader that stopped reading must not keep the program from ending.
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(write(piece), here))

    async with call.core() as core:
        from traindeck.services.object_reading import read_through

        async def one(path: ObjectPath, plane: DataPlane) -> int:
            found = await plane.head(path)
            if found is None:
                raise NotFound(
                    text("There is no object {place}.", place=str(path)),
                    text("List the folder above it to see what is there."),
                )
            offset, length = wanted.within(path, found.size_bytes)
            return await read_through(plane, found, on_main, offset=offset, length=length)

        for path in paths:
            count += await core.planes.run(call.profile(core), partial(one, path))
    if call.output.json_wanted:
        call.output.document({"objects": len(paths), "bytes": count})
    return DONE
