"""All jobs that a search finds, page by page, however the service counts its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from traindeck.domain.jobs.job import LiveJobs, RemoteJob, RunState
from traindeck.services.jobs.modelarts.documents import Document, remote_job

PAGE_JOBS = 50
MOST_PAGES = 40

# Those the service documents; another word might be refused, and a job of such a phase is asked about by itself.
_LIVE_STATES = (RunState.CREATING, RunState.PENDING, RunState.RUNNING, RunState.TERMINATING)
LIVE_PHASES = tuple(state.value for state in _LIVE_STATES)

AskPage = Callable[[dict[str, Any]], Awaitable[Sequence[Document]]]
"""Sends the body of a search, gives its items."""


def name_filter(name: str) -> dict[str, Any]:
    return {"key": "name", "operator": "like", "value": [name]}


def phase_filter(phases: Sequence[str]) -> dict[str, Any]:
    return {"key": "phase", "operator": "in", "value": list(phases)}


async def pages(ask: AskPage, *filters: dict[str, Any]) -> AsyncIterator[tuple[list[RemoteJob], bool]]:
    """The jobs of each page that no page before had, and whether it was the last.

    The offset is an index of pages; a service that takes it for one of jobs is found out by its second page.
    """
    known: set[str] = set()
    first: list[str] = []
    by_jobs = False
    offset = 0
    for page in range(MOST_PAGES):
        items = await ask(
            {
                "offset": offset,
                "limit": PAGE_JOBS,
                "sort_by": "create_time",
                "order": "desc",
                "workspace_id": "0",
                "filters": list(filters),
            }
        )
        jobs = [remote_job(item) for item in items]
        if page == 0:
            first = [job.id for job in jobs]
        elif page == 1 and len(first) > 1 and jobs and jobs[0].id == first[1]:
            by_jobs = True
        is_last = len(items) < PAGE_JOBS
        yield [job for job in jobs if job.id and job.id not in known], is_last
        if is_last:
            return
        known.update(job.id for job in jobs)
        offset = PAGE_JOBS * max(1, page) if by_jobs else page + 1


async def live_jobs(ask: AskPage) -> LiveJobs:
    found: list[RemoteJob] = []
    is_whole = False
    async for jobs, is_whole in pages(ask, phase_filter(LIVE_PHASES)):  # noqa: B007 - the last one counts
        # A service that does not know the filter tells of all.
        found += [job for job in jobs if not job.state.is_over]
    return LiveJobs(tuple(found), is_whole=is_whole)
