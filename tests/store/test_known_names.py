"""What is offered while somebody types comes from this home, and a home in any state offers something or nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.storage.objects import ObjectRow
from traindeck.store.known_names import KnownNames
from traindeck.store.object_index import ObjectIndexes
from traindeck.store.paths import Paths
from traindeck.store.settings import Settings, SettingsFile

MINE = Profile("mine", Provider.MODELARTS, "cn-north-4")


def home_of(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path / "home")
    paths.make()
    settings = Settings(profiles=(MINE,), favourites=(("mine", "liked", "deep/er/"), ("lab", "elsewhere", "x/")))
    SettingsFile(paths.settings).change(lambda _: settings)
    with closing(ObjectIndexes(paths.index)) as indexes:
        index = indexes.open(MINE.listed_as, "data")
        index.replace("", "", None, [ObjectRow(key, 1, None, "", "") for key in ("a/1", "a/b/2", "about", "z")])
        indexes.open("lab", "of-the-lab")
    return paths


def test_buckets_and_keys_are_those_of_the_account_one_level_at_a_time(tmp_path: Path) -> None:
    known = KnownNames(home_of(tmp_path))
    assert known.accounts() == ["lab", "mine"]
    assert known.places("mine", "obs://") == ["obs://data/", "obs://liked/"]
    assert known.places(None, "obs://") == ["obs://elsewhere/", "obs://of-the-lab/"]  # the current one
    assert known.places("mine", "obs://data/a") == ["obs://data/a/", "obs://data/about"]
    assert known.places("mine", "obs://data/a/") == ["obs://data/a/1", "obs://data/a/b/"]
    assert known.places("mine", "obs://liked/") == ["obs://liked/deep/"]
    assert known.places("mine", "obs://none/") == known.places("nobody", "obs://") == []


def test_a_home_that_is_not_there_or_damaged_is_left_as_it_is_and_knows_nothing(tmp_path: Path) -> None:
    nowhere = Paths(tmp_path / "nowhere")
    assert KnownNames(nowhere).accounts() == ["lab"]
    assert not KnownNames(nowhere).runs() and not KnownNames(nowhere).places("lab", "obs://")
    assert not nowhere.home.exists()
    paths = home_of(tmp_path)
    broken = [paths.settings, paths.database, paths.transfers, *paths.index.rglob("*.sqlite3")]
    for file in broken:
        file.write_bytes(b"{ not what it was" * 99)
    known = KnownNames(paths)
    assert known.accounts() == ["lab"] and not known.runs()
    assert known.places("lab", "obs://") == ["obs://of-the-lab/"]
    assert not known.places("lab", "obs://of-the-lab/")
