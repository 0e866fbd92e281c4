"""Lets Python's own functions take addresses of OBS."""

import builtins
import functools
import glob
import io
import os
import shutil

from moxing.framework.file import copying, folders
from moxing.framework.file.addresses import is_remote
from moxing.framework.file.file_object import File

_before = {}


def shift(src, dst):
    """`shift("os", "mox")` turns it on, `shift("mox", "os")` off."""
    if (src, dst) == ("os", "mox"):
        for place, name, remote, paths in _table():
            _replace(place, name, remote, paths)
    elif (src, dst) == ("mox", "os"):
        for (place, name), own in _before.items():
            setattr(place, name, own)
        _before.clear()
    else:
        raise ValueError("shift takes 'os' and 'mox' in either order")


def _replace(place, name, remote, paths):
    if (place, name) in _before:
        return
    own = getattr(place, name)
    _before[place, name] = own

    @functools.wraps(own)
    def shifted(*args, **kwargs):
        if any(is_remote(path) for path in args[:paths]):
            return remote(*args, **kwargs)
        return own(*args, **kwargs)

    setattr(place, name, shifted)


def _table():
    """What is replaced, by what, and how many of its first arguments are paths."""
    return [
        (builtins, "open", _open, 1),
        (io, "open", _open, 1),
        (os, "listdir", folders.list_directory, 1),
        (os, "scandir", _Scanned, 1),
        (os, "mkdir", lambda path, mode=0o777, **more: folders.mk_dir(path), 1),
        (os, "makedirs", _make_dirs, 1),
        (os, "remove", _remove, 1),
        (os, "unlink", _remove, 1),
        (os, "rmdir", lambda path, **more: folders.remove(path, recursive=True), 1),
        (os, "rename", lambda src, dst, **more: copying.rename(src, dst), 2),
        (os, "replace", lambda src, dst, **more: copying.rename(src, dst), 2),
        (os, "stat", lambda path, **more: folders.stat(path), 1),
        (os, "walk", folders.walk, 1),
        (os.path, "exists", folders.exists, 1),
        (os.path, "isdir", folders.is_directory, 1),
        (os.path, "isfile", folders.is_file, 1),
        (os.path, "getsize", folders.get_size, 1),
        (glob, "glob", lambda path, **more: folders.glob(path), 1),
        (shutil, "copyfile", _copied, 2),
        (shutil, "copy", _copied_into, 2),
        (shutil, "copytree", _copied_tree, 2),
        (shutil, "move", _moved, 2),
        (shutil, "rmtree", lambda path, *rest, **more: folders.remove(path, recursive=True), 1),
    ]


def _open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    return File(file, mode, encoding, buffering, errors, newline)


def _make_dirs(name, mode=0o777, exist_ok=False):
    if not exist_ok and folders.exists(name):
        raise FileExistsError(name)
    folders.make_dirs(name)


def _remove(path, **more):
    if not folders.is_file(path):
        raise FileNotFoundError(path)
    folders.remove(path)


def _copied(src, dst, **more):
    copying.copy(src, dst)
    return dst


def _copied_into(src, dst, **more):
    copying.copy_parallel(src, dst)
    return dst


def _copied_tree(src, dst, *rest, **more):
    copying.copy_parallel(src, dst)
    return dst


def _moved(src, dst, *rest, **more):
    copying.rename(src, dst)
    return dst


class _Scanned:
    """What os.scandir gives can be used in a `with` statement."""

    def __init__(self, path="."):
        self._entries = folders.scan_dir(path)

    def __iter__(self):
        return self._entries

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._entries.close()

    def close(self):
        self._entries.close()
