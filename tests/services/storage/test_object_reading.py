"""An object read through over a line that breaks."""

from __future__ import annotations

from typing import Any

import pytest

from support.counted_plane import SparsePlane
from traindeck.domain.errors import Conflict, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.storage.data_ports import ObjectHead, Sink
from traindeck.services.storage.wire.data_plane import read_through

PATH = ObjectPath("bucket", "k")
CONTENT = bytes(range(250))


class _Breaking(SparsePlane):
    """Every answer ends after so many bytes, a whole one too."""

    def __init__(self, after_bytes: int, *, changes: bool = False) -> None:
        super().__init__(len(CONTENT), {0: CONTENT})
        self.after_bytes = after_bytes
        self.changes = changes
        self.asked: list[int] = []

    async def get(self, source: ObjectPath, sink: Sink, **more: Any) -> ObjectHead:
        self.asked.append(more["offset"])
        length = min(self.after_bytes, more["length"])
        if length:
            await super().get(source, sink, **more | {"length": length})
        if self.changes:
            self.etag = "etag-2"
        raise ServiceTrouble(text("The connection was cut."), text("Try again."))


async def whole(plane: _Breaking, **part: int) -> bytes:
    found = await plane.head(PATH)
    assert found is not None
    pieces: list[bytes] = []
    count = await read_through(plane, found, pieces.append, **part)  # type: ignore[arg-type]
    assert count == sum(map(len, pieces))
    return b"".join(pieces)


async def test_it_goes_on_at_the_byte_it_reached() -> None:
    plane = _Breaking(100)
    assert await whole(plane) == CONTENT
    assert plane.asked == [0, 100, 200]
    assert await whole(_Breaking(100), offset=30, length=150) == CONTENT[30:180]


async def test_another_object_is_never_put_behind_the_first_part() -> None:
    with pytest.raises(Conflict):
        await whole(_Breaking(100, changes=True))


async def test_it_gives_up_where_nothing_comes() -> None:
    plane = _Breaking(0)
    with pytest.raises(ServiceTrouble):
        await whole(plane)
    assert plane.asked == [0]
