"""The runs in a real SQLite file."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.texts import CHINESE, say, text
from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore

WHEN = datetime(2026, 11, 18, 12, 0, 0, 123456, tzinfo=UTC)
SPEC = JobSpec(
    name="digits", outputs=(Channel("train_url", "obs://digits/{run}/"),), parameters=(("lr", 0.1), ("on", True))
)


def run(run_id: str, **changes: Any) -> Run:
    return replace(Run(run_id, 0, f"digits-{run_id}", "lab", SPEC, RunState.PREPARING, WHEN), **changes)


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[RunStore]:
    writer = BlockingCalls(1, "records")
    store = RunStore(RecordsFile(path, path.parent / "runs"), writer)
    await store.open()
    try:
        with closing(store):
            yield store
    finally:
        writer.close()


async def test_a_run_comes_back_as_it_went_in(tmp_path: Path) -> None:
    full = run(
        "aa11", bundle="b", code_url="obs://digits/c/", job_id="j", phase="Running", reason="because", submitted=WHEN,
        started=WHEN, ended=WHEN, duration_ms=12, resubmission_of="old", checked=WHEN, tasks=("worker-0", "worker-1"),
    )  # fmt: skip
    async with opened(tmp_path / "records.db") as store:
        kept = await store.add(full)
    async with opened(tmp_path / "records.db") as store:
        assert await store.get("aa11") == kept == replace(full, number=1)


async def test_a_reason_is_told_in_the_language_in_use(tmp_path: Path) -> None:
    reason = text("Stopped before the job was submitted.")
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("ours", reason=reason))
        await store.add(run("theirs", reason="exit code {7}"))
        assert (await store.change("theirs", checked=WHEN)).reason == "exit code {7}"
    async with opened(tmp_path / "records.db") as store:
        theirs, ours = await store.all()
        assert theirs.reason == "exit code {7}" and ours.reason == reason
        assert str(ours.reason) == "Stopped before the job was submitted."
        language.speak(CHINESE)
        assert str(ours.reason) == say("Stopped before the job was submitted.") != reason.english
        with closing(sqlite3.connect(tmp_path / "records.db")) as db:
            (kept,) = db.execute("SELECT reason FROM transitions WHERE run_id = 'ours'").fetchone()
        assert kept_errors.words_from_json(kept) == reason


async def test_a_reason_of_an_older_program_is_shown_as_it_was_written(tmp_path: Path) -> None:
    """Also beside what is found damaged since."""
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("old"))
        with closing(sqlite3.connect(tmp_path / "records.db")) as other:
            other.execute("UPDATE runs SET reason = '任务提交前已停止。', ended = 'never'")
            other.commit()
        (old,) = await store.all()
        assert str(old.reason).endswith(": ended. 任务提交前已停止。")
        again = await store.change("old", reason=old.reason, ended=None)
        assert again.reason == old.reason


async def test_only_what_is_not_over_is_live_and_the_newest_is_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "records.db") as store:
        for index, state in enumerate(RunState):
            await store.add(run(f"r{index:02}", state=state))
        assert [kept.state for kept in await store.all()] == list(reversed(RunState))
        assert {kept.state for kept in await store.live()} == {state for state in RunState if not state.is_over}
        assert len(await store.all(3)) == 3


async def test_a_beginning_is_taken_letter_by_letter(tmp_path: Path) -> None:
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("aa11", name="ab_c-1"))
        await store.add(run("bb22", name="abXc-2"))
        assert [kept.id for kept in await store.matching("ab_")] == ["aa11"]
        assert [kept.id for kept in await store.matching("ab")] == ["bb22", "aa11"]
        assert [kept.id for kept in await store.matching("bb")] == ["bb22"]
        assert await store.matching("%") == []


async def test_a_change_of_state_leaves_a_line_and_other_changes_do_not(tmp_path: Path) -> None:
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("aa11"))
        await store.change("aa11", state=RunState.RUNNING, phase="Running")
        await store.change("aa11", checked=WHEN)
        await store.change("aa11", state=RunState.COMPLETED, phase="Completed")
    with closing(sqlite3.connect(tmp_path / "records.db")) as db:
        assert [row[0] for row in db.execute("SELECT state FROM transitions")] == ["Preparing", "Running", "Completed"]


async def test_what_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    async with opened(tmp_path / "records.db") as store:
        with pytest.raises(NotFound):
            await store.change("gone", state=RunState.RUNNING)
        assert await store.get("gone") is None


WRITER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from store.test_runs import opened, run
async def main():
    async with opened(Path(sys.argv[1])) as store:
        for index in range(10_000):
            await store.add(run(f"{index:06}"))
            print(index, flush=True)
asyncio.run(main())
"""


async def test_every_run_that_was_confirmed_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parents[1])], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer.stdout:
        confirmed = [int(writer.stdout.readline()) for _ in range(20)][-1]
        os.kill(writer.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        confirmed = max([confirmed, *map(int, writer.stdout.read().split("\n")[:-1])])
    writer.wait()
    async with opened(path) as store:
        kept = {entry.id for entry in await store.all()}
    assert {f"{index:06}" for index in range(confirmed + 1)} <= kept


DAMAGE: dict[str, list[Any]] = {
    "spec": ["[job", "", "spec = 3", b"\xff\xfe"],
    "state": ["Melting", ""],
    "tasks": ["[", "7", "null"],
    "created": ["yesterday", ""],
    "ended": ["never"],
    "duration_ms": ["long"],
    "name": [b"\xb5\xd1"],
}


@pytest.mark.parametrize(("column", "value"), [(name, value) for name in DAMAGE for value in DAMAGE[name]])
async def test_a_row_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, column: str, value: str | bytes
) -> None:
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("good", state=RunState.RUNNING))
        await store.add(run("bad", state=RunState.COMPLETED, job_id="j"))
        with closing(sqlite3.connect(tmp_path / "records.db")) as other:
            other.execute(f"UPDATE runs SET {column} = CAST(? AS TEXT) WHERE id = 'bad'", (value,))
            other.commit()
        bad, good = await store.all()
        assert (bad.id, good) == ("bad", replace(run("good", state=RunState.RUNNING), number=1))
        assert bad.state is (RunState.UNKNOWN if column == "state" else RunState.COMPLETED)
        assert bad.run_seconds(WHEN) is None and bad.created.tzinfo is not None
        if (column, value) not in {("spec", ""), ("spec", "spec = 3"), ("name", b"\xb5\xd1"), ("created", "")}:
            assert column in str(bad.reason)
        assert [kept.id for kept in await store.live()] == (["bad", "good"] if column == "state" else ["good"])
        assert (await store.change("bad", reason="seen")).id == "bad"


async def test_the_form_of_a_newer_program_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("newer"))
        with closing(sqlite3.connect(tmp_path / "records.db")) as other:
            spec = '[job]\nname = "n"\ntarget = "moon"\nmood = 3\n[resources]\nnodes = "2"\nflavor = "f"\n'
            spec += "[stars]\na = 1\n"
            spec += "[parameters]\nlr = 0.1\nshape = [1, 2]\non = true\n"
            other.execute("UPDATE runs SET spec = ?", (spec,))
            other.commit()
        newer = await store.get("newer")
        assert newer is not None and newer.reason == ""
        assert newer.spec == JobSpec(name="n", flavor="f", parameters=(("lr", 0.1), ("on", True)))
