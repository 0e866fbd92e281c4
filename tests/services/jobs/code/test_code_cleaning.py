"""Code in OBS that no run refers to any more: what two homes on one account, and a run on its way, still need stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.jobs.code.test_code_upload import is_identical
from support.servers.faults import Answer, Reset
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import BUCKET, Bench, code_in, sending_over
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.code.code_cleaning import CodeCleaning, UnusedCode
from traindeck.services.jobs.code.code_upload import CodePlaces
from traindeck.services.jobs.locks import held

pytestmark = pytest.mark.usefixtures("no_waiting")
NO_AGE = timedelta(0)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabProcess]:
    """One for each test: what is in the bucket is counted."""
    with LabProcess(tmp_path / "lab") as process:
        yield process


def code_of(folder: Path, *names: str) -> Path:
    code_in(folder)
    for name in names:
        (folder / name).write_text(f"# {name}\n", encoding="utf-8")
    return folder


def cleaning(bench: Bench) -> CodeCleaning:
    return CodeCleaning(
        bench.records, bench.connections, bench.planes, bench.bundles, bench.submission.alone,
        clock=lambda: datetime.now(UTC) + timedelta(minutes=1),
    )  # fmt: skip


async def look(bench: Bench, age: timedelta = NO_AGE) -> UnusedCode:
    (places,) = await cleaning(bench).places(LAB)
    return await cleaning(bench).look(LAB, places, age)


async def let_go(bench: Bench, run: Run) -> None:
    bench.watch_runs()
    await bench.watch.until_over(run.id)
    removal = bench.run_service.removal
    await removal.remove(await removal.look(run.id), code=True)


async def test_what_another_home_still_refers_to_stays_and_the_rest_goes_when_asked(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "mine", way) as mine, Bench(tmp_path / "colleague", way) as theirs:
        await mine.prepare()
        kept = await mine.submitted(code_of(tmp_path / "kept", "all.py"))
        gone = await mine.submitted(code_of(tmp_path / "gone", "all.py", "ours.py", "both.py"))
        colleague = await theirs.submitted(code_of(tmp_path / "theirs", "all.py", "both.py", "theirs.py"))
        assert (await look(mine)).unused == ()
        await let_go(mine, gone)
        found = await look(mine)
        assert [row.size_bytes for row in found.unused] == [len("# ours.py\n")] and len(found.kept) == 4
        young = await look(mine, timedelta(days=1))
        assert young.unused == () and young.young == found.unused
        strange = [found.place.join("readme.txt"), found.place.join(f"zz/{'0' * 64}")]
        await way.put(b"mine", *strange)
        assert (await look(mine)).unused == found.unused

        assert await cleaning(mine).remove(LAB, found) == found.unused
        left = set(await mine.objects("traindeck/blobs/"))
        assert len(left) == 6 and {place.key for place in strange} <= left
        assert await is_identical(mine, kept) and await is_identical(theirs, colleague)
        # Whoever needs it again sends it again, also a home that believes it to be there.
        again = await mine.submitted(code_of(tmp_path / "gone", "all.py", "ours.py", "both.py"))
        assert await is_identical(mine, again)
        await cleaning(theirs).remove(LAB, UnusedCode(found.places, (await look(theirs)).kept))
        assert await mine.objects("traindeck/blobs/") == [place.key for place in strange]
        rerun = await theirs.submission.rerun(colleague.id)
        assert await is_identical(theirs, rerun) and await is_identical(mine, await mine.submission.rerun(again.id))


@pytest.mark.parametrize("manifest", [None, b"<html>", b'{"version": 99}'])
async def test_a_run_on_its_way_or_with_a_manifest_nobody_understands_keeps_its_code(
    way: Way, tmp_path: Path, manifest: bytes | None
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.submitted(code_of(tmp_path / "code", "one.py"))
        places = CodePlaces(ObjectPath.parse(run.code_url))
        await way.remove(places.manifest)
        if manifest is not None:
            await way.put(manifest, places.manifest)
        found = await look(bench)
        assert found.unused == () and len(found.kept) == 2 and found.unread == (run.name,)


async def test_an_account_without_runs_has_no_places_and_an_empty_bucket_nothing(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        assert await cleaning(bench).places(LAB) == []
        empty = await cleaning(bench).look(LAB, CodePlaces.of_run(ObjectPath(BUCKET), "run", "code"))
        assert (empty.unused, empty.kept, empty.young, empty.unread) == ((), (), (), ())


REFUSED = Answer(400, b'{"error_code": "ModelArts.2815", "error_msg": "quota"}', {"Content-Type": "application/json"})


async def refused(bench: Bench, folder: Path) -> Run:
    """A run whose code arrived, and whose job was refused."""
    with pytest.raises(AppError, match="quota"):
        await bench.submitted(folder)
    (newest,) = await bench.records.all(1)
    assert newest.state is RunState.NOT_SENT
    return newest


async def folders(bench: Bench) -> set[str]:
    return {key.split("/")[2] for key in await bench.objects("traindeck/code/")}


async def test_folders_of_runs_that_never_became_jobs_go_when_asked(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    async with sending_over(lab, way, tmp_path / "home") as (proxy, bench):
        sent = await bench.submitted(code_of(tmp_path / "good", "shared.py"))
        proxy.faults.extend([REFUSED] * 3)
        never = [await refused(bench, code_of(tmp_path / name, "shared.py", name)) for name in ("a.py", "b.py", "c.py")]
        found = await look(bench)
        assert {one.run_name for one in found.folders} == {run.name for run in never}
        assert found.folder_files == 3 * 4 and found.unread == ()
        assert len(found.unused) == 3 and len(found.kept) == 2, "their own contents go with them"
        young = await look(bench, timedelta(days=1))
        assert young.folders == () == young.unused and len(young.young_folders) == 3

        assert await cleaning(bench).remove(LAB, found) == found.removable and len(found.removable) == 3 * 4 + 3
        assert await folders(bench) == {sent.name} and await is_identical(bench, sent)
        assert (await look(bench)).folders == ()
        # Their frozen code is on this computer, so that they can still be run again.
        again = await bench.submission.rerun(never[0].id)
        assert again.state.is_remote and await is_identical(bench, again)


async def test_a_folder_that_a_run_uses_or_may_use_stays(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    async with sending_over(lab, way, tmp_path / "home") as (proxy, bench):
        code = code_of(tmp_path / "code", "one.py")
        proxy.faults.extend([REFUSED] * 5)
        names = ("open", "busy", "claimed", "used", "gone")
        runs = {name: await refused(bench, code) for name in names}
        proxy.faults.append(Reset())
        late = await bench.submitted(code)
        assert late.state is RunState.NOT_SENT
        await bench.records.change(runs["open"].id, state=RunState.UNCONFIRMED, submitted=datetime.now(UTC))
        user = await bench.submitted(code)
        elsewhere = replace(user.spec, code_folder="", code_url=runs["used"].code_url)
        await bench.records.change(user.id, spec=elsewhere)

        found = await look(bench)
        assert {one.run_name for one in found.folders} == {runs[name].name for name in ("busy", "claimed", "gone")}
        await bench.records.change(runs["claimed"].id, state=RunState.RUNNING, job_id="job-1")
        async with held(bench.paths.run(runs["busy"].id) / "submission.lock", bench.disk):
            removed = await cleaning(bench).remove(LAB, found)
        assert {row.key.split("/")[2] for row in removed if "/code/" in row.key} == {runs["gone"].name}
        assert await folders(bench) == {late.name, user.name} | {run.name for run in runs.values()} - {
            runs["gone"].name
        }


async def test_a_folder_of_another_home_stays(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    async with sending_over(lab, way, tmp_path / "theirs") as (proxy, theirs):
        proxy.faults.append(REFUSED)
        await refused(theirs, code_of(tmp_path / "code", "one.py"))
        async with Bench(tmp_path / "mine", way) as mine:
            await mine.submitted(code_of(tmp_path / "code", "one.py"))
            assert (await look(mine)).folders == ()
