"""Frozen code under ill conditions: killed, on a full disk, used by several programs, edited by anybody."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

import pytest

from support.places import inside_mount
from support.waiting import PATIENT_S, until
from traindeck.domain.errors import AppError, Conflict, LocalTrouble, NotFound
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.jobs.code.code_blobs import BlobStore
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.code.code_limits import CodeLimits
from traindeck.services.jobs.code.code_manifests import Bundle

FREEZER = """
import asyncio, sys
from pathlib import Path
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.jobs.code.code_blobs import BlobStore
from traindeck.services.jobs.code.code_bundles import CodeBundles

async def main(store, code):
    calls = BlockingCalls(1, "disk")
    bundles = CodeBundles(Path(store), calls)
    try:
        print("ready", flush=True)
        sys.stdin.readline()
        async with bundles.frozen(Path(code), "", ()) as bundle:
            print(bundle.id, flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    finally:
        calls.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def calls() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(2, "disk")
    yield calls
    calls.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "bundles"


@pytest.fixture
def bundles(store: Path, calls: BlockingCalls) -> CodeBundles:
    return CodeBundles(store, calls)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(20):
        (folder / f"f{number}.py").write_bytes(random.Random(number).randbytes(50_000))
    return folder


async def freeze(bundles: CodeBundles, folder: Path) -> Bundle:
    async with bundles.frozen(folder, "", ()) as bundle:
        return bundle


def blobs_in(store: Path) -> dict[str, Path]:
    return {place.name: place for place in store.glob("blobs/*/*")}


def all_are_whole(store: Path) -> bool:
    return all(hashlib.sha256(place.read_bytes()).hexdigest() == name for name, place in blobs_in(store).items())


def has_come_to(process: subprocess.Popen[str], store: Path, written: int) -> bool:
    return process.poll() is not None or len(list(store.glob(".part-*/*"))) + len(blobs_in(store)) >= written


async def nobody() -> Collection[str]:
    return ()


def freezer(store: Path, code: Path, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    order = [*before, sys.executable, "-c", FREEZER, str(store), str(code)]
    process = subprocess.Popen(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


async def test_killed_at_any_moment_there_is_no_half_content(bundles: CodeBundles, store: Path, code: Path) -> None:
    # Between two files, in one, and among what is put into its place.
    for written in (1, 19, 21):
        for place in blobs_in(store).values():
            place.unlink()
        process = freezer(store, code)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        await until(partial(has_come_to, process, store, written))
        process.kill()
        process.communicate(timeout=PATIENT_S)
        assert all_are_whole(store)
    bundle = await freeze(bundles, code)
    assert {file.sha256 for file in bundle.files} <= blobs_in(store).keys() and all_are_whole(store)


def test_a_full_disk_is_said_and_leaves_nothing_half(tmp_path: Path, code: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    process = freezer(home / "bundles", code, tuple(inside_mount(home, "size=512k")))
    said, _ = process.communicate("go\n", timeout=PATIENT_S)
    assert said.startswith("DiskFull The disk is full"), said


async def test_a_content_is_kept_once_however_many_files_and_bundles_have_it(
    bundles: CodeBundles, store: Path, code: Path
) -> None:
    (code / "same.py").write_bytes((code / "f0.py").read_bytes())
    first = await freeze(bundles, code)
    (code / "f1.py").write_text("edited", encoding="utf-8")
    second = await freeze(bundles, code)
    assert len(first.files) == len(second.files) == 21
    assert len(blobs_in(store)) == 21  # twenty, one of them twice, and the edited one


async def test_what_did_not_change_is_not_read_again(store: Path, calls: BlockingCalls, code: Path) -> None:
    bundles = CodeBundles(store, calls, clock_ns=lambda: time.time_ns() + 10**10)  # what was written, was long ago
    first = await freeze(bundles, code)
    victim = code / "f3.py"
    stamp = victim.stat()
    look = await bundles.look(code, ())
    assert look.new == () and len(look.tree.taken) == 20
    # Whoever sets the clock of a file back cannot do so with the time of that change.
    victim.write_bytes(victim.read_bytes()[::-1])
    os.utime(victim, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert (await bundles.look(code, ())).new == ("f3.py",)
    second = await freeze(bundles, code)
    assert [file.path for file in second.files if file not in first.files] == ["f3.py"]


async def test_a_file_written_twice_within_one_tick_is_read_twice(bundles: CodeBundles, code: Path) -> None:
    (code / "f0.py").write_text("1", encoding="utf-8")
    first = await freeze(bundles, code)
    assert "f0.py" in (await bundles.look(code, ())).new, "what was written just now is not trusted"
    (code / "f0.py").write_text("2", encoding="utf-8")
    assert (await freeze(bundles, code)).id != first.id


async def test_what_is_known_of_files_may_be_nonsense(bundles: CodeBundles, store: Path, code: Path) -> None:
    first = await freeze(bundles, code)
    (stamps,) = (store / "stamps").glob("*.json")
    for nonsense in ("{", "[]", '{"folder": 1}', json.dumps({"folder": str(code), "files": {"f0.py": [1, 2]}}),
                     json.dumps({"folder": str(code), "files": {"f0.py": [1, 2, 3, 4, "../../x", "0" * 32, 5]}}),
                     ):  # fmt: skip
        stamps.write_text(nonsense, encoding="utf-8")
        assert (await freeze(bundles, code)).id == first.id


async def test_clean_up_keeps_what_others_refer_to_or_are_about_to(
    bundles: CodeBundles, store: Path, calls: BlockingCalls, code: Path
) -> None:
    first = await freeze(bundles, code)
    (code / "f0.py").write_text("edited", encoding="utf-8")
    second = await freeze(bundles, code)

    async def referred() -> Collection[str]:
        return [second.id]

    await bundles.drop([first.id, second.id, "", "..", "0" * 32], referred)
    assert blobs_in(store).keys() == {file.sha256 for file in second.files}
    assert await bundles.open(second.id) == second
    with pytest.raises(NotFound):
        await bundles.open(first.id)
    other = CodeBundles(store, calls)  # another program
    async with other.again(second.id):
        await bundles.drop([second.id], nobody)
        assert await other.open(second.id) == second
    await bundles.drop([second.id], nobody)
    assert not blobs_in(store) and not list((store / "claims").iterdir())


async def test_two_programs_freeze_while_a_third_cleans_up(
    bundles: CodeBundles, store: Path, calls: BlockingCalls, code: Path
) -> None:
    refers_to: dict[CodeBundles, str] = {}

    async def referred() -> Collection[str]:
        return list(refers_to.values())

    async def submit(program: CodeBundles) -> None:
        for _ in range(4):
            async with program.frozen(code, "", ()) as bundle:
                refers_to[program] = bundle.id
            assert all(bundles.place(file).is_file() for file in (await program.open(bundle.id)).files)
            del refers_to[program]

    async def clean_up() -> None:
        while True:
            await bundles.drop([path.stem for path in (store / "manifests").glob("*.json")], referred)
            await asyncio.sleep(0)

    cleaner = asyncio.create_task(clean_up())
    await asyncio.gather(submit(CodeBundles(store, calls)), submit(CodeBundles(store, calls)))
    cleaner.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cleaner
    assert all_are_whole(store)


async def test_content_that_was_edited_in_the_store_is_not_sent(bundles: CodeBundles, code: Path) -> None:
    bundle = await freeze(bundles, code)
    bundles.place(bundle.files[0]).write_bytes(b"x" * bundle.files[0].size_bytes)
    with pytest.raises(LocalTrouble, match="changed after it was frozen"):
        await bundles.body(bundle.files[0])


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a/../../b", "", "a\0b"])
async def test_a_manifest_that_leads_elsewhere_is_not_one(
    bundles: CodeBundles, store: Path, code: Path, path: str
) -> None:
    bundle = await freeze(bundles, code)
    place = store / "manifests" / f"{bundle.id}.json"
    content = json.loads(place.read_bytes())
    content["files"][0][0] = path
    place.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(NotFound, match="no longer on this computer"):
        await bundles.open(bundle.id)
    with pytest.raises(NotFound):  # and what cannot be read may refer to anything
        (code / "f1.py").write_text("other", encoding="utf-8")
        other = await freeze(bundles, code)
        await bundles.drop([other.id], nobody)


class Meanwhile(CancelToken):
    """Whoever reads looks at it between two blocks; so it is the moment to write."""

    def __init__(self, write: Callable[[int], None]) -> None:
        super().__init__()
        self._write = write
        self.looked = 0

    def check(self) -> None:
        self.looked += 1
        self._write(self.looked)


@pytest.mark.parametrize("how", ["grows", "is written over"])
def test_a_file_that_does_not_stand_still_is_named(store: Path, code: Path, how: str) -> None:
    place = code / "f0.py"
    place.write_bytes(bytes(3_000_000))

    def write(looked: int) -> None:
        with place.open("ab" if how == "grows" else "rb+") as file:
            file.write(b"x" * 2_000_000)
        os.utime(place, ns=(looked, looked))

    token = Meanwhile(write)
    with pytest.raises(Conflict, match=r"“f0\.py” changes while it is read"), BlobStore(store).intake() as intake:
        intake.take(place, "f0.py", token)
    assert token.looked < 40, "what grows is not read to an end it does not have"
    assert not blobs_in(store) and not list(store.glob(".part-*"))


def test_a_file_that_changes_once_is_read_again(store: Path, code: Path) -> None:
    place = code / "f0.py"
    place.write_bytes(bytes(3_000_000))

    def write(looked: int) -> None:
        if looked == 2:
            place.write_bytes(b"1" * 3_000_000)

    token = Meanwhile(write)
    with BlobStore(store).intake() as intake:
        found, _ = intake.take(place, "f0.py", token)
        intake.end()
    assert found.sha256 == hashlib.sha256(b"1" * 3_000_000).hexdigest() and all_are_whole(store)


def test_a_folder_that_is_being_deleted_is_never_frozen_in_part(store: Path, code: Path, calls: BlockingCalls) -> None:
    """Whatever has gone by then: all of it is kept, or nothing."""
    frozen = []
    for gone_at in (1, 5, 12, 18, 20, 21, 30):
        for number in range(20):
            (code / f"f{number}.py").write_text(f"{number}", encoding="utf-8")

        def delete(looked: int, gone_at: int = gone_at) -> None:
            if looked == gone_at:
                for number in range(10, 20):
                    (code / f"f{number}.py").unlink(missing_ok=True)

        claim = store / "claims" / "one"
        try:
            bundle = CodeBundles(store, calls)._freeze(code, "f5.py", (), CodeLimits(), claim, Meanwhile(delete))
        except AppError:
            continue
        frozen.append(gone_at)
        # Either as it was before, or as it is after; never something in between.
        assert len(bundle.files) == len(list(code.iterdir())) or gone_at > 20
    assert {21, 30} <= set(frozen), "files that go after all were read do not stop it"
    assert not {5, 12} & set(frozen), "files that go while others are read do"
