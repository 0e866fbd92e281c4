"""What became of a run's code since: the frozen files beside those of the working folder."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from traindeck.domain.jobs.code_change import ChangeKind, CodeChange
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.jobs.code_bundles import Bundle
from traindeck.services.jobs.code_tree import CodeEntry, scanned

_BLOCK = 1 << 20
_MOST_DIFF_BYTES = 1 << 19
_MOST_LINES = 20_000
_MOST_DIFF_LINES = 5_000


async def code_changes(
    bundle: Bundle, folder: Path, ignore: Sequence[str], calls: BlockingCalls
) -> tuple[CodeChange, ...]:
    """By path. Only what is as long as it was is read."""

    def compare(token: CancelToken) -> tuple[CodeChange, ...]:
        now = {entry.path: entry for entry in scanned(folder, ignore, token).taken}
        found = []
        for file in bundle.files:
            entry = now.pop(file.path, None)
            if entry is None:
                found.append(CodeChange(file.path, ChangeKind.GONE))
            elif entry.size_bytes != file.size_bytes or _digest(folder, entry, token) != file.sha256:
                found.append(CodeChange(file.path, ChangeKind.CHANGED))
        found += [CodeChange(path, ChangeKind.NEW) for path in now]
        return tuple(sorted(found, key=lambda change: change.path))

    return await calls.run(compare)


async def difference(bundle: Bundle, folder: Path, change: CodeChange, calls: BlockingCalls) -> str | None:
    """How the text of a file differs, as `diff -u` says it; None: it is no text, or too long to be read."""

    def compare(_: CancelToken) -> str | None:
        before = [] if change.kind is ChangeKind.NEW else _lines(_below(bundle.code, change.path))
        after = [] if change.kind is ChangeKind.GONE else _lines(_below(folder, change.path))
        if before is None or after is None:
            return None
        lines = difflib.unified_diff(before, after, "then", "now", lineterm="")
        return "\n".join(line for line, _ in zip(lines, range(_MOST_DIFF_LINES), strict=False))

    return await calls.run(compare)


def _digest(folder: Path, entry: CodeEntry, token: CancelToken) -> str:
    place = _below(folder, entry.path)
    digest = hashlib.sha256()
    with local_errors(place), place.open("rb") as file:
        while block := file.read(_BLOCK):
            token.check()
            digest.update(block)
    return digest.hexdigest()


def _lines(place: Path) -> list[str] | None:
    """A file that is not there has none."""
    try:
        with place.open("rb") as file:
            content = file.read(_MOST_DIFF_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError:
        return None
    if b"\0" in content or len(content) > _MOST_DIFF_BYTES:
        return None
    lines = content.decode("utf-8-sig", "replace").splitlines()
    return lines if len(lines) <= _MOST_LINES else None


def _below(folder: Path, path: str) -> Path:
    return folder.joinpath(*PurePosixPath(path).parts)
