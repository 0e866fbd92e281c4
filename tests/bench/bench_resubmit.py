"""How soon a job is accepted again with 2,000 files of code, beside the ways of others to bring them there.

    PYTHONPATH=tests python -m bench.bench_resubmit [--rounds 3] [--files 2000] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md. All talk to
the same Lab, which waits 20 ms before each answer and takes more files than ModelArts does. TrainDeck's first figures
are of one program that goes on: checks, freezing, sending, proving what arrived, and the request for the job. That of
the window is of a whole one off the screen, from the key R to the accepted job in its list; the strip that counts down
where a job is charged is not part of it. The others only bring the files. One file of all is edited before each round.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench import results
from bench.resubmit_in_window import pressed
from traindeck.assembly import lab_keeper
from traindeck.assembly.run_core import RunCore
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.jobs.code_choice import CodeOf
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.store.paths import Paths

DELAY_MS = 20
BUCKET = "bench"
_IN_A_FOLDER = 50
_FILE_LINES = 120
_BIN = Path(sys.executable).parent
_SDK = """
import sys
from pathlib import Path
from obs import ObsClient
endpoint, access, secret, folder, prefix = sys.argv[1:]
client = ObsClient(access, secret, server=endpoint, path_style=True)
for path in sorted(Path(folder).rglob("*")):
    if path.is_file():
        answer = client.putFile("bench", prefix + path.relative_to(folder).as_posix(), str(path))
        assert answer.status < 300, answer
"""


@dataclass
class Figures:
    """Seconds of each way, a number for each round; bytes of ours."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    sent_bytes: list[int] = field(default_factory=list)
    stalls: list[float] = field(default_factory=list)
    """The longest time that the window did not answer, of each round."""

    def add(self, way: str, seconds: float) -> None:
        self.seconds.setdefault(way, []).append(seconds)

    def median(self, way: str) -> float:
        return statistics.median(self.seconds[way])


SAME, NOW = "TrainDeck, same again", "TrainDeck, one file edited"
KEY = "TrainDeck, R in the window"
RCLONE, TOOLKIT = "rclone sync", "plain SDK, all files one by one"


def made(folder: Path, files: int) -> Path:
    for number in range(files - 1):
        place = folder / f"part{number // _IN_A_FOLDER}" / f"m{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"NUMBER = {number}\n" * _FILE_LINES, encoding="utf-8")
    (folder / "train.py").write_text("print('here')\n", encoding="utf-8")
    return folder


def edit(folder: Path, number: int) -> int:
    """The size of the one file that is another one now."""
    place = folder / "part0" / "m0.py"
    place.write_text(f"EDITED = {number}\n" * _FILE_LINES, encoding="utf-8")
    return place.stat().st_size


def form(folder: Path) -> JobSpec:
    return JobSpec(
        name="bench",
        boot="train.py",
        code_folder=str(folder),
        engine="Local-Python",
        engine_version="local-python",
        flavor="modelarts.vm.cpu.2u",
        stop_after="1h",
        outputs=(Channel("train_url", f"obs://{BUCKET}/out/{{run}}/"),),
        log_to=f"obs://{BUCKET}/log/{{run}}/",
    )


async def timed(work: Awaitable[Run]) -> tuple[float, Run]:
    begin = time.perf_counter()
    run = await work
    assert run.job_id, run
    return time.perf_counter() - begin, run


async def blob_bytes(core: RunCore) -> int:
    """All that was ever sent as content."""
    storage, total = (await core.connections.open(LAB)).storage, 0
    async for page in storage.entries(ObjectPath(BUCKET, "traindeck/blobs/"), recursive=True):
        total += sum(entry.size_bytes or 0 for entry in page)
    return total


def program(command: list[str], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


@asynccontextmanager
async def ended_with(lab: Path) -> AsyncIterator[None]:
    """The Lab that is started for it does not outlive it."""
    try:
        yield
    finally:
        await asyncio.to_thread(lab_keeper.end, lab)


async def measured(
    root: Path,
    rounds: int,
    files: int,
    say: Callable[[str], None] = lambda _: None,
    *,
    delay_ms: int = DELAY_MS,
    rest_s: float = 3.0,
) -> Figures:
    home, folder, figures = root / "home", made(root / "code", files), Figures()
    (home / "lab").mkdir(parents=True)
    (home / "lab" / "lab.toml").write_text(f"code_entries = {2 * files + 100}\nparallel_jobs = 1\n", encoding="utf-8")
    (home / "lab" / "faults.toml").write_text(
        f'[[fault]]\nkind = "latency"\nseconds = {delay_ms / 1000}\n', encoding="utf-8"
    )
    async with ended_with(home / "lab"):
        await measure_services(home, folder, rounds, figures, say)
        for took, stall in await asyncio.to_thread(lambda: list(pressed(home, rounds, rest_s))):
            figures.add(KEY, took)
            figures.stalls.append(stall)
            say(f"{KEY} {took:.2f} s, longest stall {stall * 1000:.0f} ms")
    return figures


async def measure_services(home: Path, folder: Path, rounds: int, figures: Figures, say: Callable[[str], None]) -> None:
    async with RunCore(Paths(home)) as core:
        connection = await core.connections.open(LAB)
        await connection.storage.create_bucket(BUCKET)
        account, (_, keys) = connection.profile, await core.connections.way_in(LAB)
        secret = keys.secret_key.reveal()
        rclone = {
            "RCLONE_CONFIG": os.devnull, "RCLONE_CONFIG_S_TYPE": "s3", "RCLONE_CONFIG_S_PROVIDER": "Other",
            "RCLONE_CONFIG_S_ENDPOINT": account.obs_url, "RCLONE_CONFIG_S_REGION": account.region,
            "RCLONE_CONFIG_S_ACCESS_KEY_ID": keys.access_key, "RCLONE_CONFIG_S_SECRET_ACCESS_KEY": secret,
        }  # fmt: skip
        sync = [str(_BIN / "rclone"), "sync", "-q", str(folder), f"S:{BUCKET}/rclone"]
        await asyncio.to_thread(program, sync, rclone)
        first_s, run = await timed(core.submission.submit(form(folder), folder))
        say(f"first of all: {first_s:.2f} s")
        while (await core.checks.check(form(folder), folder, LAB)).of(CheckLevel.NOT_CHECKED):
            pass  # as the window does while the form is filled: what was compiled once is known
        for number in range(rounds):
            same_s, _ = await timed(core.submission.rerun(run.id))
            before, edited = await blob_bytes(core), edit(folder, number)
            now_s, run = await timed(core.submission.rerun(run.id, code=CodeOf.NOW))
            sent = await blob_bytes(core) - before
            assert sent == edited, f"{sent} bytes went up for a file of {edited}"
            figures.sent_bytes.append(sent)
            figures.add(SAME, same_s)
            figures.add(NOW, now_s)
            figures.add(RCLONE, await asyncio.to_thread(program, sync, rclone))
            words = [account.obs_url, keys.access_key, secret, str(folder), f"toolkit{number}/"]
            figures.add(TOOLKIT, await asyncio.to_thread(program, [sys.executable, "-c", _SDK, *words], {}))
            say(", ".join(f"{way} {seconds[-1]:.2f} s" for way, seconds in figures.seconds.items()))


def table(figures: Figures) -> list[str]:
    """A row for each way, beside the ToolKit's."""
    rows = ["| way | s | of the ToolKit's way | wanted |", "|---|---|---|---|"]
    wanted = dict.fromkeys((SAME, NOW, KEY), "≤ 3 s, ≤ 1/20")
    for way in (SAME, NOW, KEY, RCLONE, TOOLKIT):
        share = figures.median(TOOLKIT) / figures.median(way)
        rows.append(f"| {way} | {figures.median(way):.2f} | 1/{share:.1f} | {wanted.get(way, '')} |")
    return rows


def section(figures: Figures, rounds: int, files: int, load: tuple[float, float]) -> str:
    return "\n".join([
        "## Submitting again\n",
        f"`PYTHONPATH=tests python -m bench.bench_resubmit --rounds {rounds} --files {files}` on {platform.machine()}, "
        f"{psutil.cpu_count()} cores, load {load[0]:.1f} before and {load[1]:.1f} after; medians of {rounds} rounds. "
        f"{files:,} files, {DELAY_MS} ms before each answer. Of the edited file {figures.sent_bytes[-1]:,} bytes went "
        "up, which is that file, and the manifest. While the job was sent the window answered within "
        f"{max(figures.stalls) * 1000:.0f} ms at most (0: within 50).\n",
        *table(figures),
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = psutil.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), given.rounds, given.files, lambda words: print(words, flush=True)))
    print("\n".join(table(figures)))
    if given.write:
        results.write(section(figures, given.rounds, given.files, (load, psutil.getloadavg()[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
