"""What tells the runs of this home from those of others who share the account, also after its records were lost."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.errors import AppError, NoRight, NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import alone_with, local_errors, write_whole
from traindeck.services.storage.wire.data_plane import DataPlane

HOME_FIELD = "traindeck-home"
"""The metadata of a run's manifest in OBS that holds the mark."""
_MARK = re.compile("[0-9a-f]{32}")
_BUSY_S = 10.0


@dataclass(frozen=True, slots=True)
class HomeMark:
    """A random number in a file beside the records, which says nothing of anybody."""

    place: Path
    disk: BlockingCalls

    async def read(self) -> str:
        """The mark, made with the first run; empty where nothing can be written, and then a run is nobody's."""
        try:
            return await self.disk.run(self._read)
        except AppError:
            return ""

    def _read(self, _: CancelToken) -> str:
        if mark := self._known():
            return mark
        busy = text("Another TrainDeck is busy with “{place}”.", place=str(self.place))
        with alone_with(self.place, _BUSY_S, busy, text("Wait until it is done, then try again.")):
            if mark := self._known():
                return mark
            mark = secrets.token_hex(16)
            with local_errors(self.place):
                write_whole(self.place, mark.encode())
            return mark

    def _known(self) -> str:
        try:
            content = self.place.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return ""
        return content if _MARK.fullmatch(content) else ""


async def has_mark(plane: DataPlane, manifest: ObjectPath, mark: str) -> bool:
    """Whether this manifest was put there by the home with this mark; one that cannot be seen was not."""
    try:
        head = await plane.head(manifest)
    except (NoRight, NotFound):
        return False
    return bool(mark) and head is not None and head.metadata.get(HOME_FIELD) == mark
