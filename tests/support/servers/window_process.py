"""The real program in a process of its own, driven from inside by a journey (tests/end_to_end/journey.py)."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from support.awaited import Awaited
from support.servers.forked_process import ForkedProcess, Forker
from support.waiting import IS_ALONE, LONGEST_STALL_S, PATIENT_S, is_long

JOURNEYS = Path(__file__).parents[2] / "end_to_end" / "journey.py"
FORKING = JOURNEYS.with_name("forking.py")
STEP_S = PATIENT_S
END_S = PATIENT_S
_SIZE = {"x": 0, "y": 0, "width": 1280, "height": 800}
SCREEN = {"name": "none", **_SIZE, "dpr": 1, "logicalDpi": 96, "logicalBaseDpi": 96}
_LOOK_S = 0.02
LONGEST_STALL_MS = LONGEST_STALL_S * 1000

_STALL = re.compile(r"the window did not answer for (\d+) ms \((\d+) ms of its own\):(.*)")
_FRAME = re.compile(r'File "([^"]+)"')
_QT_WORDS = re.compile(r"^\S+ \S+ \d+ (?:WARNING|ERROR|CRITICAL) qt: (?!.*This plugin does not support )", re.M)


class WindowProcess:
    """One start of the program on `home`; the window is gone when the block ends, its Lab may not be."""

    forker: Forker | None = None
    """Starts what has no other program before it; without one, a window loads the program as it does for users."""

    def __init__(
        self,
        home: Path,
        journey: str,
        *words: str,
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self.home = home
        home.parent.mkdir(parents=True, exist_ok=True)
        self.stderr = home.with_name(f"{home.name}.{journey}.stderr")
        self._before = before
        self._words = [journey, *words]
        self._environment = dict(environment or {})
        self._told: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._heard: list[dict[str, Any]] = []
        self._process: subprocess.Popen[str] | ForkedProcess | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> WindowProcess:
        screen = Path(os.environ["XDG_CACHE_HOME"], "screen.json")  # Qt cannot read a Chinese path here
        screen.write_text(json.dumps({"screens": [SCREEN]}), "utf-8")
        environment = {
            **os.environ,
            "QT_QPA_PLATFORM": f"offscreen:configfile={screen}",
            "PYTHONUTF8": "1",
            "PYTHONFAULTHANDLER": "1",
            **self._environment,
            "TRAINDECK_HOME": str(self.home),
        }
        with self.stderr.open("wb") as errors:
            if self.forker is not None and not self._before:
                self._process = self.forker.start(self._words, environment, errors.fileno())
            else:
                self._process = subprocess.Popen(
                    [*self._before, sys.executable, str(JOURNEYS), *self._words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    encoding="utf-8",
                    env=environment,
                )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self.process
        if process.poll() is None:
            process.kill()
        process.wait(END_S)
        assert self._reader is not None
        self._reader.join(END_S)
        if process.stdout is not None:
            process.stdout.close()

    @property
    def process(self) -> subprocess.Popen[str] | ForkedProcess:
        assert self._process is not None, "the window was not started"
        return self._process

    @property
    def heard(self) -> list[dict[str, Any]]:
        """All it has told so far."""
        return list(self._heard)

    @property
    def error_text(self) -> str:
        return self.stderr.read_text("utf-8", errors="replace")

    def told(self, what: str, timeout_s: float = STEP_S) -> dict[str, Any]:
        """Wait until the journey tells `what`; the answer is all it told with it."""
        end = time.monotonic() + timeout_s
        while True:
            try:
                news = self._told.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"the journey did not tell “{what}” in {timeout_s} s; {self._so_far()}") from None
            if news is None:
                self.process.wait(END_S)
                raise AssertionError(f"the window ended ({self.process.returncode}) before “{what}”; {self._so_far()}")
            self._heard.append(news)
            if news["what"] == what:
                return news

    def until(self, condition: Callable[[], object], timeout_s: float = STEP_S) -> None:
        """Wait for something outside of the window that it is to bring about."""
        awaited, end = Awaited(condition), time.monotonic() + timeout_s
        while not awaited.holds():
            if time.monotonic() > end:
                raise awaited.failure(timeout_s, self._so_far())
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_LOOK_S)
                raise AssertionError(f"the window ended ({self.process.returncode}); {self._so_far()}")

    def kill(self) -> None:
        """What no program can prepare for."""
        self.process.kill()
        self.process.wait(END_S)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def ended(self, timeout_s: float = END_S) -> int:
        """Wait for the end, and give the exit status."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the window still runs after {timeout_s} s; {self._so_far()}") from None

    def must_be_well(self, timeout_s: float = STEP_S, *, longest_stall_ms: float = LONGEST_STALL_MS) -> None:
        """It ended by itself, with nothing to complain about, and took its Lab along."""
        assert self.ended(timeout_s) == 0, self._so_far()
        self.must_be_quiet(longest_stall_ms=longest_stall_ms)
        assert all_of(self.home) == [], [process.cmdline() for process in all_of(self.home)]

    def must_be_quiet(self, *, longest_stall_ms: float = LONGEST_STALL_MS) -> None:
        """No word on standard error, none from Qt in the log, and no moment without an answer."""
        assert not (said := self.error_text), said
        words = app_log(self.home)
        assert not _QT_WORDS.findall(words), words
        stalls = [
            (float(stall) / 1000, float(own) / 1000)
            for stall, own, stack in _STALL.findall(words)
            if not is_of_journey(_FRAME.findall(stack))
        ]
        assert not IS_ALONE or not any(is_long(*stall, longest_stall_ms / 1000) for stall in stalls), words
        assert "Traceback" not in words, words

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._told.put(json.loads(line))
        self._told.put(None)

    def _so_far(self) -> str:
        return f"so far: {self._heard}\n{self.error_text}\n{app_log(self.home)}"


def is_of_journey(frames: list[str]) -> bool:
    """Who walks over everything in sight holds the window up; what comes through its door is the window's own."""
    is_by_itself = not any(frame.endswith("outside.py") for frame in frames)
    return is_by_itself and bool(frames) and frames[-1].startswith(str(JOURNEYS.parent))


def app_log(home: Path) -> str:
    file = home / "log" / "traindeck.log"
    return file.read_text("utf-8", errors="replace") if file.is_file() else ""


def all_of(home: Path) -> list[psutil.Process]:
    """Every process that belongs to this home: window, Lab, jobs, also those whose parent is gone."""
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            is_ours = process.environ().get("TRAINDECK_HOME") == str(home) or any(
                str(home) in word for word in process.cmdline()
            )
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def end_all_of(home: Path) -> None:
    """Whatever happened before: no process of this home is left."""
    for _ in range(3):  # what dies may have started another one meanwhile
        left = all_of(home)
        for process in left:
            process.kill()
        psutil.wait_procs(left, timeout=END_S)
        if not left:
            return


def lab_facts(home: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((home / "lab" / "running.json").read_text("utf-8"))
    return facts


def live_jobs(home: Path) -> int:
    """As the Lab itself says."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{lab_facts(home)['modelarts']}/lab/status", timeout=END_S) as answer:
        count: int = json.load(answer)["live_jobs"]
    return count
