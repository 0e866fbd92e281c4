"""Outputs come home by rule, while a run goes on and after, and never over what was edited here."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job import Run
from traindeck.viewmodels.jobs.runs.output_fetches import FetchWish, OutputFetches


async def running(cloud: FolderCloud, folder: Path) -> tuple[Run, Path]:
    run = await cloud.submission.submit(digits_spec(), code_folder(folder / "code"))
    place = cloud.storage.root / "digits" / "out" / run.name
    place.mkdir(parents=True)
    return run, place


def test_what_was_typed_as_a_rule() -> None:
    assert FetchWish("*.ckpt, -tmp/**", "2GB").filters() == ((True, "*.ckpt"), (False, "tmp/**"))
    assert FetchWish("", "2GB").most_bytes() == 2_000_000_000 and FetchWish().most_bytes() == 0
    with pytest.raises(InvalidInput, match="is not a size"):
        FetchWish("", "big").most_bytes()
    with pytest.raises(InvalidInput, match="is not a pattern"):
        FetchWish("-").filters()


async def test_only_what_is_wanted_comes_and_what_was_edited_is_asked_about(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        fetches, user, target = OutputFetches(cloud.service, cloud.watch, cloud.scope), User(False), tmp_path / "here"
        run, place = await running(cloud, tmp_path)
        (place / "model.ckpt").write_bytes(b"weights")
        (place / "large.ckpt").write_bytes(bytes(5000))
        (place / "notes.txt").write_bytes(b"no")
        fetches.fetch(run, target, FetchWish("*.ckpt", "1000"), user.choose)
        await until(lambda: fetches.of(run.id).fetched is not None and not fetches.of(run.id).is_busy)
        assert [path.name for path in target.iterdir()] == ["model.ckpt"]
        done = fetches.of(run.id).fetched
        assert done is not None and [name for name, _ in done.too_large] == ["large.ckpt"]
        (target / "model.ckpt").write_bytes(b"edited here")
        fetches.fetch(run, target, FetchWish("*.ckpt", "1000"), user.choose)
        await until(lambda: user.asked and not fetches.of(run.id).is_busy)
        assert user.facts == ["model.ckpt"] and (target / "model.ckpt").read_bytes() == b"edited here"
        user.answer = True
        fetches.fetch(run, target, FetchWish("*.ckpt", "1000"), user.choose)
        await until(lambda: (target / "model.ckpt").read_bytes() == b"weights")
        await until(lambda: not fetches.of(run.id).is_busy)


async def test_outputs_are_downloaded_until_the_run_ends_also_before_the_first_is_there(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        fetches, target = OutputFetches(cloud.service, cloud.watch, cloud.scope), tmp_path / "here"
        run, place = await running(cloud, tmp_path)
        place.rmdir()
        cloud.jobs.move("Running")
        cloud.watch_runs()
        fetches.fetch(run, target, FetchWish(until_over=True), User().choose)
        await until(lambda: fetches.of(run.id).is_waiting)
        assert fetches.of(run.id).is_busy
        place.mkdir()
        (place / "1.ckpt").write_bytes(b"one")
        cloud.jobs.move("Completed", duration_ms=1000)
        cloud.watch.wake()
        await until(lambda: not fetches.of(run.id).is_busy)
        assert (target / "1.ckpt").read_bytes() == b"one"


async def test_until_the_run_ends_more_is_fetched(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        fetches, target = OutputFetches(cloud.service, cloud.watch, cloud.scope), tmp_path / "here"
        run, place = await running(cloud, tmp_path)
        cloud.jobs.move("Running")
        cloud.watch_runs()
        (place / "1.ckpt").write_bytes(b"one")
        fetches.fetch(run, target, FetchWish(until_over=True), User().choose)
        await until(lambda: fetches.of(run.id).is_waiting)
        assert (target / "1.ckpt").exists()
        (place / "2.ckpt").write_bytes(b"two")
        cloud.jobs.move("Completed", duration_ms=1000)
        cloud.watch.wake()
        await until(lambda: not fetches.of(run.id).is_busy)
        assert (target / "2.ckpt").read_bytes() == b"two"
