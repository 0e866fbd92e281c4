"""Files that commands write where somebody says: what is there is replaced with --yes or after a clear yes alone."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from traindeck.cli import terminal
from traindeck.cli.main import Call
from traindeck.domain.errors import Conflict
from traindeck.domain.texts import say, text
from traindeck.runtime.files import local_errors, move_new, write_whole


@dataclass(frozen=True, slots=True)
class TargetFile:
    path: Path
    replaces: bool = False
    """What was there when somebody was asked."""

    def write(self, content: bytes) -> None:
        """Whole or not at all; what came there meanwhile is not replaced either."""
        with local_errors(self.path):
            if self.replaces and self.path.exists():
                write_whole(self.path.resolve(), content, stat.S_IMODE(self.path.stat().st_mode))
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=f".{self.path.name}.") as folder:
                part = Path(folder) / self.path.name
                part.write_bytes(content)
                try:
                    move_new(part, self.path)
                except FileExistsError as error:
                    raise occupied(self.path) from error


def target_file(call: Call, path: Path) -> TargetFile | None:
    """To be asked before the work begins; None: it is not to be replaced, and that was said."""
    if not os.path.lexists(path):
        return TargetFile(path)
    there = text("“{place}” already exists.", place=str(path))
    if path.is_dir():
        raise Conflict(there, text("It is a folder. Specify another file name."))
    if terminal.is_meant(call.options, there, say("Replace “{file}”?", file=str(path))):
        return TargetFile(path, replaces=True)
    call.output.note(say("Nothing was written."))
    return None


def occupied(place: Path) -> Conflict:
    """Where nobody can be asked to have it replaced."""
    return Conflict(
        text("“{place}” already exists.", place=str(place)),
        text("Nothing was changed. Move it first, or specify another name."),
    )
