"""In what two states of the code differ: which files, and how those that are text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.jobs.code_change import ChangeKind, FileChange
from traindeck.domain.unified_diff import unified_diff
from traindeck.runtime.files import local_errors

_MOST_BYTES = 1 << 19
# Where no line is there once, comparing takes as long as the square of what it is about.
_MOST_LINES = 5_000


@dataclass(frozen=True, slots=True)
class CodeSide:
    """Code as it was, or is, somewhere."""

    contents: Mapping[str, str]
    """The SHA-256 of each file."""
    places: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class CodeChanges:
    """What makes the right side of the left one."""

    left: CodeSide
    right: CodeSide
    files: tuple[FileChange, ...]

    def lines(self, change: FileChange) -> list[str] | None:
        """As a unified diff; None: it is no text, or too much of it. Blocks."""
        before, after = change.before or change.path, change.path
        old = [] if change.kind is ChangeKind.ADDED else _lines(self.left.places[before])
        new = [] if change.kind is ChangeKind.REMOVED else _lines(self.right.places[after])
        if old is None or new is None:
            return None
        return list(unified_diff(old, new, before, after))


def changes_between(left: CodeSide, right: CodeSide) -> CodeChanges:
    gone = {path: sha256 for path, sha256 in left.contents.items() if path not in right.contents}
    new = {path: sha256 for path, sha256 in right.contents.items() if path not in left.contents}
    found = [
        FileChange(ChangeKind.CHANGED, path)
        for path, sha256 in right.contents.items()
        if path in left.contents and left.contents[path] != sha256
    ]
    moved: dict[str, list[str]] = {}
    for path, sha256 in sorted(gone.items(), reverse=True):
        moved.setdefault(sha256, []).append(path)
    for path, sha256 in sorted(new.items()):
        if moved.get(sha256):
            before = moved[sha256].pop()
            del gone[before]
            found.append(FileChange(ChangeKind.RENAMED, path, before))
        else:
            found.append(FileChange(ChangeKind.ADDED, path))
    found += [FileChange(ChangeKind.REMOVED, path) for path in gone]
    return CodeChanges(left, right, tuple(sorted(found, key=lambda change: change.path)))


def _lines(place: Path) -> list[str] | None:
    with local_errors(place), place.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES or b"\0" in content:
        return None
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return None
    return lines if len(lines) <= _MOST_LINES else None
