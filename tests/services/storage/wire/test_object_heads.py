"""Heads of objects as services write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from traindeck.domain.storage.object_facts import HeadChange, ObjectFacts, RestoreState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.heads import facts_of, metadata_after, on_wire, whole_head
from traindeck.services.storage.wire.versions import versions_of

PATH = ObjectPath("bucket", "k")


def facts(**headers: str) -> ObjectFacts:
    return facts_of(PATH, {"content-length": "5", **{name.replace("_", "-"): value for name, value in headers.items()}})


def test_what_is_restored_and_until_when() -> None:
    going_on = facts(x_obs_storage_class="COLD", x_obs_restore='ongoing-request="true"')
    assert going_on.restore is not None and going_on.restore.state is RestoreState.GOING_ON and going_on.is_frozen
    told = 'ongoing-request="false", expiry-date="Wed, 25 Nov 2026 00:00:00 GMT"'
    done = facts(x_amz_storage_class="GLACIER", x_amz_restore=told)
    assert done.storage_class == "COLD" and not done.is_frozen
    assert done.restore is not None and done.restore.until == datetime(2026, 11, 25, tzinfo=UTC)
    assert facts(x_obs_restore="what is this").restore is None
    assert facts().storage_class == "STANDARD"


def test_what_a_rule_will_do_and_how_it_is_encrypted() -> None:
    found = facts(
        x_obs_expiration='expiry-date="Thu, 01 Jan 2027 00:00:00 GMT", rule-id="old"',
        x_obs_server_side_encryption="kms",
        x_obs_server_side_encryption_kms_key_id="key-1",
        x_obs_version_id="v1",
        etag='"9dd4e461268c8034f5c8564e155c67a6"',
    )
    assert found.expires == datetime(2027, 1, 1, tzinfo=UTC)
    assert (found.encryption, found.encryption_key, found.version) == ("kms", "key-1", "v1")
    assert found.md5 == "", "the ETag of what is encrypted is no MD5"
    assert facts(x_obs_expiration="nonsense").expires is None
    assert facts(etag='"9dd4e461268c8034f5c8564e155c67a6-12"').part_count == 12


def test_metadata_is_read_however_it_was_written() -> None:
    found = facts(x_obs_meta_a="%E5%AD%A6", x_obs_meta_b="学".encode().decode("latin-1"), x_obs_meta_storage_class="x")
    assert found.metadata == {"a": "学", "b": "学", "storage-class": "x"}
    assert found.storage_class == "STANDARD", "a name of metadata is no header of the service"
    assert metadata_after(found, HeadChange(metadata={"c": "ü"})) == {
        "a": "%E5%AD%A6", "b": "%E5%AD%A6", "storage-class": "x", "c": "%C3%BC",
    }  # fmt: skip


def test_what_is_no_head_of_an_object_is_refused() -> None:
    for length in ("", "nonsense", "-1"):
        with pytest.raises(ValueError, match="length"):
            facts_of(PATH, {"content-length": length})
    assert facts(last_modified="yesterday").modified is None


def test_both_dialects_have_their_own_names() -> None:
    found = facts(content_type="a/b", x_obs_website_redirect_location="/x", cache_control="no-cache")
    headers = whole_head(found, HeadChange(headers={"cache-control": ""}, metadata={"m": "1"}))
    headers |= {"x-obs-storage-class": "WARM", "x-obs-server-side-encryption-kms-key-id": "key"}
    assert on_wire(headers, "x-obs-") == headers
    assert on_wire(headers, "x-amz-") == {
        "content-type": "a/b",
        "x-amz-website-redirect-location": "/x",
        "x-amz-meta-m": "1",
        "x-amz-storage-class": "STANDARD_IA",
        "x-amz-server-side-encryption-aws-kms-key-id": "key",
    }


def test_a_page_of_versions_keeps_its_order() -> None:
    page = versions_of(
        b"""<?xml version="1.0"?><ListVersionsResult xmlns="http://obs.example/doc/"><Name>b</Name>
        <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
        <NextKeyMarker>a%20b</NextKeyMarker><NextVersionIdMarker>2</NextVersionIdMarker>
        <DeleteMarker><Key>a%20b</Key><VersionId>3</VersionId><IsLatest>true</IsLatest>
        <LastModified>2026-11-18T10:00:00.000Z</LastModified></DeleteMarker>
        <Version><Key>a%20b</Key><VersionId>2</VersionId><IsLatest>false</IsLatest>
        <LastModified>2026-11-17T10:00:00.000Z</LastModified><ETag>"x"</ETag><Size>7</Size>
        <StorageClass>GLACIER</StorageClass></Version></ListVersionsResult>"""
    )
    assert [(row.key, row.version, row.is_marker) for row in page.rows] == [
        ("a b", "3", True), ("a b", "2", False),
    ]  # fmt: skip
    assert page.rows[1].size_bytes == 7 and page.rows[1].storage_class == "COLD"
    assert (page.next_key, page.next_version) == ("a b", "2")
    with pytest.raises(ValueError, match="expected"):
        versions_of(b"<html/>")
