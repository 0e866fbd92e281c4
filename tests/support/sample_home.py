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


def quicken(sample: Path) -> None:
    """It learns with a handful of units; one of more than two epochs lasts, and waits instead of computing."""
    _replace(sample / "job.toml", "hidden = 128\n", "hidden = 4\n")
    saved = '        say(f"checkpoint {path}")\n'
    _replace(sample / "train.py", saved, f"{saved}        time.sleep(0.25 if options.epochs > 2 else 0)\n")


def quicken_the_sample(home: Path) -> None:
    our_folder(Paths(home).sample.parent)
    quicken(copied_sample(Paths(home).sample))


def shorten_the_sample(home: Path, epochs: int) -> None:
    """What was edited stays as it is."""
    if not Paths(home).sample.exists():
        quicken_the_sample(home)
    _replace(Paths(home).sample / "job.toml", f"epochs = {AS_SHIPPED}\n", f"epochs = {epochs}\n")


def _replace(file: Path, old: str, new: str) -> None:
    words = file.read_text("utf-8")
    assert words.count(old) == 1
    file.write_text(words.replace(old, new), "utf-8")
