"""The same sync against the Lab in its three dialects and against stores that nobody here wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.stores.stores import Store, new_bucket
from support.transfer_works import (
    ODD_FILES,
    all_items,
    content_of,
    copy,
    done,
    download,
    tree,
    upload,
    working,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import TransferState
from traindeck.services.transfers import downloads, uploads

MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def parts_of_five(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than 6 MiB goes in parts of five, the least that S3 takes."""
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", 6 * MIB)
    monkeypatch.setattr(sizes, "PART_BYTES", 5 * MIB)
    monkeypatch.setattr(downloads, "IN_MEMORY_BYTES", MIB)
    monkeypatch.setattr(downloads, "RANGE_BYTES", 5 * MIB)


@pytest.mark.parametrize("by", [CompareBy.SIZE_AND_TIME, CompareBy.MD5])
async def test_a_tree_is_kept_alike_both_ways(store: Store, tmp_path: Path, by: CompareBy) -> None:
    place = new_bucket(store).join("in/")
    files = {**ODD_FILES, "big.bin": os.urandom(12 * MIB + 7)}
    source = tree(tmp_path / "data", files)
    rules: dict[str, object] = {"compare": by, "delete": True, "keep_times": by is CompareBy.SIZE_AND_TIME}
    async with store.plane() as plane, working(tmp_path / "home", plane) as engine:
        first = await done(engine, upload(source, place, **rules))
        assert (first.state, first.done_files) == (TransferState.DONE, len(files))
        assert all(item.is_verified for item in await all_items(engine, first.id))
        again = await done(engine, upload(source, place, **rules))
        assert (again.done_files, again.equal_files) == (0, len(files))

        (source / "a b.txt").write_bytes(b"another")
        (source / "empty.txt").unlink()
        changed = await done(engine, upload(source, place, **rules))
        assert (changed.state, changed.done_files, changed.removals) == (TransferState.DONE, 2, 1)

        down = await done(engine, download(place, tmp_path / "back", **rules))
        assert down.state is TransferState.DONE
        assert content_of(tmp_path / "back") == content_of(source)
        assert all(item.is_verified for item in await all_items(engine, down.id))
        level = await done(engine, download(place, tmp_path / "back", **rules))
        assert (level.done_files, level.equal_files) == (0, len(files) - 1)

        aside = await done(engine, copy(place, ObjectPath(place.bucket, "aside/")))
        assert (aside.state, aside.done_files) == (TransferState.DONE, len(files) - 1)
        other = await done(engine, download(ObjectPath(place.bucket, "aside/"), tmp_path / "aside"))
        assert other.state is TransferState.DONE
        assert content_of(tmp_path / "aside") == content_of(source)
        assert [page async for page in plane.fragments(place.bucket)] in ([], [[]])
