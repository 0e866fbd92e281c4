"""A diagnosis tells each thing with its verdict, ends whatever the network does, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from support.places import closed_port
from support.planted import found_in
from support.servers.lab_process import LabProcess
from support.servers.silent import SilentServer
from support.stores.way import Way
from traindeck.assembly.account_core import AccountCore
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Check, Profile, Provider
from traindeck.domain.errors import Conflict
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.diagnosis import computer
from traindeck.services.diagnosis import diagnosis as diagnosing
from traindeck.services.storage.data_ports import BytesBody
from traindeck.store.paths import Paths

AK, SK = "ACCESSKEY1234567890X", "secret+of/nobody=0123456789abcdefghijk"
OURS = {"versions", "disk", "home", "keyring", "account"}
RIGHTS = {"clock", "obs", "project", "modelarts", "write"}

pytestmark = pytest.mark.usefixtures("no_waiting", "keyring")


@pytest.fixture
def way(lab: LabProcess, calls: BlockingCalls) -> Way:
    found = Way.to(lab, calls)
    return Way(replace(found.profile, name="mine", provider=Provider.MODELARTS), found.credentials, calls)


@asynccontextmanager
async def core_with(tmp_path: Path, profile: Profile, credentials: Credentials) -> AsyncIterator[AccountCore]:
    async with AccountCore(Paths(tmp_path / "home")) as core:
        await core.profile_service().add(profile, credentials)
        yield core


def by_id(found: list[Check]) -> dict[str, Check]:
    return {check.id: check for check in found}


def at(url: str) -> Profile:
    return Profile("mine", Provider.MODELARTS, "lab", url, url, url, project_id="p", path_style=True)


async def test_all_that_an_account_needs_is_told_and_nothing_is_left_in_it(way: Way, tmp_path: Path) -> None:
    async with core_with(tmp_path, way.profile, way.credentials) as core, core.plane("mine") as plane:
        connection = await core.connections.open("mine")
        bucket = ObjectPath("diagnosed-bucket")
        await connection.storage.create_bucket(bucket.bucket)
        await connection.settings.set_versioning(bucket.bucket, enabled=True)
        work_in = replace(way.profile, work_in=str(bucket))
        await core.profile_service().change(work_in)
        empty = by_id(await core.diagnosis().run("mine"))
        assert empty["download"].passed is None and "no object of" in str(empty["download"].fact)
        assert empty["upload"].passed is True and "8.39 MB" in str(empty["upload"].fact)
        await plane.put(bucket.join("large.bin"), BytesBody(bytes(300_000)))
        told: list[Check] = []
        found = by_id(await core.diagnosis().run("mine", told.append))
        assert by_id(told) == found
        assert set(found) >= OURS | RIGHTS | {"dns", "proxy", "connection", "tls", "round-trip", "upload", "download"}
        assert {name for name, check in found.items() if check.passed is not True} == set()
        assert "300 kB" in str(found["download"].fact)
        assert [row.key for row in (await plane.versions(bucket.bucket)).rows] == ["large.bin"]


async def test_a_dead_network_ends_with_the_step_that_failed(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with core_with(tmp_path, at(f"http://127.0.0.1:{closed_port()}"), way.credentials) as core:
        found = by_id(await core.diagnosis().run("mine"))
        assert found["connection"].passed is False and found["connection"].hint
        assert {found[name].passed for name in RIGHTS} == {None}
        assert "upload" not in found
    monkeypatch.setattr(diagnosing, "_RIGHTS_S", 0.3)
    async with SilentServer() as silent, core_with(tmp_path / "other", at(silent.url), way.credentials) as core:
        found = by_id(await core.diagnosis().run("mine"))
        assert found["connection"].passed is True
        assert found["obs"].passed is None and "not finished" in str(found["obs"].fact)


async def test_without_an_account_or_its_keys_the_rest_is_told(way: Way, tmp_path: Path) -> None:
    async with core_with(tmp_path, way.profile, way.credentials) as core:
        nobody = by_id(await core.diagnosis().run("nobody"))
        assert set(nobody) == OURS and nobody["account"].passed is False and nobody["keyring"].passed is True
        await core.secrets.remove("mine")
        keyless = by_id(await core.diagnosis().run("mine"))
        assert "not in the keyring" in str(keyless["account"].fact)


def test_rights_of_the_home_are_seen(tmp_path: Path) -> None:
    home = tmp_path / "home"
    Paths(home).make()
    assert computer.home_rights(home).passed is True
    (home / "records.db").touch(0o644)
    (home / "records.db").chmod(0o644)
    half = computer.home_rights(home)
    assert half.passed is None and "not: 1" in str(half.fact)
    home.chmod(0o755)
    open_to_all = computer.home_rights(home)
    assert open_to_all.passed is False and "755" in str(open_to_all.fact) and "chmod" in str(open_to_all.hint)


LINK = (
    "https://bucket.obs.cn-north-4.myhuaweicloud.com/key?AccessKeyId=SOMEBODYELSESKEY1234&Expires=1&"
    "Signature=c2lnbmF0dXJlb2Zhc3RyYW5nZXI%3D&x-obs-security-token=tokenOfAStranger"
)
HEADER = "Authorization: OBS SOMEBODYELSESKEY1234:c2lnbmF0dXJlb2Zhc3RyYW5nZXI="
STRANGERS = ("SOMEBODYELSESKEY1234", "c2lnbmF0dXJlb2Zhc3RyYW5nZXI", "tokenOfAStranger", "strangerspass")


async def test_a_report_holds_no_secret_is_closed_and_replaces_nothing(way: Way, tmp_path: Path) -> None:
    keys = Credentials(AK, Secret(SK), proxy_password=Secret("of-the-proxy-0123"))
    file = tmp_path / "report.zip"
    before = os.umask(0)
    try:
        async with core_with(tmp_path, at("http://127.0.0.1:9"), keys) as core:
            old_lines = "an old line, one of more than are taken\n" * 10_000
            mistake = f"a mistake of ours: {AK} {SK} of-the-proxy-0123\n{LINK} {HEADER} http://me:strangerspass@proxy\n"
            core.paths.app_log.write_text(old_lines + mistake, encoding="utf-8")
            diagnosis = core.diagnosis()
            found = await diagnosis.run("nobody")
            report = await diagnosis.report([*found, Check(found[0].title, None, replace(found[0].fact, english=LINK))])
            assert not file.exists()
            await diagnosis.write(report, file)
            with pytest.raises(Conflict, match="already exists"):
                await diagnosis.write(report, file)
            await diagnosis.write(report, file, replace_old=True)
    finally:
        os.umask(before)
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {"diagnosis.json", "versions.txt", "settings.json", "log/traindeck.log"} == set(content)
    assert [row["id"] for row in json.loads(content["diagnosis.json"])["checks"]][:3] == ["versions", "disk", "home"]
    assert "a mistake of ours" in content["log/traindeck.log"] and len(content["log/traindeck.log"]) < 300_000
    everything = "".join(content.values())
    assert not found_in(everything, (SK, AK, "of-the-proxy-0123", *STRANGERS))
