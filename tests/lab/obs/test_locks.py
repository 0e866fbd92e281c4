"""Write once, read many: locks of versions in buckets that were made for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lab.obs.test_obs_limits import document
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire

LATER = datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def locked(s3: Any, bucket: str) -> str:
    name = f"{bucket}-l"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    return name


def refused(call: Callable[..., Any], **arguments: Any) -> tuple[int, str]:
    with pytest.raises(ClientError) as failed:
        call(**arguments)
    answer = failed.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def test_a_locked_version_stays(s3: Any, locked: str) -> None:
    at = {"Bucket": locked, "Key": "k"}
    assert s3.get_bucket_versioning(Bucket=locked)["Status"] == "Enabled"
    until = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": LATER}
    version = s3.put_object(**at, Body=b"kept", **until)["VersionId"]
    head = s3.head_object(**at)
    assert (head["ObjectLockMode"], head["ObjectLockRetainUntilDate"]) == ("COMPLIANCE", LATER)
    assert refused(s3.delete_object, **at, VersionId=version) == (403, "AccessDenied")
    # Clients that send it always are heard, but this mode has no way around it.
    bypass = {"BypassGovernanceRetention": True}
    assert refused(s3.delete_object, **at, **bypass, VersionId=version) == (403, "AccessDenied")
    s3.put_object_retention(**at, **bypass, Retention={"Mode": "COMPLIANCE", "RetainUntilDate": LATER})
    batch = s3.delete_objects(Bucket=locked, **bypass, Delete={"Objects": [{"Key": "k", "VersionId": version}]})
    assert [one["Code"] for one in batch["Errors"]] == ["AccessDenied"]
    # What comes over it is another version, and so is what hides it.
    free = s3.put_object(**at, Body=b"free")["VersionId"]
    assert "ObjectLockMode" not in s3.head_object(**at)
    assert refused(s3.delete_object, **at, VersionId=version) == (403, "AccessDenied")
    marker = s3.delete_object(**at)["VersionId"]
    s3.delete_object(**at, VersionId=marker)
    s3.delete_object(**at, VersionId=free)
    assert s3.get_object(**at)["Body"].read() == b"kept"
    s3.put_object_tagging(**at, Tagging={"TagSet": [{"Key": "a", "Value": "1"}]})
    assert s3.head_object(**at)["ObjectLockRetainUntilDate"] == LATER
    copied = s3.copy_object(Bucket=locked, Key="copy", CopySource=at)["VersionId"]
    s3.delete_object(Bucket=locked, Key="copy", VersionId=copied)
    assert refused(s3.delete_bucket, Bucket=locked) == (409, "BucketNotEmpty")
    suspended = {"Status": "Suspended"}
    assert refused(s3.put_bucket_versioning, Bucket=locked, VersioningConfiguration=suspended) == (
        409,
        "InvalidBucketState",
    )


def test_the_date_of_a_version_only_moves_on(s3: Any, lab: LabProcess, locked: str) -> None:
    at = {"Bucket": locked, "Key": "k"}
    version = s3.put_object(**at, Body=b"x")["VersionId"]
    s3.put_object_retention(**at, Retention={"Mode": "COMPLIANCE", "RetainUntilDate": LATER})
    assert s3.head_object(**at)["ObjectLockRetainUntilDate"] == LATER
    assert refused(s3.delete_object, **at, VersionId=version) == (403, "AccessDenied")
    for sooner in (LATER - timedelta(days=1), datetime(2001, 1, 1, tzinfo=UTC)):
        wanted = {"Mode": "COMPLIANCE", "RetainUntilDate": sooner}
        assert refused(s3.put_object_retention, **at, Retention=wanted) == (400, "InvalidRequest")
    weaker = {"Mode": "GOVERNANCE", "RetainUntilDate": LATER}
    assert refused(s3.put_object_retention, **at, Retention=weaker) == (400, "MalformedObjectLockError")
    later = LATER + timedelta(days=1)
    date = f"<RetainUntilDate>{int(later.timestamp() * 1000)}</RetainUntilDate>"
    text = f"<Retention><Mode>COMPLIANCE</Mode>{date}</Retention>"
    assert document(Wire(lab), "PUT", f"/{locked}/k?retention", text).status == 200
    assert s3.head_object(**at, VersionId=version)["ObjectLockRetainUntilDate"] == later
    for wrong in ("<Retention/>", text.replace("Date>4", "Date>x4"), text.replace("<Mode>", "<Note/><Mode>")):
        answer = document(Wire(lab), "PUT", f"/{locked}/k?retention", wrong)
        assert (answer.status, answer.code) == (400, "MalformedObjectLockError"), wrong
    assert refused(s3.put_object_legal_hold, **at, LegalHold={"Status": "ON"}) == (501, "NotImplemented")


def test_the_default_of_a_bucket_locks_what_comes(s3: Any, lab: LabProcess, locked: str) -> None:
    def put(**usual: Any) -> None:
        rule = {"Rule": {"DefaultRetention": usual}} if usual else {}
        s3.put_object_lock_configuration(
            Bucket=locked, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", **rule}
        )

    def kept() -> Any:
        return s3.get_object_lock_configuration(Bucket=locked)["ObjectLockConfiguration"]

    before = s3.put_object(Bucket=locked, Key="k", Body=b"x")["VersionId"]
    assert kept() == {"ObjectLockEnabled": "Enabled"}
    put(Mode="COMPLIANCE", Days=2)
    assert kept()["Rule"]["DefaultRetention"] == {"Mode": "COMPLIANCE", "Days": 2}
    version = s3.put_object(Bucket=locked, Key="k", Body=b"x")["VersionId"]
    until = s3.head_object(Bucket=locked, Key="k")["ObjectLockRetainUntilDate"]
    assert timedelta(days=1, hours=23) < until - datetime.now(UTC) < timedelta(days=2, minutes=1)
    assert refused(s3.delete_object, Bucket=locked, Key="k", VersionId=version) == (403, "AccessDenied")
    s3.delete_object(Bucket=locked, Key="k", VersionId=before)
    upload = {"Bucket": locked, "Key": "p", "UploadId": s3.create_multipart_upload(Bucket=locked, Key="p")["UploadId"]}
    part = {"PartNumber": 1, "ETag": s3.upload_part(**upload, PartNumber=1, Body=b"x")["ETag"]}
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": [part]})
    assert s3.head_object(Bucket=locked, Key="p")["ObjectLockMode"] == "COMPLIANCE"
    own = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": LATER}
    s3.put_object(Bucket=locked, Key="own", Body=b"x", **own)
    assert s3.head_object(Bucket=locked, Key="own")["ObjectLockRetainUntilDate"] == LATER
    wire = Wire(lab)
    target = f"/{locked}/a?append&position=0"
    appended = wire.exchange(wire.head("POST", target, {"Content-Length": "1"}) + b"x")
    assert (appended.status, appended.code) == (403, "AccessDenied")
    put()
    free = s3.put_object(Bucket=locked, Key="k", Body=b"x")["VersionId"]
    s3.delete_object(Bucket=locked, Key="k", VersionId=free)
    put(Mode="COMPLIANCE", Years=1)
    for wrong, code in (
        ({"Mode": "COMPLIANCE", "Days": 0}, "InvalidArgument"),
        ({"Mode": "COMPLIANCE", "Days": 36501}, "InvalidArgument"),
        ({"Mode": "COMPLIANCE", "Years": 101}, "InvalidArgument"),
        ({"Mode": "COMPLIANCE", "Days": 1, "Years": 1}, "MalformedObjectLockError"),
        ({"Mode": "GOVERNANCE", "Days": 1}, "MalformedObjectLockError"),
        ({"Mode": "COMPLIANCE"}, "MalformedObjectLockError"),
    ):
        usual = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": wrong}}
        call = s3.put_object_lock_configuration
        assert refused(call, Bucket=locked, ObjectLockConfiguration=usual) == (400, code), wrong
    assert kept()["Rule"]["DefaultRetention"] == {"Mode": "COMPLIANCE", "Years": 1}


def test_buckets_that_were_not_made_for_it(s3: Any, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "k"}
    own = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": LATER}
    assert refused(s3.put_object, **at, Body=b"x", **own) == (400, "InvalidRequest")
    s3.put_object(**at, Body=b"x")
    wanted = {"Mode": "COMPLIANCE", "RetainUntilDate": LATER}
    assert refused(s3.put_object_retention, **at, Retention=wanted) == (400, "InvalidRequest")
    assert refused(s3.get_object_lock_configuration, Bucket=bucket) == (400, "InvalidRequest")
    usual = {"ObjectLockEnabled": "Enabled"}
    assert refused(s3.put_object_lock_configuration, Bucket=bucket, ObjectLockConfiguration=usual) == (
        400,
        "InvalidRequest",
    )


def test_headers_of_locks(lab: LabProcess, locked: str) -> None:
    wire, mode, until = Wire(lab), "x-obs-object-lock-mode", "x-obs-object-lock-retain-until-date"
    for wrong, code in (
        ({mode: "COMPLIANCE"}, "InvalidArgument"),
        ({until: "2099-01-01T00:00:00Z"}, "InvalidArgument"),
        ({mode: "GOVERNANCE", until: "2099-01-01T00:00:00Z"}, "InvalidArgument"),
        ({mode: "COMPLIANCE", until: "1.1.2099"}, "InvalidArgument"),
        ({mode: "COMPLIANCE", until: "2001-01-01T00:00:00Z"}, "InvalidRequest"),
    ):
        answer = wire.put(f"/{locked}/k", b"x", wrong)
        assert (answer.status, answer.code) == (400, code), wrong
    assert wire.put(f"/{locked}/k", b"x", {mode: "COMPLIANCE", until: "2099-01-01T00:00:00.000Z"}).status == 200
    assert wire.ask("HEAD", f"/{locked}/k").headers[until] == "2099-01-01T00:00:00.000Z"
    made = wire.put(f"/{locked}-2", b"", {"x-obs-bucket-object-lock-enabled": "perhaps"})
    assert (made.status, made.code) == (400, "InvalidArgument")
