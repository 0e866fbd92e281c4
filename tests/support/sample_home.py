"""A home whose sample somebody has edited, to see the end sooner."""

from __future__ import annotations

import shutil
from pathlib import Path

from traindeck.runtime.files import our_folder
from traindeck.store.paths import Paths

SAMPLE = Path(__file__).parents[2] / "resources" / "sample" / "digits"
AS_SHIPPED = 30


def copied_sample(place: Path) -> Path:
    return shutil.copytree(SAMPLE, place, ignore=shutil.ignore_patterns("__pycache__"))


def shorten_the_sample(home: Path, epochs: int) -> None:
    """What was edited stays as it is."""
    our_folder(Paths(home).sample.parent)
    file = copied_sample(Paths(home).sample) / "job.toml"
    words = file.read_text("utf-8")
    assert words.count(f"epochs = {AS_SHIPPED}\n") == 1
    file.write_text(words.replace(f"epochs = {AS_SHIPPED}\n", f"epochs = {epochs}\n"), "utf-8")
