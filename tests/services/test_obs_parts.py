"""Large files go up in parts, each confirmed, and the whole is looked at afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.lab_process import LabProcess
from servers.parts import PartsServer
from servers.way import Way
from traindeck.domain.errors import AccessRefused, ServiceTrouble
from traindeck.domain.objects import ObjectPath
from traindeck.domain.profiles import Profile, Provider
from traindeck.domain.secret import Credentials, Secret
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services import retrying
from traindeck.services.storage import obs_sending
from traindeck.services.storage.obs import ObsStorage

TARGET = ObjectPath("bucket", "big.bin")
MEBIBYTE = 2**20


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same ways with smaller files, and without the waiting."""
    monkeypatch.setattr(obs_sending, "SINGLE_PUT_BYTES", MEBIBYTE)
    monkeypatch.setattr(obs_sending, "PART_BYTES", MEBIBYTE)
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "big.bin"
    path.write_bytes(os.urandom(3 * MEBIBYTE + 5))
    return path


@pytest.fixture
def storages(calls: BlockingCalls) -> Iterator[list[ObsStorage]]:
    made: list[ObsStorage] = []
    yield made
    for storage in made:
        storage.close()


def to(server: PartsServer, calls: BlockingCalls, storages: list[ObsStorage]) -> ObsStorage:
    profile = Profile("p", Provider.MODELARTS, "cn-north-4", obs_endpoint=server.url)
    storages.append(ObsStorage(profile, Credentials("AK", Secret("SK")), calls))
    return storages[-1]


async def test_every_part_is_sent_once_and_the_whole_is_there(
    source: Path, calls: BlockingCalls, storages: list[ObsStorage]
) -> None:
    moved: list[int] = []
    async with PartsServer() as server:
        await to(server, calls, storages).upload(source, TARGET, moved.append)
    assert server.objects == {"/bucket/big.bin": source.read_bytes()}
    assert server.received == [(1, MEBIBYTE), (2, MEBIBYTE), (3, MEBIBYTE), (4, 5)]
    assert sum(moved) == source.stat().st_size
    assert server.uploads == {}


async def test_a_lost_answer_at_the_end_is_settled_by_looking(
    source: Path, calls: BlockingCalls, storages: list[ObsStorage]
) -> None:
    async with PartsServer() as server:
        server.lose_answer_of_complete = True
        await to(server, calls, storages).upload(source, TARGET)
    assert server.objects["/bucket/big.bin"] == source.read_bytes()
    assert len(server.received) == 4


async def test_a_failure_inside_a_success_is_a_failure(
    source: Path, calls: BlockingCalls, storages: list[ObsStorage]
) -> None:
    async with PartsServer() as server:
        server.fail_complete_inside = True
        with pytest.raises(ServiceTrouble):
            await to(server, calls, storages).upload(source, TARGET)
    assert server.objects == {}
    assert server.uploads == {}, "no part is left to be billed"


async def test_a_refused_part_ends_the_upload_and_leaves_none(
    source: Path, calls: BlockingCalls, storages: list[ObsStorage]
) -> None:
    async with PartsServer() as server:
        server.refuse_part = 2
        with pytest.raises(AccessRefused, match=r"big\.bin"):
            await to(server, calls, storages).upload(source, TARGET)
    assert server.uploads == {}


async def test_a_file_that_changes_between_parts_is_sent_anew(
    source: Path, calls: BlockingCalls, storages: list[ObsStorage]
) -> None:
    changed: list[int] = []

    def change(count: int) -> None:
        if not changed:
            source.write_bytes(b"\x07" * (2 * MEBIBYTE + 1))
        changed.append(count)

    async with PartsServer() as server:
        await to(server, calls, storages).upload(source, TARGET, change)
    assert server.objects["/bucket/big.bin"] == source.read_bytes()
    assert sum(changed) == source.stat().st_size
    assert server.uploads == {}


async def test_a_service_without_parts_gets_the_file_in_one_piece(way: Way, lab: LabProcess, source: Path) -> None:
    target = ObjectPath("one-piece", "big.bin")
    with way.storage() as storage:
        await storage.create_bucket(target.bucket)
        await storage.upload(source, target)
        found = await storage.info(target)
    assert found is not None and found.size_bytes == source.stat().st_size
