"""Deleting: what goes is counted and told first; what nobody knows anything of can be let go with a warning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, code_folder, digits_spec, offline
from support.many_runs import add_many, over
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.run_query import RunQuery
from traindeck.viewmodels.jobs.runs.beside_asked import asking_beside
from traindeck.viewmodels.jobs.runs.run_list import RunList


async def completed(cloud: FolderCloud, folder: Path) -> Run:
    run = await cloud.submission.submit(digits_spec(), code_folder(folder / "code"))
    cloud.jobs.move("Completed", run.job_id)
    run = await cloud.records.change(run.id, state=RunState.COMPLETED)
    cloud.watch.tell(run)
    return run


def code_files(cloud: FolderCloud, run: Run) -> list[Path]:
    place = (cloud.storage.root / run.code_url.removeprefix("obs://")).parent
    return [path for path in place.rglob("*") if path.is_file()]


async def test_what_goes_is_told_with_counts_and_bytes_and_the_code_only_when_asked(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user = cloud.run_list(), User(False)
        run = await completed(cloud, tmp_path)
        assert len(code_files(cloud, run)) == 3, "and the manifest"
        runs.remove([run.id], user.choose)
        await until(lambda: user.asked)
        assert user.asked == ["Delete “" + run.name + "”? [Delete][Delete with the code]"]
        told = " ".join(user.facts)
        assert "3 files in OBS (" in told and "2 files on this computer (21 B)" in told
        assert "Kept: the log on this computer, and obs://digits/out/" in told
        assert runs.run(run.id) is not None, "nothing goes without a yes"
        user.answer, user.way = True, "code"
        runs.remove([run.id], user.choose)
        await until(lambda: runs.run(run.id) is None)
        assert code_files(cloud, run) == [] and await cloud.records.bundles() == set()
        runs.close()


async def test_code_that_only_those_use_that_go_is_not_said_to_be_kept(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user = cloud.run_list(), User(False)
        several = [await completed(cloud, tmp_path) for _ in range(3)]
        assert len({run.bundle for run in several}) == 1
        runs.remove([run.id for run in several[:2]], user.choose)
        await until(lambda: user.asked)
        assert "Kept: code on this computer that other runs use." in user.facts
        runs.remove([run.id for run in several], user.choose)
        await until(lambda: len(user.asked) == 2)
        told = " ".join(user.facts)
        assert "that other runs use" not in told and "2 files on this computer (21 B)" in told
        user.answer, user.way = True, "code"
        runs.remove([run.id for run in several], user.choose)
        await until(lambda: not runs.state.runs)
        assert await cloud.records.bundles() == set() and not list(cloud.paths.bundles.glob("*.json"))
        runs.close()


async def test_the_code_of_many_that_were_made_of_the_same_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user, asked = cloud.run_list(), User(False), list[str]()
        one = await completed(cloud, tmp_path)
        await add_many(cloud.records, (replace(run, number=run.number + 1, bundle=one.bundle) for run in over(300)))
        ids = [run.id for run in await cloud.records.found(RunQuery())]
        using = cloud.records.using_bundle

        async def counted(bundle: str) -> list[str]:
            asked.append(bundle)
            return await using(bundle)

        monkeypatch.setattr(cloud.records, "using_bundle", counted)
        runs.refresh()
        runs.remove(ids, user.choose)
        await until(lambda: user.asked)
        assert user.asked == ["Delete 301 runs? [Delete][Delete with the code]"]
        assert len(asked) <= 8, "by those that are looked at together"
        runs.close()


async def test_the_code_stays_where_it_is_not_asked_for(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user = cloud.run_list(), User()
        run = await completed(cloud, tmp_path)
        runs.remove([run.id], user.choose)
        await until(lambda: runs.run(run.id) is None)
        assert len(code_files(cloud, run)) == 3, "and the manifest"
        runs.close()


async def test_what_cannot_be_counted_is_called_unknown(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user = cloud.run_list(), User(False)
        run = await completed(cloud, tmp_path)
        cloud.storage.trouble = offline()
        runs.remove([run.id], user.choose)
        await until(lambda: user.asked)
        assert any("size of the code in OBS is unknown" in fact for fact in user.facts)
        cloud.storage.trouble = None
        runs.close()


async def unconfirmed(cloud: FolderCloud, folder: Path, runs: RunList) -> Run:
    run = await cloud.submission.submit(digits_spec(), code_folder(folder / "code"))
    run = await cloud.records.change(run.id, state=RunState.UNCONFIRMED, job_id="")
    cloud.watch.tell(run)
    await until(lambda: runs.run(run.id) == run)
    return run


async def test_an_unsettled_run_is_let_go_with_a_warning(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user = cloud.run_list(), User()
        run = await unconfirmed(cloud, tmp_path, runs)
        runs.remove([run.id], user.choose)
        await until(lambda: runs.run(run.id) is None)
        assert user.asked == [f"Delete the record of “{run.name}”? [Delete the record]"]
        assert "goes on and is charged" in user.facts[0]
        assert len(cloud.jobs.jobs) == 1, "the job is not touched"
        runs.close()


async def test_running_again_beside_an_unsettled_run_asks(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        runs, user = cloud.run_list(), User(False)
        cloud.submission.accept_beside = asking_beside(user.choose)
        run = await unconfirmed(cloud, tmp_path, runs)
        runs.rerun(run)
        await until(lambda: user.asked and not runs.state.busy)
        assert "[Run again anyway]" in user.asked[0] and "may exist and be charged" in user.facts[0]
        assert len(cloud.jobs.jobs) == 1
        user.answer = True
        runs.rerun(run)
        await until(lambda: len(cloud.jobs.jobs) == 2)
        await until(lambda: not runs.state.busy)
        runs.close()
