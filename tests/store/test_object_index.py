"""The index of a bucket: it must hold just what was listed, whatever came in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.domain.storage.objects import Column, Look, ObjectRow, Shown
from traindeck.runtime.blocking import Cancelled, CancelToken
from traindeck.store.object_index import ObjectIndex, ObjectIndexes

START = datetime(2026, 1, 1, tzinfo=UTC)


def row(key: str, size: int = 1, age: int = 0, storage_class: str = "STANDARD") -> ObjectRow:
    return ObjectRow(key, size, START + timedelta(seconds=age), f"etag-{size}", storage_class)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ObjectIndex]:
    with closing(ObjectIndex(tmp_path / "bucket.sqlite3", "bucket")) as index:
        yield index


def shown(index: ObjectIndex, look: Look) -> list[str]:
    order = index.order(look, (), CancelToken())
    rows = index.rows(order.ids)
    return [rows[row_id].entry.path.key for row_id in order.ids]


def test_a_level_has_its_folders_first_and_only_its_own_objects(index: ObjectIndex) -> None:
    index.replace("", "", None, [row("b.txt"), row("a/"), row("a/1"), row("a/deep/2"), row("c/3"), row("数据/4")])
    assert shown(index, Look()) == ["a/", "c/", "数据/", "b.txt"]
    assert shown(index, Look("a/")) == ["a/deep/", "a/1"]
    assert shown(index, Look("数据/")) == ["数据/4"]
    assert shown(index, Look("none/")) == []


def test_every_column_sorts_both_ways(index: ObjectIndex) -> None:
    index.replace(
        "", "", None, [row("a", 3, 1, "COLD"), row("b", 1, 3), row("c", 2, 2, "WARM"), row("f/x"), row("g/x")]
    )
    ways = {
        (Column.NAME, False): ["f/", "g/", "a", "b", "c"],
        (Column.NAME, True): ["g/", "f/", "c", "b", "a"],
        (Column.SIZE, False): ["f/", "g/", "b", "c", "a"],
        (Column.SIZE, True): ["f/", "g/", "a", "c", "b"],
        (Column.MODIFIED, True): ["f/", "g/", "b", "c", "a"],
        (Column.CLASS, False): ["f/", "g/", "a", "b", "c"],
    }
    for (column, descending), keys in ways.items():
        assert shown(index, Look("", "", column, descending)) == keys, column


def test_folders_that_were_counted_are_sorted_by_size(index: ObjectIndex) -> None:
    index.replace("", "", None, [row("a/1", 5), row("b/1", 9), row("b/2", 9), row("c/1", 7)])
    assert index.keep_size("b/", CancelToken()) is None, "what was not listed as a whole is not known"
    index.note_listed("", deep=True, as_of=START)
    size = index.keep_size("b/", CancelToken())
    assert size is not None and (size.count, size.size_bytes) == (2, 18)
    index.keep_size("a/", CancelToken())
    assert shown(index, Look("", "", Column.SIZE, True)) == ["b/", "a/", "c/"]
    rows = index.rows(index.order(Look(), (), CancelToken()).ids).values()
    counts = {known.entry.path.key: known.size.count if known.size else None for known in rows}
    assert counts == {"a/": 1, "b/": 2, "c/": None}


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("IMG", ["x/imgs/", "x/imgs/IMG_1.jpg", "x/img_2.png"]),
        ("img jpg", ["x/imgs/IMG_1.jpg"]),
        ("100%", ["x/100%.txt"]),
        ("_", ["x/imgs/IMG_1.jpg", "x/img_2.png"]),
        ("!", ["x/wow!"]),
        ("数据", ["x/训练数据.csv"]),
        ("ÉTÉ", ["x/été"]),
        ("x", ["x/100%.txt"]),
        ("imgs/", []),
    ],
)
def test_search_looks_inside_names(index: ObjectIndex, search: str, found: list[str]) -> None:
    keys = ["x/imgs/IMG_1.jpg", "x/img_2.png", "x/100%.txt", "x/1000", "x/wow!", "x/训练数据.csv", "x/été", "y/img"]
    index.replace("", "", None, [row(key) for key in keys])
    assert sorted(shown(index, Look("x/", search))) == sorted(found)


def test_a_second_listing_writes_only_what_is_new(index: ObjectIndex) -> None:
    rows = [row(f"a/{number:03}") for number in range(100)]
    assert index.replace("", "", None, rows) == 100
    assert index.replace("", "", None, rows) == 0
    before = {entry.entry.path.key: number for number, entry in all_rows(index).items()}
    rows[5] = row("a/005", 7)
    assert index.replace("", "", None, [*rows[:50], row("a/new"), *rows[51:]]) == 3
    after = {entry.entry.path.key: number for number, entry in all_rows(index).items()}
    assert set(after) == set(before) - {"a/050"} | {"a/new"}
    assert all(after[key] == before[key] for key in after if key in before), "a row keeps its number"


def all_rows(index: ObjectIndex) -> dict[int, Shown]:
    return index.rows(index.order(Look("a/"), (), CancelToken()).ids)


def test_a_level_listed_again_drops_what_is_gone_with_all_below(index: ObjectIndex) -> None:
    index.replace("", "", None, [row("a/1"), row("a/b/2"), row("c/3"), row("d")])
    changed = index.replace_level("", "", None, [row("d"), row("e")], ["c/"], START)
    assert changed == 2
    assert shown(index, Look()) == ["c/", "d", "e"]
    assert shown(index, Look("", "2")) == []
    assert shown(index, Look("c/")) == ["c/3"]


def test_pages_of_a_level_replace_just_their_part(index: ObjectIndex) -> None:
    index.replace_level("p/", "", "p/c/", [row("p/a"), row("p/b")], ["p/c/"], START)
    index.replace_level("p/", "p/c/", None, [row("p/d")], ["p/e/"], START)
    assert shown(index, Look("p/")) == ["p/c/", "p/e/", "p/a", "p/b", "p/d"]
    index.replace_level("p/", "", "p/c/", [row("p/b")], ["p/c/"], START)
    assert shown(index, Look("p/")) == ["p/c/", "p/e/", "p/b", "p/d"]


LATER = START + timedelta(minutes=1)


def test_a_folder_nobody_looked_into_makes_the_size_of_all_above_unknown(index: ObjectIndex) -> None:
    """Until somebody has; what lies beside it is as well known as it was."""
    index.replace("", "", None, [row("a/1"), row("a/b/2"), row("c/3")])
    index.note_listed("", deep=True, as_of=START)
    index.replace_level("a/", "", None, [row("a/1")], ["a/b/"], LATER)
    assert index.size("", CancelToken()) is not None, "nothing new"
    index.replace_level("a/", "", None, [row("a/1")], ["a/b/", "a/new/"], LATER)
    for folder in ("", "a/", "a/new/", "a/new/x/"):
        assert index.size(folder, CancelToken()) is None
        assert index.listed(folder, deep=True) is None
    assert index.listed("", deep=False) == index.listed("a/", deep=False) == START, "these levels were listed"
    assert index.listed("a/new/", deep=False) is index.listed("a/new/x/", deep=False) is None
    assert index.listed("c/", deep=True) == index.listed("a/b/", deep=True) == START
    assert index.unseen("", 10) == index.unseen("a/", 10) == ["a/new/"] and index.unseen("c/", 10) == []

    index.note_listed("", deep=True, as_of=START)  # begun before the folder was there
    assert index.listed("a/", deep=True) is None
    index.replace("a/new/", "", None, [row("a/new/x/4"), row("a/new/5")])
    index.note_listed("a/new/", deep=True, as_of=LATER)
    for folder, count in (("", 5), ("a/", 4), ("a/new/", 2), ("a/new/x/", 1)):
        size = index.size(folder, CancelToken())
        assert size is not None and size.count == count, folder


def test_of_a_folder_that_was_made_again_nothing_is_known_from_before(index: ObjectIndex) -> None:
    index.note_listed("", deep=True, as_of=START)
    index.replace_level("", "", None, [], ["a/"], START)
    index.note_listed("a/x/", deep=True, as_of=LATER)
    index.note_listed("a/", deep=True, as_of=LATER)
    index.replace_level("", "", None, [], [], LATER)
    assert index.unseen("", 10) == []
    index.replace_level("", "", None, [], ["a/"], LATER + timedelta(minutes=1))
    assert index.listed("a/", deep=True) is index.listed("a/x/", deep=True) is None


def test_a_folder_that_went_before_anybody_looked_leaves_no_gap(index: ObjectIndex) -> None:
    index.note_listed("", deep=True, as_of=START)
    index.replace_level("", "", None, [], ["a/"], LATER)
    index.replace("a/", "", None, [row("a/1")])
    index.remove(["a/1"])
    assert index.unseen("", 10) == [] and index.listed("", deep=True) == START


def test_what_is_known_of_a_listing_holds_for_everything_below(index: ObjectIndex) -> None:
    assert index.listed("", deep=False) is None
    index.note_listed("a/", deep=False, as_of=START)
    assert index.listed("a/", deep=False) is not None
    assert index.listed("a/", deep=True) is None
    assert index.listed("a/b/", deep=False) is None
    index.note_listed("a/", deep=True, as_of=START)
    assert index.listed("a/b/", deep=True) is not None
    assert index.listed("a/b/", deep=False) is not None
    assert index.listed("", deep=True) is None


def test_removed_objects_and_folders_left_empty_are_gone(index: ObjectIndex) -> None:
    index.replace("", "", None, [row("a/b/1"), row("a/2"), row("c")])
    index.remove(["a/b/1", "c"])
    assert shown(index, Look()) == ["a/"]
    assert shown(index, Look("a/")) == ["a/2"]


def test_completion_offers_folders_then_objects_of_one_level(index: ObjectIndex) -> None:
    index.replace("", "", None, [row("data/1"), row("data_private/2"), row("date.txt"), row("other"), row("data/x/3")])
    assert index.beginning_with("dat", 10) == ["data/", "data_private/", "date.txt"]
    assert index.beginning_with("data/", 10) == ["data/x/", "data/1"]
    assert index.beginning_with("dat", 1) == ["data/"]


def test_asked_rows_are_found_again_in_another_order(index: ObjectIndex) -> None:
    index.replace("", "", None, [row(f"{number:05}", 10_000 - number) for number in range(10_000)])
    first = index.order(Look(), (), CancelToken())
    chosen = [first.ids[3], first.ids[9_000]]
    again = index.order(Look("", "", Column.SIZE), chosen, CancelToken())
    assert [again.places[row_id] for row_id in chosen] == [9_996, 999]


def test_a_number_never_comes_to_mean_another_row(index: ObjectIndex) -> None:
    index.replace("", "", None, [row("a"), row("b"), row("x/1"), row("y/2")])
    before = index.order(Look(), (), CancelToken())
    for names in (["a"], ["a", "c"], [], ["d", "e", "f/1", "g/1"], ["e"], ["h", "i", "j/1", "k/1", "l/1"]):
        index.replace("", "", None, [row(name) for name in names])
        found = {shown.entry.path.key for shown in index.rows(before.ids).values()}
        assert found <= {"a", "b", "x/", "y/"}
        after = index.order(Look(), (), CancelToken())
        assert len(after.ids) == len(names) and index.listed("", deep=True) is None
    index.note_listed("", deep=True, as_of=START)
    size = index.size("", CancelToken())
    assert size is not None and (size.count, size.size_bytes) == (5, 5)


def test_a_query_nobody_waits_for_ends(index: ObjectIndex) -> None:
    index.replace("", "", None, [row(f"{number:05}") for number in range(10_000)])
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        index.order(Look(), (), token)
    assert len(index.order(Look(), (), CancelToken()).ids) == 10_000


def test_a_damaged_file_is_thrown_away(tmp_path: Path) -> None:
    place = tmp_path / "bucket.sqlite3"
    place.write_bytes(b"this is no database, it only looks like a file" * 100)
    with closing(ObjectIndex(place, "bucket")) as index:
        index.replace("", "", None, [row("a")])
        assert shown(index, Look()) == ["a"]


def test_what_was_listed_is_there_at_the_next_start(tmp_path: Path) -> None:
    with closing(ObjectIndex(tmp_path / "deep" / "b.sqlite3", "bucket")) as index:
        index.replace("", "", None, [row("a"), row("b")])
        index.note_listed("", deep=True, as_of=START)
    with closing(ObjectIndex(tmp_path / "deep" / "b.sqlite3", "bucket")) as index:
        assert shown(index, Look()) == ["a", "b"]
        assert index.listed("", deep=True) is not None


def test_accounts_do_not_share_what_they_see(tmp_path: Path) -> None:
    with closing(ObjectIndexes(tmp_path)) as indexes:
        mine, yours = indexes.open("mine", "con"), indexes.open("yours", "con")
        assert indexes.open("mine", "con") is mine
        mine.replace("", "", None, [row("a")])
        assert shown(yours, Look()) == []


keys = st.lists(st.text(st.sampled_from("ab/é"), min_size=1, max_size=6), unique=True, max_size=25)


@settings(max_examples=60)
@given(st.lists(st.tuples(keys, st.sampled_from(["", "a/", "b/a/"]), st.booleans(), st.integers(1, 5)), max_size=5))
def test_after_any_listings_each_part_is_as_it_was_listed_last(
    tmp_path_factory: pytest.TempPathFactory, listings: Sequence[tuple[list[str], str, bool, int]]
) -> None:
    with closing(ObjectIndex(tmp_path_factory.mktemp("index") / "i.sqlite3", "bucket")) as index:
        for found, folder, deep, most in listings:
            there = sorted(key for key in found if key.startswith(folder))
            if deep:
                _list_deep(index, folder, there, most)
                below = {key for key in there if not key.endswith("/")}
                assert set(shown_objects(index, Look(folder, ""))) == {
                    key for key in below if "/" not in key[len(folder) :]
                }
            else:
                _list_level(index, folder, there)
            names = {key[len(folder) :] for key in there if key != folder}
            assert set(shown(index, Look(folder))) == {
                folder + (name.partition("/")[0] + "/" if "/" in name else name) for name in names
            }


def shown_objects(index: ObjectIndex, look: Look) -> list[str]:
    return [key for key in shown(index, look) if not key.endswith("/")]


def _list_deep(index: ObjectIndex, folder: str, there: list[str], most: int) -> None:
    after = ""
    for start in range(0, max(1, len(there)), most):
        page = there[start : start + most]
        upto = page[-1] if start + most < len(there) else None
        index.replace(folder, after, upto, [row(key) for key in page])
        after = upto or ""


def _list_level(index: ObjectIndex, folder: str, there: list[str]) -> None:
    rows = [row(key) for key in there if "/" not in key[len(folder) :]]
    names = {key[len(folder) :].partition("/")[0] for key in there if "/" in key[len(folder) :]}
    index.replace_level(folder, "", None, rows, sorted(folder + name + "/" for name in names), START)
