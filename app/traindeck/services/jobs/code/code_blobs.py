"""The content of frozen files, each once: a file named by the SHA-256 of what is in it."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from traindeck.domain.errors import Conflict, LocalTrouble
from traindeck.domain.texts import text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.disk_barrier import on_the_disk
from traindeck.runtime.files import alone_with, local_errors, our_folder, our_opener

SHA256 = re.compile("[0-9a-f]{64}")
_BLOCK = 1 << 20
_TRIES = 3
_BUSY_S = 60.0
_LEFT_OVER_S = 24 * 3600.0
# Up to here each file is waited for; more of them are written out together, with all else on that disk.
_FEW = 16


@dataclass(frozen=True, slots=True)
class BlobName:
    """What identifies a content: here by its SHA-256, at the service by its MD5."""

    sha256: str
    md5: str
    size_bytes: int


@dataclass(slots=True)
class Intake:
    """New contents on their way into the store; nothing is in it before `end`."""

    store: BlobStore
    part: Path
    waiting: dict[str, Path] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def take(self, source: Path, name: str, token: CancelToken) -> tuple[BlobName, os.stat_result]:
        """Copy and hash in one read; a file that changes meanwhile is read again."""
        with local_errors():
            for _ in range(_TRIES):
                with open(source, "rb", buffering=0, opener=_as_file) as reader:
                    before = os.fstat(reader.fileno())
                    if not stat.S_ISREG(before.st_mode):
                        break  # it was a file a moment ago
                    place = self.part / str(next(self._numbers))
                    found = self._copied(reader, before.st_size, place, token)
                    after = os.fstat(reader.fileno())
                if _same(before, after) and found.size_bytes == after.st_size:
                    if place.exists() and not self._is_new(found):
                        place.unlink()
                    elif place.exists():
                        self.waiting[found.sha256] = place
                    return found, before
        raise Conflict(
            text("“{file}” changes while it is read.", file=name),
            text("Save it, wait until nothing writes to it, and submit again."),
        )

    def _copied(self, reader: FileIO, most_bytes: int, place: Path, token: CancelToken) -> BlobName:
        """No more than it had: one that grows while it is read has no end."""
        first = reader.read(_BLOCK) or b""
        digest, md5 = hashlib.sha256(first), hashlib.md5(first, usedforsecurity=False)
        size = len(first)
        if size < _BLOCK:  # a small file is written only where its content is new
            found = BlobName(digest.hexdigest(), md5.hexdigest(), size)
            if self._is_new(found):
                with open(place, "wb", opener=our_opener) as writer:
                    writer.write(first)
            return found
        with open(place, "wb", opener=our_opener) as writer:
            writer.write(first)
            while size <= most_bytes and (block := reader.read(_BLOCK)):
                token.check()
                digest.update(block)
                md5.update(block)
                writer.write(block)
                size += len(block)
        return BlobName(digest.hexdigest(), md5.hexdigest(), size)

    def _is_new(self, blob: BlobName) -> bool:
        return blob.sha256 not in self.waiting and not self.store.has(blob.sha256, blob.size_bytes)

    def end(self) -> None:
        """Put them into the store, each whole."""
        if not self.waiting:
            return
        if len(self.waiting) > _FEW:
            on_the_disk(self.part)
        else:
            for place in self.waiting.values():
                with place.open("rb+") as file:
                    os.fsync(file.fileno())
        for sha256, place in self.waiting.items():
            target = self.store.place(sha256)
            our_folder(target.parent)
            place.replace(target)
        self.waiting.clear()


class BlobStore:
    """One folder; several programs may use it at once. Blocks, so it belongs into a worker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._blobs = folder / "blobs"

    def place(self, sha256: str) -> Path:
        return self._blobs / sha256[:2] / sha256

    def has(self, sha256: str, size_bytes: int) -> bool:
        try:
            return os.stat(self.place(sha256)).st_size == size_bytes  # noqa: PTH116 - asked for each file
        except OSError:
            return False

    @contextmanager
    def intake(self) -> Iterator[Intake]:
        with local_errors():
            our_folder(self._folder)
            part = Path(tempfile.mkdtemp(dir=self._folder, prefix=".part-"))
        try:
            yield Intake(self, part)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is referred to, and what is not, does not change meanwhile."""
        with alone_with(
            self._folder / "store",
            _BUSY_S,
            text("Another TrainDeck is busy with the frozen code."),
            text("Wait until it is done, then try again."),
        ):
            yield

    def checked(self, blob: BlobName) -> Path:
        """Where it is; LocalTrouble: it is not what its name says any more."""
        place = self.place(blob.sha256)
        if sha256_of(place, CancelToken()) == blob.sha256:
            return place
        raise LocalTrouble(
            text("“{place}” was changed after it was frozen.", place=str(place)),
            text("Submit the job again from its folder: the file is frozen anew."),
        )

    def sweep(self, candidates: Collection[str], referred: Collection[str]) -> int:
        """Delete those that nothing refers to, inside `alone`; how many these were."""
        count = 0
        for sha256 in candidates:
            if sha256 not in referred:
                self.place(sha256).unlink(missing_ok=True)
                count += 1
        self._sweep_left_over()
        return count

    def _sweep_left_over(self) -> None:
        """What a killed program left on its way; one that is at work is never so old."""
        for part in self._folder.glob(".part-*"):
            try:
                is_old = time.time() - part.stat().st_mtime > _LEFT_OVER_S
            except OSError:
                continue  # its program has just ended
            if is_old:
                shutil.rmtree(part, ignore_errors=True)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns, one.st_ctime_ns) == (other.st_size, other.st_mtime_ns, other.st_ctime_ns)


def _as_file(path: str, flags: int) -> int:
    """A link or a pipe that took the place of a file since the look is not followed, and not waited for."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def sha256_of(place: Path, token: CancelToken) -> str:
    digest = hashlib.sha256()
    with local_errors(place), open(place, "rb", buffering=0, opener=_as_file) as reader:
        while block := reader.read(_BLOCK):
            token.check()
            digest.update(block)
    return digest.hexdigest()
