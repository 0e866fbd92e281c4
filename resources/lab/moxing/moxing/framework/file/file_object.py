"""Files that are opened: local ones as Python opens them, those in OBS by way of a temporary copy."""

import io
import os
import tempfile

from moxing.framework.file import obs_client as obs
from moxing.framework.file.addresses import address_of, is_remote, text_of
from moxing.framework.file.errors import MoxFileNotExistsException
from moxing.framework.file.local import local


class File:
    """Behaves as what `open` gives; a file in OBS is stored when it is flushed or closed."""

    def __init__(self, name, mode="r", encoding=None, **more):
        self.name = name
        self.mode = _tidy(mode)
        self._address = address_of(name) if is_remote(name) else None
        self._is_changed = False
        if "b" not in self.mode and encoding is None:
            encoding = "utf-8"
        if self._address is None:
            path = text_of(name) if isinstance(name, os.PathLike) else name
            self._file = local.open(path, self.mode, encoding=encoding, **more)
            return
        handle, self._path = tempfile.mkstemp(prefix="mox-")
        os.close(handle)
        try:
            self._fetch()
            self._file = local.open(self._path, self._mode_here(), encoding=encoding, **more)
            if self.mode[0] == "a":
                self._file.seek(0, io.SEEK_END)
        except BaseException:
            local.remove(self._path)
            raise
        # Also a file nothing is written to is made, as `open` makes one.
        self._is_changed = self.mode[0] != "r"

    def _mode_here(self):
        """The mode for the copy, which is there before it is opened."""
        kind = {"a": "r+", "x": "w"}.get(self.mode[0], self.mode[0])
        return kind + ("b" if "b" in self.mode else "") + ("+" if "+" in self.mode and "+" not in kind else "")

    def _fetch(self):
        address = self._address
        if self.mode[0] == "x" and obs.head(address.bucket, address.key) is not None:
            raise FileExistsError(text_of(self.name))
        if self.mode[0] in "wx":
            return
        with local.open(self._path, "wb") as file:
            if not obs.get(address.bucket, address.key, file.write) and self.mode[0] == "r":
                raise MoxFileNotExistsException(text_of(self.name))

    def write(self, data):
        self._is_changed = True
        return self._file.write(data)

    def writelines(self, lines):
        self._is_changed = True
        self._file.writelines(lines)

    def truncate(self, size=None):
        self._is_changed = True
        return self._file.truncate(size)

    def flush(self):
        self._file.flush()
        if self._address is not None and self._is_changed:
            with local.open(self._path, "rb") as file:
                obs.put(self._address.bucket, self._address.key, file, os.fstat(file.fileno()).st_size)
            self._is_changed = False

    def close(self):
        if self._file.closed:
            return
        try:
            if self.writable():
                self.flush()
        finally:
            self._file.close()
            if self._address is not None:
                local.remove(self._path)

    @property
    def closed(self):
        return self._file.closed

    def size(self):
        if self.writable():
            self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def __getattr__(self, name):
        if name == "_file":  # not opened yet
            raise AttributeError(name)
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def __iter__(self):
        return iter(self._file)

    def __next__(self):
        return next(self._file)

    def __del__(self):
        if "_file" in self.__dict__:
            self.close()


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
