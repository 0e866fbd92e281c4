"""Objects looked into by range, from a real Lab and from objects larger than any disk."""

from __future__ import annotations

import asyncio
import os
import struct

import pytest

from support.counted_plane import CountedPlane, SparsePlane, here
from support.preview_files import mindspore, npy, png, safetensors, tarred, varint, zipped
from support.servers.lab_process import LabProcess
from support.stores.stores import lab_store, new_bucket
from traindeck.domain.errors import Conflict, NotFound
from traindeck.domain.previews import ArchivePage, NotShown, PreviewPage, TablePage, TensorsPage, TextPage
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.previews.reading import open_preview
from traindeck.services.storage.data_ports import BytesBody

TERA = 1 << 40
MEGA = 1 << 20
HEADER = struct.pack("<Q", 64) + b'{"w":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}'.ljust(64)
CHECKPOINT = b"\x0a" + varint(TERA - 7) + b"\x0a\x01w\x12" + varint(TERA - 24) + b"\x08\x04\x12\x07Float32\x1a"
CHECKPOINT += varint(TERA - 50)


async def first_page(plane: object, calls: BlockingCalls, path: ObjectPath) -> PreviewPage | None:
    return await (await open_preview(here(plane), calls, "lab", path)).next_page()


async def test_a_large_object_of_the_lab_is_looked_into_with_a_few_of_its_bytes(
    lab: LabProcess, calls: BlockingCalls
) -> None:
    store = lab_store(lab)
    bucket = new_bucket(store)
    big = bytes(4 * MEGA)
    contents = {
        "data.zip": zipped({f"{number}.bin": os.urandom(100_000) for number in range(100)} | {"last.txt": b"x"}),
        "shard.tar": tarred({f"{number}.bin": big for number in range(4)}),
        "log.txt": b"a line of a log\n" * MEGA,
        "x.npy": npy("<f4", (4 * MEGA,), bytes(16 * MEGA)),
        "m.safetensors": safetensors({"w": ("F32", [4 * MEGA], 16 * MEGA)}),
        "net.ckpt": mindspore([("a", "Float32", [MEGA], 4 * MEGA), ("b", "Float32", [MEGA], 4 * MEGA)]),
    }
    async with store.plane() as plane:
        for name, content in contents.items():
            await plane.put(bucket.join(name), BytesBody(content))
            counted = CountedPlane(plane)
            page = await first_page(counted, calls, bucket.join(name))
            assert page is not None
            assert counted.read_bytes < 700_000, name
            if isinstance(page, ArchivePage):
                assert len(page.members) in (4, 101)
            if isinstance(page, TensorsPage):
                assert len(page.tensors) in (1, 2)


@pytest.mark.parametrize(
    ("name", "pieces", "most_bytes"),
    [
        ("a.txt", {0: b"words\n" * 10_000}, 300_000),
        ("a.csv", {0: b"a,b\n" + b"1,2\n" * 70_000}, 300_000),
        ("a.npy", {0: npy("<f4", (1 << 38,), b"")}, 300_000),
        ("a.safetensors", {0: HEADER}, 400_000),
        ("a.ckpt", {0: CHECKPOINT}, 400_000),
        ("unknown", {0: bytes(range(256)) * 1024}, 300_000),
    ],
)
async def test_a_tera_byte_costs_no_more_than_a_mega_byte(
    name: str, pieces: dict[int, bytes], most_bytes: int, calls: BlockingCalls
) -> None:
    counted = CountedPlane(SparsePlane(TERA, pieces))
    try:
        page = await first_page(counted, calls, ObjectPath("bucket", name))
        assert page is not None
    except NotShown as error:
        assert error.sentence()
    assert counted.read_bytes <= most_bytes
    assert len(counted.ranges) < 20


async def test_a_walk_over_a_tera_byte_stops_and_goes_on_when_asked(calls: BlockingCalls) -> None:
    """A tar archive of 1 TiB whose members are 1 GiB each."""
    member = tarred({"part": b""})[:512]
    size = b"%011o\0" % (1 << 30)
    block = bytearray(member)
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    step = (1 << 30) + 512
    plane = CountedPlane(SparsePlane(step * 600, {number * step: bytes(block) for number in range(600)}))
    preview = await open_preview(here(plane), calls, "lab", ObjectPath("bucket", "a.tar"))
    counts = []
    while (page := await preview.next_page()) is not None:
        assert isinstance(page, ArchivePage)
        counts.append(len(page.members))
    assert sum(counts) == 600
    assert max(counts) <= 301
    assert plane.read_bytes < 700 * 70_000


async def test_more_is_read_only_when_it_is_asked_for(lab: LabProcess, calls: BlockingCalls) -> None:
    store = lab_store(lab)
    path = new_bucket(store).join("rows.csv")
    content = "id,name\n" + "".join(f"{number},名{number}\n" for number in range(100_000))
    async with store.plane() as plane:
        await plane.put(path, BytesBody(content.encode()))
        counted = CountedPlane(plane)
        preview = await open_preview(here(counted), calls, "lab", path)
        rows: list[tuple[str, ...]] = []
        while (page := await preview.next_page()) is not None:
            assert isinstance(page, TablePage)
            rows += page.rows
            assert counted.read_bytes <= len(counted.ranges) * 256 * 1024
        assert rows == [(str(number), f"名{number}") for number in range(100_000)]
        assert len(counted.ranges) == -(-len(content.encode()) // (256 * 1024))


async def test_an_object_that_changes_is_never_mixed(lab: LabProcess, calls: BlockingCalls) -> None:
    store = lab_store(lab)
    path = new_bucket(store).join("a.txt")
    async with store.plane() as plane:
        await plane.put(path, BytesBody(b"old\n" * 200_000))
        preview = await open_preview(here(plane), calls, "lab", path)
        page = await preview.next_page()
        assert isinstance(page, TextPage)
        assert page.has_more
        await plane.put(path, BytesBody(b"new\n" * 200_000))
        with pytest.raises(Conflict) as changed:
            await preview.next_page()
        assert "changed by someone else" in changed.value.sentence()
        await plane.remove(path.bucket, [path.key])
        with pytest.raises(NotFound):
            await open_preview(here(plane), calls, "lab", path)


async def test_reading_ends_at_once_when_nobody_waits_any_more(calls: BlockingCalls) -> None:
    plane = SparsePlane(TERA, {0: b"x" * 1000})
    counted = CountedPlane(plane)
    stopped = asyncio.Event()

    async def hang() -> None:
        stopped.set()
        await asyncio.Event().wait()

    counted.after_get = hang
    task = asyncio.create_task(first_page(counted, calls, ObjectPath("bucket", "a.txt")))
    await stopped.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_picture_is_fetched_once(calls: BlockingCalls) -> None:
    content = png(100, 100) + os.urandom(600_000)
    counted = CountedPlane(SparsePlane(len(content), {0: content}))
    assert await first_page(counted, calls, ObjectPath("bucket", "a.png")) is not None
    assert counted.read_bytes == len(content)
    huge = CountedPlane(SparsePlane(TERA, {0: png(100, 100)}))
    with pytest.raises(NotShown):
        await first_page(huge, calls, ObjectPath("bucket", "a.png"))
    assert huge.read_bytes < 300_000
