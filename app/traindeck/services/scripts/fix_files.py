"""Writes what a fix makes of scripts, all files or none, and takes it back byte for byte, also after a restart."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NotFound
from traindeck.domain.scripts.fixes import FixProposal, ScriptChange
from traindeck.domain.texts import count_text, text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.files import alone_with, local_errors, our_folder, part_beside, put_in_place, write_whole

log = logging.getLogger(__name__)

MOST_KEPT = 50
_RECORD = "fix.json"
_LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class AppliedFile:
    path: str
    before: str
    """SHA-256; empty: there was no such file."""
    after: str


@dataclass(frozen=True, slots=True)
class AppliedFix:
    """A fix that was written, with what it takes to take it back."""

    id: str
    fix: str
    folder: Path
    at: datetime
    files: tuple[AppliedFile, ...]
    boot_before: str = ""
    boot_after: str = ""


@dataclass(eq=False, slots=True)
class FixFiles:
    """All of it blocks: for workers. `kept` is where the files as they were are kept, for their owner alone."""

    kept: Path
    clock: Clock = utc_now

    def apply(self, folder: Path, proposal: FixProposal, boot: str = "") -> AppliedFix:
        """Conflict: a file is not what it was when the difference was made; then nothing is written.

        `boot` is the boot file that the form has now, so that Undo can give it back.
        """
        if not proposal.changes:
            raise InvalidInput(text("No file was selected."), text("Select the files to change."))
        with self._alone():
            places = {change.path: _place(folder, change.path) for change in proposal.changes}
            _check(places, ((change.path, _sum(change.before)) for change in proposal.changes))
            found = self._record(folder, proposal, boot)
            try:
                _write(places, proposal.changes)
            except BaseException:
                # There is nothing to take back, unless a file could not be put back.
                if all(_is(places[change.path], change.before) for change in proposal.changes):
                    self._remove(found.id)
                raise
            self._forget_old()
        log.info("fixed scripts in %s: %s (%d files)", folder, proposal.fix, len(found.files))
        return found

    def undo(self, fix_id: str) -> AppliedFix:
        """All files as they were; Conflict: somebody changed one of them since, and nothing is taken back."""
        with self._alone():
            found = self._read(fix_id)
            places = {file.path: _place(found.folder, file.path) for file in found.files}
            now = {path: _sum(_content(place)) for path, place in places.items()}
            # What was cut off while it was written may be half there.
            left = [file for file in found.files if now[file.path] != file.before]
            _check(places, ((file.path, file.after) for file in left))
            changes = [ScriptChange(file.path, _content(places[file.path]), self._before(found, file)) for file in left]
            _write(places, changes)
            self._remove(fix_id)
        log.info("took back the fix of scripts in %s: %s", found.folder, found.fix)
        return found

    def applied(self, folder: Path | None = None) -> list[AppliedFix]:
        """What can be taken back, the newest first."""
        found = []
        for name in self._names():
            try:
                one = self._read(name)
            except AppError as error:
                log.warning("a fix that is kept: %s", error)
                continue
            if folder is None or one.folder == folder.absolute():
                found.append(one)
        return sorted(found, key=lambda one: one.at, reverse=True)

    def _alone(self) -> AbstractContextManager[None]:
        return alone_with(
            self.kept / "fixes",
            _LONGEST_S,
            text("Another program is changing scripts."),
            text("Try again in a moment. Nothing was changed."),
        )

    # what is kept

    def _record(self, folder: Path, proposal: FixProposal, boot: str) -> AppliedFix:
        at = self.clock()
        files = tuple(AppliedFile(one.path, _sum(one.before), _sum(one.after)) for one in proposal.changes)
        name = f"{at:%Y%m%d-%H%M%S-%f}"
        number = 1
        while (self.kept / name).exists():
            number += 1
            name = f"{at:%Y%m%d-%H%M%S-%f}-{number}"
        found = AppliedFix(
            name, str(proposal.fix), folder.absolute(), at, files, boot if proposal.boot else "", proposal.boot
        )
        place = self.kept / name
        try:
            with local_errors(place):
                our_folder(place)
                for number, change in enumerate(proposal.changes):
                    if change.before is not None:
                        write_whole(place / f"{number}", change.before)
                write_whole(place / _RECORD, json.dumps(_document(found), indent=1).encode())
        except BaseException:
            self._remove(name)  # copies of the user's files that nobody would ever take away
            raise
        return found

    def _read(self, fix_id: str) -> AppliedFix:
        place = self.kept / fix_id
        if PurePosixPath(fix_id).name != fix_id or fix_id.startswith("."):
            raise _unknown()
        try:
            document = json.loads((place / _RECORD).read_bytes())
            return AppliedFix(
                fix_id,
                str(document["fix"]),
                Path(document["folder"]),
                datetime.fromisoformat(document["at"]),
                tuple(
                    AppliedFile(str(one["path"]), str(one["before"]), str(one["after"])) for one in document["files"]
                ),
                str(document.get("boot_before", "")),
                str(document.get("boot_after", "")),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _unknown(str(error)) from error

    def _before(self, found: AppliedFix, file: AppliedFile) -> bytes | None:
        if not file.before:
            return None
        place = self.kept / found.id / f"{found.files.index(file)}"
        with local_errors(place):
            content = place.read_bytes()
        if _sum(content) != file.before:
            raise _unknown()
        return content

    def _names(self) -> list[str]:
        try:
            return sorted(one.name for one in self.kept.iterdir() if (one / _RECORD).is_file())
        except OSError:
            return []

    def _forget_old(self) -> None:
        for name in self._names()[:-MOST_KEPT]:
            self._remove(name)

    def _remove(self, name: str) -> None:
        # The record first: what is left without one is no fix any more.
        (self.kept / name / _RECORD).unlink(missing_ok=True)
        shutil.rmtree(self.kept / name, ignore_errors=True)


def _unknown(detail: str = "") -> AppError:
    return NotFound(
        text("This change can no longer be undone."),
        text("The files as they were are not kept any more. Nothing was changed."),
        detail,
    )


def _document(found: AppliedFix) -> dict[str, object]:
    return {
        "fix": found.fix,
        "folder": str(found.folder),
        "at": found.at.isoformat(),
        "files": [{"path": one.path, "before": one.before, "after": one.after} for one in found.files],
        "boot_before": found.boot_before,
        "boot_after": found.boot_after,
    }


def _sum(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _content(place: Path) -> bytes | None:
    with local_errors(place):
        try:
            return place.read_bytes()
        except FileNotFoundError:
            return None


def _is(place: Path, content: bytes | None) -> bool:
    try:
        return _content(place) == content
    except AppError:
        return False


def _place(folder: Path, path: str) -> Path:
    """Where links lead, but never out of the folder."""
    with local_errors(folder):
        whole = folder.resolve(strict=True)
        place = whole.joinpath(*PurePosixPath(path).parts).resolve()
    if not place.is_relative_to(whole) or place == whole:
        raise InvalidInput(
            text("“{file}” leads out of the code directory.", file=path),
            text("Nothing was changed. Change this file by hand."),
        )
    return place


def _check(places: dict[str, Path], wanted: Iterable[tuple[str, str]]) -> None:
    other = [path for path, content in wanted if _sum(_content(places[path])) != content]
    if other:
        title = (
            text("{file} was changed in the meantime, so nothing was written.", file=other[0])
            if len(other) == 1
            else count_text(
                "{count} file was changed in the meantime, so nothing was written.",
                "{count} files were changed in the meantime, so nothing was written.",
                len(other),
            )
        )
        raise Conflict(title, text("Look at the difference again."), ", ".join(other))


def _write(places: dict[str, Path], changes: Sequence[ScriptChange]) -> None:
    """All of them, or none: each is whole on the disk before the first takes its place."""
    parts: dict[str, Path] = {}
    done: list[ScriptChange] = []
    try:
        for change in changes:
            place = places[change.path]
            with local_errors(place):
                if change.after is not None:
                    parts[change.path] = part_beside(place, change.after, _mode(place))
        for change in changes:
            place = places[change.path]
            with local_errors(place):
                done.append(change)
                if change.after is None:
                    place.unlink(missing_ok=True)
                else:
                    put_in_place(parts[change.path], place)
                    del parts[change.path]
    except BaseException:
        for change in done:
            _put_back(places[change.path], change)
        raise
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _put_back(place: Path, change: ScriptChange) -> None:
    try:
        if change.before is None:
            place.unlink(missing_ok=True)
        elif _content(place) != change.before:
            write_whole(place, change.before, _mode(place))
    except (OSError, AppError) as error:
        log.warning("%s could not be put back: %s", place, error)


def _mode(place: Path) -> int:
    """As the file has it; a new one is for those who may use its folder."""
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except OSError:
        return stat.S_IMODE(place.parent.stat().st_mode) & 0o666 if place.parent.is_dir() else 0o644
