"""Listing by several at once must give every name, and none twice, wherever the names lie."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.listed_names import ListedNames
from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import text
from traindeck.services.http import bounds
from traindeck.services.storage.data_ports import ListingPage
from traindeck.services.storage.listing import (
    AT_ONCE,
    KeyRange,
    Piece,
    Sweep,
    entries,
    middle,
    pages_ahead,
    pieces_of,
)

BUCKET = ObjectPath("bucket")
names = st.text(st.sampled_from("aB09/-_é数\U0001f600\x01"), min_size=1, max_size=8)


@given(names, names | st.none())
def test_the_middle_lies_between(after: str, upto: str | None) -> None:
    if upto is None or after < upto:
        place = middle(after, upto)
        assert place is None or (after < place and (upto is None or place < upto))


@given(st.lists(st.text(st.sampled_from("0123456789abcdef"), min_size=4, max_size=4), min_size=2, max_size=2))
def test_between_names_that_differ_there_is_a_middle(pair: list[str]) -> None:
    first, last = sorted(pair)
    assert first == last or middle(first, last) is not None


class Taken:
    """Keeps the pieces, and stops after some when asked to."""

    def __init__(self, stop_after: int = -1) -> None:
        self.pieces: list[Piece] = []
        self.stop_after = stop_after

    async def __call__(self, piece: Piece) -> None:
        await asyncio.sleep(0)
        if len(self.pieces) == self.stop_after:
            raise InterruptedError
        self.pieces.append(piece)

    @property
    def keys(self) -> list[str]:
        return [row.key for piece in self.pieces for row in piece.rows]


def check_cover(pieces: Sequence[Piece]) -> None:
    """The pieces lie side by side, from the beginning to the end, and hold what is theirs."""
    place: str | None = ""
    for piece in sorted(pieces, key=lambda piece: (piece.after, piece.upto is None, piece.upto)):
        assert piece.after == place
        assert all(piece.after < row.key and (piece.upto is None or row.key <= piece.upto) for row in piece.rows)
        place = piece.upto
    assert place is None


@settings(max_examples=150)
@given(st.sets(names, max_size=60), st.integers(1, 7), st.sampled_from(["", "a", "a/", "数"]), st.booleans())
def test_every_name_comes_once(keys: set[str], most: int, folder: str, in_order: bool) -> None:
    taken, place = Taken(), ObjectPath("bucket", folder)
    asyncio.run(Sweep(ListedNames(keys, most), place, in_order=in_order).run(taken))
    wanted = sorted(key for key in keys if key.startswith(folder))
    assert (taken.keys if in_order else sorted(taken.keys)) == wanted
    check_cover(taken.pieces)


@settings(max_examples=100)
@given(st.sets(names, max_size=60), st.integers(1, 5), st.integers(0, 12))
def test_what_was_stopped_is_gone_on_with(keys: set[str], most: int, stop_after: int) -> None:
    source, taken = ListedNames(keys, most), Taken(stop_after)
    sweep = Sweep(source, BUCKET)
    left: list[KeyRange] | None = []
    try:
        asyncio.run(sweep.run(taken))
    except InterruptedError:
        left = sweep.left
    taken.stop_after = -1
    if left:
        asyncio.run(Sweep(source, BUCKET, spans=left).run(taken))
    assert sorted(set(taken.keys)) == sorted(keys)


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ("folders", [f"train/{number // 500:03}/img_{number:06}.jpg" for number in range(50_000)]),
        ("counted", [f"data_set_of_ours/image_{number:06}_x.png" for number in range(50_000)]),
        ("hashed", [f"{number * 2654435761 % 2**32:08x}.bin" for number in range(50_000)]),
        ("one big folder", ["a/x", "b/y", *(f"raw/sub/{number:07}" for number in range(50_000)), "z"]),
        ("words", [f"{word}/{number:05}" for word in "猫狗鸟鱼" for number in range(12_500)]),
    ],
)
async def test_several_share_the_work_whatever_names_look_like(shape: str, keys: list[str]) -> None:
    source, taken = ListedNames(keys), Taken()
    await Sweep(source, BUCKET).run(taken)
    assert sorted(taken.keys) == sorted(keys)
    assert 8 <= source.at_once <= AT_ONCE
    assert source.asked < 50 * 2.6 + 20, f"{shape}: {source.asked} requests"


async def test_a_small_folder_costs_two_requests_and_no_waiting() -> None:
    source, taken = ListedNames([f"a/{number}" for number in range(900)]), Taken()
    await Sweep(source, BUCKET).run(taken)
    assert (source.asked, len(taken.keys)) == (2, 900)


async def test_a_level_comes_page_by_page_with_its_folders() -> None:
    source = ListedNames(["a/", "a/1", "a/b/2", "a/b/3", "a/c", "a/d/4", "z"], 2)
    pieces = [piece async for piece in pieces_of(source, ObjectPath("bucket", "a/"))]
    assert [path for piece in pieces for path in piece.folders] == ["a/b/", "a/d/"]
    assert [row.key for piece in pieces for row in piece.rows] == ["a/", "a/1", "a/c"]
    check_cover(pieces)
    pages = [page async for page in entries(source, ObjectPath("bucket", "a/"))]
    assert [entry.path.key for page in pages for entry in page] == ["a/1", "a/b/", "a/c", "a/d/"]


@pytest.mark.parametrize("names", [0, 1])
async def test_a_list_without_end_is_left(names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        async def page(
            self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
        ) -> ListingPage:
            return ListingPage([ObjectRow(f"{marker}a", 1, None, "")] * names, [], f"{marker}a")

    monkeypatch.setattr(bounds, "PAGES" if names else "EMPTY_PAGES", 40)
    with pytest.raises(ServiceTrouble, match="does not end"):
        await Sweep(Endless(), BUCKET).run(Taken())
    for pages in (pieces_of(Endless(), BUCKET), pages_ahead(Endless(), BUCKET, is_strict=True)):
        with pytest.raises(ServiceTrouble, match="does not end"):
            async for _ in pages:
                pass


async def test_folders_of_a_page_each_cost_hardly_more_than_their_pages() -> None:
    keys = [f"{folder:03}/{number:03}" for folder in range(90) for number in range(100)]
    source, taken = ListedNames(keys, most=100), Taken()
    await Sweep(source, BUCKET).run(taken)
    assert sorted(taken.keys) == keys
    check_cover(taken.pieces)
    assert source.asked < 90 * 1.6


@pytest.mark.parametrize("is_strict", [True, False])
@pytest.mark.parametrize("count", [0, 5, 100, 101, 799, 20_000])
async def test_pages_come_ahead_and_in_order(count: int, is_strict: bool) -> None:
    keys = [f"{number * 2654435761 % 2**32:08x}" for number in range(count)]
    source = ListedNames(keys, most=100)
    pages = [rows async for rows in pages_ahead(source, BUCKET, is_strict=is_strict)]
    assert [row.key for rows in pages for row in rows] == sorted(keys)
    assert (source.at_once > 1) == (count == 20_000 and not is_strict)


async def test_pages_ahead_do_not_run_away_and_end_with_who_looks_at_them() -> None:
    source = ListedNames([f"{number:05}" for number in range(10_000)], most=100)
    async with aclosing(pages_ahead(source, BUCKET)) as pages:
        await anext(pages)
        for _ in range(200):
            await asyncio.sleep(0)
        asked = source.asked
        assert asked < 8, "they wait for who looks at them"
    for _ in range(200):
        await asyncio.sleep(0)
    assert source.asked == asked
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("at", [1, 3, 12])
async def test_pages_ahead_fail_as_the_service_does(at: int) -> None:
    class Failing(ListedNames):
        async def page(self, *given: object, **named: object) -> ListingPage:
            if self.asked >= at - 1:
                raise ServiceTrouble(text("Broken."), text("Try again."))
            return await super().page(*given, **named)  # type: ignore[arg-type]

    source = Failing([f"{number:05}" for number in range(10_000)], most=100)
    seen = 0
    with pytest.raises(ServiceTrouble, match="Broken"):
        async for rows in pages_ahead(source, BUCKET):
            seen += len(rows)
    assert seen <= (at - 1) * 100
