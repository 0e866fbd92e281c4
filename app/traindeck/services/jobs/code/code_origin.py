"""Which commit a code folder is of, asked of git in a way that a hostile repository cannot use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.own_program import harmless_environment

_LIMIT_S = 5.0
_MOST_BYTES = 1 << 22
_SHORT = 12
# A repository may name programs of its own for these. It is only looked at: nothing is fetched, written or filtered.
_SAFE = (
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.pager=cat", "protocol.allow=never",
    "core.untrackedCache=false", "status.submoduleSummary=false", "diff.external=", "core.sshCommand=false",
    "credential.helper=", "log.showSignature=false", "core.alternateRefsCommand=", "submodule.recurse=false",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GitState:
    """Where the folder stood when it was frozen."""

    commit: str = ""
    """Empty: there is none yet."""
    branch: str = ""
    """Empty: none is checked out."""
    changed: int = 0
    """Files of the folder that differ from the commit."""
    untracked: int = 0

    @property
    def is_dirty(self) -> bool:
        return bool(self.changed or self.untracked)

    def words(self) -> Text:
        commit = text("{commit} on {branch}", commit=self.commit[:_SHORT] or "–", branch=self.branch or "–")
        if not self.is_dirty:
            return text("{commit}, no changes", commit=commit)
        changed = count_text("{count} file changed", "{count} files changed", self.changed)
        untracked = text("{count} untracked", count=self.untracked)
        return text("{commit}, {changed}, {untracked}", commit=commit, changed=changed, untracked=untracked)


def origin_of(folder: Path, token: CancelToken) -> GitState | None:
    """None: it is no repository, there is no git here, or git does not say. Blocks."""
    git = _git(folder)
    if git is None:
        return None
    filters = _said(git, folder, ("config", "--null", "--name-only", "--list"), (), token)
    if filters is None:
        return None
    harmless = _harmless(filters)
    if harmless is None:
        return None
    settings = [*_SAFE, *harmless]
    order = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=all",
             "--no-renames", "--", ".")  # fmt: skip
    status = _said(git, folder, order, settings, token)
    return None if status is None else _read(status)


def _harmless(names: bytes) -> list[str] | None:
    """A filter is a program that git would run on each file. None: there is one that cannot be turned off."""
    drivers = set()
    for name in names.split(b"\0"):
        section, _, rest = name.partition(b".")
        driver, _, key = rest.rpartition(b".")
        if section.lower() == b"filter" and key:
            drivers.add(os.fsdecode(driver))
    if any("=" in driver for driver in drivers):
        return None  # git would take what is before it for the whole name
    return [f"filter.{driver}.{key}" for driver in sorted(drivers) for key in ("clean=", "process=", "required=false")]


def _read(status: bytes) -> GitState | None:
    found, changed, untracked, skip = {}, 0, 0, False
    for line in status.split(b"\0"):
        if skip:
            skip = False
        elif line.startswith(b"# "):
            name, _, value = line[2:].decode(errors="replace").partition(" ")
            found[name] = value
        elif line.startswith((b"1 ", b"u ")):
            changed += 1
        elif line.startswith(b"2 "):
            changed, skip = changed + 1, True  # the name before it was renamed follows
        elif line.startswith(b"? "):
            untracked += 1
    if "branch.oid" not in found:
        return None
    commit, branch = found["branch.oid"], found.get("branch.head", "")
    return GitState(
        "" if commit.startswith("(") else commit, "" if branch == "(detached)" else branch, changed, untracked
    )


def _said(git: str, folder: Path, order: Sequence[str], settings: Sequence[str], token: CancelToken) -> bytes | None:
    """What it prints; None: it failed, or said more or took longer than such an answer does."""
    words = [git, *(word for setting in settings for word in ("-c", setting)), "-C", str(folder), *order]
    own = {name: value for name, value in harmless_environment().items() if not name.startswith("GIT_")}
    hidden = 0x08000000 if sys.platform == "win32" else 0  # no console window
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=own | _ENVIRONMENT,
            creationflags=hidden,
        )
    except (OSError, ValueError):
        return None
    with process:
        forget = token.on_cancel(process.kill)
        try:
            said, _ = process.communicate(timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
        finally:
            forget()
    token.check()
    return said if process.returncode == 0 and len(said) <= _MOST_BYTES else None


def _git(folder: Path) -> str | None:
    """That of the system: one that lies in the code, or where this program happens to stand, is not asked."""
    name = "git.exe" if sys.platform == "win32" else "git"
    for place in os.environ.get("PATH", "").split(os.pathsep):
        found = Path(place) / name
        if Path(place).is_absolute() and not found.is_relative_to(folder) and os.access(found, os.X_OK):
            return str(found)
    return None
