"""Lists of thousands of runs: nothing is left out of an export, and a search reads each log once."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.cli_commands import Traindeck
from support.many_runs import add_many, over
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.logs.log_search import LogFinder
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore

MANY = 10_000


def record(home: Path, count: int) -> None:
    async def write() -> None:
        writer = BlockingCalls(1, "records")
        try:
            with closing(RunStore(RecordsFile(home / "records.db", home / "runs"), writer)) as records:
                await records.open()
                await add_many(records, over(count))
        finally:
            writer.close()

    asyncio.run(write())


def test_an_export_has_every_run_that_matches(traindeck: Traindeck, tmp_path: Path) -> None:
    record(tmp_path / "home", MANY)
    exported = traindeck("job", "ls", "--export", "all.csv", "--json").must_be(0).document
    assert exported["runs"] == MANY
    assert len((tmp_path / "all.csv").read_text("utf-8-sig").splitlines()) == MANY + 1
    assert traindeck("job", "ls", "--export", "few.csv", "-n", "7", "--json").must_be(0).document["runs"] == 7
    some = traindeck("job", "ls", "digits-77", "--export", "some.csv", "--json").must_be(0).document["runs"]
    assert some == 111
    assert len(traindeck("job", "ls", "--json").must_be(0).document) == 50, "a list for the eye stays short"


def test_logs_are_searched_once_for_all_runs(
    traindeck: Traindeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "home", MANY)
    for number in (3, 7777):
        log = tmp_path / "home" / "runs" / f"run{number:05}" / "log" / "worker-0.log"
        log.parent.mkdir(parents=True)
        log.write_text("a line\nthe horn sounds\n", encoding="utf-8")
    searches: list[Any] = []
    find = LogFinder.find

    async def counted(*given: Any) -> Any:
        searches.append(given)
        return await find(*given)

    monkeypatch.setattr(LogFinder, "find", counted)
    began = time.perf_counter()
    found = traindeck("job", "ls", "--log", "HORN", "--json").must_be(0).document
    seconds = time.perf_counter() - began
    assert [run["number"] for run in found] == [7777, 3]
    assert len(searches) == 1, f"{seconds:.1f} s"
    both = traindeck("job", "ls", "--log", "horn", "--export", "found.csv", "--json").must_be(0).document
    assert both["runs"] == 2


def test_an_unknown_column_or_number_is_named_with_the_nearest(traindeck: Traindeck, tmp_path: Path) -> None:
    assert "No run matches" in traindeck("job", "ls", "--best", "loss").must_be(0).said
    record(tmp_path / "home", 3)
    wrong = traindeck("job", "ls", "--columns", "name,sate").must_be(2)
    assert "sate" in wrong.said and "state" in wrong.said
    assert "dura" in traindeck("job", "ls", "--columns", "dura", "--export", "x.csv").must_be(2).said
    assert not (tmp_path / "x.csv").exists()
    assert traindeck("job", "ls", "--columns", "name,state").must_be(0)
