"""How a run is put into words: its state, its age, its times."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto

from traindeck.domain.jobs import Run, RunState
from traindeck.domain.texts import say, text


class Tone(Enum):
    """What a state means to the person looking; the theme gives each a colour."""

    WAITING = auto()
    RUNNING = auto()
    GOOD = auto()
    BAD = auto()
    DOUBTFUL = auto()
    QUIET = auto()


_STATES = {
    RunState.PREPARING: (text("Preparing"), Tone.WAITING),
    RunState.SUBMITTING: (text("Submitting"), Tone.WAITING),
    RunState.UNCONFIRMED: (text("Unconfirmed"), Tone.DOUBTFUL),
    RunState.NOT_SENT: (text("Not sent"), Tone.BAD),
    RunState.CREATING: (text("Creating"), Tone.WAITING),
    RunState.PENDING: (text("Pending"), Tone.WAITING),
    RunState.RUNNING: (text("Running"), Tone.RUNNING),
    RunState.TERMINATING: (text("Stopping"), Tone.DOUBTFUL),
    RunState.COMPLETED: (text("Completed"), Tone.GOOD),
    RunState.FAILED: (text("Failed"), Tone.BAD),
    RunState.TERMINATED: (text("Stopped"), Tone.QUIET),
    RunState.ABNORMAL: (text("Abnormal"), Tone.BAD),
    RunState.UNKNOWN: (text("Unknown"), Tone.DOUBTFUL),
}


def state_words(run: Run) -> str:
    """The state in the user's language; a word of the service we do not know is shown as it came."""
    if run.state is RunState.UNKNOWN and run.phase:
        return run.phase
    return say(_STATES[run.state][0])


def all_state_words() -> list[str]:
    return [say(words) for words, _ in _STATES.values()]


def tone_of(run: Run) -> Tone:
    return _STATES[run.state][1]


def age_words(then: datetime | None, now: datetime) -> str:
    """How long ago, coarse; what never was is a dash."""
    if then is None:
        return "–"
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 60:
        return say("now")
    if seconds < 3600:
        return say("{count} min", count=seconds // 60)
    if seconds < 86400:
        return say("{count} h", count=seconds // 3600)
    return say("{count} d", count=seconds // 86400)


def moment_words(moment: datetime | None) -> str:
    """A time of the local clock; what never was is a dash."""
    return "–" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"
