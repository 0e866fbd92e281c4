"""The scripts of a job's code: what of the folder goes along, read as scripts, and not read again while it stays."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from traindeck.domain.scripts.arguments import ScriptArguments
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.jobs.code.code_tree import CodeEntry, CodeTree, FileStamp, scanned
from traindeck.services.scripts.arguments import script_arguments
from traindeck.services.scripts.imports import folder_of
from traindeck.services.scripts.python_source import MOST_BYTES, PythonVersion
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree, is_script, read_scripts

_MOST_KEPT_LETTERS = 48 << 20
_MOST_TOLD = 20
_TREE = 40
"""So many times the room of its text a syntax tree takes."""

PlaceOf = Callable[[str], Path]


@dataclass(eq=False, slots=True)
class ScriptMemory:
    """What files were read as; one that has not changed since is not read again. For one worker at a time."""

    _files: dict[tuple[str, FileStamp, PythonVersion | None], ScriptFile] = field(default_factory=dict)
    _letters: int = 0

    def known(self, place: Path, entry: CodeEntry, version: PythonVersion | None) -> ScriptFile | None:
        return None if entry.stamp is None else self._files.get((str(place), entry.stamp, version))

    def keep(self, place: Path, entry: CodeEntry, version: PythonVersion | None, found: ScriptFile) -> None:
        if entry.stamp is None:
            return
        if self._letters > _MOST_KEPT_LETTERS:
            self._files.clear()
            self._letters = 0
        self._letters += len(found.text) * (1 if found.kept is None else _TREE)
        self._files[str(place), entry.stamp, version] = found


def scripts_of(
    tree: CodeTree,
    boot: str,
    version: PythonVersion | None,
    token: CancelToken,
    memory: ScriptMemory,
    place_of: PlaceOf | None = None,
    *,
    others: bool = True,
) -> ScriptTree:
    """Blocks: for workers. `others`: also what the boot file does not need."""
    entries = {entry.path: entry for entry in tree.taken}
    place = place_of or (lambda path: tree.root.joinpath(*PurePosixPath(path).parts))

    def known(path: str) -> ScriptFile | None:
        return memory.known(place(path), entries[path], version)

    found = read_scripts(
        list(entries),
        lambda path: _beginning(place(path)),
        boot,
        version,
        others=others,
        check=token.check,
        known=known,
    )
    for path, one in found.files.items():
        if known(path) is not one:
            memory.keep(place(path), entries[path], version, one)
    return replace(found, limits=(*found.limits, *_not_taken(tree)))


def _not_taken(tree: CodeTree) -> tuple[Text, ...]:
    """What may hold scripts, and cannot be looked into; what is ignored is meant to be."""
    return tuple(
        text("{file} was not read: {problem}", file=entry.path, problem=entry.problem)
        for entry in tree.left_out
        if entry.rule is None and entry.problem is not None and (entry.is_refused or is_script(entry.path))
    )[:_MOST_TOLD]


def scripts_in(
    folder: Path, boot: str, ignore: Sequence[str], version: PythonVersion | None, token: CancelToken
) -> ScriptTree:
    """Of a folder that nobody has looked through yet; blocks."""
    return scripts_of(scanned(folder, ignore, token), boot, version, token, ScriptMemory())


def arguments_in(folder: Path, boot: str, token: CancelToken) -> ScriptArguments:
    """What a script can be told; blocks."""
    return script_arguments(script_at(folder, boot, None, token))


def frozen_arguments(places: Mapping[str, Path], boot: str, token: CancelToken) -> ScriptArguments:
    """What the script of frozen code can be told; blocks."""
    return script_arguments(
        read_scripts(places, lambda path: _beginning(places[path]), boot, None, others=False, check=token.check)
    )


def script_at(folder: Path, boot: str, version: PythonVersion | None, token: CancelToken) -> ScriptTree:
    """One script with what it needs, and no more is looked for: the folder may be a whole home. Blocks."""

    def read(path: str) -> bytes:
        return _beginning(folder / path)

    below = _Below(folder)
    found = read_scripts(below, read, boot, version, others=False, check=token.check)
    closed = [
        path for path in below.closed if not any(path.startswith(other) and path != other for other in below.closed)
    ]
    told = [text("You do not have permission to read or write “{place}”.", place=path) for path in closed[:_MOST_TOLD]]
    return replace(found, limits=(*found.limits, *told))


@dataclass(frozen=True, slots=True)
class _Below(Container[str]):
    """The files below a folder, each looked for when somebody asks."""

    folder: Path
    closed: dict[str, None] = field(default_factory=dict)
    """Folders that were asked for and cannot be looked into."""

    def __contains__(self, path: object) -> bool:
        place = self.folder / str(path)
        try:
            return place.is_file() and place.resolve().is_relative_to(self.folder.resolve())
        except PermissionError:
            self.closed[folder_of(str(path))] = None
            return False
        except (OSError, ValueError):
            return False


def _beginning(place: Path) -> bytes:
    with local_errors(place), place.open("rb") as file:
        return file.read(MOST_BYTES + 1)
