"""Where the programs of a home meet."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import tempfile
from pathlib import Path

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors, our_folder

_LONGEST_PATH = 80
"""Of a socket; Qt puts it into a folder of its own below first, and the system takes about a hundred."""


def meeting_place(home: Path) -> str:
    """A name of Windows, elsewhere a socket that only its owner reaches."""
    mark = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    if sys.platform == "win32":
        return f"traindeck-{mark}"
    place = home / "window.sock"
    if len(os.fsencode(place)) <= _LONGEST_PATH:
        return str(place)
    folder = Path(tempfile.gettempdir(), f"traindeck-{os.getuid()}")
    with local_errors(folder):
        our_folder(folder)
        found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise LocalTrouble(
            text("The folder “{place}” belongs to another user of this computer.", place=str(folder)),
            text("Use a shorter path for TRAINDECK_HOME, or have the folder deleted."),
        )
    return str(folder / f"{mark}.sock")


def has_window(home: Path) -> bool:
    """Whether a window of this home is open."""
    place = meeting_place(home)
    if sys.platform == "win32":
        return any(pipe.name == place for pipe in Path("//./pipe/").iterdir())
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(1)
        try:
            asked.connect(place)
        except OSError:
            return False  # the socket of a window that was killed stays
        return True


def is_somebody_there(home: Path) -> bool:
    """Whether it is worth asking: a look that costs nothing at nearly every start."""
    return sys.platform == "win32" or Path(meeting_place(home)).exists()
