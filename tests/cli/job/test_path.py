"""The whole path as a script walks it, against the real Lab; once with a process of its own for every step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.cli_commands import Traindeck
from support.sample_home import quicken
from support.waiting import PATIENT_S


def test_a_job_from_the_first_file_to_the_fetched_outputs(
    program: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    made = program("job", "init", "项目", "--json").must_be(0)
    assert made.document == {"job_file": str(Path("项目", "job.toml")), "sample": True}
    quicken(tmp_path / "项目")

    followed = program("job", "submit", "项目/job.toml", "--set", "epochs=1", "--wait", "--follow").must_be(0)
    assert "epoch 1/1" in followed.out
    assert "Completed" in followed.said
    assert "Completed" not in followed.out.splitlines()[0]

    (listed,) = program("job", "ls", "--json").must_be(0).document
    assert (listed["state"], listed["profile"]) == ("Completed", "lab")
    assert listed["run"] in program("job", "ls").must_be(0).out

    shown = program("job", "show", listed["run"][:4], "--json").must_be(0).document
    assert {name: shown[name] for name in ("run", "name", "job_id", "state", "profile")} == {
        name: listed[name] for name in ("run", "name", "job_id", "state", "profile")
    }
    assert shown["parameters"]["epochs"] == 1
    assert shown["job_id"]
    assert listed["name"] in program("job", "show", "last").must_be(0).out

    log = program("job", "logs", "last").must_be(0)
    assert log.raw == followed.raw, "followed or read afterwards: the same bytes"
    if os.name != "nt":  # a pipe is closed otherwise there
        for more in ((), ("--json",)):
            reading, writing = os.pipe()
            os.close(reading)  # nobody reads, not even the first line
            command = [sys.executable, "-m", "traindeck", "job", "logs", "last", *more]
            heard = subprocess.run(
                command, stdout=writing, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=PATIENT_S
            )
            os.close(writing)
            assert (heard.returncode, heard.stderr) == (0, b"")
    found = program("job", "logs", "last", "--worker", "0", "--grep", r"test_accuracy \d").must_be(0).out.splitlines()
    assert found == [line for line in log.out.splitlines() if "test_accuracy 0" in line]
    *lines, last = program("job", "logs", "last", "--json").must_be(0).rows
    assert "\n".join(line["text"] for line in lines) == log.out.rstrip("\n")
    assert last["run"] == listed["run"]
    assert "worker-7" in program("job", "logs", "last", "--worker", "7").must_be(4).said.replace("“7”", "worker-7")

    again = program("job", "rerun", "last", "--set", "lr=0.1", "--wait", "--json").must_be(0).document
    assert (again["state"], again["rerun_of"]) == ("Completed", listed["run"])
    assert program("job", "show", "last", "--json").document["parameters"]["lr"] == 0.1

    fetched = program("job", "fetch", again["run"], "--to", "结果", "--json").must_be(0).document
    names = {Path(file).relative_to("结果").as_posix() for file in fetched["files"]}
    assert names == {"metrics.json", "model.json", "ckpt/epoch-001.json"}
    json.loads((tmp_path / "结果" / "metrics.json").read_text(encoding="utf-8"))

    removed = program("job", "rm", again["run"], "--yes", "--json").must_be(0).document
    assert removed["removed"] is True
    assert "epoch 1/1" in (tmp_path / "home" / "runs" / again["run"] / "log" / "worker-0.log").read_text("utf-8")
    assert [run["run"] for run in program("job", "ls", "--json").document] == [listed["run"]]


def test_a_failed_job_fails_the_command_that_waits_for_it(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("job", "init", "p").must_be(0)
    (tmp_path / "p" / "train.py").write_text("raise SystemExit('no data today')", encoding="utf-8")
    answer = traindeck("job", "submit", "p", "--wait", "--follow", "--json").must_be(1)
    assert answer.document["state"] == "Failed"
    assert "no data today" in answer.said, "with --json the log is not on standard output"
    ended = traindeck("job", "wait", "last", "--json").must_be(1)
    assert ended.document["run"] == answer.document["run"]
    assert "job logs" in ended.said


def test_a_running_job_is_stopped_and_waited_for(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    sent = traindeck("job", "submit", "p", "--set", "epochs=500", "--json").must_be(0).document
    assert not traindeck("job", "rm", sent["run"]).must_be(1).out
    assert traindeck("job", "stop", sent["run"], "--json").must_be(0).document["run"] == sent["run"]
    assert traindeck("job", "wait", sent["run"], "--json").must_be(1).document["state"] == "Terminated"


@pytest.mark.skipif(os.name == "nt", reason="a signal to one process alone is POSIX")
def test_ctrl_c_ends_the_waiting_and_not_the_job(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    with subprocess.Popen(
        [sys.executable, "-m", "traindeck", "job", "submit", "p", "--set", "epochs=500", "--follow"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while b"epoch 1/500" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 130
    assert b"continues to run" in said
    assert b"Traceback" not in said
    assert traindeck("job", "show", "last", "--json").must_be(0).document["state"] == "Running"
    traindeck("job", "stop", "last").must_be(0)
    assert traindeck("job", "wait", "last", "--json").must_be(1).document["state"] == "Terminated"


def test_a_command_starts_the_lab_it_needs_and_the_next_one_uses_it(traindeck: Traindeck, tmp_path: Path) -> None:
    running = tmp_path / "home" / "lab" / "running.json"
    try:
        traindeck("engines").must_be(0)
        first = json.loads(running.read_text(encoding="utf-8"))
        traindeck("flavors", "--json").must_be(0)
        assert json.loads(running.read_text(encoding="utf-8")) == first
    finally:
        process = psutil.Process(json.loads(running.read_text(encoding="utf-8"))["pid"])
        process.terminate()
        process.wait(PATIENT_S)


def test_code_that_is_already_there_gets_a_commented_file_for_it(traindeck: Traindeck, tmp_path: Path) -> None:
    folder = tmp_path / "my code"
    folder.mkdir()
    (folder / "fit.py").write_text("print('hello')\n", encoding="utf-8")
    made = traindeck("job", "init", folder, "--json").must_be(0)
    assert made.document["sample"] is False
    source = (folder / "job.toml").read_text(encoding="utf-8")
    assert 'boot = "fit.py"' in source
    assert 'name = "my-code"' in source
    assert source.count("#") > 8
    again = traindeck("job", "init", folder).must_be(1)
    assert "already exists" in again.said
    assert (folder / "job.toml").read_text(encoding="utf-8") == source


def test_a_job_file_without_an_end_is_not_read_to_it(traindeck: Traindeck, tmp_path: Path) -> None:
    with (tmp_path / "job.toml").open("wb") as file:
        file.truncate(17 << 20)
    for words in (("submit", "job.toml"), ("submit", ".")):
        assert "is too large" in traindeck("job", *words).must_be(2).said
