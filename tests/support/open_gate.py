"""What stands before a submission where a test is about the sending itself."""

from __future__ import annotations

from traindeck.domain.jobs.checks import AcceptedFinding


async def open_gate(*_: object) -> tuple[AcceptedFinding, ...]:
    """Lets every job through unseen."""
    return ()
