"""A run that leaves its card idle is found; what was not measured, or is from before its script, is nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.resource_use import CPU, GPU, NPU, ResourceUse
from traindeck.services.notices.unused_cards import IDLE_MINUTES, CardUnused, UnusedCards

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Run("r1", 1, "job", "work", JobSpec(name="job"), RunState.RUNNING, NOW, job_id="j")
Samples = tuple[float | None, ...]


def found_after(*cards: Samples, before: int = 2, name: str = NPU) -> list[CardUnused]:
    """Looked at each minute; `before` minutes of it are the download of data."""
    watched, found = UnusedCards(), []
    for minute in range(before, max(map(len, cards)) + 1):
        uses = {
            f"worker-{at}": ResourceUse({CPU: (50.0,) * minute, name: card[:minute]}) for at, card in enumerate(cards)
        }
        now = NOW + timedelta(minutes=minute)
        if watched.wants(RUN, now) and (one := watched.take(RUN, uses, now)) is not None:
            found.append(one)
    return found


@pytest.mark.parametrize(("name", "words"), [(NPU, "NPU"), (GPU, "GPU")])
def test_a_card_that_nobody_uses_is_found_for_as_long_as_it_is_so(name: str, words: str) -> None:
    idle = (0.0,) * 20
    found = found_after(idle, idle, name=name)
    assert found == [CardUnused(RUN, words, minutes) for minutes in range(IDLE_MINUTES, 19)]


def test_one_that_is_used_later_is_known_to_be() -> None:
    watched = UnusedCards()
    for minute in range(20):
        watched.take(RUN, {"worker-0": ResourceUse({NPU: ((0.0,) * 10 + (60.0,) * 10)[:minute]})}, NOW)
        assert watched.has_used(RUN.id) is (minute > 10)


@pytest.mark.parametrize(
    "cards",
    [
        [(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)],  # most of it was the download
        [(0.0,) * 5 + (80.0,) + (0.0,) * 20],  # it can
        [(0.0,) * 20, (0.0, 0.0, 30.0) + (0.0,) * 17],  # one of its workers can
        [(None,) * 20],  # there is no card, or nothing was measured
        [(0.0, 0.0, 0.0, None) * 5],  # holes
    ],
)
def test_what_is_no_idle_card(cards: list[Samples]) -> None:
    assert found_after(*cards) == []


def test_a_run_without_a_card_is_not_asked_for_ever() -> None:
    watched = UnusedCards()
    for minute in range(30):
        watched.take(RUN, {"worker-0": ResourceUse({CPU: (9.0,) * minute, NPU: (None,) * minute})}, NOW)
    assert not watched.wants(RUN, NOW + timedelta(hours=1))
    watched.keep_only(set())
    assert watched.wants(RUN, NOW)
