"""A home as an earlier version left it, made anew in a folder of the test; see tests/old_homes/README.md."""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import string
import zipfile
from contextlib import closing
from pathlib import Path

HOMES = Path(__file__).parents[1] / "old_homes"
_LETTERS = string.ascii_uppercase + string.digits
_INODE = re.compile("@INODE:([^@]+)@")


def unpack(name: str, root: Path) -> Path:
    """Make the home of version `name` below `root`; the files its transfers move stand beside it."""
    with zipfile.ZipFile(HOMES / f"{name}.zip") as archive:
        content = json.loads(archive.read("content.json"))
        stored = {member: archive.read(member) for member in archive.namelist()}
    for member, size in content["zeros"].items():
        with _made(root / member).open("wb") as file:
            file.truncate(size)
    keys = {"@ACCESS@": "LAB" + _random(17), "@SECRET@": _random(40), "@ROOT@": root.as_posix()}
    for member in content["replaced"]:
        stored[member] = _filled_in(stored[member].decode(), keys).encode()
    for member in content["modified_ns"]:
        if member in stored:
            _made(root / member).write_bytes(stored[member])
    for member, modified_ns in content["modified_ns"].items():
        if (root / member).exists():
            os.utime(root / member, ns=(modified_ns, modified_ns))
    # Last: they name the files above by their inodes.
    for member in content["databases"]:
        script = _filled_in(stored[f"{member}.sql"].decode(), keys)
        script = _INODE.sub(lambda found: str((root / found[1]).stat().st_ino), script)
        with closing(sqlite3.connect(_made(root / member))) as database:
            database.executescript(script)
    for path in root.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return root / "home"


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _filled_in(text: str, words: dict[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))
