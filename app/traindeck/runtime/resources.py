"""Finds the files that come with the program, wherever it was put."""

import sys
from pathlib import Path


def resource(*parts: str) -> Path:
    """The path of one shipped file or folder, given by its place under `resources`."""
    return _folder().joinpath(*parts)


def _folder() -> Path:
    unpacked = getattr(sys, "_MEIPASS", None)
    if unpacked is not None:
        return Path(unpacked) / "resources"
    package = Path(__file__).resolve().parents[1]
    installed = package / "resources"
    return installed if installed.is_dir() else package.parents[1] / "resources"
