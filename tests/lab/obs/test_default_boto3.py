"""What boto3 sends and compares today without being asked: checksums of objects and uploads, and conditions."""

from __future__ import annotations

import base64
import io
import os
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from support.stores.lab_clients import s3_client
from traindeck.lab.accounts import LabAccount
from traindeck.lab.obs.checksums import ALGORITHMS
from traindeck.lab.obs.uploads import MIN_PART

PART = 5 << 20
IN_PARTS = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART)
PIECES = [os.urandom(MIN_PART), b"end"]
WHOLE = b"".join(PIECES)
FULL = ["CRC32", "CRC32C", "CRC64NVME"]


def checksum(algorithm: str, data: bytes) -> str:
    digest = ALGORITHMS[algorithm.lower()]()
    digest.update(data)
    return base64.b64encode(digest.digest()).decode()


def crc32(data: bytes) -> str:
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def refused(error: pytest.ExceptionInfo[ClientError]) -> tuple[int, str]:
    answer = error.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def begun(s3: Any, bucket: str, **more: Any) -> str:
    upload: str = s3.create_multipart_upload(Bucket=bucket, Key="k", **more)["UploadId"]
    return upload


def sent(s3: Any, bucket: str, upload: str, algorithm: str = "") -> list[dict[str, Any]]:
    """The parts, with their checksums where an algorithm is named."""
    name, parts = f"Checksum{algorithm}", []
    for number, piece in enumerate(PIECES, 1):
        given = {name: checksum(algorithm, piece)} if algorithm else {}
        answer = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=piece, **given)
        parts.append({"PartNumber": number, "ETag": answer["ETag"], **given})
    return parts


def completed(s3: Any, bucket: str, upload: str, parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    done: dict[str, Any] = s3.complete_multipart_upload(
        Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": parts}, **more
    )
    return done


# --- conditions of reads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", ["get_object", "head_object"])
def test_what_is_not_modified_carries_no_checksum(s3: Any, bucket: str, read: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"content")["ETag"]
    stored = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert stored["ChecksumCRC32"] == crc32(b"content")
    call = getattr(s3, read)
    for condition, status in (
        ({"IfNoneMatch": etag}, 304),
        ({"IfNoneMatch": "*"}, 304),
        ({"IfModifiedSince": stored["LastModified"]}, 304),
        ({"IfMatch": '"other"'}, 412),
        ({"IfUnmodifiedSince": stored["LastModified"] - timedelta(days=1)}, 412),
    ):
        with pytest.raises(ClientError) as failed:
            call(Bucket=bucket, Key="k", ChecksumMode="ENABLED", **condition)
        answer = failed.value.response["ResponseMetadata"]
        assert answer["HTTPStatusCode"] == status
        assert not [name for name in answer["HTTPHeaders"] if name.startswith("x-amz-checksum-")]
    with pytest.raises(ClientError) as failed:
        call(Bucket=bucket, Key="k", Range="bytes=99-")
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 416


# --- checksums of whole objects at the end of an upload --------------------------------------------------------------


@pytest.mark.parametrize("algorithm", FULL)
def test_a_checksum_of_the_whole_is_compared_at_completion(s3: Any, bucket: str, algorithm: str) -> None:
    name, value = f"Checksum{algorithm}", checksum(algorithm, WHOLE)
    upload = begun(s3, bucket, ChecksumAlgorithm=algorithm, ChecksumType="FULL_OBJECT")
    parts = sent(s3, bucket, upload, algorithm)
    with pytest.raises(ClientError) as failed:
        completed(s3, bucket, upload, parts, **{name: checksum(algorithm, b"other")})
    assert refused(failed) == (400, "BadDigest")
    with pytest.raises(ClientError) as failed:
        completed(s3, bucket, upload, parts, ChecksumType="COMPOSITE")
    assert refused(failed) == (400, "BadDigest")
    done = completed(s3, bucket, upload, parts, **{name: value}, ChecksumType="FULL_OBJECT")
    assert (done[name], done["ChecksumType"]) == (value, "FULL_OBJECT")
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (head[name], head["ChecksumType"]) == (value, "FULL_OBJECT")
    got = s3.get_object(Bucket=bucket, Key="k")
    assert (got["Body"].read(), got[name], got["ChecksumType"]) == (WHOLE, value, "FULL_OBJECT")


def test_the_whole_is_known_without_the_clients_word(s3: Any, bucket: str) -> None:
    """The parts had other checksums, one came as a copy, and nobody tells that of the whole."""
    s3.put_object(Bucket=bucket, Key="source", Body=PIECES[0])
    upload = begun(s3, bucket, ChecksumAlgorithm="CRC32C", ChecksumType="FULL_OBJECT")
    copied = s3.upload_part_copy(
        Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, CopySource={"Bucket": bucket, "Key": "source"}
    )
    last = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=2, Body=PIECES[1])
    etags = (copied["CopyPartResult"]["ETag"], last["ETag"])
    done = completed(s3, bucket, upload, [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, 1)])
    assert done["ChecksumCRC32C"] == checksum("CRC32C", WHOLE)


def test_a_composite_checksum_is_one_of_checksums(s3: Any, bucket: str) -> None:
    joined = crc32(b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in PIECES))
    upload = begun(s3, bucket, ChecksumAlgorithm="CRC32")
    parts = sent(s3, bucket, upload)
    for wrong in (crc32(WHOLE), f"{joined}-3"):
        with pytest.raises(ClientError) as failed:
            completed(s3, bucket, upload, parts, ChecksumCRC32=wrong)
        assert refused(failed) == (400, "BadDigest")
    done = completed(s3, bucket, upload, parts, ChecksumCRC32=joined)
    assert (done["ChecksumCRC32"], done["ChecksumType"]) == (f"{joined}-2", "COMPOSITE")
    got = s3.get_object(Bucket=bucket, Key="k")
    assert (got["Body"].read(), got["ChecksumCRC32"]) == (WHOLE, f"{joined}-2")
    assert got["ChecksumType"] == "COMPOSITE"


def test_what_was_not_announced_is_compared_all_the_same(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket)
    parts = sent(s3, bucket, upload)
    for wrong in (
        {"ChecksumCRC32C": checksum("CRC32C", b"other")},
        {"MpuObjectSize": len(WHOLE) + 1},
        {"ChecksumSHA256": checksum("SHA256", WHOLE)},
        {"ChecksumType": "COMPOSITE"},
    ):
        with pytest.raises(ClientError) as failed:
            completed(s3, bucket, upload, parts, **wrong)
        assert refused(failed)[0] == 400
    with pytest.raises(ClientError) as failed:
        completed(s3, bucket, upload, [{**parts[0], "ChecksumSHA1": checksum("SHA1", b"other")}, parts[1]])
    assert refused(failed) == (400, "InvalidPart")
    named = [{**parts[0], "ChecksumSHA1": checksum("SHA1", PIECES[0])}, parts[1]]
    value = checksum("CRC32C", WHOLE)
    done = completed(s3, bucket, upload, named, ChecksumCRC32C=value, MpuObjectSize=len(WHOLE))
    assert done["ChecksumCRC32C"] == value
    assert s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")["ChecksumType"] == "FULL_OBJECT"


@pytest.mark.parametrize(
    "asked",
    [
        {"ChecksumAlgorithm": "SHA256", "ChecksumType": "FULL_OBJECT"},
        {"ChecksumAlgorithm": "CRC64NVME", "ChecksumType": "COMPOSITE"},
        {"ChecksumType": "FULL_OBJECT"},
        {"ChecksumAlgorithm": "CRC32", "ChecksumType": "SOMETHING"},
    ],
)
def test_types_that_an_algorithm_does_not_have(s3: Any, bucket: str, asked: dict[str, str]) -> None:
    with pytest.raises(ClientError) as failed:
        begun(s3, bucket, **asked)
    assert refused(failed)[0] == 400


@pytest.mark.parametrize("given", [{}, {"ChecksumAlgorithm": "CRC32"}, {"ChecksumCRC32": ""}])
def test_uploads_of_the_transfer_manager(s3: Any, bucket: str, given: dict[str, str]) -> None:
    content = os.urandom(PART + 1000)
    extra = {name: value or checksum(name.removeprefix("Checksum"), content) for name, value in given.items()}
    s3.upload_fileobj(io.BytesIO(content), bucket, "k", ExtraArgs=extra, Config=IN_PARTS)
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == content
    is_whole = any(not value for value in given.values())
    assert got["ChecksumType"] == ("FULL_OBJECT" if is_whole else "COMPOSITE")
    for name, value in extra.items():
        assert not is_whole or got[name] == value
    if is_whole:
        wrong = {name: checksum(name.removeprefix("Checksum"), b"other") for name in extra}
        with pytest.raises(Exception, match="BadDigest"):
            s3.upload_fileobj(io.BytesIO(content), bucket, "wrong", ExtraArgs=wrong, Config=IN_PARTS)
        assert [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["k"]


@pytest.mark.parametrize("algorithm", ["SHA512", "MD5"])
def test_newer_checksums_are_compared_too(s3: Any, bucket: str, algorithm: str) -> None:
    name = f"Checksum{algorithm}"
    s3.put_object(Bucket=bucket, Key="k", Body=b"content", **{name: checksum(algorithm, b"content")})
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=bucket, Key="k", Body=b"changed", **{name: checksum(algorithm, b"content")})
    assert refused(failed) == (400, "BadDigest")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"content"


def test_a_checksum_nobody_compares_is_refused(lab: LabProcess, s3: Any, bucket: str) -> None:
    wire = Wire(lab)
    for headers in (
        {"x-amz-checksum-xxhash64": "AAAAAAAAAAA="},
        {"x-amz-sdk-checksum-algorithm": "CRC32"},
        {"x-amz-trailer": "x-amz-checksum-xxhash64"},
        {"x-amz-trailer": "x-amz-checksum-crc32"},
    ):
        answer = wire.v4_put(f"/{bucket}/k", b"content", "UNSIGNED-PAYLOAD", headers)
        assert answer.status in (400, 501), (headers, answer.status)
    upload = begun(s3, bucket)
    target = f"/{bucket}/k?partNumber=1&uploadId={upload}"
    assert wire.v4_put(target, b"x", "UNSIGNED-PAYLOAD", {"x-amz-checksum-xxhash3": "AAAAAAAAAAA="}).status == 501
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


# --- conditions of deletions ---------------------------------------------------------------------------------------


def test_a_deletion_has_conditions(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"content")["ETag"]
    modified = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    earlier = modified - timedelta(days=1)
    for condition in ({"IfMatch": '"x"'}, {"IfMatchSize": 1}, {"IfMatchLastModifiedTime": earlier}):
        with pytest.raises(ClientError) as failed:
            s3.delete_object(Bucket=bucket, Key="k", **condition)
        assert refused(failed) == (412, "PreconditionFailed")
    with pytest.raises(ClientError) as failed:
        s3.delete_object(Bucket=bucket, Key="k", IfMatch=etag, IfMatchSize=1)
    assert refused(failed) == (412, "PreconditionFailed")
    s3.delete_object(Bucket=bucket, Key="k", IfMatch=etag, IfMatchSize=7, IfMatchLastModifiedTime=modified)
    for match in (etag, "*"):
        with pytest.raises(ClientError) as failed:
            s3.delete_object(Bucket=bucket, Key="k", IfMatch=match)
        assert refused(failed) == (404, "NoSuchKey")
    s3.delete_object(Bucket=bucket, Key="k", IfMatchSize=7)


def test_a_batch_has_conditions_for_each(s3: Any, bucket: str) -> None:
    etags = {key: s3.put_object(Bucket=bucket, Key=key, Body=key.encode())["ETag"] for key in "abcde"}
    modified = s3.head_object(Bucket=bucket, Key="e")["LastModified"]
    objects = [
        {"Key": "a", "ETag": etags["a"]},
        {"Key": "b", "ETag": etags["a"]},
        {"Key": "c", "Size": 2},
        {"Key": "d", "LastModifiedTime": datetime(2020, 1, 1, tzinfo=UTC)},
        {"Key": "e", "ETag": "*", "Size": 1, "LastModifiedTime": modified},
        {"Key": "none", "ETag": "*"},
    ]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert [one["Key"] for one in answer["Deleted"]] == ["a", "e"]
    told = {one["Key"]: one["Code"] for one in answer["Errors"]}
    assert told == {**dict.fromkeys("bcd", "PreconditionFailed"), "none": "NoSuchKey"}
    assert [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["b", "c", "d"]


def test_conditions_of_deletions_are_about_the_current_version(s3: Any, bucket: str) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    old = s3.put_object(Bucket=bucket, Key="k", Body=b"old")
    new = s3.put_object(Bucket=bucket, Key="k", Body=b"new")
    with pytest.raises(ClientError) as failed:
        s3.delete_object(Bucket=bucket, Key="k", IfMatch=old["ETag"])
    assert refused(failed) == (412, "PreconditionFailed")
    with pytest.raises(ClientError) as failed:
        s3.delete_object(Bucket=bucket, Key="k", IfMatch=old["ETag"], VersionId=old["VersionId"])
    assert refused(failed) == (501, "NotImplemented")
    assert s3.delete_object(Bucket=bucket, Key="k", IfMatch=new["ETag"])["DeleteMarker"]
    with pytest.raises(ClientError) as failed:
        s3.delete_object(Bucket=bucket, Key="k", IfMatch="*")
    assert refused(failed) == (404, "NoSuchKey")


def test_a_change_of_metadata_keeps_to_its_condition(lab: LabProcess, bucket: str) -> None:
    wire = Wire(lab)
    etag = wire.put(f"/{bucket}/k", b"kept", {"x-obs-meta-a": "1"}).headers["etag"]
    for condition, status in (('"x"', 412), (etag, 200)):
        changed = {"If-Match": condition, "Content-Length": "0", "x-obs-meta-a": "2"}
        assert wire.ask("PUT", f"/{bucket}/k?metadata", changed).status == status
        assert wire.ask("HEAD", f"/{bucket}/k").headers["x-obs-meta-a"] == ("1" if status == 412 else "2")


CONDITIONS = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since")
CALLS = [
    ("PUT", "?tagging"),
    ("PUT", "?acl"),
    ("DELETE", "?tagging"),
    ("POST", "?append&position=0"),
    ("POST", "?restore"),
    ("POST", "?uploads"),
]


@pytest.mark.parametrize(("method", "query"), CALLS)
def test_a_condition_that_nobody_looks_at_is_refused(lab: LabProcess, bucket: str, method: str, query: str) -> None:
    wire = Wire(lab)
    wire.put(f"/{bucket}/k", b"kept", {"x-obs-meta-a": "1"})
    for name in CONDITIONS:
        answer = wire.ask(method, f"/{bucket}/k{query}", {name: '"x"', "Content-Length": "0"})
        assert (answer.status, answer.code) == (501, "NotImplemented"), name
    for write in ("If-Modified-Since", "If-Unmodified-Since"):
        moment = "Mon, 01 Jan 2024 00:00:00 GMT"
        assert wire.put(f"/{bucket}/k", b"new", {write: moment}).status == 501
        assert wire.ask("DELETE", f"/{bucket}/k", {write: moment}).status == 501
    kept = wire.ask("GET", f"/{bucket}/k")
    assert (kept.body, kept.headers["x-obs-meta-a"]) == (b"kept", "1")


# --- whose a bucket is -----------------------------------------------------------------------------------------------


def test_the_owner_a_client_expects_is_looked_at(s3: Any, bucket: str, other: LabAccount) -> None:
    owner = s3.get_bucket_acl(Bucket=bucket)["Owner"]["ID"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ExpectedBucketOwner=owner)
    source = {"Bucket": bucket, "Key": "k"}
    calls: list[Callable[[], Any]] = [
        lambda: s3.put_object(Bucket=bucket, Key="k", Body=b"y", ExpectedBucketOwner=other.domain_id),
        lambda: s3.delete_object(Bucket=bucket, Key="k", ExpectedBucketOwner=other.domain_id),
        lambda: s3.list_objects_v2(Bucket=bucket, ExpectedBucketOwner=other.domain_id),
        lambda: s3.copy_object(Bucket=bucket, Key="copy", CopySource=source, ExpectedSourceBucketOwner=other.domain_id),
    ]
    for call in calls:
        with pytest.raises(ClientError) as failed:
            call()
        assert refused(failed) == (403, "AccessDenied")
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=source, ExpectedSourceBucketOwner=owner)
    assert s3.get_object(Bucket=bucket, Key="k", ExpectedBucketOwner=owner)["Body"].read() == b"x"


def test_uploads_are_listed_with_their_owner(lab: LabProcess, s3: Any, bucket: str, other: LabAccount) -> None:
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read-write")
    own = s3.get_bucket_acl(Bucket=bucket)["Owner"]["ID"]
    guest = s3_client(lab, access_key=other.access_key, secret_key=other.secret_key)
    uploads = {own: begun(s3, bucket), other.domain_id: begun(guest, bucket)}
    for asking in (s3, guest):
        listed = asking.list_multipart_uploads(Bucket=bucket)["Uploads"]
        found = {one["UploadId"]: (one["Owner"]["ID"], one["Initiator"]["ID"]) for one in listed}
        assert found == {upload: (whose, whose) for whose, upload in uploads.items()}
    parts = guest.list_parts(Bucket=bucket, Key="k", UploadId=uploads[other.domain_id])
    assert (parts["Owner"]["ID"], parts["Initiator"]["ID"]) == (other.domain_id, other.domain_id)
    guest.close()


def test_the_attributes_of_an_object_are_told_as_asked(s3: Any, bucket: str) -> None:
    everything = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]
    s3.put_object(Bucket=bucket, Key="small", Body=b"small", ChecksumAlgorithm="SHA256")
    told = s3.get_object_attributes(Bucket=bucket, Key="small", ObjectAttributes=everything)
    assert told["ETag"] == s3.head_object(Bucket=bucket, Key="small")["ETag"].strip('"')
    assert (told["ObjectSize"], told["StorageClass"], "ObjectParts" in told) == (5, "STANDARD", False)
    assert told["Checksum"] == {"ChecksumSHA256": checksum("SHA256", b"small"), "ChecksumType": "FULL_OBJECT"}
    assert told["LastModified"] == s3.head_object(Bucket=bucket, Key="small")["LastModified"]
    only = s3.get_object_attributes(Bucket=bucket, Key="small", ObjectAttributes=["ObjectSize"])
    assert set(only) - {"ResponseMetadata", "LastModified"} == {"ObjectSize"}

    at = {"Bucket": bucket, "Key": "large"}
    at |= {"UploadId": s3.create_multipart_upload(**at)["UploadId"]}
    tags = [s3.upload_part(**at, PartNumber=number, Body=piece)["ETag"] for number, piece in enumerate(PIECES, 1)]
    rows = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
    s3.complete_multipart_upload(**at, MultipartUpload={"Parts": rows})
    parts = s3.get_object_attributes(Bucket=bucket, Key="large", ObjectAttributes=everything, MaxParts=1)["ObjectParts"]
    assert (parts["TotalPartsCount"], parts["IsTruncated"], parts["NextPartNumberMarker"]) == (2, True, 1)
    more = {"MaxParts": 1, "PartNumberMarker": 1}
    rest = s3.get_object_attributes(Bucket=bucket, Key="large", ObjectAttributes=["ObjectParts"], **more)
    assert rest["ObjectParts"]["IsTruncated"] is False
    sizes = [part["Size"] for page in (parts, rest["ObjectParts"]) for part in page["Parts"]]
    assert sizes == list(map(len, PIECES))

    for wrong in ({"Key": "none", "ObjectAttributes": ["ETag"]}, {"Key": "small", "ObjectAttributes": ["Age"]}):
        with pytest.raises(ClientError) as refused:
            s3.get_object_attributes(Bucket=bucket, **wrong)
        code = refused.value.response["Error"]["Code"]
        assert code == ("NoSuchKey" if wrong["Key"] == "none" else "InvalidArgument")
