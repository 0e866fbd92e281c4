"""A file is read once for all its MD5s, and what is not what was hashed is never kept."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import BUCKET, done, tree, upload, working
from traindeck.domain.errors import AppError, NotFound, ServiceTrouble
from traindeck.domain.storage.objects import MD5_NAME, ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.records import TransferState
from traindeck.runtime.blocking import Cancelled, CancelToken
from traindeck.services.storage.data_ports import Body
from traindeck.services.transfers import uploads
from traindeck.services.transfers.digests import all_digests

MIB = 1024 * 1024


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, 3 * MIB, 3 * MIB + 7])
@pytest.mark.parametrize("part", [MIB // 4, MIB, 2 * MIB])
def test_whole_and_parts_are_those_of_the_content(tmp_path: Path, size: int, part: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    whole, parts = all_digests(tmp_path / "file", part, CancelToken())
    assert whole == hashlib.md5(content).hexdigest()
    assert parts == [hashlib.md5(content[at : at + part]).digest() for at in range(0, size, part)]


def test_it_stops_when_asked_and_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        all_digests(tmp_path / "file", MIB, token)
    with pytest.raises(NotFound):
        all_digests(tmp_path / "none", MIB, CancelToken())


async def test_bytes_that_changed_behind_an_old_time_go_up_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", MIB)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "_MEBIBYTE", MIB // 4)
    source = tree(tmp_path / "data", {"big": os.urandom(2 * MIB)})
    place, shelf = source / "big", ObjectShelf()
    new, time_ns = os.urandom(2 * MIB), place.stat().st_mtime_ns
    begin, send = shelf.begin_upload, shelf.put_part

    async def begun(*given: Any, **named: Any) -> object:
        with place.open("r+b") as file:
            file.write(new)
        os.utime(place, ns=(time_ns, time_ns))
        return await begin(*given, **named)

    async def checked(target: ObjectPath, upload_id: str, number: int, body: Body, **named: Any) -> object:
        digest = hashlib.md5()
        async for piece in body.pieces():
            digest.update(piece)
        if digest.digest() != body.md5:
            raise _damaged()
        return await send(target, upload_id, number, body, **named)

    monkeypatch.setattr(shelf, "begin_upload", begun)
    monkeypatch.setattr(shelf, "put_part", checked)
    async with working(tmp_path / "home", shelf) as engine:
        row = await done(engine, upload(source, ObjectPath(BUCKET, ""), store_md5=True))
    assert row.state is TransferState.DONE
    kept = shelf.objects[ObjectPath(BUCKET, "big")]
    assert kept.content == new
    assert kept.metadata[MD5_NAME] == hashlib.md5(new).hexdigest()
    assert shelf.uploads == {}


def _damaged() -> AppError:
    return ServiceTrouble(text("It was damaged on its way."), text("Try again."))
