"""How quickly a long log is opened, searched, filtered and scrolled, and lines arrive; beside other viewers.

    PYTHONPATH=tests python -m bench.bench_logs [--lines 10000000] [--arriving 1000000] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import pty
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench import results

_RARE, _PATTERN = "loss is nan", r"ERROR|nan|oom"
_FRAMES = 300
_PEER_S = 120.0
_BATCH = 20_000
_SETTLED_S = 1.0
_BEAT_S = 0.005
_HEAD = "| what | TrainDeck | lnav | less | glogg | wanted |\n|---|---|---|---|---|---|"


def write_log(path: Path, lines: int) -> None:
    """What a training prints; an error in ten thousand lines."""
    levels = ("INFO", "DEBUG", "WARNING", "INFO", "INFO")
    with path.open("wb") as file:
        for begin in range(0, lines, _BATCH):
            file.write(
                b"".join(_line(number, levels[number % 5]) for number in range(begin, min(lines, begin + _BATCH)))
            )


def _line(number: int, level: str) -> bytes:
    seconds = number // 100
    at = f"2024-05-{1 + seconds // 86400:02} {seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if number % 10_007 == 0:
        return f"{at} ERROR rank 3 {_RARE} at step {number} in train.py\n".encode()
    loss, rate = 1 / (number % 997 + 1), number % 311
    return f"{at} {level} epoch {number // 1000} step {number} loss {loss:.5f} lr 0.00300 {rate} images/s\n".encode()


async def ours(log: Path, lines: int, arriving: int) -> dict[str, float]:
    """The panel itself, over the file and then over one that grows; in this process."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from support.folder_cloud import FolderCloud, digits_spec
    from support.waiting import until
    from traindeck.domain.jobs.job import LogChunk, Run, RunState
    from traindeck.runtime.resources import resource
    from traindeck.ui.kit.theme import Theme
    from traindeck.ui.logs.log_view import LogView
    from traindeck.viewmodels.logs.log_feed import LogFeed
    from traindeck.viewmodels.logs.log_filter import LineLevel
    from traindeck.viewmodels.logs.log_search import Wanted

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    theme, found = Theme(application, resource("icons"), "light"), dict[str, float]()
    process = psutil.Process()
    stalls = [0.0, 0.0]

    with tempfile.TemporaryDirectory() as folder:
        async with FolderCloud(Path(folder)) as cloud:
            run = Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.RUNNING, datetime.now(UTC), job_id="j")
            await cloud.records.add(run)
            other = await cloud.records.add(Run("r2", 2, "digits-2", "lab", digits_spec(), RunState.RUNNING,
                                                datetime.now(UTC), job_id="k"))  # fmt: skip
            held = cloud.logs.file("r1").path
            held.parent.mkdir(parents=True, exist_ok=True)
            held.symlink_to(log)
            feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
            view = LogView(feed, theme)
            view.resize(1000, 700)
            view.show()
            feed.show(other)  # what is loaded with the first log is loaded
            await until(lambda: feed.state.is_read)
            last = (time.perf_counter(), time.thread_time())

            def beat() -> None:
                nonlocal last
                now = (time.perf_counter(), time.thread_time())
                stalls[:] = [max(stalls[0], now[0] - last[0] - _BEAT_S), max(stalls[1], now[1] - last[1])]
                last = now

            heart = QTimer(interval=round(_BEAT_S * 1000))
            heart.timeout.connect(beat)
            heart.start()
            before = process.memory_info().rss
            begin = time.perf_counter()
            feed.show(run)
            await until(lambda: bool(view.pane.rows_in_sight()) and view.pane.is_settled)
            view.pane.viewport().repaint()
            found["open"] = time.perf_counter() - begin
            await until(lambda: feed.lines.is_counted)
            found["counted"] = time.perf_counter() - begin
            await until(lambda: feed.filter.state.is_all)
            begin = time.perf_counter()
            feed.search.look_for(Wanted(_RARE))
            await until(lambda: feed.search.state.hits > 0)
            found["first"] = time.perf_counter() - begin
            await until(lambda: feed.search.state.is_all)
            begin = time.perf_counter()
            feed.search.look_for(Wanted(_PATTERN, is_expression=True, minds_case=True))
            await until(lambda: feed.search.state.is_all)
            found["all"] = time.perf_counter() - begin
            feed.search.look_for(None)
            begin = time.perf_counter()
            feed.filter.ask("step -debug", LineLevel.ALL)
            await until(lambda: feed.filter.state.is_all)
            found["filter"] = time.perf_counter() - begin
            begin = time.perf_counter()
            feed.filter.ask("lr -oom", LineLevel.ALL)
            await until(lambda: feed.filter.state.is_all)
            found["filter most"] = time.perf_counter() - begin
            assert len(feed.lines) > lines * 0.99
            feed.filter.ask("", LineLevel.ALL)
            await until(lambda: len(feed.lines) > lines // 2)
            found["frames"] = await _frames(view)
            found["memory"] = (process.memory_info().rss - before) / 1e6
            found["stall"], found["work"] = stalls
            feed.show(other)
            await until(lambda: feed.state.run is other and feed.state.is_read)
            size, begin = 0, time.perf_counter()
            content = [b"".join(_line(n, "INFO") for n in range(at, min(arriving, at + _BATCH)))
                       for at in range(0, arriving, _BATCH)]  # fmt: skip
            begin = time.perf_counter()
            stalls[:], last = [0.0, 0.0], (begin, time.thread_time())
            for part in content:
                size += len(part)
                await cloud.logs.take("r2", "worker-0", LogChunk(part, size))
            await until(lambda: feed.lines.rows == arriving and view.pane.is_settled)
            found["arriving"] = arriving / (time.perf_counter() - begin)
            found["arriving stall"], found["arriving work"] = stalls
            heart.stop()
            feed.close()
    theme.close()
    return found


async def _frames(view: object) -> float:
    """Frames in a second while the scroll bar is dragged through all of the log."""
    from traindeck.ui.logs.log_view import LogView

    assert isinstance(view, LogView)
    bar, begin, moved = view.pane.verticalScrollBar(), time.perf_counter(), asyncio.Event()
    view.pane.moved.connect(moved.set)
    for number in range(_FRAMES):
        moved.clear()
        bar.setValue(bar.maximum() * number // _FRAMES)
        while not view.pane.is_settled:
            await moved.wait()
        view.pane.viewport().repaint()
    return _FRAMES / (time.perf_counter() - begin)


# others


def lnav(log: Path) -> dict[str, float]:
    """Without its screen: what it does before it could show anything, and with a filter that hides all but the hits."""
    found = {}
    for name, commands in (("open", ()), ("all", ("-c", f":filter-in {_PATTERN}"))):
        begin = time.perf_counter()
        subprocess.run(["lnav", "-n", "-q", *commands, str(log)], capture_output=True, timeout=_PEER_S, check=False)
        found[name] = time.perf_counter() - begin
    return found


def less(log: Path) -> dict[str, float]:
    """On a terminal: until the last line is there, until the first hit is, and until all others are hidden."""
    found = {}
    for name, commands, wanted in (
        ("open", ["-n", "+G"], b"END"), ("counted", ["-N", "+G"], b"END"),
        ("first", ["-n", f"+/{_RARE}"], _RARE.encode()),
        ("all", ["-n", f"+&{_PATTERN}\r", "+G"], b"END"),
    ):  # fmt: skip
        begin = time.perf_counter()
        with _on_terminal(["less", *commands, str(log)]) as terminal:
            if _shows(terminal, wanted):
                found[name] = time.perf_counter() - begin
    return found


@contextmanager
def _on_terminal(command: list[str]) -> Iterator[int]:
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    try:
        yield terminal
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def _shows(terminal: int, wanted: bytes) -> bool:
    seen, limit = b"", time.monotonic() + _PEER_S
    while time.monotonic() < limit:
        if select.select([terminal], [], [], 0.05)[0]:
            seen = seen[-8192:] + os.read(terminal, 65536)
            if wanted in seen:
                return True
    return False


def glogg(log: Path) -> dict[str, float]:
    """Nobody can ask it for anything from outside: until it has read the file, as far as its work tells."""
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    begin = time.perf_counter()
    with subprocess.Popen(["glogg", "-m", str(log)], env=environment, stderr=subprocess.DEVNULL) as process:
        known, busy_until, seen = psutil.Process(process.pid), begin, 0.0
        while time.perf_counter() - begin < _PEER_S:
            time.sleep(0.05)
            used = sum(known.cpu_times()[:2])
            if used > seen + 0.01:
                seen, busy_until = used, time.perf_counter()
            elif time.perf_counter() - busy_until > _SETTLED_S and seen > 0.2:
                break
        process.kill()
    return {"counted": busy_until - begin}


def table(mine: dict[str, float], others: dict[str, dict[str, float]]) -> str:
    rows = [
        ("open: the last lines are there", "open", "{:.2f} s", "< 0.3 s"),
        ("all lines are counted", "counted", "{:.2f} s", ""),
        ("first hit of words", "first", "{:.2f} s", "< 1 s"),
        ("all hits of an expression", "all", "{:.2f} s", "< 5 s"),
        ("filter: a word, and not another", "filter", "{:.2f} s", "< 5 s"),
        ("filter that most lines pass", "filter most", "{:.2f} s", "< 5 s"),
        ("scrolling from end to end", "frames", "{:.0f} frames/s", "≥ 50"),
        ("memory more than before", "memory", "{:.0f} MB", "< 150 MB"),
        ("longest time without an answer", "stall", "{:.3f} s", "≤ 0.05 s"),
        ("of that the window's own work", "work", "{:.3f} s", "≤ 0.05 s"),
        ("lines arriving", "arriving", "{:,.0f} lines/s", "≥ 500,000"),
        ("longest time without an answer meanwhile", "arriving stall", "{:.3f} s", "≤ 0.05 s"),
        ("of that the window's own work", "arriving work", "{:.3f} s", "≤ 0.05 s"),
    ]
    lines = []
    for title, name, form, wanted in rows:
        cells = [form.format(found[name]) if name in found else "–"
                 for found in (mine, *(others.get(peer, {}) for peer in ("lnav", "less", "glogg")))]  # fmt: skip
        lines.append(f"| {title} | {' | '.join(cells)} | {wanted} |")
    return "\n".join([_HEAD, *lines])


def measured(lines: int, arriving: int, *, with_others: bool) -> str:
    import qasync
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance() or QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "long.log"
        write_log(log, lines)
        runner = asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(application))
        with runner:
            mine = runner.run(ours(log, lines, arriving))
        peers = {"lnav": lnav, "less": less, "glogg": glogg} if with_others else {}
        return table(mine, {name: peer(log) for name, peer in peers.items() if shutil.which(name)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--arriving", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    load = os.getloadavg()[0]
    rows = measured(options.lines, options.arriving, with_others=True)
    how = f"once on {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    section = f"""## The log of a run

With `PYTHONPATH=tests python -m bench.bench_logs --lines {options.lines} --arriving {options.arriving} --write`: {how};
load before: {load:.1f}. A log of {options.lines:,} lines, in the memory of the system. The expression is `{_PATTERN}`.
Ours is a panel of a program that runs, the others are started for it. lnav runs without its screen, from its start to
its end, and indexes the whole file before it shows anything; less runs on a terminal: it opens without counting lines,
counts them where their numbers are asked for, and hides what is no hit; of glogg nothing can be asked from outside: its
figure is when it had no more work after opening. A dash: it cannot, or nobody can tell from outside when it has.

{rows}
"""
    print(section)
    if options.write:
        results.write(section)


if __name__ == "__main__":
    main()
