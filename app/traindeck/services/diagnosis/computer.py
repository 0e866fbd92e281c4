"""What can be said of this computer itself, without any network."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, version
from itertools import islice
from pathlib import Path

from traindeck import __version__
from traindeck.domain.accounts.profiles import Check
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import text

_PARTS = ("esdk-obs-python", "huaweicloudsdkmodelarts", "aiohttp", "keyring", "PySide6-Essentials")
_LITTLE, _TOO_LITTLE = 1 << 30, 100 << 20
_MOST_LOOKED_AT = 5000


def versions() -> Check:
    parts = ", ".join(f"{name} {found}" for name, found in _found_versions())
    fact = text(
        "TrainDeck {version}, Python {python}, {system}; {parts}.",
        version=__version__, python=platform.python_version(), system=platform.platform(), parts=parts,
    )  # fmt: skip
    return Check(text("Versions"), True, fact, id="versions")


def _found_versions() -> Iterator[tuple[str, str]]:
    for name in _PARTS:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "–"


def all_versions() -> str:
    """Of everything that is installed beside it, one a line."""
    lines = sorted({f"{found.metadata['Name']} {found.version}" for found in distributions()}, key=str.casefold)
    return "\n".join([f"TrainDeck {__version__}", f"Python {platform.python_version()}", platform.platform(), *lines])


def disk(home: Path) -> Check:
    title, free = text("Disk"), shutil.disk_usage(home).free
    fact = text("{size} free at “{place}”.", size=size_words(free), place=str(home))
    if free >= _LITTLE:
        return Check(title, True, fact, id="disk")
    hint = text("Free up space, or move the TrainDeck folder with TRAINDECK_HOME.")
    return Check(title, False if free < _TOO_LITTLE else None, fact, hint, id="disk")


def home_rights(home: Path) -> Check:
    """Whether others of this computer can read what is kept."""
    title = text("Folder of TrainDeck")
    if os.name == "nt":
        return Check(title, None, text("Not checked: Windows manages permissions differently."), id="home")
    mode = stat.S_IMODE(home.stat().st_mode)
    hint = text("Restrict it: chmod -R go= “{place}”.", place=str(home))
    if mode & 0o077:
        fact = text("Other users can read “{place}” (mode {mode}).", place=str(home), mode=f"{mode:o}")
        return Check(title, False, fact, hint, id="home")
    count = sum(_is_open(path) for path in islice(_kept(home), _MOST_LOOKED_AT))
    if count:
        fact = text("“{place}” is private. Files in it that are not: {count}.", place=str(home), count=count)
        return Check(title, None, fact, hint, id="home")
    return Check(title, True, text("“{place}” is private to its owner.", place=str(home)), id="home")


def _kept(home: Path) -> Iterator[Path]:
    """Settings, records, logs; the Lab looks after its folder itself, and jobs write what they like."""
    for folder, folders, names in os.walk(home):
        if Path(folder) == home and "lab" in folders:
            folders.remove("lab")
        yield from (Path(folder, name) for name in (*folders, *names))


def _is_open(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:  # it vanished
        return False
    return not stat.S_ISLNK(found.st_mode) and bool(found.st_mode & 0o077)
