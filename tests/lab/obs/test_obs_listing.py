"""Listings by every client and parameter: pages around a thousand, folders, encodings, versions, uploads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import pytest
from botocore.exceptions import ClientError
from obs import ListMultipartUploadsRequest, ObsClient, Versions

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire
from support.stores.lab_clients import obs_client, s3_client

MANY = [f"{number:04}" for number in range(2500)]


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/listing", b"").status == 200
    return wire


@pytest.fixture(scope="module")
def many(lab: LabProcess) -> Iterator[ObsClient]:
    """A bucket of 2,500 objects, and one of a folder for each of them."""
    client = obs_client(lab)
    for bucket, name in (("many-keys", "{}"), ("many-folders", "{}/k")):
        assert client.createBucket(bucket).status == 200
        for key in MANY:
            assert client.putContent(bucket, name.format(key), b"").status == 200
    yield client
    client.close()


def listed(wire: Wire, query: str, bucket: str = "listing") -> Answer:
    return wire.ask("GET", f"/{bucket}?{query}", resource=f"/{bucket}")


def values(answer: Answer, name: str) -> list[str]:
    """The texts of all elements of this name, in the order of the document."""
    root = ElementTree.fromstring(answer.body)
    return [node.text or "" for node in root.iter() if node.tag.rpartition("}")[2] == name]


# --- sizes of pages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, 1000, 1001, 0, 999, 1])
def test_pages_of_the_sdk(many: ObsClient, size: int | None) -> None:
    """Sizes above 1,000 mean 1,000; zero is a page of nothing."""
    page = many.listObjects("many-keys", max_keys=size).body
    expected = 1000 if size in (None, 1000, 1001) else size
    assert [one.key for one in page.contents] == MANY[:expected]
    assert page.is_truncated == (size != 0)
    assert page.next_marker == (MANY[(expected or 1) - 1] if size != 0 else None)


@pytest.mark.parametrize("query", ["max-keys=-1", "list-type=2&max-keys=-1", "versions&max-keys=-5"])
def test_a_page_of_less_than_nothing_is_refused(lab: LabProcess, bucket: str, query: str) -> None:
    resource = f"/{bucket}?versions" if "versions" in query else f"/{bucket}"
    answer = Wire(lab).ask("GET", f"/{bucket}?{query}", resource=resource)
    assert (answer.status, answer.code) == (400, "InvalidArgument")


def test_pages_end_where_they_should(many: ObsClient) -> None:
    for prefix, sizes in (("", [1000, 1000, 500]), ("0", [1000]), ("1", [1000]), ("2", [500]), ("3", [])):
        found: list[list[str]] = []
        marker = None
        while True:
            page = many.listObjects("many-keys", prefix=prefix, marker=marker).body
            found.append([one.key for one in page.contents])
            if not page.is_truncated:
                break
            marker = page.next_marker
        assert [len(one) for one in found if one] == sizes
        assert [key for one in found for key in one] == [key for key in MANY if key.startswith(prefix)]
    beyond = many.listObjects("many-keys", marker="9").body
    assert (beyond.contents, beyond.is_truncated) == ([], False)


def test_folders_count_as_entries(many: ObsClient) -> None:
    found: list[str] = []
    marker = None
    while True:
        page = many.listObjects("many-folders", delimiter="/", marker=marker).body
        assert not page.contents
        found += [one.prefix for one in page.commonPrefixs]
        if not page.is_truncated:
            break
        assert len(page.commonPrefixs) == 1000
        marker = page.next_marker
        assert marker == found[-1]
    assert found == [f"{key}/" for key in MANY]


def test_pages_of_boto3(lab: LabProcess, many: ObsClient) -> None:
    s3 = s3_client(lab)
    for call, size in (("list_objects", 999), ("list_objects_v2", 999), ("list_objects", 1000), ("list_objects_v2", 7)):
        pages = s3.get_paginator(call).paginate(Bucket="many-keys", PaginationConfig={"PageSize": size})
        assert [one["Key"] for page in pages for one in page["Contents"]] == MANY
        pages = s3.get_paginator(call).paginate(
            Bucket="many-folders", Delimiter="/", PaginationConfig={"PageSize": 999}
        )
        assert [one["Prefix"] for page in pages for one in page["CommonPrefixes"]] == [f"{key}/" for key in MANY]
    s3.close()


# --- parameters ------------------------------------------------------------------------------------------------------


def test_keys_around_a_folder(client: ObsClient, bucket: str) -> None:
    keys = ["0", "0!", "0/", "0/a", "0/b/c", "0//", "00", "0~", "1#", "1/x"]
    for key in keys:
        client.putContent(bucket, key, b"")
    top = client.listObjects(bucket, delimiter="/").body
    assert [one.key for one in top.contents] == ["0", "0!", "00", "0~", "1#"]
    assert [one.prefix for one in top.commonPrefixs] == ["0/", "1/"]
    inside = client.listObjects(bucket, prefix="0/", delimiter="/").body
    assert [one.key for one in inside.contents] == ["0/", "0/a"]
    assert [one.prefix for one in inside.commonPrefixs] == ["0//", "0/b/"]
    beside = client.listObjects(bucket, prefix="0", delimiter="/").body
    assert [one.prefix for one in beside.commonPrefixs] == ["0/"]
    behind = client.listObjects(bucket, delimiter="/", marker="0/").body
    assert [one.key for one in behind.contents] == ["00", "0~", "1#"]
    within = client.listObjects(bucket, delimiter="/", marker="0/a").body
    assert [one.prefix for one in within.commonPrefixs] == ["0/", "1/"]
    odd = client.listObjects(bucket, prefix="0", delimiter="b/").body
    assert [one.prefix for one in odd.commonPrefixs] == ["0/b/"]
    assert len(client.listObjects(bucket, delimiter="").body.contents) == len(keys)


def test_version_two_starts_after_and_goes_on(s3: Any, bucket: str) -> None:
    for key in ("a", "b", "c", "d"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    page = s3.list_objects_v2(Bucket=bucket, StartAfter="a", MaxKeys=2)
    assert ([one["Key"] for one in page["Contents"]], page["IsTruncated"], page["KeyCount"]) == (["b", "c"], True, 2)
    assert page["StartAfter"] == "a"
    assert "Owner" not in page["Contents"][0]
    token = page["NextContinuationToken"]
    last = s3.list_objects_v2(Bucket=bucket, StartAfter="a", ContinuationToken=token, FetchOwner=True)
    assert [one["Key"] for one in last["Contents"]] == ["d"]
    assert (last["ContinuationToken"], last["IsTruncated"]) == (token, False)
    assert len(last["Contents"][0]["Owner"]["ID"]) == 32
    nothing = s3.list_objects_v2(Bucket=bucket, MaxKeys=0)
    assert (nothing["KeyCount"], nothing["IsTruncated"], nothing["MaxKeys"]) == (0, False, 0)
    behind = s3.list_objects_v2(Bucket=bucket, StartAfter="not there")
    assert (behind["KeyCount"], behind["IsTruncated"]) == (0, False)
    with pytest.raises(ClientError) as failed:
        s3.list_objects_v2(Bucket=bucket, ContinuationToken="no token!")
    assert failed.value.response["Error"]["Code"] == "InvalidArgument"
    # A plain listing names the owner unasked.
    assert len(s3.list_objects(Bucket=bucket)["Contents"][0]["Owner"]["ID"]) == 32


def test_url_encoding(wire: Wire) -> None:
    keys = ["a+b", "a b", "a%20b", "ä/学", "line\nbreak", "\x01", "&<>"]
    for key in keys:
        assert wire.put(f"/listing/{quote(key)}", b"").status == 200
    for extra in ("", "list-type=2&"):
        encoded = listed(wire, f"{extra}encoding-type=url")
        assert values(encoded, "EncodingType") == ["url"]
        assert [unquote(one) for one in values(encoded, "Key")] == sorted(keys, key=str.encode)
        assert all(re.fullmatch(r"[A-Za-z0-9_.~/%-]+", one) for one in values(encoded, "Key"))
    plain = wire.ask("GET", "/listing?prefix=a", resource="/listing")
    assert values(plain, "EncodingType") == []
    assert values(plain, "Key") == ["a b", "a%20b", "a+b"]
    marks = listed(wire, "encoding-type=url&prefix=%C3%A4&delimiter=%2F&marker=%20+%26")
    assert (values(marks, "Delimiter"), values(marks, "Marker")) == (["/"], ["%20%20%26"])
    assert values(marks, "Prefix") == ["%C3%A4", "%C3%A4/"]
    paged = listed(wire, "encoding-type=url&max-keys=1&prefix=a")
    assert values(paged, "NextMarker") == ["a%20b"]
    assert listed(wire, "encoding-type=base64").code == "InvalidArgument"
    assert listed(wire, "list-type=3").code == "InvalidArgument"
    for unknown in ("start-after=a", "fetch-owner=true", "marker=a&list-type=2x", "colour=blue"):
        assert listed(wire, unknown).status in (400, 501)


# --- uploads and versions --------------------------------------------------------------------------------------------


def test_uploads_below_a_prefix_in_pages(client: ObsClient, bucket: str) -> None:
    expected = []
    for key in ("a/1", "a/2", "a/2", "b/1 ä", "top"):
        expected.append((key, client.initiateMultipartUpload(bucket, key).body.uploadId))
    below = client.listMultipartUploads(bucket, ListMultipartUploadsRequest(prefix="a/")).body
    assert sorted((one.key, one.uploadId) for one in below.upload) == sorted(expected[:3])
    found: list[tuple[str, str]] = []
    prefixes: list[str] = []
    markers: tuple[str | None, str | None] = (None, None)
    while True:
        asked = ListMultipartUploadsRequest(
            delimiter="/", max_uploads=1, key_marker=markers[0], upload_id_marker=markers[1]
        )
        page = client.listMultipartUploads(bucket, asked).body
        found += [(one.key, one.uploadId) for one in page.upload]
        prefixes += [one.prefix for one in page.commonPrefixs]
        if not page.isTruncated:
            break
        markers = (page.nextKeyMarker, page.nextUploadIdMarker)
    assert (found, prefixes) == ([expected[4]], ["a/", "b/"])
    for key, upload in expected:
        assert client.abortMultipartUpload(bucket, key, upload).status == 204
    assert client.listMultipartUploads(bucket).body.upload == []


def test_parts_of_boto3_in_pages(s3: Any, bucket: str) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    for number in (1, 3, 10_000):
        s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=b"x")
    pages = list(
        s3.get_paginator("list_parts").paginate(
            Bucket=bucket, Key="k", UploadId=upload, PaginationConfig={"PageSize": 1}
        )
    )
    assert [[one["PartNumber"] for one in page["Parts"]] for page in pages] == [[1], [3], [10_000]]
    assert [page["IsTruncated"] for page in pages] == [True, True, False]
    s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload)


def test_versions_with_every_parameter(client: ObsClient, s3: Any, bucket: str) -> None:
    client.setBucketVersioning(bucket, "Enabled")
    for key in ("a/1", "a/1", "ä+ b", "top"):
        client.putContent(bucket, key, b"")
    client.deleteObject(bucket, "top")
    page = client.listVersions(bucket, Versions(delimiter="/", encoding_type="url")).body
    assert [one.prefix for one in page.commonPrefixs] == ["a/"]
    assert [one.key for one in page.versions] == ["top", "ä+ b"]
    assert [(one.key, one.isLatest) for one in page.markers] == [("top", True)]
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1})
    found = [
        (one["Key"], one["IsLatest"])
        for page in pages
        for one in page.get("Versions", []) + page.get("DeleteMarkers", [])
    ]
    assert found == [("a/1", True), ("a/1", False), ("top", True), ("top", False), ("ä+ b", True)]


def test_uploads_can_be_aborted_page_by_page(s3: Any, bucket: str) -> None:
    for key in ("a", "a", "a", "b"):
        s3.create_multipart_upload(Bucket=bucket, Key=key)
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1}):
        for one in page.get("Uploads", []):
            s3.abort_multipart_upload(Bucket=bucket, Key=one["Key"], UploadId=one["UploadId"])
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_versions_can_be_removed_page_by_page(s3: Any, bucket: str) -> None:
    """What a page ended with may be gone when the next one is asked for."""
    s3.put_object(Bucket=bucket, Key="k", Body=b"before versions")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for number in range(4):
        s3.put_object(Bucket=bucket, Key="k", Body=b"%d" % number)
    s3.delete_object(Bucket=bucket, Key="k")
    s3.put_object(Bucket=bucket, Key="later", Body=b"")
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": 2}):
        for one in page.get("Versions", []) + page.get("DeleteMarkers", []):
            s3.delete_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])
    assert "Versions" not in s3.list_object_versions(Bucket=bucket)
    s3.delete_bucket(Bucket=bucket)
