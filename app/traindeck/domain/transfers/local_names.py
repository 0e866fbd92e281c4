"""Names of objects as files: what a system cannot hold is written so that the user sees what it was.

A letter that cannot stand is written as %XX. Two names that would be one file get a mark made of the whole name, so
that the same object becomes the same file every time.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

_MOST = 255  # bytes; on Windows units of UTF-16
_PART = ".traindeck.part"
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?=[ ]*(\.|$))")
_WRITTEN = re.compile("(?:%[0-9A-F]{2})+")
_CHANGED = re.compile("%[0-9A-F]{2}|~[0-9a-f]{8}")
_WINDOWS_LETTERS = frozenset('<>:"|?*\\')


@dataclass(frozen=True, slots=True)
class System:
    """What a file system makes of names."""

    is_windows: bool = False
    folds_case: bool = False

    def sign(self, name: str) -> int:
        """The same for names that it takes for one."""
        return hash(folded(name) if self.folds_case else name)


HERE = System(is_windows=os.name == "nt")
"""What any file system of this computer makes of them, as far as that is known without looking."""


def local_part(part: str, system: System) -> str:
    """One piece of a key between slashes as the name of a file."""
    if not part:
        return "%2F"  # two slashes in a row, or one at the beginning
    if part in (".", ".."):
        return part.replace(".", "%2E")
    # Nearly all names are plain; a slash cannot be in them.
    is_plain = part.isascii() and part.isprintable() and not system.is_windows
    if is_plain and len(part) <= _MOST and not part.casefold().endswith(_PART):
        return part
    shown = part if is_plain else "".join(_letter(letter, system) for letter in part)
    if shown.casefold().endswith(_PART):
        shown = _marked(shown, part, system)  # else it would be where another is while it comes
    if system.is_windows:
        if shown[-1] in ". ":
            shown = shown[:-1] + _written(shown[-1])
        if _RESERVED.match(shown):
            shown = _written(shown[0]) + shown[1:]
    return shown if _fits(shown, system) else _marked(shown, part, system)


def marked_part(part: str, sign: str, system: System) -> str:
    """What it is called where another name is in its way; `sign` is a slash for a folder."""
    return _marked(local_part(part, system), part + sign, system)


def may_be_changed(place: str) -> bool:
    """Whether a local name, or that of a folder above, looks like one that was changed."""
    return ("%" in place or "~" in place) and _CHANGED.search(place) is not None


def is_possible_part(part: str) -> bool:
    """Whether any file can be called so."""
    return part not in ("", ".", "..")


def plain_place(key: str, system: System) -> str:
    """Where an object goes if no other is in its way."""
    return "/".join(local_part(part, system) for part in key.split("/"))


def name_before(part: str, system: System) -> str:
    """The name that became this one by writing letters as %XX; the same where there is none."""
    try:
        found = _WRITTEN.sub(lambda written: bytes.fromhex(written[0].replace("%", "")).decode(), part)
    except UnicodeDecodeError:
        return part
    return found if local_part(found, system) == part else part


def part_name(name: str, system: System, mark: str = "") -> str:
    """What a file is called until all of it is there; `mark` is of who brings it."""
    ending = f".{mark}{_PART}" if mark else _PART
    shown = name + ending
    return shown if _fits(shown, system) else _digest(name) + ending


def part_of(place: Path, mark: str = "") -> Path:
    """What a file of this computer is called until all of it is there."""
    return place.with_name(part_name(place.name, HERE, mark))


def stays_inside(leads_to: str, depth: int, system: System) -> bool:
    """Whether a link, so many folders below the top one, leads nowhere else, whatever stands in its way.

    Only the beginning may go up: behind a name that is a link itself, `..` is the folder above what that leads to.
    """
    way = leads_to.replace("\\", "/") if system.is_windows else leads_to
    if not way or way.startswith("/") or "\0" in way or (system.is_windows and ":" in way):
        return False
    parts = [part for part in way.split("/") if part not in ("", ".")]
    ups = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return ups <= depth and ".." not in parts[ups:]


def _letter(letter: str, system: System) -> str:
    if unicodedata.category(letter) in ("Cc", "Cs") or letter == "/":
        return _written(letter)
    return _written(letter) if system.is_windows and letter in _WINDOWS_LETTERS else letter


def _written(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))


def _fits(name: str, system: System) -> bool:
    return len(name.encode("utf-16-le")) // 2 <= _MOST if system.is_windows else len(name.encode()) <= _MOST


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _marked(shown: str, whole: str, system: System) -> str:
    """The name with a mark before its ending, short enough for the system."""
    mark = "~" + _digest(whole)
    stem, dot, ending = shown.rpartition(".")
    if not stem or len(ending) > 16 or not ending.strip(" ."):
        stem, dot, ending = shown, "", ""
    while stem and not _fits(stem + mark + dot + ending, system):
        stem = stem[:-1]
    return stem + mark + dot + ending


def folded(name: str) -> str:
    """Equal for two names that a system without case, or one that composes letters, takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@dataclass(slots=True)
class _Folder:
    """A folder of the service while its content goes by."""

    key: str
    place: str
    taken: set[int] = field(default_factory=set)


class LocalNames:
    """Gives every key below one folder a file of its own; keys come in the order of a listing.

    What is below a folder comes in one stretch, so only the folders above the last key are remembered.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._open = [_Folder("", "")]

    def place(self, key: str) -> str:
        """Where the object goes, below the target, with slashes; one whose name ends with a slash is a folder."""
        if key.startswith(self._open[-1].key) and "/" not in (name := key[len(self._open[-1].key) :]) and name:
            return self._open[-1].place + self._take(name)
        *folders, name = key.split("/")
        while not (key.startswith(self._open[-1].key) and self._depth() <= len(folders)):
            self._open.pop()
        for part in folders[self._depth() :]:
            here = self._open[-1]
            self._open.append(_Folder(f"{here.key}{part}/", f"{here.place}{self._take(part, '/')}/"))
        here = self._open[-1]
        return here.place + self._take(name) if name else here.place.removesuffix("/")

    def inside(self, key: str) -> str:
        """Where the content goes of an object that is named like a folder and has some."""
        self.place(key)
        return self._open[-1].place + self._take("")

    def _depth(self) -> int:
        return len(self._open) - 1

    def _take(self, part: str, sign: str = "") -> str:
        taken = self._open[-1].taken
        name, whole = local_part(part, self._system), part + sign
        # Should two hashes ever agree, one file only gets a longer name.
        while self._system.sign(name) in taken:
            name = _marked(local_part(part, self._system), whole, self._system)
            whole += sign or "/"
        taken.add(self._system.sign(name))
        return name
