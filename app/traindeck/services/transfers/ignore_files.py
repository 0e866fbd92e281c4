"""The rules that a dataset brings along: its “.traindeckignore”, here or in a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.name_filter import FilterRules
from traindeck.domain.transfers.sync_rules import DATA_IGNORE_FILE, IgnoreRules
from traindeck.runtime.files import local_errors
from traindeck.services.storage.wire.data_plane import DataPlane, read_through

_MOST_BYTES = 1 << 20


def rules_of(
    folder: Path, more: Sequence[str], filters: FilterRules = (), *, before: Sequence[str] = ()
) -> IgnoreRules:
    """Those of a folder of this computer, between others."""
    lines: list[str] = []
    with local_errors(folder), suppress(FileNotFoundError):
        lines = _lines((folder / DATA_IGNORE_FILE).read_bytes())
    return IgnoreRules([*before, *lines, *more], filters)


async def lines_there(plane: DataPlane, folder: ObjectPath) -> list[str]:
    """Those of a folder in a bucket."""
    found = await plane.head(folder.as_folder().join(DATA_IGNORE_FILE))
    if found is None or not found.size_bytes:
        return []
    if found.size_bytes > _MOST_BYTES:
        raise InvalidInput(
            text("“{place}” is larger than 1 MiB and cannot be a list of rules.", place=str(found.path)),
            text("Shorten it: a rule such as *.tmp covers many files."),
        )
    content = bytearray()
    await read_through(plane, found, content.extend)
    return _lines(bytes(content))


def _lines(content: bytes) -> list[str]:
    return content.decode(errors="replace").splitlines()
