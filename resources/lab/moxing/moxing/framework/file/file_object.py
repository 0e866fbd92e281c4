"""Opened files: local ones as Python opens them, those in OBS through a temporary copy."""

import atexit
import io
import os
import tempfile
import traceback
import weakref

from moxing.framework.file import obs_client as obs
from moxing.framework.file.addresses import address_of, is_remote, text_of
from moxing.framework.file.errors import MoxFileNotExistsException
from moxing.framework.file.local import local

_open_files = weakref.WeakSet()


class File(io.IOBase):
    """Behaves as what `open` returns; a file in OBS is stored when it is flushed or closed."""

    def __init__(self, name, mode="r", encoding=None, buffering=-1, errors=None, newline=None, **more):
        self._file = None
        self.name = name
        self.mode = _tidy(mode)
        self._address = address_of(name) if is_remote(name) else None
        self._is_changed = self._is_written_below = False
        if "b" not in self.mode and encoding is None:
            encoding = "utf-8"
        how = {"buffering": buffering, "encoding": encoding, "errors": errors, "newline": newline}
        if self._address is None:
            path = text_of(name) if isinstance(name, os.PathLike) else name
            self._file = local.open(path, self.mode, **how)
            return
        self._process = os.getpid()
        handle, self._path = tempfile.mkstemp(prefix="mox-")
        os.close(handle)
        try:
            self._fetch()
            # The copy is there already.
            self._file = local.open(self._path, self.mode.replace("x", "w"), **how)
        except BaseException:
            local.remove(self._path)
            raise
        # Also a file nothing is written to is made, as `open` makes one.
        self._is_changed = self.mode[0] != "r"
        _open_files.add(self)

    def _fetch(self):
        address = self._address
        if self.mode[0] == "x" and obs.head(address.bucket, address.key) is not None:
            raise FileExistsError(text_of(self.name))
        if self.mode[0] in "wx":
            return
        with local.open(self._path, "wb") as file:
            if not obs.get(address.bucket, address.key, file.write) and self.mode[0] == "r":
                raise MoxFileNotExistsException(text_of(self.name))

    # These are methods of this class, so that a file nothing else refers to stays open while one of them runs.

    def read(self, *size):
        return self._file.read(*size)

    def readline(self, *size):
        return self._file.readline(*size)

    def readlines(self, *hint):
        return self._file.readlines(*hint)

    def seek(self, *place):
        return self._file.seek(*place)

    def tell(self):
        return self._file.tell()

    def write(self, data):
        self._is_changed = True
        return self._file.write(data)

    def writelines(self, lines):
        self._is_changed = True
        self._file.writelines(lines)

    def truncate(self, size=None):
        self._is_changed = True
        return self._file.truncate(size)

    def readable(self):
        return self._file.readable()

    def writable(self):
        return self._file.writable()

    def seekable(self):
        return self._file.seekable()

    def isatty(self):
        return self._file.isatty()

    def fileno(self):
        # Libraries write through the number, which is not noticed here.
        self._is_written_below = self.writable()
        return self._file.fileno()

    def flush(self):
        self._file.flush()
        if self._address is not None and (self._is_changed or self._is_written_below):
            with local.open(self._path, "rb") as file:
                obs.put(self._address.bucket, self._address.key, file, os.fstat(file.fileno()).st_size)
            self._is_changed = False

    def close(self):
        if self.closed:
            return
        # The copy belongs to the process that opened the file, not to a forked child.
        is_own = self._address is None or self._process == os.getpid()
        try:
            if is_own and self.writable():
                self.flush()
        finally:
            self._file.close()
            if is_own and self._address is not None:
                local.remove(self._path)

    @property
    def closed(self):
        return self._file is None or self._file.closed

    def size(self):
        if self.writable():
            self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def __getattr__(self, name):
        if name.startswith("__") or self.__dict__.get("_file") is None:
            raise AttributeError(name)
        found = getattr(self._file, name)
        if not callable(found):
            return found

        def method(*args, **kwargs):
            return getattr(self._file, name)(*args, **kwargs)

        return method

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._file)

    def __del__(self):
        self.close()


@atexit.register
def _close_all():
    """Store what a script leaves open at its end, while everything needed for that is still there."""
    for file in list(_open_files):
        try:
            file.close()
        except Exception:
            traceback.print_exc()


def read(url, client_id=None, binary=False, **more):
    with File(url, "rb" if binary else "r") as file:
        return file.read()


def write(url, data, binary=False, **more):
    with File(url, "wb" if binary or isinstance(data, bytes) else "w") as file:
        file.write(data)


def append(url, data, binary=False, **more):
    with File(url, "ab" if binary or isinstance(data, bytes) else "a") as file:
        file.write(data)


def append_remote(src_url, dst_url, **more):
    append(dst_url, read(src_url, binary=True), binary=True)


def _tidy(mode):
    """MoXing takes the letters in any order."""
    kinds = [letter for letter in mode if letter in "rwax"]
    if len(kinds) != 1 or set(mode) - set("rwaxbt+"):
        raise ValueError(f"invalid mode: {mode!r}")
    return kinds[0] + ("b" if "b" in mode else "") + ("+" if "+" in mode else "")
