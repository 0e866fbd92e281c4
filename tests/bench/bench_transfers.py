"""How fast files move and buckets are compared, beside rclone, s5cmd and the plain SDK, in the same run.

    PYTHONPATH=tests python -m bench.bench_transfers [--rounds 3] [--small 10000] [--large-mib 2048]
        [--listed 200000] [--only WORDS] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
Each program starts anew for each figure, and its start counts: TrainDeck's is its command line, but for the listing,
which is not printed. All talk to the same server, which has no disk and
checks no signature, so that the clock sees the clients; every upload is checked by the MD5 the client has sent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import results
from traindeck.runtime.crc import crc64

BIN = Path(sys.executable).parent
HERE = Path(__file__).parent
DELAY_MS = 20
_SDK = """
import json, sys, queue, threading
from obs import ObsClient, PutObjectHeader
import base64, hashlib
given = json.loads(sys.stdin.readline())
client = ObsClient("bench", "bench-secret", server=given["endpoint"], long_conn_mode=True, path_style=True)
from pathlib import Path
files = queue.SimpleQueue()
for path in Path(given["source"]).iterdir():
    files.put(path)
def work():
    while True:
        try:
            path = files.get_nowait()
        except queue.Empty:
            return
        if path.stat().st_size > 1 << 26:
            answer = client.uploadFile("bench", given["prefix"] + path.name, str(path), 16 << 20, 4, checkSum=True)
        else:
            content = path.read_bytes()
            header = PutObjectHeader(md5=base64.b64encode(hashlib.md5(content).digest()).decode())
            answer = client.putContent("bench", given["prefix"] + path.name, content, headers=header)
        assert answer.status < 300, answer
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@dataclass(frozen=True)
class Figure:
    seconds: float
    cpu_s: float
    memory_mb: float
    server_s: float
    """What the server used of the same cores meanwhile."""
    idle_s: float
    """What nobody used of them."""


@dataclass(frozen=True)
class Place:
    """Where everything is."""

    endpoint: str
    folder: Path
    server: psutil.Process

    @property
    def environment(self) -> dict[str, str]:
        rclone = {
            "TYPE": "s3", "PROVIDER": "HuaweiOBS", "ENDPOINT": self.endpoint,
            "ACCESS_KEY_ID": "bench", "SECRET_ACCESS_KEY": "bench-secret",
        }  # fmt: skip
        # What is installed has its bytecode: compiled anew at each start, every program of Python takes 0.4 s more.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
            **{f"RCLONE_CONFIG_S_{name}": value for name, value in rclone.items()},
            "RCLONE_CONFIG": os.devnull,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench-secret",
            "AWS_REGION": "region",
            "S3_ENDPOINT_URL": self.endpoint,
            "HUAWEICLOUD_SDK_AK": "bench",
            "HUAWEICLOUD_SDK_SK": "bench-secret",
            "TRAINDECK_OBS_ENDPOINT": self.endpoint,
            "TRAINDECK_SIGNATURE": "obs",
            "TRAINDECK_PATH_STYLE": "1",
        }


Run = Callable[[Place, str], Figure]


def timed(place: Place, command: list[str], given: dict[str, object] | None = None, home: Path | None = None) -> Figure:
    """One program from its start to its end, with what it used."""
    environment = {**place.environment, **({"TRAINDECK_HOME": str(home)} if home else {})}
    begun, server_before, idle_before = time.perf_counter(), place.server.cpu_times(), psutil.cpu_times()
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stderr
    with process.stdin, process.stderr:
        process.stdin.write(json.dumps(given or {}).encode() + b"\n")
        process.stdin.close()
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said.decode(errors='replace')[-2000:]}")
    server, idle = place.server.cpu_times(), psutil.cpu_times()
    return Figure(
        seconds,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1000,
        server.user + server.system - server_before.user - server_before.system,
        idle.idle - idle_before.idle,
    )


def ours(*arguments: str, is_again: bool = False) -> Run:
    """The command as a user types it; `is_again`: this program did the same before, which is not timed."""

    def run(place: Place, name: str) -> Figure:
        home = place.folder / "home" / (f"again-{place.endpoint.rpartition(':')[2]}" if is_again else name)
        filled = [one.format(folder=place.folder, name=name) for one in arguments]
        command = [sys.executable, "-m", "traindeck", "--profile", "environment", *filled]
        if not is_again:
            shutil.rmtree(home, ignore_errors=True)
        if not home.is_dir():
            home.mkdir(parents=True)
            if is_again:
                timed(place, command, home=home)
        return timed(place, command, home=home)

    return run


def listing(expected: int) -> Run:
    def run(place: Place, name: str) -> Figure:
        given: dict[str, object] = {
            "endpoint": place.endpoint, "source": "obs://bench/listed/", "expected": expected,
        }  # fmt: skip
        return timed(place, [sys.executable, str(HERE / "our_side.py")], given)

    return run


def tool(program: str, *arguments: str) -> Run:
    def run(place: Place, name: str) -> Figure:
        filled = [one.format(folder=place.folder, name=name) for one in arguments]
        return timed(place, [str(BIN / program), *filled])

    return run


def sdk(source: str) -> Run:
    def run(place: Place, name: str) -> Figure:
        given: dict[str, object] = {
            "endpoint": place.endpoint, "source": source.format(folder=place.folder), "prefix": f"{name}/",
        }  # fmt: skip
        return timed(place, [sys.executable, "-c", _SDK], given)

    return run


@dataclass(frozen=True)
class Line:
    """One row of the table: who does it how, and what is wanted of the ratios."""

    what: str
    wanted: str
    runs: dict[str, Run]
    delay_ms: int = 0
    most_rounds: int = 9
    has_crc64: bool = True
    """Whether the server repeats a CRC-64; without, each part is proved by its MD5."""


def lines(small: int, large_mib: int, listed: int) -> list[Line]:
    rclone_default = ("copy", "-q")
    up = {
        "TrainDeck": ours("obs", "cp", "{folder}/small", "obs://bench/{name}/"),
        "rclone": tool("rclone", *rclone_default, "{folder}/small", "s:bench/{name}"),
        "s5cmd": tool("s5cmd", "cp", "{folder}/small/", "s3://bench/{name}/"),
    }
    up_large = {
        "TrainDeck": ours("obs", "cp", "{folder}/large", "obs://bench/{name}/"),
        "rclone": tool("rclone", *rclone_default, "{folder}/large", "s:bench/{name}"),
        "s5cmd": tool("s5cmd", "cp", "{folder}/large/", "s3://bench/{name}/"),
        "SDK": sdk("{folder}/large"),
    }
    down_large = {
        "TrainDeck": ours("obs", "cp", "obs://bench/there/ours/", "{folder}/got/{name}"),
        "rclone": tool("rclone", *rclone_default, "s:bench/there/large", "{folder}/got/{name}"),
        "s5cmd": tool("s5cmd", "cp", "s3://bench/there/large/*", "{folder}/got/{name}/"),
    }
    same = {
        "TrainDeck": ours("obs", "sync", "{folder}/small", "obs://bench/there/small/", is_again=True),
        "rclone": tool("rclone", "sync", "-q", "{folder}/small", "s:bench/there/small"),
        "rclone by size": tool(
            "rclone", "sync", "-q", "--size-only", "--fast-list", "{folder}/small", "s:bench/there/small"
        ),
    }
    list_all = {
        "TrainDeck": listing(listed),
        "rclone": tool("rclone", "lsf", "-R", "--fast-list", "--files-only", "s:bench/listed"),
        "s5cmd": tool("s5cmd", "ls", "s3://bench/listed/*"),
    }
    packed = {
        "TrainDeck": ours("obs", "pack", "{folder}/small", "obs://bench/{name}/"),
        "each by itself": ours("obs", "cp", "{folder}/small", "obs://bench/{name}/"),
    }
    count, size = f"{small:,} × 10 kB", f"{large_mib / 1024:g} GiB"
    return [
        Line(f"upload {count}", "≥ 2.5 × rclone, ≥ 1.5 × s5cmd", {**up, "SDK": sdk("{folder}/small")}),
        Line(f"pack {count} into shards", "≥ 1 × each by itself", packed),
        Line(f"upload {size}", "≥ 2.5 × rclone, ≥ 1.5 × s5cmd, ≥ 1.2 × SDK", up_large),
        Line(f"upload {size}, by MD5", "≥ 2.5 × rclone, ≥ 1.2 × s5cmd", up_large, has_crc64=False),
        Line(
            f"download {count}", "≥ 1.5 × rclone",
            {
                "TrainDeck": ours("obs", "cp", "obs://bench/there/small/", "{folder}/got/{name}"),
                "rclone": tool("rclone", *rclone_default, "s:bench/there/small", "{folder}/got/{name}"),
                "s5cmd": tool("s5cmd", "cp", "s3://bench/there/small/*", "{folder}/got/{name}/"),
            },
        ),
        Line(f"download {size}", "≥ 3 × rclone, ≥ 1 × s5cmd", down_large),
        Line(f"download {size}, by MD5", "≥ 1.7 × rclone", down_large, has_crc64=False),
        Line(f"sync, nothing changed, {small:,} files", "≥ 3 × rclone, ≥ 0.9 × by size", same),
        Line(f"list {listed:,} objects", "≥ 1.5 × rclone", list_all),
        Line(f"list {listed:,} objects, {DELAY_MS} ms", "≥ 6 × rclone", list_all, DELAY_MS),
        Line(f"upload {count}, {DELAY_MS} ms", "≥ 20 × rclone, ≥ 1.2 × s5cmd", up, DELAY_MS, most_rounds=1),
        Line(f"pack {count} into shards, {DELAY_MS} ms", "≥ 1 × each by itself", packed, DELAY_MS, most_rounds=1),
        Line(f"sync, nothing changed, {small:,} files, {DELAY_MS} ms", "≥ 40 × rclone", same, DELAY_MS, most_rounds=1),
    ]  # fmt: skip


@contextmanager
def server(folder: Path, delay_ms: int, room_mib: int = 64, *, has_crc64: bool = True) -> Iterator[Place]:
    given = ["--delay-ms", str(delay_ms), "--room-mib", str(room_mib), *([] if has_crc64 else ["--no-crc64"])]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "sink.py"), *given],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin and process.stdout
    with process.stdin, process.stdout:
        try:
            endpoint = f"http://127.0.0.1:{int(process.stdout.readline())}"
            yield Place(endpoint, folder, psutil.Process(process.pid))
        finally:
            process.stdin.close()
            process.wait(30)


def fill(folder: Path, small: int, large_mib: int) -> None:
    (folder / "small").mkdir()
    (folder / "large").mkdir()
    for number in range(small):
        (folder / "small" / f"{number:06}").write_bytes(os.urandom(10_000))
    with (folder / "large" / "one").open("wb") as file:
        for _ in range(large_mib):
            file.write(os.urandom(1 << 20))


def touch(folder: Path, large_mib: int) -> None:
    """Use as much memory as will be used: a virtual machine is given it at the first touch, which takes seconds."""
    with (folder / "touched").open("wb") as file:
        for _ in range(3 * large_mib):
            file.write(b"x" * (1 << 20))
    (folder / "touched").unlink()


def measured(
    folder: Path, table: list[Line], rounds: int, small: int, large_mib: int, listed: int
) -> Iterator[tuple[Line, dict[str, list[Figure]]]]:
    touch(folder, large_mib)
    fill(folder, small, large_mib)
    packed_mib = small // 50  # two of them at a time, and no less for a delay
    for delay_ms, has_crc64 in sorted({(line.delay_ms, line.has_crc64) for line in table}, reverse=True):
        room_mib = 128 + packed_mib + (0 if delay_ms else 3 * large_mib)
        with server(folder, delay_ms, room_mib, has_crc64=has_crc64) as place:
            asked(place, "POST", f"listed/?fill={listed}")
            parts = ["small", "large"] if not delay_ms else ["small"]
            for part in parts:
                # By rclone, as it is the one that has to find its own times there.
                tool("rclone", "copy", "-q", "--transfers=64", f"{{folder}}/{part}", f"s:bench/there/{part}")(place, "")
            if not delay_ms:
                # In parts only who sent it can verify it.
                ours("obs", "cp", "{folder}/large", "obs://bench/there/ours/")(place, "")
            for line in (line for line in table if (line.delay_ms, line.has_crc64) == (delay_ms, has_crc64)):
                figures: dict[str, list[Figure]] = {name: [] for name in line.runs}
                for number in range(min(rounds, line.most_rounds)):
                    for name, run in line.runs.items():
                        target = f"{name.replace(' ', '-')}-{number}"
                        figures[name].append(run(place, target))
                        shutil.rmtree(folder / "got", ignore_errors=True)
                        asked(place, "DELETE", f"{target}/")
                yield line, figures


def asked(place: Place, method: str, what: str) -> None:
    """The server's own requests: to hold many objects, and to let go of what it has in memory."""
    request = urllib.request.Request(f"{place.endpoint}/bench/{what}", method=method)
    urllib.request.urlopen(request).close()


def row(line: Line, figures: dict[str, list[Figure]]) -> str:
    """The best round of each counts: whatever else the machine did can only have made it slower."""
    best = {name: min(one.seconds for one in found) for name, found in figures.items()}
    mine = best["TrainDeck"]
    others = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items() if name != "TrainDeck")
    ratios = ", ".join(f"{seconds / mine:.2f} × {name}" for name, seconds in best.items() if name != "TrainDeck")
    used = ", ".join(f"{min(one.cpu_s for one in found):.2f}" for found in figures.values())
    fastest = [min(found, key=lambda one: one.seconds) for found in figures.values()]
    beside = [", ".join(f"{value:.2f}" for value in values) + " s" for values in (
        [one.server_s for one in fastest], [one.idle_s for one in fastest],
    )]  # fmt: skip
    memory = ", ".join(f"{max(one.memory_mb for one in found):.0f}" for found in figures.values())
    cells = [line.what, f"{mine:.2f} s", others, ratios, line.wanted, f"{used} s", *beside, f"{memory} MB"]
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True)
class Costs:
    """What every way of doing it costs on this machine."""

    md5_mb_s: float
    """For a second of one core."""
    crc64_mb_s: float
    python_s: float
    start_s: float
    start_cpu_s: float


def costs() -> Costs:
    """The best of several, as for the rest."""
    block = os.urandom(1 << 20)
    took: dict[str, list[float]] = {"md5": [], "crc64": []}
    for _ in range(5):
        for name, update in (("md5", hashlib.md5(usedforsecurity=False).update), ("crc64", crc64)):
            begun = time.thread_time()
            for _ in range(256):
                update(block)
            took[name].append(time.thread_time() - begun)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder), 0) as place:
        asked(place, "POST", "nothing/?fill=1")
        bare = [timed(place, [sys.executable, "-c", "pass"]) for _ in range(5)]
        starts = [ours("obs", "ls", "obs://bench/nothing/")(place, "start") for _ in range(5)]
    start = min(one.seconds for one in starts), min(one.cpu_s for one in starts)
    md5_mb_s, crc64_mb_s = (256 * 1.048576 / min(found) for found in took.values())
    return Costs(md5_mb_s, crc64_mb_s, min(one.seconds for one in bare), *start)


def section(rows: list[str], rounds: int, load: tuple[float, float], large_mib: int, known: Costs) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    table = "\n".join(rows)
    once, once_crc64 = (large_mib * 1.048576 / rate for rate in (known.md5_mb_s, known.crc64_mb_s))
    return f"""## Transfers

Made by `PYTHONPATH=tests python -m bench.bench_transfers --write` from the root of the project, on {machine},
which the server shares. The load was {load[0]:.1f} before and {load[1]:.1f} after; where that is more than what runs
here makes, the clock sees other work too, and the CPU seconds tell more than the ratios. Of {rounds} rounds, one for
some of those with a delay, in turn, the best of each program. Each figure is a whole program from its start to its end;
a ratio tells how many times as long the other takes. CPU and memory: TrainDeck, then the others as they stand. Server:
the CPU it used of the same cores meanwhile; idle: what nobody used of them, in the best round. CPU, server and idle
together are the clock times the cores, but for what else runs here.

| what | TrainDeck | others | ratios | wanted | CPU | server | idle | memory |
|---|---|---|---|---|---|---|---|---|
{table}

What bounds these figures, measured beside them:

- MD5 makes {known.md5_mb_s:.0f} MB in a second of one core, so one of the large file takes {once:.1f} s of it, whoever
  makes it. CRC-64 makes {known.crc64_mb_s:,.0f} MB, so it takes {once_crc64:.2f} s. s5cmd and the SDK make none: what
  they sent is not proved.
- The server has all its memory before anybody comes, and takes large bodies where they belong. Before that it made new
  pages for each of them, which took it 1.0 s of CPU for an upload of 2 GiB and 0.4 s now, and a program that was first
  to touch memory of the machine took twice as long (6.2 s instead of 2.6 s here): such figures told of the machine.
- A large upload makes the CRC-64 of each part, which the service repeats once it has compared it, and sends that of the
  whole at the end. What bounds it is reading each part once and having the system send it. Downloads make the CRC-64 of
  each range as it comes, and compare that of the whole with the object's head, whoever sent it and in whatever parts.
  By `perf`, 3 % of the CPU of a download is CRC-64; nearly all else is the system's: copying what comes from the
  line (about 2 calls for 2 MiB) and making pages for the file and copying into them (one call for 2 MiB).
- Without CRC-64 (the rows by MD5) a large upload makes one MD5, part by part, on all cores, while other parts leave;
  the service's ETag of the parts proves it. The system sends the parts out of its own memory (sendfile). By `perf`,
  71 % of the CPU is MD5, 16 %
  sendfile with what the receiving takes of it, 4 % reading, 5 % Python with its start. Traced part by part, the two
  cores hash from 0.14 s after the start, which is loading modules on one of them, to the last 0.03 s, and wait 7 % of
  that time for the next part; with sending and the server both are full. Keeping what was hashed in memory and sending
  it from there was tried: as much CPU, and 32 MB more. Blocks of 64 KiB to 2 MiB for hashing were tried: no difference.
  MD5, reading and the start alone are 2.7 s of CPU, and sending 0.5 s more; with the server's on two cores that is
  1.8 s of the clock at the very least.
- A large download without CRC-64 makes one MD5 as well, 2 MiB at a time, beside receiving. By `perf`, 61 % of its CPU
  is MD5, 18 % writing
  (the system makes room for new pages), 8 % receiving, 7 % Python with its start. MD5 and writing alone take 3.2 s of
  CPU, so 3.3 s are out of reach here; steps of 1, 2 and 4 MiB were tried, and 2 take the least. The system lets only
  one write to a file, and others spin: with little memory free, when writing is slow, that took up to 7.5 s of CPU.
  Now one writes at a time, and the others hash meanwhile; with enough memory free that saves 0.1 s.
- Small files are bounded by the lock of Python: one core does nearly all. Of 10,000 downloads by `py-spy`, 23 % is
  asking (signing, pool, retries), 17 % handing over to the disk and waiting for the lock there, 14 % loading modules,
  6 % reading the head. Hashing and writing take 35 µs of each file, 12 of them MD5, and everything else 120 µs.
  Larger batches for the disk, by one writer and a helper where more arrives than is written, save 7 % of the clock and
  half the memory. Writing on the thread that asks was tried: 0.2 s of CPU less, which is what handing over takes, and
  no gain for the clock. Of 10,000 uploads by `py-spy`, 40 % is asking (4 % signing), 15 % start; the disk is asked 83
  times and the journal 72 times for all of them, so there is little left to gather. Connections with their own room for
  what arrives took 64 MB together; they share it.
- uvloop was tried on the loop of the transfers: 10,000 small uploads took 2.55 s of CPU instead of 2.98 s at best and
  2.92 s instead of 3.09 s in the middle of 5 rounds, 5,000 took 1.13 s instead of 1.28 s at best and 1.65 s instead of
  1.55 s in the middle of 6, on a busy machine. Over TLS it lost connections (5 of 238 tests of the wire failed), and a
  service has TLS, so it was left out. One small upload makes 250 calls of Python functions and 200 of C, none of them
  more than a few times: nothing is left that one change would save.
- PYTHONDONTWRITEBYTECODE is not handed on to the programs: with it each start of ours compiles all it loads, 0.4 s.
- Packing reads and hashes every file as sending it by itself does, and a sender with many requests under way hardly
  feels 20 ms. What it saves is the reading: each job that reads the files later asks for a few archives, not for each
  file. The advice to pack says so.
- Python starts in {known.python_s * 1000:.0f} ms. The smallest command, which lists an empty folder, takes
  {known.start_s:.2f} s with {known.start_cpu_s:.2f} s of CPU, nearly all of it for loading modules. That is most of a
  sync that finds nothing to do, and most of what rclone's size-only mode takes for all of it. On a busy machine the
  rest was 0.15 s of CPU for 10,000 files, and 0.13 s since equal files are compared as tuples and marked in place:
  0.034 s for reading the folder, of which 0.022 s are the system's own for looking at 10,000 files, 0.014 s for
  reading the listing, 0.027 s for writing down that they are equal, 0.015 s for reading what is remembered of them, the
  rest for comparing. Another decoder for the texts of the database was tried, and took four times as long. One row for
  all equal files would save the writing, a tenth of the clock and half of what is missing; the list of files of a
  transfer would no longer name them.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--large-mib", type=int, default=2048)
    parser.add_argument("--listed", type=int, default=200_000)
    parser.add_argument("--only", default="", help="only the rows with this in their name")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = psutil.getloadavg()[0]
    memory = Path("/dev/shm")
    rows = []
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        table = [one for one in lines(given.small, given.large_mib, given.listed) if given.only in one.what]
        for line, figures in measured(Path(folder), table, given.rounds, given.small, given.large_mib, given.listed):
            rows.append(row(line, figures))
            print(rows[-1], flush=True)
    if given.write:
        known = costs()
        results.write(section(rows, given.rounds, (load, psutil.getloadavg()[0]), given.large_mib, known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
