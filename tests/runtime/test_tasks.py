"""A scope ends what it started, lets its children fail alone and says so once."""

from __future__ import annotations

import asyncio
import signal
import sys
from functools import partial

import pytest

from support.waiting import until
from traindeck.domain.errors import AppError, NotFound, Unexpected
from traindeck.domain.texts import Text, text
from traindeck.runtime import tasks
from traindeck.runtime.tasks import Listeners, Repeat, TaskScope, few_at_once, woken_by_signals


async def test_a_child_fails_alone_and_is_reported_once_under_its_name() -> None:
    reports: list[tuple[str, AppError]] = []
    done: list[str] = []

    async def refuse() -> None:
        raise NotFound(text("Gone."), text("Look."))

    async def stumble() -> None:
        raise ValueError("a mistake")

    async def resume() -> None:
        await asyncio.sleep(0.01)
        done.append("went on")

    async with TaskScope(lambda name, error: reports.append((name, error))) as scope:
        for name, work in (("refuse", refuse), ("stumble", stumble), ("go on", resume)):
            assert scope.start(name, work)
        await until(lambda: done)
    assert [(name, type(error)) for name, error in reports] == [("refuse", NotFound), ("stumble", Unexpected)]


async def test_what_fails_inside_a_group_is_reported_as_what_it_is() -> None:
    reports: list[tuple[str, AppError]] = []

    async def refuse(words: str) -> None:
        raise NotFound(text("{words}", words=words), text("Look."))

    async def several() -> None:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as group:
            group.create_task(refuse("first"))
            group.create_task(refuse("second"))
            outer.create_task(refuse("third"))

    async def one_mistake() -> None:
        raise ExceptionGroup("both", [NotFound(text("Gone."), text("Look.")), ValueError("a mistake")])

    async with TaskScope(lambda name, error: reports.append((name, error))) as scope:
        scope.start("several", several)
        scope.start("mistake", one_mistake)
        await until(lambda: len(reports) == 2)
    found = dict(reports)
    assert isinstance(found["several"], NotFound)
    assert isinstance(found["mistake"], Unexpected) and found["mistake"].detail == "ValueError: a mistake"


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


async def test_whoever_has_the_next_turn_after_the_end_may_begin_anew() -> None:
    began: list[bool] = []

    async def again() -> None:
        pass

    async with TaskScope(lambda name, error: pytest.fail(f"{name}: {error}")) as scope:

        async def work() -> None:
            asyncio.get_running_loop().call_soon(lambda: began.append(scope.start("one", again)))

        scope.start("one", work)
        await until(lambda: began)
    assert began == [True]


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


async def test_a_name_is_free_as_soon_as_its_work_has_ended() -> None:
    taken: list[bool] = []

    async def nothing() -> None:
        pass

    async def work() -> None:
        # After the last step of this task, before anybody is told that it is over: where a click may come in.
        asyncio.get_running_loop().call_soon(lambda: taken.append(scope.start("save", nothing)))

    async with TaskScope(lambda name, error: None) as scope:
        scope.start("save", work)
        await until(lambda: taken)
    assert taken == [True]


@pytest.mark.skipif(sys.platform == "win32", reason="the loop of Windows is woken by itself")
async def test_a_signal_wakes_the_loop_also_in_the_moment_before_it_waits() -> None:
    """Without it Ctrl-C would be lost until something else happens, when it comes at the wrong moment."""
    with woken_by_signals():
        waker = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(waker)
        assert waker != -1
    assert signal.set_wakeup_fd(-1) == -1


async def test_few_at_once_are_under_way_and_the_first_failure_ends_all() -> None:
    begun: list[int] = []
    ended: list[int] = []
    may_end, may_fail = asyncio.Event(), asyncio.Event()

    async def work(number: int) -> None:
        begun.append(number)
        await may_end.wait()
        ended.append(number)

    async def fail() -> None:
        await may_fail.wait()
        raise NotFound(text("Gone."), text("Look."))

    async def many() -> None:
        async with few_at_once(2) as start:
            for number in range(5):
                await start(partial(work, number))
            await start(fail)
            await start(partial(work, 6))
            may_end.clear()
            may_fail.set()
            await start(partial(work, 7))
            await asyncio.Event().wait()

    whole = asyncio.create_task(many())
    await until(lambda: len(begun) == 2)
    may_end.set()
    with pytest.raises(NotFound):
        await whole
    assert begun[:5] == ended[:5] == list(range(5))


async def test_what_takes_longer_than_a_moment_is_told_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "SHOWN_AFTER_S", 0.02)
    told: list[tuple[Text, ...]] = []
    first, second = text("first"), text("second")
    go_on = asyncio.Event()
    async with TaskScope(lambda *_: None) as scope:
        scope.under_way.add(told.append)
        scope.start("without words", go_on.wait)
        scope.start("quick", partial(asyncio.sleep, 0), words=text("quick"))
        scope.start("one", go_on.wait, words=first)
        await until(lambda: told == [(first,)])
        scope.start("one", go_on.wait, words=second)
        assert told == [(first,)], "what runs already is not begun again"
        scope.start("one", go_on.wait, Repeat.REPLACE, second)
        await until(lambda: told == [(first,), (), (second,)])
        go_on.set()
        await until(lambda: told[-1] == ())
    assert len(told) == 4


async def test_a_scope_that_ends_tells_that_nothing_is_under_way_any_more() -> None:
    told: list[tuple[Text, ...]] = []
    async with TaskScope(lambda *_: None) as scope:
        scope.under_way.add(told.append)
        scope.start("for ever", asyncio.Event().wait, words=text("for ever"))
    assert told == []


async def test_nothing_is_told_while_the_user_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "SHOWN_AFTER_S", 0.02)
    told: list[tuple[Text, ...]] = []
    words, asks, answered = text("counting"), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await asks.wait()
        with tasks.user_is_asked():
            await answered.wait()
        await asyncio.Event().wait()

    async with TaskScope(lambda *_: None) as scope:
        scope.under_way.add(told.append)
        scope.start("counting", work, words=words)
        await until(lambda: told == [(words,)])
        asks.set()
        await until(lambda: told == [(words,), ()])
        answered.set()
        await until(lambda: told == [(words,), (), (words,)])
        scope.cancel("counting")
        await until(lambda: told[-1] == ())
