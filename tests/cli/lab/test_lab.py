"""The Lab seen from outside: what runs, what it holds, its end, and an empty one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from support.cli_commands import Traindeck, serving
from support.waiting import PATIENT_S
from traindeck.lab import root_folder


def put_something(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("four", encoding="utf-8")
    traindeck("obs", "mb", "obs://things").must_be(0)
    traindeck("obs", "cp", tmp_path / "x.txt", "obs://things/x.txt").must_be(0)


def test_a_lab_is_shown_and_ended(traindeck: Traindeck, tmp_path: Path) -> None:
    nothing = traindeck("lab", "status", "--json").must_be(0).document
    assert (nothing["running"], nothing["objects"], nothing["jobs"]) == (False, 0, 0)
    assert traindeck("lab", "stop", "--json").must_be(0).document["stopped"] is False
    with serving() as facts:
        put_something(traindeck, tmp_path)
        found = traindeck("lab", "status", "--json").must_be(0).document
        assert found["running"] is True
        assert (found["obs"], found["modelarts"], found["live_jobs"]) == (facts["obs"], facts["modelarts"], 0)
        assert (found["objects"], found["object_bytes"]) == (1, 4)
        assert found["total_bytes"] > 4
        words = traindeck("lab", "status").must_be(0).out
        assert facts["obs"] in words
        assert "Objects: 1" in words
        refused = traindeck("lab", "reset", "--yes").must_be(1)
        assert "A Lab is already running" in refused.said
        assert traindeck("lab", "stop", "--json").must_be(0).document["stopped"] is True
        assert traindeck("lab", "status", "--json").must_be(0).document["running"] is False


def test_the_lab_in_the_background_has_no_keys_of_who_started_it(traindeck: Traindeck) -> None:
    keys = {"HUAWEICLOUD_SDK_AK": "CALLERSKEY0123456789", "HUAWEICLOUD_SDK_SK": "s" * 40, "WANDB_API_KEY": "w" * 40}
    traindeck("obs", "ls", "--profile", "lab", environment=keys).must_be(0)
    try:
        pid = traindeck("lab", "status", "--json").must_be(0).document["pid"]
        assert not keys.keys() & psutil.Process(pid).environ().keys()
    finally:
        traindeck("lab", "stop").must_be(0)


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be made to pause there")
def test_one_that_does_not_answer_is_said_to_be_there(traindeck: Traindeck, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving():
        assert traindeck("lab", "status", "--json").must_be(0).document["responding"] is True
        pid = traindeck("lab", "status", "--json").must_be(0).document["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            with monkeypatch.context() as impatient:
                impatient.setattr(root_folder, "_ANSWER_S", 0.2)
                found = traindeck("lab", "status", "--json").must_be(0).document
                assert (found["running"], found["responding"], found["pid"]) == (True, False, pid)
                assert f"{pid} is not responding" in traindeck("lab", "status").must_be(0).out
                assert f"{pid} is not responding" in traindeck("lab", "stop").must_be(1).said
        finally:
            os.kill(pid, signal.SIGCONT)
        assert traindeck("lab", "status", "--json").must_be(0).document["responding"] is True


def test_only_who_reads_its_folder_may_end_a_lab(traindeck: Traindeck) -> None:
    with serving() as facts:
        for headers in ({}, {"X-Lab-Token": "guessed"}, {"X-Lab-Token": ""}):
            request = urllib.request.Request(facts["modelarts"] + "/lab/stop", b"", headers, method="POST")
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=PATIENT_S)
            assert refused.value.code == 403
            assert "running.json" in json.load(refused.value)["error_msg"]
            refused.value.close()
        with urllib.request.urlopen(facts["modelarts"] + "/lab/status", timeout=PATIENT_S) as answer:
            assert "token" not in json.load(answer)
        assert traindeck("lab", "status", "--json").must_be(0).document["running"] is True


def test_an_emptied_lab_keeps_its_keys(traindeck: Traindeck, tmp_path: Path) -> None:
    with serving() as facts:
        put_something(traindeck, tmp_path)
        traindeck("lab", "stop").must_be(0)
    refused = traindeck("lab", "reset").must_be(2)
    assert "Objects: 1, 4 B" in refused.said
    removed = traindeck("lab", "reset", "--yes", "--json").must_be(0).document["removed"]
    assert (removed["objects"], removed["object_bytes"]) == (1, 4)
    assert traindeck("lab", "status", "--json").must_be(0).document["objects"] == 0
    with serving() as again:
        assert again["access_key"] == facts["access_key"]
        assert traindeck("obs", "ls", "--json").must_be(0).rows == []


def test_every_engine_is_shown_with_its_python(traindeck: Traindeck, tmp_path: Path) -> None:
    rows = traindeck("lab", "engines", "--json", "--root", tmp_path).must_be(0).document["engines"]
    assert {"local-python", "TF-1.15-python3.7-aarch64"} <= {row["version"] for row in rows}
    version = ".".join(map(str, sys.version_info[:3]))
    assert {(row["python_version"], row["problem"]) for row in rows} == {(version, "")}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[engines]\ndefault = "/no/such/python"\n', "which cannot be run"),
        ("[engines\n", "cannot be read"),
        ("parallel_jobs = 0\n", "parallel_jobs must be a number"),
    ],
)
def test_a_python_that_is_none_is_told(traindeck: Traindeck, tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    rows = traindeck("lab", "engines", "--json", "--root", tmp_path).must_be(1).document["engines"]
    assert all(problem in row["problem"] for row in rows)
    assert problem in traindeck("lab", "engines", "--root", tmp_path).must_be(1).out


@pytest.mark.parametrize(
    ("language", "settings", "words"),
    [
        ("en", '[engines]\ndefault = "/no/such/python"\n', "No engine can run: "),
        ("en", '[engines]\n"local-python" = "/no/such/python"\n', "Engines that cannot run: local-python."),
        ("en", '[engines]\n"no-engine" = "python"\n', "lab.toml lists an engine the Lab does not have: no-engine"),
        ("zh_CN", "clock = 0\n", "没有引擎可以运行："),
        ("zh_CN", '[engines]\n"local-python" = "/no/such/python"\n', "/no/such/python 无法运行"),
    ],
)
def test_a_lab_that_starts_says_which_engines_cannot_run(
    tmp_path: Path, language: str, settings: str, words: str
) -> None:
    (tmp_path / "lab.toml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "traindeck", "--language", language, "lab", "serve", "--root", str(tmp_path)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    ) as process:
        assert process.stderr is not None and process.stdout is not None
        try:
            said = process.stderr.readline().decode("utf-8")
            process.stdout.readline()  # it runs: from here on a signal is an orderly end
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENT_S)  # it may have more to say
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    # Said once, however many engines are concerned, and the Lab runs nevertheless.
    assert words in said
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="makes a program with a shell script")
def test_a_program_that_is_no_python_and_an_engine_that_is_none(traindeck: Traindeck, tmp_path: Path) -> None:
    program = tmp_path / "not-python"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    named = json.dumps(str(program))
    (tmp_path / "lab.toml").write_text(
        f'[engines]\n"local-python" = {named}\n"no-engine" = {named}\n', encoding="utf-8"
    )
    answer = traindeck("lab", "engines", "--json", "--root", tmp_path).must_be(1)
    problems = {row["version"]: row["problem"] for row in answer.document["engines"] if row["problem"]}
    assert list(problems) == ["local-python"]
    assert "exit code 3" in problems["local-python"]
    assert answer.document["unknown"] == ["no-engine"]
    assert "no-engine" in answer.said
