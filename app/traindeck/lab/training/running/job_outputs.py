"""What a job has written, read as the job itself would and carried to its buckets."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.training.running.job_files import KeepGoing, ObsPath, OwnBuckets, TransferError
from traindeck.lab.training.running.worker_places import WorkerPlaces

_MOST_LINKS = 40


class OutputFolders:
    """The folders that the workers of a job have for one output; what is new in them goes to one place in a bucket."""

    def __init__(self, buckets: OwnBuckets, folders: Sequence[tuple[WorkerPlaces, Path]], target: ObsPath) -> None:
        self.target = target
        self._buckets = buckets
        self._folders = tuple(folders)
        self._sent: dict[Path, tuple[int, int]] = {}

    def send_changes(self, keep_going: KeepGoing) -> None:
        """Upload what changed since the last call.

        Of files with the same name the one written last arrives last, so it is the one that stays.
        """
        for places, folder, path, state in sorted(self._changed(), key=lambda found: found[3][1]):
            keep_going()
            try:
                key = self.target.folder + path.relative_to(folder).as_posix()
                with open_written(places, path) as file:
                    self._buckets.store(self.target.bucket, key, file)
            except FileNotFoundError:
                continue  # removed by the script while we looked
            except ObsError as error:
                raise TransferError(f"{path.name} cannot be stored at {self.target}: {error.message}") from error
            except OSError as error:
                raise TransferError(f"{path} cannot be read: {error.strerror}") from error
            self._sent[path] = state

    def _changed(self) -> Iterator[tuple[WorkerPlaces, Path, Path, tuple[int, int]]]:
        for places, root in self._folders:
            for folder, names in folders_of(places, root):
                for name in names:
                    path = folder / name
                    try:
                        with open_written(places, path) as file:
                            status = os.fstat(file.fileno())
                    except OSError:
                        continue  # removed, no file, or a link to nowhere
                    state = (status.st_size, status.st_mtime_ns)
                    if self._sent.get(path) != state:
                        yield places, root, path, state


def folders_of(places: WorkerPlaces, root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder below the output's, with the names of its files; of the root, the job may have made a link."""
    if not places.is_apart:
        for folder, _, names in os.walk(root):
            yield Path(folder), names
        return
    try:
        handle = _opened(places, root, os.O_DIRECTORY)
    except OSError:
        return  # removed, or a link to nowhere
    try:
        for below, _, names, _ in os.fwalk(".", dir_fd=handle):
            yield root / below, names
    finally:
        os.close(handle)


def open_written(places: WorkerPlaces, path: Path) -> BinaryIO:
    """Raises OSError where it is not a file of the worker's own folders: no link leads where the job cannot go."""
    if not places.is_apart:  # who may read everything is lent nothing by us
        if not path.is_file():  # a pipe would block the reader for ever
            raise _not_a_file(path)
        return path.open("rb")
    handle = _opened(places, path, os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise _not_a_file(path)


def _opened(places: WorkerPlaces, path: Path, flags: int) -> int:
    folder, names = _resolved(places, PurePosixPath(places.seen(path)))
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
