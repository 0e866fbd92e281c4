"""Notices: what a scope reports, what a banner and the toasts show."""

import threading
from typing import Any

import pytest

from support.qt_support import until
from traindeck.domain.errors import AppError, ClockOff, DiskFull, KeysRefused, NotFound, Unexpected, Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.shell.journal import NewsKind
from traindeck.viewmodels.shell.notices import CLOCK, DISK, KEYS, MOST_TOASTS, Notices


def lost(where: str = "No answer.") -> Unreachable:
    return Unreachable(text(where), text("Try again."))


def titles(notices: Notices) -> list[str]:
    return [str(toast.title) for toast in notices.toasts]


async def test_a_failed_task_is_told_and_no_longer_once_it_succeeds() -> None:
    notices, answers = Notices(), [lost(), None]

    async def open_it() -> None:
        if error := answers.pop(0):
            raise error

    async with TaskScope(notices.report, notices.succeeded) as scope:

        def again() -> None:
            scope.start("open", open_it)

        notices.can_retry("open", again)
        scope.start("open", open_it)
        await until(lambda: notices.toasts)
        assert titles(notices) == ["No answer."]
        retry = notices.toasts[0].retry
        assert retry is not None
        retry()
        await until(lambda: not notices.toasts)
    assert [one.kind for one in notices.journal.entries] == [NewsKind.FAILED]


def test_the_same_failure_again_takes_the_place_of_the_first() -> None:
    notices = Notices()
    for _ in range(3):
        notices.report("poll", lost())
    assert titles(notices) == ["No answer."]
    assert len(notices.journal.entries) == 3


def test_the_same_words_once_more_are_one_toast() -> None:
    """Two of them could not be told apart; what each of them did can still be undone, the last first."""
    notices, undone = Notices(), list[int]()
    for number in range(2):
        notices.journal.done(text("Copied the OBS path."))
        notices.journal.done(text("“{name}” was moved.", name="a"), undo=lambda number=number: undone.append(number))
    for task in ("submit", "note"):
        notices.report(task, NotFound(text("Gone."), text("")))
    assert titles(notices) == ["Copied the OBS path.", "“a” was moved.", "Gone."]
    assert len(notices.journal.entries) == 6
    notices.journal.undo(notices.toasts[1].number)
    notices.journal.undo_last()
    assert undone == [1, 0]


def test_news_that_can_be_tried_again_stays_beside_the_same_words() -> None:
    notices = Notices()
    for task in ("buckets", "runs"):
        notices.can_retry(task, lambda: None)
        notices.report(task, lost())
    assert titles(notices) == ["No answer.", "No answer."]


def test_what_no_retry_can_mend_offers_none() -> None:
    notices = Notices()
    notices.can_retry("a", lambda: None)
    notices.report("a", NotFound(text("Gone."), text("")))
    assert notices.toasts[0].retry is None


def test_a_failure_stays_in_sight_longer_than_what_went_well() -> None:
    notices = Notices()
    notices.report("a", lost())
    for number in range(MOST_TOASTS):
        notices.journal.done(text("Moved {number}.", number=number))
    assert len(notices.toasts) == MOST_TOASTS
    assert titles(notices)[0] == "No answer." and titles(notices)[1] == "Moved 1."


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ClockOff(text("The clock is wrong."), text("Set it.")), CLOCK),
        (DiskFull(text("The disk is full: “{place}” was not written.", place="/x"), text("Free some.")), DISK),
    ],
)
def test_what_keeps_everything_from_going_on_is_a_banner_and_nothing_else(error: AppError, name: str) -> None:
    notices, changes = Notices(), []
    notices.changed.connect(lambda: changes.append(notices.current))
    notices.report("upload", error)
    notices.report("download", error)
    assert [one.name for one in notices.conditions] == [name] and not notices.toasts
    notices.clear(name)
    assert notices.conditions == () and len(changes) == 2
    assert [one.kind for one in notices.journal.entries] == [NewsKind.BEGAN, NewsKind.OVER]


def test_one_trouble_is_told_in_one_place() -> None:
    notices, refused = Notices(), KeysRefused(text("Not known."), text("Look it up."))
    notices.report("list", lost("The Lab is stopped."))
    notices.hold("lab", text("The Lab is stopped."))
    assert not notices.toasts, "the banner says it now"
    notices.report("upload", lost("The Lab is stopped."))
    notices.hold(KEYS + "campus", text("The keys are refused."))
    notices.report("upload", refused)
    assert not notices.toasts
    assert [one.is_quiet for one in notices.journal.entries if one.kind is NewsKind.FAILED] == [False, True, True]


def test_an_error_comes_before_what_is_only_worth_knowing() -> None:
    notices = Notices()
    notices.hold("lab", text("Stopped."))
    notices.hold("language", text("Later."), is_error=False)
    assert [str(one.title) for one in notices.conditions] == ["Stopped.", "Later."]


def test_what_was_done_is_taken_back_once_the_last_first() -> None:
    journal, undone = Notices().journal, []
    journal.done(text("Moved."), undo=lambda: undone.append("move"))
    journal.done(text("Renamed."), undo=lambda: undone.append("rename"))
    journal.done(text("Copied the link."))
    first = journal.entries[0].number
    journal.undo_last()
    assert undone == ["rename"]
    journal.undo(first)
    journal.undo(first)
    journal.undo_last()
    assert undone == ["rename", "move"] and journal.last_undoable is None


def test_what_was_taken_back_by_a_key_is_not_offered_to_be_taken_back() -> None:
    notices = Notices()
    notices.journal.done(text("Moved."), undo=lambda: notices.journal.done(text("The move was undone.")))
    notices.journal.undo_last()
    assert [str(toast.title) for toast in notices.toasts] == ["The move was undone."]


def test_our_mistakes_come_with_a_report() -> None:
    notices, reports = Notices(), list[Any]()
    notices.crashed.connect(reports.append)
    notices.report("a", Unexpected("KeyError: 'x'"))
    assert "KeyError: 'x'" in reports[0]
    assert reports[0].startswith("TrainDeck ")
    assert not notices.toasts, "there is a dialog for it"


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
