"""Waiting: what a condition looks into may not be there yet."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.lab_app import wait_for
from support.waiting import until

EMPTY: list[str] = []
NAMES: dict[str, str] = {}
MISSING = [
    (lambda: EMPTY[-1], "IndexError: list index out of range"),
    (lambda: NAMES["late"], "KeyError: 'late'"),
    (lambda: Path("/nowhere/late.txt").read_text("utf-8"), "FileNotFoundError: "),
]


async def test_a_list_that_is_still_empty_is_waited_for() -> None:
    told: list[str] = []
    asyncio.get_running_loop().call_later(0.05, told.append, "done")
    await until(lambda: told[-1] == "done")


async def test_a_file_that_is_still_missing_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "late.txt"
    asyncio.get_running_loop().call_later(0.05, file.write_text, "done")
    await until(lambda: file.read_text("utf-8") == "done")


@pytest.mark.parametrize(("condition", "words"), MISSING, ids=["list", "dict", "file"])
async def test_what_was_missing_is_named_when_time_is_up(condition: object, words: str) -> None:
    assert callable(condition)
    with pytest.raises(AssertionError, match="still not after") as failed:
        await until(condition, timeout=0.02)
    assert words in str(failed.value)
    with pytest.raises(AssertionError, match="still not after") as failed:
        wait_for(condition, timeout=0.02)
    assert words in str(failed.value)


async def test_what_was_missing_at_first_is_not_named_later() -> None:
    asked: list[int] = []

    def condition() -> bool:
        asked.append(1)
        return bool(asked[5]) and False

    with pytest.raises(AssertionError) as failed:
        await until(condition, timeout=0.2)
    assert "IndexError" not in str(failed.value)


async def test_any_other_error_of_a_condition_ends_the_wait() -> None:
    with pytest.raises(ZeroDivisionError):
        await until(lambda: 1 / 0)
