"""A log from the service alone, for when this computer can keep nothing of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

from traindeck.domain.jobs.job import LogChunk

_PART_BYTES = 8 << 20


class LogSource(Protocol):
    """Where a job's log is; told from the service itself so that it can be one of several."""

    def log_part(self, job_id: str, task: str, start: int, most_bytes: int, /) -> Awaitable[bytes]: ...

    def log_tail(self, job_id: str, task: str, /) -> Awaitable[LogChunk | None]: ...


async def straight(source: LogSource, job_id: str, task: str, start: int = 0) -> AsyncIterator[bytes]:
    """What there is now from a byte on; where the service gives no file, the newest it shows."""
    offset = start
    while part := await source.log_part(job_id, task, offset, _PART_BYTES):
        offset += len(part)
        yield part
    if offset == 0:
        chunk = await source.log_tail(job_id, task)
        if chunk is not None and chunk.data:
            yield chunk.data
