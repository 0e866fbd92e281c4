"""The OBS dialect as unmodified clients see it: the vendor's SDK in three signatures, and boto3."""

from __future__ import annotations

import hashlib
import io
import os
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from obs import (
    CopyObjectHeader,
    DeleteObjectsRequest,
    GetObjectHeader,
    Object,
    ObsClient,
    PutObjectHeader,
)

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client

ODD_KEYS = [
    "plain.txt",
    "dir/",
    "dir/inner",
    "a",
    "a/b",
    "A",
    "/leading",
    "//double",
    "x//y",
    "..",
    "../up",
    "a/../b",
    "./here",
    "blank here +plus%25&amp;=;,'\"<>\\|:*?#~()!",
    "line\nbreak",
    "return\rhere",
    "tab\there",
    "\x01control",
    "ä-学习-🎓",
    "k" * 1024,
]


@pytest.fixture(params=["obs", "v2", "v4"])
def client(lab: LabProcess, request: pytest.FixtureRequest) -> Iterator[ObsClient]:
    with closing(obs_client(lab, request.param)) as client:
        yield client


@pytest.fixture
def bucket(client: ObsClient, request: pytest.FixtureRequest) -> str:
    name = "b-" + hashlib.sha1(request.node.nodeid.encode()).hexdigest()[:20]
    answer = client.createBucket(name)
    assert answer.status == 200, (answer.errorCode, answer.errorMessage)
    assert answer.requestId
    return name


def s3_client(lab: LabProcess, signature: str = "s3v4", **config: Any) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=lab.obs,
        aws_access_key_id=lab.access_key,
        aws_secret_access_key=lab.secret_key,
        region_name="lab",
        config=Config(
            signature_version=signature, s3={"addressing_style": "path"}, retries={"max_attempts": 0}, **config
        ),
    )


@pytest.fixture(params=["s3v4", "s3"])
def s3(lab: LabProcess, request: pytest.FixtureRequest) -> Iterator[Any]:
    client = s3_client(lab, request.param)
    yield client
    client.close()


# --- the vendor's SDK ------------------------------------------------------------------------------------------------


def test_odd_keys_round_trip(client: ObsClient, bucket: str) -> None:
    for key in ODD_KEYS:
        content = key.encode() * 3
        put = client.putContent(bucket, key, content)
        assert put.status == 200, (key, put.errorCode, put.errorMessage)
        assert put.body.etag == f'"{hashlib.md5(content).hexdigest()}"'
        got = client.getObject(bucket, key, loadStreamInMemory=True)
        assert got.status == 200, (key, got.errorCode)
        assert got.body.buffer == content, key
        head = client.getObjectMetadata(bucket, key)
        assert head.status == 200
        assert int(head.body.contentLength) == len(content)
    listed = client.listObjects(bucket, encoding_type="url")
    assert [one.key for one in listed.body.contents] == sorted(ODD_KEYS, key=str.encode)
    for key in ODD_KEYS:
        assert client.deleteObject(bucket, key).status == 204
    assert client.listObjects(bucket).body.contents == []
    assert client.deleteBucket(bucket).status == 204


def test_metadata_and_standard_headers_are_kept(client: ObsClient, bucket: str) -> None:
    header = PutObjectHeader(contentType="text/plain")
    extension = {"Cache-Control": "no-store", "Content-Encoding": "gzip", "Content-Disposition": "attachment"}
    put = client.putContent(
        bucket, "k", b"x", metadata={"Name": "学习 a", "n": "2"}, headers=header, extensionHeaders=extension
    )
    assert put.status == 200
    head = client.getObjectMetadata(bucket, "k")
    pairs = dict(head.header)
    assert pairs["name"] == "学习 a"
    assert pairs["n"] == "2"
    assert head.body.contentType == "text/plain"
    assert pairs["cache-control"] == "no-store"
    assert pairs["content-encoding"] == "gzip"


def test_files_streams_and_large_bodies(client: ObsClient, bucket: str, tmp_path: Path) -> None:
    content = os.urandom(3 * 1024 * 1024 + 17)
    source = tmp_path / "big.bin"
    source.write_bytes(content)
    assert client.putFile(bucket, "file", str(source)).status == 200
    assert client.putContent(bucket, "stream", io.BytesIO(content)).status == 200
    assert client.putContent(bucket, "empty", b"").status == 200
    for key in ("file", "stream"):
        got = client.getObject(bucket, key, loadStreamInMemory=True)
        assert got.body.buffer == content
        assert got.body.size == len(content)
    tail = client.getObject(bucket, "file", headers=GetObjectHeader(range="1048576-"), loadStreamInMemory=True)
    assert tail.status == 206
    assert tail.body.buffer == content[1048576:]


@pytest.mark.parametrize(
    ("given", "status", "expected"),
    [
        ("0-3", 206, b"0123"),
        ("7-", 206, b"789"),
        ("-2", 206, b"89"),
        ("8-99", 206, b"89"),
        ("-99", 206, b"0123456789"),
        ("5-2", 200, b"0123456789"),
        ("10-", 416, None),
    ],
)
def test_ranges(client: ObsClient, bucket: str, given: str, status: int, expected: bytes | None) -> None:
    client.putContent(bucket, "k", b"0123456789")
    got = client.getObject(bucket, "k", headers=GetObjectHeader(range=given), loadStreamInMemory=True)
    assert got.status == status
    if expected is None:
        assert got.errorCode == "InvalidRange"
    else:
        assert got.body.buffer == expected


def test_conditions(client: ObsClient, bucket: str) -> None:
    etag = client.putContent(bucket, "k", b"content").body.etag.strip('"')

    def status(**header: str) -> int:
        return int(client.getObject(bucket, "k", headers=GetObjectHeader(**header), loadStreamInMemory=True).status)

    assert status(if_match=etag) == 200
    assert status(if_match="other") == 412
    assert status(if_none_match=etag) == 304
    assert status(if_none_match="other") == 200
    assert status(if_modified_since="Mon, 01 Jan 2024 00:00:00 GMT") == 200
    assert status(if_unmodified_since="Mon, 01 Jan 2024 00:00:00 GMT") == 412


def test_listing_pages_folds_and_goes_on(client: ObsClient, bucket: str) -> None:
    keys = [*(f"{folder}/{name}" for folder in "abc" for name in range(3)), "top"]
    for key in keys:
        client.putContent(bucket, key, b"x")
    found: list[str] = []
    marker = None
    while True:
        page = client.listObjects(bucket, max_keys=4, marker=marker)
        found += [one.key for one in page.body.contents]
        if not page.body.is_truncated:
            break
        marker = page.body.next_marker
        assert marker
    assert found == keys
    folded = client.listObjects(bucket, delimiter="/")
    assert [one.prefix for one in folded.body.commonPrefixs] == ["a/", "b/", "c/"]
    assert [one.key for one in folded.body.contents] == ["top"]
    second = client.listObjects(bucket, delimiter="/", max_keys=1, marker="a/")
    assert [one.prefix for one in second.body.commonPrefixs] == ["b/"]
    below = client.listObjects(bucket, prefix="b/", delimiter="/")
    assert [one.key for one in below.body.contents] == ["b/0", "b/1", "b/2"]


def test_batch_delete(client: ObsClient, bucket: str) -> None:
    keys = ["a", "b c", "d\re", "é+%"]
    for key in keys:
        client.putContent(bucket, key, b"x")
    objects = [Object(key=key) for key in [*keys, "missing"]]
    answer = client.deleteObjects(bucket, DeleteObjectsRequest(quiet=False, objects=objects, encoding_type="url"))
    assert answer.status == 200
    assert [one.key for one in answer.body.deleted] == [*keys, "missing"]
    assert client.listObjects(bucket).body.contents == []
    many = [Object(key=f"k{number}") for number in range(1001)]
    refused = client.deleteObjects(bucket, DeleteObjectsRequest(quiet=True, objects=many))
    assert (refused.status, refused.errorCode) == (400, "MalformedXML")


def test_copy(client: ObsClient, bucket: str) -> None:
    client.putContent(bucket, "from (ä)", b"content", metadata={"a": "1"})
    copied = client.copyObject(bucket, "from (ä)", bucket, "to")
    assert copied.status == 200
    assert copied.body.etag == f'"{hashlib.md5(b"content").hexdigest()}"'
    assert dict(client.getObjectMetadata(bucket, "to").header)["a"] == "1"
    replaced = client.copyObject(
        bucket, "to", bucket, "to", metadata={"b": "2"}, headers=CopyObjectHeader(directive="REPLACE")
    )
    assert replaced.status == 200
    pairs = dict(client.getObjectMetadata(bucket, "to").header)
    assert pairs["b"] == "2"
    assert "a" not in pairs
    assert client.copyObject(bucket, "to", bucket, "to").status == 400
    missing = client.copyObject(bucket, "nothing", bucket, "x")
    assert (missing.status, missing.errorCode) == (404, "NoSuchKey")


def test_buckets(client: ObsClient, bucket: str) -> None:
    assert client.createBucket(bucket).status == 200
    assert client.headBucket(bucket).status == 200
    assert client.getBucketLocation(bucket).body.location == "lab"
    listed = client.listBuckets(isQueryLocation=True)
    assert bucket in [one.name for one in listed.body.buckets]
    assert client.createBucket("Not_A_Bucket").errorCode == "InvalidBucketName"
    client.putContent(bucket, "k", b"x")
    refused = client.deleteBucket(bucket)
    assert (refused.status, refused.errorCode) == (409, "BucketNotEmpty")
    assert client.headBucket("b-that-is-not-there").status == 404
    missing = client.getObject("b-that-is-not-there", "k")
    assert (missing.status, missing.errorCode) == (404, "NoSuchBucket")


def test_errors_and_wrong_keys(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    missing = client.getObject(bucket, "nothing")
    assert (missing.status, missing.errorCode) == (404, "NoSuchKey")
    assert missing.requestId
    assert client.putContent(bucket, "k" * 1025, b"x").errorCode == "KeyTooLongError"
    digest = client.putContent(bucket, "k", b"x", headers=PutObjectHeader(md5="1B2M2Y8AsgTpgAmY7PhCfg=="))
    assert (digest.status, digest.errorCode) == (400, "BadDigest")
    assert client.getObjectMetadata(bucket, "k").status == 404
    wrong = obs_client(lab, client.signature, secret_key="wrong")
    answer = wrong.putContent(bucket, "k", b"x" * 3_000_000)
    assert (answer.status, answer.errorCode) == (403, "SignatureDoesNotMatch")
    wrong.close()
    unknown = obs_client(lab, client.signature, access_key="NOBODY")
    assert unknown.listBuckets().errorCode == "InvalidAccessKeyId"
    unknown.close()
    anonymous = obs_client(lab, client.signature, access_key="", secret_key="")
    answer = anonymous.getObject(bucket, "k")
    assert (answer.status, answer.errorCode) == (403, "AccessDenied")
    anonymous.close()


def test_unknown_sub_resources_never_touch_the_object(client: ObsClient, bucket: str) -> None:
    client.putContent(bucket, "k", b"precious")
    refused = [
        client.truncateFile(bucket, "k", 1),
        client.renameFile(bucket, "k", "other"),
        client.modifyFile(bucket, "k", 0, b"x"),
        client.getBucketInventory(bucket, "1"),
        client.getBucketCustomDomain(bucket),
    ]
    assert [one.status for one in refused] == [501] * len(refused)
    assert client.getObject(bucket, "k", loadStreamInMemory=True).body.buffer == b"precious"


def test_signed_links(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    client.putContent(bucket, "a b (c)", b"content")
    query = {"response-content-disposition": 'attachment; filename="é.txt"'}
    signed = client.createSignedUrl("GET", bucket, "a b (c)", expires=60, queryParams=query)
    with urllib.request.urlopen(signed.signedUrl) as answer:
        assert answer.read() == b"content"
        assert "attachment" in answer.headers["Content-Disposition"]


# --- a foreign client ------------------------------------------------------------------------------------------------


def test_boto3_round_trip(s3: Any) -> None:
    name = f"boto-{s3.meta.config.signature_version}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "lab"})
    for key in ODD_KEYS:
        if "\x01" in key:  # boto3 writes it into the document of a batch delete as it is, which no parser takes
            continue
        s3.put_object(Bucket=name, Key=key, Body=key.encode(), Metadata={"a": "b"}, ContentType="text/x")
        got = s3.get_object(Bucket=name, Key=key)
        assert got["Body"].read() == key.encode()
        assert got["Metadata"] == {"a": "b"}
        assert got["ContentType"] == "text/x"
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=name, PaginationConfig={"PageSize": 3}))
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    assert keys == sorted(keys, key=str.encode)
    assert pages[0]["KeyCount"] == 3
    assert len(pages) > 3
    folded = s3.list_objects_v2(Bucket=name, Delimiter="/", Prefix="dir", FetchOwner=True)
    assert [one["Prefix"] for one in folded["CommonPrefixes"]] == ["dir/"]
    assert s3.list_objects(Bucket=name, MaxKeys=2)["IsTruncated"]
    assert s3.list_objects_v2(Bucket=name, MaxKeys=0)["KeyCount"] == 0
    s3.copy_object(Bucket=name, Key="copy", CopySource={"Bucket": name, "Key": "ä-学习-🎓"})
    assert s3.get_object(Bucket=name, Key="copy")["Body"].read() == "ä-学习-🎓".encode()
    deleted = s3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": key} for key in [*keys, "copy"]]})
    assert len(deleted["Deleted"]) == len(keys) + 1
    assert name in [one["Name"] for one in s3.list_buckets()["Buckets"]]
    assert s3.get_bucket_location(Bucket=name)["LocationConstraint"] == "lab"
    s3.delete_bucket(Bucket=name)
    with pytest.raises(ClientError) as failed:
        s3.list_objects_v2(Bucket=name)
    assert failed.value.response["Error"]["Code"] == "NoSuchBucket"


def test_boto3_large_streams_presigned_and_conditions(s3: Any) -> None:
    name = f"more-{s3.meta.config.signature_version}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "lab"})
    content = os.urandom(2_500_000)
    s3.put_object(Bucket=name, Key="big", Body=io.BytesIO(content))
    assert s3.get_object(Bucket=name, Key="big")["Body"].read() == content
    part = s3.get_object(Bucket=name, Key="big", Range="bytes=100-199")
    assert part["Body"].read() == content[100:200]  # one that is not read to its end keeps its connection
    assert part["ContentRange"] == f"bytes 100-199/{len(content)}"
    for algorithm in ("SHA1", "SHA256", "CRC32"):
        s3.put_object(Bucket=name, Key="sum", Body=b"abc", ChecksumAlgorithm=algorithm)
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=name, Key="sum", Body=b"abc", ChecksumSHA256="x" * 43 + "=")
    assert failed.value.response["Error"]["Code"] == "BadDigest"
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=name, Key="sum", Body=b"new", IfNoneMatch="*")
    assert failed.value.response["Error"]["Code"] == "PreconditionFailed"
    url = s3.generate_presigned_url("get_object", Params={"Bucket": name, "Key": "big"}, ExpiresIn=60)
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == content
    put = s3.generate_presigned_url("put_object", Params={"Bucket": name, "Key": "by link"}, ExpiresIn=60)
    with urllib.request.urlopen(urllib.request.Request(put, data=b"hello", method="PUT", headers={"Content-Type": ""})):
        pass
    assert s3.get_object(Bucket=name, Key="by link")["Body"].read() == b"hello"
    s3.close()
