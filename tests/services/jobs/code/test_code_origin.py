"""Asking git where a folder stands, also in a repository that was made to run something."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from traindeck.runtime.blocking import CancelToken
from traindeck.services.jobs.code.code_origin import GitState, origin_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    order = ["git", *names, "-C", str(folder), *words]
    return subprocess.run(order, check=True, capture_output=True, text=True, env=os.environ | own).stdout.strip()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "repository" / "code"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("1", encoding="utf-8")
    git(folder.parent, "init", "-q")
    return folder


def asked(folder: Path) -> GitState | None:
    return origin_of(folder, CancelToken())


def test_commit_branch_and_what_differs(code: Path) -> None:
    assert asked(code) == GitState("", "main", 0, 1)
    git(code, "add", ".")
    git(code, "commit", "-qm", "first")
    commit = git(code, "rev-parse", "HEAD")
    clean = asked(code)
    assert clean == GitState(commit, "main") and str(clean.words()) == f"{commit[:12]} on main, no changes"
    (code / "train.py").write_text("2", encoding="utf-8")
    (code / "new file.py").write_text("2", encoding="utf-8")
    (code.parent / "elsewhere.py").write_text("not of this folder", encoding="utf-8")
    git(code, "checkout", "-q", "--detach")
    dirty = asked(code)
    assert dirty == GitState(commit, "", 1, 1) and dirty.is_dirty
    assert str(dirty.words()) == f"{commit[:12]} on –, 1 file changed, 1 untracked"


def test_no_repository_no_git_and_a_broken_one_are_unknown(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "plain"
    outside.mkdir()
    assert asked(outside) is None
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert asked(code) is None
    monkeypatch.undo()
    (code.parent / ".git" / "HEAD").write_text("nonsense", encoding="utf-8")
    assert asked(code) is None


HOSTILE = {
    "a file system monitor": [("core.fsmonitor", "{evil}")],
    "a filter": [("filter.x.clean", "{evil}"), ("filter.x.required", "true")],
    "a filter that stays": [("filter.x.process", "{evil}")],
    "a filter git would misread": [("filter.x=y.clean", "{evil}")],
    "hooks": [("core.hooksPath", "{hooks}")],
    "a pager": [("core.pager", "{evil}"), ("pager.status", "true")],
    "a remote to fetch from": [("remote.origin.url", "ext::{evil}"), ("remote.origin.promisor", "true"),
                               ("extensions.partialClone", "origin"), ("core.repositoryFormatVersion", "1"),
                               ("protocol.ext.allow", "always")],
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_of_a_hostile_repository_runs(code: Path, tmp_path: Path, what: str) -> None:
    trace = tmp_path / "ran"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch '{trace}'\nexit 1\n", encoding="utf-8")
    evil.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(evil, hooks / "post-index-change")
    attributes = "* filter=x=y\n" if "misread" in what else "* filter=x\n"
    (code / ".gitattributes").write_text(attributes, encoding="utf-8")
    (code / "big.py").write_text("1", encoding="utf-8")
    git(code, "add", ".")
    git(code, "commit", "-qm", "first")
    if "remote" in what:
        blob = git(code, "rev-parse", "HEAD^{tree}")
        (code.parent / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for name, value in HOSTILE[what]:
        git(code, "config", name, value.format(evil=evil, hooks=hooks))
    (code / "train.py").write_text("2", encoding="utf-8")  # the same size: git has to read it
    for name in ("train.py", "big.py"):  # else git might not have to write its index again, which the hook waits for
        os.utime(code / name, (1, 1))
    found = asked(code)
    assert not trace.exists()
    if "misread" in what or "remote" in what:
        assert found is None
    else:
        assert found is not None and found.changed == 1
    subprocess.run(["git", "-C", str(code), "status"], capture_output=True, check=False)
    if "pager" not in what:
        assert trace.exists(), "this would have run, asked in the usual way"


def test_a_git_that_lies_in_the_code_is_not_asked(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "ran"
    (code / "git").write_text(f"#!/bin/sh\ntouch '{trace}'\n", encoding="utf-8")
    (code / "git").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(code), ".", os.environ["PATH"])))
    monkeypatch.chdir(code)
    assert asked(code) is not None and not trace.exists()
