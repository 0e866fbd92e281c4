"""Runs beside each other, row by row, so that only what differs needs to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.jobs.job_spec import wire_value
from traindeck.domain.jobs.run_query import MeasuredRun
from traindeck.domain.jobs.run_table import UNKNOWN, number_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, exact_words, say, text

MOST_RUNS = 8


class CompareSection(Enum):
    """What the rows of a comparison are about; the value is their heading."""

    PARAMETERS = text("Parameters")
    ENVIRONMENT = text("Environment variables")
    CODE = text("Code")
    DATA = text("Data")
    ENGINE = text("Engine")
    RESOURCES = text("Resources")
    TIMES = text("Times")
    METRICS = text("Metrics")


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One thing of every run; None: this run has it not, or nobody knows."""

    section: CompareSection
    name: str
    values: tuple[str | None, ...]
    is_known: bool = True
    """Else nobody could look at one of the runs, and nobody may take them for equal."""
    label: Text | None = None
    """What people call it, where the name is that of a field."""

    @property
    def title(self) -> str:
        return self.name if self.label is None else str(self.label)

    @property
    def is_equal(self) -> bool:
        return self.is_known and len(set(self.values)) == 1


@dataclass(frozen=True, slots=True)
class DataPrint:
    """What an input held at a moment: two of the same digest had the same objects with the same contents."""

    place: str
    taken: datetime
    count: int
    size_bytes: int
    newest: datetime | None
    digest: str
    is_whole: bool = True  # else there was more than anybody waited for

    def words(self, submitted: datetime | None) -> str:
        files = count_text("{count} file", "{count} files", self.count)
        told = text("{files}, {size}, newest {newest}, digest {digest}") if self.is_whole else text(
            "at least {files}, {size}, newest {newest}, digest of these {digest}"
        )  # fmt: skip
        words = say(
            told.english, files=say(files), size=size_words(self.size_bytes), newest=exact_words(self.newest),
            digest=self.digest,
        )  # fmt: skip
        when = text("looked at on {time}, at submission") if self._is_of(submitted) else text("looked at on {time}")
        return f"{words} ({say(when.english, time=exact_words(self.taken))})"

    def _is_of(self, submitted: datetime | None) -> bool:
        return submitted is not None and abs((self.taken - submitted).total_seconds()) < _AT_SUBMISSION_S

    @property
    def content(self) -> str:
        return f"{self.digest}{'' if self.is_whole else '…'}"


_AT_SUBMISSION_S = 600.0


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with all that a comparison looks at."""

    measured: MeasuredRun
    files: Mapping[str, str] | None
    """The digest of each file of its code; None: the code is not on this computer."""
    data: Mapping[str, DataPrint | None]
    """Of each input; None: nobody could look."""

    @property
    def run(self) -> Run:
        return self.measured.run


def compared(runs: Sequence[ComparedRun], now: datetime) -> list[ComparedRow]:
    """All rows, the equal ones too."""
    return [*_of_forms(runs), *_of_code(runs), *_of_data(runs), *_of_ends(runs, now), *_of_metrics(runs)]


def _of_forms(runs: Sequence[ComparedRun]) -> Iterator[ComparedRow]:
    parameters = [{name: wire_value(value) for name, value in one.run.spec.parameters} for one in runs]
    yield from _table(CompareSection.PARAMETERS, parameters)
    yield from _table(CompareSection.ENVIRONMENT, [dict(one.run.spec.environment) for one in runs])
    yield from _fields(CompareSection.ENGINE, runs, _ENGINE)
    yield from _fields(CompareSection.RESOURCES, runs, _RESOURCES)


def _of_code(runs: Sequence[ComparedRun]) -> Iterator[ComparedRow]:
    yield from _fields(CompareSection.CODE, runs, _CODE)
    bundles = tuple(one.run.bundle if one.files is not None else None for one in runs)
    contents = tuple(one[:12] if one else None for one in bundles)
    yield ComparedRow(CompareSection.CODE, say("all files"), contents, None not in bundles)
    names = sorted({name for one in runs for name in one.files or ()})
    for name in names:
        values = tuple(one.files.get(name) if one.files is not None else None for one in runs)
        yield ComparedRow(CompareSection.CODE, name, tuple(value[:12] if value else None for value in values))


def _of_data(runs: Sequence[ComparedRun]) -> Iterator[ComparedRow]:
    for name in _names(one.data for one in runs):
        prints = [one.data.get(name) for one in runs]
        yield ComparedRow(CompareSection.DATA, name, tuple(found.place if found else None for found in prints))
        told = tuple(found.words(one.run.submitted) if found else None for one, found in zip(runs, prints, strict=True))
        same = len({found.content if found else None for found in prints}) == 1
        # That it was looked at twice makes no other data of it.
        contents = tuple(told[:1] * len(told)) if same else told
        yield ComparedRow(CompareSection.DATA, say("{input}: content", input=name), contents, None not in prints)


def _of_ends(runs: Sequence[ComparedRun], now: datetime) -> Iterator[ComparedRow]:
    rows: dict[str, Callable[[Run], str]] = {
        say("State"): lambda run: say(run.state_words),
        say("Submitted"): lambda run: exact_words(run.submitted),
        say("Started"): lambda run: exact_words(run.started),
        say("Ended"): lambda run: exact_words(run.ended),
        say("Duration"): lambda run: duration_words(run.run_seconds(now)),
    }
    for name, read in rows.items():
        yield ComparedRow(CompareSection.TIMES, name, tuple(read(one.run) for one in runs))


def _of_metrics(runs: Sequence[ComparedRun]) -> Iterator[ComparedRow]:
    for name in _names(one.measured.metrics for one in runs):
        found = [one.measured.metrics.get(name) for one in runs]
        yield ComparedRow(
            CompareSection.METRICS, name, tuple(number_words(one.last) if one is not None else None for one in found)
        )


# What a row is called in documents -> the field of the form.
_CODE = {"boot": "boot", "command": "command"}
_ENGINE = {"engine": "engine", "version": "engine_version", "image": "image"}
_RESOURCES = {"flavor": "flavor", "nodes": "nodes", "pool": "pool", "stop_after": "stop_after"}


def _fields(section: CompareSection, runs: Sequence[ComparedRun], fields: Mapping[str, str]) -> Iterator[ComparedRow]:
    """What no run has is not worth a row."""
    for name, field in fields.items():
        values = tuple(str(getattr(one.run.spec, field)) or None for one in runs)
        if any(values):
            yield ComparedRow(section, name, values, label=BY_NAME[field].label)


def _table(section: CompareSection, tables: Sequence[Mapping[str, str]]) -> Iterator[ComparedRow]:
    for name in _names(tables):
        yield ComparedRow(section, name, tuple(table.get(name) for table in tables))


def _names(tables: Iterable[Mapping[str, object]]) -> list[str]:
    """In the order of the first that has them."""
    return list(dict.fromkeys(name for table in tables for name in table))


def value_words(value: str | None) -> str:
    return UNKNOWN if value is None else value
