"""Object stores that we did not write, each a process of its own on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.places import free_port
from support.waiting import PATIENT_S

START_S = PATIENT_S
ACCESS_KEY = "FOREIGNKEYFOREIGNKEY"
SECRET_KEY = "not-a-real-one-but-long-enough"


@contextmanager
def moto(folder: Path) -> Iterator[str]:
    """Its address; it checks no signature."""
    port = free_port()
    with _running(folder, _program("moto_server"), "-H", "127.0.0.1", "-p", str(port)):
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def rclone(folder: Path) -> Iterator[str]:
    """Its address; it checks v4 signatures, and its buckets are the folders below `folder`/served."""
    port = free_port()
    served = folder / "served"
    served.mkdir()
    keys = f"{ACCESS_KEY},{SECRET_KEY}"
    with _running(
        folder, _program("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", keys, str(served)
    ):
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _running(folder: Path, *command: str) -> Iterator[None]:
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "RCLONE_CONFIG": str(folder / "none.conf")},
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _program(name: str) -> str:
    found = shutil.which(name, path=sysconfig.get_path("scripts"))
    assert found, f"{name} is not installed"
    return found


def _wait_for(port: int) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")
