"""Code in OBS that no run refers to any more: what two homes on one account, and a run on its way, still need stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.jobs.code.test_code_upload import is_identical
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import BUCKET, Bench, code_in
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.code.code_cleaning import CodeCleaning, UnusedCode
from traindeck.services.jobs.code.code_upload import CodePlaces

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
        bench.records, bench.connections, bench.planes, bench.bundles,
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

        assert await cleaning(mine).remove(LAB, found) == 1
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
