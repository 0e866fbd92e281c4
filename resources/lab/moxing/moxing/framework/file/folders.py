"""Looks at files and folders, makes them and takes them away; in OBS a folder is what keys have in common."""

import calendar
import errno
import fnmatch
import os
import re
import time
from email.utils import parsedate_to_datetime

from moxing.framework.file import obs_client as obs
from moxing.framework.file.addresses import address_of, is_remote, join, text_of
from moxing.framework.file.errors import MoxFileNotExistsException
from moxing.framework.file.local import local

_WILD = re.compile(r"[*?\[]")


class FileStatistics:
    """Size and time of a file, or that it is a folder."""

    def __init__(self, length, mtime_nsec, is_directory):
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory
        # The names os.stat has for the same, for scripts whose `os` was shifted.
        self.st_size = length
        self.st_mtime = mtime_nsec / 1e9
        self.st_mode = 0o040755 if is_directory else 0o100644

    def __repr__(self):
        return f"FileStatistics(length={self.length}, mtime_nsec={self.mtime_nsec}, is_directory={self.is_directory})"


class Entry:
    """What scan_dir gives for each name."""

    def __init__(self, folder, name, is_folder):
        self.name = name
        self.path = join(folder, name)
        self._is_folder = is_folder

    def __fspath__(self):
        return self.path

    def is_dir(self, follow_symlinks=True):
        return self._is_folder

    def is_file(self, follow_symlinks=True):
        return not self._is_folder

    def is_symlink(self):
        return False

    def stat(self, follow_symlinks=True):
        return stat(self.path)


def is_file(url):
    if not is_remote(url):
        return local.isfile(text_of(url))
    address = address_of(url)
    return bool(address.key) and not address.key.endswith("/") and obs.head(address.bucket, address.key) is not None


def is_directory(url):
    if not is_remote(url):
        return local.isdir(text_of(url))
    address = address_of(url)
    if not address.folder:
        return obs.head(address.bucket) is not None
    return next(obs.listed(address.bucket, address.folder), None) is not None


def exists(url):
    if not is_remote(url):
        return local.exists(text_of(url))
    return is_file(url) or is_directory(url)


def list_directory(url, recursive=False, remove_sep=True, skip_file=False, skip_dir=False):
    """The names in a folder, or with `recursive` all names below it, relative to it."""
    found = []
    for name, is_folder in entries(url, recursive):
        if (skip_dir and is_folder) or (skip_file and not is_folder):
            continue
        found.append(name if remove_sep or not is_folder else name + "/")
    return found


def scan_dir(url):
    for name, is_folder in entries(url, False):
        yield Entry(url, name, is_folder)


def walk(url, topdown=True, onerror=None, followlinks=False):
    if not is_remote(url):
        yield from local.walk(text_of(url), topdown, onerror, followlinks)
        return
    top = text_of(url).rstrip("/")
    folders = {"": ([], [])}
    for name, is_folder in entries(url, True):
        parent, _, last = name.rpartition("/")
        folders.setdefault(parent, ([], []))[0 if is_folder else 1].append(last)
        if is_folder:
            folders.setdefault(name, ([], []))
    order = sorted(folders)
    if not topdown:
        order.reverse()
    for name in order:
        yield (top + "/" + name if name else top), folders[name][0], folders[name][1]


def glob(url):
    """Whole paths, spelled as the pattern was."""
    if not is_remote(url):
        return local.glob(text_of(url))
    address = address_of(url)
    parts = address.key.rstrip("/").split("/")
    fixed = next((place for place, part in enumerate(parts) if _WILD.search(part)), None)
    if fixed is None:
        return [text_of(url)] if exists(url) else []
    base = address.url("/".join(parts[:fixed]))
    if not is_directory(base):
        return []
    found = []
    for name, _ in entries(base, True):
        names = parts[:fixed] + name.split("/")
        # As on a disk, a pattern never reaches into a folder, and never finds what is hidden.
        if len(names) == len(parts) and all(_fits(one, part) for one, part in zip(names, parts)):
            found.append(address.url("/".join(names)))
    return sorted(found)


def get_size(url, recursive=False):
    if not is_remote(url):
        path = text_of(url)
        if not local.isdir(path):
            return local.getsize(path)
        return sum(
            local.getsize(os.path.join(folder, name)) for folder, _, names in local.walk(path) for name in names
        )
    address = address_of(url)
    headers = obs.head(address.bucket, address.key) if address.key and not address.key.endswith("/") else None
    if headers is not None:
        return int(headers["Content-Length"])
    if not is_directory(url):
        raise MoxFileNotExistsException(text_of(url))
    return sum(size for _, size, _ in obs.listed(address.bucket, address.folder)) if recursive else 0


def stat(url):
    if not is_remote(url):
        found = local.stat(text_of(url))
        return FileStatistics(found.st_size, found.st_mtime_ns, local.isdir(text_of(url)))
    address = address_of(url)
    headers = obs.head(address.bucket, address.key) if address.key and not address.key.endswith("/") else None
    if headers is not None:
        when = parsedate_to_datetime(headers["Last-Modified"]).timestamp()
        return FileStatistics(int(headers["Content-Length"]), int(when) * 10**9, False)
    if not is_directory(url):
        raise MoxFileNotExistsException(text_of(url))
    newest = max((_nanoseconds(when) for _, _, when in obs.listed(address.bucket, address.folder)), default=0)
    return FileStatistics(0, newest, True)


def make_dirs(url):
    if not is_remote(url):
        local.makedirs(text_of(url), exist_ok=True)
        return
    address = address_of(url)
    if address.folder and not is_directory(url):
        obs.put(address.bucket, address.folder, _Nothing(), 0)


def mk_dir(url):
    if not is_remote(url):
        local.mkdir(text_of(url))
        return
    address = address_of(url)
    parent = address.folder.rstrip("/").rpartition("/")[0]
    if not is_directory(address.url(parent)):
        raise MoxFileNotExistsException(address.url(parent))
    if exists(url):
        raise FileExistsError(errno.EEXIST, "File exists", text_of(url))
    make_dirs(url)


def remove(url, recursive=False):
    """A file, or with `recursive` a folder with all that is in it; of a folder alone nothing is removed."""
    if not is_remote(url):
        path = text_of(url)
        if local.isdir(path) and not os.path.islink(path):
            if recursive:
                local.rmtree(path)
        else:
            local.remove(path)
        return
    address = address_of(url)
    if address.key and not address.key.endswith("/") and obs.head(address.bucket, address.key) is not None:
        obs.delete(address.bucket, address.key)
        return
    if recursive and address.folder:
        # Looked up first: what is deleted would shift the pages that follow.
        for key in [key for key, _, _ in obs.listed(address.bucket, address.folder)]:
            obs.delete(address.bucket, key)


def entries(url, recursive):
    """(name, is folder) of what is in a folder; with `recursive` of everything below, folders before their content."""
    if not is_remote(url):
        yield from _local_entries(text_of(url), "", recursive)
        return
    address = address_of(url)
    start, seen, is_empty = address.folder, set(), True
    for key, size, _ in obs.listed(address.bucket, start, "" if recursive else "/"):
        is_empty = False
        name = key[len(start) :]
        is_folder = size is None or name.endswith("/")
        parts = [part for part in name.split("/") if part]
        for count in range(1, len(parts) if not is_folder else len(parts) + 1):
            folder = "/".join(parts[:count])
            if folder not in seen:
                seen.add(folder)
                yield folder, True
        if parts and not is_folder:
            yield "/".join(parts), False
    if is_empty and not is_directory(url):
        raise MoxFileNotExistsException(text_of(url))


def _local_entries(top, below, recursive):
    for name in sorted(local.listdir(os.path.join(top, below) if below else top)):
        path = below + "/" + name if below else name
        is_folder = local.isdir(os.path.join(top, path))
        yield path, is_folder
        if is_folder and recursive:
            yield from _local_entries(top, path, True)


def _fits(name, pattern):
    if not _WILD.search(pattern):
        return name == pattern
    return fnmatch.fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))


def _nanoseconds(text):
    moment = time.strptime(text.partition(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S")
    return calendar.timegm(moment) * 10**9


class _Nothing:
    """The content of the object that stands for a folder."""

    def read(self, size=-1):
        return b""

    def seek(self, place):
        return 0
