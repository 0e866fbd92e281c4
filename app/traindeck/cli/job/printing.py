"""A run as a document, as a row and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from traindeck.cli.columns import aligned, width
from traindeck.domain.jobs.checks import CheckLevel, told
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.jobs.run_query import MeasuredRun
from traindeck.domain.jobs.run_table import number_words, plain_number
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.domain.texts import Text

_DESPITE = {CheckLevel.AMBER: text("Accepted"), CheckLevel.NOT_CHECKED: text("Not checked")}
_SECOND = "%Y-%m-%d %H:%M:%S"


def document(run: Run) -> dict[str, object]:
    """What every command about a run prints with --json."""
    return {
        "run": run.id,
        "name": run.name,
        "job_id": run.job_id,
        "state": run.state.value,
        "profile": run.profile,
        "number": run.number,
        "phase": run.phase,
        "reason": str(run.reason),
        "created": run.created,
        "submitted": run.submitted,
        "started": run.started,
        "ended": run.ended,
        "checked": run.checked,
        "seconds": run.run_seconds(datetime.now(UTC)),
        "rerun_of": run.resubmission_of,
        "isolation": run.isolation.value,
        "tags": list(run.tags),
        "note": run.note,
        "starred": run.starred,
        "gone": run.gone,
    }


def listed_document(measured: MeasuredRun) -> dict[str, object]:
    """The same with what a list can be sorted by."""
    numbers = {
        name: {key: plain_number(value) for key, value in asdict(one).items()} for name, one in measured.metrics.items()
    }
    return {**document(measured.run), "metrics": numbers}


def full_document(measured: MeasuredRun) -> dict[str, object]:
    run = measured.run
    spec = run.filled_spec
    return {
        **listed_document(measured),
        "secondary_phase": run.secondary_phase,
        "remote_name": run.remote_name,
        "description": spec.description,
        "code": run.code_url,
        "bundle": run.bundle,
        "workers": list(run.tasks),
        "inputs": {channel.name: channel.place for channel in spec.inputs},
        "outputs": {channel.name: channel.place for channel in spec.outputs},
        "log": spec.log_to,
        "parameters": dict(spec.parameters),
        "engine": spec.engine_version or spec.engine,
        "flavor": spec.flavor,
        "nodes": spec.nodes,
        "accepted": [
            {"check": one.check, "level": one.level.value, "title": str(one.title), "fact": str(one.fact)}
            for one in run.accepted
        ],
        "job_file": job_file.to_toml(run.spec),
    }


LEAST_NAME = 32
"""As much of a name as is needed to tell runs apart: the end has the time and the random part."""


def fitted(
    columns: Sequence[str],
    rows_of: Callable[[Sequence[str]], list[list[str]]],
    gives_way: Sequence[str],
    room: int | None,
) -> tuple[list[str], list[list[str]]]:
    """As many of the columns as there is room for, and the rows with their heads; names are cut last."""
    left = list(columns)
    while True:
        rows = rows_of(left)
        gone = next((name for name in gives_way if name in left), None)
        if room is None or gone is None:
            return left, rows
        widths = [max(width(row[at]) for row in rows) for at in range(len(left))]
        least = [min(wide, LEAST_NAME) if name == "name" else wide for name, wide in zip(left, widths, strict=True)]
        if sum(least) + 2 * (len(least) - 1) <= room:
            return left, rows
        left.remove(gone)


def page(measured: MeasuredRun, git: Text | None = None) -> list[str]:
    run = measured.run
    spec = run.filled_spec
    facts = [
        (say("Run"), run.id),
        (say("Name"), run.name),
        (say("Name at the service"), run.remote_name),
        (say("State"), say(run.listed_state)),
        (say("Details"), run.secondary_phase if run.secondary_phase != run.phase else ""),
        (say("Reason"), str(run.reason)),
        (say("Isolation"), str(run.isolation.warning or "")),
        (say("Account"), run.profile),
        (say("Job at the service"), run.job_id),
        (say("Submitted"), _local(run.submitted)),
        (say("Started"), _local(run.started)),
        (say("Ended"), _local(run.ended)),
        (say("Duration"), duration_words(run.run_seconds(datetime.now(UTC)))),
        (say("Last response"), _local(run.checked)),
        (say("Rerun of"), run.resubmission_of),
        (say("Code"), run.code_url),
        (say("Git"), say(git) if git is not None else ""),
        (say("Engine"), spec.image or f"{spec.engine} {spec.engine_version}".strip()),
        (say("Specification"), f"{spec.flavor} × {spec.nodes}"),
        *((say("Input {name}", name=channel.name), channel.place) for channel in spec.inputs),
        *((say("Output {name}", name=channel.name), channel.place) for channel in spec.outputs),
        (say("Log"), spec.log_to),
        (say("Description"), spec.description),
        (say("Tags"), " ".join(run.tags)),
        (say("Starred"), say("yes") if run.starred else ""),
        (say("Note"), run.note),
        *(
            (name, f"{number_words(one.last)} ({number_words(one.lowest)} … {number_words(one.highest)})")
            for name, one in measured.metrics.items()
        ),
        (say("Parameters"), " ".join(f"{name}={value}" for name, value in spec.parameters)),
    ]
    accepted = [(say(_DESPITE[one.level]), say(told(one))) for one in run.accepted]
    return aligned([(name, value) for name, value in [*facts, *accepted] if value])


def _local(when: datetime | None) -> str:
    return f"{when.astimezone():{_SECOND}}" if when else ""
