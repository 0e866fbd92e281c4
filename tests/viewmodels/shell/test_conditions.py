"""Conditions: each appears when it begins and leaves by itself when it is over."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from support.qt_support import until
from support.waiting import fail_with
from traindeck.domain.errors import AppError, ClockOff, NoRight, Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_error
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.shell import conditions
from traindeck.viewmodels.shell.conditions import DiskRoom, Reachability
from traindeck.viewmodels.shell.journal import NewsKind
from traindeck.viewmodels.shell.notices import CLOCK, DISK, UNREACHABLE, Notices


def away(host: str = "obs.example.com") -> AppError:
    return Unreachable(text("Cannot connect to {host}.", host=host), text("Look at the network."))


def names(notices: Notices) -> list[str]:
    return [one.name for one in notices.conditions]


async def test_an_account_that_cannot_be_reached_is_told_once_whoever_asks_and_until_all_are_answered() -> None:
    notices = Notices()
    reach = Reachability(notices)
    reach.told("campus", "runs", away())
    reach.told("campus", "buckets", away())
    assert names(notices) == [UNREACHABLE + "campus"]
    assert "“campus”" in str(notices.conditions[0].title) and "Cannot connect" in str(notices.conditions[0].hint)
    asked: list[int] = []
    reach.wanted.connect(lambda: asked.append(1))
    mending = notices.conditions[0].mending
    assert mending is not None
    mending.act()
    assert asked == [1]
    notices.report("upload to campus", away())
    assert not notices.toasts, "the banner says it"
    reach.told("campus", "runs", None)
    assert names(notices) == [UNREACHABLE + "campus"]
    reach.told("campus", "buckets", None)
    assert names(notices) == []
    assert [one.kind for one in notices.journal.entries if not one.is_quiet] == [NewsKind.BEGAN, NewsKind.OVER]


async def test_what_is_no_matter_of_the_way_raises_no_banner() -> None:
    notices = Notices()
    reach = Reachability(notices)
    reach.told("campus", "buckets", NoRight(text("Not yours."), text("Ask.")))
    reach.told("lab", "runs", away("127.0.0.1"))
    assert names(notices) == []


async def test_a_wrong_clock_goes_with_the_next_answer_that_is_good() -> None:
    notices = Notices()
    reach = Reachability(notices)
    wrong = ClockOff(text("The clock is wrong."), text("Set it."))
    notices.report("upload", wrong)
    reach.told("campus", "buckets", wrong)
    assert names(notices) == [CLOCK]
    reach.told("campus", "buckets", None)
    assert names(notices) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")
async def test_a_full_disk_is_over_as_soon_as_something_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "LOOK_AGAIN_MS", 10)
    with pytest.raises(OSError) as full, Path("/dev/full").open("wb", buffering=0) as file:
        file.write(b"x")
    with closing(BlockingCalls(1, "disk")) as disk:
        notices = Notices()
        async with TaskScope(fail_with) as scope:
            room = DiskRoom(notices, tmp_path, disk, scope)
            looked: list[int] = []
            room._again.timeout.connect(lambda: looked.append(1))
            notices.report("keep", local_error(full.value, Path("/proc/self/settings.json")))
            await until(lambda: len(looked) > 2)
            assert names(notices) == [DISK], "nothing can be written there yet"
            notices.report("keep", local_error(full.value, tmp_path / "settings.json"))
            await until(lambda: not notices.conditions)
            assert not room._again.isActive()
