"""Whether a specification is to be had: the service says it when a job is submitted, and not before."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import Text, text

SOLD_OUT = text("This specification is sold out at the moment.")


def sold_out_at(runs: Iterable[Run], flavor: str, profile: str) -> datetime | None:
    """When it was so, if the last job that asked this account for it was refused for that."""
    asked = [run for run in runs if run.spec.flavor == flavor and run.profile == profile and _has_an_answer(run)]
    last = max(asked, key=lambda run: run.number, default=None)
    return last.checked or last.created if last is not None and _says(last.reason, SOLD_OUT) else None


def _has_an_answer(run: Run) -> bool:
    return bool(run.job_id) or run.state is RunState.NOT_SENT


def _says(words: object, wanted: Text) -> bool:
    """A reason is made of sentences, each of which is kept as it is."""
    return isinstance(words, Text) and (
        words.english == wanted.english or any(_says(part, wanted) for part in words.fields.values())
    )
