"""Fixes are written whole or not at all, and taken back byte for byte."""

from __future__ import annotations

import errno
import stat
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NotFound
from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, ScriptChange, ScriptFix
from traindeck.runtime.files import put_in_place
from traindeck.services.scripts.fix_files import MOST_KEPT, FixFiles

FIX = ScriptFix.PARSE_KNOWN_ARGS
BEFORE = b"\xef\xbb\xbfprint('\xe4\xbd\xa0')\r\n# the end, without a new line"
AFTER = BEFORE.replace(b"print", b"repr")


def proposal(*changes: ScriptChange, boot: str = "") -> FixProposal:
    return FixProposal(FIX, FIX_WORDS[FIX], changes, boot=boot)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "lib").mkdir(parents=True)
    (folder / "train.py").write_bytes(BEFORE)
    (folder / "lib" / "data.py").write_bytes(b"x = 1\n")
    return folder


@pytest.fixture
def fixes(tmp_path: Path) -> FixFiles:
    return FixFiles(tmp_path / "home" / "script-fixes")


TWO = (ScriptChange("train.py", BEFORE, AFTER), ScriptChange("lib/data.py", b"x = 1\n", b"x = 2\n"))


def test_several_files_are_changed_and_taken_back_after_a_restart(code: Path, fixes: FixFiles) -> None:
    (code / "train.py").chmod(0o750)
    applied = fixes.apply(code, proposal(*TWO, ScriptChange("entry.py", None, b"new\n"), boot="entry.py"), "train.py")
    assert (code / "train.py").read_bytes() == AFTER
    assert (code / "entry.py").read_bytes() == b"new\n"
    assert stat.S_IMODE((code / "train.py").stat().st_mode) == 0o750

    restarted = FixFiles(fixes.kept)
    assert [one.id for one in restarted.applied(code)] == [applied.id]
    undone = restarted.undo(applied.id)
    assert (undone.boot_before, undone.boot_after) == ("train.py", "entry.py")
    assert (code / "train.py").read_bytes() == BEFORE
    assert (code / "lib" / "data.py").read_bytes() == b"x = 1\n"
    assert not (code / "entry.py").exists()
    assert restarted.applied() == []
    with pytest.raises(NotFound):
        restarted.undo(applied.id)


def test_a_file_that_changed_since_is_not_overwritten(code: Path, fixes: FixFiles) -> None:
    (code / "lib" / "data.py").write_bytes(b"x = 3\n")
    with pytest.raises(Conflict):
        fixes.apply(code, proposal(*TWO))
    assert (code / "train.py").read_bytes() == BEFORE
    assert fixes.applied() == []
    (code / "entry.py").write_bytes(b"mine\n")
    with pytest.raises(Conflict):
        fixes.apply(code, proposal(ScriptChange("entry.py", None, b"new\n")))
    assert (code / "entry.py").read_bytes() == b"mine\n"


def test_what_was_edited_after_a_fix_is_not_taken_back(code: Path, fixes: FixFiles) -> None:
    applied = fixes.apply(code, proposal(*TWO))
    (code / "train.py").write_bytes(AFTER + b"# more")
    with pytest.raises(Conflict):
        fixes.undo(applied.id)
    assert (code / "lib" / "data.py").read_bytes() == b"x = 2\n"
    assert [one.id for one in fixes.applied()] == [applied.id]


def test_a_fix_that_was_cut_off_halfway_is_taken_back(code: Path, fixes: FixFiles) -> None:
    applied = fixes.apply(code, proposal(*TWO))
    (code / "lib" / "data.py").write_bytes(b"x = 1\n")  # as if the second file had not been reached
    fixes.undo(applied.id)
    assert (code / "train.py").read_bytes() == BEFORE


@pytest.mark.usefixtures("permissions_hold")
def test_nothing_is_changed_where_one_file_cannot_be(code: Path, fixes: FixFiles) -> None:
    (code / "lib").chmod(0o500)
    try:
        with pytest.raises(AppError):
            fixes.apply(code, proposal(*TWO))
    finally:
        (code / "lib").chmod(0o700)
    assert (code / "train.py").read_bytes() == BEFORE


def test_a_fix_that_fails_half_way_puts_back_what_it_changed(
    code: Path, fixes: FixFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where another program may hold a file open."""

    def busy(part: Path, place: Path) -> None:
        if place.name == "data.py":
            raise PermissionError(errno.EACCES, "The process cannot access the file", str(place))
        put_in_place(part, place)

    monkeypatch.setattr("traindeck.services.scripts.fix_files.put_in_place", busy)
    with pytest.raises(AppError, match=r"data\.py"):
        fixes.apply(code, proposal(ScriptChange("entry.py", None, b"new\n"), *TWO))
    assert (code / "train.py").read_bytes() == BEFORE
    assert (code / "lib" / "data.py").read_bytes() == b"x = 1\n"
    assert sorted(path.name for path in code.rglob("*.*")) == ["data.py", "train.py"]
    assert fixes.applied() == []


def test_nothing_is_changed_where_a_folder_is_in_the_way(code: Path, fixes: FixFiles) -> None:
    (code / "entry.py").mkdir()
    with pytest.raises(AppError):
        fixes.apply(code, proposal(*TWO, ScriptChange("entry.py", None, b"new\n")))
    assert (code / "train.py").read_bytes() == BEFORE
    assert sorted(one.name for one in code.iterdir()) == ["entry.py", "lib", "train.py"]


def test_what_was_never_written_is_not_offered_to_be_taken_back(
    code: Path, fixes: FixFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fixes.apply(code, proposal(TWO[1]))

    def full(place: Path, *_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device", str(place))

    with monkeypatch.context() as patched:
        patched.setattr("traindeck.services.scripts.fix_files.part_beside", full)
        with pytest.raises(AppError):
            fixes.apply(code, proposal(TWO[0]))
    with monkeypatch.context() as patched:
        patched.setattr("traindeck.services.scripts.fix_files.write_whole", full)
        with pytest.raises(AppError):
            fixes.apply(code, proposal(TWO[0]))
    assert [one.id for one in fixes.applied(code)] == [first.id]
    assert sorted(one.name for one in fixes.kept.iterdir() if one.is_dir()) == [first.id]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_links_are_followed_but_not_out_of_the_folder(code: Path, fixes: FixFiles, tmp_path: Path) -> None:
    outside = tmp_path / "other.py"
    outside.write_bytes(b"x = 1\n")
    (code / "out.py").symlink_to(outside)
    with pytest.raises(InvalidInput):
        fixes.apply(code, proposal(ScriptChange("out.py", b"x = 1\n", b"x = 2\n")))
    with pytest.raises(InvalidInput):
        fixes.apply(code, proposal(ScriptChange("../other.py", b"x = 1\n", b"x = 2\n")))
    assert outside.read_bytes() == b"x = 1\n"
    (code / "in.py").symlink_to(code / "train.py")
    fixes.apply(code, proposal(ScriptChange("in.py", BEFORE, AFTER)))
    assert (code / "in.py").is_symlink()
    assert (code / "train.py").read_bytes() == AFTER


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files")
def test_what_is_kept_is_its_owners_alone(code: Path, fixes: FixFiles) -> None:
    fixes.apply(code, proposal(*TWO))
    modes = {stat.S_IMODE(one.stat().st_mode) & 0o077 for one in fixes.kept.rglob("*")}
    assert modes == {0}


def test_only_so_many_are_kept_and_what_is_damaged_is_passed_over(code: Path, fixes: FixFiles) -> None:
    contents = [b"x = %d\n" % number for number in range(1, MOST_KEPT + 4)]
    applied = [fixes.apply(code, proposal(ScriptChange("lib/data.py", old, new))) for old, new in pairwise(contents)]
    assert len(fixes.applied(code)) == MOST_KEPT
    assert fixes.applied()[0].id == applied[-1].id
    (fixes.kept / applied[-1].id / "fix.json").write_text("{")
    assert fixes.applied()[0].id == applied[-2].id
    with pytest.raises(NotFound):
        fixes.undo("../code")
