"""Multipart uploads as the vendor's SDK and boto3 see them."""

from __future__ import annotations

import base64
import gc
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import (
    CompleteMultipartUploadRequest,
    CompletePart,
    ListMultipartUploadsRequest,
    ObsClient,
    PutObjectHeader,
)

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client, s3_client
from traindeck.lab.obs.checksums import ALGORITHMS

LEAST = 100 * 1024


def begin(client: ObsClient, bucket: str, key: str = "k", **more: Any) -> str:
    answer = client.initiateMultipartUpload(bucket, key, **more)
    assert answer.status == 200, (answer.errorCode, answer.errorMessage)
    assert len(answer.body.uploadId) == 32
    return str(answer.body.uploadId)


def part(client: ObsClient, bucket: str, upload: str, number: int, content: bytes, key: str = "k") -> CompletePart:
    answer = client.uploadPart(bucket, key, number, upload, content)
    assert answer.status == 200, (answer.errorCode, answer.errorMessage)
    assert answer.body.etag == f'"{hashlib.md5(content).hexdigest()}"'
    return CompletePart(number, answer.body.etag)


def complete(client: ObsClient, bucket: str, upload: str, parts: list[CompletePart], key: str = "k") -> Any:
    return client.completeMultipartUpload(bucket, key, upload, CompleteMultipartUploadRequest(parts))


def content_of(client: ObsClient, bucket: str, key: str = "k") -> bytes:
    answer = client.getObject(bucket, key, loadStreamInMemory=True)
    assert answer.status == 200
    return bytes(answer.body.buffer or b"")


def test_parts_in_any_order_and_once_more(client: ObsClient, bucket: str) -> None:
    pieces = [os.urandom(LEAST), os.urandom(LEAST + 1), b"end"]
    upload = begin(client, bucket, metadata={"name": "学习"}, contentType="text/x")
    last = part(client, bucket, upload, 10_000, pieces[2])
    second = part(client, bucket, upload, 7, pieces[1])
    part(client, bucket, upload, 2, b"x" * LEAST)
    first = part(client, bucket, upload, 2, pieces[0])
    part(client, bucket, upload, 9, b"never listed")
    assert client.getObjectMetadata(bucket, "k").status == 404
    done = complete(client, bucket, upload, [first, second, last])
    assert done.status == 200, (done.errorCode, done.errorMessage)
    digests = b"".join(hashlib.md5(piece).digest() for piece in pieces)
    assert done.body.etag == f'"{hashlib.md5(digests).hexdigest()}-3"'
    assert content_of(client, bucket) == b"".join(pieces)
    head = client.getObjectMetadata(bucket, "k")
    pairs = dict(head.header)
    assert pairs["uploadid"] == upload
    assert pairs["name"] == "学习"
    assert head.body.contentType == "text/x"
    assert complete(client, bucket, upload, [first]).errorCode == "NoSuchUpload"


def test_what_a_completion_is_refused_for(client: ObsClient, bucket: str) -> None:
    upload = begin(client, bucket)
    small = part(client, bucket, upload, 1, b"small")
    big = part(client, bucket, upload, 2, b"x" * LEAST)
    cases = {
        "InvalidPartOrder": [big, big],
        "EntityTooSmall": [small, big],
        "InvalidPart": [CompletePart(2, big.etag), CompletePart(3, big.etag)],
    }
    for code, parts in cases.items():
        answer = complete(client, bucket, upload, parts)
        assert (answer.status, answer.errorCode) == (400, code)
    wrong = complete(client, bucket, upload, [CompletePart(2, '"00000000000000000000000000000000"')])
    assert (wrong.status, wrong.errorCode) == (400, "InvalidPart")
    bare = complete(client, bucket, upload, [CompletePart(2, big.etag.strip('"'))])
    assert bare.status == 200


def test_unknown_and_aborted_uploads(client: ObsClient, bucket: str) -> None:
    upload = begin(client, bucket)
    part(client, bucket, upload, 1, b"x")
    refused = client.deleteBucket(bucket)
    assert (refused.status, refused.errorCode) == (409, "BucketNotEmpty")
    assert client.uploadPart(bucket, "other", 1, upload, b"x").errorCode == "NoSuchUpload"
    assert client.abortMultipartUpload(bucket, "k", upload).status == 204
    for answer in (
        client.abortMultipartUpload(bucket, "k", upload),
        client.uploadPart(bucket, "k", 1, upload, b"x"),
        client.listParts(bucket, "k", upload),
        complete(client, bucket, upload, [CompletePart(1, '"0"')]),
    ):
        assert (answer.status, answer.errorCode) == (404, "NoSuchUpload")
    assert client.uploadPart(bucket, "k", 10_001, begin(client, bucket), b"x").errorCode == "InvalidArgument"


def test_listing_parts_and_uploads_in_pages(client: ObsClient, bucket: str) -> None:
    upload = begin(client, bucket)
    for number in range(1, 6):
        part(client, bucket, upload, number, b"x" * number)
    first = client.listParts(bucket, "k", upload, maxParts=2)
    assert [one.partNumber for one in first.body.parts] == [1, 2]
    assert first.body.isTruncated
    rest = client.listParts(bucket, "k", upload, partNumberMarker=first.body.nextPartNumberMarker)
    assert [(one.partNumber, one.size) for one in rest.body.parts] == [(3, 3), (4, 4), (5, 5)]
    uploads = [upload, begin(client, bucket), begin(client, bucket, "a/1"), begin(client, bucket, "a/2")]
    found: list[str] = []
    markers: tuple[str | None, str | None] = (None, None)
    for _ in uploads:
        asked = ListMultipartUploadsRequest(max_uploads=1, key_marker=markers[0], upload_id_marker=markers[1])
        page = client.listMultipartUploads(bucket, asked)
        found += [one.uploadId for one in page.body.upload]
        markers = (page.body.nextKeyMarker, page.body.nextUploadIdMarker)
    assert not page.body.isTruncated
    assert sorted(found) == sorted(uploads)
    folded = client.listMultipartUploads(bucket, ListMultipartUploadsRequest(delimiter="/"))
    assert [one.prefix for one in folded.body.commonPrefixs] == ["a/"]
    assert {one.key for one in folded.body.upload} == {"k"}


def test_copied_parts(client: ObsClient, bucket: str) -> None:
    source = os.urandom(3 * LEAST)
    client.putContent(bucket, "from ä", source)
    upload = begin(client, bucket)
    first = client.copyPart(bucket, "k", 1, upload, f"{bucket}/from ä", copySourceRange=f"10-{LEAST + 20}")
    assert first.status == 200, (first.errorCode, first.errorMessage)
    second = client.copyPart(bucket, "k", 2, upload, f"{bucket}/from ä")
    parts = [CompletePart(1, first.body.etag), CompletePart(2, second.body.etag)]
    assert complete(client, bucket, upload, parts).status == 200
    assert content_of(client, bucket) == source[10 : LEAST + 21] + source
    upload = begin(client, bucket)
    beyond = client.copyPart(bucket, "k", 1, upload, f"{bucket}/from ä", copySourceRange=f"0-{len(source)}")
    assert (beyond.status, beyond.errorCode) == (400, "InvalidArgument")
    assert client.copyPart(bucket, "k", 1, upload, f"{bucket}/none").errorCode == "NoSuchKey"


# The SDK's own download leaves the sockets of its threads to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_the_sdks_own_upload_and_download(client: ObsClient, bucket: str, tmp_path: Path) -> None:
    content = os.urandom(450 * 1024 + 7)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(content)
    done = client.uploadFile(bucket, "k", str(source), partSize=LEAST, taskNum=4, enableCheckpoint=True)
    assert done.status == 200
    assert done.body.etag.endswith('-5"')
    assert client.downloadFile(bucket, "k", str(target), partSize=LEAST, taskNum=3).status == 200
    assert target.read_bytes() == content
    gc.collect()


def test_crc64_is_compared(client: ObsClient, bucket: str) -> None:
    put = client.putContent(bucket, "k", b"123456789", headers=PutObjectHeader(isAttachCrc64=True))
    assert put.status == 200
    assert dict(put.header)["checksum-crc64ecma"] == str(0x995DC9BBDF1939FA)
    name = "x-obs-checksum-crc64ecma" if client.signature == "obs" else "x-amz-checksum-crc64ecma"
    wrong = client.putContent(bucket, "k", b"other", extensionHeaders={name: "1"})
    assert (wrong.status, wrong.errorCode) == (400, "InvalidCRC64")
    upload = begin(client, bucket)
    first = part(client, bucket, upload, 1, b"12345")
    refused = client.completeMultipartUpload(
        bucket, "k", upload, CompleteMultipartUploadRequest([first]), extensionHeaders={name: "1"}
    )
    assert refused.status == 400
    assert content_of(client, bucket) == b"123456789"


def test_only_who_began_may_go_on(lab: LabProcess, bucket: str) -> None:
    owner = obs_client(lab)
    other = obs_client(lab, access_key="", secret_key="")
    assert owner.setBucketAcl(bucket, aclControl="public-read-write").status == 200
    upload = begin(owner, bucket)
    assert other.uploadPart(bucket, "k", 1, upload, b"x").errorCode == "AccessDenied"
    theirs = begin(other, bucket)
    assert other.uploadPart(bucket, "k", 1, theirs, b"x").status == 200
    assert owner.uploadPart(bucket, "k", 1, theirs, b"x").errorCode == "AccessDenied"
    assert owner.abortMultipartUpload(bucket, "k", theirs).status == 204
    owner.close()
    other.close()


def checksum(algorithm: str, data: bytes) -> str:
    digest = ALGORITHMS[algorithm]()
    digest.update(data)
    return base64.b64encode(digest.digest()).decode()


# --- boto3 -----------------------------------------------------------------------------------------------------------


def test_parts_out_of_order(s3: Any, bucket: str) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    parts = [
        {
            "PartNumber": n,
            "ETag": s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=n, Body=b"x")["ETag"],
        }
        for n in (2, 1)
    ]
    with pytest.raises(ClientError) as failed:
        s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": parts})
    assert failed.value.response["Error"]["Code"] == "InvalidPartOrder"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME"])
def test_checksums_of_parts_are_joined(s3: Any, bucket: str, algorithm: str) -> None:
    pieces = [os.urandom(LEAST), b"end"]
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k", ChecksumAlgorithm=algorithm)["UploadId"]
    parts = []
    for number, piece in enumerate(pieces, 1):
        name = f"Checksum{algorithm}"
        # Given by hand: boto3 alone cannot compute two of the five.
        given = {name: checksum(algorithm.lower(), piece)}
        answer = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=piece, **given)
        parts.append({"PartNumber": number, "ETag": answer["ETag"], name: answer[name]})
    wrong = [dict(parts[0]), {**parts[1], f"Checksum{algorithm}": parts[0][f"Checksum{algorithm}"]}]
    with pytest.raises(ClientError) as failed:
        s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": wrong})
    assert failed.value.response["Error"]["Code"] == "InvalidPart"
    done = s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": parts})
    is_whole = algorithm == "CRC64NVME"
    assert done["ChecksumType"] == ("FULL_OBJECT" if is_whole else "COMPOSITE")
    assert done[f"Checksum{algorithm}"].endswith("-2") != is_whole
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert got["Body"].read() == b"".join(pieces)


def test_boto3_transfers(lab: LabProcess, bucket: str, tmp_path: Path) -> None:
    from boto3.s3.transfer import TransferConfig

    s3 = s3_client(lab)
    content = os.urandom(17 * 1024 * 1024)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(content)
    config = TransferConfig(multipart_threshold=6 << 20, multipart_chunksize=6 << 20, max_concurrency=3)
    s3.upload_file(str(source), bucket, "big", Config=config, ExtraArgs={"Metadata": {"a": "1"}})
    head = s3.head_object(Bucket=bucket, Key="big")
    assert head["ETag"].endswith('-3"')
    assert head["Metadata"] == {"a": "1"}
    s3.download_file(bucket, "big", str(target), Config=config)
    assert target.read_bytes() == content
    s3.copy({"Bucket": bucket, "Key": "big"}, bucket, "copy", Config=config)
    assert s3.head_object(Bucket=bucket, Key="copy")["ContentLength"] == len(content)
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket)
    assert not [one for page in pages for one in page.get("Uploads", [])]
    s3.close()


def test_a_copied_part_says_of_which_version_it_is(s3: Any, bucket: str) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    versions = [s3.put_object(Bucket=bucket, Key="source", Body=body)["VersionId"] for body in (b"one", b"two")]
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    part = {"Bucket": bucket, "Key": "k", "UploadId": upload, "PartNumber": 1}
    source = {"Bucket": bucket, "Key": "source"}
    assert s3.upload_part_copy(**part, CopySource=source)["CopySourceVersionId"] == versions[1]
    first = s3.upload_part_copy(**part, CopySource={**source, "VersionId": versions[0]})
    assert first["CopySourceVersionId"] == versions[0]
