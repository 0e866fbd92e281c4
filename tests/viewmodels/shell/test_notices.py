"""Notices: what a scope reports, what the window shows."""

import threading
from typing import Any

from support.qt_support import until
from traindeck.domain.errors import NotFound, Unexpected, Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.shell.notices import Notices


def lost() -> Unreachable:
    return Unreachable(text("No answer."), text("Try again."))


async def test_a_failed_task_becomes_a_notice_with_retry_when_it_is_worth_one() -> None:
    notices, tries = Notices(), []
    notices.can_retry("list", lambda: tries.append(1))

    async def list_it() -> None:
        raise lost()

    async with TaskScope(notices.report) as scope:
        scope.start("list", list_it)
        await until(lambda: notices.current)
    assert str(notices.current.title) == "No answer."
    notices.retry(notices.current.number)
    assert tries == [1]
    assert notices.current is None


def test_the_same_failure_again_is_counted_not_stacked() -> None:
    notices = Notices()
    for _ in range(3):
        notices.report("poll", lost())
    assert [notice.times for notice in notices.all] == [3]
    notices.settled("poll")
    assert notices.all == ()


def test_an_error_stays_in_sight_when_news_arrive() -> None:
    notices = Notices()
    notices.report("a", NotFound(text("Gone."), text("")))
    notices.news(text("Saved."))
    assert str(notices.current.title) == "Gone."
    notices.dismiss(notices.current.number)
    assert str(notices.current.title) == "Saved."
    assert not notices.current.is_error


def test_no_retry_for_what_would_fail_again() -> None:
    notices = Notices()
    notices.can_retry("a", lambda: None)
    notices.report("a", NotFound(text("Gone."), text("")))
    assert notices.current.retry is None


def test_our_mistakes_come_with_a_report() -> None:
    notices, reports = Notices(), list[Any]()
    notices.crashed.connect(reports.append)
    notices.report("a", Unexpected("KeyError: 'x'"))
    assert "KeyError: 'x'" in reports[0]
    assert reports[0].startswith("TrainDeck ")


async def test_a_crash_in_a_thread_is_told_on_the_ui_thread() -> None:
    notices, told = Notices(), []

    def take(report: str) -> None:
        told.append((report, threading.get_ident()))

    notices.crashed.connect(take)

    def die() -> None:
        try:
            raise LookupError("deep down")
        except LookupError as error:
            notices.crash(type(error), error, error.__traceback__)

    thread = threading.Thread(target=die, name="digger")
    thread.start()
    await until(lambda: told)
    thread.join()
    report, where = told[0]
    assert "LookupError: deep down" in report
    assert "digger" in report
    assert where == threading.get_ident()
