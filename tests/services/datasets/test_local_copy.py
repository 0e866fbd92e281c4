"""Copying on this computer: verified, whole or not there, and gone on with."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from support.dataset_files import write
from traindeck.domain.errors import AppError, Conflict
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.datasets.local_copy import copied_here
from traindeck.services.transfers.part_files import PartFile

FILES: dict[str, bytes | str] = {f"c/{number:03}.bin": bytes([number]) * 3000 for number in range(150)}


async def copied(disk: BlockingCalls, source: Path, target: Path) -> tuple[int, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    count = await copied_here(disk, source, target, sorted(FILES), lambda *at: told.append(at))
    return count, told


async def test_what_is_there_whole_stays_and_the_rest_is_copied(tmp_path: Path, disk: BlockingCalls) -> None:
    source, target = write(tmp_path / "data", FILES), tmp_path / "mini"
    count, told = await copied(disk, source, target)
    assert count == 150 and told[-1] == (150, 450_000) and len(told) > 1
    os.utime(source / "c/001.bin", ns=(1, 1))
    (target / "c/002.bin").unlink()
    (target / "c/003.bin").write_bytes(b"half")
    assert (await copied(disk, source, target))[0] == 3
    for name, content in FILES.items():
        assert (target / name).read_bytes() == content
        assert (target / name).stat().st_mtime_ns == (source / name).stat().st_mtime_ns


async def test_a_cancelled_copy_leaves_nothing_half(tmp_path: Path, disk: BlockingCalls) -> None:
    source, target = write(tmp_path / "data", FILES), tmp_path / "mini"
    begun = asyncio.Event()

    async def copy() -> None:
        await copied_here(disk, source, target, sorted(FILES), lambda *_: begun.set())

    task = asyncio.create_task(copy())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    there = [place for place in target.rglob("*") if place.is_file()]
    assert 0 < len(there) < 150 and all(
        place.read_bytes() == (source / place.relative_to(target)).read_bytes() for place in there
    )
    assert (await copied(disk, source, target))[0] == 150 - len(there)


async def test_what_the_disk_did_not_keep_is_noticed(
    tmp_path: Path, disk: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = write(tmp_path / "data", FILES), tmp_path / "mini"
    kept = PartFile.write
    monkeypatch.setattr(PartFile, "write", lambda self, content: kept(self, content[:-1] + b"?"))
    with pytest.raises(AppError, match="is not what was written"):
        await copied(disk, source, target)
    assert not [place for place in target.rglob("*") if place.is_file()]


async def test_nothing_is_written_or_read_through_a_link(tmp_path: Path, disk: BlockingCalls) -> None:
    source, target, other = write(tmp_path / "data", FILES), tmp_path / "mini", tmp_path / "other"
    other.mkdir()
    target.mkdir()
    (target / "c").symlink_to(other)
    with pytest.raises(Conflict, match="is a link"):
        await copied(disk, source, target)
    assert not list(other.iterdir())
    (target / "c").unlink()
    (source / "c/000.bin").unlink()
    (source / "c/000.bin").symlink_to("/etc/hostname")
    with pytest.raises(AppError):
        await copied(disk, source, target)
    assert not (target / "c/000.bin").exists()
