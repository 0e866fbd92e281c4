from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from support.folder_cloud import FolderCloud, code_folder, offline
from support.panel_bench import ShownTransfers, User
from support.waiting import AT_ONCE_S, until
from traindeck.domain.errors import Unreachable
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, Rules
from traindeck.domain.transfers.records import Action, Item, ItemState, TransferState, WaitsFor
from traindeck.runtime.tasks import TaskScope
from traindeck.services.transfers import Transfer
from traindeck.viewmodels.ports import Tone
from traindeck.viewmodels.transfers.transfer_list import (
    ALL,
    PAGE,
    PROBLEMS,
    TransferAction,
    TransferFiles,
    TransferList,
    TransferListState,
    TransferRow,
)
from traindeck.viewmodels.transfers.transfer_words import (
    confirmed_sign,
    confirmed_words,
    counts_words,
    item_line,
    item_tone,
    item_words,
    kind_sign,
    kind_words,
    progress_words,
    reason_words,
    summary_words,
    transfer_tone,
    trouble_words,
    verified_words,
)

TARGET = ObjectPath("bucket", "code/")
MOVING = Transfer(1, Kind.UPLOAD, "a", "b", total_bytes=10_000)


async def test_a_transfer_shows_from_its_start_to_its_end(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, _ = await _begun(cloud, tmp_path)
        cloud.storage.wait.set()
        await until(lambda: [row.transfer.state for row in transfers.state.rows] == [TransferState.DONE])
        assert transfers.state.rows[0].share == 1.0
        transfers.clear_finished()
        assert transfers.state.rows == ()
        transfers.close()


async def test_cancel_and_failure_stay_in_the_list_with_their_reason(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, source = await _begun(cloud, tmp_path)
        transfers.do(TransferAction.CANCEL, [transfers.state.rows[0].id])
        await until(lambda: transfers.state.rows[0].transfer.state is TransferState.CANCELLED)
        cloud.storage.wait = None
        cloud.storage.trouble = offline()
        cloud.scope.start("up again", lambda: _upload(cloud, source))
        await until(lambda: transfers.state.rows[0].transfer.state is TransferState.FAILED)
        error = transfers.state.rows[0].transfer.error
        assert type(error) is Unreachable and "The service cannot be reached" in error.sentence()
        assert len(transfers.state.rows) == 2
        transfers.close()


async def test_the_rate_is_that_of_the_last_seconds() -> None:
    now, shown = 0.0, ShownTransfers(MOVING)
    scope = TaskScope(lambda name, error: None)
    transfers = TransferList(cast("Any", shown), scope, clock=lambda: now)
    for done in (0, 1000, 2000, 3000, 3000, 3000, 3000, 3000):
        shown.row = replace(shown.row, done_bytes=done)
        transfers.look()
        now += 1.0
    assert transfers.state.rows[0].bytes_per_s == 0.0
    assert transfers.state.rows[0].seconds_left is None
    transfers.close()
    assert TransferRow(replace(shown.row, done_bytes=0), 500.0).seconds_left == 20.0
    assert TransferRow(replace(shown.row, total_bytes=None)).share is None


@pytest.mark.parametrize("state", TransferState)
def test_every_state_has_its_words_and_its_tone(state: TransferState) -> None:
    row = TransferRow(Transfer(1, Kind.COPY, "a", "b", state, error=offline()))
    assert progress_words(row)
    assert transfer_tone(row)
    assert "Look at the network." in reason_words(row)
    assert kind_sign(row) == "→" and kind_words(row)


@pytest.mark.parametrize(
    ("waits", "words", "tone"),
    [
        (WaitsFor.NETWORK, "Waiting for network", Tone.WAITING),
        (WaitsFor.SERVICE, "Waiting for the service", Tone.WAITING),
        (WaitsFor.KEYS, "Waiting for new keys", Tone.DOUBTFUL),
        (WaitsFor.CLOCK, "Computer clock is wrong", Tone.DOUBTFUL),
        (WaitsFor.DISK, "Waiting for disk space", Tone.DOUBTFUL),
    ],
)
def test_what_it_waits_for_is_said_and_what_needs_somebody_stands_out(waits: WaitsFor, words: str, tone: Tone) -> None:
    moment = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    row = TransferRow(
        Transfer(1, Kind.UPLOAD, "a", "b", TransferState.WAITING, error=offline(), waits_for=waits, next_try=moment)
    )
    assert (progress_words(row), transfer_tone(row)) == (words, tone)
    told = reason_words(row)
    assert told.startswith(words) and "Look at the network." in told and "Next attempt: " in told


def test_files_are_counted_by_what_became_of_them() -> None:
    under_way = Transfer(1, Kind.UPLOAD, "a", "b", files=2000, done_files=1500, equal_files=20)
    assert counts_words(TransferRow(under_way)) == "1,500 of 2,000 · 20 identical"
    over = replace(under_way, state=TransferState.PARTLY, failed_files=2, skipped_files=3, equal_files=0)
    assert counts_words(TransferRow(over)) == "2 failed · 1,500 done · 3 skipped"
    kept = replace(over, failed_files=0, skipped_files=0, kept_files=4, state=TransferState.DONE)
    assert counts_words(TransferRow(kept)) == "1,500 done · 4 kept"
    left_alone = Item("k", "k", state=ItemState.KEPT)
    assert (item_words(left_alone, Kind.UPLOAD), item_tone(left_alone)) == ("Kept", Tone.QUIET)
    assert counts_words(TransferRow(Transfer(1, Kind.UPLOAD, "a", "b", TransferState.PLANNING))) == ""


@pytest.mark.parametrize("state", ItemState)
def test_every_end_of_a_file_has_its_words(state: ItemState) -> None:
    row = TransferRow(Transfer(1, Kind.DOWNLOAD, "obs://bucket/a.bin", "b"))
    item = Item("a.bin", "", 5, state=state, error=offline())
    assert item_tone(item)
    line = item_line(item, row).split("\t")
    assert line[0] == item_words(item, Kind.DOWNLOAD)
    assert line[1] == confirmed_sign(item)
    assert line[2:4] == ["a.bin", "5 B"] and "Look at the network." in line[4]
    assert item_words(replace(item, action=Action.REMOVE, state=ItemState.DONE), Kind.UPLOAD) == "Deleted"


def test_what_is_verified_says_so_and_what_is_not_is_counted() -> None:
    sure = Transfer(
        1, Kind.UPLOAD, "a", "b", TransferState.DONE, done_files=1001, equal_files=2, removals=1, verified_files=1002
    )
    assert progress_words(TransferRow(sure)) == "✓ Verified"
    assert "All 1,002 files" in verified_words(TransferRow(sure))
    assert verified_words(TransferRow(sure)) in reason_words(TransferRow(sure))
    unsure = replace(sure, verified_files=1000)
    assert progress_words(TransferRow(unsure)) == "Done"
    assert "2 files are not" in verified_words(TransferRow(unsure))
    assert "1,000 verified" in counts_words(TransferRow(unsure))
    for other in (replace(sure, state=TransferState.RUNNING), replace(sure, done_files=1, equal_files=0)):
        assert not verified_words(TransferRow(other))
    assert not replace(sure, skipped_files=1).is_verified
    checked = Transfer(1, Kind.CHECK, "a", "b", TransferState.DONE, done_files=3, verified_files=3, unknown_files=2)
    assert progress_words(TransferRow(checked)) == "Cannot be checked: 2"
    assert counts_words(TransferRow(checked)) == "2 cannot be checked · 3 verified"
    apart = replace(checked, state=TransferState.PARTLY, different_files=1, missing_here=2)
    assert counts_words(TransferRow(apart)).startswith("3 differ · ")
    tones = [transfer_tone(TransferRow(one)) for one in (sure, unsure, checked, apart)]
    assert tones == [Tone.GOOD, Tone.GOOD, Tone.DOUBTFUL, Tone.BAD], "what nobody could check is never green"


@pytest.mark.parametrize(
    ("state", "is_verified", "sign"),
    [
        (ItemState.DONE, True, "✓"),
        (ItemState.EQUAL, True, "✓"),
        (ItemState.DONE, False, "–"),
        (ItemState.UNKNOWN, False, "–"),
        (ItemState.QUEUED, False, ""),
        (ItemState.FAILED, False, ""),
    ],
)
def test_a_file_is_confirmed_or_not_or_it_is_no_question(state: ItemState, is_verified: bool, sign: str) -> None:
    item = Item("a", "a", state=state, is_verified=is_verified)
    assert confirmed_sign(item) == sign
    assert bool(confirmed_words(item)) == bool(sign)
    assert not confirmed_sign(Item("a", "a", action=Action.REMOVE, state=ItemState.DONE))


async def test_what_can_be_done_is_what_the_state_allows(tmp_path: Path) -> None:
    fitting = {
        TransferState.QUEUED: {TransferAction.PAUSE, TransferAction.MOVE_FIRST, TransferAction.CANCEL},
        TransferState.PLANNING: {TransferAction.PAUSE, TransferAction.MOVE_FIRST, TransferAction.CANCEL},
        TransferState.READY: {TransferAction.BEGIN, TransferAction.CANCEL},
        TransferState.RUNNING: {TransferAction.PAUSE, TransferAction.MOVE_FIRST, TransferAction.CANCEL},
        TransferState.WAITING: {
            TransferAction.PAUSE,
            TransferAction.RESUME,
            TransferAction.MOVE_FIRST,
            TransferAction.CANCEL,
        },
        TransferState.PAUSED: {TransferAction.RESUME, TransferAction.MOVE_FIRST, TransferAction.CANCEL},
        TransferState.DONE: {TransferAction.VERIFY, TransferAction.REMOVE},
        TransferState.PARTLY: {TransferAction.RETRY, TransferAction.VERIFY, TransferAction.REMOVE},
        TransferState.FAILED: {TransferAction.RETRY, TransferAction.REMOVE},
        TransferState.CANCELLED: {TransferAction.RETRY, TransferAction.REMOVE},
    }
    async with FolderCloud(tmp_path) as cloud:
        cloud.transfers._take([Transfer(n, Kind.UPLOAD, "a", "b", state) for n, state in enumerate(fitting)])
        transfers = TransferList(cloud.transfers, cloud.scope)
        for number, deeds in enumerate(fitting.values()):
            assert {asked for asked in TransferAction if transfers.fitting(asked, [number])} == deeds
        assert transfers.fitting(TransferAction.RETRY, range(10)) == [9, 8, 7]
        transfers.close()


async def test_a_plan_begins_and_files_are_removed_only_after_a_yes(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        await cloud.storage.put(b"", TARGET.join("old"))
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "new").write_text("x")
        rules = Rules(compare=CompareBy.SIZE, delete=True)
        order = Order(Kind.UPLOAD, "lab", str(tmp_path / "here"), str(TARGET), rules)
        row = await cloud.transfers.planned(order)
        await until(lambda: [row.state for row in cloud.transfers.rows()] == [TransferState.READY])
        transfers = TransferList(cloud.transfers, cloud.scope)
        no, yes = User(answer=False), User()
        transfers.begin([row.id], no)
        await until(lambda: no.asked)
        assert no.asked == ["This deletes 1 file. Start? [Start]"]
        assert cloud.transfers.rows()[0].state is TransferState.READY
        transfers.begin([row.id], yes)
        await until(lambda: cloud.transfers.rows()[0].state is TransferState.DONE)
        assert not cloud.storage.place(TARGET.join("old")).exists()
        transfers.close()


async def test_a_limit_of_the_rate_is_told_and_kept(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        kept: list[int] = []
        transfers = TransferList(cloud.transfers, cloud.scope, rate_limit=8000, keep_rate=kept.append)
        (tmp_path / "file").write_bytes(bytes(24_000))
        begin = time.monotonic()
        await cloud.transfers.upload("lab", tmp_path / "file", TARGET.join("file"))
        assert time.monotonic() - begin >= 2, "the limit of the last session holds"
        transfers.limit_rate(0)
        (tmp_path / "large").write_bytes(bytes(1_000_000))  # minutes, were there still a limit
        begin = time.monotonic()
        await cloud.transfers.upload("lab", tmp_path / "large", TARGET.join("again"))
        assert time.monotonic() - begin < AT_ONCE_S
        assert (kept, transfers.rate_limit) == ([0], 0)
        transfers.close()


async def test_a_pause_holds_what_goes_on_later(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, _ = await _begun(cloud, tmp_path)
        number = transfers.state.rows[0].id
        transfers.do(TransferAction.PAUSE, [number])
        await until(lambda: _state(transfers) is TransferState.PAUSED)
        transfers.do(TransferAction.PAUSE, [number])  # fits no more: nothing happens
        cloud.storage.wait = None
        transfers.do(TransferAction.RESUME, [number])
        await until(lambda: _state(transfers) is TransferState.DONE)
        transfers.close()


async def test_what_failed_is_tried_again_and_its_files_are_told(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers = TransferList(cloud.transfers, cloud.scope)
        in_the_way = cloud.storage.place(ObjectPath("bucket", "code/data.txt"))
        in_the_way.mkdir(parents=True)
        source = code_folder(tmp_path / "code")
        cloud.scope.start("up", lambda: _upload(cloud, source))
        await until(lambda: bool(transfers.state.rows) and transfers.state.live == 0)
        number = transfers.state.rows[0].id
        files = transfers.files(number)
        files.show(PROBLEMS)
        await until(lambda: not files.state.is_reading)
        assert [(item.name, item_words(item, Kind.UPLOAD)) for item in files.rows] == [("data.txt", "Transfer failed")]
        in_the_way.rmdir()
        transfers.do(TransferAction.RETRY, [number])
        await until(lambda: _state(transfers) is TransferState.DONE)
        files.show(ALL)
        await until(lambda: [item.state for item in files.rows] == [ItemState.DONE] * 2)
        assert not files.state.has_more
        files.close()
        transfers.close()


async def test_canceling_is_no_question_for_it_can_be_taken_up_again(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers = TransferList(cloud.transfers, cloud.scope)
        cloud.storage.wait = asyncio.Event()
        source = code_folder(tmp_path / "code")
        for name in ("one", "two", "three"):
            cloud.scope.start(name, lambda: _upload(cloud, source))
        await until(lambda: transfers.state.live == 3)
        everything = [row.id for row in transfers.state.rows]
        transfers.do(TransferAction.CANCEL, everything)
        await until(lambda: transfers.state.live == 0)
        assert transfers.fitting(TransferAction.RETRY, everything) == everything
        transfers.close()


async def test_a_list_of_files_grows_by_pages_and_ends(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        shown = ShownTransfers(MOVING, PAGE + 3)
        files = TransferFiles(cast("Any", shown), 1, cloud.scope)
        files.show(ALL)
        files.more()  # one page at a time
        await until(lambda: not files.state.is_reading)
        assert len(files.rows) == PAGE and files.state.has_more
        files.more()
        await until(lambda: not files.state.is_reading)
        assert len(files.rows) == PAGE + 3 and not files.state.has_more
        assert [item.key for item in files.rows] == [f"{number:07}" for number in range(PAGE + 3)]
        files.close()


async def test_another_choice_of_files_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        shown = ShownTransfers(MOVING, 3)
        shown.wait = asyncio.Event()
        files = TransferFiles(cast("Any", shown), 1, cloud.scope)
        files.show((ItemState.DONE,))
        await asyncio.sleep(0)
        files.show((ItemState.FAILED,))
        shown.wait.set()
        await until(lambda: not files.state.is_reading)
        assert [item.state for item in files.rows] == [ItemState.FAILED] * 3
        shown.trouble = offline()
        files.reload()
        await until(lambda: files.state.trouble is not None)
        assert files.rows == []
        files.close()


def _state(transfers: TransferList) -> TransferState:
    return transfers.state.rows[0].transfer.state


async def _begun(cloud: FolderCloud, folder: Path) -> tuple[TransferList, Path]:
    """An upload that waits for the storage, and where it comes from."""
    transfers = TransferList(cloud.transfers, cloud.scope)
    cloud.storage.wait = asyncio.Event()
    source = code_folder(folder / "code")
    cloud.scope.start("up", lambda: _upload(cloud, source))
    await until(lambda: transfers.state.live == 1)
    return transfers, source


async def _upload(cloud: FolderCloud, source: Path) -> None:
    await cloud.transfers.upload("lab", source, TARGET)


def test_the_first_failure_is_told_while_it_goes_on() -> None:
    moment = datetime(2026, 8, 1, 12, 30, 15, tzinfo=UTC)
    running = replace(MOVING, state=TransferState.RUNNING, done_bytes=2_500, error=offline(), tries=1, next_try=moment)
    row = TransferRow(running)
    assert progress_words(row) == "25%, trying again" and transfer_tone(row) is Tone.WAITING
    assert "Look at the network." in reason_words(row) and "failed attempts: 1" in reason_words(row)
    planning = replace(running, state=TransferState.PLANNING)
    assert progress_words(TransferRow(planning)) == "Trying again"


def test_what_keeps_one_from_getting_on_has_lines_of_its_own() -> None:
    well = TransferRow(replace(MOVING, id=3))
    tried = TransferRow(replace(MOVING, id=2, source="two", error=offline(), tries=4))
    failed = TransferRow(replace(MOVING, id=1, source="one", state=TransferState.FAILED, error=offline()))
    state = TransferListState((well, tried, failed))
    assert summary_words(state) == "2 active"
    held = TransferRow(replace(MOVING, id=4, state=TransferState.PAUSED))
    asked = TransferRow(replace(MOVING, id=5, state=TransferState.READY))
    assert summary_words(TransferListState((well, held, asked, failed))) == "1 active · 2 on hold"
    assert summary_words(TransferListState((held, failed))) == "1 on hold", "nothing moves"
    assert trouble_words(state, []).startswith("two: ") and trouble_words(state, [1]).startswith("one: ")
    assert trouble_words(TransferListState((well, failed)), []) == "", "what failed long ago is in its row"
    assert trouble_words(TransferListState((failed, well)), []).startswith("one: ")
