"""The sample is ready in one step, and a sample somebody edited stays theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import Conflict, InvalidInput, LocalTrouble, Unreachable
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.validation import validate
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.resources import resource
from traindeck.services.jobs.sample_project import SampleProject


def sample_of(bench: Bench) -> SampleProject:
    source = resource("sample", "digits")
    return SampleProject(source, bench.paths.sample, bench.connections, bench.transfers, bench.disk)


async def data_keys(bench: Bench) -> list[str]:
    storage = (await bench.connections.open(LAB)).storage
    pages = [page async for page in storage.entries(ObjectPath("digits", "data/"), recursive=True)]
    return [entry.path.key for page in pages for entry in page]


async def test_code_is_here_and_data_in_the_lab(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        spec, place = await sample_of(bench).prepare()
        assert place == bench.paths.sample and (place / spec.boot).is_file()
        assert validate(spec) == []
        assert await data_keys(bench) != []


async def test_it_does_not_touch_what_was_edited_and_sends_the_data_once(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        sample = sample_of(bench)
        _, place = await sample.prepare()
        form = place / "job.toml"
        form.write_text(form.read_text(encoding="utf-8").replace("epochs = 30", "epochs = 2"), encoding="utf-8")
        rows = len(bench.transfers.rows())
        spec, _ = await sample.prepare()
        assert dict(spec.parameters)["epochs"] == 2
        assert len(bench.transfers.rows()) == rows


async def test_a_form_broken_by_hand_is_named_not_replaced(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        sample = sample_of(bench)
        _, place = await sample.prepare()
        (place / "job.toml").write_text("[job\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match="TOML"):
            await sample.prepare()
        assert (place / "job.toml").read_text(encoding="utf-8") == "[job\n"


async def test_it_goes_into_an_empty_folder_only(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        sample = sample_of(bench)
        (tmp_path / "空").mkdir()
        spec, place = await sample.prepare(tmp_path / "空")
        assert job_file.parse((place / "job.toml").read_text(encoding="utf-8")) == spec
        with pytest.raises(Conflict, match="not empty"):
            await sample.prepare(tmp_path / "空")
        _, place = await sample.prepare(tmp_path / "new" / "folder")
        assert (place / "train.py").is_file()


async def test_what_an_earlier_try_left_undone_is_done(way: Way, unused_port: int, tmp_path: Path) -> None:
    there = tmp_path / "p"
    async with Bench(tmp_path / "home", way.at(obs_endpoint=f"http://127.0.0.1:{unused_port}")) as bench:
        with pytest.raises(Unreachable):
            await sample_of(bench).prepare(there)
    assert (there / "train.py").is_file()
    async with Bench(tmp_path / "home", way) as bench:
        storage = (await bench.connections.open(LAB)).storage
        await storage.create_bucket("digits")
        await way.remove(*(ObjectPath("digits", key) for key in await data_keys(bench)))
        assert await sample_of(bench).fits(there)
        await sample_of(bench).prepare(there)
        assert await data_keys(bench) != []
        with pytest.raises(Conflict, match="not empty"):
            await sample_of(bench).prepare(there)


async def test_a_half_copy_is_completed_and_nothing_of_the_user_replaced(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        sample = sample_of(bench)
        _, place = await sample.prepare()
        (place / "train.py").write_text("mine", encoding="utf-8")
        (place / "job.toml").unlink()
        await sample.prepare()
        assert (place / "train.py").read_text(encoding="utf-8") == "mine" and (place / "job.toml").is_file()
        (place / "train.py").unlink()
        await sample.prepare()
        assert (place / "train.py").is_file()
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "train.py").write_text("mine", encoding="utf-8")
        assert not await sample.fits(mine)
        with pytest.raises(Conflict):
            await sample.prepare(mine)
        assert [path.name for path in mine.iterdir()] == ["train.py"]
        with pytest.raises(LocalTrouble, match="not a folder"):
            await sample.fits(mine / "train.py")
