"""Encryption: kinds, defaults of buckets, keys of customers; and parts of objects, which are read one by one."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import CopyObjectHeader, GetObjectHeader, ObsClient, PutObjectHeader, SseCHeader, SseKmsHeader

from lab.obs.test_settings import ask, form, own_policy
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from support.stores.lab_clients import s3_client
from traindeck.lab.obs.errors import InvalidRequest
from traindeck.lab.obs.index import ObjectIndex
from traindeck.lab.obs.records import Attributes, Traits
from traindeck.lab.obs.sealing import Seal, lock_for
from traindeck.lab.obs.store import ObjectStore

KEY, OTHER = os.urandom(32), os.urandom(32)
MIB = 1 << 20


def with_key(key: bytes = KEY, prefix: str = "") -> dict[str, Any]:
    return {f"{prefix}SSECustomerAlgorithm": "AES256", f"{prefix}SSECustomerKey": key}


def refused(call: Callable[..., Any], **arguments: Any) -> tuple[int, str]:
    with pytest.raises(ClientError) as failed:
        call(**arguments)
    answer = failed.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


# --- kinds and defaults ----------------------------------------------------------------------------------------------


def test_kinds_of_encryption(s3: Any, sdk: ObsClient, lab: LabProcess, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "k"}
    plain = hashlib.md5(b"x").hexdigest()
    for kind in ("AES256", "aws:kms"):
        put = s3.put_object(**at, Body=b"x", ServerSideEncryption=kind)
        assert put["ServerSideEncryption"] == kind
        assert put["ETag"].strip('"') != plain
        head = s3.head_object(**at)
        assert (head["ServerSideEncryption"], head["ETag"]) == (kind, put["ETag"])
        assert s3.get_object(**at)["Body"].read() == b"x"
    assert head["SSEKMSKeyId"].startswith("lab:")
    # The other dialect has its own name for it.
    assert sdk.getObjectMetadata(bucket, "k").body.sseKms == "kms"
    assert s3.put_object(**at, Body=b"", ServerSideEncryption="aws:kms", SSEKMSKeyId="a")["SSEKMSKeyId"] == "a"
    for wrong in ({"ServerSideEncryption": "rot13"}, {"ServerSideEncryption": "AES256", "SSEKMSKeyId": "a"}):
        assert refused(s3.put_object, **at, Body=b"y", **wrong) == (400, "InvalidArgument")
    assert refused(s3.put_object, **at, Body=b"y", SSEKMSKeyId="a") == (400, "InvalidArgument")
    assert refused(s3.put_object, **at, Body=b"y", ServerSideEncryption="AES256", **with_key()) == (
        400,
        "InvalidArgument",
    )
    wire = Wire(lab)
    for wrong_one in ("aws:kms", "KMS", ""):
        answer = wire.put(f"/{bucket}/k", b"y", {"x-obs-server-side-encryption": wrong_one})
        assert (answer.status, answer.code) == (400, "InvalidArgument")
    read = wire.ask("GET", f"/{bucket}/k", {"x-obs-server-side-encryption": "kms"})
    assert (read.status, read.code) == (400, "InvalidArgument")
    changed = wire.put(f"/{bucket}/k?metadata", b"", {"x-obs-server-side-encryption": "kms"})
    assert (changed.status, changed.code) == (501, "NotImplemented")
    assert s3.get_object(**at)["Body"].read() == b""


def test_the_default_of_a_bucket_shows_on_its_objects(client: ObsClient, s3: Any, bucket: str) -> None:
    client.putContent(bucket, "before", b"x")
    assert client.setBucketEncryption(bucket, "kms", "the-key").status == 200
    assert client.putContent(bucket, "k", b"x").body.sseKms in ("kms", "aws:kms")
    head = client.getObjectMetadata(bucket, "k").body
    assert (head.sseKms in ("kms", "aws:kms"), head.sseKmsKey) == (True, "the-key")
    assert s3.get_object(Bucket=bucket, Key="k")["SSEKMSKeyId"] == "the-key"
    assert client.copyObject(bucket, "before", bucket, "copy").body.sseKms in ("kms", "aws:kms")
    s3.upload_fileobj(io.BytesIO(bytes(9 * MIB)), bucket, "parts")
    assert s3.head_object(Bucket=bucket, Key="parts")["ServerSideEncryption"] == "aws:kms"
    assert (
        s3.put_object(Bucket=bucket, Key="k", Body=b"x", ServerSideEncryption="AES256")["ServerSideEncryption"]
        == "AES256"
    )
    s3.put_object(Bucket=bucket, Key="own", Body=b"x", **with_key())
    assert "ServerSideEncryption" not in s3.head_object(Bucket=bucket, Key="own", **with_key())
    assert client.deleteBucketEncryption(bucket).status == 204
    assert client.putContent(bucket, "k", b"x").body.sseKms is None
    assert client.getObjectMetadata(bucket, "before").body.sseKms is None


def test_roots_of_before_are_brought_along(tmp_path: Path) -> None:
    old = {"server-side-encryption": "aws:kms", "server-side-encryption-aws-kms-key-id": "a"}
    store = ObjectStore(tmp_path)
    store.create_bucket("bkt", "me")
    store.put("bkt", "k", b"x", Attributes(traits=Traits(encryption=old)))
    store.close()
    with closing(sqlite3.connect(tmp_path / "obs" / "index.sqlite3")) as rows:
        for table in ("objects", "versions"):
            rows.execute(f"ALTER TABLE {table} DROP COLUMN crc64")
        rows.executescript("DROP TABLE pieces; ALTER TABLE parts DROP COLUMN nonce; PRAGMA user_version = 2")
    ObjectIndex(tmp_path / "obs" / "index.sqlite3").close()
    store = ObjectStore(tmp_path)
    assert store.found("bkt", "k").traits.encryption == {
        "server-side-encryption": "kms",
        "server-side-encryption-kms-key-id": "a",
    }
    assert store.pieces(store.found("bkt", "k")) == [(1, "00" * 8)]
    store.close()


# --- keys of customers -----------------------------------------------------------------------------------------------


def test_only_the_key_opens_it(s3: Any, lab: LabProcess, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "k"}
    for size in (0, 1, 15, 16, 17, 300_000):
        body = os.urandom(size)
        put = s3.put_object(**at, Body=body, Metadata={"a": "1"}, **with_key())
        told = base64.b64encode(hashlib.md5(KEY).digest()).decode()
        assert (put["SSECustomerAlgorithm"], put["SSECustomerKeyMD5"]) == ("AES256", told)
        assert put["ETag"].strip('"') != hashlib.md5(body).hexdigest()
        got = s3.get_object(**at, **with_key())
        assert (got["Body"].read(), got["SSECustomerAlgorithm"], got["SSECustomerKeyMD5"]) == (body, "AES256", told)
        assert s3.head_object(**at, **with_key())["Metadata"] == {"a": "1"}
    for call in (s3.get_object, s3.head_object):
        assert refused(call, **at)[0] == 400
        assert refused(call, **at, **with_key(OTHER))[0] == 400
    assert refused(s3.get_object, **at)[1] == "InvalidRequest"
    s3.put_object(Bucket=bucket, Key="plain", Body=b"x")
    assert refused(s3.get_object, Bucket=bucket, Key="plain", **with_key()) == (400, "InvalidRequest")
    for first, last in ((0, 0), (5, 20), (16, 31), (299_990, 299_999), (1, 299_000)):
        part = s3.get_object(**at, Range=f"bytes={first}-{last}", **with_key())["Body"].read()
        assert part == body[first : last + 1]
    wire = Wire(lab)
    headers = {
        "x-obs-server-side-encryption-customer-algorithm": "AES256",
        "x-obs-server-side-encryption-customer-key": base64.b64encode(KEY).decode(),
        "x-obs-server-side-encryption-customer-key-md5": told,
    }
    several = wire.ask("GET", f"/{bucket}/k", {"Range": "bytes=1-3,100-109", **headers})
    assert (several.status, body[1:4] in several.body, body[100:110] in several.body) == (206, True, True)


def test_keys_that_are_none(lab: LabProcess, bucket: str) -> None:
    wire, prefix = Wire(lab), "x-obs-server-side-encryption-customer-"
    digest = base64.b64encode(hashlib.md5(KEY).digest()).decode()
    whole = {"algorithm": "AES256", "key": base64.b64encode(KEY).decode(), "key-md5": digest}
    short = base64.b64encode(KEY[:16]).decode()
    wrong: list[tuple[dict[str, str], str]] = [
        ({**whole, "algorithm": "DES"}, "InvalidEncryptionAlgorithmError"),
        *(({name: whole[name] for name in whole if name != left}, "InvalidArgument") for left in whole),
        ({**whole, "key": short}, "InvalidArgument"),
        ({**whole, "key": "?"}, "InvalidArgument"),
        ({**whole, "key-md5": "?"}, "InvalidArgument"),
        ({**whole, "key-md5": base64.b64encode(hashlib.md5(OTHER).digest()).decode()}, "InvalidArgument"),
    ]
    for given, code in wrong:
        answer = wire.put(f"/{bucket}/k", b"x", {prefix + name: value for name, value in given.items()})
        assert (answer.status, answer.code) == (400, code), given
        assert whole["key"].encode() not in answer.body
    assert wire.ask("HEAD", f"/{bucket}/k").status == 404


def test_neither_key_nor_body_is_on_the_disk(lab: LabProcess, s3: Any, bucket: str) -> None:
    secret = b"what nobody else may read " * 20
    s3.put_object(Bucket=bucket, Key="k", Body=secret, **with_key())
    upload = s3.create_multipart_upload(Bucket=bucket, Key="p", **with_key())["UploadId"]
    s3.upload_part(Bucket=bucket, Key="p", UploadId=upload, PartNumber=1, Body=secret, **with_key())
    traces = (
        secret[:40],
        KEY,
        base64.b64encode(KEY),
        hashlib.md5(KEY).digest(),
        base64.b64encode(hashlib.md5(KEY).digest()),
    )
    for path in (lab.root / "obs").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(trace in content for trace in traces), path
    assert base64.b64encode(KEY).decode() not in lab.error_text


def test_copies_need_the_key_of_the_source_and_take_a_new_one(s3: Any, bucket: str) -> None:
    body = os.urandom(400_000)
    source = {"Bucket": bucket, "Key": "k"}
    s3.put_object(**source, Body=body, **with_key())
    opened = with_key(prefix="CopySource")
    assert refused(s3.copy_object, Bucket=bucket, Key="c", CopySource=source) == (400, "InvalidRequest")
    wrong = with_key(OTHER, "CopySource")
    assert refused(s3.copy_object, Bucket=bucket, Key="c", CopySource=source, **wrong) == (400, "InvalidRequest")
    s3.copy_object(Bucket=bucket, Key="c", CopySource=source, **opened)
    plain = s3.get_object(Bucket=bucket, Key="c")
    assert (plain["Body"].read(), plain["ETag"].strip('"')) == (body, hashlib.md5(body).hexdigest())
    s3.copy_object(Bucket=bucket, Key="c", CopySource=source, **opened, **with_key(OTHER))
    assert s3.get_object(Bucket=bucket, Key="c", **with_key(OTHER))["Body"].read() == body
    # A new key for the object itself.
    s3.copy_object(**source, CopySource=source, **opened, **with_key(OTHER))
    assert s3.get_object(**source, **with_key(OTHER))["Body"].read() == body
    assert refused(s3.get_object, **source, **with_key())[0] == 400


def test_uploads_in_parts_go_on_with_their_key(s3: Any, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "k"}
    parts = [os.urandom(5 * MIB), os.urandom(5 * MIB + 7), os.urandom(1234)]
    begun = s3.create_multipart_upload(**at, **with_key())
    assert begun["SSECustomerAlgorithm"] == "AES256"
    upload = {**at, "UploadId": begun["UploadId"]}
    assert refused(s3.upload_part, **upload, PartNumber=1, Body=b"x") == (400, "InvalidRequest")
    assert refused(s3.upload_part, **upload, PartNumber=1, Body=b"x", **with_key(OTHER)) == (400, "InvalidRequest")
    listed = []
    for number, part in enumerate(parts[:2], start=1):
        done = s3.upload_part(**upload, PartNumber=number, Body=part, **with_key())
        assert done["SSECustomerAlgorithm"] == "AES256"
        assert done["ETag"].strip('"') != hashlib.md5(part).hexdigest()
        listed.append({"PartNumber": number, "ETag": done["ETag"]})
    s3.put_object(Bucket=bucket, Key="source", Body=b"--" + parts[2], **with_key(OTHER))
    whole = {"CopySource": {"Bucket": bucket, "Key": "source"}, "CopySourceRange": f"bytes=2-{len(parts[2]) + 1}"}
    opened = with_key(OTHER, "CopySource")
    assert refused(s3.upload_part_copy, **upload, PartNumber=3, **whole, **with_key())[0] == 400
    assert refused(s3.upload_part_copy, **upload, PartNumber=3, **whole, **opened)[0] == 400
    copied = s3.upload_part_copy(**upload, PartNumber=3, **whole, **opened, **with_key())
    listed.append({"PartNumber": 3, "ETag": copied["CopyPartResult"]["ETag"]})
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": listed})
    body = b"".join(parts)
    assert s3.get_object(**at, **with_key())["Body"].read() == body
    assert refused(s3.get_object, **at)[0] == 400
    for first in (0, 5 * MIB - 3, 5 * MIB + 1, 10 * MIB, len(body) - 5):
        got = s3.get_object(**at, Range=f"bytes={first}-{first + 9}", **with_key())["Body"].read()
        assert got == body[first : first + 10]
    for number, part in enumerate(parts, start=1):
        assert s3.get_object(**at, PartNumber=number, **with_key())["Body"].read() == part
    begun = s3.create_multipart_upload(**at)
    upload = {**at, "UploadId": begun["UploadId"]}
    assert refused(s3.upload_part, **upload, PartNumber=1, Body=b"x", **with_key()) == (400, "InvalidRequest")


def test_checksums_are_those_of_what_was_sent(s3: Any, bucket: str) -> None:
    """Not of what lies on the disk, also for the part that was copied."""
    at = {"Bucket": bucket, "Key": "k"}
    parts = [os.urandom(5 * MIB), os.urandom(777)]
    s3.put_object(Bucket=bucket, Key="source", Body=parts[1])
    begun = s3.create_multipart_upload(**at, ChecksumAlgorithm="CRC32", **with_key())
    upload = {**at, "UploadId": begun["UploadId"]}
    first = s3.upload_part(**upload, PartNumber=1, Body=parts[0], ChecksumAlgorithm="CRC32", **with_key())
    source = {"Bucket": bucket, "Key": "source"}
    second = s3.upload_part_copy(**upload, PartNumber=2, CopySource=source, **with_key())["CopyPartResult"]
    digests = [zlib.crc32(part).to_bytes(4, "big") for part in parts]
    told = [base64.b64encode(digest).decode() for digest in digests]
    listed = [
        {"PartNumber": number, "ETag": part["ETag"], "ChecksumCRC32": checksum}
        for number, (part, checksum) in enumerate(zip((first, second), told, strict=True), start=1)
    ]
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": listed})
    whole = base64.b64encode(zlib.crc32(b"".join(digests)).to_bytes(4, "big")).decode()
    assert s3.head_object(**at, ChecksumMode="ENABLED", **with_key())["ChecksumCRC32"] == f"{whole}-2"
    assert s3.get_object(**at, **with_key())["Body"].read() == b"".join(parts)


def test_transfers_of_boto3_with_a_key(s3: Any, bucket: str) -> None:
    body, got = os.urandom(20 * MIB), io.BytesIO()
    s3.upload_fileobj(io.BytesIO(body), bucket, "k", ExtraArgs=with_key())
    s3.download_fileobj(bucket, "k", got, ExtraArgs=with_key())
    assert got.getvalue() == body


def test_versions_have_keys_of_their_own(s3: Any, bucket: str) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    at = {"Bucket": bucket, "Key": "k"}
    one = s3.put_object(**at, Body=b"one", **with_key())["VersionId"]
    two = s3.put_object(**at, Body=b"two", **with_key(OTHER))["VersionId"]
    s3.put_object(**at, Body=b"three")
    assert s3.get_object(**at)["Body"].read() == b"three"
    assert s3.get_object(**at, VersionId=one, **with_key())["Body"].read() == b"one"
    assert s3.get_object(**at, VersionId=two, **with_key(OTHER))["Body"].read() == b"two"
    assert refused(s3.get_object, **at, VersionId=two, **with_key())[0] == 400
    s3.delete_object(**at)
    assert s3.get_object(**at, VersionId=one, **with_key())["Body"].read() == b"one"


def test_the_sdk_with_a_key(client: ObsClient, bucket: str) -> None:
    key = "0123456789abcdef0123456789abcdef"
    sse = SseCHeader.getInstance(key)
    assert client.putContent(bucket, "k", b"content", headers=PutObjectHeader(sseHeader=sse)).body.sseC == "AES256"
    got = client.getObject(bucket, "k", headers=GetObjectHeader(sseHeader=sse), loadStreamInMemory=True)
    assert (got.status, got.body.buffer) == (200, b"content")
    assert client.getObject(bucket, "k", loadStreamInMemory=True).status == 400
    assert client.getObjectMetadata(bucket, "k", sseHeader=sse).body.sseC == "AES256"
    to_kms = CopyObjectHeader(sourceSseHeader=sse, destSseHeader=SseKmsHeader.getInstance())
    assert client.copyObject(bucket, "k", bucket, "c", headers=to_kms).body.sseKms in ("kms", "aws:kms")
    assert client.getObject(bucket, "c", loadStreamInMemory=True).body.buffer == b"content"


def test_forms_and_appending_with_a_key(lab: LabProcess, s3: Any, bucket: str) -> None:
    prefix = "x-obs-server-side-encryption-customer-"
    digest = base64.b64encode(hashlib.md5(KEY).digest()).decode()
    given = {"algorithm": "AES256", "key": base64.b64encode(KEY).decode(), "key-md5": digest}
    fields = {prefix + name: value for name, value in given.items()}
    proof = own_policy(lab, bucket, *({name: value} for name, value in fields.items()))
    assert ask(f"{lab.obs}/{bucket}", "POST", *form({"key": "k", **fields, **proof}))[0] == 204
    assert s3.get_object(Bucket=bucket, Key="k", **with_key())["Body"].read() == b"content"
    wire = Wire(lab)
    target = f"/{bucket}/appended?append&position=0"
    appended = wire.exchange(wire.head("POST", target, {"Content-Length": "1", **fields}) + b"x")
    assert (appended.status, appended.code) == (501, "NotImplemented")


def test_jobs_of_the_lab_do_not_get_what_they_cannot_open(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    store.create_bucket("bkt", "me")
    lock = lock_for(KEY)
    with store.new_body(Seal(KEY, lock)) as writer:
        writer.write(b"content")
        writer.commit("bkt", "k", Attributes(traits=Traits(customer=lock)))
    with pytest.raises(InvalidRequest):
        store.open("bkt", "k")
    _, body = store.open("bkt", "k", customer_key=KEY)
    with body:
        assert body.read(100) == b"content"
    store.close()


# --- parts of objects ------------------------------------------------------------------------------------------------


def test_parts_are_read_one_by_one(s3: Any, lab: LabProcess, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "k"}
    parts = [os.urandom(5 * MIB), os.urandom(5 * MIB + 1), os.urandom(10)]
    upload = {**at, "UploadId": s3.create_multipart_upload(**at)["UploadId"]}
    listed = [
        {"PartNumber": number, "ETag": s3.upload_part(**upload, PartNumber=number, Body=part)["ETag"]}
        for number, part in enumerate(parts, start=1)
    ]
    etag = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": listed})["ETag"]
    first = 0
    for number, part in enumerate(parts, start=1):
        for call in (s3.get_object, s3.head_object):
            answer = call(**at, PartNumber=number)
            assert (answer["PartsCount"], answer["ContentLength"], answer["ETag"]) == (3, len(part), etag)
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == 206
        told = f"bytes {first}-{first + len(part) - 1}/{sum(map(len, parts))}"
        got = s3.get_object(**at, PartNumber=number)
        assert (got["ContentRange"], got["Body"].read()) == (told, part)
        first += len(part)
    assert "PartsCount" not in s3.head_object(**at)
    assert refused(s3.get_object, **at, PartNumber=4) == (416, "InvalidPartNumber")
    assert refused(s3.get_object, **at, PartNumber=0) == (400, "InvalidArgument")
    assert refused(s3.get_object, **at, PartNumber=1, Range="bytes=0-1") == (400, "InvalidRequest")
    s3.put_object(**at, Body=b"whole")
    whole = s3.get_object(**at, PartNumber=1)
    assert ("PartsCount" in whole, whole["ContentRange"], whole["Body"].read()) == (False, "bytes 0-4/5", b"whole")
    assert refused(s3.get_object, **at, PartNumber=2) == (416, "InvalidPartNumber")
    s3.put_object(**at, Body=b"")
    assert s3.get_object(**at, PartNumber=1)["Body"].read() == b""
    with closing(sqlite3.connect(lab.root / "obs" / "index.sqlite3")) as rows:
        kept = (
            "SELECT count(*) FROM pieces WHERE body NOT IN (SELECT body FROM objects UNION SELECT body FROM versions)"
        )
        assert rows.execute(kept).fetchone() == (0,)


def test_parts_of_parts(lab: LabProcess, bucket: str) -> None:
    """Transfers of boto3 that read part by part, from a bucket that encrypts."""
    with closing(s3_client(lab)) as s3:
        usual = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
        s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [usual]})
        body = os.urandom(9 * MIB)
        s3.upload_fileobj(io.BytesIO(body), bucket, "k")
        count = s3.head_object(Bucket=bucket, Key="k", PartNumber=1)["PartsCount"]
        parts = [s3.get_object(Bucket=bucket, Key="k", PartNumber=number + 1)["Body"].read() for number in range(count)]
        assert (count, b"".join(parts)) == (2, body)
