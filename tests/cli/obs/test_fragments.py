"""`traindeck obs fragments` against the real Lab: what is listed, what is thrown away, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_commands import Traindeck, deny, s3

NAMES = {"a/one.bin": 300, "a/二.bin": 0, "b.bin": 50}


def begin(lab: dict[str, str]) -> None:
    client = s3(lab)
    for name, size in NAMES.items():
        upload = client.create_multipart_upload(Bucket="cli-bucket", Key=name)["UploadId"]
        if size:
            client.upload_part(Bucket="cli-bucket", Key=name, UploadId=upload, PartNumber=1, Body=b"x" * size)
    client.close()


def listed(traindeck: Traindeck, *words: str) -> dict[str, int | None]:
    rows = traindeck("obs", "fragments", *words, "--json").must_be(0).rows
    return {row["path"].removeprefix("obs://cli-bucket/"): row["bytes"] for row in rows}


def test_they_are_listed_and_thrown_away(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    begin(lab)
    assert listed(traindeck, "cli-bucket") == NAMES
    assert listed(traindeck, "obs://cli-bucket/a/") == {"a/one.bin": 300, "a/二.bin": 0}
    assert listed(traindeck, "cli-bucket", "--older-than", "7d") == {}
    told = traindeck("obs", "fragments", "cli-bucket").must_be(0)
    assert "a/二.bin" in told.out and "3 fragments, 350 B" in told.said
    # Nobody is there to say yes.
    refused = traindeck("obs", "fragments", "cli-bucket", "--abort").must_be(2)
    assert "delete 3 fragments (350 B)" in refused.said and listed(traindeck, "cli-bucket") == NAMES
    old = traindeck("obs", "fragments", "cli-bucket", "--abort", "--older-than", "1h", "--json").must_be(0)
    assert old.document == {"aborted": 0, "bytes": 0, "kept": 0, "failed": 0}
    some = traindeck("obs", "fragments", "obs://cli-bucket/a/", "--abort", "--yes", "--json").must_be(0)
    assert some.document == {"aborted": 2, "bytes": 300, "kept": 0, "failed": 0}
    assert listed(traindeck, "cli-bucket") == {"b.bin": 50}


@pytest.mark.parametrize("age", ["7", "d", "-1d", "seven", "9999999d"])
def test_an_age_that_is_none(traindeck: Traindeck, age: str) -> None:
    traindeck("obs", "fragments", "cli-bucket", f"--older-than={age}").must_be(2)


def test_a_bucket_that_is_none(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("obs", "fragments", "no-such-bucket-here").must_be(4)


def test_what_may_not_be_measured_is_listed_all_the_same(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    begin(lab)
    deny(tmp_path / "deny.json", "ListMultipartUploadParts", "cli-bucket/a/*")
    traindeck("obs", "policy", "cli-bucket", "set", "--file", "deny.json", "--yes").must_be(0)
    assert listed(traindeck, "cli-bucket") == {"a/one.bin": None, "a/二.bin": None, "b.bin": 50}
    assert "3 fragments, –" in traindeck("obs", "fragments", "cli-bucket").must_be(0).said
    done = traindeck("obs", "fragments", "cli-bucket", "--abort", "--yes", "--json").must_be(0)
    assert done.document == {"aborted": 3, "bytes": None, "kept": 0, "failed": 0}
