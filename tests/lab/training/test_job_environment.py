"""Which Python runs a job, how its places are spelled, and which processes are its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import PATIENT_S
from traindeck.lab.training.lab_settings import SettingsError
from traindeck.lab.training.running.interpreters import Interpreters, NoInterpreterError
from traindeck.lab.training.running.job_files import ObsPath
from traindeck.lab.training.running.process_tree import ProcessTree


def test_the_environment_of_traindeck_itself_is_not_used(tmp_path: Path) -> None:
    python = Interpreters(tmp_path).for_engine("local-python")
    ask = "import sys; print(sys.prefix == sys.base_prefix)"
    answer = subprocess.run([python, "-c", ask], capture_output=True, text=True, encoding="utf-8", check=True)
    assert answer.stdout.strip() == "True"


@pytest.mark.skipif(sys.platform == "win32", reason="makes a program with a shell script")
def test_a_frozen_program_looks_for_a_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoInterpreterError, match="no Python was found"):
        Interpreters(tmp_path).for_engine("local-python")
    program = tmp_path / "python3"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert Interpreters(tmp_path).for_engine("local-python") == program


@pytest.mark.parametrize("text", ["[engines", "engines = 3", "\udcff"])
def test_settings_that_cannot_be_read_are_named(tmp_path: Path, text: str) -> None:
    settings = tmp_path / "lab.toml"
    settings.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=r"lab\.toml"):
        Interpreters(tmp_path).for_engine("local-python")


BUCKETS = st.from_regex(r"[a-z0-9][a-z0-9.-]{1,20}[a-z0-9]", fullmatch=True)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).filter(lambda key: not key.startswith("/"))


@given(BUCKETS, KEYS)
def test_all_spellings_of_a_place_are_one(bucket: str, key: str) -> None:
    spellings = [f"{start}{bucket}/{key}" for start in ("", "/", "obs://", "s3://", "obs:/")]
    assert {ObsPath.parse(spelling) for spelling in spellings} == {ObsPath(bucket, key)}
    assert ObsPath.parse(str(ObsPath(bucket, key))) == ObsPath(bucket, key)


@pytest.mark.parametrize("text", ["", "/", "//", "///x", "obs://", "s3:///key"])
def test_a_place_without_a_bucket_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an OBS path"):
        ObsPath.parse(text)


def test_a_process_nobody_recorded_is_found_by_its_variable() -> None:
    environment = {**os.environ, "MA_VJ_NAME": "ma-job-of-this-test"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environment) as stray:
        try:
            assert ProcessTree("of-another-test").end(0.1)
            assert stray.poll() is None
            assert ProcessTree("of-this-test").end(5)
            assert stray.wait(PATIENT_S) != 0
        finally:
            stray.kill()
