"""A run as a document, as a row and as a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from traindeck.cli.columns import aligned
from traindeck.cli.output import Output
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.job import Run, RunState, duration_words
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.services.logs.log_files import Gap

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
    }


def full_document(run: Run) -> dict[str, object]:
    spec = run.filled_spec
    return {
        **document(run),
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
        "job_file": job_file.to_toml(run.spec),
    }


def state_words(run: Run) -> str:
    """The service's own word where we have none for it."""
    return run.phase if run.state is RunState.UNKNOWN and run.phase else run.state.value


def heads() -> list[str]:
    return [say("No."), say("Run"), say("Name"), say("State"), say("Duration"), say("Submitted"), say("Account")]


def row(run: Run) -> list[str]:
    return [
        str(run.number),
        run.id,
        run.name,
        state_words(run),
        duration_words(run.run_seconds(datetime.now(UTC))),
        _local(run.submitted or run.created),
        run.profile,
    ]


def page(run: Run) -> list[str]:
    spec = run.filled_spec
    facts = [
        (say("Run"), run.id),
        (say("Name"), run.name),
        (say("State"), state_words(run)),
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
        (say("Engine"), spec.image or f"{spec.engine} {spec.engine_version}".strip()),
        (say("Specification"), f"{spec.flavor} × {spec.nodes}"),
        *((say("Input {name}", name=channel.name), channel.place) for channel in spec.inputs),
        *((say("Output {name}", name=channel.name), channel.place) for channel in spec.outputs),
        (say("Log"), spec.log_to),
        (say("Parameters"), " ".join(f"{name}={value}" for name, value in spec.parameters)),
    ]
    return aligned([(name, value) for name, value in facts if value])


def _local(when: datetime | None) -> str:
    return f"{when.astimezone():{_SECOND}}" if when else ""


def pattern_of(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise InvalidInput(
            text("“{expression}” is not a regular expression: {problem}.", expression=expression, problem=str(error)),
            text("Put a backslash before characters to match literally, such as ( [ * + ?."),
        ) from error


@dataclass(slots=True)
class LogPrinter:
    """Prints one worker's log; unchanged unless lines have to be told apart."""

    output: Output
    worker: str
    named: bool = False
    pattern: re.Pattern[str] | None = None
    as_documents: bool = False
    _rest: bytes = b""
    _number: int = field(default=0)

    def take(self, block: bytes) -> None:
        if not (self.named or self.pattern or self.as_documents):
            self.output.bytes(block)
            return
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._line(line, b"\n")

    def end(self, gaps: Iterable[Gap]) -> None:
        if self._rest:
            self._line(self._rest, b"")
            self._rest = b""
        for gap in gaps:
            words = say(
                "{worker}: {missing} bytes before byte {offset} were no longer available from the service.",
                worker=self.worker,
                missing=gap.missing,
                offset=gap.offset,
            )
            self.output.note(words)

    def _line(self, line: bytes, ending: bytes) -> None:
        self._number += 1
        words = line.decode(errors="replace").removesuffix("\r")
        if self.pattern and not self.pattern.search(words):
            return
        if self.as_documents:
            self.output.document({"worker": self.worker, "line": self._number, "text": words})
        else:
            # Another worker's line may follow, so a last line without an end gets one.
            self.output.bytes(f"[{self.worker}] ".encode() + line + b"\n" if self.named else line + ending)
