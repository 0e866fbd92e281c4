"""Versions, appending, copies, metadata, ranges and batches as clients see them."""

from __future__ import annotations

import hashlib
import re
import urllib.request
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import (
    AppendObjectContent,
    AppendObjectHeader,
    CopyObjectHeader,
    DeleteObjectsRequest,
    GetObjectHeader,
    GetObjectRequest,
    Object,
    ObsClient,
    PutObjectHeader,
    SetObjectMetadataHeader,
    Versions,
)

from support.servers.lab_process import LabProcess


def content_of(client: ObsClient, bucket: str, key: str, version: str | None = None) -> bytes:
    asked = GetObjectRequest(versionId=version)
    answer = client.getObject(bucket, key, getObjectRequest=asked, loadStreamInMemory=True)
    assert answer.status in (200, 206), (answer.errorCode, answer.errorMessage)
    return bytes(answer.body.buffer or b"")


def put(client: ObsClient, bucket: str, key: str, content: bytes) -> str:
    answer = client.putContent(bucket, key, content)
    assert answer.status == 200
    return str(dict(answer.header).get("version-id", ""))


def listed(client: ObsClient, bucket: str, **asked: Any) -> list[tuple[str, str, bool, bool]]:
    body = client.listVersions(bucket, Versions(**asked)).body
    entries = [(one.key, one.versionId, one.isLatest, False) for one in body.versions]
    return entries + [(one.key, one.versionId, one.isLatest, True) for one in body.markers]


# --- versions --------------------------------------------------------------------------------------------------------


def test_versions_are_kept_hidden_and_brought_back(client: ObsClient, bucket: str) -> None:
    put(client, bucket, "k", b"before")
    assert client.getBucketVersioning(bucket).body is None
    assert client.setBucketVersioning(bucket, "Enabled").status == 200
    assert client.getBucketVersioning(bucket).body == "Enabled"
    first, second = put(client, bucket, "k", b"first"), put(client, bucket, "k", b"second")
    assert len(first) >= 32
    assert first != second
    assert content_of(client, bucket, "k") == b"second"
    for version, content in ((first, b"first"), (second, b"second"), ("null", b"before")):
        assert content_of(client, bucket, "k", version) == content
        assert client.getObjectMetadata(bucket, "k", versionId=version).status == 200
    marker = client.deleteObject(bucket, "k")
    assert marker.status == 204
    assert marker.body.deleteMarker
    hidden = client.getObject(bucket, "k")
    assert (hidden.status, hidden.errorCode) == (404, "NoSuchKey")
    assert dict(hidden.header)["delete-marker"] == "true"
    assert client.listObjects(bucket).body.contents == []
    of_marker = client.getObject(bucket, "k", getObjectRequest=GetObjectRequest(versionId=marker.body.versionId))
    assert (of_marker.status, of_marker.errorCode) == (405, "MethodNotAllowed")
    assert client.deleteBucket(bucket).errorCode == "BucketNotEmpty"
    assert client.deleteObject(bucket, "k", versionId=marker.body.versionId).body.deleteMarker
    assert content_of(client, bucket, "k") == b"second"
    assert client.deleteObject(bucket, "k", versionId=second).status == 204
    assert content_of(client, bucket, "k") == b"first"
    gone = client.getObject(bucket, "k", getObjectRequest=GetObjectRequest(versionId=second))
    assert (gone.status, gone.errorCode) == (404, "NoSuchVersion")


def test_suspended_versioning_keeps_one_null_version(client: ObsClient, bucket: str) -> None:
    client.setBucketVersioning(bucket, "Enabled")
    kept = put(client, bucket, "k", b"kept")
    client.setBucketVersioning(bucket, "Suspended")
    put(client, bucket, "k", b"one")
    put(client, bucket, "k", b"two")
    assert [(one[1], one[2]) for one in listed(client, bucket)] == [("null", True), (kept, False)]
    assert client.deleteObject(bucket, "k").body.versionId == "null"
    assert [(one[1], one[2], one[3]) for one in listed(client, bucket)] == [(kept, False, False), ("null", True, True)]
    assert client.deleteObject(bucket, "k", versionId="null").status == 204
    assert content_of(client, bucket, "k") == b"kept"


def test_versions_are_listed_in_pages(client: ObsClient, bucket: str) -> None:
    client.setBucketVersioning(bucket, "Enabled")
    expected = []
    for key in ("a", "b/1", "b/2", "c"):
        ids = [put(client, bucket, key, content) for content in (b"1", b"2", b"3")]
        expected += [(key, version) for version in reversed(ids)]
    found: list[tuple[str, str]] = []
    latest: list[bool] = []
    markers: tuple[str | None, str | None] = (None, None)
    for _ in range(20):
        asked = Versions(max_keys=2, key_marker=markers[0], version_id_marker=markers[1])
        body = client.listVersions(bucket, asked).body
        found += [(one.key, one.versionId) for one in body.versions]
        latest += [one.isLatest for one in body.versions]
        if not body.head.isTruncated:
            break
        markers = (body.head.nextKeyMarker, body.head.nextVersionIdMarker)
    assert found == expected
    assert latest == [True, False, False] * 4
    folded = client.listVersions(bucket, Versions(delimiter="/", prefix="")).body
    assert [one.prefix for one in folded.commonPrefixs] == ["b/"]
    below = client.listVersions(bucket, Versions(prefix="b/", key_marker="b/1")).body
    assert {one.key for one in below.versions} == {"b/2"}


def test_batches_delete_versions(client: ObsClient, bucket: str) -> None:
    client.setBucketVersioning(bucket, "Enabled")
    first, second = put(client, bucket, "k", b"1"), put(client, bucket, "k", b"2")
    objects = [Object(key="k", versionId=first), Object(key="k"), Object(key="none")]
    answer = client.deleteObjects(bucket, DeleteObjectsRequest(quiet=False, objects=objects)).body
    assert [one.deleteMarker for one in answer.deleted] == [None, True, True]
    assert answer.deleted[0].versionId == first
    assert [one[1] for one in listed(client, bucket) if not one[3]] == [second]
    every = [Object(key=one[0], versionId=one[1]) for one in listed(client, bucket)]
    quiet = client.deleteObjects(bucket, DeleteObjectsRequest(quiet=True, objects=every)).body
    assert not quiet.deleted
    assert not quiet.error
    assert listed(client, bucket) == []
    assert client.deleteBucket(bucket).status == 204


def test_versions_can_be_copied_and_described(client: ObsClient, bucket: str) -> None:
    client.setBucketVersioning(bucket, "Enabled")
    first = put(client, bucket, "k", b"first")
    put(client, bucket, "k", b"second")
    copied = client.copyObject(bucket, "k", bucket, "copy", versionId=first)
    assert copied.status == 200
    assert content_of(client, bucket, "copy") == b"first"
    assert client.copyObject(bucket, "k", bucket, "k", versionId=first).status == 200
    assert content_of(client, bucket, "k") == b"first"
    changed = client.setObjectMetadata(bucket, "k", metadata={"a": "1"}, versionId=first)
    assert changed.status == 200
    assert dict(client.getObjectMetadata(bucket, "k", versionId=first).header)["a"] == "1"
    assert "a" not in dict(client.getObjectMetadata(bucket, "k").header)


# --- appending -------------------------------------------------------------------------------------------------------


def test_appending(client: ObsClient, bucket: str) -> None:
    total = b""
    for piece in (b"first ", b"second ", b"x" * 300_000):
        content = AppendObjectContent(content=piece, position=len(total))
        answer = client.appendObject(bucket, "log", content, headers=AppendObjectHeader(contentType="text/x"))
        assert answer.status == 200, (answer.errorCode, answer.errorMessage)
        total += piece
        assert answer.body.nextPosition == len(total)
        assert answer.body.etag == f'"{hashlib.md5(piece).hexdigest()}"'
    assert content_of(client, bucket, "log") == total
    head = client.getObjectMetadata(bucket, "log").body
    assert (head.isAppendable, head.nextPosition, head.contentType) == (True, len(total), "text/x")
    wrong = client.appendObject(bucket, "log", AppendObjectContent(content=b"x", position=3))
    assert (wrong.status, wrong.errorCode) == (409, "PositionNotEqualToLength")
    assert dict(wrong.header)["next-append-position"] == str(len(total))
    put(client, bucket, "plain", b"x")
    refused = client.appendObject(bucket, "plain", AppendObjectContent(content=b"x", position=1))
    assert (refused.status, refused.errorCode) == (409, "ObjectNotAppendable")
    assert [one.isAppendable for one in client.listObjects(bucket).body.contents] == [True, False]


# --- metadata and copies ---------------------------------------------------------------------------------------------


def test_metadata_is_changed_in_place(client: ObsClient, bucket: str) -> None:
    header = PutObjectHeader(contentType="text/plain", expires=3)
    client.putContent(
        bucket, "k", b"content", metadata={"a": "1"}, headers=header, extensionHeaders={"Cache-Control": "no-store"}
    )
    head = dict(client.getObjectMetadata(bucket, "k").header)
    assert "expiry-date" in head["expiration"]
    changed = client.setObjectMetadata(
        bucket, "k", metadata={"b": "学习"}, headers=SetObjectMetadataHeader(contentDisposition="attachment")
    )
    assert changed.status == 200, (changed.errorCode, changed.errorMessage)
    head = dict(client.getObjectMetadata(bucket, "k").header)
    assert head["b"] == "学习"
    assert "a" not in head
    assert (head["cache-control"], head["content-disposition"]) == ("no-store", "attachment")
    replaced = client.setObjectMetadata(
        bucket, "k", metadata={"c": "3"}, headers=SetObjectMetadataHeader(removeUnset=True, storageClass="WARM")
    )
    assert replaced.status == 200
    answer = client.getObjectMetadata(bucket, "k")
    head = dict(answer.header)
    assert "cache-control" not in head
    assert "b" not in head
    assert answer.body.storageClass in ("WARM", "STANDARD_IA")
    assert content_of(client, bucket, "k") == b"content"
    assert client.setObjectMetadata(bucket, "none", metadata={"a": "1"}).status == 404


def test_storage_classes_and_restoring(client: ObsClient, bucket: str) -> None:
    put_cold = client.putContent(bucket, "cold", b"content", headers=PutObjectHeader(storageClass="COLD"))
    assert put_cold.body.storageClass in ("COLD", "GLACIER")
    assert client.listObjects(bucket).body.contents[0].storageClass in ("COLD", "GLACIER")
    frozen = client.getObject(bucket, "cold")
    assert (frozen.status, frozen.errorCode) == (403, "InvalidObjectState")
    assert client.copyObject(bucket, "cold", bucket, "copy").errorCode == "InvalidObjectState"
    assert client.restoreObject(bucket, "cold", 2, "Expedited").status == 202
    assert client.restoreObject(bucket, "cold", 3).status == 200
    assert "expiry-date" in client.getObjectMetadata(bucket, "cold").body.restore
    assert content_of(client, bucket, "cold") == b"content"
    put(client, bucket, "plain", b"x")
    assert client.restoreObject(bucket, "plain", 1).errorCode == "InvalidObjectState"


def test_copies_keep_or_replace(client: ObsClient, bucket: str) -> None:
    client.putContent(
        bucket, "from?versionId=x", b"content", metadata={"a": "1"}, headers=PutObjectHeader(contentType="text/x")
    )
    client.putContent(bucket, "from", b"content", metadata={"a": "1"}, headers=PutObjectHeader(contentType="text/x"))
    assert client.copyObject(bucket, "from", bucket, "to").status == 200
    head = client.getObjectMetadata(bucket, "to")
    assert (dict(head.header)["a"], head.body.contentType) == ("1", "text/x")
    header = CopyObjectHeader(directive="REPLACE", contentType="text/y")
    assert client.copyObject(bucket, "to", bucket, "to", metadata={"b": "2"}, headers=header).status == 200
    head = client.getObjectMetadata(bucket, "to")
    assert head.body.contentType == "text/y"
    assert "a" not in dict(head.header)
    itself = client.copyObject(bucket, "to", bucket, "to")
    assert (itself.status, itself.errorCode) == (400, "InvalidRequest")
    assert client.copyObject("no-such-bucket-here", "k", bucket, "to").errorCode == "NoSuchBucket"


def test_copies_have_conditions(client: ObsClient, bucket: str) -> None:
    etag = client.putContent(bucket, "from", b"content").body.etag.strip('"')
    old = "Mon, 01 Jan 2024 00:00:00 GMT"
    cases = [
        (CopyObjectHeader(if_match=etag), 200),
        (CopyObjectHeader(if_match="0"), 412),
        (CopyObjectHeader(if_none_match=etag), 412),
        (CopyObjectHeader(if_none_match="0"), 200),
        (CopyObjectHeader(if_modified_since=old), 200),
        (CopyObjectHeader(if_unmodified_since=old), 412),
    ]
    for header, status in cases:
        assert client.copyObject(bucket, "from", bucket, "to", headers=header).status == status


def test_several_ranges_and_if_range(s3: Any, bucket: str) -> None:
    content = bytes(range(256)) * 2000
    etag = s3.put_object(Bucket=bucket, Key="k", Body=content)["ETag"]
    got = s3.get_object(Bucket=bucket, Key="k", Range="bytes=0-9,-5,100000-400000")
    assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
    boundary = got["ContentType"].partition("boundary=")[2]
    parts = got["Body"].read().split(f"--{boundary}".encode())[1:-1]
    ranges = [re.search(rb"Content-Range: (.*)\r\n", part) for part in parts]
    assert [one and one[1].decode() for one in ranges] == [
        f"bytes 0-9/{len(content)}",
        f"bytes {len(content) - 5}-{len(content) - 1}/{len(content)}",
        f"bytes 100000-400000/{len(content)}",
    ]
    assert [part.partition(b"\r\n\r\n")[2][:-2] for part in parts] == [
        content[:10],
        content[-5:],
        content[100000:400001],
    ]
    link = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "k"})
    for condition, size in ((etag, 10), ('"other"', len(content))):
        request = urllib.request.Request(link, headers={"Range": "bytes=0-9", "If-Range": condition})
        with urllib.request.urlopen(request) as answer:
            assert len(answer.read()) == size
    s3.put_object(Bucket=bucket, Key="empty", Body=b"")
    with pytest.raises(ClientError) as failed:
        s3.get_object(Bucket=bucket, Key="empty", Range="bytes=0-")
    assert failed.value.response["Error"]["Code"] == "InvalidRange"


@pytest.mark.parametrize(
    ("header", "status", "size"),
    [
        ("0-0", 206, 1),
        ("0-", 206, 10),
        ("-1", 206, 1),
        ("-100", 206, 10),
        ("9-9", 206, 1),
        ("9-100", 206, 1),
        ("3-1", 200, 10),
        ("a-b", 200, 10),
        ("-", 200, 10),
        ("10-20", 416, 0),
        ("-0", 416, 0),
        ("20-,0-1", 206, 2),
    ],
)
def test_forms_of_ranges(client: ObsClient, bucket: str, header: str, status: int, size: int) -> None:
    client.putContent(bucket, "k", b"0123456789")
    got = client.getObject(bucket, "k", headers=GetObjectHeader(range=header), loadStreamInMemory=True)
    assert got.status == status
    if size:
        assert len(got.body.buffer) == size


def test_conditional_writes(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    refused = [
        {"IfNoneMatch": "*"},
        {"IfMatch": '"0"'},
    ]
    for condition in refused:
        with pytest.raises(ClientError) as failed:
            s3.put_object(Bucket=bucket, Key="k", Body=b"2", **condition)
        assert failed.value.response["Error"]["Code"] == "PreconditionFailed"
    s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch=etag)
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=bucket, Key="none", Body=b"2", IfMatch=etag)
    assert failed.value.response["Error"]["Code"] == "NoSuchKey"


def test_overrides_need_a_signature(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    client.putContent(bucket, "k", b"x", headers=PutObjectHeader(acl="public-read"))
    with urllib.request.urlopen(f"{lab.obs}/{bucket}/k") as answer:
        assert answer.read() == b"x"
    request = urllib.request.Request(f"{lab.obs}/{bucket}/k?response-content-type=text/evil")
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(request)
    with failed.value as answer:
        assert b"ForbidAnonReqOverwriteRespHead" in answer.read()
