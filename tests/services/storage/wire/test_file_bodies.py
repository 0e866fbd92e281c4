"""Stretches of files leave by way of the system: the same bytes, and every trouble is told as for other bodies."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock

import pytest

from support.servers.lab_process import LabProcess
from support.servers.secure import SecureFront
from support.stores.stores import Store, plane_at
from support.stores.written import Line, WrittenServer
from support.waiting import PATIENT_S, until
from traindeck.domain.errors import AccessRefused
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.records import Item
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.crc import crc64
from traindeck.services.storage.wire import file_sending
from traindeck.services.transfers.bodies import FileStretch, SourceChanged, look, stretch
from traindeck.services.transfers.digests import Checksum
from traindeck.services.transfers.pace import RateLimit
from traindeck.services.transfers.range_writing import RangeWriter

MIB = 1024 * 1024
PATH = ObjectPath("bucket", "key")

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(2, "disk")
    yield calls
    calls.close()


def part_of(place: Path, disk: BlockingCalls, offset: int, size: int, limit: RateLimit | None = None) -> FileStretch:
    item = look(place, Item("key", ""))
    found = stretch(place, item, offset, size, disk, limit or RateLimit(), CancelToken(), most_in_memory=0)
    assert isinstance(found, FileStretch)
    return found


@pytest.mark.parametrize("bytes_per_s", [0, 1 << 40])
async def test_a_stretch_arrives_as_it_is(
    lab_obs: Store, bucket: str, disk: BlockingCalls, tmp_path: Path, bytes_per_s: float
) -> None:
    content = os.urandom(5 * MIB)
    (tmp_path / "file").write_bytes(content)
    moved: list[int] = []
    async with lab_obs.plane() as plane:
        for offset, size in ((0, 5 * MIB), (MIB + 3, 3 * MIB + 1), (5 * MIB - 1, 1)):
            body = part_of(tmp_path / "file", disk, offset, size, RateLimit(bytes_per_s))
            stored = await plane.put(ObjectPath(bucket, f"k{offset}"), body, counted=moved.append)
            assert stored.etag == hashlib.md5(content[offset : offset + size]).hexdigest()
    assert sum(moved) == 8 * MIB + 2


async def test_a_refusal_ends_it_early_and_the_next_request_is_whole(disk: BlockingCalls, tmp_path: Path) -> None:
    refusal = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"

    async def script(line: Line) -> None:
        await line.head()
        await line.answer(403, refusal)
        await asyncio.Event().wait()  # the body is never read

    with (tmp_path / "file").open("wb") as file:
        file.truncate(256 * MIB)
    moved: list[int] = []
    body = part_of(tmp_path / "file", disk, 0, 256 * MIB)
    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        with pytest.raises(AccessRefused):
            async with asyncio.timeout(PATIENT_S):
                await plane.put(PATH, body, counted=moved.append)
        assert sum(moved) == 0 and server.connections == 1


async def test_a_refusal_that_ends_with_the_line_is_told(
    disk: BlockingCalls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sending, "_AT_ONCE", 1)  # so that the line ends between two of them

    async def script(line: Line) -> None:
        await line.head()
        await line.say(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n<Error><Code>AccessDenied</Code></Error>")
        line.say_no_more()
        await line.body(20_000)

    with (tmp_path / "file").open("wb") as file:
        file.truncate(20_000)
    body = part_of(tmp_path / "file", disk, 0, 20_000)
    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        with pytest.raises(AccessRefused):
            async with asyncio.timeout(PATIENT_S):
                await plane.put(PATH, body)
        assert server.connections == 1


async def test_a_line_that_breaks_under_it_is_replaced(disk: BlockingCalls, tmp_path: Path) -> None:
    content = os.urandom(8 * MIB)
    (tmp_path / "file").write_bytes(content)
    arrived: list[bytes] = []

    async def script(line: Line) -> None:
        await line.head()
        if not arrived:
            arrived.append(await line.body(MIB))
            return  # hangs up
        arrived.append(await line.body(len(content)))
        await line.answer(200, etag=f'"{hashlib.md5(content).hexdigest()}"')
        await line.head()

    moved: list[int] = []
    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        async with asyncio.timeout(PATIENT_S):
            await plane.put(PATH, part_of(tmp_path / "file", disk, 0, len(content)), counted=moved.append)
    assert arrived[1] == content and sum(moved) == len(content)


async def test_a_file_that_becomes_shorter_or_another_is_told(disk: BlockingCalls, tmp_path: Path) -> None:
    place = tmp_path / "file"

    async def script(line: Line) -> None:
        await line.head()
        await line.body(MIB)
        os.truncate(place, MIB)
        await line.body(256 * MIB)

    with place.open("wb") as file:
        file.truncate(256 * MIB)
    body = part_of(place, disk, 0, 256 * MIB)
    async with WrittenServer(script) as server, plane_at(server.url) as plane:
        for _ in range(2):  # the second time it is another before the first byte
            with pytest.raises(SourceChanged):
                async with asyncio.timeout(PATIENT_S):
                    await plane.put(PATH, body)


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize("bytes_per_s", [0, 1 << 40])
async def test_ranges_are_hashed_and_written_as_they_come(
    lab: LabProcess, lab_obs: Store, bucket: str, disk: BlockingCalls, tmp_path: Path, is_secure: bool, bytes_per_s: int
) -> None:
    content, limit = os.urandom(5 * MIB), RateLimit(bytes_per_s)
    (tmp_path / "file").write_bytes(content)
    part, path = tmp_path / "part", ObjectPath(bucket, "big")
    part.write_bytes(bytes(5 * MIB))
    moved: list[int] = []
    async with SecureFront(tmp_path, lab.obs, "localhost", f"{bucket}.localhost") as front:
        there = replace(lab_obs.profile, obs_endpoint=front.url, ca_file=str(front.ca_file))
        store = replace(lab_obs, profile=there) if is_secure else lab_obs
        async with store.plane() as plane:
            await plane.put(path, part_of(tmp_path / "file", disk, 0, 5 * MIB))
            for offset, size in ((0, 3 * MIB + 1), (3 * MIB + 1, 2 * MIB - 2), (5 * MIB - 1, 1)):
                checksum = Checksum(by_crc64=is_secure)
                writer = RangeWriter(part, offset, size, disk, moved.append, limit, Lock(), checksum=checksum)
                await plane.get(path, writer, offset=offset, length=size)
                await writer.empty()
                piece = content[offset : offset + size]
                told = (b"", crc64(piece)) if is_secure else (hashlib.md5(piece).digest(), None)
                assert (checksum.md5, checksum.crc64) == told
        assert bool(front.hosts) == is_secure
    assert part.read_bytes() == content and sum(moved) == 5 * MIB


async def test_a_range_is_hashed_while_another_one_writes(disk: BlockingCalls, tmp_path: Path) -> None:
    part, content, turn = tmp_path / "part", os.urandom(MIB), Lock()
    part.write_bytes(bytes(MIB))
    checksum = Checksum()
    writer = RangeWriter(part, 0, MIB, disk, lambda _: None, RateLimit(), turn, checksum=checksum)
    with turn:  # of another range of the same file
        waiting = writer(content)
        assert waiting is not None
        written = asyncio.ensure_future(waiting)
        await until(lambda: checksum.md5 == hashlib.md5(content).digest())
        assert not written.done() and part.read_bytes() == bytes(MIB)
    await written
    assert part.read_bytes() == content and checksum.md5 == hashlib.md5(content).digest()
