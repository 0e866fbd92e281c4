"""Letting events pass, for journeys inside the program and for tests of its widgets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QTimer


async def outside_of_tasks(act: Callable[[], object]) -> None:
    """Some of Qt's test functions let events pass; inside a task this steps into other tasks, which never wake then."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def do() -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001  (raised again for the one who waits)
            if not done.cancelled():
                done.set_exception(error)
        else:
            if not done.cancelled():  # what was pressed may have ended the program
                done.set_result(None)

    QTimer.singleShot(0, do)
    await done
