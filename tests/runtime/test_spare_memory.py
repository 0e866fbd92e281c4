"""What was freed goes back to the system, also where something that is still in use lies above it."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FREE_MUCH = """
import ctypes, os
from pathlib import Path
from traindeck.runtime.spare_memory import give_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

c = ctypes.CDLL(None)
c.malloc.restype, c.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [c.malloc(60_000) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, 60_000)
above = c.malloc(60_000)
for block in blocks:
    c.free(block)
before = resident()
give_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such call")
def test_freed_memory_goes_back() -> None:
    done = subprocess.run([sys.executable, "-c", FREE_MUCH], capture_output=True, encoding="utf-8", check=True)
    assert float(done.stdout) > 50
