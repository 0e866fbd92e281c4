"""What a log told, as a document and as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from traindeck.cli.columns import aligned
from traindeck.domain.jobs.run_table import number_words, plain_number
from traindeck.domain.readings.words import progress_words, sparkline
from traindeck.domain.texts import say, text
from traindeck.runtime.clock import moment_at

if TYPE_CHECKING:
    from traindeck.domain.readings.failures import Failure
    from traindeck.domain.readings.reading import LogReading, NotFinite

_SPARKS = 40
_NAMES = {
    "loss": text("loss"),
    "val_loss": text("validation loss"),
    "lr": text("learning rate"),
    "accuracy": text("accuracy"),
    "val_accuracy": text("validation accuracy"),
    "throughput": text("throughput"),
    "step_time": text("seconds per step"),
    "grad_norm": text("norm of the gradient"),
    "perplexity": text("perplexity"),
}


def failure_document(failure: Failure | None, worker: str = "") -> dict[str, object] | None:
    if failure is None:
        return None
    proof = None
    if failure.proof is not None:
        proof = {"line": failure.proof.number, "offset": failure.proof.offset, "text": failure.proof_words}
    elif failure.proof_words:
        proof = {"line": None, "offset": None, "text": failure.proof_words}
    return {
        "rule": failure.rule or None,
        "title": str(failure.title),
        "cause": str(failure.cause) or None,
        "what_to_do": str(failure.todo) or None,
        "proof": proof,
        "worker": worker or None,
        "actions": [offer.name for offer in failure.actions],
        "exit_code": failure.exit_code,
        "script": None if failure.frame is None else {"file": failure.frame[0], "line": failure.frame[1]},
        "last_event": failure.last_event or None,
        "traceback": list(failure.traceback),
    }


def reading_document(reading: LogReading) -> dict[str, object]:
    progress = reading.progress
    bad = reading.not_finite
    return {
        "progress": {
            "epoch": progress.epoch,
            "epochs": progress.epochs,
            "step": progress.step,
            "steps": progress.steps,
            "share": progress.share,
            "seconds_left": progress.seconds_left,
            "restarts": progress.restarts,
            "last_news": None if progress.news_at is None else moment_at(progress.news_at),
        },
        "values": {name: plain_number(value) for name, value in reading.values.items()},
        "not_finite": None if bad is None else _not_finite(bad),
        "curves": curves(reading),
    }


def _not_finite(bad: NotFinite) -> dict[str, object]:
    where = {"worker": bad.worker} if bad.worker else {}
    return {"name": bad.name, "value": plain_number(bad.value), **where, "offset": bad.offset, "text": bad.line}


def curves(reading: LogReading) -> dict[str, list[dict[str, float | str | None]]]:
    """By role where there is one, so that programs need not know every spelling; then by the names of the log."""
    roles = {name: role for role, name in reversed([*reading.roles.items()])}
    return {
        roles.get(name, name): [{**point._asdict(), "value": plain_number(point.value)} for point in one.points()]
        for name, one in reading.series.items()
    }


def reading_lines(reading: LogReading) -> Iterator[str]:
    if words := progress_words(reading.progress):
        yield say("Progress: {words}", words=words)
    if reading.progress.restarts:
        yield say("Restarts within the log: {count}", count=reading.progress.restarts)
    if reading.not_finite is not None:
        yield say(
            "{name} is not a number any more, first in: {line}",
            name=reading.not_finite.name, line=reading.not_finite.line.strip(),
        )  # fmt: skip
    rows = [
        (
            _title(name, reading.roles),
            number_words(one.last),
            number_words(one.lowest),
            number_words(one.highest),
            sparkline(one.values(_SPARKS)) + ("" if one.is_finite else "●"),
        )
        for name, one in reading.series.items()
    ]
    if rows:
        yield ""
        heads = (say("Name"), say("Last"), say("Lowest"), say("Highest"), say("Curve"))
        yield from aligned([heads, *rows], frozenset({1, 2, 3}))


def _title(name: str, roles: Mapping[str, str]) -> str:
    role = next((role for role, of in roles.items() if of == name), "")
    words = say(_NAMES[role]) if role in _NAMES else ""
    return f"{name} ({words})" if words and words.lower() != name.lower() else name


def failure_lines(failure: Failure, worker: str = "") -> Iterator[str]:
    yield say("Failure: {title}", title=failure.title)
    if cause := str(failure.cause):
        yield say("Cause: {cause}", cause=cause)
    if todo := str(failure.todo):
        yield say("What to do: {todo}", todo=todo)
    if failure.proof is not None:
        where = "?" if failure.proof.number is None else f"{failure.proof.number:,}"
        if worker:
            yield say("{worker}, line {number}: {words}", worker=worker, number=where, words=failure.proof_words)
        else:
            yield say("Line {number}: {words}", number=where, words=failure.proof_words)
    elif failure.proof_words:
        yield say("The service says: {words}", words=failure.proof_words)
    if not failure.is_known and failure.traceback:
        yield ""
        yield from failure.traceback
