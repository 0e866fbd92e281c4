"""Frozen code: what a run was made of, by content, never edited again."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import stat
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from traindeck.domain.errors import AppError, Conflict, InvalidInput, LocalTrouble, NotFound
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.records import Item
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, our_folder, write_whole
from traindeck.services.jobs.code.code_blobs import BlobStore, Intake, sha256_of
from traindeck.services.jobs.code.code_changes import CodeSide
from traindeck.services.jobs.code.code_limits import CodeLimits
from traindeck.services.jobs.code.code_manifests import Bundle, FrozenFile, bundle_in, bundle_of, manifest_of
from traindeck.services.jobs.code.code_origin import GitState, origin_of
from traindeck.services.jobs.code.code_sent import SentBlobs
from traindeck.services.jobs.code.code_stamps import CodeStamps, KnownFile, is_settled
from traindeck.services.jobs.code.code_tree import CodeEntry, CodeTree, FileStamp, FrozenCode, scanned, tree_of
from traindeck.services.storage.data_ports import Body
from traindeck.services.transfers.bodies import look, stretch
from traindeck.services.transfers.pace import RateLimit

_MOST_READ = 1 << 19
_TRIES = 3
_CLAIM_S = 24 * 3600.0
_ID = re.compile("[0-9a-f]{32}")


NO_CODE = Bundle("", "code", ())
"""Of a job whose code is at the service already."""


@dataclass(frozen=True, slots=True)
class CodeText:
    """A frozen file to be read by a person."""

    words: str | None
    """None: it is no text."""
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class CodeLook:
    """A folder as it is now, before anything of it is frozen."""

    tree: CodeTree
    new: tuple[str, ...]
    """Those of its files whose content would be sent, as far as that can be told without reading them."""

    @property
    def new_bytes(self) -> int:
        wanted = set(self.new)
        return sum(entry.size_bytes or 0 for entry in self.tree.taken if entry.path in wanted)


class CodeBundles:
    """The bundles on disk: a manifest each, and each content once."""

    def __init__(
        self,
        folder: Path,
        calls: BlockingCalls,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._folder = folder
        self._manifests = folder / "manifests"
        self._blobs = BlobStore(folder)
        self._stamps = CodeStamps(folder / "stamps")
        self._sent = SentBlobs(folder / "sent")
        self.calls = calls
        self._clock_ns = clock_ns

    async def look(self, folder: Path, ignore: Sequence[str], where: str = "") -> CodeLook:
        """What would be frozen; nothing is refused, for it may still be only looked at."""
        return await self.calls.run(lambda token: self._look(folder, ignore, where, token))

    async def side_of(self, folder: Path, ignore: Sequence[str]) -> CodeSide:
        """A folder as it is now, for comparing; what did not change is not read."""
        return await self.calls.run(lambda token: self._side_of(folder, ignore, token))

    @asynccontextmanager
    async def frozen(
        self, folder: Path, boot: str, ignore: Sequence[str], limits: CodeLimits | None = None
    ) -> AsyncIterator[Bundle]:
        """Keep what is in `folder` now; what the user edits afterwards changes nothing. Nobody drops it inside."""
        async with self._claim() as claim:
            yield await self.calls.run(
                lambda token: self._freeze(folder, boot, ignore, limits or CodeLimits(), claim, token)
            )

    @asynccontextmanager
    async def again(self, bundle_id: str) -> AsyncIterator[Bundle]:
        """One that is to be used once more; nobody drops it inside."""

        def read(token: CancelToken) -> Bundle:
            with local_errors(), self._blobs.alone():
                _write_claim(claim, bundle_id)
            return self._read(bundle_id, token)

        async with self._claim() as claim:
            yield await self.calls.run(read)

    async def open(self, bundle_id: str) -> Bundle:
        return await self.calls.run(lambda token: self._read(bundle_id, token))

    async def drop(
        self, bundle_ids: Collection[str], referred: Callable[[], Coroutine[Any, Any, Collection[str]]]
    ) -> None:
        """Forget those that no run refers to any more, with what no other bundle is made of.

        `referred` says which are referred to, while nobody can begin to refer to another.
        """
        wanted = {bundle_id for bundle_id in bundle_ids if _ID.fullmatch(bundle_id)}
        loop = asyncio.get_running_loop()

        def drop(_: CancelToken) -> None:
            if wanted and self._folder.is_dir():
                with local_errors(), self._blobs.alone():
                    # In this order: whoever lets go of a claim is referred to by then.
                    unused = wanted - _claimed(self._folder / "claims")
                    self._drop(unused - set(asyncio.run_coroutine_threadsafe(referred(), loop).result()))

        await self.calls.run(drop)

    async def body(self, file: FrozenFile) -> Body:
        """For sending it; LocalTrouble: it is not what it was when it was frozen."""

        def read(token: CancelToken) -> Body:
            place = self.checked(file)
            item = look(place, Item(file.path, file.path))
            return stretch(place, item, 0, item.size_bytes, self.calls, RateLimit(), token, bytes.fromhex(file.md5))

        return await self.calls.run(read)

    async def text(self, file: FrozenFile) -> CodeText:
        """Its beginning, as much as somebody reads."""
        return await self.calls.run(lambda _: text_in_blob(self.place(file)))

    async def sent_to(self, where: str) -> set[str]:
        """The contents that this place is believed to have."""
        return await self.calls.run(lambda _: self._sent.at(where))

    async def is_sent_to(self, where: str, bundle: Bundle) -> None:
        contents = {file.sha256 for file in bundle.files}
        await self.calls.run(lambda _: self._sent.add(where, contents))

    async def forget_sent(self, where: str) -> None:
        """Some of them are there no more."""
        await self.calls.run(lambda _: self._sent.forget(where))

    def checked(self, file: FrozenFile) -> Path:
        """The same; LocalTrouble: it is not what it was when it was frozen. Blocks."""
        return self._blobs.checked(file.blob)

    def has_content(self, place: Path, file: FrozenFile) -> bool:
        """Whether this file is that one, byte by byte; blocks."""
        found = place.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != file.size_bytes:
            return False
        return sha256_of(place, CancelToken()) == file.sha256

    def as_code(self, bundle: Bundle) -> FrozenCode:
        """For those who look at code, frozen or not."""
        tree = tree_of(self._folder, {file.path: file.size_bytes for file in bundle.files})
        return FrozenCode(tree, {file.path: self.place(file) for file in bundle.files})

    def place(self, file: FrozenFile) -> Path:
        """Where its content is; it is only read there."""
        return self._blobs.place(file.sha256)

    @asynccontextmanager
    async def _claim(self) -> AsyncIterator[Path]:
        """What stands in this file is about to be referred to."""
        claim = self._folder / "claims" / secrets.token_hex(8)
        try:
            yield claim
        finally:
            await self.calls.run(lambda _: claim.unlink(missing_ok=True))

    def _look(self, folder: Path, ignore: Sequence[str], where: str, token: CancelToken) -> CodeLook:
        tree = scanned(folder, ignore, token)
        known, sent = self._stamps.of(tree.root), self._sent.at(where)

        def is_new(entry: CodeEntry) -> bool:
            found = self._known(known, entry)
            return found is None or (bool(where) and found.blob.sha256 not in sent)

        return CodeLook(tree, tuple(entry.path for entry in tree.taken if is_new(entry)))

    def _side_of(self, folder: Path, ignore: Sequence[str], token: CancelToken) -> CodeSide:
        tree = scanned(folder, ignore, token)
        known = self._stamps.of(tree.root)
        contents, places = {}, {}
        for entry in tree.taken:
            token.check()
            place = _source_of(tree.root, entry)
            found = known.get(entry.path)
            is_same = found is not None and found.is_still(entry.stamp, entry.size_bytes)
            contents[entry.path] = found.blob.sha256 if found is not None and is_same else sha256_of(place, token)
            places[entry.path] = place
        return CodeSide(contents, places)

    def _freeze(
        self, folder: Path, boot: str, ignore: Sequence[str], limits: CodeLimits, claim: Path, token: CancelToken
    ) -> Bundle:
        tree = scanned(folder, ignore, token)
        git = origin_of(tree.root, token)
        for _ in range(_TRIES):
            _check(tree, boot, limits)
            bundle = self._bundle(tree, git, self._stamps.of(tree.root), token)
            before, tree = tree, scanned(folder, ignore, token)
            # What is deleted, or comes, while the others are read would make a folder that never was.
            if [entry.path for entry in tree.taken] == [entry.path for entry in before.taken]:
                return self._kept(bundle, before, claim, token)
        raise Conflict(
            text("Files were created or deleted in “{folder}” while the code was read.", folder=str(tree.root)),
            text("Wait until nothing writes there, then submit again. Nothing was submitted."),
        )

    def _kept(self, bundle: Bundle, tree: CodeTree, claim: Path, token: CancelToken) -> Bundle:
        """Write it down, once all that it is made of is there."""
        with local_errors(), self._blobs.alone():
            if not all(self._blobs.has(file.sha256, file.size_bytes) for file in bundle.files):
                # Somebody cleaned up meanwhile, which nobody can now.
                bundle = self._bundle(tree, bundle.git, {}, token)
            place = self._manifests / f"{bundle.id}.json"
            if not place.is_file():
                our_folder(self._manifests)
                write_whole(place, manifest_of(bundle))
            _write_claim(claim, bundle.id)
        return bundle

    def _bundle(self, tree: CodeTree, git: GitState | None, known: dict[str, KnownFile], token: CancelToken) -> Bundle:
        now = self._taken_in(tree, known, token)
        files = tuple(
            FrozenFile(path, each.blob.sha256, each.blob.size_bytes, each.blob.md5) for path, each in now.items()
        )
        return bundle_of(tree.root.name or "code", files, git)

    def _taken_in(self, tree: CodeTree, known: dict[str, KnownFile], token: CancelToken) -> dict[str, KnownFile]:
        """Every file that goes along, read where it is not known to be what it was."""
        now: dict[str, KnownFile] = {}
        settled: dict[str, KnownFile] = {}
        is_as_before = True
        with self._blobs.intake() as intake:
            for entry in tree.taken:
                token.check()
                found = self._known(known, entry)
                if found is None:
                    is_as_before = False
                    began = self._clock_ns()
                    found = _read_in(intake, tree.root, entry, token)
                    if is_settled(found.stamp, began):
                        settled[entry.path] = found
                else:
                    settled[entry.path] = found
                now[entry.path] = found
            with local_errors():
                intake.end()
        if not is_as_before or len(settled) != len(known):
            self._stamps.keep(tree.root, settled)
        return now

    def _known(self, known: dict[str, KnownFile], entry: CodeEntry) -> KnownFile | None:
        found = known.get(entry.path)
        if found is None or not found.is_still(entry.stamp, entry.size_bytes):
            return None
        return found if self._blobs.has(found.blob.sha256, found.blob.size_bytes) else None

    def _read(self, bundle_id: str, token: CancelToken) -> Bundle:
        if not _ID.fullmatch(bundle_id):
            raise _lost("no bundle is called so")
        try:
            return bundle_in(bundle_id, (self._manifests / f"{bundle_id}.json").read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _lost(str(error)) from error
        return self._taken_over(bundle_id, token)

    def _taken_over(self, bundle_id: str, token: CancelToken) -> Bundle:
        """A bundle as earlier versions kept it: a folder of its own, with every file in it."""
        old = self._folder / bundle_id
        try:
            before = bundle_in(bundle_id, (old / "manifest.json").read_bytes())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _lost(str(error)) from error
        with local_errors(), self._blobs.intake() as intake, self._blobs.alone():
            files = tuple(self._moved(old, file, intake, token) for file in before.files)
            intake.end()
            bundle = replace(before, files=files)
            our_folder(self._manifests)
            write_whole(self._manifests / f"{bundle_id}.json", manifest_of(bundle))
        shutil.rmtree(old, ignore_errors=True)
        return bundle

    def _moved(self, old: Path, file: FrozenFile, intake: Intake, token: CancelToken) -> FrozenFile:
        place = old.joinpath("files", *PurePosixPath(file.path).parts)
        found, _ = intake.take(place, file.path, token)
        if (found.sha256, found.size_bytes) != (file.sha256, file.size_bytes):
            raise LocalTrouble(
                text("“{place}” was changed after it was frozen.", place=str(place)),
                text("Submit the job again from its folder: the file is frozen anew."),
            )
        return replace(file, md5=found.md5)

    def _drop(self, unused: set[str]) -> None:
        gone: set[str] = set()
        for bundle_id in unused:
            place = self._manifests / f"{bundle_id}.json"
            with suppress(NotFound):
                gone |= _contents(place)
            place.unlink(missing_ok=True)
            shutil.rmtree(self._folder / bundle_id, ignore_errors=True)
        # One that cannot be read may refer to anything: then nothing is deleted.
        referred = set().union(*(_contents(each) for each in self._manifests.glob("*.json"))) if gone else set()
        self._blobs.sweep(gone, referred)


def _contents(manifest: Path) -> set[str]:
    try:
        return {file.sha256 for file in bundle_in("", manifest.read_bytes()).files}
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError, TypeError) as error:
        raise _lost(str(error)) from error


def frozen_places(folder: Path, bundle_id: str) -> dict[str, Path]:
    """Where the files of a bundle lie, for who reads them and no more; blocks."""
    if not _ID.fullmatch(bundle_id):
        raise _lost("no bundle is called so")
    try:
        bundle = bundle_in(bundle_id, (folder / "manifests" / f"{bundle_id}.json").read_bytes())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _lost(str(error)) from error
    blobs = BlobStore(folder)
    return {file.path: blobs.place(file.sha256) for file in bundle.files}


def _write_claim(claim: Path, bundle_id: str) -> None:
    our_folder(claim.parent)
    write_whole(claim, bundle_id.encode())


def _claimed(folder: Path) -> set[str]:
    """What programs are about to refer to; one that was killed claims nothing a day later."""
    found = set()
    for claim in folder.glob("*"):
        with suppress(OSError):
            if time.time() - claim.stat().st_mtime < _CLAIM_S:
                found.add(claim.read_text(encoding="utf-8", errors="replace"))
            else:
                claim.unlink()
    return found


def _read_in(intake: Intake, root: Path, entry: CodeEntry, token: CancelToken) -> KnownFile:
    blob, found = intake.take(_source_of(root, entry), entry.path, token)
    return KnownFile(FileStamp.of(found), blob)


def _source_of(root: Path, entry: CodeEntry) -> Path:
    return root.joinpath(*PurePosixPath(entry.target or entry.path).parts)


def text_in_blob(place: Path) -> CodeText:
    with local_errors(place), place.open("rb") as reader:
        content = reader.read(_MOST_READ + 1)
    if b"\0" in content:
        return CodeText(None)
    return CodeText(content[:_MOST_READ].decode("utf-8-sig", "replace"), len(content) <= _MOST_READ)


def _check(tree: CodeTree, boot: str, limits: CodeLimits) -> None:
    """Raise what keeps it from being the code of a job."""
    _check_boot(tree, boot)
    if tree.refused:
        raise _cannot_go(tree.refused[0])
    if over := tree.over(limits):
        words = text("Add data and results to “ignore”, or select a folder that contains only code.")
        raise InvalidInput(over[0].words(), words)


def _check_boot(tree: CodeTree, boot: str) -> None:
    name = str(PurePosixPath(boot.replace("\\", "/")))
    if not boot or tree.holds(name):
        return
    why = _why_left_out(tree, name)
    if why is None:
        raise NotFound(
            text("The boot file “{boot}” is not in the code directory.", boot=boot),
            text("Select a .py file inside “{folder}”.", folder=str(tree.root)),
        )
    raise InvalidInput(
        text("The boot file “{boot}” is ignored by your ignore rules.", boot=boot),
        text("It is left out: {why}. Change that rule, or add “!{boot}” to “ignore” in the job file.", why=why,
             boot=boot),
    )  # fmt: skip


def _why_left_out(tree: CodeTree, name: str) -> Text | None:
    """Of a file, or of a folder it lies in."""
    return next(
        (
            entry.why_left_out()
            for entry in tree.left_out
            if entry.path == name or (entry.path.endswith("/") and name.startswith(entry.path))
        ),
        None,
    )


def _cannot_go(entry: CodeEntry) -> AppError:
    assert entry.problem is not None
    return InvalidInput(
        text("“{file}” cannot be part of the code. {problem}", file=entry.path, problem=entry.problem),
        text("Repair that, or exclude it with “ignore” in the job file."),
    )


def _lost(detail: str) -> NotFound:
    return NotFound(
        text("The frozen code of this run is no longer on this computer."),
        text("Submit the job again from its folder."),
        detail,
    )
