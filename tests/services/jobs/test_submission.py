"""A job is recorded, uploaded and sent; once more it goes with the code of then or of now."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.stores.way import Way
from support.work_bench import (
    BUCKET,
    CREATES,
    Bench,
    Sending,
    an_intent,
    count,
    jobs_named,
    spec,
)
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    Conflict,
)
from traindeck.domain.jobs.code_choice import CodeOf
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text
from traindeck.services.jobs import run_names

pytestmark = pytest.mark.usefixtures("no_waiting")


async def test_a_job_is_recorded_uploaded_and_sent_once(sending: Sending, way: Way, code: Path) -> None:
    stages: list[str] = []

    def stage(words: Text) -> None:
        stages.append(str(words))

    async with sending() as (proxy, bench):
        told: list[Run] = []
        bench.submission.changed.add(told.append)
        run = await bench.submission.submit(spec(), code, stage=stage)
        assert [each.state for each in told[:2]] == [RunState.PREPARING, RunState.SUBMITTING]
        assert run.state.is_remote and run.job_id and run.profile == LAB and run.number == 1
        assert run == await bench.records.get(run.id)
        assert ObjectPath.parse(run.code_url).join("train.py").key in await bench.objects("traindeck/code/")
        assert count(proxy, CREATES) == await jobs_named(way, run.name) == 1
    assert stages[0].startswith("Checking") and stages[-1].startswith("Submitting")


async def test_the_code_is_that_of_the_click(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()

        def edit_meanwhile(run: Run) -> None:
            (code / "train.py").write_text("raise SystemExit(3)", encoding="utf-8")

        bench.submission.changed.add(edit_meanwhile)
        bench.watch_runs()
        run = await bench.submitted(code)
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert run.spec.code_folder == str(code.absolute())


async def test_the_same_again_needs_the_folder_no_longer(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        first = await bench.submitted(code)
        shutil.rmtree(code)
        second = await bench.submission.rerun(first.id, changes=["lines=3", "resources.stop_after=2h"])
        assert second.name != first.name and second.resubmission_of == first.id and second.bundle == first.bundle
        assert dict(second.spec.parameters)["lines"] == 3 and second.spec.stop_after == "2h"
        assert (await bench.watch.until_over(second.id)).state is RunState.COMPLETED
        assert "line 2 行" in bench.logs.file(second.id, "worker-0").read(0).decode()


async def test_five_at_once_are_five_jobs_and_share_one_connection(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        runs = await asyncio.gather(*(bench.submitted(code) for _ in range(5)))
        assert len({run.name for run in runs}) == len({run.job_id for run in runs}) == 5
        assert sorted(run.number for run in runs) == [1, 2, 3, 4, 5]
        assert len({run.bundle for run in runs}) == 1
        assert len(bench.made) == 1


async def test_the_code_of_now_is_that_of_the_folder(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        first = await bench.submitted(code)
        (code / "new.py").write_text("1", encoding="utf-8")
        then = await bench.submission.rerun(first.id)
        now = await bench.submission.rerun(first.id, code=CodeOf.NOW)
        assert then.bundle == first.bundle != now.bundle
        assert now.resubmission_of == first.id and now.profile == first.profile
        assert {file.path for file in (await bench.bundles.open(now.bundle)).files} == {"train.py", "new.py"}


async def test_code_that_is_in_obs_is_used_as_it_is_and_nothing_of_this_computer_goes(
    way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        folder = ObjectPath(BUCKET, "kept/code/")
        await way.put((code / "train.py").read_bytes(), folder.join("train.py"))
        run = await bench.submission.submit(spec(code_folder="", code_url=str(folder)), tmp_path)
        again = await bench.submission.rerun(run.id)
        with way.training() as training:
            for one in (run, again):
                form = await training.form(one.job_id, Target.LAB)
                assert form is not None and form.code_url == str(folder) and form.boot == "train.py"
        names = [name for run in (run, again) for name in await bench.objects(f"traindeck/code/{run.name}/")]
        assert names == []


@pytest.mark.parametrize("state", [RunState.UNCONFIRMED, RunState.SUBMITTING])
async def test_another_one_beside_an_unsettled_one_is_asked_about(
    sending: Sending, code: Path, state: RunState
) -> None:
    async with sending() as (proxy, bench):
        first = await bench.submitted(code)
        lost = replace(an_intent(state=state), submitted=datetime.now(UTC))
        await bench.records.add(lost)
        with pytest.raises(Conflict, match="not known whether"):
            await bench.submission.rerun(first.id)
        asked: list[str] = []

        async def accept(beside: Sequence[Run]) -> bool:
            asked.extend(run.name for run in beside)
            return True

        bench.submission.accept_beside = accept
        assert (await bench.submission.rerun(first.id)).state.is_remote
        assert asked == [lost.name] and count(proxy, CREATES) == 2


async def test_no_two_runs_have_one_name(way: Way, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job without an answer is looked up by its name: of two, one would be taken for the other."""
    monkeypatch.setattr(run_names, "_ALPHABET", "ab")
    monkeypatch.setattr(run_names, "_RANDOM", 1)
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        first, second = await bench.submitted(code), await bench.submitted(code)
        assert first.name != second.name and first.job_id != second.job_id
