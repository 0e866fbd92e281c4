"""Runs as a table: its columns, and what each run has in them; for the terminal, CSV and Markdown alike."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.jobs.job_spec import wire_value
from traindeck.domain.jobs.run_query import MeasuredRun, MetricBest
from traindeck.domain.texts import Text, exact_words, printable, say, text

UNKNOWN = "–"

Cell = Callable[[MeasuredRun, datetime], str]


def _of(read: Callable[[Run], str]) -> Cell:
    return lambda measured, _: read(measured.run)


COLUMNS: Mapping[str, tuple[Text, Cell]] = {
    "number": (text("No."), _of(lambda run: str(run.number))),
    "run": (text("Run"), _of(lambda run: run.id)),
    "name": (text("Name"), _of(lambda run: f"★ {run.name}" if run.starred else run.name)),
    "state": (text("State"), _of(lambda run: say(run.listed_state))),
    "duration": (text("Duration"), lambda measured, now: duration_words(measured.run.run_seconds(now))),
    "submitted": (text("Submitted"), _of(lambda run: exact_words(run.submitted or run.created))),
    "ended": (text("Ended"), _of(lambda run: exact_words(run.ended))),
    "account": (text("Account"), _of(lambda run: run.profile)),
    "tags": (text("Tags"), _of(lambda run: " ".join(run.tags))),
    "note": (text("Note"), _of(lambda run: run.note)),
    "reason": (text("Reason"), _of(lambda run: str(run.reason))),
    "job": (text("Job at the service"), _of(lambda run: run.job_id)),
    "engine": (text("Engine"), _of(lambda run: run.spec.image or run.spec.engine_version or run.spec.engine)),
    "flavor": (text("Specification"), _of(lambda run: run.spec.flavor)),
    "nodes": (text("Nodes"), _of(lambda run: str(run.spec.nodes))),
}
USUAL = ("number", "run", "name", "state", "duration", "submitted", "account")
EXPORTED = (
    "number", "run", "name", "state", "reason", "submitted", "ended", "duration", "account", "engine", "flavor",
    "nodes", "tags", "note", "job",
)  # fmt: skip
RIGHT = frozenset({"number", "duration", "nodes"})


def head(column: str) -> str:
    """A column that is none of ours is called like the parameter or the number it shows."""
    return say(COLUMNS[column][0]) if column in COLUMNS else column


def cell(measured: MeasuredRun, column: str, now: datetime, best: MetricBest | None = None) -> str:
    if column in COLUMNS:
        return COLUMNS[column][1](measured, now)
    metric = measured.metrics.get(column)
    if metric is not None:
        return number_words(metric.ranked(lowest=best.lowest) if best and best.name == column else metric.last)
    value = dict(measured.run.spec.parameters).get(column)
    return UNKNOWN if value is None else wire_value(value)


def number_words(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.6g}"


def plain_number(value: float) -> float | str:
    """For JSON, which knows neither NaN nor infinity: those as words."""
    return value if math.isfinite(value) else number_words(value)


def all_columns(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """What there is to say of these runs: every parameter and every number that one of them has."""
    parameters = {name: None for one in runs for name, _ in one.run.spec.parameters}
    metrics = {name: None for one in runs for name in one.metrics}
    return (*EXPORTED, *(name for name in (*parameters, *sorted(metrics)) if name not in COLUMNS))


def rows(
    runs: Sequence[MeasuredRun], columns: Sequence[str], now: datetime, best: MetricBest | None = None
) -> list[list[str]]:
    return [[cell(one, column, now, best) for column in columns] for one in runs]


def exported(runs: Sequence[MeasuredRun], kind: str, now: datetime) -> str:
    """Everything there is to say of them; `kind` is `.md` or `.csv`."""
    columns = all_columns(runs)
    write = as_markdown if kind == ".md" else as_csv
    return write([head(column) for column in columns], rows(runs, columns, now))


def as_csv(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows([_unexecuted(one) for one in row] for row in cells)
    return "\ufeff" + content.getvalue()  # without the mark, spreadsheets read Chinese as something else


def _unexecuted(words: str) -> str:
    """Names come from anybody, and a spreadsheet runs what looks like a formula."""
    if not words.startswith(("=", "+", "-", "@", "\t", "\r")):
        return words
    try:
        float(words)
    except ValueError:
        return f"'{words}"
    return words


def as_markdown(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_in_cell, line))} |\n" for line in (heads, *cells)]
    return "".join([lines[0], f"|{' --- |' * len(heads)}\n", *lines[1:]])


def _in_cell(words: str) -> str:
    for sign in "\\|`*_<[":
        words = words.replace(sign, f"\\{sign}")
    return printable(words)
