"""Why a run failed, soon enough for the notice of its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.failures import Failure

log = logging.getLogger(__name__)

Explain = Callable[[Run], Awaitable[tuple[Failure | None, str]]]
"""Reads the end of its logs."""
PATIENCE_S = 2.0


async def cause_of(run: Run, explain: Explain, patience_s: float = PATIENCE_S) -> Failure | None:
    """None: it takes longer, or nobody can say; that it failed is told all the same."""
    try:
        async with asyncio.timeout(patience_s):
            failure, _ = await explain(run)
            return failure
    except TimeoutError:
        log.info("why %s failed was not known in time", run.name)
    except AppError as error:
        log.warning("why %s failed: %s %s", run.name, error, error.detail)
    return None
