"""A home that an earlier version left behind: everything in it is there, and what was begun is brought to its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.cli_commands import serving
from support.old_home import unpack
from support.servers.window_process import WindowProcess, end_all_of
from traindeck.assembly.core import Core
from traindeck.domain.settings import LANGUAGE, RATE, THEME
from traindeck.store.paths import Paths

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the paths in it are those of another system")

MIB = 1024 * 1024
_SLOWEST_S = 240.0


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of 0.1.0, at a path as people have it."""
    folder = unpack("0.1.0", tmp_path / "用户 one")
    monkeypatch.setenv("TRAINDECK_HOME", str(folder))
    yield folder
    end_all_of(folder)


def said(*words: str) -> str:
    command = [sys.executable, "-m", "traindeck", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SLOWEST_S)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout.decode()


def answer(*words: str) -> Any:
    """The one document that a command says."""
    return json.loads(said(*words, "--json"))


def objects(place: str) -> dict[str, Any]:
    """Names and sizes in a place of its Lab."""
    rows = [json.loads(line) for line in said("obs", "ls", "--profile", "lab", place, "--json").splitlines()]
    return {row["key"]: row["size"] for row in rows}


def test_commands_find_accounts_and_runs(old: Path) -> None:
    accounts = {entry["name"]: entry for entry in answer("profile", "list")}
    assert [name for name in accounts if name != "lab"] == ["work", "campus", "archive"]
    assert [name for name, entry in accounts.items() if entry["current"]] == ["work"]
    assert accounts["work"]["region"] == "cn-north-4"
    campus = accounts["campus"]
    assert campus["obs_endpoint"] == "https://store.example:9000"
    assert campus["proxy"] == "http://me@proxy.example:3128"
    assert (campus["signature"], campus["path_style"], campus["work_in"]) == ("v4", True, "obs://shared/team/")
    assert accounts["archive"]["project_id"] == "fedcba9876543210fedcba9876543210"

    runs = answer("job", "ls")
    assert [(run["number"], run["state"]) for run in runs] == [
        (4, "Failed"), (3, "Terminated"), (2, "Completed"), (1, "Completed"),
    ]  # fmt: skip
    assert {run["rerun_of"] for run in runs} == {"", runs[3]["run"]}
    assert runs[0]["reason"] == "[worker-0] training process ended with exit code 2"


def test_without_its_current_account_nothing_falls_to_the_lab(old: Path) -> None:
    said("profile", "remove", "work", "--yes")
    assert not [entry["name"] for entry in answer("profile", "list") if entry["current"]]
    command = [sys.executable, "-m", "traindeck", "--language", "en", "obs", "ls"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SLOWEST_S)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"No account is selected" in done.stderr


@pytest.mark.long
def test_commands_work_in_its_lab(old: Path) -> None:
    """Its buckets are listed, an output is fetched, and the code of then runs once more."""
    with serving():
        listed = objects("obs://team-data/photos/")
        assert listed == {"photos/raw/": None, **{f"photos/图片 {number}.txt": 10 for number in range(3)}}
        first = answer("job", "ls")[-1]
        assert "epoch 1/1 " in said("job", "logs", first["run"])
        said("job", "fetch", first["run"], "--to", str(old.parent / "results"))
        assert list((old.parent / "results").rglob("metrics.json"))
        said("job", "rerun", first["run"], "--wait")
        again = answer("job", "ls")[0]
        assert (again["number"], again["state"], again["rerun_of"]) == (5, "Completed", first["run"])


@pytest.mark.limit(_SLOWEST_S)
async def test_services_know_what_was_seen_and_chosen(old: Path) -> None:
    async with Core(Paths(old)) as core:
        settings = await core.disk.run(lambda _: core.settings.read())
        assert tuple(settings.value(one) for one in (LANGUAGE, THEME, RATE)) == ("zh_CN", "dark", 50_000_000)
        assert settings.favourites == (("lab", "team-data", "photos/"), ("work", "corpus", "2026/训练/"))
        for run in await core.records.all():
            assert core.paths.run_log(run.id, "worker-0").stat().st_size > 0
            old_place = core.paths.bundles / run.bundle
            was_there = {
                path.relative_to(old_place / "files").as_posix(): path.read_bytes()
                for path in old_place.rglob("files/**/*")
                if path.is_file()
            }
            code = await core.run_service.kept_code.of(run)
            assert "train.py" in {file.path for file in code.files} and code.git is None
            kept = {file.path: core.run_service.bundles.place(file).read_bytes() for file in code.files}
            assert kept == was_there or not was_there  # several runs share a bundle
            assert not old_place.exists() and await core.run_service.kept_code.of(run) == code
        index = (await core.listings.open("lab", "team-data")).index
        listed = await core.index.run(lambda _: index.listed("photos/", deep=False))
        assert listed == datetime(2026, 11, 19, 8, 23, 46, 980_000, UTC)
        assert await core.index.run(lambda _: index.beginning_with("photos/图片 ", 9)) == [
            "photos/图片 0.txt", "photos/图片 1.txt", "photos/图片 2.txt",
        ]  # fmt: skip


def test_the_window_goes_on_where_it_was(old: Path) -> None:
    with WindowProcess(old, "open_old_home") as window:
        seen = window.told("seen", _SLOWEST_S)
        assert seen["size"] == [1100, 700]
        assert "dock.log" in seen["docks"], "the docks of then are arranged as at the first start"
        assert "视图" in seen["words"] and seen["background"] < 128
        assert seen["account"] == "work" and seen["rate"] == 50_000_000
        assert seen["favourites"] == ["obs://team-data/photos/", "obs://corpus/2026/训练/"]
        assert len(seen["runs"]) == 4 and "完成" in str(seen["runs"])
        rows = [" ".join(row) for row in seen["transfers"]]
        for row, name in zip(rows, ("going.bin", "paused.bin", "gone.bin", "photos", "data"), strict=True):
            assert name in row
        gone_on = window.told("gone on", _SLOWEST_S)
        assert min(gone_on["least_bytes"]) >= 64 * MIB, "parts that were sent are sent again"
        assert window.ended(_SLOWEST_S) == 0
        assert window.error_text == ""
    with serving():
        wanted = {"going.bin": 96 * MIB, "paused.bin": 96 * MIB, "photos/": None}
        assert objects("obs://team-data/") == wanted
        assert said("obs", "fragments", "--profile", "lab", "obs://team-data/", "--json").strip() in ("", "[]")
