"""Which runs there are and in what order, whatever of them was read."""

from __future__ import annotations

from array import array
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from support.folder_cloud import digits_spec
from traindeck.domain.jobs.job import Run, RunState
from traindeck.store.runs import RunsOutline
from traindeck.viewmodels.jobs.runs.run_pages import RunPages

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
_STATES = st.sampled_from((RunState.RUNNING, RunState.PENDING, RunState.COMPLETED, RunState.FAILED))
_NEWS = st.lists(st.tuples(st.integers(1, 8), st.none() | _STATES), max_size=20)


def a_run(number: int, state: RunState) -> Run:
    return Run(f"r{number}", number, f"digits-{number}", "lab", digits_spec(), state, NOW)


def in_order(runs: list[Run]) -> list[str]:
    return [run.id for run in sorted(runs, key=lambda run: (run.state.is_over, -run.number))]


@given(st.dictionaries(st.integers(1, 6), _STATES), st.integers(0, 6), _NEWS)
def test_they_stand_in_order_whatever_is_told_of_them(
    there: dict[int, RunState], read: int, news: list[tuple[int, RunState | None]]
) -> None:
    all_runs = {number: a_run(number, state) for number, state in there.items()}
    over = sorted((run for run in all_runs.values() if run.state.is_over), key=lambda run: -run.number)
    live = [run for run in all_runs.values() if not run.state.is_over]
    pages = RunPages()
    pages.begin(RunsOutline(array("q", (run.number for run in over)), [run.id for run in over], (*live, *over[:read])))
    for number, state in news:
        if state is None:
            assert pages.drop(f"r{number}") == (all_runs.pop(number, None) is not None)
        else:
            all_runs[number] = a_run(number, state)
            pages.put(all_runs[number])
        assert list(pages.ids) == in_order(list(all_runs.values()))
        assert [run.id for run in pages.live] == in_order([one for one in all_runs.values() if not one.state.is_over])
        assert list(pages.runs) == [run for run_id in pages.ids if (run := pages.get(run_id)) is not None]
    assert set(pages.unread(pages.ids)) == {run_id for run_id in pages.ids if pages.get(run_id) is None}


def test_news_of_a_run_that_was_not_read_takes_its_place() -> None:
    pages = RunPages()
    pages.begin(RunsOutline(array("q", (3, 2, 1)), ["r3", "r2", "r1"], []))
    pages.put(replace(a_run(2, RunState.FAILED), note="said"))
    assert pages.ids == ("r3", "r2", "r1") and [run.note for run in pages.runs] == ["said"]
