"""What a job has written, read as the job itself would and carried to its buckets."""

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.training.running.job_files import KeepGoing, ObsPath, OwnBuckets, TransferError
from traindeck.lab.training.running.worker_places import WorkerPlaces

_MOST_LINKS = 40
_AT_ONCE = 8


@dataclass(frozen=True)
class _Written:
    """A file of an output as it was found."""

    places: WorkerPlaces
    path: Path
    state: tuple[int, int]
    """Its size and when it was written."""
    inside: tuple[Path, tuple[str, ...]] | None
    """Where it is without a link on the way; None where a link must be followed."""

    def open(self) -> BinaryIO:
        if self.inside is not None:
            with suppress(OSError):  # exchanged for a link since
                return _regular(_opened_below(*self.inside, os.O_NONBLOCK), self.path)
        return open_written(self.places, self.path)


class Progress:
    """How much of an upload is done; counted by several threads."""

    def __init__(self, tell: Callable[[int, int, int], None], interval_s: float) -> None:
        """`tell` gets the files that are sent, all files, and the bytes that are sent, now and then."""
        self.files = self.size_bytes = 0
        self._tell = tell
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._told = time.monotonic()

    def add(self, size_bytes: int, of_files: int) -> None:
        with self._lock:
            self.files += 1
            self.size_bytes += size_bytes
            if time.monotonic() - self._told >= self._interval_s:
                self._told = time.monotonic()
                self._tell(self.files, of_files, self.size_bytes)


class OutputFolders:
    """The folders that the workers of a job have for one output; what is new in them goes to one place in a bucket."""

    def __init__(self, buckets: OwnBuckets, folders: Sequence[tuple[WorkerPlaces, Path]], target: ObsPath) -> None:
        self.target = target
        self._buckets = buckets
        self._folders = tuple(folders)
        self._sent: dict[Path, tuple[int, int]] = {}

    def send_changes(self, keep_going: KeepGoing, progress: Progress | None = None) -> None:
        """Upload what changed since the last call, several files at once; of files with one name, the newest."""
        changed: dict[str, list[_Written]] = {}
        for key, one in self._changed(keep_going):
            changed.setdefault(key, []).append(one)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="lab-outputs") as pool:
            sending = [pool.submit(self._send, *item, keep_going, progress, len(changed)) for item in changed.items()]
            try:
                for done in sending:
                    done.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _send(
        self, key: str, files: Sequence[_Written], keep_going: KeepGoing, progress: Progress | None, of_files: int
    ) -> None:
        newest = max(files, key=lambda one: one.state[1])
        keep_going()
        try:
            with newest.open() as file:
                self._buckets.store(self.target.bucket, key, file, keep_going)
        except FileNotFoundError:
            return  # removed by the script while we looked
        except ObsError as error:
            raise TransferError(f"{newest.path.name} cannot be stored at {self.target}: {error.message}") from error
        except OSError as error:
            raise TransferError(f"{newest.path} cannot be read: {error.strerror}") from error
        for one in files:
            self._sent[one.path] = one.state
        if progress is not None:
            progress.add(newest.state[0], of_files)

    def _changed(self, keep_going: KeepGoing) -> Iterator[tuple[str, _Written]]:
        for places, root in self._folders:
            inside: tuple[Path, tuple[str, ...]] | None = None
            for folder, handle, names in folders_of(places, root):
                keep_going()
                parts = folder.relative_to(root).parts
                if handle is not None and inside is None:
                    inside = _resolved(places, PurePosixPath(places.seen(root)))
                for name in names:
                    path = folder / name
                    try:
                        one = _found(places, path, handle, inside and (inside[0], (*inside[1], *parts, name)))
                    except OSError:
                        continue  # removed, no file, or a link to nowhere
                    if self._sent.get(path) != one.state:
                        yield self.target.folder + "/".join((*parts, name)), one


def _found(
    places: WorkerPlaces, path: Path, handle: int | None, inside: tuple[Path, tuple[str, ...]] | None
) -> _Written:
    if handle is not None:
        status = os.stat(path.name, dir_fd=handle, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            return _Written(places, path, (status.st_size, status.st_mtime_ns), inside)
    with open_written(places, path) as file:
        status = os.fstat(file.fileno())
    return _Written(places, path, (status.st_size, status.st_mtime_ns), None)


def folders_of(places: WorkerPlaces, root: Path) -> Iterator[tuple[Path, int | None, list[str]]]:
    """Each folder below the output's, a handle of it, and the names of its files; the root may have become a link."""
    if not places.is_apart:
        for folder, _, names in os.walk(root):
            yield Path(folder), None, names
        return
    try:
        handle = _opened(places, root, os.O_DIRECTORY)
    except OSError:
        return  # removed, or a link to nowhere
    try:
        for below, _, names, inner in os.fwalk(".", dir_fd=handle):
            yield root / below, inner, names
    finally:
        os.close(handle)


def open_written(places: WorkerPlaces, path: Path) -> BinaryIO:
    """Raises OSError where it is not a file of the worker's own folders: no link leads where the job cannot go."""
    if not places.is_apart:  # who may read everything is lent nothing by us
        if not path.is_file():  # a pipe would block the reader for ever
            raise _not_a_file(path)
        return path.open("rb")
    return _regular(_opened(places, path, os.O_NONBLOCK), path)


def _regular(handle: int, path: Path) -> BinaryIO:
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise _not_a_file(path)


def _opened(places: WorkerPlaces, path: Path, flags: int) -> int:
    return _opened_below(*_resolved(places, PurePosixPath(places.seen(path))), flags)


def _opened_below(folder: Path, names: Sequence[str], flags: int) -> int:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    # No link is followed from here on: the job may be exchanging them at this moment.
    for place, name in enumerate(names):
        kind = os.O_DIRECTORY if place < len(names) - 1 else flags
        try:
            inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _resolved(places: WorkerPlaces, inside: PurePosixPath) -> tuple[Path, tuple[str, ...]]:
    """The own folder it is in and the names below, with all links followed by the names the job has for things."""
    own = [(PurePosixPath(name), folder) for folder, name in places.own]
    left, place, links = list(inside.parts[1:]), PurePosixPath("/"), 0
    while left:
        name = left.pop(0)
        if name == "..":
            place = place.parent
            continue
        place /= name
        here = next((folder.joinpath(*place.relative_to(top).parts) for top, folder in own if _below(place, top)), None)
        if here is None or not here.is_symlink():
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(inside))
        target = PurePosixPath(here.readlink())
        place = PurePosixPath("/") if target.is_absolute() else place.parent
        left = [part for part in target.parts if part != "/"] + left
    for top, folder in own:
        if place.is_relative_to(top):
            return folder, place.relative_to(top).parts
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(inside))


def _below(place: PurePosixPath, top: PurePosixPath) -> bool:
    return place != top and place.is_relative_to(top)


def _not_a_file(path: Path) -> OSError:
    return OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
