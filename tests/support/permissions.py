"""Permissions of files count in tests, also for root, whom the system lets read and write everything."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator

import pytest

_VERSION = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1 << 1, 1 << 2
_EFFECTIVE = 0  # the first of three words: effective, permitted, inheritable


@pytest.fixture
def permissions_hold() -> Iterator[None]:
    """Give up root's privilege over files in this thread, and in the threads it starts meanwhile."""
    if sys.platform == "win32":
        pytest.skip("Windows has no such permissions")
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root cannot give up its privileges here")
    had = _capabilities()
    limited = (ctypes.c_uint32 * 6)(*had)
    limited[_EFFECTIVE] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)
    _call("capset", limited)
    try:
        yield
    finally:
        _call("capset", had)


def _capabilities() -> ctypes.Array[ctypes.c_uint32]:
    found = (ctypes.c_uint32 * 6)()
    _call("capget", found)
    return found


def _call(name: str, words: ctypes.Array[ctypes.c_uint32]) -> None:
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    if getattr(ctypes.CDLL(None, use_errno=True), name)(header, words):
        raise OSError(ctypes.get_errno(), name)
