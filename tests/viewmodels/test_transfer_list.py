from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from folder_cloud import FolderCloud, code_folder, offline
from traindeck.domain.errors import Unreachable
from traindeck.domain.objects import ObjectPath
from traindeck.domain.transfers import Kind, TransferState
from traindeck.runtime.listeners import Listeners
from traindeck.services.transfers import Transfer
from traindeck.viewmodels.transfer_list import TransferList, TransferRow
from traindeck.viewmodels.transfer_words import kind_sign, kind_words, progress_words, transfer_tone
from waiting import until

TARGET = ObjectPath("bucket", "code/")


async def test_a_transfer_shows_from_its_start_to_its_end(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers = TransferList(cloud.transfers)
        cloud.storage.wait = asyncio.Event()
        source = code_folder(tmp_path / "code")
        cloud.scope.start("up", lambda: _upload(cloud, source))
        await until(lambda: transfers.state.live == 1)
        cloud.storage.wait.set()
        await until(lambda: [row.transfer.state for row in transfers.state.rows] == [TransferState.DONE])
        assert transfers.state.rows[0].share == 1.0
        transfers.clear_finished()
        assert transfers.state.rows == ()
        transfers.close()


async def test_cancel_and_failure_stay_in_the_list_with_their_reason(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers = TransferList(cloud.transfers)
        cloud.storage.wait = asyncio.Event()
        source = code_folder(tmp_path / "code")
        cloud.scope.start("up", lambda: _upload(cloud, source))
        await until(lambda: transfers.state.live == 1)
        transfers.cancel(transfers.state.rows[0].id)
        await until(lambda: transfers.state.rows[0].transfer.state is TransferState.CANCELLED)
        cloud.storage.wait = None
        cloud.storage.trouble = offline()
        cloud.scope.start("up again", lambda: _upload(cloud, source))
        await until(lambda: transfers.state.rows[0].transfer.state is TransferState.FAILED)
        error = transfers.state.rows[0].transfer.error
        assert type(error) is Unreachable and "The service cannot be reached" in error.sentence()
        assert len(transfers.state.rows) == 2
        transfers.close()


class Shown:
    """Rows as the test wants them."""

    def __init__(self) -> None:
        self.changed: Listeners[Transfer] = Listeners()
        self.row = Transfer(1, Kind.UPLOAD, "a", "b", total_bytes=10_000)

    def rows(self) -> list[Transfer]:
        return [self.row]

    def cancel(self, transfer_id: int) -> None:
        raise AssertionError(transfer_id)

    def clear_finished(self) -> None:
        raise AssertionError


async def test_the_rate_is_that_of_the_last_seconds() -> None:
    now, shown = 0.0, Shown()
    transfers = TransferList(shown, clock=lambda: now)
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
    assert kind_sign(row) == "→" and kind_words(row)


async def _upload(cloud: FolderCloud, source: Path) -> None:
    await cloud.transfers.upload("lab", source, TARGET)
