"""Who tells goes on, whatever those who listen do."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.tasks import Listeners, safely


def broken(_: object) -> None:
    raise ZeroDivisionError("a mistake of the listener")


async def test_one_that_raises_keeps_nobody_from_being_told_and_is_reported() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    listeners: Listeners[int] = Listeners()
    heard: list[int] = []
    listeners.add(heard.append)
    listeners.add(broken)
    listeners.add(heard.append)
    listeners.tell(1)
    listeners.tell(2)
    assert heard == [1, 1, 2, 2]
    assert [type(context["exception"]) for context in reported] == [ZeroDivisionError] * 2
    assert "broken" in reported[0]["message"]


def test_without_a_loop_it_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    listeners: Listeners[int] = Listeners()
    listeners.add(broken)
    with caplog.at_level(logging.ERROR):
        listeners.tell(1)
        safely(broken)(2)
    assert caplog.text.count("ZeroDivisionError: a mistake of the listener") == 2


async def test_being_cancelled_is_no_mistake_of_a_listener() -> None:
    listeners: Listeners[int] = Listeners()

    def cancelled(_: int) -> None:
        raise asyncio.CancelledError

    listeners.add(cancelled)
    with pytest.raises(asyncio.CancelledError):
        listeners.tell(1)


def test_one_may_leave_while_all_are_told() -> None:
    listeners: Listeners[int] = Listeners()
    heard: list[str] = []
    leave = listeners.add(lambda _: (heard.append("first"), leave())[0])
    listeners.add(lambda _: heard.append("second"))
    listeners.tell(1)
    listeners.tell(2)
    assert heard == ["first", "second", "second"]


def test_every_worker_that_waits_is_woken_although_one_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    token, woken = CancelToken(), []
    token.on_cancel(lambda: broken(None))
    token.on_cancel(lambda: woken.append(1))
    token.cancel()
    assert woken == [1] and token.is_cancelled
    assert "ZeroDivisionError" in caplog.text
