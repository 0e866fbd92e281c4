"""The Lab starts itself, once, whoever asks for it; it ends with its owner or when nobody needs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import psutil
import pytest

from support.waiting import AT_ONCE_S, PATIENT_S, until
from traindeck.assembly import lab_keeper, lab_link
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.errors import LocalTrouble
from traindeck.domain.lab import LabState
from traindeck.domain.texts import CHINESE
from traindeck.lab import root_folder
from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import LabAddress


@asynccontextmanager
async def linked(root: Path, life: LabLife = LabLife.OWNED) -> AsyncIterator[LabLink]:
    async with AsyncExitStack() as owned:
        calls = BlockingCalls(2, "lab")
        owned.callback(calls.close)
        link = LabLink(root, life, calls)
        owned.push_async_callback(link.close)
        yield link


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "家 home").mkdir()
    return tmp_path / "家 home" / "lab"


@pytest.fixture
def children() -> Callable[[], list[psutil.Process]]:
    """What this test has started: a Lab that other tests share may be there, too."""
    before = set(psutil.Process().children())
    return lambda: [child for child in psutil.Process().children() if child not in before]


def process_of(root: Path) -> psutil.Process:
    return psutil.Process(json.loads((root / "running.json").read_text())["pid"])


@contextmanager
def ending(root: Path) -> Iterator[None]:
    """A Lab in the background is ended as the user would, by its process."""
    try:
        yield
    finally:
        if (root / "running.json").exists():
            process = process_of(root)
            process.terminate()
            process.wait(PATIENT_S)


async def test_the_first_who_asks_starts_it_and_it_ends_with_its_owner(root: Path) -> None:
    async with linked(root) as link:
        news: list[LabAddress | None] = []
        link.news.add(news.append)
        assert not link.owns_process
        first, second = await asyncio.gather(link.address(), link.address())
        assert first == second == (await link.address())
        assert first.profile.is_lab and first.credentials.secret_key and first.profile.project_id
        assert link.owns_process and news == [first]
        process = process_of(root)
    assert not process.is_running()
    assert not (root / "running.json").exists()


async def test_two_programs_that_start_it_at_the_same_moment_share_one(
    root: Path, children: Callable[[], list[psutil.Process]]
) -> None:
    async with linked(root) as one, linked(root) as two, linked(root) as three:
        links = (one, two, three)
        found = await asyncio.gather(*(link.address() for link in links))
        assert len({address.instance for address in found}) == 1
        assert sum(link.owns_process for link in links) == 1
        await until(lambda: len(children()) == 1)


async def test_one_in_the_background_outlives_the_program_and_is_found_again(root: Path) -> None:
    with ending(root):
        async with linked(root, LabLife.BACKGROUND) as link:
            before = await link.address()
            assert not link.owns_process
        async with linked(root) as other:
            assert await other.address() == before
            assert not other.owns_process
        assert process_of(root).is_running()


LEAVES = """
import asyncio, sys
from pathlib import Path
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.runtime.blocking import BlockingCalls

async def main():
    calls = BlockingCalls(2, "lab")
    await LabLink(Path(sys.argv[1]), LabLife.BACKGROUND, calls).address()
    calls.close()

asyncio.run(main())
"""


def test_a_program_that_leaves_one_running_ends_without_a_complaint(root: Path) -> None:
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", LEAVES, str(root)]
    with ending(root):
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert process_of(root).is_running()


async def test_one_let_go_finishes_alone(root: Path) -> None:
    with ending(root):
        async with linked(root) as link:
            before = await link.address()
            await link.close(keep_running=True)
        async with linked(root, LabLife.BACKGROUND) as link:
            assert await link.address() == before


async def test_one_let_go_that_ended_leaves_no_zombie(root: Path, children: Callable[[], list[psutil.Process]]) -> None:
    async with linked(root, LabLife.BACKGROUND) as link:
        await link.address()
        first = process_of(root)
        first.kill()
        await until(lambda: not first.is_running() or first.status() == psutil.STATUS_ZOMBIE)
        with ending(root):
            await link.address()
            assert first.pid not in {child.pid for child in children()}


async def test_one_that_was_killed_is_started_again_with_the_same_keys(root: Path) -> None:
    async with linked(root) as link:
        before = await link.address()
        news: list[LabAddress | None] = []
        link.news.add(news.append)
        killed = process_of(root)
        killed.kill()
        await asyncio.to_thread(killed.wait, 10)
        after = await link.address()
        assert after.instance != before.instance
        assert after.credentials == before.credentials and after.profile.project_id == before.profile.project_id
        assert news == [after]


@pytest.fixture
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine so loaded that no answer comes while somebody waits for it."""
    monkeypatch.setattr(root_folder, "_ANSWER_S", 0.0)


@pytest.mark.usefixtures("in_no_time")
async def test_one_that_answers_late_is_used_and_no_other_is_started(root: Path) -> None:
    async with linked(root) as link, linked(root) as other:
        first = await link.address()
        started = process_of(root)
        news: list[LabAddress | None] = []
        link.news.add(news.append)
        assert await link.address() == await other.address() == first
        assert await link.is_running() and news == []
        assert link.owns_process and not other.owns_process
        assert process_of(root) == started


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be made to pause there")
async def test_one_that_does_not_answer_for_a_while_is_not_taken_for_dead(
    root: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], list[psutil.Process]]
) -> None:
    monkeypatch.setattr(root_folder, "_ANSWER_S", 0.2)
    async with linked(root) as link, linked(root) as other:
        first = await link.address()
        paused = process_of(root)
        paused.suspend()
        try:
            assert await link.address() == await other.address() == first
            assert [child.pid for child in children()] == [paused.pid]
        finally:
            paused.resume()
        assert await link.address() == first


@pytest.mark.skipif(os.name == "nt", reason="there are no zombies")
async def test_one_that_died_is_known_to_be_dead_before_its_parent_asks(root: Path) -> None:
    async with linked(root) as link, linked(root) as other:
        await link.address()
        killed = process_of(root)
        os.kill(killed.pid, signal.SIGKILL)
        await until(lambda: killed.status() == psutil.STATUS_ZOMBIE)
        assert lab_keeper.seen(root).state is LabState.STOPPED
        assert not await other.is_running()


async def test_files_in_the_current_folder_that_are_called_like_pythons_do_not_stop_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("queue", "json", "ssl", "traindeck", "logging"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the wrong place')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    async with linked(root) as link:
        assert (await link.address()).instance
        assert Path(process_of(root).cwd()) != tmp_path


async def test_its_own_sentence_is_shown_once(root: Path, children: Callable[[], list[psutil.Process]]) -> None:
    root.write_text("a file where the folder should be", encoding="utf-8")
    async with linked(root) as link:
        with pytest.raises(LocalTrouble) as caught:
            await link.address()
    said = caught.value.sentence()
    assert said.startswith("The Lab could not be started.")
    assert said.count(str(root)) == 1 and "Error:" not in said and "Traceback" not in said
    assert not caught.value.detail.startswith("{")
    assert children() == []


async def test_its_sentence_is_in_the_language_in_use(root: Path) -> None:
    root.write_text("a file where the folder should be", encoding="utf-8")
    language.speak(CHINESE)
    async with linked(root) as link:
        with pytest.raises(LocalTrouble) as caught:
            await link.address()
    assert caught.value.sentence().startswith("Lab 无法启动。")
    assert "The Lab" not in caught.value.sentence()


async def test_whoever_answers_where_an_old_lab_was_is_not_taken_for_one(root: Path) -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"220 mail.example ready\r\n")
        writer.close()

    server = await asyncio.start_server(garbage, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    root.mkdir()
    facts = {"pid": os.getpid(), "instance": "x", "obs": address, "modelarts": address, "iam": address}
    (root / "running.json").write_text(json.dumps(facts), encoding="utf-8")
    try:
        async with linked(root) as link:
            found = await link.address()
            assert found.profile.modelarts_endpoint != address and found.instance != "x"
    finally:
        server.close()
        await server.wait_closed()


async def test_a_program_that_leaves_while_it_starts_leaves_nothing_behind(
    root: Path, children: Callable[[], list[psutil.Process]]
) -> None:
    async with linked(root) as link:
        task = asyncio.ensure_future(link.address())
        await until(children)
        (child,) = children()
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - begin < AT_ONCE_S
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


async def test_one_that_never_says_a_word_is_given_up_and_ended(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], list[psutil.Process]]
) -> None:
    monkeypatch.setattr(lab_link, "_START_S", 0.5)
    silent = tmp_path / "silent"
    silent.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n", encoding="utf-8")
    silent.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(silent))
    async with linked(root) as link:
        with pytest.raises(LocalTrouble, match="could not be started"):
            await link.address()
    assert children() == []


async def test_a_python_that_is_gone_is_said_to_be_so(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    async with linked(root) as link:
        with pytest.raises(LocalTrouble, match="could not be started"):
            await link.address()


async def test_whoever_leaves_while_it_is_being_started_leaves_none_behind(
    root: Path, children: Callable[[], list[psutil.Process]]
) -> None:
    async with linked(root) as link, asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(link.address())
        await until(children)
        asking.cancel()
    assert not children()
