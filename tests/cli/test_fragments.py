"""`traindeck obs fragments` against the real Lab: what is listed, what is thrown away, and what is not."""

from __future__ import annotations

import boto3
import pytest
from botocore.config import Config

from cli_commands import Traindeck

NAMES = {"a/one.bin": 300, "a/二.bin": 0, "b.bin": 50}


def begin(lab: dict[str, str]) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=lab["obs"],
        aws_access_key_id=lab["access_key"],
        aws_secret_access_key=lab["secret_key"],
        region_name="lab",
        config=Config(s3={"addressing_style": "path"}),
    )
    for name, size in NAMES.items():
        upload = client.create_multipart_upload(Bucket="cli-bucket", Key=name)["UploadId"]
        if size:
            client.upload_part(Bucket="cli-bucket", Key=name, UploadId=upload, PartNumber=1, Body=b"x" * size)
    client.close()


def listed(traindeck: Traindeck, *words: str) -> dict[str, int]:
    rows = traindeck("obs", "fragments", *words, "--json").must_be(0).rows
    return {row["path"].removeprefix("obs://cli-bucket/"): row["bytes"] for row in rows}


def test_they_are_listed_and_thrown_away(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    begin(lab)
    assert listed(traindeck, "cli-bucket") == NAMES
    assert listed(traindeck, "obs://cli-bucket/a/") == {"a/one.bin": 300, "a/二.bin": 0}
    assert listed(traindeck, "cli-bucket", "--older-than", "7d") == {}
    told = traindeck("obs", "fragments", "cli-bucket").must_be(0)
    assert "a/二.bin" in told.out and "3, 350 B" in told.said
    # Nobody is there to say yes.
    refused = traindeck("obs", "fragments", "cli-bucket", "--abort").must_be(2)
    assert "3, 350 B" in refused.said and listed(traindeck, "cli-bucket") == NAMES
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
