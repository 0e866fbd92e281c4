"""Finding a run, ending it, bringing its results home, and letting it go."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.stores.way import Way
from support.work_bench import BUCKET, Bench, code_in, spec
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import Conflict, InvalidInput, NoBucket, NotFound, Unreachable
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.storage.objects import ObjectPath

WRITER = """
import argparse, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
given, _ = parser.parse_known_args()
place = pathlib.Path(given.train_url)
(place / "deep").mkdir(parents=True, exist_ok=True)
(place / "model.bin").write_bytes(bytes(range(256)) * 40)
(place / "deep" / "备注.txt").write_text("done", encoding="utf-8")
"""

pytestmark = pytest.mark.usefixtures("no_waiting")


def recorded(number: str, name: str, state: RunState = RunState.COMPLETED, profile: str = LAB) -> Run:
    return Run(number, 0, name, profile, spec(), state, datetime.now(UTC))


async def removed(bench: Bench, run_id: str) -> None:
    """The job and the record; the code stays."""
    removal = bench.run_service.removal
    await removal.remove(await removal.look(run_id), code=False)


async def test_a_run_is_found_by_any_beginning_that_fits_one(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        with pytest.raises(NotFound, match="No runs yet"):
            await bench.run_service.find("last")
        for run in (recorded("aa11", "digits-1"), recorded("ab22", "digits-10"), recorded("cc33", "100%_done")):
            await bench.records.add(run)
        assert (await bench.run_service.find("last")).id == "cc33"
        assert (await bench.run_service.find("aa")).id == "aa11"
        assert (await bench.run_service.find("digits-10")).id == "ab22"
        assert (await bench.run_service.find("digits-1")).id == "aa11"  # exactly this one, though another begins so
        assert (await bench.run_service.find("100%")).id == "cc33"
        with pytest.raises(InvalidInput, match="matches 2 runs"):
            await bench.run_service.find("digits")
        await bench.records.add(recorded("2b44", "other"))
        assert (await bench.run_service.find("2")).id == "ab22", "as the list numbers it, though an ID begins so"
        assert (await bench.run_service.find("2b")).id == "2b44"
        for nobody in ("%", "_", "zz", "0", "9" * 30, "٢"):
            with pytest.raises(NotFound):
                await bench.run_service.find(nobody)


async def test_results_come_home_byte_for_byte_and_stay_in_obs_when_the_run_goes(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.watch.until_over((await bench.submitted(code_in(tmp_path / "code", WRITER))).id)
        assert run.state is RunState.COMPLETED
        outputs = {entry.path.name for entry in await bench.run_service.outputs.listed(run.id)}
        assert {"model.bin", "备注.txt"} <= outputs
        told: list[tuple[str, Path]] = []
        fetched = await bench.run_service.outputs.fetch(
            run.id, tmp_path / "home" / "到", on_folder=lambda source, into: told.append((str(source), into))
        )
        assert (tmp_path / "home" / "到" / "model.bin").read_bytes() == bytes(range(256)) * 40
        assert (tmp_path / "home" / "到" / "deep" / "备注.txt").read_text(encoding="utf-8") == "done"
        assert len(fetched.files) == 2
        assert told == [(f"obs://{BUCKET}/out/{run.name}/", tmp_path / "home" / "到")]
        gone: list[str] = []
        bench.watch.gone.add(gone.append)
        await removed(bench, run.id)
        assert gone == [run.id] and await bench.records.all() == []
        assert f"out/{run.name}/model.bin" in await bench.objects("out/")
        with way.training() as training:
            assert await training.show(run.job_id) is None


async def test_what_cannot_be_stopped_or_removed_now_says_why(way: Way, unused_port: int, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.add_account("away", modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
        running = await bench.records.add(replace(recorded("aa11", "a", RunState.RUNNING, "away"), job_id="job-1"))
        over = await bench.records.add(replace(recorded("bb22", "b", profile="away"), job_id="job-2"))
        unsent = await bench.records.add(recorded("cc33", "c", RunState.NOT_SENT, "away"))
        with pytest.raises(Conflict, match="not ended yet"):
            await removed(bench, running.id)
        with pytest.raises(Conflict, match="no job"):
            await bench.run_service.stop(unsent.id)
        # Without an answer nothing is taken for done.
        for ask in (bench.run_service.stop(running.id), removed(bench, over.id)):
            with pytest.raises(Unreachable):
                await ask
        assert {run.id: run.state for run in await bench.records.all()} == {
            "aa11": RunState.RUNNING, "bb22": RunState.COMPLETED, "cc33": RunState.NOT_SENT,
        }  # fmt: skip
        await removed(bench, unsent.id)
        with pytest.raises(NotFound):
            await bench.records.existing(unsent.id)


async def test_several_outputs_go_into_folders_of_their_names(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        outputs = tuple(Channel(name, f"obs://{BUCKET}/{name}/{{run}}/") for name in ("train_url", "metrics"))
        run = await bench.records.add(replace(recorded("aa11", "several"), spec=spec(outputs=outputs)))
        for name in ("train_url", "metrics"):
            await way.put(name.encode(), ObjectPath(BUCKET, f"{name}/several/file"))
        await bench.run_service.outputs.fetch(run.id, tmp_path / "to")
        assert (tmp_path / "to" / "train_url" / "file").read_bytes() == b"train_url"
        assert (tmp_path / "to" / "metrics" / "file").read_bytes() == b"metrics"


async def test_an_output_that_is_not_there_does_not_keep_the_others_away(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        outputs = tuple(Channel(name, f"obs://{BUCKET}/{name}/{{run}}/") for name in ("none", "metrics"))
        run = await bench.records.add(replace(recorded("aa11", "partly"), spec=spec(outputs=outputs)))
        await way.put(b"metrics", ObjectPath(BUCKET, "metrics/partly/file"))
        with pytest.raises(NotFound, match="none/partly"):
            await bench.run_service.outputs.fetch(run.id, tmp_path / "to")
        assert (tmp_path / "to" / "metrics" / "file").read_bytes() == b"metrics"


async def test_a_missing_bucket_is_not_taken_for_outputs_that_are_still_to_come(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.records.add(recorded("aa11", "early", RunState.RUNNING))
        with pytest.raises(NotFound, match="no outputs yet"):
            await bench.run_service.outputs.fetch(run.id, tmp_path / "to")
        outputs = (Channel("train_url", "obs://no-such-bucket/out/{run}/"),)
        run = await bench.records.add(replace(recorded("bb22", "lost", RunState.RUNNING), spec=spec(outputs=outputs)))
        with pytest.raises(NoBucket, match="no-such-bucket"):
            await bench.run_service.outputs.fetch(run.id, tmp_path / "to")


async def test_a_job_that_was_missing_once_is_looked_for_again_and_deleted_only_as_the_plan_says(
    way: Way, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.watch.until_over((await bench.submitted(code_in(tmp_path / "code", WRITER))).id)
        missed = await bench.records.change(run.id, gone=datetime.now(UTC))
        assert (await bench.run_service.notes.look_at_job(missed)).gone is None
        await bench.records.change(run.id, gone=datetime.now(UTC))
        plan = await bench.run_service.removal.look(run.id)
        assert plan.has_job and (await bench.records.existing(run.id)).gone is None
        await bench.run_service.removal.remove(replace(plan, has_job=False), code=False)
        with way.training() as training:
            assert await training.show(run.job_id) is not None
