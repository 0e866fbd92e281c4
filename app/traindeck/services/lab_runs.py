"""Stopping the runs of the Lab before it ends, so that their records and logs are whole."""

from __future__ import annotations

import asyncio
import logging

from traindeck.domain.errors import AppError
from traindeck.domain.profiles import LAB
from traindeck.services.ports import RunRecords
from traindeck.services.run_desk import RunDesk
from traindeck.services.run_watch import RunWatch

log = logging.getLogger(__name__)

_END_S = 10.0


async def end_lab_runs(records: RunRecords, desk: RunDesk, watch: RunWatch) -> None:
    """Stop them and wait until they are over; what does not end in time ends with the Lab."""
    live = [run for run in await records.live() if run.profile == LAB and run.job_id and run.state.is_remote]
    try:
        async with asyncio.timeout(_END_S):
            for run in live:
                await desk.stop(run.id)
            for run in live:
                await watch.until_over(run.id)
    except TimeoutError:
        log.warning("not all runs of the Lab ended in time")
    except AppError as error:
        log.warning("the runs of the Lab could not be stopped one by one: %s %s", error, error.detail)
