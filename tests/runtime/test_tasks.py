"""A scope ends what it started, lets its children fail alone and says so once."""

from __future__ import annotations

import asyncio

import pytest

from traindeck.domain.errors import AppError, NotFound, Unexpected
from traindeck.domain.texts import text
from traindeck.runtime.listeners import Listeners
from traindeck.runtime.tasks import Repeat, TaskScope
from waiting import until


async def test_a_child_fails_alone_and_is_reported_once_under_its_name() -> None:
    reports: list[tuple[str, AppError]] = []
    done: list[str] = []

    async def refuse() -> None:
        raise NotFound(text("Gone."), text("Look."))

    async def stumble() -> None:
        raise ValueError("a mistake")

    async def go_on() -> None:
        await asyncio.sleep(0.01)
        done.append("went on")

    async with TaskScope(lambda name, error: reports.append((name, error))) as scope:
        for name, work in (("refuse", refuse), ("stumble", stumble), ("go on", go_on)):
            assert scope.start(name, work)
        await until(lambda: done)
    assert [(name, type(error)) for name, error in reports] == [("refuse", NotFound), ("stumble", Unexpected)]


async def test_the_same_name_is_refused_or_replaces_after_the_first_has_cleaned_up() -> None:
    told: list[str] = []

    async def first() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            told.append("first cleaned up")

    async def second() -> None:
        told.append("second began")

    async with TaskScope(lambda name, error: pytest.fail(f"{name}: {error}")) as scope:
        scope.start("one", first)
        await asyncio.sleep(0)
        assert not scope.start("one", second)
        assert scope.start("one", second, Repeat.REPLACE)
        await until(lambda: not scope.is_running("one"))
    assert told == ["first cleaned up", "second began"]


async def test_nothing_outlives_the_scope_and_nothing_starts_after_it() -> None:
    ended = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with TaskScope(lambda name, error: pytest.fail(f"{name}: {error}")) as scope:
        scope.start("wait", wait)
        await asyncio.sleep(0)
    assert ended.is_set()
    assert not scope.start("wait", wait)


def test_news_reach_who_listened_when_they_were_told_even_when_one_stops_meanwhile() -> None:
    news: Listeners[str] = Listeners()
    told: list[str] = []
    stop_second = news.add(lambda word: told.append(f"second {word}"))

    def first(word: str) -> None:
        told.append(f"first {word}")
        stop_second()

    stop_first = news.add(first)
    news.tell("a")
    news.tell("b")
    stop_first()
    stop_first()
    news.tell("c")
    assert told == ["second a", "first a", "first b"]
