"""Frozen code: what a run was made of, by content, never edited again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from traindeck.domain.errors import Conflict, InvalidInput, NotFound
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.records import Item
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, our_folder, our_opener, write_whole
from traindeck.services.storage.data_ports import Body
from traindeck.services.transfers.bodies import look, stretch
from traindeck.services.transfers.pace import RateLimit

# What the service takes as a code folder.
MOST_BYTES = 5_000_000_000
MOST_ENTRIES = 1_000
MOST_DEPTH = 32
_TRIES = 3
_BLOCK = 1 << 20
_MOST_READ = 1 << 19
_ALWAYS_IGNORED = (
    ".git/", ".hg/", ".svn/", "__pycache__/", "*.pyc", ".venv/", "venv/", ".conda/", "node_modules/", ".idea/",
    ".vscode/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".ipynb_checkpoints/", ".DS_Store", "Thumbs.db",
    "MA_LOG/",
)  # fmt: skip
_IGNORE_FILES = (".gitignore", ".traindeckignore")


@dataclass(frozen=True, slots=True)
class FrozenFile:
    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """One frozen folder; two freezes of equal content are the same bundle."""

    id: str
    folder_name: str
    root: Path
    files: tuple[FrozenFile, ...]

    @property
    def code(self) -> Path:
        """The folder that the files are in."""
        return self.root / "files"


@dataclass(frozen=True, slots=True)
class CodeText:
    """A frozen file to be read by a person."""

    words: str | None
    """None: it is no text."""
    is_whole: bool = True


class CodeBundles:
    """The bundles on disk, each in a folder named by its content."""

    def __init__(self, folder: Path, calls: BlockingCalls) -> None:
        self._folder = folder
        self._calls = calls

    async def freeze(self, folder: Path, boot: str, ignore: Sequence[str]) -> Bundle:
        """Copy what is in `folder` now; what the user edits afterwards changes nothing."""
        return await self._calls.run(lambda token: self._freeze(folder, boot, ignore, token))

    async def open(self, bundle_id: str) -> Bundle:
        return await self._calls.run(lambda _: self._read(bundle_id))

    async def body(self, bundle: Bundle, file: FrozenFile) -> Body:
        """For sending it."""
        place = _place_of(bundle, file)

        def read(token: CancelToken) -> Body:
            item = look(place, Item(file.path, file.path))
            return stretch(place, item, 0, item.size_bytes, self._calls, RateLimit(), token)

        return await self._calls.run(read)

    async def text(self, bundle: Bundle, file: FrozenFile) -> CodeText:
        """Its beginning, as much as somebody reads."""
        place = _place_of(bundle, file)

        def read(_: CancelToken) -> CodeText:
            with local_errors(place), place.open("rb") as reader:
                content = reader.read(_MOST_READ + 1)
            if b"\0" in content:
                return CodeText(None)
            return CodeText(content[:_MOST_READ].decode("utf-8-sig", "replace"), len(content) <= _MOST_READ)

        return await self._calls.run(read)

    def _freeze(self, folder: Path, boot: str, ignore: Sequence[str], token: CancelToken) -> Bundle:
        folder, boot = folder.absolute(), boot.replace("\\", "/")
        if not folder.is_dir():
            raise NotFound(
                text("The code directory “{folder}” does not exist.", folder=str(folder)),
                text("Select the folder with your training script."),
            )
        if boot and not folder.joinpath(*PurePosixPath(boot).parts).is_file():
            raise NotFound(
                text("The boot file “{boot}” is not in the code directory.", boot=boot),
                text("Select a .py file inside “{folder}”.", folder=str(folder)),
            )
        _named(PurePosixPath(folder.as_posix()))
        with local_errors():
            our_folder(self._folder)
            part = Path(tempfile.mkdtemp(dir=self._folder, prefix=".part-"))
        try:
            files = tuple(self._copy_all(folder, part / "files", ignore, token))
            if boot and boot not in {file.path for file in files}:
                raise InvalidInput(
                    text("The boot file “{boot}” is ignored by your ignore rules.", boot=boot),
                    text("Check “ignore” in the job file, .gitignore and .traindeckignore."),
                )
            return self._keep(part, folder.name or "code", files)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _copy_all(self, folder: Path, target: Path, ignore: Sequence[str], token: CancelToken) -> Iterator[FrozenFile]:
        total = 0
        rules = _ignored(folder, ignore)
        for count, (relative, source) in enumerate(_walk(folder, rules), start=1):
            token.check()
            if count > MOST_ENTRIES:
                raise _too_much(text("The code directory has more than {most} files.", most=MOST_ENTRIES))
            file = _copy(source, target.joinpath(*relative.parts), str(relative), token)
            total += file.size_bytes
            if total > MOST_BYTES:
                raise _too_much(text("The code directory is larger than {most}.", most=size_words(MOST_BYTES)))
            yield file

    def _keep(self, part: Path, folder_name: str, files: tuple[FrozenFile, ...]) -> Bundle:
        listed = [[file.path, file.sha256, file.size_bytes] for file in files]
        content = json.dumps({"folder": folder_name, "files": listed}, ensure_ascii=False, sort_keys=True).encode()
        bundle_id = hashlib.sha256(content).hexdigest()[:32]
        place = self._folder / bundle_id
        with local_errors(place):
            if not (place / "manifest.json").is_file():
                our_folder(part / "files")
                write_whole(part / "manifest.json", content)
                try:
                    part.replace(place)
                except OSError:
                    # Another program froze the same code at the same moment: its copy is as good.
                    if not (place / "manifest.json").is_file():
                        raise
        return Bundle(bundle_id, folder_name, place, files)

    def _read(self, bundle_id: str) -> Bundle:
        place = self._folder / bundle_id
        try:
            content = json.loads((place / "manifest.json").read_bytes())
            files = tuple(FrozenFile(*entry) for entry in content["files"])
            return Bundle(bundle_id, content["folder"], place, files)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotFound(
                text("The frozen code of this run is no longer on this computer."),
                text("Submit the job again from its folder."),
                str(error),
            ) from error


def _place_of(bundle: Bundle, file: FrozenFile) -> Path:
    return bundle.code.joinpath(*PurePosixPath(file.path).parts)


def _too_much(words: Text) -> InvalidInput:
    return InvalidInput(words, text("Add data and results to “ignore”, or select a folder that contains only code."))


def _ignored(folder: Path, ignore: Sequence[str]) -> IgnoreRules:
    lines = list(_ALWAYS_IGNORED)
    for name in _IGNORE_FILES:
        try:
            lines += (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue  # there is no such file, the usual case
    return IgnoreRules([*lines, *ignore])


def _walk(folder: Path, rules: IgnoreRules) -> Iterator[tuple[PurePosixPath, Path]]:
    """Files in a fixed order; links to folders are not followed, they may lead in circles."""
    pending = [PurePosixPath()]
    while pending:
        here = pending.pop()
        if len(here.parts) > MOST_DEPTH:
            raise _too_much(text("The code directory is more than {most} folders deep.", most=MOST_DEPTH))
        with local_errors(folder.joinpath(*here.parts)), os.scandir(folder.joinpath(*here.parts)) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        below = []
        for entry in found:
            relative = here / entry.name
            if entry.is_dir(follow_symlinks=False):
                if not rules.leaves_out(f"{relative}/"):
                    below.append(_named(relative))
            elif entry.is_file() and not rules.leaves_out(str(relative)):
                yield _named(relative), Path(entry.path)
        pending += reversed(below)


def _named(relative: PurePosixPath) -> PurePosixPath:
    """The same path; one that no service could be told is refused."""
    try:
        str(relative).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(relative).decode(errors="backslashreplace")
        raise InvalidInput(
            text("The name of “{file}” is not UTF-8 and cannot be passed to a job.", file=shown),
            text("Rename it. A file in the code directory can also be excluded with “ignore” in the job file."),
            str(error),
        ) from error
    return relative


def _copy(source: Path, target: Path, name: str, token: CancelToken) -> FrozenFile:
    """Copy and hash in one read; a file that changes meanwhile is read again."""
    with local_errors():
        our_folder(target.parent)
        for _ in range(_TRIES):
            before = source.stat()
            digest = hashlib.sha256()
            size = 0
            with source.open("rb") as reader, open(target, "wb", opener=our_opener) as writer:
                while block := reader.read(_BLOCK):
                    token.check()
                    digest.update(block)
                    writer.write(block)
                    size += len(block)
            after = source.stat()
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and size == after.st_size:
                return FrozenFile(name, digest.hexdigest(), size)
    raise Conflict(
        text("“{file}” changes while it is read.", file=name),
        text("Save it, wait until nothing writes to it, and submit again."),
    )
