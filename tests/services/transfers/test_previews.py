"""A preview shows what a sync then does: file by file, whatever stands on both sides."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    all_items,
    check,
    content_of,
    copy,
    done,
    download,
    there,
    tree,
    upload,
    working,
)
from traindeck.domain.errors import NotFound
from traindeck.domain.transfers.orders import CompareBy, Kind, Links, Order
from traindeck.domain.transfers.records import Action, ItemState, TransferState
from traindeck.services.transfers.engine import TransferEngine

Shown = tuple[str, Action, ItemState]

RULES = "*.log\nkept/\n"
_NAMES = st.sampled_from(
    ["a", "b.txt", "d/a", "d/b.log", "d/e/c", "kept/x", "odd%3A", "odd:", "z.log", ".traindeckignore", "~"]
)
_SIDE = st.dictionaries(_NAMES, st.sampled_from([b"", b"1", b"22", RULES.encode()]), max_size=8)


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir()
    return tree(folder, files)


async def shown_and_done(engine: TransferEngine, order: Order) -> tuple[set[Shown], set[Shown]] | None:
    """What a preview shows to be done, left and failing, and what became of it; None: both refuse it."""

    async def found(number: int) -> set[Shown]:
        open_or_done = {ItemState.QUEUED: ItemState.DONE}
        items = await all_items(engine, number)
        return {(item.key, item.action, open_or_done.get(item.state, item.state)) for item in items}

    number = await engine.add(order, needs_confirmation=True)
    row = await engine.planned(number)
    if row.state is TransferState.FAILED:
        real = await done(engine, order)
        assert (real.state, str(real.error)) == (row.state, str(row.error))
        return None
    shown = await found(number)
    assert row.removals == sum(one[1:] == (Action.REMOVE, ItemState.DONE) for one in shown)
    await engine.cancel(number)
    await engine.ended(number)
    number = await engine.add(order)
    await engine.ended(number)
    return shown, await found(number)


@settings(max_examples=40)
@given(
    kind=st.sampled_from([Kind.UPLOAD, Kind.DOWNLOAD, Kind.COPY]),
    source=_SIDE,
    target=_SIDE,
    by=st.sampled_from(CompareBy),
    delete=st.booleans(),
    is_broken=st.booleans(),
)
def test_a_preview_is_what_happens(
    kind: Kind, source: dict[str, bytes], target: dict[str, bytes], by: CompareBy, *, delete: bool, is_broken: bool
) -> None:
    async def work() -> None:
        with TemporaryDirectory() as folder:
            shelf, here = ObjectShelf(), Path(folder) / "here"
            for where, files in (("from/", source), ("to/", target)):
                for name, content in files.items():
                    shelf.keep(there(where + name), content)
            rules: dict[str, Any] = {"compare": by, "delete": delete, "has_ignore_files": True}
            match kind:
                case Kind.UPLOAD:
                    order = upload(fill(here, source), there("to/"), **rules)
                    if is_broken and os.name != "nt":
                        (here / "no\\name").write_bytes(b"refused")
                case Kind.DOWNLOAD:
                    order = download(there("from/"), fill(here, target), **rules)
                case _:
                    order = copy(there("from/"), there("to/"), **rules)

            def contents() -> dict[str, bytes]:
                return content_of(here) if kind is Kind.DOWNLOAD else shelf.content(BUCKET, "to/")

            before = contents()
            async with working(Path(folder) / "home", shelf) as engine:
                both = await shown_and_done(engine, order)
            if both is None:
                assert contents() == before
                return
            shown, happened = both
            assert shown == happened
            gone = {name for name in before if name not in contents()}
            assert len(gone) == sum(one[1:] == (Action.REMOVE, ItemState.DONE) for one in happened)
            if is_broken and kind is Kind.UPLOAD and os.name != "nt":
                assert not gone

    asyncio.run(work())


async def test_the_rules_of_the_source_count_from_the_first_sync_on(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    for name, content in {".traindeckignore": RULES.encode(), "a": b"a", "x.log": b"log"}.items():
        shelf.keep(there("from/" + name), content)
    here = fill(tmp_path / "here", {"kept/mine": b"mine", "own.log": b"log", "extra": b"extra"})
    rules: dict[str, Any] = {"compare": CompareBy.MD5, "delete": True, "has_ignore_files": True}
    shelf.keep(there("to/kept/there"), b"there")
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("from/"), here, **rules))
        assert (row.state, row.removals) == (TransferState.DONE, 1)
        assert set(content_of(here)) == {".traindeckignore", "a", "kept/mine", "own.log"}
        assert (await done(engine, check(there("from/"), here, has_ignore_files=True))).differences == 0
        row = await done(engine, copy(there("from/"), there("to/"), **rules))
        assert set(shelf.content(BUCKET, "to/")) == {".traindeckignore", "a", "kept/there"}


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_deletions_that_a_gap_prevents_are_not_shown(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    here = fill(tmp_path / "here", {"a": b"a"})
    (here / "disk").symlink_to(tmp_path / "not-mounted")
    shelf.keep(there("to/disk/x"), b"x")
    shelf.keep(there("to/gone"), b"x")
    async with working(home, shelf) as engine:
        order = upload(here, there("to/"), compare=CompareBy.MD5, delete=True, links=Links.FOLLOW)
        number = await engine.add(order, needs_confirmation=True)
        assert (await engine.planned(number)).removals == 0
        left = next(item for item in await all_items(engine, number) if item.action is Action.REMOVE)
        assert left.state is ItemState.SKIPPED and left.error is not None


async def test_an_empty_source_is_called_empty(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    here = fill(tmp_path / "here", {})
    shelf.keep(there("to/x"), b"x")
    async with working(home, shelf) as engine:
        row = await done(engine, upload(here, there("to/"), compare=CompareBy.MD5, delete=True))
        assert isinstance(row.error, NotFound) and "is empty" in row.error.sentence()
        await shelf.remove(BUCKET, ["to/x"])
        row = await done(engine, download(there(), tree(here, {"a": b"a"}), compare=CompareBy.MD5, delete=True))
        assert isinstance(row.error, NotFound) and "is empty" in row.error.sentence()
    assert set(content_of(here)) == {"a"}


async def test_a_plan_that_is_ready_is_never_shown_without_its_deletions(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    """Else it could be confirmed without a question."""
    here = fill(tmp_path / "here", {"a": b"a"})
    shelf.keep(there("to/gone"), b"x")
    seen: list[tuple[TransferState, int]] = []
    async with working(home, shelf) as engine:
        whole = engine.journal.open_again

        async def open_again(*given: Any) -> object:
            seen.append((engine.rows()[0].state, engine.rows()[0].removals))
            return await whole(*given)

        engine.journal.open_again = open_again
        number = await engine.add(
            upload(here, there("to/"), compare=CompareBy.MD5, delete=True), needs_confirmation=True
        )
        await engine.planned(number)
    assert seen == [(TransferState.READY, 1)]
