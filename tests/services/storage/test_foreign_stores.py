"""Stores that nobody here wrote: signed as S3 wants it, with the bucket in the path, and without IAM beside them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.places import free_port
from support.stores.way import Way
from support.waiting import PATIENT_S
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.errors import InvalidInput, KeysRefused
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connection
from traindeck.services.accounts.key_checks import check_keys
from traindeck.services.http import calls as retrying
from traindeck.services.storage.sdk.buckets import ObsStorage

KEYS = Credentials("AKEXAMPLE0000000001", Secret("secretsecretsecret"))
NAMES = ["a b", "ü/中文.txt", "plus+and%25", "q?#&=;,'()", "tilde~", "folder/inside"]
BINARIES = str(Path(sys.executable).parent)


@contextmanager
def serving(store: str, folder: Path, port: int) -> Iterator[str]:
    program = shutil.which("rclone" if store == "rclone" else "moto_server", path=BINARIES)
    if program is None:
        pytest.skip(f"{store} is not installed")
    command = [program, "-H", "127.0.0.1", "-p", str(port)]
    if store == "rclone":
        pair = f"{KEYS.access_key},{KEYS.secret_key.reveal()}"
        (folder / "store").mkdir()
        command = [program, "serve", "s3", "--auth-key", pair, "--addr", f"127.0.0.1:{port}", str(folder / "store")]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(PATIENT_S)


async def answers(port: int) -> None:
    async with asyncio.timeout(PATIENT_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            return


async def names_in(storage: ObsStorage, bucket: ObjectPath) -> list[str]:
    return sorted([entry.path.key async for page in storage.entries(bucket, recursive=True) for entry in page])


@pytest.mark.parametrize("store", ["rclone", "moto"])
async def test_the_same_client_and_the_same_checks_work_there(
    store: str, tmp_path: Path, calls: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)
    port = free_port()
    with serving(store, tmp_path, port) as url:
        await answers(port)
        profile = Profile(
            "s3", Provider.MODELARTS, "us-east-1", obs_endpoint=url, signature=Signature.V4, path_style=True
        )
        connection = Connection(profile, KEYS, calls)
        storage, bucket = connection.storage, ObjectPath("bucket-one")
        await storage.create_bucket(bucket.bucket)
        await Way(profile, KEYS, calls).put(b"x", *(bucket.join(name) for name in NAMES))
        before = sorted(NAMES)
        assert await names_in(storage, bucket) == before
        told = await check_keys(profile, KEYS, calls)
        assert {check.id: check.passed for check in told.checks} == {
            "clock": True, "obs": True, "project": None, "modelarts": None, "write": True,
        }  # fmt: skip
        assert told.accepted and await names_in(storage, bucket) == before
        with pytest.raises(InvalidInput, match="storage only"):
            await connection.training.engines()
        await Way(profile, KEYS, calls).remove(*(bucket.join(name) for name in before))
        await connection.access.remove(bucket.bucket)
        connection.close()
        if store == "rclone":  # the other one takes every key
            wrong = ObsStorage(profile, Credentials(KEYS.access_key, Secret("wrong")), calls)
            with pytest.raises(KeysRefused):
                await wrong.buckets()
            wrong.close()
