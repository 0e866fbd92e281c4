"""A real X server without a screen, for the window as the window system sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType

from support.waiting import PATIENT_S

SCREEN = "1280x800"

is_installed = bool(shutil.which("Xvfb") and shutil.which("xdotool"))


class Xvfb:
    """Running between `with` and its end; `environment` leads a program to it."""

    def __init__(self, size: str = SCREEN, manager: str = "") -> None:
        """`manager`: the window manager at it, where it is installed."""
        self._size = size
        self._manager = shutil.which(manager) if manager else None
        self._process: subprocess.Popen[bytes] | None = None
        self._managing: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Xvfb:
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as number:
            try:
                # The server looks for a free display itself and tells which one it took.
                self._process = subprocess.Popen(
                    ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{self._size}x24", "-nolisten", "tcp"],
                    pass_fds=(writing,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            finally:
                os.close(writing)
            display = number.readline().decode().strip()  # ends with the server, if it does not come up
        if not display:
            self.close()
            raise AssertionError("Xvfb did not start")
        # At a screen without a bus, Qt starts a bus that outlives it, where the system has the program for that.
        nobody = "unix:path=/nobody/listens/here"
        self.environment = {"DISPLAY": f":{display}", "QT_QPA_PLATFORM": "xcb", "DBUS_SESSION_BUS_ADDRESS": nobody}
        if self._manager:
            nothing = subprocess.DEVNULL
            around = os.environ | self.environment
            self._managing = subprocess.Popen(
                [self._manager], env=around, stdin=nothing, stdout=nothing, stderr=nothing
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def do(self, *words: str | int) -> str:
        """One act of xdotool: a person at this screen."""
        done = subprocess.run(
            ["xdotool", *map(str, words)],
            env=os.environ | self.environment,
            capture_output=True,
            check=True,
            timeout=PATIENT_S,
        )
        return done.stdout.decode()

    def close(self) -> None:
        for process in (self._managing, self._process):
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(PATIENT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(PATIENT_S)
        self._managing = self._process = None
