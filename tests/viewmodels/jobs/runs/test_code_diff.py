"""Differences of code: the rows that are shown, and which files differ."""

from __future__ import annotations

import difflib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.diff_rows import DiffKind, changes_at, one_below_the_other, side_by_side
from traindeck.domain.jobs.code_change import ChangeKind
from traindeck.viewmodels.jobs.runs.code_diff import FOLDER, CodeDiff
from traindeck.viewmodels.jobs.runs.code_keeping import CodeKeeping
from traindeck.viewmodels.shell.journal import Journal

_LINES = st.lists(st.sampled_from(["a", "b", "c", "- d", "+ e", "@@ f", ""]), max_size=30)


@given(_LINES, _LINES)
def test_every_changed_line_is_shown_once_with_its_number(old: list[str], new: list[str]) -> None:
    lines = list(difflib.unified_diff(old, new, "x", "x", lineterm=""))
    rows, beside = one_below_the_other(lines), side_by_side(lines)
    for shown in (rows, beside):
        gone = [(row.left_number, row.left) for row in shown if row.kind in (DiffKind.REMOVED, DiffKind.CHANGED)]
        come = [(row.right_number, row.right) for row in shown if row.kind in (DiffKind.ADDED, DiffKind.CHANGED)]
        assert all(number is not None and old[number - 1] == words for number, words in gone)
        assert all(number is not None and new[number - 1] == words for number, words in come)
        assert len(gone) == sum(line.startswith("-") for line in lines[2:])
        assert len(come) == sum(line.startswith("+") for line in lines[2:])
        same = [row for row in shown if row.kind is DiffKind.SAME]
        assert all(old[(row.left_number or 0) - 1] == new[(row.right_number or 0) - 1] == row.left for row in same)
    assert bool(changes_at(beside)) == (old != new)


async def test_changed_renamed_and_binary_files_of_two_runs_and_of_a_folder(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        code = code_folder(tmp_path / "code")
        (code / "old.py").write_text("same\n")
        (code / "weights.bin").write_bytes(b"\0\1")
        first = await cloud.submission.submit(digits_spec(), code)
        (code / "train.py").write_text("print('other')\n")
        (code / "old.py").rename(code / "new.py")
        (code / "weights.bin").write_bytes(b"\0\2")
        second = await cloud.submission.submit(digits_spec(), code)
        diff = CodeDiff(first.id, second.id, cloud.service, cloud.scope)
        diff.load("train.py")
        await until(lambda: bool(diff.state.lines))
        assert {file.path: file.kind for file in diff.state.files} == {
            "new.py": ChangeKind.RENAMED, "train.py": ChangeKind.CHANGED, "weights.bin": ChangeKind.CHANGED,
        }  # fmt: skip
        assert "+print('other')" in diff.state.lines
        diff.show("weights.bin")
        await until(lambda: not diff.state.is_reading)
        assert diff.state.lines is None
        (code / "train.py").write_text("print('a third')\n")
        now = CodeDiff(second.id, FOLDER, cloud.service, cloud.scope)
        now.load()
        await until(lambda: bool(now.state.lines))
        assert [file.path for file in now.state.files] == ["train.py"] and str(code) in now.state.right
        gone = CodeDiff(second.id, f"{FOLDER}{tmp_path / 'nowhere'}", cloud.service, cloud.scope)
        gone.load()
        await until(lambda: gone.state.trouble is not None)
        for one in (diff, now, gone):
            one.close()


async def test_code_is_restored_and_other_files_are_replaced_only_when_agreed(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        journal, user, target = Journal(), User(False), tmp_path / "back"
        told: list[str] = []
        journal.told.connect(lambda happening: told.append(str(happening.title)))
        keeping = CodeKeeping(cloud.service, journal, cloud.scope)
        keeping.restore(run, target, user.choose)
        await until(lambda: told)
        assert (target / "train.py").read_text() == "print('hello')\n" and not user.asked
        (target / "train.py").write_text("mine\n")
        keeping.restore(run, target, user.choose)
        await until(lambda: user.asked)
        assert (target / "train.py").read_text() == "mine\n"
        user.answer = True
        await until(lambda: not cloud.scope.is_running(f"restore the code of {run.id}"))
        keeping.restore(run, target, user.choose)
        await until(lambda: len(told) == 2)
        assert (target / "train.py").read_text() == "print('hello')\n"
        keeping.export(run, tmp_path / "code.zip")
        await until(lambda: len(told) == 3)
        assert (tmp_path / "code.zip").stat().st_size > 0
