"""Files written whole or not at all, and the errors of this computer in our words."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, DiskFull, InvalidInput, LocalTrouble, NotFound, Unwritable
from traindeck.domain.texts import Text, text
from traindeck.runtime.clock import clamped_ns

if TYPE_CHECKING:
    from filelock import BaseFileLock

MOST_TEXT_BYTES = 16 << 20
_MOST_INODE = (1 << 63) - 1
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_IN_USE = {5, 32, 33}  # access denied, sharing violation, lock violation
_BUSY_S = 1.0
_LOOK_AGAIN_S = 0.02
_LOCKED = {errno.EACCES, errno.EPERM, errno.EROFS}


def file_stamp(found: os.stat_result) -> tuple[int, int, int]:
    """Return size, time and inode as a database holds them: some file systems have inodes of 64 bits, and any time."""
    return found.st_size, clamped_ns(found.st_mtime_ns), found.st_ino & _MOST_INODE


def local_error(error: OSError, path: Path | None = None, hint: Text | None = None) -> AppError:
    """`hint`: what else helps where there is no room or no right."""
    place = str(path or error.filename or "")
    if error.errno in _FULL:
        return DiskFull(
            text("The disk is full: “{place}” was not written.", place=place) if place else text("The disk is full."),
            hint or text("Free up space on its disk, then try again."),
            str(error),
        )
    if error.errno in _LOCKED:
        return Unwritable(
            text("You do not have permission to read or write “{place}”.", place=place),
            hint or text("Grant yourself permission for this file or folder, then try again."),
            str(error),
        )
    if isinstance(error, FileExistsError | NotADirectoryError) and place:
        in_the_way = next((part for part in (Path(place), *Path(place).parents) if part.is_file()), None)
        if in_the_way is not None:
            return not_a_folder(in_the_way, str(error))
    if isinstance(error, FileNotFoundError):
        return NotFound(
            text("“{place}” does not exist.", place=place),
            text("Check the spelling, and whether the file was moved."),
            str(error),
        )
    return LocalTrouble(
        text("“{place}” could not be used: {problem}.", place=place, problem=error.strerror or type(error).__name__),
        text("Check this file or folder, then try again."),
        str(error),
    )


def not_a_folder(path: Path, detail: str = "") -> AppError:
    return LocalTrouble(
        text("“{place}” is a file, not a folder.", place=str(path)),
        text("Move it, or specify another path."),
        detail,
    )


@contextmanager
def local_errors(path: Path | None = None, hint: Text | None = None) -> Iterator[None]:
    """Turn what the operating system says into what the user can act on."""
    try:
        yield
    except OSError as error:
        raise local_error(error, path, hint) from error


def is_folder(path: Path) -> bool:
    """Not one either: a name that is too long for a folder, at which `Path.is_dir` raises."""
    with suppress(OSError):
        return path.is_dir()
    return False


def is_file(path: Path) -> bool:
    """As `is_folder`: a name may be too long."""
    with suppress(OSError):
        return path.is_file()
    return False


def text_in(path: Path) -> str:
    """Of a file that somebody named: a device, or a mistyped name, may hold more than the memory."""
    with local_errors(path), path.open("rb") as file:
        return text_of(file.read(MOST_TEXT_BYTES + 1), str(path))


def text_in_file(path: Path) -> str:
    """The same of a file that was picked or dropped: a pipe that nobody writes into would be waited for."""
    if path.exists() and not path.is_file():
        raise InvalidInput(text("“{file}” is not a file.", file=str(path)), text("Select another one."))
    return text_in(path)


def text_of(content: bytes, name: str) -> str:
    """InvalidInput: it is longer than any text that is wanted, or no text."""
    if len(content) > MOST_TEXT_BYTES:
        raise InvalidInput(text("“{file}” is too large.", file=name), text("Check the name."))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            text("“{file}” is not a UTF-8 text file.", file=name),
            text("Save it as UTF-8, or select another file."),
            str(error),
        ) from error


def move_new(file: str | Path, place: str | Path) -> None:
    """Give a file another name, unless there is one: FileExistsError."""
    try:
        os.link(file, place)
    except FileExistsError:
        raise
    except OSError:  # there are file systems without
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(file, place)  # noqa: PTH105
    else:
        os.unlink(file)  # noqa: PTH108


def our_folder(path: Path) -> None:
    """A folder of the program's own: its owner's alone, whatever the umask."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        our_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def our_opener(path: str, flags: int) -> int:
    """For `open`: what it makes is the owner's alone."""
    return os.open(path, flags, 0o600)


def our_file(path: Path) -> None:
    """Make it, where it is not there yet, for a library that would make it as the umask says."""
    with open(path, "ab", opener=our_opener):
        pass


@contextmanager
def alone_with(path: Path, limit_s: float, title: Text, hint: Text, ending: str = ".lock") -> Iterator[None]:
    """No other program meanwhile; one that keeps `path` busy for longer is told of with these sentences."""
    from filelock import FileLock, Timeout  # slow to load, and seldom needed

    lock = FileLock(path.with_name(path.name + ending), timeout=limit_s, thread_local=False, mode=0o600)
    with local_errors(path):
        our_folder(path.parent)
        try:
            lock.acquire()
        except Timeout as error:
            raise LocalTrouble(title, hint, str(error)) from error
    try:
        yield
    finally:
        let_go(lock)


def let_go(lock: BaseFileLock) -> None:
    """Release a lock, if it is held, and remove its file first.

    Only its holder may: a program that waited for this file gets a lock without a name, which FileLock throws away
    to begin again. On Windows FileLock itself removes the file.
    """
    if lock.is_locked and os.name != "nt":
        with suppress(OSError):
            Path(lock.lock_file).unlink()
    lock.release()


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace `path` so that a reader or a crash sees the old content or the new, never a part."""
    part = part_beside(path, content, mode)
    try:
        put_in_place(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def part_beside(path: Path, content: bytes, mode: int = 0o600) -> Path:
    """The content, on the disk as a whole, under a name that is nobody's; `put_in_place` gives it its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    import tempfile  # not for those who only read

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def put_in_place(part: Path, path: Path) -> None:
    """Windows refuses while somebody reads the old file; readers of ours are done in a moment."""
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            part.replace(path)
        except OSError as error:
            if getattr(error, "winerror", None) not in _IN_USE or time.monotonic() >= end:
                raise
            time.sleep(_LOOK_AGAIN_S)
        else:
            return
