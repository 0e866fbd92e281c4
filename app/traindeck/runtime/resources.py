"""Finds the files that come with the program, wherever it was put."""

import sys
from pathlib import Path


def resource(*parts: str) -> Path:
    """The path of one shipped file or folder, given by its place under `resources`."""
    if (unpacked := getattr(sys, "_MEIPASS", None)) is not None:
        return Path(unpacked, "resources", *parts)
    package = Path(__file__).resolve().parents[1]
    installed = package / "resources"
    return (installed if installed.is_dir() else package.parents[1] / "resources").joinpath(*parts)
