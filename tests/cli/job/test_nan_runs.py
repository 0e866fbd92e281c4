"""A training whose loss becomes NaN, through the Lab: no command hides it, and it is announced once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.cli_commands import Traindeck

DIVERGES = """
import argparse, math
parser = argparse.ArgumentParser()
parser.add_argument("--bad", default="")
given, _ = parser.parse_known_args()
for step in range(100):
    loss = 1 / (step + 1) if step < 19 or not given.bad else float(given.bad.strip('x'))
    print(f"step {step} loss {loss:.4f}", flush=True)
"""


@pytest.fixture
def job(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> Path:
    traindeck("job", "init", "p").must_be(0)
    (tmp_path / "p" / "train.py").write_text(DIVERGES, encoding="utf-8")
    return tmp_path / "p"


def submitted(traindeck: Traindeck, *words: str) -> tuple[str, str]:
    """Its id, and what was said."""
    answer = traindeck("job", "submit", "p", "--yes", *words, "--json").must_be(0)
    return str(answer.document["run"]), answer.said


def kept_events(home: Path) -> list[tuple[str, str]]:
    if not (home / "events.db").exists():
        return []
    with closing(sqlite3.connect(home / "events.db")) as db:
        return [(row[0], row[1]) for row in db.execute("SELECT notice, mark FROM events ORDER BY number")]


def test_an_end_that_another_command_saw_first_is_announced_by_the_one_that_waits(
    traindeck: Traindeck, tmp_path: Path, job: Path
) -> None:
    run, _ = submitted(traindeck)
    while traindeck("job", "ls", "--json").must_be(0).document[0]["state"] != "Completed":
        assert kept_events(tmp_path / "home") == [], "a list announces nothing"
    assert kept_events(tmp_path / "home") == []
    for _ in range(2):
        traindeck("job", "wait", run).must_be(0)
        assert kept_events(tmp_path / "home") == [("run_finished", f"run {run} Completed")]


def test_the_last_value_of_a_run_that_diverged_is_nan_in_every_command(
    traindeck: Traindeck, tmp_path: Path, job: Path
) -> None:
    bad, said = submitted(traindeck, "--set", "bad=xnan", "--wait")
    assert said.count("loss is NaN") == 1
    worst, _ = submitted(traindeck, "--set", "bad=x-inf", "--wait")
    good, said = submitted(traindeck, "--wait")
    assert " is NaN" not in said
    assert "NaN (0.0526 … 1)" in traindeck("job", "show", bad).must_be(0).out
    metrics = traindeck("job", "metrics", bad).must_be(0).out
    assert "loss is not a number any more, first in: step 19 loss nan" in metrics
    row = next(line for line in metrics.splitlines() if line.endswith("●"))
    assert row.split()[:4] == ["loss", "NaN", "0.0526", "1"]
    document = traindeck("job", "metrics", bad, "--json").must_be(0).document
    assert document["values"]["loss"] == document["not_finite"]["value"] == "NaN"
    assert document["curves"]["loss"][-1]["value"] == "NaN"
    assert traindeck("job", "metrics", worst, "--csv").must_be(0).out.splitlines()[-1].endswith("-inf")
    compared = traindeck("job", "compare", bad, good, "--json").must_be(0).document
    assert ["NaN", "0.01"] in [row["values"] for row in compared["rows"] if row["name"] == "loss"]

    best = traindeck("job", "ls", "--best", "loss", "--json").must_be(0)
    assert [run["run"] for run in best.document] == [good, worst, bad], "a run that diverged is never the best"
    assert best.document[2]["metrics"]["loss"] == {"last": "NaN", "lowest": 0.0526, "highest": 1.0}
    json.dumps(best.document, allow_nan=False)
    shown = traindeck("job", "ls", "--best", "loss").must_be(0).out.splitlines()
    assert "NaN" in shown[-1] and "-inf" in shown[-2] and "0.01" in shown[-3]
    assert traindeck("job", "ls", "--best", "loss:max", "--json").document[0]["run"] == good

    events = kept_events(tmp_path / "home")
    assert events.count(("run_nan", f"nan {bad}")) == 1 and events.count(("run_nan", f"nan {worst}")) == 1
    assert ("run_finished", f"run {good} Completed") in events
    again = traindeck("job", "wait", bad).must_be(0)
    assert kept_events(tmp_path / "home") == events and "Completed" in again.out
    assert " is NaN" not in again.said


def test_a_run_that_ended_long_ago_is_no_news(traindeck: Traindeck, tmp_path: Path, job: Path) -> None:
    run, _ = submitted(traindeck, "--set", "bad=xnan", "--wait")
    with closing(sqlite3.connect(tmp_path / "home" / "events.db")) as db, db:
        db.execute("DELETE FROM events")
    with closing(sqlite3.connect(tmp_path / "home" / "records.db")) as db, db:
        db.execute("UPDATE runs SET ended = '2026-01-01T00:00:00+00:00', created = '2026-01-01T00:00:00+00:00'")
    again = traindeck("job", "wait", run).must_be(0)
    assert " is NaN" not in again.said and kept_events(tmp_path / "home") == []
