"""A log followed through kills, sleeps and cuts of the network is at its end what the service has, byte for byte."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cli_commands import as_program
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 and SIGSTOP are POSIX")

WORKERS = 2
# Every line is another one, so that one too many or too few cannot be missed; and no two workers say the same.
SCRIPT = """
import os, random, sys, time
worker = int(os.environ["VC_TASK_INDEX"])
chance = random.Random(int(os.environ["SEED"]) + worker)
ends = time.monotonic() + float(os.environ["LASTS"])
out = sys.stdout.buffer
number = 0
while time.monotonic() < ends:
    for _ in range(chance.randrange(1, 40)):
        number += 1
        words = f"[{worker}:{number}] loss {chance.random():.6f} "
        kind = chance.randrange(12)
        if kind == 0:
            line = words.encode() + "训练 行".encode("gbk") + bytes([chance.randrange(256) for _ in range(9)])
        elif kind == 1:
            line = b"".join(b"\\r%3d %%|%s" % (step, words.encode()) for step in range(chance.randrange(1, 60)))
        elif kind == 2:
            line = b"\\x1b[31m" + words.encode() + b"\\x1b[0m\\x00\\x1b]0;title\\x07"
        elif kind == 3 and chance.random() < 0.05:
            line = words.encode() + b"x" * chance.randrange(2_000_000)
        else:
            line = words.encode() + "第一轮 损失".encode()
        out.write(line + (b"\\n" if chance.random() < 0.97 else b""))
    out.flush()
    time.sleep(chance.random() * 0.05)
out.write(b"and no end of line")
"""
JOB = """
[job]
name = "stream"
target = "lab"
[code]
folder = "."
boot = "train.py"
[engine]
name = "Local-Python"
version = "local-python"
[resources]
flavor = "modelarts.vm.cpu.8u"
nodes = {workers}
stop_after = "1h"
[logs]
to = "obs://stream/log/{{run}}/"
[environment]
SEED = "{seed}"
LASTS = "{lasts_s}"
"""
LOGS = "GET /v2/*/tasks/*"
# Most go wrong on the way to a log and its file; the last is the whole network gone.
FAULTS: tuple[tuple[dict[str, object], ...], ...] = (
    ({"kind": "error", "status": 503, "probability": 0.5},),
    ({"kind": "cut-body", "after_bytes": 700, "probability": 0.5},),
    ({"kind": "lost-answer", "probability": 0.4},),
    ({"kind": "latency", "seconds": 0.3}, {"kind": "bandwidth", "bytes_per_second": 2_000_000}),
    ({"kind": "lost-request"},),
)


class Stream:
    """A job of several workers in a Lab of its own, and a command that follows its log."""

    def __init__(self, folder: Path, lab: LabProcess, seed: int, lasts_s: float) -> None:
        self.folder = folder
        self.control = Control(lab.root)
        self.home = folder / "home"
        code = folder / "p"
        code.mkdir()
        (code / "train.py").write_text(SCRIPT, encoding="utf-8")
        (code / "job.toml").write_text(JOB.format(workers=WORKERS, seed=seed, lasts_s=lasts_s), encoding="utf-8")
        self.does("obs", "mb", "obs://stream")
        sent = self.does("job", "submit", "p", "--yes", "--json")
        document = json.loads(sent)
        self.run, self.job = str(document["run"]), str(document["job_id"])
        self.of_service: Path = lab.root / "jobs" / self.job / "log"

    def does(self, *words: str, code: int = 0) -> bytes:
        return as_program(words, self.folder, environment=self._environment).must_be(code).raw

    @property
    def _environment(self) -> dict[str, str]:
        return {"TRAINDECK_HOME": str(self.home)}

    def held(self, worker: int) -> Path:
        return self.home / "runs" / self.run / "log" / f"worker-{worker}.log"

    def held_bytes(self) -> int:
        return sum(path.stat().st_size for path in map(self.held, range(WORKERS)) if path.exists())

    @contextmanager
    def followed(self, number: int) -> Iterator[subprocess.Popen[bytes]]:
        with (self.folder / f"out-{number}").open("wb") as out, (self.folder / f"err-{number}").open("wb") as said:
            command = [sys.executable, "-m", "traindeck", "job", "logs", self.run, "-f", "--exit-status"]
            process = subprocess.Popen(
                command, stdout=out, stderr=said, stdin=subprocess.DEVNULL, env={**os.environ, **self._environment}
            )
            try:
                yield process
            finally:
                process.kill()
                process.wait(PATIENT_S)

    def grows(self, process: subprocess.Popen[bytes], beyond: int) -> bool:
        """Wait until more is held than that; False: the follower has come to the end first."""
        end = time.monotonic() + PATIENT_S
        while self.held_bytes() <= beyond:
            if process.poll() is not None:
                return False
            assert time.monotonic() < end, "nothing more comes"
            time.sleep(0.01)
        return True


def follow_through(tmp_path: Path, seed: int, kills: int, lasts_s: float) -> None:
    chance = random.Random(seed)
    with LabProcess(tmp_path / "home" / "lab") as lab:
        stream = Stream(tmp_path, lab, seed, lasts_s)
        for number in range(kills):
            stream.control.rules(*({**fault, "operation": "GET *"} for fault in chance.choice(FAULTS)))
            with stream.followed(number) as process:
                before = stream.held_bytes()
                time.sleep(chance.random() * 0.5)  # somewhere in the beginning, or in the middle of the work
                stream.control.rules()
                if not stream.grows(process, before):
                    break
                if chance.random() < 0.7:
                    os.kill(process.pid, signal.SIGSTOP)
                    time.sleep(chance.random() * 0.5)
                    os.kill(process.pid, signal.SIGCONT)
                    stream.control.rules(*({**fault, "operation": "GET *"} for fault in chance.choice(FAULTS)))
                    time.sleep(chance.random() * 0.4)
                    stream.control.rules()
                process.kill()
        else:
            number = kills
        stream.control.rules({"kind": "error", "status": 503, "probability": 0.2, "operation": "GET *"})
        with stream.followed(number) as process:
            assert process.wait(10 * PATIENT_S) == 0, (tmp_path / f"err-{number}").read_text("utf-8")
        stream.control.rules()
        for worker in range(WORKERS):
            (theirs,) = stream.of_service.glob(f"*-worker-{worker}.log")
            held, whole = stream.held(worker).read_bytes(), theirs.read_bytes()
            assert len(held) == len(whole) and held == whole, f"seed {seed}, worker {worker}"
            assert json.loads(stream.held(worker).with_suffix(".log.json").read_bytes())["stretches"] == []
            assert not list(stream.held(worker).parent.glob(".*")), "nothing half done is left"
        assert not list(stream.held(0).parent.glob("worker-*.*.log")), "no log was taken for another one"
        # All of it can be read without the service, too, and as it is.
        lab.stop()
        assert stream.does("job", "logs", stream.run, "--worker", "1") == stream.held(1).read_bytes()


def test_a_log_is_followed_through_kills_sleeps_and_faults(tmp_path: Path) -> None:
    follow_through(tmp_path, seed=13, kills=2, lasts_s=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_log_is_followed_through_twenty_kills(tmp_path: Path, seed: int) -> None:
    follow_through(tmp_path, seed=seed, kills=20, lasts_s=75)
