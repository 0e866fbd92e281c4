"""CRC-64 as the vendor's SDK asks for it: kept with every object, answered, and compared with what arrives."""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastcrc.crc32 import iscsi
from obs import (
    AppendObjectContent,
    AppendObjectHeader,
    CompleteMultipartUploadRequest,
    CompletePart,
    CopyObjectHeader,
    GetObjectHeader,
    ObsClient,
    PutObjectHeader,
)

from traindeck.lab.obs.checksums import ALGORITHMS
from traindeck.lab.obs.index import SCHEMA_VERSION
from traindeck.lab.obs.records import NO_TRAITS, Traits
from traindeck.lab.obs.store import ObjectStore
from traindeck.runtime.crc import crc64

LEAST = 100 * 1024
WITH_CRC = PutObjectHeader(isAttachCrc64=True)


def kept(client: ObsClient, bucket: str, key: str = "k") -> int:
    """What HEAD and GET both say, once the SDK has compared it with the content."""
    told = client.getObjectMetadata(bucket, key).body.crc64
    found = client.getObject(bucket, key, loadStreamInMemory=True, isAttachCrc64=True)
    assert found.status == 200
    assert dict(found.header)["checksum-crc64ecma"] == told
    assert crc64(bytes(found.body.buffer or b"")) == int(told)
    return int(told)


def header(client: ObsClient) -> str:
    return f"x-{'obs' if client.signature == 'obs' else 'amz'}-checksum-crc64ecma"


@pytest.mark.parametrize("content", [b"", b"a", b"123456789", bytes(300_000)])
def test_an_upload_is_told_its_crc(client: ObsClient, bucket: str, content: bytes, tmp_path: Path) -> None:
    put = client.putContent(bucket, "k", content, headers=WITH_CRC)
    assert (put.status, put.body.crc64) == (200, str(crc64(content)))
    assert kept(client, bucket) == crc64(content)
    (tmp_path / "file").write_bytes(content)
    assert client.putFile(bucket, "file", str(tmp_path / "file"), headers=WITH_CRC).body.crc64 == str(crc64(content))
    assert client.putContent(bucket, "k", content + b"more").status == 200
    assert kept(client, bucket) == crc64(content + b"more"), "also where none was sent"


def test_a_range_is_told_the_crc_of_the_whole(client: ObsClient, bucket: str) -> None:
    content = os.urandom(400_000)
    assert client.putContent(bucket, "k", content).status == 200
    for last in (10, 390_000):
        part = client.getObject(bucket, "k", loadStreamInMemory=True, headers=GetObjectHeader(range=f"3-{last}"))
        assert (part.status, bytes(part.body.buffer)) == (206, content[3 : last + 1])
        assert dict(part.header)["checksum-crc64ecma"] == str(crc64(content))


def test_what_is_appended_is_part_of_the_crc(client: ObsClient, bucket: str) -> None:
    whole = b""
    for piece in (b"first", b"", os.urandom(300_000), b"last"):
        content = AppendObjectContent(content=piece, position=len(whole))
        done = client.appendObject(bucket, "log", content, headers=AppendObjectHeader(isAttachCrc64=True))
        assert done.status == 200, (done.errorCode, done.errorMessage)
        whole += piece
        assert kept(client, bucket, "log") == crc64(whole)
    wrong = AppendObjectContent(content=b"more", position=len(whole))
    refused = client.appendObject(bucket, "log", wrong, extensionHeaders={header(client): "1"})
    assert (refused.status, refused.errorCode) == (400, "InvalidCRC64")
    assert kept(client, bucket, "log") == crc64(whole)


@pytest.mark.parametrize("directive", ["COPY", "REPLACE"])
def test_a_copy_has_the_crc_of_its_source(client: ObsClient, bucket: str, directive: str) -> None:
    assert client.putContent(bucket, "k", b"123456789").status == 200
    headers = CopyObjectHeader(directive=directive)
    assert client.copyObject(bucket, "k", bucket, "copy", metadata={"a": "b"}, headers=headers).status == 200
    assert kept(client, bucket, "copy") == crc64(b"123456789")
    assert client.setObjectMetadata(bucket, "copy", metadata={"c": "d"}).status == 200
    assert kept(client, bucket, "copy") == crc64(b"123456789")


def test_parts_make_the_crc_of_the_whole(client: ObsClient, bucket: str) -> None:
    assert client.putContent(bucket, "source", bytes(LEAST)).status == 200
    upload = client.initiateMultipartUpload(bucket, "k").body.uploadId
    pieces = [os.urandom(LEAST + 1), bytes(LEAST), b"end"]
    parts = []
    for number, piece in enumerate(pieces, start=1):
        if number == 2:
            done = client.copyPart(bucket, "k", number, upload, f"{bucket}/source")
        else:
            done = client.uploadPart(bucket, "k", number, upload, piece, isAttachCrc64=True)
            assert done.body.crc64 == str(crc64(piece))
        assert done.status == 200
        parts.append(CompletePart(number, done.body.etag, crc64=crc64(piece), size=len(piece)))
    wrong = client.uploadPart(bucket, "k", 1, upload, b"x" * LEAST, crc64="7")
    assert (wrong.status, wrong.errorCode) == (400, "InvalidCRC64")
    request = CompleteMultipartUploadRequest(parts)
    refused = client.completeMultipartUpload(bucket, "k", upload, request, extensionHeaders={header(client): "1"})
    assert (refused.status, refused.errorCode) == (400, "InvalidCRC64")
    whole = client.completeMultipartUpload(bucket, "k", upload, request, isAttachCrc64=True)
    assert (whole.status, whole.body.crc64) == (200, str(crc64(b"".join(pieces))))
    assert kept(client, bucket) == crc64(b"".join(pieces))


# The SDK's own download leaves the sockets of its threads to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_the_sdks_own_transfers_compare_it(client: ObsClient, bucket: str, tmp_path: Path) -> None:
    content = os.urandom(450 * 1024 + 7)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(content)
    assert client.uploadFile(bucket, "k", str(source), partSize=LEAST, taskNum=4, isAttachCrc64=True).status == 200
    found = client.downloadFile(bucket, "k", str(target), partSize=LEAST, taskNum=3, isAttachCrc64=True)
    assert (found.status, target.read_bytes()) == (200, content)
    gc.collect()
    assert kept(client, bucket) == crc64(content)


@pytest.mark.parametrize("value", ["-1", "nonsense", "0x995DC9BBDF1939FA", str(2**64), "995DC9BBDF1939FA"])
def test_what_is_no_crc_is_refused(client: ObsClient, bucket: str, value: str) -> None:
    refused = client.putContent(bucket, "k", b"123456789", extensionHeaders={header(client): value})
    assert (refused.status, refused.errorCode) == (400, "InvalidCRC64")
    assert client.headObject(bucket, "k").status == 404


def test_an_older_lab_kept_it_for_some_objects(tmp_path: Path) -> None:
    with closing(ObjectStore(tmp_path)) as store:
        store.create_bucket("bucket", "owner")
        for key in ("without", "with", "tagged"):
            store.put("bucket", key, b"123456789")
    with closing(sqlite3.connect(tmp_path / "obs" / "index.sqlite3")) as db, db:
        for table in ("objects", "versions"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN crc64")
        for key, traits in (("with", '{"crc64": "7"}'), ("tagged", '{"tags": {"crc64": "no"}, "redirect": "/x"}')):
            db.execute("UPDATE objects SET traits = ? WHERE key = ?", (traits, key.encode()))
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    with closing(ObjectStore(tmp_path)) as store:
        found = {key: store.found("bucket", key) for key in ("without", "with", "tagged")}
        assert {key: info.crc64 for key, info in found.items()} == {"without": "", "with": "7", "tagged": ""}
        assert found["with"].traits is NO_TRAITS
        assert found["tagged"].traits == Traits(tags={"crc64": "no"}, redirect="/x")


@pytest.mark.parametrize(
    ("name", "check", "other"),
    [("crc32c", 0xE3069283, iscsi), ("crc64nvme", 0xAE8B14860A799888, None), ("crc64ecma", 0x995DC9BBDF1939FA, crc64)],
)
def test_check_values(name: str, check: int, other: Callable[[bytes], int] | None) -> None:
    digest: Any = ALGORITHMS[name]()
    for piece in (b"12345", b"", b"6789"):
        digest.update(piece)
    assert int.from_bytes(digest.digest(), "big") == check
    assert other is None or other(b"123456789") == check
