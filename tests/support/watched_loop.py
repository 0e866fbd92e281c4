"""Runs the body of a coroutine test so that nothing it started goes unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from support.waiting import PATIENT_S


def run_watched(runner: asyncio.Runner, body: Coroutine[Any, Any, None]) -> None:
    """Run a test's body; what its tasks and callbacks left undone or unsaid fails it."""
    unsaid: list[dict[str, Any]] = []
    runner.get_loop().set_exception_handler(lambda _, context: unsaid.append(context))

    async def watched() -> set[asyncio.Task[Any]]:
        await body
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:  # a server's last connection may still be closing
            await asyncio.wait(left, timeout=PATIENT_S)
        return {task for task in left if not task.done()}

    left = runner.run(watched())
    assert not left, f"tasks outlived the test: {left}"
    assert not unsaid, unsaid
