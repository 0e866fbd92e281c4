"""Accounts are kept without their secrets, checked at the services themselves, and let go whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.lab_process import LabProcess
from servers.secret_service import SecretService, is_installed
from servers.way import Way
from traindeck.domain.errors import AccessRefused, Conflict, InvalidInput, KeyringMissing, NotFound
from traindeck.domain.profiles import LAB, Profile, Provider
from traindeck.domain.secret import Credentials, Secret
from traindeck.services import retrying
from traindeck.services.secrets import CHOICE_VARIABLE
from work_bench import Bench

needs_keyring = pytest.mark.skipif(not is_installed, reason="needs dbus-daemon and gnome-keyring-daemon")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretService]:
    with SecretService(tmp_path / "keyring") as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(CHOICE_VARIABLE)
        yield service


def profile_at(lab: LabProcess, name: str = "mine", **fields: str) -> Profile:
    addresses = {"obs_endpoint": lab.obs, "modelarts_endpoint": lab.modelarts, "iam_endpoint": lab.iam, **fields}
    return Profile(name, Provider.MODELARTS, lab.region, **addresses)


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
        assert [check.passed for check in await bench.profiles.check("mine")] == [True, True, True]
        await bench.profiles.remove("mine")
        assert bench.profiles.current == LAB
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
        assert [check.passed for check in await bench.profiles.check("mine")] == [True, True, True]
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
        assert [check.passed for check in await bench.profiles.check("mine")] == [True, True, True]
        better = Credentials(lab.access_key, Secret("wrong"))
        await bench.profiles.add(profile_at(lab), better, replace_old=True, this_session_only=True)
        assert [check.passed for check in await bench.profiles.check("mine")] == [False, None, None]
        await bench.profiles.remove("mine")
        assert [profile.name for profile in bench.profiles.all()] == [LAB]


async def test_the_checks_tell_wrong_keys_from_no_answer(
    lab: LabProcess, way: Way, unused_port: int, tmp_path: Path
) -> None:
    nowhere = f"http://127.0.0.1:{unused_port}"
    cases = {
        "good": ({}, keys_of(lab), [True, True, True]),
        "wrong": ({}, Credentials(lab.access_key, Secret("wrong")), [False, None, None]),
        "unknown": ({}, Credentials("AKUNKNOWN0000000000X", Secret("SKUNKNOWN")), [False, None, None]),
        "offline": (dict.fromkeys(("obs_endpoint", "modelarts_endpoint", "iam_endpoint"), nowhere), keys_of(lab),
                    [None, None, None]),
        "no OBS": ({"obs_endpoint": nowhere}, keys_of(lab), [True, None, True]),
        "no training": ({"modelarts_endpoint": nowhere}, keys_of(lab), [True, True, None]),
        "wrong with project": ({"project_id": lab.project_id}, Credentials(lab.access_key, Secret("wrong")),
                               [False, False, False]),
    }  # fmt: skip
    async with Bench(tmp_path / "home", way) as bench:
        for name, (fields, keys, verdicts) in cases.items():
            profile = profile_at(lab, name.replace(" ", "-"), **fields)
            await bench.profiles.add(profile, keys, this_session_only=True)
            checks = await bench.profiles.check(profile.name)
            assert [check.passed for check in checks] == verdicts, name
            assert all(check.hint for check in checks if check.passed is False)
        assert [check.passed for check in await bench.profiles.check(LAB)] == [True, True, True]


@pytest.mark.parametrize(
    ("fields", "access_key", "secret_key"),
    [
        ({"name": "lab"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"name": "has blank"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({"region": "Beijing 4"}, "AKEXAMPLE", "SKEXAMPLE"),
        ({}, "", "SKEXAMPLE"),
        ({}, "AKEXAMPLE", ""),
        ({}, "AKEXAMPLE", "with\nline"),
        ({}, "全角", "SKEXAMPLE"),
    ],
)
async def test_what_no_service_could_use_is_refused_and_kept_nowhere(
    way: Way, tmp_path: Path, fields: dict[str, str], access_key: str, secret_key: str
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
        return [len(made.storage._account._client._idle._waiting) for made in bench.made]

    async with Bench(tmp_path / "home", way) as bench:
        await bench.profiles.add(profile_at(lab, project_id=lab.project_id), keys_of(lab), this_session_only=True)
        await (await bench.connections.open("mine")).storage.buckets()
        assert idle() == [1]
        renamed = profile_at(lab, project_id=lab.project_id, signature="v4")
        await bench.book.put(renamed)
        await (await bench.connections.open("mine")).storage.buckets()
        assert idle() == [0, 1]
    assert idle() == [0, 0]
