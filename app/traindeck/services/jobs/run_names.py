"""What a new run is called: a job is known by its name alone as long as its answer is missing."""

from __future__ import annotations

import random
import secrets
from datetime import datetime

from traindeck.domain.jobs.job import run_name
from traindeck.store.runs import RunStore

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_RANDOM = 6
"""Letters behind the time: of four, a thousand runs within minutes had two of one name in every third try."""


async def unused_name(records: RunStore, job_name: str, now: datetime) -> tuple[str, str]:
    """An ID and a name that no run here has."""
    chance = random.SystemRandom()
    while True:
        run_id = secrets.token_hex(4)
        name = run_name(job_name, now.astimezone(), "".join(chance.choices(_ALPHABET, k=_RANDOM)))
        _, taken = await records.ours_among((), (name,))
        if not taken and await records.get(run_id) is None:
            return run_id, name
