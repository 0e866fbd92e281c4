"""Accounts are kept without their secrets, checked at the services themselves, and let go whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.servers.lab_process import LabProcess
from support.servers.secret_service import SecretService, is_installed
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, NO_PROFILE, CheckUp, Profile, Provider
from traindeck.domain.errors import AccessRefused, Conflict, InvalidInput, KeyringMissing, NotFound

needs_keyring = pytest.mark.skipif(not is_installed, reason="needs dbus-daemon and gnome-keyring-daemon")

pytestmark = pytest.mark.usefixtures("no_waiting")


def profile_at(lab: LabProcess, name: str = "mine", **fields: Any) -> Profile:
    addresses = {
        "obs_endpoint": lab.obs,
        "modelarts_endpoint": lab.modelarts,
        "iam_endpoint": lab.iam,
        **fields,
    }
    return Profile(name, Provider.MODELARTS, lab.region, **(addresses | fields))


ALL_GOOD = {"clock": True, "obs": True, "project": True, "modelarts": True, "write": True}


def verdicts(told: CheckUp) -> dict[str, bool | None]:
    return {check.id: check.passed for check in told.checks}


def keys_of(lab: LabProcess) -> Credentials:
    return Credentials(lab.access_key, Secret(lab.secret_key))


@needs_keyring
async def test_keys_outlive_the_program_in_the_keyring_alone(
    lab: LabProcess, way: Way, keyring: SecretService, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with Bench(home, way) as bench:
        kept = await bench.profiles.add(profile_at(lab), keys_of(lab))
        assert kept.key_hint and kept.key_hint != lab.access_key
        with pytest.raises(Conflict):
            await bench.profiles.add(profile_at(lab), keys_of(lab))
    async with Bench(home, way) as bench:
        assert [profile.name for profile in bench.profiles.all()] == [LAB, "mine"]
        await bench.profiles.use("mine")
        await bench.prepare()
        told = await bench.profiles.check("mine")
        assert verdicts(told) == ALL_GOOD
        assert told.accepted is True and str(told.verdict) == "The credential is valid."
        await bench.profiles.remove("mine")
        assert bench.profiles.current == NO_PROFILE
        assert await bench.secrets.read("mine") is None
        with pytest.raises(NotFound):
            await bench.connections.open("mine")
    content = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert lab.secret_key.encode() not in content


@needs_keyring
async def test_keys_for_this_session_never_reach_the_keyring(
    lab: LabProcess, way: Way, keyring: SecretService, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.profiles.add(profile_at(lab), keys_of(lab), this_session_only=True)
        await bench.prepare()
        assert verdicts(await bench.profiles.check("mine")) == ALL_GOOD
    async with Bench(tmp_path / "home", way) as bench:
        with pytest.raises(AccessRefused, match="not in the keyring"):
            await bench.connections.open("mine")


async def test_without_a_keyring_nothing_is_kept_but_this_session_can_have_them(
    lab: LabProcess, way: Way, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        with pytest.raises(KeyringMissing, match="no keyring"):
            await bench.profiles.add(profile_at(lab), keys_of(lab))
        assert [profile.name for profile in bench.profiles.all()] == [LAB]
        await bench.profiles.add(profile_at(lab), keys_of(lab), this_session_only=True)
        await bench.prepare()
        assert verdicts(await bench.profiles.check("mine")) == ALL_GOOD
        better = Credentials(lab.access_key, Secret("wrong"))
        await bench.profiles.add(profile_at(lab), better, replace_old=True, this_session_only=True)
        told = await bench.profiles.check("mine")
        assert told.accepted is False and verdicts(told)["obs"] is False
        await bench.profiles.remove("mine")
        assert [profile.name for profile in bench.profiles.all()] == [LAB]


async def test_the_checks_tell_wrong_keys_from_no_answer(
    lab: LabProcess, way: Way, unused_port: int, tmp_path: Path
) -> None:
    nowhere = f"http://127.0.0.1:{unused_port}"
    everywhere = dict.fromkeys(("obs_endpoint", "modelarts_endpoint", "iam_endpoint"), nowhere)
    wrong = Credentials(lab.access_key, Secret("wrong"))
    unknown = Credentials("AKUNKNOWN0000000000X", Secret("SKUNKNOWN"))
    good, no, none = True, False, None
    # Each: what is set, the keys, whether they are taken, and clock, OBS, project, ModelArts, right to write.
    cases = {
        "good": ({}, keys_of(lab), good, [good, good, good, good, good]),
        "wrong": ({}, wrong, no, [good, no, no, none, none]),
        "unknown": ({}, unknown, no, [good, no, no, none, none]),
        "offline": (everywhere, keys_of(lab), none, [none, none, none, none, none]),
        "no OBS": ({"obs_endpoint": nowhere}, keys_of(lab), good, [none, none, good, good, none]),
        "no training": ({"modelarts_endpoint": nowhere}, keys_of(lab), good, [good, good, good, none, good]),
        "no IAM": ({"iam_endpoint": nowhere}, keys_of(lab), good, [good, good, none, none, good]),
        "wrong with project": ({"project_id": lab.project_id}, wrong, no, [good, no, no, no, none]),
        "storage only": ({"modelarts_endpoint": ""}, keys_of(lab), good, [good, good, none, none, good]),
        "one folder": ({"work_in": "obs://bench/team/"}, keys_of(lab), good, [good, good, good, good, good]),
        "no such place": ({"work_in": "obs://no-such-bucket/"}, keys_of(lab), good, [good, no, good, good, none]),
    }  # fmt: skip
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        before = await bench.objects()
        for name, (fields, keys, accepted, expected) in cases.items():
            profile = profile_at(lab, name.replace(" ", "-"), **fields)
            await bench.profiles.add(profile, keys, this_session_only=True)
            stages: list[CheckUp] = []
            told = await bench.profiles.check(profile.name, stages.append)
            assert list(verdicts(told).values()) == expected, (name, told)
            assert told.accepted is accepted, name
            assert all(check.hint for check in told.checks if check.passed is False), name
            assert stages[0].is_running and not told.is_running
            assert len(stages) >= 5 and len(stages[0].checks) == 5
        assert verdicts(await bench.profiles.check(LAB)) == ALL_GOOD
        assert await bench.objects() == before, "the check of the right to write left something"


@pytest.mark.parametrize(
    ("fields", "access_key", "secret_key"),
    [
        ({"name": "lab"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"name": "has blank"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"region": "Beijing 4"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({}, "", "SKEXAMPLE"),
        ({}, "   ", "SKEXAMPLE"),
        ({}, "AKEXAMPLE", " \t "),
        ({"proxy": "socks5://127.0.0.1:1080"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"proxy": "http://me:password@proxy:3128"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"work_in": "obs://A/"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"obs_endpoint": "obs.example.com"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({}, "AKEXAMPLE", ""),
        ({}, "AKEXAMPLE", "with\nline"),
        ({}, "全角", "SKEXAMPLE"),
    ],
)
async def test_what_no_service_could_use_is_refused_and_kept_nowhere(
    way: Way, tmp_path: Path, fields: dict[str, Any], access_key: str, secret_key: str
) -> None:
    profile = Profile(**{"name": "mine", "provider": Provider.MODELARTS, "region": "cn-north-4", **fields})
    async with Bench(tmp_path / "home", way) as bench:
        with pytest.raises(InvalidInput):
            await bench.profiles.add(profile, Credentials(access_key, Secret(secret_key)), this_session_only=True)
        assert not bench.secrets.is_kept(profile.name)
        assert [each.name for each in bench.profiles.all()] == [LAB]
        with pytest.raises(InvalidInput):
            await bench.profiles.remove(LAB)


async def test_new_keys_close_the_old_way_and_shutting_down_closes_all(
    lab: LabProcess, way: Way, tmp_path: Path
) -> None:
    def idle() -> list[int]:
        storages: list[Any] = [made.storage for made in bench.made]
        return [len(storage._client._idle._waiting) for storage in storages]

    async with Bench(tmp_path / "home", way) as bench:
        await bench.profiles.add(profile_at(lab, project_id=lab.project_id), keys_of(lab), this_session_only=True)
        await (await bench.connections.open("mine")).storage.create_bucket("kept-open")
        assert idle() == [1]
        renamed = profile_at(lab, project_id=lab.project_id, signature="v4")
        await bench.book.put(renamed)
        await (await bench.connections.open("mine")).storage.create_bucket("kept-open")
        assert idle() == [0, 1]
    assert idle() == [0, 0]
