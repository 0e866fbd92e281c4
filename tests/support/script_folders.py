"""Folders of scripts as the tests read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from traindeck.services.scripts.script_tree import ScriptTree, read_scripts

CORPUS = Path(__file__).parents[1] / "scripts_corpus"


def tree_of(
    files: Mapping[str, str | bytes], boot: str, version: tuple[int, int] | None = None, *, others: bool = True
) -> ScriptTree:
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    return read_scripts(list(contents), contents.__getitem__, boot, version, others=others)


def tree_in(folder: Path, boot: str, version: tuple[int, int] | None = None) -> ScriptTree:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return read_scripts(names, lambda name: (folder / name).read_bytes(), boot, version)
