"""Conditions of reads, writes, completions and copies: every header, alone and together."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire

CONTENT = b"0123456789"
ETAG = hashlib.md5(CONTENT).hexdigest()
OLD = "Mon, 01 Jan 2024 00:00:00 GMT"
# In the future: such a date is ignored.
AHEAD = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/conditions", b"").status == 200
    assert wire.put("/conditions/k", CONTENT).status == 200
    return wire


def code(error: pytest.ExceptionInfo[ClientError]) -> tuple[int, str]:
    answer = error.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


READS = [
    ({"If-Match": f'"{ETAG}"'}, 200),
    ({"If-Match": ETAG}, 200),
    ({"If-Match": "*"}, 200),
    ({"If-Match": f'"x", "{ETAG}"'}, 200),
    ({"If-Match": '"x"'}, 412),
    ({"If-None-Match": f'"{ETAG}"'}, 304),
    ({"If-None-Match": f'W/"{ETAG}"'}, 304),
    ({"If-None-Match": "*"}, 304),
    ({"If-None-Match": '"x"'}, 200),
    ({"If-Modified-Since": OLD}, 200),
    ({"If-Modified-Since": "now"}, 304),
    ({"If-Modified-Since": AHEAD}, 200),
    ({"If-Modified-Since": "nonsense"}, 200),
    ({"If-Unmodified-Since": OLD}, 412),
    ({"If-Unmodified-Since": "now"}, 200),
    ({"If-Unmodified-Since": AHEAD}, 200),
    # The tag says more than the date.
    ({"If-Match": ETAG, "If-Unmodified-Since": OLD}, 200),
    ({"If-None-Match": '"x"', "If-Modified-Since": "now"}, 200),
    ({"If-None-Match": ETAG, "If-Modified-Since": OLD}, 304),
    ({"If-Match": '"x"', "If-None-Match": ETAG}, 412),
]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("given", "status"), READS)
def test_reads(wire: Wire, method: str, given: dict[str, str], status: int) -> None:
    modified = wire.ask("HEAD", "/conditions/k").headers["last-modified"]
    headers = {name: modified if value == "now" else value for name, value in given.items()}
    answer = wire.ask(method, "/conditions/k", headers)
    assert answer.status == status
    if status == 304:
        assert answer.headers["etag"] == f'"{ETAG}"'
    if status == 412 and method == "GET":
        assert answer.code == "PreconditionFailed"
        assert b"<Condition>" in answer.body
    if status == 412 and method == "HEAD":
        assert answer.headers["x-obs-error-code"] == "PreconditionFailed"


def test_a_condition_comes_before_the_range(wire: Wire) -> None:
    assert wire.ask("GET", "/conditions/k", {"Range": "bytes=0-1", "If-Match": '"x"'}).status == 412
    assert wire.ask("GET", "/conditions/k", {"Range": "bytes=0-1", "If-None-Match": ETAG}).status == 304
    part = wire.ask("GET", "/conditions/k", {"Range": "bytes=0-1", "If-Match": ETAG})
    assert (part.status, part.body, part.headers["etag"]) == (206, b"01", f'"{ETAG}"')
    assert part.headers["content-range"] == "bytes 0-1/10"
    beyond = wire.ask("GET", "/conditions/k", {"Range": "bytes=10-"})
    assert (beyond.status, beyond.code, beyond.headers["content-range"]) == (416, "InvalidRange", "bytes */10")
    head = wire.ask("HEAD", "/conditions/k", {"Range": "bytes=-3"})
    assert (head.status, head.headers["content-length"], head.headers["content-range"]) == (206, "3", "bytes 7-9/10")
    assert wire.ask("HEAD", "/conditions/k", {"Range": "bytes=99-"}).status == 416


def test_writes_that_must_not_replace(s3: Any, bucket: str) -> None:
    first = s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"x"'}, {"IfNoneMatch": first}):
        with pytest.raises(ClientError) as failed:
            s3.put_object(Bucket=bucket, Key="k", Body=b"2", **condition)
        assert code(failed) == (412, "PreconditionFailed")
    second = s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch=first)["ETag"]
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=bucket, Key="k", Body=b"3", IfMatch=first)
    assert code(failed) == (412, "PreconditionFailed")
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=bucket, Key="none", Body=b"3", IfMatch=second)
    assert code(failed) == (404, "NoSuchKey")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"2"


def test_completions_that_must_not_replace(s3: Any, bucket: str) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"part")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"there")["ETag"]
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"x"'}):
        with pytest.raises(ClientError) as failed:
            s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, MultipartUpload=parts, **condition)
        assert code(failed) == (412, "PreconditionFailed")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"there"
    s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, MultipartUpload=parts, IfMatch=etag)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"part"


COPIES = [
    ({"CopySourceIfMatch": ETAG}, 200),
    ({"CopySourceIfMatch": "x"}, 412),
    ({"CopySourceIfNoneMatch": ETAG}, 412),
    ({"CopySourceIfNoneMatch": "x"}, 200),
    ({"CopySourceIfModifiedSince": OLD}, 200),
    ({"CopySourceIfModifiedSince": "now"}, 412),
    ({"CopySourceIfUnmodifiedSince": OLD}, 412),
    ({"CopySourceIfUnmodifiedSince": "now"}, 200),
    ({"CopySourceIfMatch": ETAG, "CopySourceIfUnmodifiedSince": OLD}, 200),
    ({"CopySourceIfNoneMatch": ETAG, "CopySourceIfModifiedSince": OLD}, 412),
]


@pytest.mark.parametrize(("given", "status"), COPIES)
def test_copies(s3: Any, bucket: str, given: dict[str, str], status: int) -> None:
    s3.put_object(Bucket=bucket, Key="from", Body=CONTENT)
    modified = s3.head_object(Bucket=bucket, Key="from")["LastModified"]
    named = {name: modified if value == "now" else value for name, value in given.items()}
    upload = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
    source = {"CopySource": {"Bucket": bucket, "Key": "from"}, **named}
    whole = {"Bucket": bucket, "Key": "to", **source}
    part = {"Bucket": bucket, "Key": "parts", "UploadId": upload, "PartNumber": 1, **source}
    for call, arguments in ((s3.copy_object, whole), (s3.upload_part_copy, part)):
        if status == 200:
            call(**arguments)
        else:
            with pytest.raises(ClientError) as failed:
                call(**arguments)
            assert code(failed) == (412, "PreconditionFailed")
    s3.abort_multipart_upload(Bucket=bucket, Key="parts", UploadId=upload)


def test_copies_that_must_not_replace(wire: Wire) -> None:
    source = {"x-obs-copy-source": "/conditions/k", "Content-Length": "0"}
    wire.put("/conditions/there", b"there")
    for condition in ({"If-None-Match": "*"}, {"If-Match": '"x"'}):
        assert wire.ask("PUT", "/conditions/there", {**source, **condition}).code == "PreconditionFailed"
    forbidden = wire.ask("PUT", "/conditions/there", {**source, "x-obs-forbid-overwrite": "true"})
    assert (forbidden.status, forbidden.code) == (409, "ObjectAlreadyExists")
    assert wire.ask("GET", "/conditions/there").body == b"there"
    assert wire.ask("PUT", "/conditions/new", {**source, "If-None-Match": "*"}).status == 200


def test_a_copy_onto_itself_needs_a_change(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=CONTENT, Metadata={"a": "1"})
    itself = {"Bucket": bucket, "Key": "k", "CopySource": {"Bucket": bucket, "Key": "k"}}
    with pytest.raises(ClientError) as failed:
        s3.copy_object(**itself)
    assert code(failed) == (400, "InvalidRequest")
    s3.copy_object(**itself, MetadataDirective="REPLACE", Metadata={"b": "2"})
    assert s3.head_object(Bucket=bucket, Key="k")["Metadata"] == {"b": "2"}
    s3.copy_object(**itself, StorageClass="STANDARD_IA")
    head = s3.head_object(Bucket=bucket, Key="k")
    assert (head["Metadata"], head["StorageClass"]) == ({"b": "2"}, "STANDARD_IA")
    with pytest.raises(ClientError) as failed:
        s3.copy_object(**itself, MetadataDirective="SOMETHING")
    assert code(failed) == (400, "InvalidArgument")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == CONTENT


def test_ranges_of_copied_parts(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="from", Body=CONTENT)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="to")["UploadId"]
    part = {"Bucket": bucket, "Key": "to", "UploadId": upload, "PartNumber": 1, "CopySource": f"{bucket}/from"}
    for wrong in ("bytes=0-10", "bytes=5-2", "bytes=3-", "bytes=-3", "0-3", "bytes=a-b"):
        with pytest.raises(ClientError) as failed:
            s3.upload_part_copy(**part, CopySourceRange=wrong)
        assert code(failed) == (400, "InvalidArgument")
    etag = s3.upload_part_copy(**part, CopySourceRange="bytes=3-9")["CopyPartResult"]["ETag"]
    assert etag == f'"{hashlib.md5(CONTENT[3:]).hexdigest()}"'
    parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
    s3.complete_multipart_upload(Bucket=bucket, Key="to", UploadId=upload, MultipartUpload=parts)
    assert s3.get_object(Bucket=bucket, Key="to")["Body"].read() == CONTENT[3:]
