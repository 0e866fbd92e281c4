"""Many submissions over a line that fails at random, by programs that are killed: one job each, and all are settled."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import Answer, Fault, FaultyProxy, Request, Reset
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import PATIENT_S
from support.work_bench import CREATES, SEARCHES, SOON_S, Bench, code_in, over
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.runtime.blocking import BlockingCalls

_JSON = {"Content-Type": "application/json"}
_AT_ONCE = 6
_KILLED_EVERY = 40
"""Submissions, about; a few have a kill among them, too."""


class Late(Reset):
    """The line breaks, and what was sent arrives when nobody expects it any more."""


REFUSALS = {
    408: Answer(408, b"<html>timeout"),
    429: Answer(429, b'{"error_code": "APIGW.0308", "error_msg": "slow"}', _JSON),
    500: Answer(500, b'{"error_code": "ModelArts.2950", "error_msg": "internal"}', _JSON),
    502: Answer(502, b"<html>bad gateway"),
    503: Answer(503, b'{"error_code": "APIGW.0613", "error_msg": "down"}', _JSON | {"Retry-After": "1"}),
    504: Answer(504, b"<html>gateway timeout"),
}
ON_CREATE: tuple[tuple[str, Fault | None, int], ...] = (
    ("well", None, 40),
    ("lost request", Reset(), 14),
    ("lost answer", Reset(served=True), 14),
    ("late request", Late(), 3),
    *((str(status), answer, 5) for status, answer in REFUSALS.items()),
)
ON_SEARCH: tuple[tuple[str, Fault | None, int], ...] = (
    ("well", None, 70), ("broken", Reset(), 10), ("503", Answer(503, b"busy"), 10), ("500", REFUSALS[500], 10),
)  # fmt: skip


@dataclass
class Dice:
    """What goes wrong, by a seed."""

    chance: random.Random
    thrown: Counter[str] = field(default_factory=Counter)

    def throw(self, what: str, faces: tuple[tuple[str, Fault | None, int], ...]) -> Fault | None:
        name, fault, _ = self.chance.choices(faces, [weight for *_, weight in faces])[0]
        self.thrown[f"{what}: {name}"] += 1
        return fault


class RoughLine(FaultyProxy):
    """Every request to make or to look for a job may fail."""

    def __init__(self, upstream: str, way: Way, dice: Dice) -> None:
        super().__init__(upstream, way.resign)
        self._dice = dice
        self.is_rough = True
        self.late: list[asyncio.Task[Any]] = []

    async def _serve(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        line = f"{request.method} {request.target}"
        if self.is_rough and CREATES.search(line):
            fault = self._dice.throw("create", ON_CREATE)
        elif self.is_rough and SEARCHES.search(line):
            fault = self._dice.throw("search", ON_SEARCH)
        if isinstance(fault, Late):
            self.late.append(asyncio.ensure_future(self._arrive_late(request)))
        return await super()._serve(request, fault, writer)

    async def _arrive_late(self, request: Request) -> None:
        await asyncio.sleep(2 * SOON_S[-1])
        await self._forward(request)


CLIENT = """
import asyncio, os, sys
from pathlib import Path
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import AppError
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.http import calls
from support.stores.way import Way
from support.work_bench import Bench, spec

home, code, obs, modelarts, project, region, most, at_once = sys.argv[1:]
calls.FIRST_S = 0.001

async def main():
    profile = Profile("lab", Provider.LAB, region, obs, modelarts, modelarts, project)
    keys = Credentials(os.environ["AK"], Secret(os.environ["SK"]))
    async with Bench(Path(home), Way(profile, keys, BlockingCalls(1, "unused"))) as bench:
        bench.submission.throttled_s = (0.01, 0.05)
        left = int(most) - len(await bench.records.all())

        async def submit():
            nonlocal left
            while left > 0:
                left -= 1
                try:
                    await bench.submission.submit(spec(), Path(code))
                except AppError:
                    pass
                print("one", flush=True)

        try:
            await bench.submission.settle()
        except AppError:
            pass
        await asyncio.gather(*(submit() for _ in range(int(at_once))))

asyncio.run(main())
"""


def client(home: Path, code: Path, way: Way, most: int) -> subprocess.Popen[str]:
    profile = way.profile
    tests = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    keys = {"AK": way.credentials.access_key, "SK": way.credentials.secret_key.reveal(), "PYTHONPATH": tests}
    places = [str(home), str(code), profile.obs_endpoint, profile.modelarts_endpoint, profile.project_id]
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, *places, profile.region, str(most), str(_AT_ONCE)],
        env=os.environ | keys,
        stdout=subprocess.PIPE,
        text=True,
    )


async def until_it_is_killed(process: subprocess.Popen[str], chance: random.Random, every: int) -> bool:
    """At any moment of its work; whether it had to be, for it may end before."""
    assert process.stdout is not None
    try:
        for _ in range(chance.randrange(1, 2 * every)):
            if not await asyncio.to_thread(process.stdout.readline):
                return False
        await asyncio.sleep(chance.uniform(0, 0.1))  # between two of what it does
        return process.poll() is None
    finally:
        process.kill()
        await asyncio.to_thread(process.wait, PATIENT_S)
        process.stdout.close()


@pytest.fixture
def slow_lab(tmp_path: Path) -> Iterator[LabProcess]:
    """Which makes jobs at once, and is in no hurry to run them."""
    root = tmp_path / "lab"
    root.mkdir()
    (root / "lab.toml").write_text("parallel_jobs = 1\n", encoding="utf-8")
    with LabProcess(root) as process:
        yield process


async def outcome(lab: LabProcess, tmp_path: Path, count: int, seed: int) -> tuple[list[Run], list[RemoteJob], str]:
    """What the records and the service have after so many were tried."""
    dice, kills, every = Dice(random.Random(seed)), 0, min(_KILLED_EVERY, count // 3)
    chance = random.Random(seed + 1)
    code, home, calls = code_in(tmp_path / "code"), tmp_path / "home", BlockingCalls(4, "service")
    way = Way.to(lab, calls)
    try:
        async with Bench(home, way) as bench:
            await bench.prepare()
        async with RoughLine(lab.modelarts, way, dice) as line:
            while await until_it_is_killed(client(home, code, over(line, way), count), chance, every):
                kills += 1
            line.is_rough = False
            await asyncio.gather(*line.late)
            async with Bench(home, over(line, way)) as bench:
                while [run for run in await bench.records.live() if run.state.is_open]:
                    await bench.submission.settle()
                with way.training() as training:
                    jobs = [job async for page in training.all_jobs() for job in page]
                late = len(await bench.submission.claim(LAB, jobs))
                runs = await bench.records.all()
    finally:
        calls.close()
    states = Counter("not submitted" if run.state is RunState.NOT_SENT else "submitted" for run in runs)
    said = ", ".join(f"{name} {number}" for name, number in sorted(dice.thrown.items()))
    return runs, jobs, f"seed {seed}: {dict(states)}, {kills} kills, {late} taken back late; {said}"


def faults_in(runs: list[Run], jobs: list[RemoteJob]) -> list[str]:
    """Of each run one job or none, of each job a run that knows it, and nothing is open."""
    made, by_id = Counter(job.name for job in jobs), {job.id: job for job in jobs}
    known = {run.job_id: run for run in runs if run.job_id}
    faults = [f"{number} jobs are called {name}" for name, number in made.items() if number > 1]
    faults += [f"no run knows {job.name}, {job.id}" for job in jobs if job.id not in known]
    for run in runs:
        if run.job_id and (run.job_id not in by_id or by_id[run.job_id].name != run.name):
            faults.append(f"{run.name} has {run.job_id}, which is no job of this name: {run}")
        if (run.state is RunState.NOT_SENT) is bool(run.job_id) or run.state.is_open:
            faults.append(f"{run.name} is {run.state} with the job “{run.job_id}”: {run}")
    if len({run.name for run in runs}) != len(runs):
        faults.append("two runs have one name")
    return faults


@pytest.mark.limit(60)
async def test_twenty_submissions_over_a_rough_line_are_each_one_job_or_none(
    slow_lab: LabProcess, tmp_path: Path
) -> None:
    runs, jobs, said = await outcome(slow_lab, tmp_path, 20, seed=1)
    assert len(runs) == 20 and faults_in(runs, jobs) == [], said


@pytest.mark.long
@pytest.mark.limit(1800)
async def test_a_thousand_submissions_over_a_rough_line_are_each_one_job_or_none(
    slow_lab: LabProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, jobs, said = await outcome(slow_lab, tmp_path, 1000, seed=20261119)
    with capsys.disabled():
        print(f"\n{len(runs)} runs, {len(jobs)} jobs; {said}")
    assert len(runs) == 1000 and faults_in(runs, jobs) == [], said
