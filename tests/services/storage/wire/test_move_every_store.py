"""Moves, removals and looking names up against the Lab in its three dialects and against stores nobody here wrote."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from support.stores.stores import Store, new_bucket
from support.transfer_works import (
    ODD_FILES,
    content_of,
    copy,
    done,
    download,
    tree,
    upload,
    working,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.domain.transfers.records import TransferState
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.among import names_taken, objects_among


async def keys(plane: DataPlane, place: ObjectPath) -> list[str]:
    return [row.key[len(place.key) :] for row in (await plane.page(place.bucket, place.key)).rows]


async def test_a_tree_moves_up_about_and_down_and_nothing_stays(store: Store, tmp_path: Path) -> None:
    bucket = new_bucket(store)
    source = tree(tmp_path / "data", ODD_FILES)
    async with store.plane() as plane, working(tmp_path / "home", plane) as engine:
        up = await done(engine, upload(source, bucket.join("in/"), moves=True))
        assert (up.state, up.failed_files) == (TransferState.DONE, 0)
        assert not source.exists()
        about = await done(engine, copy(bucket.join("in/"), bucket.join("In/new/"), moves=True))
        assert (about.state, about.failed_files) == (TransferState.DONE, 0)
        assert await keys(plane, bucket.join("in/")) == []
        assert sorted(await keys(plane, bucket.join("In/new/"))) == sorted(ODD_FILES)
        chosen = (("a b.txt", "b b.txt"), ("deep/", "Deep/"))
        some = await done(engine, copy(bucket.join("In/new/"), bucket.join("In/new/"), moves=True, chosen=chosen))
        assert (some.state, some.failed_files) == (TransferState.DONE, 0)
        down = await done(engine, download(bucket.join("In/new/"), tmp_path / "down", moves=True))
        assert (down.state, down.failed_files) == (TransferState.DONE, 0)
        assert await keys(plane, bucket) == []
    names = {"a b.txt": "b b.txt", "deep/er/数据.bin": "Deep/er/数据.bin"}
    assert content_of(tmp_path / "down") == {names.get(name, name): content for name, content in ODD_FILES.items()}


async def test_many_are_looked_up_and_removed(store: Store, tmp_path: Path) -> None:
    bucket = new_bucket(store)
    there = [f"k/{number:03}" for number in range(60)] + ["other", "数/据"]
    async with store.plane() as plane, working(tmp_path / "home", plane) as engine:
        assert not await plane.keeps_versions(bucket.bucket)
        for key in there:
            await plane.put(bucket.join(key), BytesBody(key.encode()))
        wanted = ["k/007", "k/059", "k/060", "a", "数/据", "数/据x", "zz"]
        assert sorted(await objects_among(plane, bucket.bucket, wanted)) == sorted(["k/007", "k/059", "数/据"])
        assert await names_taken(plane, bucket, ["k/", "other", "other/", "new"]) == {"k/", "other"}
        row = await done(engine, Order(Kind.REMOVE, "lab", str(bucket.join("k/")), ""))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.DONE, 60, 0)
        assert sorted(await keys(plane, bucket)) == ["other", "数/据"]


async def test_what_was_removed_comes_back_where_versions_are_kept(store: Store, tmp_path: Path) -> None:
    bucket = new_bucket(store)
    if not keeps_versions_now(store, bucket):
        pytest.skip("is not enabled")
    async with store.plane() as plane, working(tmp_path / "home", plane) as engine:
        assert await plane.keeps_versions(bucket.bucket)
        for key in ODD_FILES:
            for content in (b"old", key.encode()):
                await plane.put(bucket.join(f"in/{key}"), BytesBody(content))
        row = await done(engine, Order(Kind.REMOVE, "lab", str(bucket.join("in/")), ""))
        assert (row.state, row.done_files) == (TransferState.DONE, len(ODD_FILES))
        assert await keys(plane, bucket) == []
        back = await done(engine, Order(Kind.RESTORE, "lab", str(bucket.join("in/")), "", Rules(undoes=row.id)))
        assert (back.state, back.done_files) == (TransferState.DONE, len(ODD_FILES))
        assert sorted(await keys(plane, bucket.join("in/"))) == sorted(ODD_FILES)
        found = await plane.head(bucket.join("in/a b.txt"))
        assert found is not None and found.size_bytes == len("a b.txt"), "an older one came back"


def keeps_versions_now(store: Store, bucket: ObjectPath) -> bool:
    client = boto3.client(
        "s3", endpoint_url=store.profile.obs_url, region_name="us-east-1",
        aws_access_key_id=store.credentials.access_key, aws_secret_access_key=store.credentials.secret_key.reveal(),
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )  # fmt: skip
    with closing(client):
        try:
            client.put_bucket_versioning(Bucket=bucket.bucket, VersioningConfiguration={"Status": "Enabled"})
            return bool(client.get_bucket_versioning(Bucket=bucket.bucket).get("Status") == "Enabled")
        except ClientError:
            return False
