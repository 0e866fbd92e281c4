"""Sharing: the policies of the console's templates and grants in headers, asked by the owner, a guest and nobody."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from obs import (
    CopyObjectHeader,
    DeleteObjectsRequest,
    Object,
    ObsClient,
    PutObjectHeader,
    Versions,
)

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from traindeck.lab.accounts import LabAccount

OLDER_READ = ["GetObject", "GetObjectVersion", "HeadBucket", "ListBucket"]
CURRENT_READ_WRITE = [
    *("ListBucket", "ListBucketVersions", "GetBucketLocation", "PutObject", "GetObject", "GetObjectVersion"),
    *("ModifyObjectMetaData", "ListBucketMultipartUploads", "ListMultipartUploadParts", "AbortMultipartUpload"),
    *("RestoreObject", "PutObjectAcl", "GetObjectAcl", "GetObjectVersionAcl"),
]
TEMPLATES: dict[str, dict[str, Any]] = {
    "older public read": {"Action": OLDER_READ},
    "older public read and write": {"Action": [*OLDER_READ, "PutObject", "DeleteObject", "DeleteObjectVersion"]},
    "public read": {"Action": ["GetObject", "GetObjectVersion", "GetBucketLocation", "RestoreObject"]},
    "public read and write": {"Action": CURRENT_READ_WRITE},
    "bucket read-only": {"Action": ["Get*", "List*"]},
    "bucket read and write": {"NotAction": ["DeleteBucket", "PutBucketPolicy", "PutBucketAcl"]},
    "one folder": {"Action": ["GetObject", "ListBucket"], "Resource": ["{bucket}", "{bucket}/open*"]},
}
CALLS: dict[str, Callable[[ObsClient, str], Any]] = {
    "get": lambda client, bucket: client.getObject(bucket, "open", loadStreamInMemory=True),
    "head": lambda client, bucket: client.getObjectMetadata(bucket, "open"),
    "get other": lambda client, bucket: client.getObject(bucket, "closed", loadStreamInMemory=True),
    "head bucket": lambda client, bucket: client.headBucket(bucket),
    "list": lambda client, bucket: client.listObjects(bucket),
    "list versions": lambda client, bucket: client.listVersions(bucket, Versions()),
    "location": lambda client, bucket: client.getBucketLocation(bucket),
    "put": lambda client, bucket: client.putContent(bucket, "new", b"x"),
    "metadata": lambda client, bucket: client.setObjectMetadata(bucket, "open", metadata={"a": "1"}),
    "acl": lambda client, bucket: client.getObjectAcl(bucket, "open"),
    "uploads": lambda client, bucket: client.listMultipartUploads(bucket),
    "delete": lambda client, bucket: client.deleteObject(bucket, "new"),
    "bucket acl": lambda client, bucket: client.setBucketAcl(bucket, aclControl="private"),
    "bucket policy": lambda client, bucket: client.getBucketPolicy(bucket),
    "put policy": lambda client, bucket: client.setBucketPolicy(bucket, "{}"),
    "quota": lambda client, bucket: client.getBucketQuota(bucket),
    "delete bucket": lambda client, bucket: client.deleteBucket(bucket),
}
READS = {"get", "head", "get other"}
ALLOWED = {
    "older public read": READS | {"head bucket", "list"},
    "older public read and write": READS | {"head bucket", "list", "put", "delete"},
    "public read": READS | {"location"},
    "public read and write": READS | {"list", "list versions", "location", "put", "metadata", "acl", "uploads"},
    "bucket read-only": READS | {"list", "list versions", "location", "acl", "uploads", "bucket policy", "quota"},
    "bucket read and write": set(CALLS) - {"bucket acl", "put policy", "delete bucket"},
    "one folder": {"get", "head", "list"},
}


@pytest.fixture
def owner(lab: LabProcess) -> Iterator[ObsClient]:
    with closing(obs_client(lab)) as client:
        yield client


@pytest.fixture
def guest(lab: LabProcess, other: LabAccount) -> Iterator[ObsClient]:
    with closing(obs_client(lab, access_key=other.access_key, secret_key=other.secret_key)) as client:
        yield client


@pytest.fixture
def nobody(lab: LabProcess) -> Iterator[ObsClient]:
    with closing(obs_client(lab, access_key="", secret_key="")) as client:
        yield client


def allowed(client: ObsClient, bucket: str) -> set[str]:
    found = set()
    for name, call in CALLS.items():
        answer = call(client, bucket)
        assert answer.status < 300 or answer.status in (403, 400), (name, answer.status, answer.errorCode)
        if answer.status != 403:
            found.add(name)
    return found


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("who", ["everybody", "one account"])
def test_templates_of_the_console(
    owner: ObsClient, guest: ObsClient, nobody: ObsClient, other: LabAccount, bucket: str, template: str, who: str
) -> None:
    for key in ("open", "closed"):
        owner.putContent(bucket, key, b"x")
    principal = "*" if who == "everybody" else f"domain/{other.domain_id}:user/*"
    statement = {
        "Sid": "1",
        "Effect": "Allow",
        "Principal": {"ID": [principal]},
        "Resource": ["{bucket}", "{bucket}/*"],
    }
    text = json.dumps({"Statement": [{**statement, **TEMPLATES[template]}]}).replace("{bucket}", bucket)
    assert owner.setBucketPolicy(bucket, text).status == 204
    assert allowed(guest, bucket) == ALLOWED[template]
    assert allowed(nobody, bucket) == (ALLOWED[template] if who == "everybody" else set())
    assert owner.getBucketPolicy(bucket).status == 200
    assert owner.deleteBucketPolicy(bucket).status == 204
    assert allowed(guest, bucket) == set()


def test_what_is_not_meant(
    owner: ObsClient, guest: ObsClient, nobody: ObsClient, other: LabAccount, bucket: str
) -> None:
    owner.putContent(bucket, "open", b"x")
    owner.putContent(bucket, "closed", b"x")
    statements = [
        {"Effect": "Allow", "Principal": "*", "Action": "GetObject", "NotResource": f"{bucket}/closed"},
        {
            "Effect": "Deny",
            "NotPrincipal": {"ID": [f"domain/{other.domain_id}:*"]},
            "Action": "*",
            "Resource": f"{bucket}/*",
        },
    ]
    assert owner.setBucketPolicy(bucket, json.dumps({"Statement": statements})).status == 204
    assert allowed(guest, bucket) == {"get", "head"}
    assert allowed(nobody, bucket) == set()
    assert owner.getObject(bucket, "open").status == 403
    assert owner.deleteBucketPolicy(bucket).status == 204
    assert owner.getObject(bucket, "open", loadStreamInMemory=True).status == 200


def test_grants_in_headers(owner: ObsClient, guest: ObsClient, nobody: ObsClient, other: LabAccount) -> None:
    header = {"x-obs-grant-read": f"id={other.domain_id}"}
    bucket = "granted-by-header"
    assert owner.createBucket(bucket, extensionHeaders=header).status == 200
    assert owner.putContent(bucket, "k", b"x", extensionHeaders=header).status == 200
    assert owner.putContent(bucket, "own", b"x").status == 200
    assert [one.key for one in guest.listObjects(bucket).body.contents] == ["k", "own"]
    assert guest.getObject(bucket, "k", loadStreamInMemory=True).body.buffer == b"x"
    assert guest.getObject(bucket, "own").status == 403
    assert nobody.getObject(bucket, "k").status == 403
    assert guest.getObjectAcl(bucket, "k").status == 403
    full = {"x-obs-grant-full-control": f"id={other.domain_id}"}
    assert owner.putContent(bucket, "k", b"x", extensionHeaders=full).status == 200
    assert guest.setObjectAcl(bucket, "k", aclControl="public-read").status == 200
    assert nobody.getObject(bucket, "k", loadStreamInMemory=True).status == 200
    wrong = owner.putContent(bucket, "k", b"x", extensionHeaders={"x-obs-grant-read": "nonsense"})
    assert (wrong.status, wrong.errorCode) == (400, "InvalidArgument")


def test_copies_between_accounts(owner: ObsClient, guest: ObsClient, nobody: ObsClient, bucket: str) -> None:
    assert guest.createBucket(f"g-{bucket}"[:60]).status == 200
    theirs = f"g-{bucket}"[:60]
    owner.putContent(bucket, "k", b"content", metadata={"a": "1"}, headers=PutObjectHeader(acl="public-read"))
    assert guest.copyObject(bucket, "k", theirs, "copy").status == 200
    assert guest.getObject(theirs, "copy", loadStreamInMemory=True).body.buffer == b"content"
    # The list of who may read does not come along.
    assert nobody.getObject(theirs, "copy").status == 403
    assert owner.getObject(theirs, "copy").status == 403
    assert guest.copyObject(theirs, "copy", bucket, "back").status == 403
    upload = guest.initiateMultipartUpload(theirs, "parts").body.uploadId
    assert guest.copyPart(theirs, "parts", 1, upload, f"{bucket}/k").status == 200
    owner.setObjectAcl(bucket, "k", aclControl="private")
    assert guest.copyPart(theirs, "parts", 1, upload, f"{bucket}/k").errorCode == "AccessDenied"
    assert owner.uploadPart(theirs, "parts", 2, upload, b"x").status == 403
    assert guest.abortMultipartUpload(theirs, "parts", upload).status == 204
    header = CopyObjectHeader(acl="public-read")
    assert guest.copyObject(theirs, "copy", theirs, "open", headers=header).status == 200
    assert nobody.getObject(theirs, "open", loadStreamInMemory=True).body.buffer == b"content"


def test_a_batch_is_judged_key_by_key(owner: ObsClient, nobody: ObsClient, bucket: str) -> None:
    for key in ("open/1", "closed/1"):
        owner.putContent(bucket, key, b"x")
    statement = {"Effect": "Allow", "Principal": "*", "Action": "DeleteObject", "Resource": f"{bucket}/open/*"}
    assert owner.setBucketPolicy(bucket, json.dumps({"Statement": [statement]})).status == 204
    objects = [Object(key="open/1"), Object(key="closed/1")]
    answer = nobody.deleteObjects(bucket, DeleteObjectsRequest(quiet=True, objects=objects))
    assert answer.status == 200
    assert [(one.key, one.code) for one in answer.body.error] == [("closed/1", "AccessDenied")]
    assert [one.key for one in owner.listObjects(bucket).body.contents] == ["closed/1"]
