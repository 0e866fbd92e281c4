"""Settings on disk: whole, shared, refused when newer."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from traindeck.domain.accounts.profiles import NO_PROFILE, Profile, Provider, Signature
from traindeck.domain.errors import LocalTrouble
from traindeck.domain.settings import LANGUAGE, RATE, THEME
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.paths import Paths
from traindeck.store.settings import ProfileStore, SettingsFile


def profile(name: str) -> Profile:
    return Profile(name, Provider.MODELARTS, "cn-north-4", signature=Signature.V4, key_hint="AKEX…01")


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    with closing(BlockingCalls(8, "disk")) as calls:
        yield calls


async def test_profiles_come_back_and_the_none_is_current_after_the_current_one_is_removed(
    tmp_path: Path, disk: BlockingCalls
) -> None:
    shelf = ProfileStore(SettingsFile(tmp_path / "settings.json"), disk)
    await shelf.put(profile("work"))
    await shelf.put(replace(profile("work"), region="cn-east-3"))
    await shelf.use("work")
    again = ProfileStore(SettingsFile(tmp_path / "settings.json"), disk)
    assert again.all() == []  # nothing is read behind anybody's back
    await again.read()
    assert [entry.region for entry in again.all()] == ["cn-east-3"]
    assert again.current == "work"
    await again.remove("work")
    assert shelf.current == "work"
    await shelf.read()
    assert shelf.current == NO_PROFILE
    await shelf.put(profile("next"))
    await again.read()
    assert again.current == NO_PROFILE


async def test_two_programs_do_not_undo_each_other(tmp_path: Path, disk: BlockingCalls) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(24):
            shelf = ProfileStore(SettingsFile(tmp_path / "settings.json"), disk)
            group.create_task(shelf.put(profile(f"p{number}")))
    assert len(SettingsFile(tmp_path / "settings.json").read().profiles) == 24


def test_profiles_of_an_older_program_are_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    entry = {
        "name": "work", "provider": "modelarts", "region": "cn-east-3", "obs_endpoint": "", "iam_endpoint": "",
        "modelarts_endpoint": "", "project_id": "p", "signature": "auto", "path_style": False, "ca_file": "",
    }  # fmt: skip
    path.write_text(json.dumps({"schema": 1, "current_profile": "work", "profiles": [entry]}), encoding="utf-8")
    (found,) = SettingsFile(path).read().profiles
    assert (found.name, found.project_id, found.proxy, found.work_in) == ("work", "p", "", "")
    later = replace(found, proxy="http://ann@proxy:3128", work_in="obs://team/ann/")
    SettingsFile(path).change(lambda settings: replace(settings, profiles=(later,)))
    assert SettingsFile(path).read().profiles == (later,)


async def test_an_endpoint_of_a_file_that_cannot_be_changed_is_clean_in_memory(
    tmp_path: Path, disk: BlockingCalls
) -> None:
    path = tmp_path / "settings.json"
    entry = {"name": "a", "provider": "modelarts", "region": "r", "signature": "v4"}
    entry["modelarts_endpoint"] = "https://user:secret-word@host"
    path.write_text(json.dumps({"schema": 1, "profiles": [entry]}), "utf-8")
    before = path.read_bytes()
    (tmp_path / "settings.json.lock").mkdir()  # nobody may change the file, not even an administrator
    book = ProfileStore(SettingsFile(path), disk)
    await book.read()
    assert book.cleaned == ("a",) and book.not_cleaned is not None
    assert book.all()[0].modelarts_endpoint == "https://host" and path.read_bytes() == before


def test_a_newer_or_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for content in (json.dumps({"schema": 99}), "{ not json", "[]"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(LocalTrouble):
            SettingsFile(path).change(lambda settings: settings.with_values({"theme": "dark"}))
        assert path.read_text(encoding="utf-8") == content


def test_what_another_version_or_a_typing_error_left_in_the_file_stays_in_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    content = {"schema": 1, "language": "zh_CN", "theme": "pink", "bytes_per_s": -5, "later": {"a": 1}}
    path.write_text(json.dumps(content), encoding="utf-8")
    found = SettingsFile(path).read()
    assert (found.value(LANGUAGE), found.value(THEME), found.value(RATE)) == ("zh_CN", "", 0)
    SettingsFile(path).change(lambda settings: settings.with_values({"theme": "dark"}))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert (kept["theme"], kept["bytes_per_s"], kept["later"], kept["language"]) == ("dark", -5, {"a": 1}, "zh_CN")


def test_one_variable_moves_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRAINDECK_HOME", str(tmp_path / "elsewhere"))
    paths = Paths.for_user()
    assert {paths.database.parent, paths.settings.parent, paths.lab.parent} == {tmp_path / "elsewhere"}


def test_a_home_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LocalTrouble, match="is a file, not a folder"):
        Paths(tmp_path / "file" / "home").make()


@pytest.mark.skipif(os.name == "nt", reason="rights of another kind")
def test_an_open_home_is_closed_and_one_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    Paths(home).make()
    assert home.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: home.stat().st_uid + 1)
    with pytest.raises(LocalTrouble, match="belongs to another user"):
        Paths(home).make()
    assert list(home.iterdir()) == []
