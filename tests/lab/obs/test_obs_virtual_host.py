"""Buckets as subdomains of localhost: the shape of the cloud's own addresses, through unmodified clients."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from obs import CompleteMultipartUploadRequest, CompletePart, ObsClient

from support.servers.lab_process import LabProcess

KEYS = ["plain", "a/", "a/b", "/leading", "//double", "x//y", "..", "a/../b", "blank +%25&ä", "line\nbreak", "k" * 1024]


@pytest.fixture(autouse=True)
def subdomains_of_localhost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names below localhost are this computer, as browsers and some resolvers have it, but not all."""
    usual = socket.getaddrinfo

    def resolved(host: Any, *arguments: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        is_ours = isinstance(name, str) and name.endswith("localhost")
        return usual("127.0.0.1" if is_ours else host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


def address(lab: LabProcess) -> str:
    return f"http://localhost:{urlsplit(lab.obs).port}"


# Without negotiation the client takes the signature it is told to; with it, the one the Lab offers.
@pytest.fixture(params=["negotiated", "obs", "v2", "v4"])
def sdk(lab: LabProcess, request: pytest.FixtureRequest) -> Iterator[ObsClient]:
    is_negotiated = request.param == "negotiated"
    client = ObsClient(
        access_key_id=lab.access_key,
        secret_access_key=lab.secret_key,
        server=address(lab),
        signature="obs" if is_negotiated else request.param,
        is_signature_negotiation=is_negotiated,
        region="lab",
        max_retry_count=0,
        long_conn_mode=True,
    )
    yield client
    client.close()


def test_the_sdk_by_subdomain(lab: LabProcess, sdk: ObsClient, request: pytest.FixtureRequest) -> None:
    bucket = f"host-{request.node.callspec.params['sdk']}"
    made = sdk.createBucket(bucket)
    assert made.status == 200, (made.errorCode, made.errorMessage)
    assert bucket in [one.name for one in sdk.listBuckets().body.buckets]
    for key in KEYS:
        put = sdk.putContent(bucket, key, key.encode(), metadata={"a": "学习"})
        assert put.status == 200, (key, put.errorCode)
        got = sdk.getObject(bucket, key, loadStreamInMemory=True)
        assert (got.body.buffer, dict(got.header)["a"]) == (key.encode(), "学习")
    listed = sdk.listObjects(bucket, encoding_type="url").body.contents
    assert [one.key for one in listed] == sorted(KEYS, key=str.encode)
    assert sdk.copyObject(bucket, "/leading", bucket, "copy").status == 200
    upload = sdk.initiateMultipartUpload(bucket, "parts").body.uploadId
    etag = sdk.uploadPart(bucket, "parts", 1, upload, b"part").body.etag
    parts = CompleteMultipartUploadRequest([CompletePart(1, etag)])
    assert sdk.completeMultipartUpload(bucket, "parts", upload, parts).status == 200
    assert sdk.setBucketAcl(bucket, aclControl="public-read").status == 200
    assert [one.permission for one in sdk.getBucketAcl(bucket).body.grants] == ["FULL_CONTROL", "READ"]
    for key in ("blank +%25&ä", "x//y"):
        link = sdk.createSignedUrl("GET", bucket, key, expires=60)
        assert urlsplit(link.signedUrl).hostname == f"{bucket}.localhost"
        with urllib.request.urlopen(link.signedUrl) as answer:
            assert answer.read() == key.encode()
    missing = sdk.getObject("host-none-such", "k")
    assert missing.status == 404
    for one in sdk.listObjects(bucket, encoding_type="url").body.contents:
        assert sdk.deleteObject(bucket, one.key).status == 204
    assert sdk.deleteBucket(bucket).status == 204


@pytest.mark.parametrize("signature", ["s3v4", "s3"])
def test_boto3_by_subdomain(lab: LabProcess, signature: str) -> None:
    s3 = boto3.client(
        "s3",
        endpoint_url=address(lab),
        aws_access_key_id=lab.access_key,
        aws_secret_access_key=lab.secret_key,
        region_name="lab",
        config=Config(signature_version=signature, s3={"addressing_style": "virtual"}, retries={"max_attempts": 0}),
    )
    bucket = f"boto-{signature}"
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "lab"})
    for key in KEYS:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
    listed = s3.list_objects_v2(Bucket=bucket)["Contents"]
    assert [one["Key"] for one in listed] == sorted(KEYS, key=str.encode)
    link = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a/b"}, ExpiresIn=60)
    assert urlsplit(link).hostname == f"{bucket}.localhost"
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"a/b"
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in KEYS]})
    s3.delete_bucket(Bucket=bucket)
    s3.close()
