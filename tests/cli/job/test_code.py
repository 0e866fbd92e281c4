"""The code of a run from the command line: looked at before it goes, compared, restored, exported, used again."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.sample_home import quicken


@pytest.fixture
def project(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> Path:
    """A run of the sample project, with its folder beside it."""
    traindeck("job", "init", "项目").must_be(0)
    quicken(tmp_path / "项目")
    traindeck("job", "submit", "项目", "--set", "epochs=1").must_be(0)
    return tmp_path / "项目"


def test_what_would_go_is_shown_before_anything_goes(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    folder = tmp_path / "p"
    (folder / "lib").mkdir()
    (folder / "lib" / "net.py").write_text("x = 1\n" * 300_000, encoding="utf-8")
    (folder / ".gitignore").write_text("*.tmp\n", encoding="utf-8")
    (folder / "a.tmp").touch()
    (tmp_path / "secret.txt").write_text("x", encoding="utf-8")
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "same.py").symlink_to("lib/net.py")
    with (folder / "weights.ckpt").open("wb") as file:
        file.truncate(50_000_000)
    shown = traindeck("job", "submit", "p", "-n").must_be(0).out
    for words in ("lib/\n", "+   net.py", "“*.tmp” in .gitignore, line 1", "weights or data over 10 MB (*.ckpt)",
                  "out.txt → ../secret.txt", "leads out of the code directory", "same.py  → lib/net.py",
                  "Large files:", "To be sent: 3.6"):  # fmt: skip
        assert words in shown, words
    found = traindeck("job", "submit", "p", "-n", "--json").must_be(0).document
    assert found["new"] == found["files"] and found["folders"] == 1 and found["over"] == []
    by_path = {entry["path"]: entry for entry in found["entries"]}
    assert by_path["out.txt"]["leads_outside"] and not by_path["out.txt"]["taken"]
    assert not (tmp_path / "home" / "bundles").exists(), "nothing was frozen"
    assert traindeck("job", "ls", "--json").must_be(0).document == []


def test_too_much_is_said_with_its_count_and_its_folder(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("job", "init", "p").must_be(0)
    (tmp_path / "p" / "shots").mkdir()
    for number in range(1100):
        (tmp_path / "p" / "shots" / f"{number}.png").touch()
    answer = traindeck("job", "submit", "p", "-n").must_be(1)
    assert "files and folders; the limit is 1,000. Most are in “shots/”" in answer.said
    # The limit is that of the target: this Lab takes more.
    (tmp_path / "home" / "lab" / "lab.toml").write_text("code_entries = 2000\n", encoding="utf-8")
    assert traindeck("job", "submit", "p", "-n").must_be(0).said == ""


def test_the_code_is_listed_compared_restored_and_exported(traindeck: Traindeck, project: Path, tmp_path: Path) -> None:
    listed = traindeck("job", "code", "last", "--json").must_be(0).document
    paths = {entry["path"] for entry in listed["files"]}
    assert "train.py" in paths and listed["git"] is None
    assert "train.py" in traindeck("job", "code", "last").must_be(0).out

    same = traindeck("job", "code", "last", "--diff", str(project)).must_be(0)
    assert same.out == "The code is the same.\n"
    script = (project / "train.py").read_text(encoding="utf-8")
    (project / "train.py").write_text(f"# edited\n{script}", encoding="utf-8")
    (project / "weights.bin").write_bytes(b"\0\1")
    shutil.move(project / "job.toml", project / "renamed.toml")
    changes = traindeck("job", "code", "last", "--diff", str(project), "--json").must_be(0).document["changes"]
    assert [(one["change"], one["path"], one["before"], one["is_text"]) for one in changes] == [
        ("renamed", "renamed.toml", "job.toml", True),
        ("changed", "train.py", None, True),
        ("added", "weights.bin", None, False),
    ]
    assert "+# edited" in changes[1]["diff"]
    shown = traindeck("job", "code", "last", "--diff", str(project)).must_be(0).out
    assert "R job.toml → renamed.toml" in shown and "M train.py" in shown and "It is no text" in shown

    first = traindeck("job", "code", "last", "--to", "back", "--json").must_be(0).document
    assert first["written"] == len(paths) and (tmp_path / "back" / "train.py").read_text(encoding="utf-8") == script
    assert traindeck("job", "code", "last", "--to", "back", "--json").must_be(0).document["written"] == 0
    (tmp_path / "back" / "train.py").write_text("mine", encoding="utf-8")
    refused = traindeck("job", "code", "last", "--to", "back").must_be(2)
    assert "train.py" in refused.said and "--yes" in refused.said
    assert (tmp_path / "back" / "train.py").read_text(encoding="utf-8") == "mine"
    traindeck("job", "code", "last", "--to", "back", "--yes").must_be(0)
    assert (tmp_path / "back" / "train.py").read_text(encoding="utf-8") == script

    traindeck("job", "code", "last", "--zip", "code.zip").must_be(0)
    with zipfile.ZipFile(tmp_path / "code.zip") as archive:
        assert set(archive.namelist()) == {f"项目/{path}" for path in paths}
        assert archive.read("项目/train.py").decode() == script
    assert "code.zip" in traindeck("job", "code", "last", "--zip", "code.zip").must_be(2).said


def test_nothing_is_restored_through_a_link(traindeck: Traindeck, project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / "lib").mkdir()
    (project / "lib" / "a.py").write_text("1", encoding="utf-8")
    traindeck("job", "submit", str(project), "--set", "epochs=1").must_be(0)
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "lib").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in traindeck("job", "code", "last", "--to", "back").must_be(1).said
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_code_of_then_or_of_now_and_what_differs(traindeck: Traindeck, project: Path) -> None:
    first = traindeck("job", "show", "last", "--json").must_be(0).document
    (project / "notes.txt").write_text("new", encoding="utf-8")
    then = traindeck("job", "rerun", first["run"], "--json").must_be(0)
    assert "Code as then; 1 file in" in then.said and f"job code {first['run']} --diff" in then.said
    now = traindeck("job", "rerun", first["run"], "--code", "now", "--json").must_be(0)
    assert "1 file differs from run" in now.said
    shown = [traindeck("job", "show", answer.document["run"], "--json").document for answer in (then, now)]
    assert shown[0]["bundle"] == first["bundle"] != shown[1]["bundle"]
    differs = traindeck("job", "code", then.document["run"], "--diff", now.document["run"], "--json").document
    assert [one["path"] for one in differs["changes"]] == ["notes.txt"]
    shutil.rmtree(project)
    gone = traindeck("job", "rerun", first["run"], "--json").must_be(0)
    assert "differ" not in gone.said
    assert "does not exist" in traindeck("job", "code", first["run"], "--diff", str(project)).must_be(4).said


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_the_commit_is_shown_with_the_run(traindeck: Traindeck, project: Path) -> None:
    for words in (("init", "-q", "-b", "trunk"), ("add", "."),
                  ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x")):  # fmt: skip
        subprocess.run(["git", "-C", str(project), *words], check=True)
    (project / "train.py").write_text((project / "train.py").read_text(encoding="utf-8") + "\n", encoding="utf-8")
    run = traindeck("job", "submit", str(project), "--set", "epochs=1", "--json").must_be(0).document["run"]
    shown = traindeck("job", "show", run, "--json").must_be(0).document
    assert shown["git"]["branch"] == "trunk" and shown["git"]["changed"] == 1 and len(shown["git"]["commit"]) == 40
    assert "on trunk, 1 file changed, 0 untracked" in traindeck("job", "show", run).must_be(0).out
