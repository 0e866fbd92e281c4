"""What a folder of code holds: the one walk through it, for those who show, check and freeze it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, beginning, count_text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import is_file, is_folder
from traindeck.services.jobs.code.code_limits import CodeLimits, Limit, OverLimit
from traindeck.services.jobs.code.code_rules import CodeRules, IgnoreRule
from traindeck.services.transfers.local_tree import is_link, leads_to_of

MOST_LISTED = 20_000
"""So many entries are kept; what comes after them is only counted."""
_LARGEST = 10
_UNTIL_ASKED = 500
# What everybody may read needs no second question.
_READABLE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


class EntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"  # listed where it is left out with all that is in it, or cannot be read
    LINK = "link"
    SPECIAL = "special"  # a device, a pipe, a socket


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What changes when the content of a file does."""

    modified_ns: int
    changed_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileStamp:
        return cls(found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """Something in the folder, and whether it goes along."""

    path: str
    """Below the code folder, with slashes; a folder ends with one."""
    kind: EntryKind
    size_bytes: int | None = None
    """None: nobody looked, as in a folder that is left out."""
    rule: IgnoreRule | None = None
    """What leaves it out."""
    problem: Text | None = None
    """Why it cannot go along, though no rule leaves it out."""
    is_refused: bool = False
    """With it nothing is submitted until it is mended or ignored: nobody can know what would be missing."""
    link: str = ""
    """Where a link leads, as it says."""
    target: str = ""
    """The file of the code folder whose content goes along for a link."""
    leads_outside: bool = False
    stamp: FileStamp | None = None

    @property
    def is_taken(self) -> bool:
        return self.rule is None and self.problem is None

    def why_left_out(self) -> Text | None:
        return self.problem if self.rule is None else self.rule.words()


@dataclass(frozen=True, slots=True)
class FolderSum:
    """What goes along of one folder and all below it."""

    path: str
    """Ends with a slash; the code folder itself is empty."""
    files: int = 0
    folders: int = 0
    size_bytes: int = 0
    depth: int = 0
    """How many names the longest path has, from the code folder on."""

    @property
    def entries(self) -> int:
        """As the service counts them: files and folders."""
        return self.files + self.folders


@dataclass(frozen=True)
class CodeTree:
    """A folder of code as one look found it."""

    root: Path
    entries: tuple[CodeEntry, ...]
    """Sorted by path, at most `MOST_LISTED`."""
    folders: Mapping[str, FolderSum]
    same_but_case: tuple[tuple[str, ...], ...] = ()
    """Names that are one name on a computer that does not tell upper from lower case."""
    bad_rules: tuple[IgnoreRule, ...] = ()
    unlisted: int = 0
    """Entries beyond those that are kept."""
    deepest: str = ""

    @property
    def total(self) -> FolderSum:
        return self.folders[""]

    @cached_property
    def taken(self) -> tuple[CodeEntry, ...]:
        return tuple(entry for entry in self.entries if entry.is_taken)

    @cached_property
    def left_out(self) -> tuple[CodeEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.is_taken)

    @cached_property
    def refused(self) -> tuple[CodeEntry, ...]:
        return tuple(entry for entry in self.entries if entry.is_refused)

    @cached_property
    def links(self) -> tuple[CodeEntry, ...]:
        return tuple(entry for entry in self.entries if entry.kind is EntryKind.LINK)

    @cached_property
    def largest(self) -> tuple[CodeEntry, ...]:
        """Of what goes along, the largest first."""
        return tuple(sorted(self.taken, key=lambda entry: entry.size_bytes or 0, reverse=True)[:_LARGEST])

    def holds(self, path: str) -> bool:
        """Whether a file of this name goes along."""
        return any(entry.path == path for entry in self.taken)

    def over(self, limits: CodeLimits) -> tuple[OverLimit, ...]:
        """All that is beyond what a target takes; nothing is raised, for it may still be only looked at."""
        total, found = self.total, []
        if total.entries > limits.entries:
            found.append(OverLimit(Limit.ENTRIES, total.entries, limits.entries, self._most("entries")))
        if total.size_bytes > limits.size_bytes:
            found.append(OverLimit(Limit.BYTES, total.size_bytes, limits.size_bytes, self._most("size_bytes")))
        if total.depth > limits.depth:
            found.append(OverLimit(Limit.DEPTH, total.depth, limits.depth, self.deepest))
        return tuple(found)

    def summary(self, new: int | None = None) -> Text:
        """`12 files, 84 kB, 3 new`; None: it is not known how many are new."""
        files = count_text("{count} file", "{count} files", self.total.files)
        size = size_words(self.total.size_bytes)
        if new is None:
            return text("{files}, {size}", files=files, size=size)
        return text("{files}, {size}, {new} new", files=files, size=size, new=f"{new:,}")

    def _most(self, of: str) -> str:
        """Down from the top, as long as one folder holds the half of what there is."""
        inside: dict[str, list[FolderSum]] = {}
        for each in self.folders.values():
            if each.path:
                inside.setdefault(_above(each.path), []).append(each)
        here = self.total
        while here.path in inside:
            largest = max(inside[here.path], key=lambda each: int(getattr(each, of)))
            if here.path and 2 * int(getattr(largest, of)) < int(getattr(here, of)):
                break
            here = largest
        return here.path or "./"


@dataclass(frozen=True, slots=True)
class FrozenCode:
    """The code as a run has it: all of it goes along, and its files are where contents are kept."""

    tree: CodeTree
    places: Mapping[str, Path]


def tree_of(root: Path, sizes: Mapping[str, int]) -> CodeTree:
    """Of files that were frozen, of which nothing is left out any more."""
    folders = {"": FolderSum("")}
    deepest = ""
    entries = tuple(CodeEntry(path, EntryKind.FILE, sizes[path]) for path in sorted(sizes))
    for entry in entries:
        depth = entry.path.count("/") + 1
        _count_folders_of(entry.path, folders)
        for folder in _all_above(entry.path):
            folders[folder] = _with(folders[folder], entry, depth)
        deepest = max(deepest, entry.path, key=lambda path: path.count("/"))
    return CodeTree(root, entries, folders, _same_but_case(entries), deepest=deepest)


async def scan_code(folder: Path, ignore: Sequence[str], calls: BlockingCalls) -> CodeTree:
    """In a worker, and ended when nobody waits any more; NotFound: there is no such folder."""
    return await calls.run(lambda token: scanned(folder, ignore, token))


def scanned(folder: Path, ignore: Sequence[str], token: CancelToken) -> CodeTree:
    folder = folder.absolute()
    if not _is_utf8(str(folder)):
        raise InvalidInput(
            text("The name of “{file}” is not UTF-8 and cannot be passed to a job.", file=shown_path(str(folder))),
            text("Rename the folder, or copy the code into another one."),
        )
    if is_file(folder):
        raise InvalidInput(
            text("“{file}” is a file, not a folder.", file=shown_path(str(folder))),
            text("Select the folder with your training script."),
        )
    if not is_folder(folder):
        raise NotFound(
            text("The code directory “{folder}” does not exist.", folder=beginning(shown_path(str(folder)))),
            text("Select the folder with your training script."),
        )
    return _Scan(folder, CodeRules.of(ignore), token).tree()


@dataclass(slots=True)
class _Open:
    """A folder that is being looked through."""

    prefix: str
    rest: Iterator[os.DirEntry[str]]
    rules: CodeRules
    sum: FolderSum


class _Scan:
    def __init__(self, root: Path, rules: CodeRules, token: CancelToken) -> None:
        self._root = root
        self._real_root = Path(os.path.realpath(root))
        self._rules = rules
        self._token = token
        self._entries: list[CodeEntry] = []
        self._links: list[CodeEntry] = []
        self._folders: dict[str, FolderSum] = {}
        self._bad: dict[IgnoreRule, None] = {}
        self._unlisted = 0
        self._deepest = ""
        self._depth = 0

    def tree(self) -> CodeTree:
        # An own stack: a tree may be deeper than Python calls may be.
        pending = [self._opened("", str(self._root), self._rules)]
        seen = 0
        while pending:
            here = pending[-1]
            entry = next(here.rest, None)
            if entry is None:
                pending.pop()
                self._close(here, pending[-1] if pending else None)
                continue
            seen += 1
            if seen % _UNTIL_ASKED == 0:
                self._token.check()
            deeper = self._look(here, entry)
            if deeper is not None:
                pending.append(deeper)
        self._follow_links()
        entries = tuple(sorted(self._entries, key=lambda entry: entry.path))
        return CodeTree(
            self._root, entries, self._folders, _same_but_case(entries), tuple(self._bad), self._unlisted, self._deepest
        )

    def _opened(self, prefix: str, place: str, rules: CodeRules) -> _Open:
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(place) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            problem = text("This folder cannot be read: {problem}.", problem=error.strerror or type(error).__name__)
            self._keep(CodeEntry(prefix or "./", EntryKind.FOLDER, problem=problem, is_refused=True))
        rules = rules.below(Path(place), prefix)
        self._bad.update(dict.fromkeys(rules.bad))
        return _Open(prefix, iter(found), rules, FolderSum(prefix))

    def _close(self, here: _Open, above: _Open | None) -> None:
        # What is beyond the list is counted in the folders above it.
        if above is None or (here.sum.entries and len(self._folders) < MOST_LISTED):
            self._folders[here.prefix] = here.sum
        if above is None or not here.sum.files:
            return
        mine, whole = here.sum, above.sum
        above.sum = FolderSum(
            whole.path,
            whole.files + mine.files,
            whole.folders + mine.folders + 1,
            whole.size_bytes + mine.size_bytes,
            max(whole.depth, mine.depth),
        )

    def _look(self, here: _Open, entry: os.DirEntry[str]) -> _Open | None:
        path = here.prefix + entry.name
        try:
            if is_link(entry):
                self._look_at_link(here, path, entry.path)
            elif entry.is_dir(follow_symlinks=False):
                return self._look_into(here, f"{path}/", entry.path)
            else:
                self._look_at_file(here, path, os.stat(entry.path, follow_symlinks=False), entry.path)  # noqa: PTH116
        except OSError as error:
            # It went away while we looked, or its disk fails: what it is cannot be known.
            if not isinstance(error, FileNotFoundError):
                self._keep(CodeEntry(shown_path(path), EntryKind.FILE, problem=_unreadable(error), is_refused=True))
        return None

    def _look_into(self, here: _Open, path: str, place: str) -> _Open | None:
        rule = here.rules.against(path)
        if rule is not None:
            self._keep(CodeEntry(shown_path(path), EntryKind.FOLDER, rule=rule))
            return None
        if not _is_utf8(path):
            self._keep(CodeEntry(shown_path(path), EntryKind.FOLDER, problem=_NOT_UTF8, is_refused=True))
            return None
        return self._opened(path, place, here.rules)

    def _look_at_file(self, here: _Open, path: str, found: os.stat_result, place: str) -> None:
        size = found.st_size
        if (rule := here.rules.against(path, size)) is not None:
            self._keep(CodeEntry(shown_path(path), EntryKind.FILE, size, rule=rule))
        elif not stat.S_ISREG(found.st_mode):
            self._keep(CodeEntry(shown_path(path), EntryKind.SPECIAL, problem=_NOT_A_FILE))
        elif not _is_utf8(path):
            self._keep(CodeEntry(shown_path(path), EntryKind.FILE, size, problem=_NOT_UTF8, is_refused=True))
        elif found.st_mode & _READABLE != _READABLE and not os.access(place, os.R_OK):
            self._keep(CodeEntry(path, EntryKind.FILE, size, problem=_NO_RIGHT, is_refused=True))
        else:
            self._take(here, CodeEntry(path, EntryKind.FILE, size, stamp=FileStamp.of(found)))

    def _look_at_link(self, here: _Open, path: str, place: str) -> None:
        """What it leads to goes along as a file, where that file goes along itself."""
        leads_to = shown_path(leads_to_of(Path(place)))
        real = Path(os.path.realpath(place))
        outside = not real.is_relative_to(self._real_root)
        entry = CodeEntry(shown_path(path), EntryKind.LINK, link=leads_to, leads_outside=outside)
        # Its size is told of a target within: of others nothing is looked at.
        target = None if outside else _target(place)
        size = target.st_size if target is not None and stat.S_ISREG(target.st_mode) else 0
        if (rule := here.rules.against(path, size)) is not None:
            self._keep(replace(entry, rule=rule))
        elif outside:
            self._keep(replace(entry, problem=_LEADS_OUTSIDE))
        elif target is None:
            self._keep(replace(entry, problem=_LEADS_NOWHERE))
        elif not stat.S_ISREG(target.st_mode):
            self._keep(replace(entry, problem=_LEADS_TO_FOLDER if stat.S_ISDIR(target.st_mode) else _NOT_A_FILE))
        elif not _is_utf8(path):
            self._keep(replace(entry, problem=_NOT_UTF8, is_refused=True))
        else:
            inside = real.relative_to(self._real_root).as_posix()
            self._links.append(replace(entry, size_bytes=size, stamp=FileStamp.of(target), target=inside))

    def _take(self, here: _Open, entry: CodeEntry) -> None:
        depth = entry.path.count("/") + 1
        if depth > self._depth:
            self._depth, self._deepest = depth, entry.path
        here.sum = _with(here.sum, entry, depth)
        self._keep(entry)

    def _keep(self, entry: CodeEntry) -> None:
        # What keeps all from being submitted is never lost in the mass.
        if len(self._entries) < MOST_LISTED or entry.is_refused:
            self._entries.append(entry)
        else:
            self._unlisted += 1

    def _follow_links(self) -> None:
        """Only now is it known what goes along."""
        taken = {entry.path for entry in self._entries if entry.is_taken}
        for entry in self._links:
            if entry.target not in taken:
                self._keep(replace(entry, problem=_LEADS_TO_LEFT_OUT))
                continue
            self._keep(entry)
            depth = entry.path.count("/") + 1
            if depth > self._depth:
                self._depth, self._deepest = depth, entry.path
            _count_folders_of(entry.path, self._folders)
            for folder in _all_above(entry.path):
                self._folders[folder] = _with(self._folders[folder], entry, depth)


def _count_folders_of(path: str, folders: dict[str, FolderSum]) -> None:
    """Those that nothing but this file makes folders of what goes along."""
    new = [folder for folder in _all_above(path) if folder not in folders]
    if not new:
        return
    for below, folder in enumerate(new):
        folders[folder] = FolderSum(folder, folders=below)
    for folder in _all_above(path)[len(new) :]:
        before = folders[folder]
        folders[folder] = replace(before, folders=before.folders + len(new))


def _same_but_case(entries: Sequence[CodeEntry]) -> tuple[tuple[str, ...], ...]:
    names: dict[tuple[str, str], dict[str, None]] = {}
    for entry in entries:
        if entry.is_taken:
            for path in (entry.path, *_all_above(entry.path)[:-1]):
                head, _, last = path.rstrip("/").rpartition("/")
                names.setdefault((head, last.casefold()), {})[path] = None
    return tuple(tuple(found) for found in names.values() if len(found) > 1)


def _with(before: FolderSum, entry: CodeEntry, depth: int) -> FolderSum:
    return FolderSum(
        before.path,
        before.files + 1,
        before.folders,
        before.size_bytes + (entry.size_bytes or 0),
        max(before.depth, depth),
    )


def _above(path: str) -> str:
    """The folder it lies in, with its slash."""
    head = path.rstrip("/").rpartition("/")[0]
    return f"{head}/" if head else ""


def _all_above(path: str) -> list[str]:
    """All folders it lies in, the deepest first, the code folder last."""
    found = []
    while path:
        path = _above(path)
        found.append(path)
    return found


def _target(place: str) -> os.stat_result | None:
    try:
        return os.stat(place)  # noqa: PTH116
    except OSError:
        return None  # nothing is there, or it leads in a circle


def _unreadable(error: OSError) -> Text:
    return text("This file cannot be read: {problem}.", problem=error.strerror or type(error).__name__)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown_path(path: str) -> str:
    """What can be written down, of a name that no service could be told."""
    return path if _is_utf8(path) else os.fsencode(path).decode(errors="backslashreplace")


_NOT_UTF8 = text("Its name is not UTF-8 and cannot be passed to a job.")
_NO_RIGHT = text("You do not have permission to read it.")
_NOT_A_FILE = text("It is neither a file nor a folder, and has no content to send.")
_LEADS_OUTSIDE = text("It is a link that leads out of the code directory.")
_LEADS_NOWHERE = text("It is a link that leads nowhere.")
_LEADS_TO_FOLDER = text("It is a link to a folder; only links to files are replaced by their content.")
_LEADS_TO_LEFT_OUT = text("It is a link to a file that is left out.")
