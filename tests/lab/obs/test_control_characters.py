"""Keys with characters that XML cannot carry: every answer stays a document that clients can read."""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import pytest
from botocore.exceptions import ClientError

from lab.obs.test_settings import ask, form, own_policy
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire

KEY = "a\x1bb\x00\x0c\ufffe\uffff\r\x7f<&"
TARGET = quote(KEY)


@pytest.fixture
def wire(lab: LabProcess) -> Wire:
    return Wire(lab)


def said(answer: Answer) -> dict[str, str]:
    """All texts of the document by the names of their elements; a document that is none fails here."""
    return {node.tag.rpartition("}")[2]: node.text or "" for node in ElementTree.fromstring(answer.body).iter()}


def test_listings_are_encoded_or_refused(wire: Wire, bucket: str) -> None:
    assert wire.put(f"/{bucket}/{TARGET}", b"x").status == 200
    assert wire.ask("GET", f"/{bucket}/{TARGET}").body == b"x"
    begun = wire.ask("POST", f"/{bucket}/{TARGET}?uploads", {"Content-Length": "0"})
    assert begun.status == 200
    for query, signed in (("", ""), ("list-type=2", ""), ("versions", "?versions"), ("uploads", "?uploads")):
        resource = f"/{bucket}{signed}"
        plain = wire.ask("GET", f"/{bucket}?{query}", resource=resource)
        assert (plain.status, said(plain)["Code"]) == (400, "InvalidArgument")
        assert "encoding-type=url" in said(plain)["Message"]
        encoded = said(wire.ask("GET", f"/{bucket}?{query}&encoding-type=url", resource=resource))
        assert (unquote(encoded["Key"]), encoded["EncodingType"]) == (KEY, "url")
    folded = wire.ask("GET", f"/{bucket}?delimiter=%1B", resource=f"/{bucket}")
    assert (folded.status, said(folded)["Code"]) == (400, "InvalidArgument")
    page = wire.ask("GET", f"/{bucket}?max-keys=1&prefix=b", resource=f"/{bucket}")
    assert page.status == 200


def test_answers_about_one_key_are_encoded(wire: Wire, bucket: str) -> None:
    begun = said(wire.ask("POST", f"/{bucket}/{TARGET}?uploads", {"Content-Length": "0"}))
    assert (unquote(begun["Key"]), begun["EncodingType"]) == (KEY, "url")
    upload = f"uploadId={begun['UploadId']}"
    part = wire.put(f"/{bucket}/{TARGET}?partNumber=1&{upload}", b"content")
    assert part.status == 200
    parts = said(wire.ask("GET", f"/{bucket}/{TARGET}?{upload}"))
    assert (unquote(parts["Key"]), parts["EncodingType"]) == (KEY, "url")
    listed = f"<Part><PartNumber>1</PartNumber><ETag>{part.headers['etag']}</ETag></Part>"
    body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
    done = wire.exchange(
        wire.head("POST", f"/{bucket}/{TARGET}?{upload}", {"Content-Length": str(len(body))}) + body, "POST"
    )
    assert (unquote(said(done)["Key"]), said(done)["EncodingType"]) == (KEY, "url")
    assert wire.ask("GET", f"/{bucket}/{TARGET}").body == b"content"
    missing = wire.ask("GET", f"/{bucket}/{TARGET}x")
    assert (missing.status, unquote(said(missing)["Key"])) == (404, KEY + "x")


def test_boto3_goes_all_the_way(s3: Any, bucket: str) -> None:
    keys = [f"k{chr(code)}" for code in (*range(1, 32), 0x7F, 0xFFFE, 0xFFFF)]
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    s3.upload_fileobj(io.BytesIO(bytes(9 << 20)), bucket, "large\x1b")
    for call in (s3.list_objects, s3.list_objects_v2):
        assert sorted(one["Key"] for one in call(Bucket=bucket)["Contents"]) == sorted([*keys, "large\x1b"])
    assert {one["Key"] for one in s3.list_object_versions(Bucket=bucket)["Versions"]} == {*keys, "large\x1b"}
    s3.copy_object(Bucket=bucket, Key="copy\x02", CopySource={"Bucket": bucket, "Key": keys[0]})
    assert s3.head_object(Bucket=bucket, Key="copy\x02")["ContentLength"] == 1
    with pytest.raises(ClientError) as failed:
        s3.get_object(Bucket=bucket, Key="none\x03")
    assert failed.value.response["Error"]["Code"] == "NoSuchKey"


def test_names_of_fields_become_no_headers_of_their_own(lab: LabProcess, wire: Wire, bucket: str) -> None:
    proof = own_policy(lab, bucket, ["starts-with", "$x-obs-meta-a\r\nset-cookie", ""])
    body, headers = form({"key": "k", **proof})
    named = b"Content-Disposition: form-data; name*=utf-8''x-obs-meta-a%0D%0ASet-Cookie\r\n\r\n1\r\n--7d3f\r\n"
    body = body.replace(b"--7d3f\r\n", b"--7d3f\r\n" + named, 1)
    status, said_of_it, _ = ask(f"{lab.obs}/{bucket}", "POST", body, headers)
    assert (status, b"<Code>InvalidArgument</Code>" in said_of_it) == (400, True), said_of_it
    assert wire.ask("HEAD", f"/{bucket}/k").status == 404


def test_keys_of_forms(lab: LabProcess, bucket: str) -> None:
    made = own_policy(lab, bucket, {"success_action_status": "201"})
    fields = {"key": "a\x1bb", "success_action_status": "201", **made}
    status, body, _ = ask(f"{lab.obs}/{bucket}", "POST", *form(fields))
    assert (status, ElementTree.fromstring(body).findtext("{*}Key")) == (201, "a%1Bb")
