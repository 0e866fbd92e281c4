"""A running, paid job is listed, read and stopped whatever became of the disk and the records of this computer."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from support.cli_commands import Answer, as_program
from support.places import FULL, READ_ONLY, with_home_on
from support.sample_home import quicken

if sys.platform != "linux":
    pytest.skip("disks of a test's own are Linux's", allow_module_level=True)

from support.cli_commands import Traindeck


class Elsewhere:
    """Commands for which the home is a copy of this one, on a disk that takes nothing."""

    def __init__(self, folder: Path, script: str) -> None:
        self._folder = folder
        self._home = folder / "home"
        self._disk = folder / "disk"
        self._script = script

    def __call__(self, *words: str) -> Answer:
        before = with_home_on(self._disk, self._home, self._script)
        return as_program(words, self._folder, before=before, environment={"TRAINDECK_HOME": str(self._disk)})


@pytest.mark.parametrize(
    ("script", "records"),
    [
        pytest.param(FULL, "whole", id="full"),
        pytest.param(READ_ONLY, "unreadable", id="read-only, records unreadable", marks=pytest.mark.long),
        pytest.param(READ_ONLY, "whole", id="read-only", marks=pytest.mark.long),
        pytest.param(FULL, "empty", id="full, records empty", marks=pytest.mark.long),
        pytest.param(READ_ONLY, "empty", id="read-only, records empty", marks=pytest.mark.long),
        pytest.param(FULL, "unreadable", id="full, records unreadable", marks=pytest.mark.long),
    ],
)
def test_a_running_job_is_listed_read_and_stopped_with_nothing_to_write_to(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], script: str, records: str
) -> None:
    home = tmp_path / "home"
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    sent = traindeck("job", "submit", "p", "--set", "epochs=500", "--json").must_be(0).document
    if records != "whole":
        # Nothing here knows of the run any more: only the service does.
        for left in home.glob("records.db*"):
            left.unlink()
        shutil.rmtree(home / "copies")
        (home / "runs" / sent["run"] / "run.json").unlink()
        (home / "records.db").write_bytes(b"" if records == "empty" else os.urandom(20_000))
    on_bad_disk = Elsewhere(tmp_path, script)

    listed = on_bad_disk("job", "ls", "--json").must_be(0)
    (run,) = listed.document
    assert (run["job_id"], run["name"], run["profile"]) == (sent["job_id"], sent["name"], "lab")
    assert run["state"] in ("Creating", "Pending", "Running")
    assert "cannot be written" in listed.said

    while "epoch 2/500" not in (log := on_bad_disk("job", "logs", run["name"]).must_be(0)).out:
        assert "not kept on this computer" in log.said

    refused = on_bad_disk("job", "submit", "p", "--json")
    assert refused.code != 0 and refused.error["kind"] == "local", refused.out

    assert on_bad_disk("job", "stop", run["name"], "--json").must_be(0).document["state"] == "Terminating"
    ended = on_bad_disk("job", "wait", run["name"], "--json").must_be(1).document
    assert ended["state"] == "Terminated"


@pytest.mark.parametrize(
    "script", [pytest.param(FULL, id="full"), pytest.param(READ_ONLY, id="read-only", marks=pytest.mark.long)]
)
def test_what_cannot_be_written_down_is_refused_before_the_service_is_asked(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], script: str
) -> None:
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    sent = traindeck("job", "submit", "p", "--wait", "--json").must_be(0).document
    traindeck("job", "describe", "last", "as it was").must_be(0)
    traindeck("job", "note", "last", "kept").must_be(0)
    on_bad_disk = Elsewhere(tmp_path, script)
    for words in (
        ("note", "last", "lost"), ("note", "last", "--clear"), ("tag", "last", "lost"), ("star", "last"),
        ("describe", "last", "lost"), ("rm", "last", "--yes"),
    ):  # fmt: skip
        refused = on_bad_disk("job", *words, "--json").must_be(1)
        assert refused.error["kind"] == "local" and "cannot be" in refused.error["title"], words
    assert on_bad_disk("job", "note", "last").must_be(0).out == "kept\n", "reading writes nothing"
    # The job is still there, unchanged; adopting it into another home shows what the service has.
    other = {"TRAINDECK_HOME": str(tmp_path / "other")}
    (tmp_path / "other").mkdir()
    shutil.copytree(tmp_path / "home" / "lab", tmp_path / "other" / "lab", ignore=shutil.ignore_patterns("jobs"))
    adopted = traindeck("job", "adopt", sent["job_id"], "--json", environment=other).must_be(0).document
    shown = traindeck("job", "show", "last", "--json", environment=other).must_be(0).document
    assert adopted["tags"] == [] and shown["description"] == "as it was"
