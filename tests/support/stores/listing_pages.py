"""All pages of a listing, by both versions of the call; the second value of an entry tells folded prefixes."""

from __future__ import annotations

from typing import Any

from obs import ObsClient

Entries = list[tuple[str, bool]]


def pages_v1(client: ObsClient, bucket: str, prefix: str, delimiter: str, marker: str, size: int) -> Entries:
    found: Entries = []
    at: str | None = marker or None
    while True:
        page = client.listObjects(
            bucket, prefix=prefix, marker=at, delimiter=delimiter or None, max_keys=size, encoding_type="url"
        ).body
        entries = [(one.key, False) for one in page.contents] + [(one.prefix, True) for one in page.commonPrefixs]
        found += sorted(entries, key=lambda one: one[0].encode())
        if not page.is_truncated:
            return found
        assert len(entries) == size
        at = page.next_marker


def pages_v2(s3: Any, bucket: str, prefix: str, delimiter: str, marker: str, size: int) -> Entries:
    found: Entries = []
    more: dict[str, str] = {}
    while True:
        page = s3.list_objects_v2(
            Bucket=bucket, Prefix=prefix, Delimiter=delimiter, StartAfter=marker, MaxKeys=size, **more
        )
        entries = [(one["Key"], False) for one in page.get("Contents", [])]
        entries += [(one["Prefix"], True) for one in page.get("CommonPrefixes", [])]
        assert page["KeyCount"] == len(entries)
        found += sorted(entries, key=lambda one: one[0].encode())
        if not page["IsTruncated"]:
            return found
        more = {"ContinuationToken": page["NextContinuationToken"]}
