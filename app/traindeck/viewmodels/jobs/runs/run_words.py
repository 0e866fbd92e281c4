"""How runs and jobs are called and told of, wherever they are shown."""

from __future__ import annotations

from datetime import datetime

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.job import Run, RunState, duration_words
from traindeck.domain.notices.run_notices import job_name
from traindeck.domain.readings.reading import Progress
from traindeck.domain.readings.words import place_words, share_words
from traindeck.domain.texts import moment_words, say
from traindeck.viewmodels.jobs.runs.run_list import OtherJob, RunRow
from traindeck.viewmodels.ports import Tone

_UNKNOWN = Progress()
_QUIET_S = 120.0


def run_title(run: Run) -> str:
    """By the number first: that tells runs of one job apart, and stays where the name is cut."""
    return say("Run {number} · {name}", number=run.number, name=job_words(run))


def job_words(run: RunRow) -> str:
    """The name the user gave; that of the run has a date and letters behind it."""
    return job_name(run) if isinstance(run, Run) else run.name


def cost_words(run: Run) -> str:
    """What is not known is a dash."""
    return say("Free") if run.profile == LAB else say("Cost –")


def head_facts(run: Run, now: datetime, progress: Progress = _UNKNOWN) -> list[str]:
    """How far it is; unknown is a dash, never nothing and never 0."""
    facts = [say("Duration {time}", time=duration_words(run.run_seconds(now)))]
    if not run.state.is_over:
        facts += [
            say("Progress {share}", share=share_words(progress) or "–"),
            say("Time left {time}", time=duration_words(progress.seconds_left)),
            *(words for words in (place_words(progress), _quiet_words(run, progress, now)) if words),
        ]
    elif run.ended is not None:
        facts.append(say("Ended {moment}", moment=moment_words(run.ended)))
    return [*facts, cost_words(run)]


def _quiet_words(run: Run, progress: Progress, now: datetime) -> str:
    """A training that said nothing for long may hang: that is said, and nothing is done about it."""
    if run.state is not RunState.RUNNING or progress.news_at is None:
        return ""
    quiet_s = now.timestamp() - progress.news_at
    # The longer it takes, the longer are its epochs.
    if quiet_s < max(_QUIET_S, (progress.seconds_left or 0.0) / 20):
        return ""
    return say("no news for {time}", time=duration_words(quiet_s))


def day_words(moment: datetime | None, now: datetime) -> str:
    """When, as short as it is clear: the time of today, the day of this year, the date of another."""
    if moment is None:
        return "–"
    there, here = moment.astimezone(), now.astimezone()
    if there.date() == here.date():
        return f"{there:%H:%M}"
    return f"{there:%m-%d %H:%M}" if there.year == here.year else f"{there:%Y-%m-%d}"


_TONES = {
    RunState.PREPARING: Tone.WAITING,
    RunState.SUBMITTING: Tone.WAITING,
    RunState.UNCONFIRMED: Tone.DOUBTFUL,
    RunState.NOT_SENT: Tone.BAD,
    RunState.CREATING: Tone.WAITING,
    RunState.PENDING: Tone.WAITING,
    RunState.RUNNING: Tone.RUNNING,
    RunState.TERMINATING: Tone.DOUBTFUL,
    RunState.COMPLETED: Tone.GOOD,
    RunState.FAILED: Tone.BAD,
    RunState.TERMINATED: Tone.QUIET,
    RunState.ABNORMAL: Tone.BAD,
    RunState.UNKNOWN: Tone.DOUBTFUL,
}


def state_words(run: RunRow) -> str:
    """The state in the user's language; a word of the service that we do not know is told as it came."""
    if isinstance(run, Run):
        return say(run.state_words)
    return run.job.phase if run.state is RunState.UNKNOWN and run.job.phase else say(run.state.words)


def detail_words(run: RunRow) -> str:
    """What matters more than how long it ran; empty: nothing does."""
    if isinstance(run, OtherJob):
        return say("Made elsewhere")
    if run.state is RunState.UNCONFIRMED:
        return say("May exist and be charged")
    if run.state is RunState.TERMINATING:
        return say("May be charged until it has ended")
    if run.gone is not None:
        return say("Deleted at the service")
    return str(run.reason) if run.state is RunState.NOT_SENT else ""


def tone_of(run: RunRow) -> Tone:
    return _TONES[run.state]
