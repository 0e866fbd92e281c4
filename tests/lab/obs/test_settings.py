"""Settings of buckets, tags, quota, forms, CORS and signed links as clients see them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError
from obs import (
    AbortIncompleteMultipartUpload,
    CorsRule,
    CreateBucketHeader,
    DateTime,
    Expiration,
    IndexDocument,
    Lifecycle,
    Logging,
    Notification,
    ObsClient,
    PutObjectHeader,
    Rule,
    TagInfo,
    WebsiteConfiguration,
)

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import s3_client
from support.waiting import PATIENT_S
from traindeck.lab.signing.v4 import signing_key


def ask(
    url: str, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    """Without following redirects, and with errors as answers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENT_S)
    try:
        connection.request(method, url.removeprefix(f"http://{parts.netloc}"), body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


# --- documents of a bucket -------------------------------------------------------------------------------------------


def test_lifecycle(client: ObsClient, bucket: str) -> None:
    assert client.getBucketLifecycle(bucket).errorCode == "NoSuchLifecycleConfiguration"
    rules = [
        Rule(id="days", prefix="a/", status="Enabled", expiration=Expiration(days=3)),
        Rule(id="date", prefix="b/", status="Disabled", expiration=Expiration(date=DateTime(2031, 1, 1))),
        Rule(
            id="parts",
            prefix="",
            status="Enabled",
            abortIncompleteMultipartUpload=AbortIncompleteMultipartUpload(daysAfterInitiation=7),
        ),
    ]
    assert client.setBucketLifecycle(bucket, Lifecycle(rule=rules)).status == 200
    kept = client.getBucketLifecycle(bucket).body.lifecycleConfig.rule
    assert [(one.id, one.status) for one in kept] == [("days", "Enabled"), ("date", "Disabled"), ("parts", "Enabled")]
    assert kept[0].expiration.days == 3
    twice = client.setBucketLifecycle(bucket, Lifecycle(rule=[rules[0], rules[0]]))
    assert (twice.status, twice.errorCode) == (400, "InvalidArgument")
    assert client.deleteBucketLifecycle(bucket).status == 204
    assert client.getBucketLifecycle(bucket).status == 404


def test_cors_website_logging_notification(client: ObsClient, bucket: str) -> None:
    assert client.getBucketCors(bucket).errorCode == "NoSuchCORSConfiguration"
    rule = CorsRule(id="1", allowedMethod=["GET", "PUT"], allowedOrigin=["http://a.example"], maxAgeSecond=10)
    assert client.setBucketCors(bucket, [rule]).status == 200
    assert client.getBucketCors(bucket).body[0].allowedOrigin == ["http://a.example"]
    wrong = client.setBucketCors(bucket, [CorsRule(allowedMethod=["FETCH"], allowedOrigin=["*"])])
    assert (wrong.status, wrong.errorCode) == (400, "InvalidRequest")
    assert client.deleteBucketCors(bucket).status == 204
    assert client.getBucketWebsite(bucket).errorCode == "NoSuchWebsiteConfiguration"
    website = WebsiteConfiguration(indexDocument=IndexDocument(suffix="index.html"))
    assert client.setBucketWebsite(bucket, website).status == 200
    assert client.getBucketWebsite(bucket).body.indexDocument.suffix == "index.html"
    assert client.deleteBucketWebsite(bucket).status == 204
    assert client.getBucketLogging(bucket).status == 200
    wanted = Logging(targetBucket=bucket, targetPrefix="logs/", agency="a")
    assert client.setBucketLogging(bucket, wanted).status == 200
    assert client.getBucketLogging(bucket).body.targetPrefix == "logs/"
    assert client.setBucketNotification(bucket, Notification()).status == 200
    assert client.getBucketNotification(bucket).status == 200


def tags(**values: str) -> TagInfo:
    info = TagInfo()
    for key, value in values.items():
        info.addTag(key, value)
    return info


def test_tags(client: ObsClient, bucket: str) -> None:
    assert client.getBucketTagging(bucket).errorCode == "NoSuchTagSet"
    assert client.setBucketTagging(bucket, tags(key="值", b="")).status == 204
    first = client.getBucketTagging(bucket).body.tagSet[0]
    assert (first.key, first.value) == ("key", "值")
    many = tags(**{f"k{number}": "v" for number in range(21)})
    assert client.setBucketTagging(bucket, many).errorCode == "InvalidTagError"
    assert client.setBucketTagging(bucket, tags(**{"a,b": "v"})).errorCode == "InvalidTagError"
    assert client.deleteBucketTagging(bucket).status == 204
    client.putContent(bucket, "k", b"x")
    assert client.setObjectTagging(bucket, "k", {"a": "1"}).status in (200, 204)
    assert [(one.key, one.value) for one in client.getObjectTagging(bucket, "k").body.tags] == [("a", "1")]
    assert dict(client.getObjectMetadata(bucket, "k").header)["tagging-count"] == "1"
    assert client.deleteObjectTagging(bucket, "k").status == 204
    assert not client.getObjectTagging(bucket, "k").body.tags


def test_quota_and_storage_info(client: ObsClient, bucket: str) -> None:
    assert client.getBucketQuota(bucket).body.quota == 0
    assert client.setBucketQuota(bucket, 1000).status == 200
    assert client.getBucketQuota(bucket).body.quota == 1000
    assert client.putContent(bucket, "a", b"x" * 600).status == 200
    full = client.putContent(bucket, "b", b"x" * 600)
    assert (full.status, full.errorCode) == (403, "InsufficientStorageSpace")
    assert client.putContent(bucket, "a", b"x" * 900).status == 200
    info = client.getBucketStorageInfo(bucket).body
    assert (int(info.size), int(info.objectNumber)) == (900, 1)
    assert client.setBucketQuota(bucket, 0).status == 200
    assert client.putContent(bucket, "b", b"x" * 600).status == 200


def test_storage_class_encryption_and_location(client: ObsClient, bucket: str) -> None:
    assert client.getBucketStoragePolicy(bucket).body.storageClass == "STANDARD"
    assert client.setBucketStoragePolicy(bucket, "WARM").status == 200
    assert client.getBucketStoragePolicy(bucket).body.storageClass in ("WARM", "STANDARD_IA")
    client.putContent(bucket, "k", b"x")
    assert client.getObjectMetadata(bucket, "k").body.storageClass in ("WARM", "STANDARD_IA")
    assert client.getBucketEncryption(bucket).errorCode == "NoSuchEncryptionConfiguration"
    assert client.setBucketEncryption(bucket, "kms").status == 200
    assert client.getBucketEncryption(bucket).body.encryption in ("kms", "aws:kms")
    assert client.deleteBucketEncryption(bucket).status == 204
    assert client.getBucketLocation(bucket).body.location == "lab"
    assert client.getBucketMetadata(bucket).status == 200


def test_a_bucket_says_how_it_was_made(client: ObsClient, bucket: str) -> None:
    name = f"made-{bucket}"[:60]
    header = CreateBucketHeader(storageClass="WARM", availableZone="3az", aclControl="public-read")
    assert client.createBucket(name, header=header, location="lab").status == 200
    # Asked again with other attributes: the first ones stay.
    assert client.createBucket(name, header=CreateBucketHeader(storageClass="COLD")).status == 200
    head = client.getBucketMetadata(name)
    assert (head.body.location, head.body.obsVersion, head.body.availableZone) == ("lab", "3.0", "3az")
    assert head.body.storageClass in ("WARM", "STANDARD_IA")
    assert client.getBucketMetadata(bucket).body.availableZone is None
    assert len(client.getBucketAcl(name).body.grants) == 2
    elsewhere = client.createBucket(f"{name[:50]}-2", location="elsewhere")
    assert (elsewhere.status, elsewhere.errorCode) == (400, "InvalidLocationConstraint")
    assert client.deleteBucket(name).status == 204


def test_public_status_and_requester(s3: Any, bucket: str) -> None:
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "BucketOwner"
    s3.put_bucket_request_payment(Bucket=bucket, RequestPaymentConfiguration={"Payer": "Requester"})
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "Requester"
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    assert s3.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"]["IsPublic"]
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={"BlockPublicPolicy": True})
    assert s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]["BlockPublicPolicy"]
    with pytest.raises(ClientError) as failed:
        s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Statement": [statement]}))
    assert failed.value.response["Error"]["Code"] == "AccessDenied"
    s3.delete_public_access_block(Bucket=bucket)
    replication = {"Role": "r", "Rules": [{"Status": "Enabled", "Prefix": "", "Destination": {"Bucket": bucket}}]}
    s3.put_bucket_replication(Bucket=bucket, ReplicationConfiguration=replication)
    assert s3.get_bucket_replication(Bucket=bucket)["ReplicationConfiguration"]["Role"] == "r"
    with pytest.raises(ClientError) as failed:
        s3.get_bucket_accelerate_configuration(Bucket=bucket)
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501


def test_encrypted_objects_say_so(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ServerSideEncryption="AES256")
    assert s3.head_object(Bucket=bucket, Key="k")["ServerSideEncryption"] == "AES256"
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=bucket, Key="k", Body=b"x", StorageClass="SOMETHING")
    assert failed.value.response["Error"]["Code"] == "InvalidStorageClass"


# --- web pages -------------------------------------------------------------------------------------------------------

PAGE = "http://page.example"


def test_pages_come_in_by_the_rules_of_the_bucket(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    client.putContent(bucket, "k", b"x", headers=PutObjectHeader(acl="public-read"))
    url = f"{lab.obs}/{bucket}/k"
    question = {"Origin": PAGE, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "X-A, x-b"}
    assert ask(url, "OPTIONS", headers=question)[0] == 403
    status, body, _ = ask(url, headers={"Origin": PAGE})
    assert (status, b"foreign" in body) == (403, True)
    rule = CorsRule(
        allowedMethod=["GET"], allowedOrigin=["http://*.example"], allowedHeader=["x-*"],
        exposeHeader=["ETag"], maxAgeSecond=60,
    )  # fmt: skip
    assert client.setBucketCors(bucket, [rule]).status == 200
    status, _, headers = ask(url, "OPTIONS", headers=question)
    assert status == 200
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["access-control-allow-headers"] == "x-a, x-b"
    assert headers["access-control-max-age"] == "60"
    assert ask(url, "OPTIONS", headers={**question, "Access-Control-Request-Headers": "other"})[0] == 403
    assert ask(url, "OPTIONS", headers={**question, "Access-Control-Request-Method": "PUT"})[0] == 403
    status, body, headers = ask(url, headers={"Origin": PAGE})
    assert (status, body, headers["access-control-allow-origin"]) == (200, b"x", PAGE)
    assert headers["access-control-expose-headers"] == "ETag"
    assert ask(url, headers={"Origin": "http://other.test"})[0] == 403
    assert ask(lab.obs, headers={"Origin": PAGE})[0] == 403
    status, _, headers = ask(f"{lab.obs}/{bucket}/none", headers={"Origin": PAGE})
    assert (status, headers["access-control-allow-origin"]) == (403, PAGE)


# --- forms -----------------------------------------------------------------------------------------------------------


def form(fields: dict[str, str], content: bytes = b"content", name: str = "a.txt") -> tuple[bytes, dict[str, str]]:
    boundary = "7d3f"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: text/plain\r\n\r\n"
    )
    body = "".join(parts).encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def test_forms_signed_by_the_sdk(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    wanted = {"content-type": "text/x", "x-amz-meta-a" if client.signature != "obs" else "x-obs-meta-a": "1"}
    signed = client.createPostSignature(bucket, "dir/a.txt", expires=60, formParams=wanted)
    if client.signature == "v4":
        proof = {
            "x-amz-algorithm": signed["algorithm"],
            "x-amz-credential": signed["credential"],
            "x-amz-date": signed["date"],
            "x-amz-signature": signed["signature"],
        }
    else:
        name = "AccessKeyId" if client.signature == "obs" else "AWSAccessKeyId"
        proof = {name: signed.accessKeyId, "signature": signed.signature}
    fields = {"key": "dir/a.txt", **wanted, **proof, "policy": signed.policy}
    status, body, headers = ask(f"{lab.obs}/{bucket}", "POST", *form(fields))
    assert status == 204, body
    assert headers["etag"] == f'"{hashlib.md5(b"content").hexdigest()}"'
    head = client.getObjectMetadata(bucket, "dir/a.txt")
    assert (head.body.contentType, dict(head.header)["a"]) == ("text/x", "1")
    wrong = {**fields, "key": "other"}
    status, body, _ = ask(f"{lab.obs}/{bucket}", "POST", *form(wrong))
    assert (status, b"Policy Condition failed" in body) == (403, True)
    extra = {**fields, "x-obs-acl" if client.signature == "obs" else "x-amz-acl": "public-read"}
    assert b"Extra input fields" in ask(f"{lab.obs}/{bucket}", "POST", *form(extra))[1]
    name = "signature" if "signature" in fields else "x-amz-signature"
    status, body, _ = ask(f"{lab.obs}/{bucket}", "POST", *form({**fields, name: "AAAA"}))
    assert (status, b"SignatureDoesNotMatch" in body) == (403, True)


def own_policy(lab: LabProcess, bucket: str, *conditions: object, minutes: int = 5) -> dict[str, str]:
    expires = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    usual = [{"bucket": bucket}, ["starts-with", "$key", ""]]
    text = json.dumps({"expiration": expires, "conditions": [*usual, *conditions]})
    policy = base64.b64encode(text.encode()).decode()
    digest = hmac.new(lab.secret_key.encode(), policy.encode(), hashlib.sha1).digest()
    return {"policy": policy, "signature": base64.b64encode(digest).decode(), "AccessKeyId": lab.access_key}


def test_limits_answers_and_expiry_of_forms(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    url = f"{lab.obs}/{bucket}"
    limits = ["content-length-range", 5, 10]
    for content, status in ((b"1234", 400), (b"12345", 204), (b"x" * 11, 400)):
        proof = own_policy(lab, bucket, limits)
        assert ask(url, "POST", *form({"key": "k", **proof}, content))[0] == status
    expired = own_policy(lab, bucket, minutes=-1)
    assert b"Policy expired" in ask(url, "POST", *form({"key": "k", **expired}))[1]
    created = own_policy(lab, bucket, {"success_action_status": "201"})
    status, body, _ = ask(url, "POST", *form({"key": "a&b", "success_action_status": "201", **created}))
    assert status == 201
    assert b"<Key>a&amp;b</Key>" in body
    there = f"{PAGE}/done?x=1"
    sent = own_policy(lab, bucket, {"success_action_redirect": there})
    status, _, headers = ask(url, "POST", *form({"key": "k", "success_action_redirect": there, **sent}))
    assert status == 303
    assert headers["location"].startswith(f"{there}&bucket={bucket}&key=k&etag=")
    proof = own_policy(lab, bucket)
    token = f"{lab.access_key}:{proof['signature']}:{proof['policy']}"
    assert ask(url, "POST", *form({"key": "by token", "token": token}))[0] == 204
    assert client.getObjectMetadata(bucket, "by token").status == 200


def test_forms_without_a_signature(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    url = f"{lab.obs}/{bucket}"
    assert ask(url, "POST", *form({"key": "k"}))[0] == 403
    client.setBucketAcl(bucket, aclControl="public-read-write")
    assert ask(url, "POST", *form({"key": "k"}))[0] == 204
    assert ask(url, "POST", b"no form", {"Content-Type": "text/plain"})[0] == 412
    assert ask(url, "POST", b"no form", {"Content-Type": "multipart/form-data"})[0] == 400


def test_forms_of_boto3(lab: LabProcess, bucket: str) -> None:
    for signature in ("s3v4", "s3"):
        s3 = s3_client(lab, signature)
        signed = s3.generate_presigned_post(bucket, "up/${filename}", Conditions=[["content-length-range", 1, 100]])
        assert ask(f"{lab.obs}/{bucket}", "POST", *form(signed["fields"], name=signature))[0] == 204
        assert s3.get_object(Bucket=bucket, Key=f"up/{signature}")["Body"].read() == b"content"
        s3.close()


# --- signed links ----------------------------------------------------------------------------------------------------


def test_links_expire(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    client.putContent(bucket, "k", b"x")
    signed = client.createSignedUrl("GET", bucket, "k", expires=60)
    assert ask(signed.signedUrl)[:2] == (200, b"x")
    assert ask(signed.signedUrl, "PUT", b"y")[0] == 403
    if client.signature == "v4":
        now = datetime.now(UTC) - timedelta(seconds=70)
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/lab/s3/aws4_request"
        query = (
            f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={lab.access_key}%2F{scope.replace('/', '%2F')}"
            f"&X-Amz-Date={stamp}&X-Amz-Expires=60&X-Amz-SignedHeaders=host"
        )
        host = urlsplit(lab.obs).netloc
        canonical = f"GET\n/{bucket}/k\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = signing_key(lab.secret_key, stamp[:8], "lab")
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        old = f"{lab.obs}/{bucket}/k?{query}&X-Amz-Signature={signature}"
    else:
        expires = int(datetime.now(UTC).timestamp()) - 10
        name = "AccessKeyId" if client.signature == "obs" else "AWSAccessKeyId"
        digest = hmac.new(lab.secret_key.encode(), f"GET\n\n\n{expires}\n/{bucket}/k".encode(), hashlib.sha1).digest()
        signature = base64.b64encode(digest).decode().replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        old = f"{lab.obs}/{bucket}/k?{name}={lab.access_key}&Expires={expires}&Signature={signature}"
    status, body, _ = ask(old)
    assert status == 403
    assert re.search(rb"<Message>Request has expired.</Message>", body), body


def test_links_for_every_operation(lab: LabProcess, client: ObsClient, bucket: str) -> None:
    put = client.createSignedUrl("PUT", bucket, "k ä(1)", expires=60)
    assert ask(put.signedUrl, "PUT", b"content", put.actualSignedRequestHeaders)[0] == 200
    listing = client.createSignedUrl("GET", bucket, expires=60, queryParams={"prefix": "k"})
    assert b"<Key>k \xc3\xa4(1)</Key>" in ask(listing.signedUrl, headers=listing.actualSignedRequestHeaders)[1]
    acl = client.createSignedUrl("GET", bucket, "k ä(1)", specialParam="acl", expires=60)
    assert b"AccessControlPolicy" in ask(acl.signedUrl, headers=acl.actualSignedRequestHeaders)[1]
    gone = client.createSignedUrl("DELETE", bucket, "k ä(1)", expires=60)
    assert ask(gone.signedUrl, "DELETE", headers=gone.actualSignedRequestHeaders)[0] == 204
    assert client.getObjectMetadata(bucket, "k ä(1)").status == 404
