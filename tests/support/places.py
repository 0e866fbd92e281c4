"""Places a program may not like: disks with limits, and addresses where nobody listens."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

_MOUNTING = 'mount -t tmpfs -o "$1" traindeck "$2" && shift 2 && exec "$@"'


def inside_mount(folder: Path, options: str) -> tuple[str, ...]:
    """Words to put before a command, so that for it alone `folder` is a disk with these options."""
    if shutil.which("unshare") is None:
        pytest.skip("mount namespaces are Linux's")
    own = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "--map-root-user")
    folder.mkdir(parents=True, exist_ok=True)
    before = (*own, "sh", "-c", _MOUNTING, "sh", options, str(folder))
    if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine lets nobody mount")
    return before


# Of a home, without what a Lab beside it keeps: "$0" is copied to "$1", which then takes nothing more.
_COPIED = """(cd "$0" && mkdir -m 700 "$1/lab" && cp -a lab/*.json "$1/lab" && chmod 700 "$1" &&
for part in records.db* runs copies; do if [ -e "$part" ]; then cp -a "$part" "$1"; fi; done)"""
FULL = _COPIED + ' && { dd if=/dev/zero of="$1/fills-the-disk" bs=4k 2>/dev/null; :; } && shift && exec "$@"'
READ_ONLY = _COPIED + ' && mount -o remount,ro "$1" && shift && exec "$@"'


def with_home_on(disk: Path, home: Path, script: str) -> tuple[str, ...]:
    """Words to put before a command, so that for it alone `disk` is a copy of a home that cannot be written to."""
    return (*inside_mount(disk, "size=3m"), "sh", "-c", script, str(home), str(disk))


_closed: list[socket.socket] = []


def closed_port() -> int:
    """One where nobody listens, nor will: it is taken until the tests are over."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    _closed.append(taken)
    return int(taken.getsockname()[1])


def free_port() -> int:
    """One for a program that is to listen there.

    Below those that systems give to every connection: of these, another test may get the same one in between.
    """
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
