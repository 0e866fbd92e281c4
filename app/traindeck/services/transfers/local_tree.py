"""What there is in a folder of this computer, in the order in which a service lists it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from traindeck.domain.errors import AppError, InvalidInput, LocalTrouble
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import LINK_ENDING, Links
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.runtime.files import file_stamp, local_error

# What everybody may read needs no second question.
_READABLE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


@dataclass(slots=True, unsafe_hash=True)  # not frozen: four times as fast to make, and there may be a million
class LocalEntry:
    """A file, an empty folder (its name ends with a slash), or something that cannot be moved and why."""

    name: str
    size_bytes: int = 0
    modified_ns: int = 0
    inode: int = 0
    mode: int = 0
    problem: AppError | None = None
    is_gap: bool = False  # a folder that could not be read, or found: what is in it is unknown
    is_left_out: bool = False  # by a rule, not for being broken
    link: str = ""  # where it leads, of a link that is kept; its name has the ending of such


_Above = tuple[tuple[int, int], ...]
"""What tells the folders apart that one lies in."""
_Deeper = tuple[str, str, _Above]
"""A folder to be looked into."""


class LocalTree:
    """Walks one folder; each name comes once, and links that lead in circles are told."""

    def __init__(self, root: Path, ignored: IgnoreRules, links: Links = Links.SKIP) -> None:
        self._root = root
        self._ignored = ignored
        self._links = links
        self._reached: set[tuple[int, int]] = set()

    def entries(self) -> Iterator[LocalEntry]:
        """Blocks on the disk, so it belongs into a worker."""
        found = self._root.stat()
        # An own stack: a tree may be deeper than Python calls may be.
        pending = [self._folder("", str(self._root), ((found.st_dev, found.st_ino),))]
        while pending:
            entry = next(pending[-1], None)
            if entry is None:
                pending.pop()
            elif isinstance(entry, LocalEntry):
                yield entry
            else:
                pending.append(self._folder(*entry))

    def _folder(self, prefix: str, place: str, above: _Above) -> Iterator[LocalEntry | _Deeper]:
        try:
            with os.scandir(place) as entries:
                # Everything in a folder sorts by what its names have after them, a slash.
                found = sorted(
                    ((self._sorted_name(entry), entry) for entry in entries), key=itemgetter(0), reverse=True
                )
        except OSError as error:
            yield LocalEntry(prefix or "/", problem=local_error(error, Path(place)), is_gap=True)
            return
        if not found and prefix and self._ignored.takes(prefix):
            yield LocalEntry(prefix)
        while found:
            name, entry = found.pop()
            whole = prefix + name
            shown = prefix + entry.name if self._links is Links.KEEP and is_link(entry) else whole
            if self._ignored.leaves_out(shown):
                continue
            try:
                if whole.endswith("/") or is_link(entry):
                    yield from self._entry(whole, entry, above)
                elif self._links is Links.KEEP and whole.endswith(LINK_ENDING):
                    yield LocalEntry(whole, problem=_called_as_link(entry.path))
                else:
                    yield _file(whole, entry)
            except OSError as error:
                is_broken = is_link(entry)
                problem = _broken_link(entry.path) if is_broken else local_error(error, Path(entry.path))
                # What such a link led to may be a folder that is only away for now.
                yield LocalEntry(whole, problem=problem, is_gap=is_broken, is_left_out=is_broken)

    def _sorted_name(self, entry: os.DirEntry[str]) -> str:
        try:
            if self._links is not Links.FOLLOW and is_link(entry):
                return entry.name + LINK_ENDING if self._links is Links.KEEP else entry.name
            return f"{entry.name}/" if entry.is_dir() else entry.name
        except OSError:
            return entry.name  # it is looked at again, and told, when its turn comes

    def _entry(self, whole: str, entry: os.DirEntry[str], above: _Above) -> Iterator[LocalEntry | _Deeper]:
        leads_on, follows = is_link(entry), self._links is Links.FOLLOW
        if leads_on and self._links is Links.KEEP:
            yield kept_link(Path(entry.path), whole)
            return
        if leads_on and not follows:
            problem = LocalTrouble(
                text("“{place}” is a link, and links are skipped.", place=_shown(entry.path)),
                text("To transfer the targets of links, follow links."),
            )
            yield LocalEntry(whole, problem=problem, is_left_out=True)
            return
        if not whole.endswith("/"):
            yield _file(whole, entry, is_link=leads_on)
            return
        if not follows:
            yield whole, entry.path, above
            return
        found = os.stat(entry.path)  # noqa: PTH116
        here = (found.st_dev, found.st_ino)
        if leads_on:
            if here in above or here in self._reached:
                problem = LocalTrouble(
                    text(
                        "“{place}” is a link to a folder that is already being transferred.", place=_shown(entry.path)
                    ),
                    text("Nothing is missing: its files go with that folder."),
                )
                yield LocalEntry(whole.removesuffix("/"), problem=problem, is_left_out=True)
                return
            self._reached.add(here)
        yield whole, entry.path, (*above, here)


def _file(whole: str, entry: os.DirEntry[str], *, is_link: bool = False) -> LocalEntry:
    # On Windows an entry knows neither its inode nor what a link leads to.
    found = os.stat(entry.path) if os.name == "nt" or is_link else entry.stat()  # noqa: PTH116
    mode = found.st_mode
    if not stat.S_ISREG(mode):
        problem = LocalTrouble(
            text("“{place}” is neither a file nor a folder.", place=_shown(entry.path)),
            text("Devices, pipes and sockets have no content to transfer."),
        )
        return LocalEntry(whole, problem=problem, is_left_out=True)
    if mode & _READABLE != _READABLE and not os.access(entry.path, os.R_OK):
        return LocalEntry(whole, found.st_size, problem=unreadable(entry.path))
    return LocalEntry(whole, *file_stamp(found), stat.S_IMODE(mode))


def is_link(entry: os.DirEntry[str]) -> bool:
    """Also what Windows calls a junction."""
    if entry.is_symlink():
        return True
    if sys.platform != "win32":
        return False
    return entry.stat(follow_symlinks=False).st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT


def goes_through_link(root: Path, place: Path) -> bool:
    """Whether it is a link, or lies behind one below the root."""
    return any(is_link_at(above) for above in (place, *place.parents) if above != root and above.is_relative_to(root))


def is_link_at(place: Path) -> bool:
    if place.is_symlink():
        return True
    if sys.platform != "win32":
        return False
    return os.path.lexists(place) and place.lstat().st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT


def kept_link(place: Path, name: str) -> LocalEntry:
    """A link as it is kept: its content is where it leads, with slashes on every system."""
    try:
        found, leads_to = place.lstat(), leads_to_of(place)
        size_bytes = len(leads_to.encode())
    except OSError as error:
        return LocalEntry(name, problem=local_error(error, place))
    except UnicodeEncodeError as error:
        return LocalEntry(name, problem=_not_utf8(str(place), str(error)))
    _, modified_ns, inode = file_stamp(found)
    return LocalEntry(name, size_bytes, modified_ns, inode, link=leads_to)


def leads_to_of(place: Path) -> str:
    leads_to = os.readlink(place)  # noqa: PTH115 - a Path would forget how it was written
    return leads_to.removeprefix("\\\\?\\").replace("\\", "/") if os.name == "nt" else leads_to


def _not_utf8(place: str, detail: str) -> AppError:
    return InvalidInput(
        text("The target of the link “{place}” is not UTF-8, so it could not be kept.", place=_shown(place)),
        text("Rename its target, and create the link again."),
        detail,
    )


def _called_as_link(place: str) -> AppError:
    return InvalidInput(
        text("The name of “{place}” is reserved for links that are kept as objects.", place=_shown(place)),
        text("Rename the file, or skip links."),
    )


def _broken_link(place: str) -> AppError:
    return LocalTrouble(
        text("“{place}” is a link that leads nowhere.", place=_shown(place)),
        text("Delete the link, or restore its target."),
    )


def unreadable(place: str) -> AppError:
    return LocalTrouble(
        text("“{place}” cannot be read: no permission.", place=_shown(place)),
        text("Grant yourself permission to read it."),
    )


def _shown(place: str) -> str:
    return place.encode(errors="backslashreplace").decode()
