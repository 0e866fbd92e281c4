"""What is chosen takes effect at once, is kept alone, and another program's choice is not undone."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from support.qt_support import until
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.settings import LINKS, RATE, STORE_MD5, THEME
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.store.settings import SettingsFile
from traindeck.viewmodels.shell.preferences import Preferences


class Bench:
    def __init__(self, home: Path, scope: TaskScope, disk: BlockingCalls, asked: dict[str, str] | None = None) -> None:
        self.file = SettingsFile(home / "settings.json")
        self.scope = scope
        self.preferences = Preferences(self.file, disk, scope, self.file.read(), asked)
        self.told: list[str] = []
        self.preferences.changed.connect(self.told.append)

    async def kept(self) -> dict[str, object]:
        await until(lambda: not self.scope.is_running("keep the preferences"))
        content: dict[str, object] = json.loads((self.file._path).read_text(encoding="utf-8"))
        return content


@asynccontextmanager
async def bench(home: Path, asked: dict[str, str] | None = None) -> AsyncIterator[tuple[Bench, list[AppError]]]:
    troubles: list[AppError] = []
    with closing(BlockingCalls(2, "disk")) as disk:
        async with TaskScope(lambda _, error: troubles.append(error)) as scope:
            yield Bench(home, scope, disk, asked), troubles


async def test_each_change_is_told_kept_and_put_back(tmp_path: Path) -> None:
    async with bench(tmp_path) as (at, _):
        at.preferences.choose(RATE, 5_000_000)
        at.preferences.choose(RATE, 5_000_000)
        assert (at.told, at.preferences.value(RATE), at.preferences.is_chosen("bytes_per_s")) == (
            ["bytes_per_s"], 5_000_000, True,
        )  # fmt: skip
        assert (await at.kept())["bytes_per_s"] == 5_000_000
        at.preferences.reset("bytes_per_s")
        assert (at.preferences.value(RATE), at.preferences.is_chosen("bytes_per_s")) == (0, False)
        assert "bytes_per_s" not in await at.kept()


async def test_two_programs_lose_nothing_of_each_other_and_the_last_one_wins_each_setting(tmp_path: Path) -> None:
    async with bench(tmp_path) as (one, _), bench(tmp_path) as (other, _):
        one.preferences.choose(THEME, "dark")
        await one.kept()
        other.preferences.choose(THEME, "light")
        await other.kept()
        one.preferences.choose(STORE_MD5, True)  # says nothing about the theme: that of the other program stays
        kept = await one.kept()
        assert (kept["theme"], kept["store_md5"]) == ("light", True)
        assert one.preferences.theme == "light"
        await other.preferences.load()
        assert other.preferences.value(STORE_MD5) is True
        assert other.told == ["theme", "store_md5"]


async def test_what_was_asked_for_at_the_start_holds_and_is_not_kept(tmp_path: Path) -> None:
    async with bench(tmp_path, {"theme": "dark", "language": "en"}) as (at, _):
        assert (at.preferences.theme, at.preferences.language) == ("dark", "en")
        at.preferences.choose(STORE_MD5, True)
        assert "theme" not in await at.kept()
        at.preferences.choose(THEME, "")  # as it comes, which is another than what was asked for
        assert (at.preferences.theme, at.told) == ("", ["store_md5", "theme"])


async def test_a_disk_that_does_not_take_it_is_said_and_the_next_change_brings_all_of_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as (at, troubles):
        at.file._path.mkdir()
        at.preferences.choose(THEME, "dark")
        await until(lambda: len(troubles) == 1)
        assert at.preferences.theme == "dark"
        at.file._path.rmdir()
        at.preferences.choose(STORE_MD5, True)
        kept = await at.kept()
        assert (kept["theme"], kept["store_md5"]) == ("dark", True)


async def test_a_value_that_cannot_be_is_refused_and_a_damaged_one_stays_until_another_is_chosen(
    tmp_path: Path,
) -> None:
    damaged = {"schema": 1, "links": "sideways"}
    (tmp_path / "settings.json").write_text(json.dumps(damaged), encoding="utf-8")
    async with bench(tmp_path) as (at, _):
        assert (at.preferences.value(LINKS), at.preferences.is_damaged("links")) == ("skip", True)
        with pytest.raises(InvalidInput):
            at.preferences.choose(LINKS, "upwards")
        at.preferences.choose(STORE_MD5, True)
        assert (await at.kept())["links"] == "sideways"
        at.preferences.choose(LINKS, "skip")
        assert not at.preferences.is_damaged("links")
        assert "links" not in await at.kept()


async def test_settings_go_out_and_come_in_whole_and_without_accounts(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    copy = tmp_path / "copy.toml"
    async with bench(tmp_path / "here") as (here, _), bench(tmp_path / "there") as (there, _):
        here.preferences.choose(THEME, "dark")
        here.preferences.choose(RATE, 7_000_000)
        await here.kept()
        await here.preferences.save_copy(copy)
        assert not {"profile", "favourite", "key_hint"} & set(copy.read_text(encoding="utf-8").split())
        assert await there.preferences.take_copy(copy) == 2
        assert (there.preferences.theme, there.preferences.value(RATE)) == ("dark", 7_000_000)
        assert (await there.kept())["bytes_per_s"] == 7_000_000
        for wrong in (b"theme = 'light'\nrate = 3", b"\xff\xfe", b"#" * 70_000):
            copy.write_bytes(wrong)
            with pytest.raises(InvalidInput):
                await there.preferences.take_copy(copy)
        assert there.preferences.theme == "dark"
