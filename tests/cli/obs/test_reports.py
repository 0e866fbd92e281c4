"""What a command says is what happened, also where there was nothing to do or not all of it was done."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from support.cli_commands import Traindeck, s3, tree


def test_a_bucket_that_is_there_is_not_said_to_be_created(traindeck: Traindeck, lab: dict[str, str]) -> None:
    first = traindeck("obs", "mb", "reports").must_be(0)
    assert "Created" in first.out
    again = traindeck("obs", "mb", "reports").must_be(0)
    assert "already exists" in again.out and "Created" not in again.out
    assert traindeck("obs", "mb", "reports", "--json").must_be(0).document["created"] is False
    assert traindeck("obs", "mb", "reports-too", "--json").must_be(0).document["created"] is True


def test_undoing_nothing_says_so(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "reports").must_be(0)
    traindeck("obs", "versioning", "reports", "enable").must_be(0)
    s3(lab).put_object(Bucket="reports", Key="in/a", Body=b"a")
    nothing = traindeck("obs", "rm", "--undo", "obs://reports/in/").must_be(0)
    assert "Nothing was undeleted" in nothing.out
    traindeck("obs", "rm", "obs://reports/in/a").must_be(0)
    assert "Undeleted 1 object" in traindeck("obs", "rm", "--undo", "obs://reports/in/").must_be(0).out


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_move_that_follows_links_says_what_it_only_copied(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("obs", "mb", "reports").must_be(0)
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data, elsewhere):
        folder.mkdir()
        (folder / "own").write_bytes(b"1")
    (data / "link").symlink_to(elsewhere)
    moved = traindeck("obs", "mv", "data", "obs://reports/in/", "--links", "follow").must_be(0)
    assert "Moved 1 file" in moved.out and "behind links: 1" in moved.out
    assert tree(elsewhere) == {"own": b"1"} and not (data / "own").exists()
    (data / "own").write_bytes(b"2")
    told = traindeck("obs", "mv", "data", "obs://reports/in/", "--links", "follow", "--json").must_be(0).document
    assert (told["files"], told["copied_only"]) == (1, 1)


def test_diag_prints_each_row_once_with_its_service(traindeck: Traindeck, lab: dict[str, str]) -> None:
    rows = traindeck("diag").must_be(0).out.splitlines()
    assert all(row.startswith(("passed", "failed", "not determined")) for row in rows), rows
    titles = Counter(row.split("  ", 1)[1].strip().split("  ")[0] for row in rows)
    assert {title: times for title, times in titles.items() if times > 1} == {}
    assert {"DNS (OBS)", "DNS (ModelArts, IAM)", "OBS", "Clock", "Write permission"} <= set(titles)
