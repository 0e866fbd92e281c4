"""Several runs stopped or deleted by one command."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from traindeck.cli.job.several import SeveralRuns
from traindeck.cli.main import Call
from traindeck.cli.output import Output
from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore

SPEC = JobSpec(name="digits", outputs=(Channel("train_url", "obs://digits/{run}/"),))


@pytest.fixture
def recorded(tmp_path: Path) -> list[str]:
    """The ids of two that were never submitted, of one that ended, and of one of which that is not known."""
    states = (RunState.NOT_SENT, RunState.NOT_SENT, RunState.COMPLETED, RunState.UNCONFIRMED)
    ids = [f"aabb00{number}1" for number in range(len(states))]

    async def write() -> None:
        writer = BlockingCalls(1, "records")
        try:
            home = tmp_path / "home"
            with closing(RunStore(RecordsFile(home / "records.db", home / "runs"), writer)) as records:
                await records.open()
                for run, state in zip(ids, states, strict=True):
                    await records.add(Run(run, 0, f"digits-{run}", "gone", SPEC, state, datetime.now(UTC)))
        finally:
            writer.close()

    asyncio.run(write())
    return ids


def test_all_are_named_before_one_confirmation_and_each_goes_once(traindeck: Traindeck, recorded: list[str]) -> None:
    first, second, over, unknown = recorded
    named = ("job", "rm", "1", first, over, "digits-aabb0031", "nobody")
    refused = traindeck(*named).must_be(2)
    for words in ("digits-aabb0001", "3 records", "runs and their jobs are deleted only when confirmed", "--yes"):
        assert words in refused.said
    assert "If its job exists" in refused.said
    gone = traindeck(*named, "-y", "--json").must_be(4)
    assert [run["run"] for run in gone.document["runs"]] == [first, over, unknown]
    assert all(run["removed"] for run in gone.document["runs"])
    assert [one["asked"] for one in gone.document["failed"]] == ["nobody"] and "× nobody" in gone.said
    assert [run["run"] for run in traindeck("job", "ls", "--json").document] == [second]
    assert traindeck("job", "rm", "last", "-y", "last", "--json").must_be(0).document["run"] == second


def test_what_cannot_be_stopped_keeps_nothing_else_from_it(traindeck: Traindeck, recorded: list[str]) -> None:
    first, _, over, unknown = recorded
    stopped = traindeck("job", "stop", first, over, unknown, "aabb", "--json").must_be(2)
    assert [run["run"] for run in stopped.document["runs"]] == [over]
    assert [one["asked"] for one in stopped.document["failed"]] == ["aabb", f"digits-{first}", f"digits-{unknown}"]
    assert "matches 4 runs" in stopped.document["failed"][0]["error"]


def test_a_service_that_fails_keeps_no_record_here_from_being_deleted() -> None:
    runs = [Run(f"r{number}", number, f"digits-{number}", "work", SPEC, RunState.COMPLETED, datetime.now(UTC),
                job_id=job_id) for number, job_id in enumerate(("job-0", "job-1", ""))]  # fmt: skip
    several, tried = SeveralRuns(Call(Namespace(runs=["0", "1", "2"]), Output())), list[str]()

    async def act(run: Run) -> None:
        tried.append(run.id)
        if run.job_id:
            raise ServiceTrouble(text("No response."), text(""))

    assert asyncio.run(several.each(runs, act)) == runs[2:]
    assert tried == ["r0", "r2"], "the service is asked once"


def test_two_that_run_are_stopped_with_one_confirmation(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("job", "init", "p").must_be(0)
    (tmp_path / "p" / "train.py").write_text("import sys, time\nwhile sys.argv:\n    time.sleep(1)\n")
    sent = ("job", "submit", "p", "-y", "--json")
    ids = [traindeck(*sent).must_be(0).document["run"] for _ in range(2)]
    unasked = traindeck("job", "stop", *ids).must_be(2)
    assert unasked.said.count("To be stopped: digits-") == 2 and "--yes" in unasked.said
    stopped = traindeck("job", "stop", *ids, "last", "--yes", "--json").must_be(0).document
    assert [run["run"] for run in stopped["runs"]] == ids and stopped["failed"] == []
    assert {run["state"] for run in stopped["runs"]} <= {"Terminating", "Terminated"}
