"""`obs sync` both ways, against the real Lab: what differs moves, and every file has its result."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from support.cli_commands import Traindeck, make_tree, s3, tree


def waiting_for_a_yes(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "transfers.db")) as database:
        return [row[0] for row in database.execute("SELECT source FROM transfers WHERE state = 'ready'")]


def results(rows: list[dict[str, object]]) -> Counter[object]:
    return Counter(row["result"] for row in rows if "result" in row)


def test_sync_up_and_down(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    source = make_tree(tmp_path / "源")
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    there = "obs://sync-bucket/data/"

    preview = traindeck("obs", "sync", "源", there, "--dry-run", "--json").must_be(0).rows
    assert results(preview) == {"to move": 4}
    assert preview[-1]["to_move"] == 4
    assert traindeck("obs", "ls", "-r", "obs://sync-bucket/", "--json").must_be(0).rows == []

    assert results(traindeck("obs", "sync", "源", there, "--json").must_be(0).rows) == {"uploaded": 4}
    again = traindeck("obs", "sync", "源", there, "--json").must_be(0).rows
    assert results(again) == {"equal": 4}
    assert (again[-1]["equal"], again[-1]["moved"]) == (4, 0)

    (tmp_path / "源" / "new.txt").write_bytes(b"new")
    (tmp_path / "源" / "a b.bin").unlink()
    refused = traindeck("obs", "sync", "源", there, "--delete", "--json").must_be(2)
    assert "would delete 1 file at" in refused.said + refused.out
    assert waiting_for_a_yes(tmp_path / "home") == []
    preview = traindeck("obs", "sync", "源", there, "--delete", "--dry-run", "--json").must_be(0).rows
    assert (preview[-1]["to_move"], preview[-1]["removals"]) == (1, 1)
    too_many = traindeck("obs", "sync", "源", there, "--delete", "--max-delete", "0", "--yes")
    assert too_many.code != 0 and "more than the limit" in too_many.said
    done = traindeck("obs", "sync", "源", there, "--delete", "--yes", "--json").must_be(0).rows
    assert results(done) == {"uploaded": 1, "removed": 1, "equal": 3}

    assert results(traindeck("obs", "sync", there, "back", "--json").must_be(0).rows) == {"downloaded": 4}
    assert tree(tmp_path / "back") == tree(tmp_path / "源") != source
    assert results(traindeck("obs", "sync", there, "back", "--json").must_be(0).rows) == {"equal": 4}
    by_content = traindeck("obs", "sync", there, "back", "--compare", "md5", "--json").must_be(0).rows
    assert results(by_content) == {"equal": 4}
    words = traindeck("obs", "sync", there, "obs://sync-bucket/copy/").must_be(0).out
    assert "→ new.txt" in words


def tree_with(traindeck: Traindeck, folder: Path, name: str) -> None:
    """A tree with a name that no service takes, and a bucket for it."""
    make_tree(folder)
    (folder / name).write_bytes(b"x")
    traindeck("obs", "mb", "sync-bucket").must_be(0)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_file_that_cannot_be_sent_is_named_and_the_rest_goes(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    tree_with(traindeck, tmp_path / "data", "bad\nname")
    done = traindeck("obs", "sync", "data", "obs://sync-bucket/", "--json")
    assert done.code == 1
    rows = [row for row in done.rows if "result" in row]
    assert results(rows) == {"uploaded": 4, "failed": 1}
    assert next(row for row in rows if row["result"] == "failed")["error"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_preview_does_not_promise_what_cannot_be_sent(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    tree_with(traindeck, tmp_path / "data", "red\x1b[31m")
    preview = traindeck("obs", "sync", "data", "obs://sync-bucket/", "--dry-run", "--json").must_be(0).rows[-1]
    assert (preview["to_move"], preview["failed"]) == (4, 1)
    for words in (("--dry-run",), ("--verify",), ()):
        said = traindeck("obs", "sync", "data", "obs://sync-bucket/", *words)
        assert "red\\x1b[31m" in said.out and "\x1b" not in said.out + said.said


def test_verify_compares_and_moves_nothing(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    make_tree(tmp_path / "data")
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    there = "obs://sync-bucket/data/"
    summary = traindeck("obs", "sync", "data", there, "--json").must_be(0).rows[-1]
    assert summary["verified"] == 4
    good = traindeck("obs", "sync", "--verify", "data", there, "--json").must_be(0).rows
    assert results(good) == {"verified": 4} and good[-1]["verified"] == 4 and good[-1]["differs"] == 0
    assert "4" in traindeck("obs", "sync", "--verify", there, "data").must_be(0).out

    two = tmp_path / "data" / "sub" / "two.txt"
    modified = two.stat().st_mtime_ns
    two.write_bytes(bytes(len(two.read_bytes())))
    os.utime(two, ns=(modified, modified))
    (tmp_path / "data" / "new.txt").write_bytes(b"new")
    (tmp_path / "data" / "a b.bin").unlink()
    before = tree(tmp_path / "data")
    bad = traindeck("obs", "sync", "--verify", "data", there, "--json").must_be(1).rows
    assert {row["name"]: row["result"] for row in bad if "result" in row} == {
        "数据.txt": "verified", "a b.bin": "missing here", "new.txt": "missing there",
        "sub/deep/ü.txt": "verified", "sub/two.txt": "differs",
    }  # fmt: skip
    said = traindeck("obs", "sync", "--verify", there, "data").must_be(1).out
    assert "sub/two.txt" in said and "sub/deep/ü.txt" not in said
    narrow = traindeck("obs", "cp", "--verify", "data", there, "--json").must_be(1).rows
    assert "missing here" not in results(narrow)
    assert tree(tmp_path / "data") == before
    assert len(traindeck("obs", "ls", "-r", there, "--json").must_be(0).rows) == 4

    refused = traindeck("obs", "sync", "--verify", "--delete", "data", there)
    assert refused.code == 2 and "--delete" in refused.said
    traindeck("obs", "cp", "--verify", "-", "obs://sync-bucket/x").must_be(2)
    traindeck("obs", "sync", "--verify", "data", "obs://not-there-at-all/").must_be(4)
    copied = traindeck("obs", "cp", "data", "obs://sync-bucket/copy/", "--json").must_be(0).rows
    aside = {"kept": 0, "skipped": 0, "left_out": [], "renamed": []}
    assert copied == [{"files": 4, "target": "obs://sync-bucket/copy/", "verified": 4, **aside}]


def test_an_edit_with_an_older_time_is_not_missed(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    make_tree(tmp_path / "data")
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    traindeck("obs", "sync", "data", "obs://sync-bucket/").must_be(0)
    two = tmp_path / "data" / "sub" / "two.txt"
    two.write_bytes(bytes(len(two.read_bytes())))
    os.utime(two, (1_000_000_000, 1_000_000_000))
    assert results(traindeck("obs", "sync", "data", "obs://sync-bucket/", "--json").must_be(0).rows) == {
        "uploaded": 1, "equal": 3,
    }  # fmt: skip


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names are text there")
def test_a_place_that_is_no_text_is_refused(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    odd = os.fsdecode(b"odd\xff")
    make_tree(tmp_path / odd)
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    for words in (("sync", odd, "obs://sync-bucket/"), ("sync", odd, "obs://sync-bucket/", "--dry-run"),
                  ("cp", odd, "obs://sync-bucket/"), ("stat", f"obs://sync-bucket/{odd}")):  # fmt: skip
        refused = traindeck("obs", *words).must_be(2)
        assert "UTF-8" in refused.said and "odd\\udcff" in refused.said


def test_a_large_file_is_verified_by_its_parts(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    (tmp_path / "data").mkdir()
    big = tmp_path / "data" / "big.bin"
    big.write_bytes(os.urandom(1 << 20) * 65)
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    there = "obs://sync-bucket/"
    assert traindeck("obs", "sync", "data", there, "--json").must_be(0).rows[-1]["verified"] == 1
    again = traindeck("obs", "sync", "data", there, "--json").must_be(0).rows
    assert results(again) == {"equal": 1} and again[-1]["verified"] == 1
    copied = traindeck("obs", "cp", "obs://sync-bucket/big.bin", "down/", "--json").must_be(0).rows
    assert copied[0]["verified"] == 1
    assert results(traindeck("obs", "sync", "--verify", "down", there, "--json").must_be(0).rows) == {"verified": 1}
    with big.open("r+b") as file:
        file.seek(30 << 20)
        file.write(b"one other byte")
    assert results(traindeck("obs", "sync", "--verify", "data", there, "--json").must_be(1).rows) == {"differs": 1}


def test_names_no_file_can_have_are_matched_and_each_is_told_once(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    there, names = "obs://sync-bucket/in/", {"plain": b"1", "a": b"2", "a/b": b"3", "x//y": b"4", "..": b"5"}
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    for name, content in names.items():
        s3(lab).put_object(Bucket="sync-bucket", Key=f"in/{name}", Body=content)

    down = traindeck("obs", "sync", there, "here").must_be(0)
    told = [line.strip() for line in down.said.splitlines() if "→" in line]
    assert len(told) == 3 and "x//y → x/%2F/y" in told and ".. → %2E%2E" in told
    assert sorted(tree(tmp_path / "here").values()) == sorted(names.values())

    for options in ((), ("--delete",), ("--delete", "--compare", "md5")):
        back = traindeck("obs", "sync", "here", there, *options, "-n", "--json").must_be(0).rows
        assert results(back) == {} and (back[-1]["equal"], back[-1]["renamed"]) == (5, [])
    for sides in (("here", there), (there, "here")):
        found = traindeck("obs", "sync", *sides, "--verify", "--json").must_be(0).rows[-1]
        assert (found["verified"], found["missing_here"], found["missing_there"]) == (5, 0, 0)

    (tmp_path / "here/%2E%2E").write_bytes(b"edited")
    preview = traindeck("obs", "cp", "here", there, "-n", "--json").must_be(0).rows
    assert preview[-1]["replaced"] == 5
    done = traindeck("obs", "sync", "here", there, "--delete", "-y", "--json").must_be(0).rows
    assert results(done) == {"uploaded": 1, "equal": 4}
    assert done[-1]["renamed"] == [{"name": "%2E%2E", "object": ".."}]
    moved = traindeck("obs", "mv", "here", there, "--json").must_be(0).document
    assert {one["object"] for one in moved["renamed"]} == {"a/b", "x//y", ".."}
    listed = traindeck("obs", "ls", "-r", there, "--json").must_be(0).rows
    assert {row["key"] for row in listed} == {f"in/{name}" for name in names}


def test_a_preview_lists_what_is_above_the_limit_and_then_tells_it(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    there = "obs://sync-bucket/in/"
    traindeck("obs", "mb", "sync-bucket").must_be(0)
    for number in range(3):
        s3(lab).put_object(Bucket="sync-bucket", Key=f"in/{number}", Body=b"x")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/a").write_bytes(b"a")
    shown = traindeck("obs", "sync", "here", there, "--delete", "--max-delete", "2", "-n")
    real = traindeck("obs", "sync", "here", there, "--delete", "--max-delete", "2", "-y")
    assert shown.code == real.code == 1
    assert [line.split()[1] for line in shown.out.splitlines() if line.startswith("×")] == ["0", "1", "2"]
    assert "more than the limit of 2" in shown.said and "more than the limit of 2" in real.said
    assert "1000" in traindeck("obs", "sync", "--help").out
