"""What a look at the service changes in the record of a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from traindeck.domain.jobs.job import LAB_ENDED, RemoteJob, Run, RunState
from traindeck.domain.texts import text

_BROKEN_OFF = text("The service ended this job without a reason. See the end of its log.")
_GONE = text("The service no longer has this job. Its record on this computer is kept.")


def changes(run: Run, job: RemoteJob | None, now: datetime, *, is_lab: bool) -> dict[str, object]:
    """Of what the service says of its job; None: it no longer has it."""
    if job is None:
        return {"state": RunState.ABNORMAL, "reason": _GONE, "ended": now, "gone": now}
    ended = run.ended
    if job.state.is_over and ended is None:
        ended = now
        if job.started is not None and job.duration_ms is not None:
            ended = job.started + timedelta(milliseconds=job.duration_ms)
    broken_off = _BROKEN_OFF if job.state is RunState.ABNORMAL else ""
    return {
        "state": job.state,
        "phase": job.phase,
        "secondary_phase": job.secondary_phase,
        "reason": LAB_ENDED if is_lab and job.is_lost else job.exit_message or broken_off,
        "started": job.started or run.started,
        "ended": ended,
        "duration_ms": job.duration_ms if job.state.is_over else run.duration_ms,
        "tasks": job.tasks or run.tasks,
        "isolation": job.isolation or run.isolation,
        # Its places are filled in with the name it was sent with, so that one stays.
        "remote_name": job.name if job.name not in ("", run.name) else "",
        "tags": run.tags if job.tags is None else job.tags,
        "spec": run.spec if job.description == run.spec.description else replace(run.spec, description=job.description),
        "checked": now,
        "gone": None,
    }


def is_news(run: Run, after: dict[str, object]) -> bool:
    return any(getattr(run, name) != value for name, value in after.items() if name != "checked")
