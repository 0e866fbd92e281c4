"""`traindeck job ls` and `show`: what runs there are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.columns import room_of
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, check_again, find_now, look_at_job
from traindeck.cli.main import Call
from traindeck.cli.readings import failure_document, failure_lines
from traindeck.cli.target_file import TargetFile, target_file
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs import run_table
from traindeck.domain.jobs.form.form_field import unknown_words
from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.run_query import MeasuredRun, MetricBest, RunQuery, RunSort, metric_best
from traindeck.domain.texts import say, say_count, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.domain.jobs.job import Run
    from traindeck.domain.readings.failures import Failure
    from traindeck.services.jobs.code.code_origin import GitState

# What gives way on a narrow terminal, in this order; the name is what a list is looked at for.
_GIVES_WAY = ("account", "submitted", "number", "duration", "run")
_SHOWN = 50
_TABLES = {".csv": run_table.as_csv, ".md": run_table.as_markdown}
_STATES = {state.value.lower(): state for state in RunState}
_STATES |= {"stopped": RunState.TERMINATED, "stopping": RunState.TERMINATING, "notsubmitted": RunState.NOT_SENT}


async def ls(call: Call) -> int:
    asked = call.options
    limit = asked.limit if asked.limit is not None else 0 if asked.export is not None else _SHOWN
    best = metric_best(asked.best) if asked.best else None
    query = RunQuery(
        words=tuple(asked.words),
        states=tuple(_state(word) for word in asked.state),
        account=asked.profile,
        tags=tuple(asked.tag),
        starred=asked.starred,
        since=_since(asked.since),
        best=best,
        sort=RunSort(asked.sort),
        ascending=asked.ascending,
        limit=None if asked.log or not limit else limit,
    )
    target = None
    if asked.export is not None and (target := target_file(call, _table_file(asked.export))) is None:
        return DONE
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        runs = await core.records.found(query)
        if asked.log:
            said = await _said(call, core, asked.log, runs)
            runs = [run for run in runs if run.id in said][: limit or None]
        measured = await core.records.measured(runs)
        await _check_names(core, asked.columns, best, measured)
    columns = _columns(asked.columns, best, measured, everything=target is not None)
    if target is not None:
        _export(call, target, columns, measured, best)
    elif call.output.json_wanted:
        call.output.document([run_words.listed_document(one) for one in measured])
    elif measured:
        _print(call, columns, measured, best, is_fitted=not asked.columns)
    elif any((*query.words, *query.states, *query.tags, query.account, query.starred, query.since, asked.log, best)):
        call.output.note(say("No run matches."))
    else:
        call.output.note(say("No runs yet. “traindeck job init DIR” creates a sample to submit."))
    return DONE


async def show(call: Call) -> int:
    async with call.runs() as core:
        await check_again(call, core, call.options.run)
        run = await look_at_job(core, await find_now(call, core, call.options.run))
        (measured,) = await core.records.measured([run])
        git = await _git(core, run)
        failure, worker = await core.explaining.failure(run)
    if call.output.json_wanted:
        told = {"git": asdict(git) if git else None, "failure": failure_document(failure, worker)}
        call.output.document({**run_words.full_document(measured), **told})
        return DONE
    for line in (*run_words.page(measured, git.words() if git else None), *_why(failure, worker)):
        call.output.line(line)
    return DONE


def _why(failure: Failure | None, worker: str) -> list[str]:
    return ["", *failure_lines(failure, worker)] if failure is not None else []


async def _git(core: RunCore, run: Run) -> GitState | None:
    """Where its code stood; None: nobody knows."""
    try:
        return (await core.run_service.kept_code.of(run)).git
    except AppError:
        return None


async def _check_names(
    core: RunCore, columns: str | None, best: MetricBest | None, measured: Sequence[MeasuredRun]
) -> None:
    """Raise for a column that no run has: a mistyped name would be a column of dashes, or an empty list."""
    if best is not None and not measured and (metrics := await core.records.metric_names()):
        _check_name(best.name, metrics)
    wanted = {name.strip() for name in (columns or "").split(",") if name.strip()}
    if not (wanted := wanted.difference(run_table.all_columns(measured), run_table.COLUMNS)):
        return
    if runs := await core.records.all():
        known = run_table.all_columns(await core.records.measured(runs))
        for name in sorted(wanted):
            _check_name(name, (*run_table.COLUMNS, *known))


def _check_name(name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InvalidInput(
            unknown_words(name, tuple(dict.fromkeys(known))),
            text("Specify columns of the table, running parameters, or numbers that a run printed."),
        )


async def _said(call: Call, core: RunCore, words: str, runs: Sequence[Run]) -> set[str]:
    found = await core.log_search.find(words, runs)
    if not found.is_whole:
        call.output.note(say("Only the newest part of the logs was searched."))
    if not call.output.json_wanted:
        for hit in found.hits:
            call.output.named("", f"{hit.run_id} {hit.worker}: {hit.line}", "", is_note=True)
    return {hit.run_id for hit in found.hits}


def _print(
    call: Call, columns: Sequence[str], measured: Sequence[MeasuredRun], best: MetricBest | None, *, is_fitted: bool
) -> None:
    now = datetime.now(UTC)

    def rows_of(columns: Sequence[str]) -> list[list[str]]:
        return [[run_table.head(one) for one in columns], *run_table.rows(measured, columns, now, best)]

    shown, rows = run_words.fitted(columns, rows_of, _GIVES_WAY if is_fitted else (), room_of(sys.stdout))
    right = frozenset(at for at, column in enumerate(shown) if column in run_table.RIGHT or _is_number(column))
    call.output.table(rows[0], rows[1:], right=right)


def _is_number(column: str) -> bool:
    return column not in run_table.COLUMNS


def _columns(
    asked: str | None, best: MetricBest | None, measured: Sequence[MeasuredRun], *, everything: bool
) -> list[str]:
    columns = [name.strip() for name in asked.split(",") if name.strip()] if asked else []
    if not columns:
        columns = [*(run_table.all_columns(measured) if everything else run_table.USUAL)]
        if best is not None and best.name not in columns:
            columns.insert(columns.index("state") + 1, best.name)
    return columns


def _table_file(file: Path) -> Path:
    if file.suffix.lower() not in _TABLES:
        raise InvalidInput(
            text("“{file}” is neither a .csv nor a .md file.", file=str(file)),
            text("Specify a file name that ends with .csv or .md."),
        )
    return file


def _export(
    call: Call, target: TargetFile, columns: Sequence[str], measured: Sequence[MeasuredRun], best: MetricBest | None
) -> None:
    heads = [run_table.head(column) for column in columns]
    write = _TABLES[target.path.suffix.lower()]
    target.write(write(heads, run_table.rows(measured, columns, datetime.now(UTC), best)).encode())
    file = str(target.path)
    words = say_count(
        "Exported {count} run to “{file}”.", "Exported {count} runs to “{file}”.", len(measured), file=file
    )
    call.output.result({"file": file, "runs": len(measured), "columns": list(columns)}, words)


def _state(word: str) -> RunState:
    found = _STATES.get(word.lower().replace(" ", ""))
    if found is None:
        raise InvalidInput(
            text("“{state}” is not a state of a run.", state=word),
            text("Specify one of: {states}.", states=", ".join(state.value for state in RunState)),
        )
    return found


def _since(asked: timedelta | None) -> datetime | None:
    return None if asked is None else datetime.now(UTC) - asked
