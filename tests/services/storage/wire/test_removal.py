"""Deleting many: by the thousand, singly where that fails, and told exactly what is left."""

from __future__ import annotations

import asyncio
import json

import pytest

from support.servers.faults import Answer, FaultyProxy
from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from support.stores.stores import Store
from traindeck.domain.errors import NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.wire.data_plane import DataPlane

pytestmark = pytest.mark.usefixtures("no_waiting")


async def fill(plane: DataPlane, bucket: str, keys: list[str]) -> None:
    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(plane.put(ObjectPath(bucket, key), BytesBody(b"x")))


async def left(plane: DataPlane, bucket: str) -> list[str]:
    return [row.key for row in (await plane.page(bucket)).rows]


async def test_pages_of_a_thousand_and_nothing_at_all(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        assert await plane.remove(bucket, []) == []
        assert proxy.seen == []
        await fill(plane, bucket, [f"k{number:04d}" for number in range(50)])
        before = len(proxy.seen)
        # Those that are not there count as gone.
        assert await plane.remove(bucket, [f"k{number:04d}" for number in range(2001)]) == []
        assert len(proxy.seen) - before == 3
        assert await left(plane, bucket) == []


async def test_a_name_that_is_none_never_means_the_bucket(lab_obs: Store, bucket: str) -> None:
    async with lab_obs.plane() as plane:
        (refused,) = await plane.remove(bucket, ["a", ""])
        assert refused.key == "" and refused.message
        assert await left(plane, bucket) == []  # and it is still there


async def test_what_may_not_be_deleted_is_named(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    deny = {
        "Effect": "Deny",
        "Principal": {"ID": "*"},
        "Action": ["DeleteObject"],
        "Resource": [f"{bucket}/kept/*"],
    }
    client = obs_client(lab)
    assert client.setBucketPolicy(bucket, json.dumps({"Statement": [deny]})).status < 300
    async with lab_obs.plane() as plane:
        await fill(plane, bucket, ["a", "kept/b", "c", "kept/\x01"])
        refused = await plane.remove(bucket, ["a", "kept/b", "c", "kept/\x01"])
        assert sorted(one.key for one in refused) == ["kept/\x01", "kept/b"]
        assert {one.code for one in refused if one.key == "kept/b"} == {"AccessDenied"}
        assert all("do not have permission to do this" in say(one.message) for one in refused)
        assert await left(plane, bucket) == ["kept/\x01", "kept/b"]
    client.close()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(501, b"<Error><Code>NotImplemented</Code></Error>"),
        Answer(200, b"<DeleteResult><Error><Key>a</Key><Code>InternalError</Code></Error></DeleteResult>"),
        Answer(200, b"<DeleteResult><Error><Key>odd%20name</Key><Code>InternalError</Code></Error></DeleteResult>"),
    ],
    ids=["not offered", "failed for one", "failed for somebody"],
)
async def test_what_failed_in_a_page_is_tried_singly(
    lab: LabProcess, lab_obs: Store, bucket: str, answer: Answer
) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        await fill(plane, bucket, ["a", "b"])
        if b">a<" in answer.body:
            await plane.remove(bucket, ["b"])
        proxy.faults.append(answer)
        assert await plane.remove(bucket, ["a", "b"]) == []
        assert await left(plane, bucket) == []


async def test_a_bucket_that_is_not_there_is_told_once(lab_obs: Store) -> None:
    async with lab_obs.plane() as plane:
        with pytest.raises(NotFound, match="no-such-bucket"):
            await plane.remove("no-such-bucket", [f"k{number}" for number in range(3000)])
