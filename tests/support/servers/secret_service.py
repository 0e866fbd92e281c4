"""A real gnome-keyring on a D-Bus of its own, in folders of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from uuid import uuid4

from support.waiting import PATIENT_S

PASSWORD = b"only for this test"

is_installed = bool(shutil.which("dbus-daemon") and shutil.which("gnome-keyring-daemon"))


class SecretService:
    """Running between `with` and its end; `environment` leads a process to it."""

    def __init__(self, folder: Path, *, unlocked: bool = True) -> None:
        self._folder = folder
        self._unlocked = unlocked
        self._processes: list[subprocess.Popen[bytes]] = []
        self.environment: dict[str, str] = {}

    @property
    def stored(self) -> bytes:
        """Every byte the keyring has on disk."""
        return b"".join(path.read_bytes() for path in self._folder.rglob("*") if path.is_file())

    @contextmanager
    def reads_counted(self) -> Iterator[ReadCount]:
        """How often anybody on this bus asks for a secret, seen where the calls pass."""
        count = ReadCount({**os.environ, **self.environment})
        try:
            count.up_to_now()
            yield count
        finally:
            count.close()

    def __enter__(self) -> SecretService:
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self) -> None:
        for name in ("home", "data", "config", "cache", "run"):
            (self._folder / name).mkdir(parents=True, mode=0o700)
        base = {
            **os.environ,
            "HOME": str(self._folder / "home"),
            "XDG_DATA_HOME": str(self._folder / "data"),
            "XDG_CONFIG_HOME": str(self._folder / "config"),
            "XDG_CACHE_HOME": str(self._folder / "cache"),
            "XDG_RUNTIME_DIR": str(self._folder / "run"),
        }
        # A prompter must not find the tester's screen.
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "GNOME_KEYRING_CONTROL"):
            base.pop(name, None)
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address"],
            env=base,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(bus)
        assert bus.stdout is not None
        self.environment = {"DBUS_SESSION_BUS_ADDRESS": bus.stdout.readline().decode().strip()}
        command = ["gnome-keyring-daemon", "--foreground", "--components=secrets"]
        keyring = subprocess.Popen(
            [*command, "--unlock"] if self._unlocked else command,
            env={**base, **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(keyring)
        assert keyring.stdin is not None
        if self._unlocked:
            keyring.stdin.write(PASSWORD)
        keyring.stdin.close()
        self._await_name({**base, **self.environment})

    def _await_name(self, environment: dict[str, str]) -> None:
        ask = [
            "dbus-send",
            "--session",
            "--print-reply=literal",
            "--dest=org.freedesktop.DBus",
            "/",
            "org.freedesktop.DBus.NameHasOwner",
            "string:org.freedesktop.secrets",
        ]
        end = time.monotonic() + PATIENT_S
        while time.monotonic() < end:
            answer = subprocess.run(ask, env=environment, capture_output=True, check=False, timeout=PATIENT_S)
            if b"true" in answer.stdout:
                return
            self._processes[-1].poll()
            if self._processes[-1].returncode is not None:
                break
        raise AssertionError("gnome-keyring did not come up on the private bus")

    def _end(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(PATIENT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(PATIENT_S)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        self._processes.clear()


class ReadCount:
    """The bus's own monitor, read up to a signal of ours that passes when everything before it has."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._reads = 0
        self._monitor = subprocess.Popen(
            ["dbus-monitor", "--session", "--profile", "member=GetSecret", "interface=traindeck.Test"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def up_to_now(self) -> int:
        """All that were asked for until this call."""
        mark = f"m{uuid4().hex}"
        seen = threading.Event()
        calls = threading.Thread(target=self._call_until, args=(mark, seen))
        calls.start()
        try:
            assert self._monitor.stdout is not None
            for line in self._monitor.stdout:
                self._reads += b"GetSecret" in line
                if mark.encode() in line:
                    return self._reads
        finally:
            seen.set()
            calls.join()
        raise AssertionError("the monitor of the bus has ended")

    def _call_until(self, mark: str, seen: threading.Event) -> None:
        """Again and again: the monitor may be about to begin."""
        while not seen.is_set():
            send = ["dbus-send", "--session", "--type=signal", "/", f"traindeck.Test.{mark}"]
            subprocess.run(send, env=self._environment, check=True, timeout=PATIENT_S)
            seen.wait(0.05)

    def close(self) -> None:
        self._monitor.terminate()
        self._monitor.wait(PATIENT_S)
        assert self._monitor.stdout is not None
        self._monitor.stdout.close()
