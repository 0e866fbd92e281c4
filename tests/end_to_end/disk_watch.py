"""What the program does on the disk in the thread that calls: a window must not wait for one."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import traindeck

_CALLS = frozenset(
    {
        "access", "chmod", "fsync", "ftruncate", "link", "listdir", "lstat", "mkdir", "open", "open_code", "readlink",
        "remove", "rename", "replace", "rmdir", "scandir", "stat", "statvfs", "symlink", "truncate", "unlink", "utime",
    }
)  # fmt: skip
_MODULES = frozenset({"posix", "nt", "io", "_io"})
_PROGRAM = str(Path(traindeck.__file__).parent)
_TESTS = str(Path(__file__).parents[1])
# Reading what a program is made of; and the lines of its source for a traceback.
_FREE = ("<frozen importlib", "linecache.py", "tokenize.py")


@contextmanager
def disk_watched() -> Iterator[list[str]]:
    """The list of who asked the disk, in this thread, while the block runs."""
    found: list[str] = []

    def look(frame: FrameType, event: str, call: Any) -> None:
        if event == "c_call" and _is_of_disk(call) and (who := _asker(frame)):
            found.append(f"{call.__qualname__}: {who}")

    # Not an audit hook: those are for good, and hear of no stat.
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)


def _is_of_disk(call: Any) -> bool:
    name, module = getattr(call, "__name__", ""), getattr(call, "__module__", None)
    if name in _CALLS and module in _MODULES:
        return True
    return type(getattr(call, "__self__", None)).__module__ == "sqlite3"


def _asker(frame: FrameType) -> str:
    """The lines of ours that led there; nothing when it was the test, or is no business of the disk."""
    lines: list[str] = []
    here: FrameType | None = frame
    while here is not None:
        file = here.f_code.co_filename
        if any(free in file for free in _FREE):
            return ""
        if file.startswith(_PROGRAM):
            if not lines and linecache.getline(file, here.f_lineno).lstrip().startswith(("import ", "from ")):
                return ""
            lines.append(f"{file[len(_PROGRAM) + 1 :]}:{here.f_lineno}")
        elif file.startswith(_TESTS) and not lines:
            return ""
        here = here.f_back
    if not lines or lines[0].startswith("ui/qt/watchdog.py"):  # it asks the system about its own thread
        return ""
    return " < ".join(lines[:4])
