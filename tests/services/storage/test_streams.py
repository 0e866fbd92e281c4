"""What comes through a pipe becomes one object, however much it is, or none."""

from __future__ import annotations

import io
import os
import secrets

import pytest

from support.stores.way import Way
from traindeck.domain.errors import LocalTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.transfers import streams
from traindeck.services.transfers.streams import send_stream

MEBIBYTE = 2**20


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FIRST_BYTES", MEBIBYTE)
    monkeypatch.setattr(streams, "_SAME_SIZE", 2)


async def new_place(way: Way) -> ObjectPath:
    place = ObjectPath(f"b-{secrets.token_hex(6)}", "x")
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
    return place


@pytest.mark.parametrize("size", [0, 1, MEBIBYTE - 1, MEBIBYTE, 3 * MEBIBYTE, 9 * MEBIBYTE + 7])
async def test_all_of_it_arrives(way: Way, size: int) -> None:
    place, content = await new_place(way), os.urandom(size)
    pipe = io.BytesIO(content)

    async def read(wanted: int) -> bytes:
        return pipe.read(wanted)

    received = bytearray()
    async with way.plane() as plane:
        assert await send_stream(plane, place, read) == size
        await plane.get(place, received.extend)
        assert [page async for page in plane.fragments(place.bucket)] in ([], [[]])
    assert bytes(received) == content


async def test_a_pipe_that_breaks_leaves_nothing(way: Way) -> None:
    place, asked = await new_place(way), 0

    async def read(wanted: int) -> bytes:
        nonlocal asked
        asked += 1
        if asked == 4:
            raise LocalTrouble(text("The pipe broke."), text("Mend it."))
        return bytes(wanted)

    async with way.plane() as plane:
        with pytest.raises(LocalTrouble, match="broke"):
            await send_stream(plane, place, read)
        assert await plane.head(place) is None
        assert [page async for page in plane.fragments(place.bucket)] in ([], [[]])
