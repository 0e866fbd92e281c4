"""The code of a run in OBS: only what is new goes up, and what the job finds is what was frozen."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from support.servers.faults import Answer, Fault, FaultyProxy, Request
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import BUCKET, Bench, code_in, spec
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import Conflict, ServiceTrouble
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.code import code_upload
from traindeck.services.jobs.code.code_upload import CodePlaces

pytestmark = pytest.mark.usefixtures("no_waiting")

FILES = {f"lib/m{number}.py": f"x = {number}\n" * 1000 for number in range(12)} | {"lib/twin.py": "x = 3\n" * 1000}
PUT_BLOB = re.compile(r"PUT \S*/traindeck/blobs/")
PUT_CODE = re.compile(r"PUT \S*/traindeck/code/\S*/code/")
LOOKS = re.compile(r"(?:GET|HEAD) \S*(?:prefix=|/)traindeck(?:/|%2F)blobs")
LISTS = re.compile(r"GET \S*prefix=traindeck(?:/|%2F)code")


class Line(FaultyProxy):
    """Also counts what goes up."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.sent: list[tuple[str, int]] = []

    async def _serve(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        self.sent.append((f"{request.method} {request.target}", len(request.body)))
        return await super()._serve(request, fault, writer)

    def forget(self) -> None:
        self.sent.clear()
        self.seen.clear()

    def count(self, wanted: re.Pattern[str]) -> int:
        return sum(1 for line in self.seen if wanted.search(line))

    def bytes(self, wanted: re.Pattern[str]) -> int:
        return sum(size for line, size in self.sent if wanted.search(line))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = code_in(tmp_path / "code")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"# {tmp_path.name}\n{content}", encoding="utf-8")
    return folder  # with contents of its own: the tests share a bucket


def over(line: Line, way: Way) -> Way:
    return way.at(obs_endpoint=line.url)


async def read(bench: Bench, place: ObjectPath) -> bytes:
    content = bytearray()

    def take(piece: bytes) -> None:
        content.extend(piece)

    await bench.planes.run(LAB, lambda plane: plane.get(place, take))
    return bytes(content)


async def is_identical(bench: Bench, run: Run) -> bool:
    """What is in the folder of the run against the manifest beside it, byte by byte."""
    places = CodePlaces(ObjectPath.parse(run.code_url))
    manifest = json.loads(await read(bench, places.manifest))
    listed = {
        key.removeprefix(places.folder.key) for key in await bench.objects(places.folder.key, places.folder.bucket)
    }
    for path, sha256, size, md5 in manifest["files"]:
        content = await read(bench, places.folder.join(path))
        same = (hashlib.sha256(content).hexdigest(), len(content), hashlib.md5(content).hexdigest())
        if same != (sha256, size, md5):
            return False
    return listed == {path for path, *_ in manifest["files"]}


async def test_only_new_contents_go_up_and_each_run_has_its_own_folder(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with Line(lab.obs) as line, Bench(tmp_path / "home", over(line, way)) as bench:
        await bench.prepare()
        first = await bench.submitted(code)
        assert line.count(LOOKS) <= 2  # what is not found is asked for once more
        assert line.count(PUT_BLOB) <= 13 and line.count(PUT_CODE) == 14  # of twins the content went up once
        assert await is_identical(bench, first)
        line.forget()
        again = await bench.submission.rerun(first.id)
        assert (line.count(PUT_BLOB), line.count(LOOKS), line.count(PUT_CODE)) == (0, 0, 14)
        assert line.bytes(PUT_CODE) == 0  # copied there
        assert await is_identical(bench, again)
        line.forget()
        (code / "lib" / "m5.py").write_text("edited", encoding="utf-8")
        third = await bench.submitted(code)
        assert line.count(PUT_BLOB) == 1 and line.bytes(PUT_BLOB) == len("edited") and line.bytes(PUT_CODE) == 0
        assert line.count(LOOKS) <= 2
        assert await is_identical(bench, third) and await is_identical(bench, first)


async def test_how_far_it_is_is_told_now_and_then_and_at_the_end(
    way: Way, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of thousands of files each would draw the window anew."""
    monkeypatch.setattr(code_upload, "_TOLD_S", 1000.0)
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        first = await bench.submitted(code)
        told: list[str] = []
        await bench.submission.rerun(first.id, stage=lambda words: told.append(str(words)))
        assert [words for words in told if "Uploading" in words] == [
            "Uploading the code: 1 of 14 files…", "Uploading the code: 14 of 14 files…",
        ]  # fmt: skip


async def test_who_knows_nothing_of_the_bucket_looks_once_and_sends_nothing(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        await bench.submitted(code)
    async with Line(lab.obs) as line, Bench(tmp_path / "colleague", over(line, way)) as bench:
        run = await bench.submitted(code)
        assert (line.count(LOOKS), line.count(PUT_BLOB), line.bytes(PUT_CODE)) == (1, 0, 0)
        assert await is_identical(bench, run)


@pytest.mark.parametrize("by_a_colleague", [False, True])
async def test_contents_that_somebody_changed_or_deleted_do_not_get_into_a_run(
    way: Way, code: Path, tmp_path: Path, by_a_colleague: bool
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        first = await bench.submitted(code)
        bundle = await bench.bundles.open(first.bundle)
        places = CodePlaces(ObjectPath.parse(first.code_url))
        same_size, shorter, gone = (places.blob(file.sha256) for file in bundle.files[:3])
        await way.put(b"y" * bundle.files[0].size_bytes, same_size)
        await way.put(b"import os", shorter)
        await way.remove(gone)
    home = "colleague" if by_a_colleague else "home"
    async with Bench(tmp_path / home, way) as bench:
        run = await bench.submitted(code)
        assert await is_identical(bench, run)
        again = await bench.submission.rerun(run.id)
        assert await is_identical(bench, again)


async def test_a_strange_file_in_the_folder_of_the_run_stops_it(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        tasks: list[asyncio.Task[None]] = []

        def plant(run: Run) -> None:
            if run.state is RunState.PREPARING:
                target = ObjectPath.parse(run.code_url).join("sitecustomize.py")
                tasks.append(asyncio.ensure_future(way.put(b"evil", target)))

        bench.submission.changed.add(plant)
        with pytest.raises(Conflict, match=r"sitecustomize\.py” is not part of the code"):
            await bench.submitted(code)
        await asyncio.gather(*tasks)
        (run,) = await bench.records.all()
        assert run.state is RunState.NOT_SENT


EMPTY_LIST = b"<ListBucketResult><Name>bench</Name><IsTruncated>false</IsTruncated></ListBucketResult>"
DENIED = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"


async def test_a_folder_that_is_not_what_was_sent_is_mended_once_and_then_given_up(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with Line(lab.obs) as line, Bench(tmp_path / "home", over(line, way)) as bench:
        await bench.prepare()
        line.only = LISTS
        line.faults.append(Answer(200, EMPTY_LIST))
        run = await bench.submitted(code)
        assert line.bytes(PUT_CODE) > 0 and await is_identical(bench, run)
        line.faults.extend([Answer(200, EMPTY_LIST)] * 2)
        with pytest.raises(ServiceTrouble, match="OBS has other content there"):
            await bench.submitted(code)


@pytest.mark.parametrize("denied", [LOOKS, PUT_CODE])
async def test_keys_that_may_not_list_or_copy_still_send(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, denied: re.Pattern[str]
) -> None:
    async with Line(lab.obs) as line, Bench(tmp_path / "home", over(line, way)) as bench:
        await bench.prepare()
        line.only = denied
        # Those under way at once are denied; what goes on after them is each file itself.
        line.faults.extend([Answer(403, DENIED)] * (14 if denied is PUT_CODE else 1))
        run = await bench.submitted(code)
        assert await is_identical(bench, run)
        assert (line.bytes(PUT_CODE) > 0) is (denied is PUT_CODE)


async def test_keys_restricted_to_a_folder_keep_the_code_in_it(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        await bench.add_account("campus")
        profile = bench.connections.profile("campus")
        await bench.book.put(replace(profile, work_in=f"obs://{BUCKET}/team/"))
        run = await bench.submission.submit(spec(target=Target.MODELARTS), code, "campus")
        assert run.code_url == f"obs://{BUCKET}/team/traindeck/code/{run.name}/code/"
        names = [name.rpartition("/")[2] for name in await bench.objects("team/traindeck/blobs/")]
        assert len(names) == 13 and not set(names) & {
            name[-64:] for name in await bench.objects("traindeck/blobs/")
        } - {hashlib.sha256((code / "train.py").read_bytes()).hexdigest()}


async def test_a_folder_that_is_deleted_right_after_the_click_runs_as_it_was(
    way: Way, code: Path, tmp_path: Path
) -> None:
    expected = {path.relative_to(code).as_posix(): path.read_bytes() for path in code.rglob("*.py")}
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()

        def delete(run: Run) -> None:
            shutil.rmtree(code, ignore_errors=True)

        bench.submission.changed.add(delete)
        bench.watch_runs()
        run = await bench.submitted(code)
        assert not code.exists() and await is_identical(bench, run)
        folder = ObjectPath.parse(run.code_url)
        assert {path: await read(bench, folder.join(path)) for path in expected} == expected
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
