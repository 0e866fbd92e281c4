"""How fast the Lab's object store is, beside moto's server in the same run.

    PYTHONPATH=tests python -m bench.bench_lab [--rounds 5] [--write] [--no-moto] [--patience 20] [--folder DIR]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md as well.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import results
from bench.fast_client import CONNECTIONS, Target, get_large, listed, put_large, put_many
from support.servers.lab_process import LabProcess
from traindeck.lab.accounts import Accounts
from traindeck.lab.obs.index import OBJECTS
from traindeck.lab.obs.records import ObjectInfo
from traindeck.lab.obs.storage import Storage

IN_A_FOLDER = 100
_BLOCK = 4 << 20
_START_S = 30.0
_LOOK_S, _CALM_PERCENT = 0.5, 15
Figures = dict[str, float]


@dataclass(frozen=True)
class Sizes:
    """How much of everything; moto lists only its small objects, as filling it with more takes many minutes."""

    small_count: int = 10_000
    small_bytes: int = 10_000
    large_bytes: int = 2 * 1024**3
    listed: int = 200_000


@dataclass(frozen=True)
class Server:
    """A server under measurement: its address, the process whose memory counts, and the bucket that is listed."""

    name: str
    target: Target
    process: psutil.Process
    bucket: str
    listed: int


def key(at: int) -> str:
    """Listed by "/" these are folders of a hundred, by "/x" each object is a folder of its own."""
    return f"small/{at // IN_A_FOLDER:05}/{at % IN_A_FOLDER:02}/x"


@contextmanager
def the_lab(root: Path, sizes: Sizes) -> Iterator[Server]:
    root.mkdir()
    owner = Accounts(root).first
    storage = Storage(root)
    with storage.changing("listed") as change:
        change.insert_bucket("listed", owner.domain_id, 0)
    # Only the index is looked at when objects are listed, so the bodies need not be there.
    with storage.changing() as change:
        bucket = storage.existing("listed")
        for at in range(sizes.listed):
            etag = hashlib.md5(str(at).encode()).hexdigest()
            info = ObjectInfo(key(at), sizes.small_bytes, etag, 1, "binary/octet-stream", {}, {}, 10**9 + at)
            change.keep(OBJECTS, bucket, info)
    storage.close()
    with LabProcess(root) as lab:
        target = Target(int(lab.obs.rpartition(":")[2]), lab.access_key, lab.secret_key)
        target.done("PUT", "/bench")
        yield Server("the Lab", target, psutil.Process(lab.pid), "listed", sizes.listed)


@contextmanager
def moto(sizes: Sizes) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target = Target(port)
    try:
        end = time.monotonic() + _START_S
        while True:
            try:
                target.done("PUT", "/bench")
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < end, "moto's server did not start"
                time.sleep(0.1)
        yield Server("moto server", target, psutil.Process(process.pid), "bench", sizes.small_count)
    finally:
        process.kill()
        process.wait()


@contextmanager
def peak_memory(process: psutil.Process) -> Iterator[list[float]]:
    """The highest resident size in MB, looked at all the while."""
    peak = [process.memory_info().rss / 1e6]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            peak[0] = max(peak[0], process.memory_info().rss / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def wait_for_calm(patience_s: float) -> None:
    """Others on the machine may be busy; a figure taken then tells about them."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end and psutil.cpu_percent(_LOOK_S) > _CALM_PERCENT:
        pass


def one_round(server: Server, sizes: Sizes, patience_s: float) -> Figures:
    target, bucket = server.target, server.bucket
    paths = [f"/bench/{key(at)}" for at in range(sizes.small_count)]
    wait_for_calm(patience_s)
    figures = {"small": put_many(target, paths, os.urandom(sizes.small_bytes))}
    with peak_memory(server.process) as peak:
        wait_for_calm(patience_s)
        figures["put"] = put_large(target, "/bench/large", sizes.large_bytes, os.urandom(_BLOCK))
        wait_for_calm(patience_s)
        figures["get"] = get_large(target, "/bench/large", sizes.large_bytes)
    figures["memory"] = peak[0]
    target.done("DELETE", "/bench/large")
    told = {"listing": ("", server.listed), "folders": ("/", server.listed // IN_A_FOLDER)}
    told["all folders"] = ("/x", server.listed)
    for what, (delimiter, expected) in told.items():
        wait_for_calm(patience_s)
        objects, folders, seconds = listed(target, bucket, "small/", delimiter)
        assert (folders if delimiter else objects) == expected, (objects, folders)
        figures[what] = server.listed / seconds
    return figures


def measured(
    folder: Path, rounds: int, sizes: Sizes, *, with_moto: bool, patience_s: float
) -> dict[str, list[Figures]]:
    """What each round gave, by server; the servers take turns."""
    with ExitStack() as stack:
        servers = [stack.enter_context(the_lab(folder / "lab", sizes))]
        if with_moto:
            servers.append(stack.enter_context(moto(sizes)))
        seen: dict[str, list[Figures]] = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                seen[server.name].append(one_round(server, sizes, patience_s))
    return seen


def table(seen: dict[str, list[Figures]], sizes: Sizes) -> str:
    large = f"{sizes.large_bytes / 1024**3:g} GiB"
    lines = {
        "small": (f"PUT {sizes.small_count:,} × {sizes.small_bytes:,} bytes, objects/s", "≥ 1,500"),
        "put": (f"PUT {large}, MB/s", "≥ 500"),
        "get": (f"GET {large}, MB/s", "≥ 500"),
        "memory": (f"memory at most while {large} come and go, MB", "< 150"),
        "listing": ("list all, objects/s", "≥ 50,000"),
        "folders": (f"list by folders of {IN_A_FOLDER}, objects passed/s", ""),
        "all folders": ("list by folders of one object each, objects passed/s", ""),
    }
    lab, *others = seen
    heads = ["", lab, "its best round"]
    for other in others:
        heads += [other, f"{lab} : {other}"]
    text = [f"| {' | '.join([*heads, 'wanted'])} |", f"|{'---|' * (len(heads) + 1)}"]
    for what, (told, wanted) in lines.items():
        figures = {name: [one[what] for one in rounds] for name, rounds in seen.items()}
        # Of memory the worst counts, as one moment of too much is too much.
        middle = max if what == "memory" else statistics.median
        best = min if what == "memory" else max
        cells = [told, f"{middle(figures[lab]):,.0f}", f"{best(figures[lab]):,.0f}"]
        for other in others:
            value = middle(figures[other])
            cells += [f"{value:,.0f}", f"{middle(figures[lab]) / value:.3g}"]
        text.append(f"| {' | '.join([*cells, wanted])} |")
    return "\n".join(text) + "\n"


def section(shown: str, rounds: int, sizes: Sizes, where: Path, load: float) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    return f"""## The Lab's object store

Made by `PYTHONPATH=tests python -m bench.bench_lab --write` from the root of the project, on {machine};
clients and servers share it, the Lab's data is in `{where}`, moto's in its memory.
Medians of {rounds} rounds, the servers in turn; beside them the Lab's best round, as every figure waits a while for a
machine with nothing else to do, and may not get it: the load was {load:.1f} before it began.
Of memory the worst counts. {CONNECTIONS} connections for the small objects, one for all else.
The Lab checks every signature and keeps connections open; moto's server checks none and closes after each answer.
The Lab lists a bucket of {sizes.listed:,} objects, moto
one of {sizes.small_count:,}, as filling it with more takes many minutes. MB are 1,000,000 bytes.

{shown}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    memory = Path("/dev/shm")
    usual = memory if memory.is_dir() else Path(tempfile.gettempdir())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--no-moto", action="store_true")
    parser.add_argument("--patience", type=float, default=20, metavar="SECONDS", help="to wait for an idle machine")
    parser.add_argument("--folder", type=Path, default=usual, help="where the Lab's data goes")
    given = parser.parse_args()
    # A bench that is told to end takes its servers and its gigabytes with it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sizes = Sizes()
    load = psutil.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        seen = measured(Path(folder), given.rounds, sizes, with_moto=not given.no_moto, patience_s=given.patience)
    shown = table(seen, sizes)
    print(shown)
    if given.write:
        results.write(section(shown, given.rounds, sizes, given.folder, load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
