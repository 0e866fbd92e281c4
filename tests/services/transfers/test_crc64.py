"""Large objects are proved by CRC-64 where the service tells it, in every direction, over sockets to the Lab."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import FaultyProxy, Request
from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from support.transfer_works import (
    MIB,
    check,
    content_of,
    copy,
    done,
    download,
    listed,
    random_bytes,
    tree,
    upload,
    working,
)
from support.waiting import until
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import ItemState, TransferState, WaitsFor
from traindeck.runtime.crc import crc64
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.storage.wire.requests import crc64_in
from traindeck.services.transfers.downloads import _verified_whole

pytestmark = pytest.mark.usefixtures("small_parts", "soon")

PART = MIB // 4
NAME = "checksum-crc64ecma"


@dataclass
class Heard:
    """What was asked of one part, one range or one completion."""

    method: str
    query: str
    headers: dict[str, str]
    status: int = 0


@dataclass(eq=False)
class Between(FaultyProxy):
    """Between us and the Lab: hears every request, and may change it or its answer."""

    lab: LabProcess
    prefix: str = "x-obs-"
    heard: list[Heard] = field(default_factory=list)
    before: Callable[[Request], Awaitable[bytes | None]] | None = None
    """May change the request, or answer it."""
    told: Callable[[Request, str], str | None] | None = None
    """What becomes of the CRC-64 of an answer."""

    def __post_init__(self) -> None:
        super().__init__(self.lab.obs)

    async def _forward(self, request: Request) -> tuple[bytes, bytes]:
        query = request.target.partition("?")[2]
        heard = Heard(request.method, query, {name.lower(): value for name, value in request.headers.items()})
        self.heard.append(heard)
        answer = await self.before(request) if self.before else None
        if answer is not None:
            heard.status = int(answer.split(b" ")[1])
            return answer, b""
        head, body = await super()._forward(request)
        heard.status = int(head.split(b" ")[1])
        lines = []
        for line in head.removesuffix(b"\r\n\r\n").split(b"\r\n"):
            name, _, value = line.decode("latin-1").partition(": ")
            if self.told and name.lower().endswith(NAME):
                said = self.told(request, value)
                if said is not None:
                    lines.append(f"{name}: {said}".encode("latin-1"))
            else:
                lines.append(line)
        return b"\r\n".join(lines) + b"\r\n\r\n", body

    @property
    def parts(self) -> list[Heard]:
        return [one for one in self.heard if one.method == "PUT" and "partNumber=" in one.query]

    @property
    def ranges(self) -> list[Heard]:
        return [one for one in self.heard if one.method == "GET" and "range" in one.headers]

    @property
    def completion(self) -> Heard:
        return [one for one in self.heard if one.method == "POST" and one.query.startswith("uploadId=")][-1]


@asynccontextmanager
async def between(lab: LabProcess, signature: Signature = Signature.OBS) -> AsyncIterator[tuple[Between, DataPlane]]:
    async with Between(lab, prefix="x-obs-" if signature is Signature.OBS else "x-amz-") as proxy:
        profile = Profile("lab", Provider.LAB, lab.region, obs_endpoint=proxy.url, signature=signature)
        plane = DataPlane(WireAccount(profile, Credentials(lab.access_key, Secret(lab.secret_key))))
        try:
            yield proxy, plane
        finally:
            await plane.close()


@pytest.fixture
def bucket(lab: LabProcess, request: pytest.FixtureRequest) -> ObjectPath:
    name = f"crc-{crc64(request.node.nodeid.encode())}"
    with closing(obs_client(lab)) as client:
        assert client.createBucket(name).status == 200
    return ObjectPath(name, "in/")


def sent_by_the_sdk(lab: LabProcess, place: ObjectPath, file: Path, part_size: int) -> None:
    """In parts of a size that is written down nowhere."""
    with closing(obs_client(lab)) as client:
        assert client.uploadFile(place.bucket, place.key, str(file), partSize=part_size, taskNum=2).status == 200


def _error(status: int, code: str) -> bytes:
    body = f"<Error><Code>{code}</Code><Message>no</Message></Error>"
    return f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def below(folder: ObjectPath, name: str) -> ObjectPath:
    return ObjectPath(folder.bucket, folder.key + name)


def in_bucket(lab: LabProcess, place: ObjectPath) -> bytes:
    with closing(obs_client(lab)) as client:
        found = client.getObject(place.bucket, place.key, loadStreamInMemory=True, isAttachCrc64=True)
        return bytes(found.body.buffer or b"") if found.status == 200 else b""


@pytest.mark.parametrize("signature", [Signature.OBS, Signature.V2])
async def test_an_upload_sends_a_crc_with_each_part_and_of_the_whole(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path, signature: Signature
) -> None:
    content = random_bytes(2 * MIB + 5)
    local = tree(tmp_path / "data", {"big": content})
    async with between(lab, signature) as (proxy, plane), working(home, plane) as engine:
        assert (await done(engine, upload(local, bucket))).is_verified
        name = proxy.prefix + NAME
        assert [one.headers.get("content-md5") for one in proxy.parts] == [None] * 9
        pieces = [content[at : at + PART] for at in range(0, len(content), PART)]
        assert sorted(one.headers[name] for one in proxy.parts) == sorted(str(crc64(piece)) for piece in pieces)
        assert proxy.completion.headers[name] == str(crc64(content))
    assert in_bucket(lab, below(bucket, "big")) == content


@pytest.mark.parametrize("said", [None, "", "nonsense", "-1", "+7", "1_0", "0x7", str(2**64), "9" * 5000])
async def test_without_an_echo_the_md5_of_a_part_is_the_proof(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path, said: str | None
) -> None:
    local = tree(tmp_path / "data", {"1": random_bytes(2 * MIB), "2": random_bytes(MIB + 1)})
    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.told = lambda _, value: said
        assert (await done(engine, upload(local, bucket))).is_verified
        assert len(proxy.parts) == 8 + 5, "what has arrived is not sent again"
        assert proxy.completion.headers.get(proxy.prefix + NAME) is None
        proxy.heard.clear()
        (local / "3").write_bytes(random_bytes(2 * MIB))
        assert (await done(engine, upload(local, bucket, compare=CompareBy.SIZE_AND_TIME))).is_verified
        assert all("content-md5" in one.headers for one in proxy.parts), "the endpoint is known by now"
        assert len(proxy.parts) == 8


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(
    "refusal",
    [
        (400, "InvalidRequest"), (400, "InvalidArgument"), (501, "NotImplemented"), (400, "BadRequest"),
        (400, "XAmzContentChecksumUnknown"), (400, "BadDigest"),
    ],
)  # fmt: skip
async def test_a_service_that_refuses_the_header_is_asked_without_it(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path, refusal: tuple[int, str], method: str
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})

    async def refused(request: Request) -> bytes | None:
        if request.method != method or proxy.prefix + NAME not in request.headers:
            return None
        return _error(*refusal)

    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.before = refused
        row = await done(engine, upload(local, bucket))
        assert row.is_verified, row.error
        assert all(one.status == 200 for one in proxy.parts) is (method == "POST")
        refused_parts = [one.query for one in proxy.parts if one.status != 200]
        assert len(refused_parts) == len(set(refused_parts)), "each is refused once"
        assert len(proxy.parts) == 8 + len(refused_parts), "and nothing else goes twice"
    assert in_bucket(lab, below(bucket, "big")) == content


async def test_another_echo_is_no_proof(lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.told = lambda _, value: str(int(value) ^ 1)
        row = await done(engine, upload(local, bucket), patience_s=0.3)
        assert (row.state, row.verified_files) == (TransferState.FAILED, 0)
    assert in_bucket(lab, below(bucket, "big")) == b""


async def test_the_echo_of_the_whole_is_compared_as_well(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    local = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.told = lambda request, value: value if "partNumber" in request.target else str(int(value) ^ 1)
        row = await done(engine, upload(local, bucket), patience_s=0.3)
        assert (row.state, row.verified_files) == (TransferState.FAILED, 0)


@pytest.mark.parametrize("is_other", [True, False])
async def test_a_whole_whose_answer_was_lost_is_compared_too(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path, is_other: bool
) -> None:
    local = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    made_by: list[str] = []

    async def lost(request: Request) -> bytes | None:
        if request.method != "POST" or "uploadId=" not in request.target:
            return None
        made_by.append(request.target.partition("uploadId=")[2])
        await FaultyProxy._forward(proxy, request)
        return _error(503, "SlowDown")

    def told(request: Request, value: str) -> str:
        if request.method != "HEAD" or not made_by:
            return value
        # With the line that says which upload made the object, as the service has it.
        return f"{int(value) ^ is_other}\r\nx-obs-uploadid: {made_by[-1]}"

    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.before, proxy.told = lost, told
        row = await done(engine, upload(local, bucket), patience_s=0.3)
        assert made_by and row.is_verified is not is_other, row.error
        assert row.state is (TransferState.FAILED if is_other else TransferState.DONE)


async def test_what_changes_on_the_way_is_sent_again(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    flips = iter([True])

    async def flip(request: Request) -> None:
        if "partNumber=3" in request.target and next(flips, False):
            request.body = bytes([request.body[0] ^ 1]) + request.body[1:]

    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.before = flip
        assert (await done(engine, upload(local, bucket))).is_verified
        assert [one.status for one in proxy.parts if one.query.startswith("partNumber=3")] == [400, 200]
    assert in_bucket(lab, below(bucket, "big")) == content


async def test_bytes_that_change_behind_an_old_time_go_up_as_they_are(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    """Between the checksum and the sending: what arrives is refused, and the file is read again."""
    before, after = random_bytes(2 * MIB), random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": before})
    time_ns, changes = (local / "big").stat().st_mtime_ns, iter([True])

    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        put_part = plane.put_part

        async def changed(*given: Any, **named: Any) -> Any:
            if next(changes, False):
                with (local / "big").open("r+b") as file:
                    file.write(after)
                os.utime(local / "big", ns=(time_ns, time_ns))
            return await put_part(*given, **named)

        plane.put_part = changed
        assert (await done(engine, upload(local, bucket))).is_verified
        assert 400 in [one.status for one in proxy.parts]
    assert in_bucket(lab, below(bucket, "big")) == after


async def test_parts_that_are_no_longer_ours_are_sent_again(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    refusals = iter([_error(400, "InvalidCRC64")])

    async def refused(request: Request) -> bytes | None:
        return next(refusals, None) if request.method == "POST" and "uploadId=" in request.target else None

    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.before = refused
        assert (await done(engine, upload(local, bucket))).is_verified
        assert len(proxy.parts) == 16
        assert [one async for one in plane.fragments(bucket.bucket)] == []
    assert in_bucket(lab, below(bucket, "big")) == content


async def test_a_resumed_upload_still_tells_the_crc_of_the_whole(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})

    async def later(request: Request) -> bytes | None:
        is_late = "partNumber=" in request.target and int(request.target.partition("partNumber=")[2][:1]) > 4
        return _error(503, "SlowDown") if is_late else None

    async with between(lab) as (proxy, plane):
        async with working(home, plane) as engine:
            proxy.before = later
            number = await engine.add(upload(local, bucket))
            await until(lambda: [one.status for one in proxy.parts].count(200) == 4)
        kept = {one.query for one in proxy.parts if one.status == 200}
        proxy.before, proxy.heard = None, []
        async with working(home, plane) as engine:
            await engine.resume_unfinished()
            assert (await engine.ended(number)).is_verified
        assert not {one.query for one in proxy.parts} & kept, "no part went twice"
        assert proxy.completion.headers[proxy.prefix + NAME] == str(crc64(content))


async def test_a_download_is_proved_whoever_sent_the_object(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    contents = {"big": random_bytes(2 * MIB + 5), "small": random_bytes(500_000)}
    local = tree(tmp_path / "data", contents)
    for name in contents:
        sent_by_the_sdk(lab, below(bucket, name), local / name, 123_457)
    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        assert (await done(engine, download(bucket, tmp_path / "back"))).verified_files == 2
        assert content_of(tmp_path / "back") == contents
        assert len(proxy.ranges) == 9
        # The same question without a download.
        assert (await done(engine, check(local, bucket))).is_verified
        os.utime(local / "big", ns=(1, 1))
        assert (await done(engine, upload(local, bucket, compare=CompareBy.MD5))).equal_files == 2
        (local / "big").write_bytes(contents["big"][:-1] + b"?")
        row = await done(engine, check(local, bucket))
        assert await listed(engine, row.id) == {"big": ItemState.DIFFERENT, "small": ItemState.DONE}


async def test_a_download_that_is_not_the_object_is_not_kept(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    contents = {"big": random_bytes(2 * MIB), "small": random_bytes(500_000)}
    local = tree(tmp_path / "data", contents)
    for name in contents:
        sent_by_the_sdk(lab, below(bucket, name), local / name, 123_457)
    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.told = lambda _, value: str(int(value) ^ 1)
        row = await done(engine, download(bucket, tmp_path / "back"), patience_s=0.3)
        assert (row.state, row.failed_files) == (TransferState.FAILED, 2)
        assert content_of(tmp_path / "back") == {}
        proxy.told = lambda _, value: "junk"
        row = await done(engine, download(bucket, tmp_path / "unsure"))
        assert (row.state, content_of(tmp_path / "unsure")) == (TransferState.DONE, contents)


async def test_ranges_of_an_earlier_program_count_if_they_are_still_whole(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    sent_by_the_sdk(lab, below(bucket, "big"), local / "big", 123_457)

    async def later(request: Request) -> bytes | None:
        first = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        return _error(503, "SlowDown") if first >= 4 * PART else None

    async with between(lab) as (proxy, plane):
        async with working(home, plane) as engine:
            proxy.before = later
            number = await engine.add(download(bucket, tmp_path / "back"))
            await until(lambda: engine.rows()[0].waits_for is WaitsFor.SERVICE)
        kept = {one.headers["range"] for one in proxy.ranges if one.status == 206}
        (part,) = (tmp_path / "back").iterdir()
        with part.open("r+b") as file:  # a power cut took what was in the first of them
            file.write(bytes(10))
        proxy.before, proxy.heard = None, []
        async with working(home, plane) as engine:
            await engine.resume_unfinished()
            assert (await engine.ended(number)).is_verified
    again = {one.headers["range"] for one in proxy.ranges} & kept
    assert again == {f"bytes=0-{PART - 1}"}
    assert content_of(tmp_path / "back") == {"big": content}


async def test_an_object_that_is_replaced_meanwhile_comes_as_it_is_now(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    before, after = random_bytes(2 * MIB), random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"before": before, "after": after})
    sent_by_the_sdk(lab, below(bucket, "big"), local / "before", 123_457)
    replaced = asyncio.Event()

    async def replace(request: Request) -> None:
        if "Range" in request.headers and not replaced.is_set():
            replaced.set()
            await asyncio.to_thread(sent_by_the_sdk, lab, below(bucket, "big"), local / "after", 123_457)

    async with between(lab) as (proxy, plane), working(home, plane) as engine:
        proxy.before = replace
        assert (await done(engine, download(bucket, tmp_path / "back"))).is_verified
    assert content_of(tmp_path / "back") == {"big": after}


async def test_two_places_of_the_service_are_compared_without_reading_them(
    lab: LabProcess, bucket: ObjectPath, home: Path, tmp_path: Path
) -> None:
    contents = {"same": random_bytes(2 * MIB), "other": random_bytes(2 * MIB)}
    local = tree(tmp_path / "data", contents)
    there = ObjectPath(bucket.bucket, "there/")
    for name in contents:
        sent_by_the_sdk(lab, below(bucket, name), local / name, 123_457)
    (local / "other").write_bytes(random_bytes(2 * MIB))
    for name in contents:
        sent_by_the_sdk(lab, below(there, name), local / name, 200_001)
    async with between(lab) as (_, plane), working(home, plane) as engine:
        row = await done(engine, check(bucket, there))
        assert await listed(engine, row.id) == {"same": ItemState.DONE, "other": ItemState.DIFFERENT}
        row = await done(engine, copy(bucket, there, compare=CompareBy.MD5))
        assert (row.equal_files, row.done_files) == (1, 1)
        assert in_bucket(lab, below(there, "other")) == contents["other"]


def test_the_header_is_read_with_care() -> None:
    def told(value: str) -> Any:
        return crc64_in("x-obs-", {"x-obs-checksum-crc64ecma": value})

    assert (told("0"), told("18446744073709551615"), told("18446744073709551616")) == (0, 2**64 - 1, None)
    assert [told(value) for value in ("", " 1", "1.0", "²", "٣", "-0", "1" * 10_000)] == [None] * 7


def test_a_small_encrypted_object_is_held_against_its_crc() -> None:
    """Its ETag may look like an MD5, and is none of the content."""

    def head(checksum: int) -> ObjectHead:
        return ObjectHead(below(ObjectPath("b", ""), "k"), 5, "0" * 32, None, is_encrypted=True, crc64=checksum)

    assert _verified_whole(b"bytes", head(crc64(b"bytes"))) is True
    assert _verified_whole(b"bytes", head(crc64(b"bytes") ^ 1)) is False
