"""What happened comes back in every language, once for each mark, and never grows beyond its bound."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.events import KeptEvent
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.language import speak
from traindeck.store.events import EventStore

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)


@contextmanager
def store(path: Path) -> Iterator[EventStore]:
    with closing(BlockingCalls(1, "events")) as writer, closing(EventStore(path, writer)) as made:
        yield made


def event(number: int = 0, **more: object) -> KeptEvent:
    said = {"at": NOW + timedelta(seconds=number), "kind": "note", "title": Text(f"event {number}"), **more}
    return KeptEvent(**said)  # type: ignore[arg-type]


async def test_it_comes_back_after_a_restart_and_in_the_language_of_that_day(tmp_path: Path) -> None:
    written = event(
        kind="failed",
        title=text("Not available: {problem}", problem=text("Theme")),
        hint=text("Enter true or false."),
        detail="HTTP 403 \ud800",
        name="a task",
        subject="place",
        topic="obs://b/中文 {x}/",
        profile="work",
        notice="run_failed",
        mark="once",
    )
    with store(tmp_path / "events.db") as first:
        assert [one.number for one in await first.add([written], 10)] == [1]
    with store(tmp_path / "events.db") as second:
        (found,) = await second.newest(10)
        assert (found.at, found.kind, found.topic, found.mark) == (NOW, "failed", "obs://b/中文 {x}/", "once")
        assert (found.name, found.subject, found.profile, found.notice) == ("a task", "place", "work", "run_failed")
        speak("zh_CN")
        assert (say(found.title), say(found.hint)) == ("无法获取：主题", "请输入 true 或 false。")
    if (tmp_path / "events.db").stat().st_mode & 0o077:
        raise AssertionError("others may read it")


async def test_what_has_a_mark_is_told_once_for_good(tmp_path: Path) -> None:
    for expected in (2, 0):
        with store(tmp_path / "events.db") as at:
            added = await at.add(
                [event(mark="run 1 Completed"), event(1, mark="run 1 Failed"), event(mark="run 1 Failed")], 10
            )
            assert len(added) == expected


async def test_a_state_that_stands_since_before_is_no_news_until_it_was_over(tmp_path: Path) -> None:
    refused = event(kind="began", title=Text("Refused"), name="keys of work", is_state=True)
    over = event(kind="over", title=Text("Refused"), name="keys of work")
    for batch, expected in (([refused], 1), ([refused], 0), ([over, refused], 2), ([refused], 0)):
        with store(tmp_path / "events.db") as at:
            assert len(await at.add(batch, 10)) == expected


async def test_the_oldest_go(tmp_path: Path) -> None:
    with store(tmp_path / "events.db") as at:
        for start in range(0, 1000, 50):
            await at.add([event(number) for number in range(start, start + 50)], 200)
        kept = await at.newest(10_000)
        assert 200 <= len(kept) <= 300
        assert say(kept[-1].title) == "event 999"
        assert len(await at.newest(5)) == 5


async def test_a_damaged_file_is_told_in_our_words_and_left(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    place.write_bytes(b"no database " * 100)
    with store(place) as at, pytest.raises(LocalTrouble):
        await at.add([event()], 10)
    assert place.read_bytes().startswith(b"no database")
