from __future__ import annotations

import asyncio
from pathlib import Path

from folder_cloud import FolderCloud, code_folder, offline
from traindeck.domain.objects import ObjectPath
from traindeck.services.transfers import Transfer, TransferState
from traindeck.viewmodels.transfer_list import TransferList, TransferRow
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
        assert transfers.state.rows[0].transfer.error is cloud.storage.trouble
        assert len(transfers.state.rows) == 2
        transfers.close()


async def test_the_rate_is_that_of_the_last_seconds(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        now = 0.0
        transfers = TransferList(cloud.transfers, clock=lambda: now)
        row = Transfer(1, "up", "a", "b", TransferState.RUNNING, total_bytes=10_000)
        for done in (0, 1000, 2000, 3000, 3000, 3000, 3000, 3000):
            cloud.transfers._show(Transfer(1, "up", "a", "b", TransferState.RUNNING, 10_000, done))
            transfers.look()
            now += 1.0
        assert transfers.state.rows[0].bytes_per_s == 0.0
        assert transfers.state.rows[0].seconds_left is None
        transfers.close()
        assert TransferRow(row, 500.0).seconds_left == 20.0
        assert TransferRow(Transfer(1, "up", "a", "b", TransferState.RUNNING)).share is None


async def _upload(cloud: FolderCloud, source: Path) -> None:
    await cloud.transfers.upload("lab", source, TARGET)
