"""Files with a few lines that read packed shards in training; they come with the program, and become the user's."""

from __future__ import annotations

from pathlib import Path

from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.resources import resource

LOADERS = {"pytorch": "pytorch_shards.py", "mindspore": "mindspore_shards.py"}
"""By framework, what the file is called."""
_FILE_MODE = 0o644


def loader_source(framework: str) -> bytes:
    return resource("loaders", LOADERS[framework]).read_bytes()


def save_loader(framework: str, place: Path) -> None:
    """Blocks. Replaces what is there: whoever named the place was asked."""
    with local_errors(place):
        write_whole(place, loader_source(framework), _FILE_MODE)
