"""What the disk tells of what was dropped on the form, and of the folder of the code; for worker threads."""

from __future__ import annotations

from pathlib import Path

from traindeck.runtime.files import is_folder

FOLDER = "folder"


def kind_of(path: Path) -> str | None:
    """How it may be used; None: not at all."""
    if is_folder(path):
        return FOLDER
    return path.suffix if path.suffix in (".toml", ".py") else None


def python_files(place: Path) -> tuple[str, ...]:
    """The scripts at the top of a folder; a folder that cannot be read has none, which validation and submit tell."""
    try:
        return tuple(sorted(entry.name for entry in place.iterdir() if entry.suffix == ".py" and entry.is_file()))
    except OSError:
        return ()
