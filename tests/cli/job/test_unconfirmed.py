"""A submission whose program died before the answer, seen from the commands that come after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.servers.beside import beside
from support.servers.silent import SilentServer
from traindeck.cli.job import waiting
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.texts import exact_words
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs import submission
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore

SPEC = JobSpec(name="digits", outputs=(Channel("train_url", "obs://digits/{run}/"),))


def left_behind(
    home: Path, state: RunState, profile: str, checked: datetime | None = None, submitted: datetime | None = None
) -> None:
    """What the records hold when a program was killed in this state."""

    async def write() -> None:
        writer = BlockingCalls(1, "records")
        try:
            with closing(RunStore(RecordsFile(home / "records.db", home / "runs"), writer)) as records:
                await records.open()
                run = Run("aabb0011", 0, "digits-1118-1200-abcd", profile, SPEC, state, datetime.now(UTC))
                run = replace(run, job_id="job-1" if state.is_remote else "", checked=checked, submitted=submitted)
                await records.add(run)
        finally:
            writer.close()

    asyncio.run(write())


@contextmanager
def silent_account() -> Iterator[dict[str, str]]:
    """The environment of an account whose services take the connection and say no more."""
    names = ("TRAINDECK_OBS_ENDPOINT", "TRAINDECK_MODELARTS_ENDPOINT", "TRAINDECK_IAM_ENDPOINT")
    keys = {"HUAWEICLOUD_SDK_AK": "AK" * 10, "HUAWEICLOUD_SDK_SK": "sk" * 20, "HUAWEICLOUD_SDK_REGION": "cn-north-4"}
    with beside(SilentServer()) as server:
        yield dict.fromkeys(names, server.url) | keys


def test_one_that_was_never_sent_is_said_to_be_so(traindeck: Traindeck, tmp_path: Path) -> None:
    left_behind(tmp_path / "home", RunState.PREPARING, "lab")
    (run,) = traindeck("job", "ls", "--json").must_be(0).document
    assert run["state"] == "NotSent"
    assert traindeck("job", "wait", "last", "--json").must_be(1).document["state"] == "NotSent"
    assert "No run matches" in traindeck("job", "ls", "--profile", "another").must_be(0).said
    assert traindeck("job", "rm", "last", "--yes").must_be(0).out
    assert "No runs yet" in traindeck("job", "ls").must_be(0).said


@pytest.mark.parametrize("state", [RunState.SUBMITTING, RunState.UNCONFIRMED])
def test_one_that_cannot_be_looked_for_stays_unknown_and_blocks_nothing(
    traindeck: Traindeck, tmp_path: Path, state: RunState
) -> None:
    left_behind(tmp_path / "home", state, "gone")
    listed = traindeck("job", "ls", "--json").must_be(0)
    assert listed.document[0]["state"] == state.value
    assert "may exist and be charged" in listed.said
    assert "gone" in listed.said
    shown = traindeck("job", "show", "last", "--json").must_be(0)
    assert shown.document["state"] == state.value
    assert ("Checking again" in shown.said) is (state is RunState.UNCONFIRMED)
    assert traindeck("job", "wait", "last", "--json").must_be(4).error["kind"] == "not_found"


def test_one_that_is_not_at_the_service_is_settled_with_the_time_of_its_answer(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "LOOK_UPS_S", (0.0, 0.0))
    left_behind(tmp_path / "home", RunState.UNCONFIRMED, "lab")
    shown = traindeck("job", "show", "last").must_be(0)
    assert "Checking again" in shown.said and "responded that it has no job of this name" in shown.said
    assert "responded that it has no job of this name" in shown.out
    waited = traindeck("job", "wait", "last", "--json").must_be(1)
    assert waited.document["state"] == "NotSent"


@pytest.mark.parametrize("state", [RunState.SUBMITTING, RunState.UNCONFIRMED])
def test_one_of_which_nothing_is_known_is_let_go_of_after_a_warning(
    traindeck: Traindeck, tmp_path: Path, state: RunState
) -> None:
    left_behind(tmp_path / "home", state, "gone")
    refused = traindeck("job", "rm", "last").must_be(2)
    assert "If its job exists, it goes on and is charged" in refused.said and "--yes" in refused.said
    assert traindeck("job", "rm", "last", "--yes", "--json").must_be(0).document["removed"] is True
    assert traindeck("job", "ls", "--json").must_be(0).document == []


def test_an_empty_word_is_no_run_though_there_is_only_one(traindeck: Traindeck, tmp_path: Path) -> None:
    """An unset variable of a script."""
    left_behind(tmp_path / "home", RunState.NOT_SENT, "lab")
    for words in (("job", "rm", "", "--yes"), ("job", "stop", " "), ("job", "show", "")):
        assert "No run was specified" in traindeck(*words).must_be(2).said
    assert len(traindeck("job", "ls", "--json").document) == 1
    assert "No job was specified" in traindeck("job", "adopt", " ").must_be(2).said


def test_another_one_beside_it_wants_a_yes(traindeck: Traindeck, tmp_path: Path) -> None:
    left_behind(tmp_path / "home", RunState.UNCONFIRMED, "gone")
    refused = traindeck("job", "rerun", "last").must_be(2)
    assert "it may run and be charged already" in refused.said and "--yes" in refused.said


def test_what_was_known_last_is_shown_when_no_answer_comes_in_time(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_LOOK_S", 0.0)
    monkeypatch.setattr(waiting, "_SILENCE_S", 0.0)
    left_behind(tmp_path / "home", RunState.RUNNING, "lab")
    listed = traindeck("job", "ls", "--json").must_be(0)
    assert listed.document[0]["state"] == "Running"
    assert "no response in time" in listed.said


def test_a_service_that_says_nothing_is_not_waited_for_and_the_time_of_the_last_truth_is_told(
    traindeck: Traindeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_SILENCE_S", 0.3)
    monkeypatch.setattr(waiting, "_LOOK_S", 3600.0)
    seen = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    left_behind(tmp_path / "home", RunState.RUNNING, "environment", seen)
    with silent_account() as there:
        listed = traindeck("job", "ls", "--json", environment=there).must_be(0)
        printed = traindeck("job", "logs", "last", environment=there).must_be(0)
    assert listed.document[0]["state"] == "Running"
    assert "no response in time" in listed.said and exact_words(seen) in listed.said
    assert "No output of digits-1118-1200-abcd is known yet" in printed.said, "whether there is any, nobody said"


def test_one_of_which_nothing_is_known_is_shown_soon_where_the_service_says_nothing(
    traindeck: Traindeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_SETTLE_S", 0.3)
    left_behind(tmp_path / "home", RunState.UNCONFIRMED, "environment")
    with silent_account() as there:
        shown = traindeck("job", "show", "last", "--json", environment=there).must_be(0)
    assert shown.document["state"] == "Unconfirmed" and "no response in time" in shown.said


def test_an_account_that_says_nothing_of_a_late_job_holds_up_no_command_for_long(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    left_behind(tmp_path / "home", RunState.NOT_SENT, "environment", now, now)
    with silent_account() as there:
        monkeypatch.setattr(waiting, "_SETTLE_S", 3600.0)
        traindeck("job", "clean", "--profile", "lab", "--yes", environment=there).must_be(0)
        monkeypatch.setattr(waiting, "_SETTLE_S", 0.3)
        assert traindeck("job", "wait", "last", "--json", environment=there).must_be(1).document["state"] == "NotSent"
