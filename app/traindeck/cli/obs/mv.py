"""`traindeck obs mv`: files, folders and objects get another place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.main import DONE, Call
from traindeck.cli.obs.cp import Place, below, make_folder, place, refuse_impossible
from traindeck.cli.progress import ByteProgress
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say, text
from traindeck.domain.transfers.records import MOVE, Kind, Order

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore


async def move(call: Call) -> int:
    sources, target = [place(source) for source in call.options.sources], place(call.options.target)
    if target is None or None in sources:
        raise InvalidInput(
            text("What comes from standard input, or goes to standard output, cannot be moved."),
            text("Use “obs cp” for it."),
        )
    refuse_impossible(sources, target)
    several, count = len(sources) > 1, 0
    make_folder(target, call.options.target, is_folder=several)
    async with call.data() as core:
        for source in sources:
            assert source is not None
            count += await _moved(call, core, source, below(target, source, alone=not several))
    call.output.result(
        {"files": count, "target": call.options.target},
        say("Moved to {target}. Files: {count}", count=count, target=str(target)),
    )
    return DONE


async def _moved(call: Call, core: DataCore, source: Place, target: Place) -> int:
    label = source.resolve().name if isinstance(source, Path) else source.name
    match source, target:
        case Path(), ObjectPath():
            kind = Kind.UPLOAD
        case ObjectPath(), Path():
            kind = Kind.DOWNLOAD
        case _:
            kind = Kind.COPY
    order = Order(kind, call.profile(core), _spelled(source), _spelled(target), MOVE)
    with ByteProgress(call.output, label) as progress:
        row = await core.transfers.move(order, progress=progress.at)
    return row.done_files


def _spelled(where: Place) -> str:
    return str(where.absolute()) if isinstance(where, Path) else str(where)
