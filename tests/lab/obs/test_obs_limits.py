"""Where the documented limits are: the last value taken, the first one refused, and values that mean nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import (
    ACL,
    DeleteObjectsRequest,
    Grant,
    Grantee,
    Object,
    ObsClient,
    Owner,
    Permission,
    PutObjectHeader,
)

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire
from support.stores.lab_clients import obs_client

ENDLESS = "9" * 5000
# A digit to Python, and none to anybody else.
FOREIGN_DIGIT = "²"


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/limits", b"").status == 200
    assert wire.put("/limits/k", b"0123456789").status == 200
    return wire


def document(wire: Wire, method: str, target: str, body: str | bytes) -> Answer:
    data = body.encode() if isinstance(body, str) else body
    digest = base64.b64encode(hashlib.md5(data).digest()).decode()
    return wire.exchange(wire.head(method, target, {"Content-Length": str(len(data)), "Content-MD5": digest}) + data)


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["k" * 1024, "学" * 341 + "a", "🎓" * 256, "a/" * 512])
def test_a_key_has_1024_bytes(client: ObsClient, s3: Any, bucket: str, key: str) -> None:
    assert len(key.encode()) == 1024
    assert client.putContent(bucket, key, b"content").status == 200
    assert client.copyObject(bucket, key, bucket, key[:-1] + "c").status == 200
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"content"
    too_long = key + "a"
    refused = [
        client.putContent(bucket, too_long, b"x"),
        client.copyObject(bucket, key, bucket, too_long),
        client.initiateMultipartUpload(bucket, too_long),
        client.getObject(bucket, too_long),
    ]
    assert [(one.status, one.errorCode) for one in refused] == [(400, "KeyTooLongError")] * len(refused)
    assert len(client.listObjects(bucket).body.contents) == 2


def test_keys_that_differ_by_case_or_continue_each_other(client: ObsClient, bucket: str) -> None:
    keys = ["Name", "name", "NAME", "nam", "name/", "name/below", "ＮＡＭＥ", "é", "e\u0301"]
    for key in keys:
        assert client.putContent(bucket, key, key.encode()).status == 200
    for key in keys:
        assert client.getObject(bucket, key, loadStreamInMemory=True).body.buffer == key.encode()
    assert client.deleteObject(bucket, "name").status == 204
    listed = [one.key for one in client.listObjects(bucket, encoding_type="url").body.contents]
    assert listed == sorted(set(keys) - {"name"}, key=str.encode)


# --- metadata --------------------------------------------------------------------------------------------------------


def test_metadata_has_8_kib_and_may_be_of_any_script(wire: Wire) -> None:
    fits = {"x-obs-meta-a": "v" * 4096, "x-obs-meta-b": "v" * 4094}
    assert wire.put("/limits/meta", b"x", fits).status == 200
    answer = wire.put("/limits/meta", b"x", {**fits, "x-obs-meta-c": ""})
    assert (answer.status, answer.code) == (400, "MetadataTooLarge")
    assert wire.put("/limits/meta", b"x", {"x-obs-meta-Name": "学习 ü"}).status == 200
    head = wire.ask("HEAD", "/limits/meta").headers
    # What comes back are the bytes that were sent.
    assert head["x-obs-meta-name"].encode("latin-1").decode("utf-8") == "学习 ü"


def test_all_standard_headers_are_kept(s3: Any, bucket: str) -> None:
    given = {
        "CacheControl": "no-store",
        "ContentDisposition": 'attachment; filename="a.txt"',
        "ContentEncoding": "gzip",
        "ContentLanguage": "zh-CN",
        "ContentType": "text/x",
    }
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", Expires="Wed, 01 Jan 2031 00:00:00 GMT", **given)
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "k"})
    for key in ("k", "copy"):
        head = s3.head_object(Bucket=bucket, Key=key)
        assert given.items() <= head.items()
        assert head["ExpiresString"] == "Wed, 01 Jan 2031 00:00:00 GMT"
    s3.put_object(Bucket=bucket, Key="plain", Body=b"x")
    assert s3.head_object(Bucket=bucket, Key="plain")["ContentType"] == "binary/octet-stream"


# --- batches, grants, quotas -----------------------------------------------------------------------------------------


def test_a_batch_deletes_a_thousand(client: ObsClient, bucket: str) -> None:
    keys = [f"k ä{number:04}" for number in range(1000)]
    for key in keys[::50]:
        client.putContent(bucket, key, b"")
    objects = [Object(key=key) for key in keys]
    loud = client.deleteObjects(bucket, DeleteObjectsRequest(quiet=False, objects=objects, encoding_type="url"))
    assert [one.key for one in loud.body.deleted] == keys
    assert client.listObjects(bucket).body.contents == []
    quiet = client.deleteObjects(bucket, DeleteObjectsRequest(quiet=True, objects=objects, encoding_type="url"))
    assert (quiet.status, quiet.body.deleted, quiet.body.error) == (200, [], [])
    client.putContent(bucket, "kept", b"")
    more = DeleteObjectsRequest(quiet=True, objects=[*objects, Object(key="kept")], encoding_type="url")
    assert client.deleteObjects(bucket, more).errorCode == "MalformedXML"
    assert client.getObjectMetadata(bucket, "kept").status == 200


def test_an_acl_has_a_hundred_grants(sdk: ObsClient, bucket: str) -> None:
    owner = sdk.getBucketAcl(bucket).body.owner.owner_id
    grants = [Grant(Grantee(grantee_id=owner), Permission.READ)] * 101
    assert sdk.setBucketAcl(bucket, acl=ACL(Owner(owner_id=owner), grants[:100])).status == 200
    assert len(sdk.getBucketAcl(bucket).body.grants) == 100
    refused = sdk.setBucketAcl(bucket, acl=ACL(Owner(owner_id=owner), grants))
    assert (refused.status, refused.errorCode) == (400, "MalformedACLError")


def test_a_quota_counts_parts_and_appended_pieces(sdk: ObsClient, bucket: str) -> None:
    assert sdk.setBucketQuota(bucket, 2**63 - 1).status == 200
    assert sdk.getBucketQuota(bucket).body.quota == 2**63 - 1
    assert sdk.setBucketQuota(bucket, 100).status == 200
    assert sdk.copyObject(bucket, "none", bucket, "x").status == 404
    assert sdk.putContent(bucket, "half", b"x" * 60).status == 200
    refused = [
        sdk.copyObject(bucket, "half", bucket, "other"),
        sdk.putContent(bucket, "other", b"x" * 41),
    ]
    assert [(one.status, one.errorCode) for one in refused] == [(403, "InsufficientStorageSpace")] * 2
    assert sdk.putContent(bucket, "other", b"x" * 40).status == 200
    assert [one.key for one in sdk.listObjects(bucket).body.contents] == ["half", "other"]


def test_an_account_has_a_hundred_buckets(tmp_path: Any) -> None:
    with LabProcess(tmp_path / "root") as lab:
        client = obs_client(lab)
        for number in range(100):
            assert client.createBucket(f"bucket-{number}").status == 200
        refused = client.createBucket("one-more")
        assert (refused.status, refused.errorCode) == (400, "TooManyBuckets")
        assert client.createBucket("bucket-7").status == 200
        assert len(client.listBuckets().body.buckets) == 100
        client.close()


def test_the_largest_single_body_is_5_gib(wire: Wire) -> None:
    for size, status in ((5 * 1024**3, 100), (5 * 1024**3 + 1, 400)):
        head = wire.head("PUT", "/limits/huge", {"Content-Length": str(size), "Expect": "100-continue"})
        answer = wire.begun(head)
        assert answer.status == status
        assert status == 100 or answer.code == "EntityTooLarge"


# --- values that mean nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "status", "size"),
    [
        (f"bytes={ENDLESS}-", 416, 0),
        (f"bytes=0-{ENDLESS}", 206, 10),
        (f"bytes=-{ENDLESS}", 206, 10),
        (f"bytes={FOREIGN_DIGIT}-3", 200, 10),
    ],
)
def test_ranges_without_end(wire: Wire, given: str, status: int, size: int) -> None:
    answer = wire.ask("GET", "/limits/k", {"Range": given})
    assert answer.status == status
    assert len(answer.body) == size or answer.code == "InvalidRange"


def test_numbers_that_are_none_are_refused(wire: Wire, sdk: ObsClient) -> None:
    upload = sdk.initiateMultipartUpload("limits", "parts").body.uploadId
    answers = [
        wire.put("/limits/new", b"", {"x-obs-expires": ENDLESS}),
        wire.put("/limits/new", b"", {"x-obs-expires": "0"}),
        wire.ask("PUT", f"/limits/parts?partNumber={ENDLESS}&uploadId={upload}", {"Content-Length": "0"}),
        wire.ask("PUT", f"/limits/parts?partNumber=0&uploadId={upload}", {"Content-Length": "0"}),
        wire.ask("GET", f"/limits?max-keys={ENDLESS}", resource="/limits"),
        wire.ask("GET", f"/limits?max-uploads={ENDLESS}&uploads", resource="/limits?uploads"),
        wire.ask("POST", f"/limits/log?append&position={ENDLESS}", {"Content-Length": "0"}),
    ]
    for value in (ENDLESS, FOREIGN_DIGIT, "-1", "1e3", "1.5"):
        rule = f"<ID>1</ID><Prefix/><Status>Enabled</Status><Expiration><Days>{value}</Days></Expiration>"
        part = f"<Part><PartNumber>{value}</PartNumber><ETag>1</ETag></Part>"
        cors = (
            f"<AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin><MaxAgeSeconds>{value}</MaxAgeSeconds>"
        )
        bodies = {
            ("PUT", "?quota"): f"<Quota><StorageQuota>{value}</StorageQuota></Quota>",
            ("POST", "/k?restore"): f"<RestoreRequest><Days>{value}</Days></RestoreRequest>",
            ("PUT", "?lifecycle"): f"<LifecycleConfiguration><Rule>{rule}</Rule></LifecycleConfiguration>",
            ("POST", f"/parts?uploadId={upload}"): f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>",
            ("PUT", "?cors"): f"<CORSConfiguration><CORSRule>{cors}</CORSRule></CORSConfiguration>",
        }
        answers += [document(wire, method, f"/limits{target}", body) for (method, target), body in bodies.items()]
    assert {(one.status, one.code) for one in answers} <= {(400, "InvalidArgument"), (400, "MalformedXML")}
    assert sdk.abortMultipartUpload("limits", "parts", upload).status == 204


def test_documents_without_end_are_refused(wire: Wire) -> None:
    deep = b"<BucketLoggingStatus>" + b"<a>" * 30000 + b"</a>" * 30000 + b"</BucketLoggingStatus>"
    assert document(wire, "PUT", "/limits?logging", deep).code == "MalformedXML"
    assert document(wire, "PUT", "/limits?policy", b"[" * 9000 + b"]" * 9000).code == "MalformedPolicy"
    odd = {"Effect": "Allow", "Principal": {"ID": [{}]}, "Action": "*", "Resource": "limits"}
    assert document(wire, "PUT", "/limits?policy", json.dumps({"Statement": [odd]})).code == "MalformedPolicy"


def test_stored_rules_cannot_add_headers_to_answers(wire: Wire) -> None:
    rule = "<AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin><ExposeHeader>a&#13;\nX: y</ExposeHeader>"
    body = f"<CORSConfiguration><CORSRule>{rule}</CORSRule></CORSConfiguration>"
    assert document(wire, "PUT", "/limits?cors", body).code == "InvalidRequest"


def test_a_lifecycle_has_20_kb(wire: Wire) -> None:
    rule = "<Rule><Prefix>{}</Prefix><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>"
    for size, status in ((19_000, 200), (21_000, 400)):
        body = f"<LifecycleConfiguration>{rule.format('p' * size)}</LifecycleConfiguration>"
        assert document(wire, "PUT", "/limits?lifecycle", body).status == status


def test_tags_of_objects_are_ten_and_short(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"", Tagging="a=1&b=%E5%80%BC")
    tags = s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"]
    assert tags == [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "值"}]
    s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")
    assert s3.get_object_tagging(Bucket=bucket, Key="c")["TagSet"] == tags
    many = "&".join(f"k{number}=v" for number in range(11))
    for wrong in (many, f"{'k' * 129}=v", f"k={'v' * 257}"):
        with pytest.raises(ClientError) as failed:
            s3.put_object(Bucket=bucket, Key="k", Body=b"", Tagging=wrong)
        assert failed.value.response["Error"]["Code"] == "InvalidTagError"


def test_an_object_of_days_says_when_it_ends(sdk: ObsClient, bucket: str) -> None:
    assert sdk.putContent(bucket, "k", b"", headers=PutObjectHeader(expires=3)).status == 200
    assert "expiry-date" in dict(sdk.getObjectMetadata(bucket, "k").header)["expiration"]
