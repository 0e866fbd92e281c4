"""`job logs`: of several workers, of a time, matching, straight from the service, on a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from support.cli_commands import Traindeck
from support.places import FULL, with_home_on
from support.servers.terminal import terminal
from support.waiting import PATIENT_S
from traindeck.store.settings import SettingsFile

JOB = """
[job]
name = "talk"
target = "lab"
[code]
folder = "."
boot = "train.py"
[engine]
name = "Local-Python"
version = "local-python"
[resources]
flavor = "modelarts.vm.cpu.8u"
nodes = {nodes}
stop_after = "1h"
[logs]
to = "obs://talk/log/{{run}}/"
"""
TALK = """
import os, sys
worker = int(os.environ["VC_TASK_INDEX"])
for minute in range(worker, 6, 2):
    print(f"2031-03-01 10:{minute:02}:00 said by {worker}", flush=True)
    print(f"  and so on {minute}", flush=True)
sys.exit(int(os.environ.get("ENDS", 0)))
"""
HOSTILE = (
    "import sys\n"
    "sys.stdout.buffer.write(b'\\x1b[31mred\\x1b[0m \\x1b]0;owned\\x07\\x1b[2Jclear \\x00\\r10%\\r20%\\n')\n"
    "sys.stdout.buffer.write('损失 0.5\\n'.encode('gbk'))\n"
    "sys.exit(3)\n"
)


def submitted(traindeck: Traindeck, folder: Path, script: str, *more: str, nodes: int = 1, code: int = 0) -> str:
    if not (folder / "p").exists():
        (folder / "p").mkdir()
        traindeck("obs", "mb", "obs://talk").must_be(0)
    (folder / "p" / "train.py").write_text(script, encoding="utf-8")
    (folder / "p" / "job.toml").write_text(JOB.format(nodes=nodes), encoding="utf-8")
    run: str = traindeck("job", "submit", "p", "--yes", "--json", *more).must_be(code).document["run"]
    return run


def said_by_job(out: str) -> list[str]:
    return [line for line in out.splitlines() if "said by" in line or "and so on" in line]


def test_the_lines_of_several_workers_are_told_apart_merged_and_chosen(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    run = submitted(traindeck, tmp_path, TALK, "--wait", nodes=2)
    merged = [line for minute in range(6) for line in (
        f"[worker-{minute % 2}] 2031-03-01 10:{minute:02}:00 said by {minute % 2}",
        f"[worker-{minute % 2}]   and so on {minute}",
    )]  # fmt: skip
    assert said_by_job(traindeck("job", "logs", run, "--merged").must_be(0).out) == merged
    apart = said_by_job(traindeck("job", "logs", run).must_be(0).out)
    assert apart == sorted(merged, key=lambda line: line[:10]) and apart != merged

    one = traindeck("job", "logs", run, "--worker", "1", "--since", "2031-03-01 10:03").must_be(0).out
    assert said_by_job(one) == [line.removeprefix("[worker-1] ") for line in merged[6:] if "worker-1" in line]
    found = traindeck("job", "logs", run, "--merged", "--grep", "so on [24]").must_be(0).out.splitlines()
    assert found == ["[worker-0]   and so on 2", "[worker-0]   and so on 4"]
    (row, _) = traindeck("job", "logs", run, "--grep", "so on 3", "--json").must_be(0).rows
    assert row == {"worker": "worker-1", "line": row["line"], "text": "  and so on 3"}
    assert "enter a time such as" in traindeck("job", "logs", run, "--since", "soon").must_be(2).said

    # An expression that would go back and forth for years is done at once.
    run = submitted(traindeck, tmp_path, "print('a' * 2_000_000)\nprint('a' * 40 + 'b')", "--wait")
    assert traindeck("job", "logs", run, "--grep", "^(a+)+b$").must_be(0).out == "a" * 40 + "b\n"
    refused = traindeck("job", "logs", run, "--grep", r"(a)\1").must_be(2)
    assert "is not a regular expression" in refused.said and "back-references" in refused.said


def test_rules_are_listed_tried_and_applied_by_who_follows(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    assert "No rules yet" in traindeck("job", "rules").must_be(0).said
    rules = tmp_path / "home" / "rules.toml"
    traindeck("job", "rules", "--init").must_be(0)
    assert "[[rule]]" in rules.read_text("utf-8")
    rules.write_text("[[rule]]\nname = 'oom'\npattern = 'out of memory'\ndoes = 'stop'\n", encoding="utf-8")
    os.utime(rules, (1, 1))
    (rule,) = traindeck("job", "rules", "--json").must_be(0).document["rules"]
    assert (rule["name"], rule["does"]) == ("oom", "stop")

    script = "import time\nprint('CUDA out of memory', flush=True)\ntime.sleep(300)\n"
    run = submitted(traindeck, tmp_path, script)
    followed = traindeck("job", "logs", run, "-f", "--save", "--exit-status").must_be(1)
    assert "oom" in followed.said and "CUDA out of memory" in followed.out
    assert traindeck("job", "show", run, "--json").must_be(0).document["state"] == "Terminated"
    (copy,) = (tmp_path / "p" / "MA_LOG").rglob("worker-0.log")
    assert copy.read_bytes() == followed.raw

    found = traindeck("job", "rules", "--test", run).must_be(0)
    assert found.out == "CUDA out of memory\n" and "oom: 1 line" in found.said
    assert traindeck("job", "rules", "--test", str(copy), "--json").must_be(0).document["rule"] == "oom"
    rules.write_text("[[rule]]\nname = 'a'\npattern = '('\n", encoding="utf-8")
    assert "is not a regular expression" in traindeck("job", "rules").must_be(2).said


class Hook(BaseHTTPRequestHandler):
    """Somebody's server: it notes what it is told, and refuses while it is down."""

    told: ClassVar[list[dict[str, str]]] = []
    is_down = True

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(503 if Hook.is_down else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if not Hook.is_down:
            Hook.told.append(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook"
        server.shutdown()
        thread.join()


def use(home: Path, **chosen: str | int | bool) -> None:
    SettingsFile(home / "settings.json").change(lambda settings: settings.with_values(chosen))


def test_who_waits_for_a_run_tells_the_webhook_and_what_it_did_not_take_is_kept(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], hook: str
) -> None:
    first = submitted(traindeck, tmp_path, "print('on')", "--wait")
    assert not (tmp_path / "home" / "notices").exists(), "nobody asked for it"
    use(tmp_path / "home", webhook=hook)
    rules = tmp_path / "home" / "rules.toml"
    rules.write_text("[[rule]]\nname = 'oom'\npattern = 'out of memory'\n", encoding="utf-8")
    os.utime(rules, (1, 1))
    answer = traindeck("job", "rerun", first, "--yes", "--wait").must_be(0)
    assert "sent to the webhook" in answer.said and "not delivered" in answer.said
    assert not Hook.told
    Hook.is_down = False
    failing = submitted(traindeck, tmp_path, "raise SystemExit('out of memory')", "--wait", code=1)
    states = {(one["kind"], one["state"]) for one in Hook.told}
    assert sorted(states) == [("line_found", ""), ("run_failed", "Failed"), ("run_finished", "Completed")], Hook.told
    assert next(one["run"] for one in Hook.told if one["kind"] == "run_failed") == failing
    assert "out of memory" not in "".join(map(str, Hook.told)), "lines of logs stay here"


@pytest.mark.long
def test_who_follows_a_run_says_that_it_may_hang(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], hook: str
) -> None:
    """A minute is the shortest silence that can be asked for."""
    submitted(traindeck, tmp_path, "print('on')", "--wait")
    use(tmp_path / "home", webhook=hook, hang_minutes=1)
    Hook.is_down = False
    run = submitted(traindeck, tmp_path, "import time\nprint('epoch 1', flush=True)\ntime.sleep(150)")
    followed = traindeck("job", "logs", run, "-f").must_be(0)
    assert followed.said.count("may hang: no output and no activity for") == 1
    assert "does not stop it by itself" in followed.said
    assert [one["kind"] for one in Hook.told].count("run_hangs") == 1


@pytest.mark.skipif(os.name == "nt", reason="pseudo terminals are POSIX")
def test_a_terminal_gets_colours_and_a_pipe_the_bytes(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    run = submitted(traindeck, tmp_path, HOSTILE, "--wait", code=1)
    traindeck("job", "logs", run, "--exit-status").must_be(1)
    traindeck("job", "logs", run, "-f", "--exit-status").must_be(1)
    raw = traindeck("job", "logs", run).must_be(0).raw
    assert b"\x1b]0;owned\x07\x1b[2Jclear \x00\r10%\r20%\n" in raw and "损失".encode("gbk") in raw
    with terminal(tmp_path, "job", "logs", run, "--language", "en") as seen:
        assert seen.end() == 0
    assert "20%" in seen.seen and "损失 0.5" in seen.seen, repr(seen.seen)
    assert "owned" not in seen.seen and "\x1b[2J" not in seen.seen and "\x00" not in seen.seen


@pytest.mark.skipif(sys.platform != "linux", reason="disks of a test's own are Linux's")
def test_a_log_is_followed_to_its_end_with_nothing_to_write_to(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    script = "import time\nfor n in range(40):\n    print('step', n, flush=True)\n    time.sleep(0.05)\n"
    run = submitted(traindeck, tmp_path, script)
    disk = tmp_path / "disk"
    before = with_home_on(disk, tmp_path / "home", FULL)
    command = [*before, sys.executable, "-m", "traindeck", "job", "logs", run, "-f", "--exit-status"]
    environment = os.environ | {"TRAINDECK_HOME": str(disk)}
    done = subprocess.run(
        command, capture_output=True, timeout=PATIENT_S, env=environment, stdin=subprocess.DEVNULL, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "not kept on this computer" in done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if line.startswith("step")] == [f"step {n}" for n in range(40)]
    assert done.stdout == traindeck("job", "logs", run).must_be(0).raw


@pytest.mark.skipif(os.name == "nt", reason="a pipe is closed otherwise there")
def test_following_ends_with_its_reader_and_with_an_interrupt(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    script = "import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.05)\n"
    run = submitted(traindeck, tmp_path, script)
    command = [sys.executable, "-m", "traindeck", "job", "logs", run, "-f"]
    for code in (0, 130):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=tmp_path
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            while b"on\n" not in process.stdout.readline():
                continue
            if code:
                process.send_signal(signal.SIGINT)
            else:
                process.stdout.close()
            assert process.wait(PATIENT_S) == code, process.stderr.read()
            assert b"Traceback" not in process.stderr.read()
    traindeck("job", "stop", run).must_be(0)
