"""What is told of a run without being asked for, by the window, the desktop, a webhook and a command that follows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from traindeck.domain.errors import AppError
from traindeck.domain.events import KeptEvent
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.run_table import number_words
from traindeck.domain.notices.line_rules import LineRule, RuleAct
from traindeck.domain.readings.failures import Failure
from traindeck.domain.readings.reading import NotFinite
from traindeck.domain.texts import Text, count_text, text

FINISHED, FAILED, STOPPED = "run_finished", "run_failed", "run_stopped"
HANGS, LINE_FOUND, NAN = "run_hangs", "line_found", "run_nan"
LONG_AGO = timedelta(days=7)

_ENDS = {
    RunState.COMPLETED: FINISHED,
    RunState.TERMINATED: STOPPED,
    RunState.FAILED: FAILED,
    RunState.ABNORMAL: FAILED,
    RunState.NOT_SENT: FAILED,
}
_FOUND = {
    RuleAct.NOTIFY: text("“{rule}” was found in the log of “{name}” (run {number})"),
    RuleAct.LABEL: text("“{rule}” was found in the log of “{name}” (run {number}): tag added"),
    RuleAct.STOP: text("“{rule}” was found in the log of “{name}” (run {number}): it is stopped, as your rule says"),
}


@dataclass(frozen=True, slots=True)
class RunNotice:
    run: Run
    kind: str
    """Which of the notifications it is worth, by the name of its setting; empty: none."""
    title: Text
    hint: Text
    mark: str
    """Two with the same are one, told once for good."""


def job_name(run: Run) -> str:
    """The name the user gave; that of the run has a date and letters behind it."""
    return run.spec.name or run.name


def is_news(run: Run, now: datetime) -> bool:
    """Not of one that ended long ago."""
    return not run.state.is_over or now - (run.ended or run.created) < LONG_AGO


def state_notice(run: Run, failure: Failure | None = None) -> RunNotice:
    """With the cause where its log shows one that is known: an exit code helps nobody, and lines of logs stay here.

    What the cause quotes of them, too: a script that is told arguments that it does not know prints their values.
    """
    title = text("“{name}” (run {number}): {state}", name=job_name(run), number=run.number, state=run.state_words)
    hint = _reason(run)
    if failure is not None and failure.is_known:
        hint = Text("{words}", {"words": str(failure.title.with_names_only())})
    return RunNotice(run, _ENDS.get(run.state, ""), title, hint, f"run {run.id} {run.state}")


def nan_notice(run: Run, bad: NotFinite) -> RunNotice:
    """Once for each run, whichever of its numbers it is; the line stays here."""
    title = text(
        "“{name}” (run {number}): {metric} is {value}",
        name=job_name(run), number=run.number, metric=bad.name, value=number_words(bad.value),
    )  # fmt: skip
    hint = text("Stop it, or wait. TrainDeck does not stop it by itself.") if not run.state.is_over else Text("")
    return RunNotice(run, NAN, title, hint, f"nan {run.id}")


def event_of(notice: RunNotice, at: datetime) -> KeptEvent:
    """As a command keeps it, so that no window tells it again."""
    kind = {FINISHED: "done", FAILED: "failed"}.get(notice.kind, "note")
    return KeptEvent(
        at=at, kind=kind, title=notice.title, hint=notice.hint, name=f"run {notice.run.id}", subject="run",
        topic=notice.run.id, profile=notice.run.profile, notice=notice.kind, mark=notice.mark,
    )  # fmt: skip


def hang_notice(run: Run, silence: timedelta, held_bytes: int, waits: int = 0) -> RunNotice:
    """By how much it had said the same hang is known, also after a restart; `waits`: who waits is told again."""
    title = count_text(
        "“{name}” (run {number}) may hang: no output and no activity for {count} minute",
        "“{name}” (run {number}) may hang: no output and no activity for {count} minutes",
        max(1, int(silence.total_seconds() // 60)),
        name=job_name(run),
        number=run.number,
    )
    hint = text("Stop it, or wait. TrainDeck does not stop it by itself.")
    return RunNotice(run, HANGS, title, hint, f"hang {run.id} {held_bytes}{_again(waits)}")


def card_notice(run: Run, card: str, minutes: int, waits: int = 0) -> RunNotice:
    """`card`: NPU or GPU."""
    title = count_text(
        "“{name}” (run {number}) has not used its {card} for {count} minute",
        "“{name}” (run {number}) has not used its {card} for {count} minutes",
        minutes,
        name=job_name(run),
        number=run.number,
        card=card,
    )
    hint = text("The script may be training on the CPU. Stop it, or wait. TrainDeck does not stop it by itself.")
    return RunNotice(run, HANGS, title, hint, f"unused {card} {run.id}{_again(waits)}")


def _again(waits: int) -> str:
    return f" again {waits}" if waits else ""


def line_notice(
    run: Run, rule: LineRule, place: str, line: str, *, is_last: bool = False, trouble: AppError | None = None
) -> RunNotice:
    """`place`: worker and byte, by which it is known; `is_last`: more of them are not told of."""
    title = _FOUND[rule.act].with_fields(rule=rule.name, name=job_name(run), number=run.number)
    words = Text("{words}", {"words": line})
    if is_last and rule.act is RuleAct.NOTIFY:
        words = text("{line} (More such lines of this run are not told of.)", line=line)
    if trouble is not None:
        # It is not done, so it is not said to be.
        title = _FOUND[RuleAct.NOTIFY].with_fields(**title.fields)
        words = text("{line} What the rule says could not be done: {reason}", line=line, reason=trouble.title)
    return RunNotice(run, LINE_FOUND, title, words, f"rule {run.id} {rule.name} {place}")


def _reason(run: Run) -> Text:
    if not run.state.is_over or not run.reason:
        return Text("")
    return run.reason if isinstance(run.reason, Text) else Text("{words}", {"words": run.reason})
