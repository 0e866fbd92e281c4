"""The mark of a home: one for all programs on it, and none where none can be kept."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.home_mark import HomeMark


async def test_all_programs_on_a_home_have_the_same_and_other_homes_another(tmp_path: Path) -> None:
    with closing(BlockingCalls(8, "disk")) as disk:
        marks = await asyncio.gather(*(HomeMark(tmp_path / "home" / "home-id", disk).read() for _ in range(8)))
        assert len(set(marks)) == 1 and len(marks[0]) == 32
        assert await HomeMark(tmp_path / "other" / "home-id", disk).read() not in ("", marks[0])


async def test_one_that_was_damaged_is_made_anew_and_where_nothing_can_be_kept_there_is_none(tmp_path: Path) -> None:
    with closing(BlockingCalls(1, "disk")) as disk:
        mark = HomeMark(tmp_path / "home-id", disk)
        mark.place.write_bytes(b"\xff<html>" * 10)
        found = await mark.read()
        assert len(found) == 32 and await mark.read() == found
        (tmp_path / "file").write_bytes(b"")
        assert await HomeMark(tmp_path / "file" / "home-id", disk).read() == ""
