"""The program's own log is bounded, says what happened, and holds no secret, whatever went wrong."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.lab_process import LabProcess
from support.servers.secret_service import SecretService, is_installed
from support.waiting import PATIENT_S
from traindeck.assembly.app_log import log_to
from traindeck.domain.errors import LocalTrouble

TESTS = Path(__file__).parent.parent


def test_it_is_written_while_it_is_wanted_and_the_logging_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "日志" / "traindeck.log"
    root, ours = logging.getLogger(), logging.getLogger("traindeck.test")
    before = (list(root.handlers), root.level)
    with log_to(path):
        ours.info("noticed 注意")
        logging.getLogger("obs").warning("signed address")
        logging.getLogger("urllib3.connectionpool").debug("GET /?AccessKeyId=x")
        logging.getLogger("py.warnings").warning("something old is used")
        logging.getLogger("qt").warning("a widget has no parent")
        logging.getLogger("qt").info("a font was found")
    ours.info("too late")
    assert (list(root.handlers), root.level) == before
    content = path.read_text(encoding="utf-8")
    assert "INFO traindeck.test: noticed 注意" in content and str(os.getpid()) in content
    assert "something old" in content and "no parent" in content and "a font" not in content
    assert "signed address" not in content and "AccessKeyId" not in content and "too late" not in content


def test_who_has_something_to_say_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    path, ours = tmp_path / "traindeck.log", logging.getLogger("traindeck.test")
    writers: list[str] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and arguments[0] == str(path):
            writers.append(threading.current_thread().name)

    watching = True
    sys.addaudithook(watch)  # for good; it does nothing later
    try:
        with log_to(path):
            try:
                raise ValueError("with its traceback")
            except ValueError:
                ours.exception("a mistake: %s", "named")
    finally:
        watching = False
    assert writers and threading.main_thread().name not in writers
    content = path.read_text(encoding="utf-8")
    assert "a mistake: named" in content and content.count("ValueError: with its traceback") == 1


def test_a_line_that_comes_too_late_begins_nothing_anew(tmp_path: Path) -> None:
    """Another thread may have its handlers in hand already when they are closed."""
    path, root = tmp_path / "log" / "traindeck.log", logging.getLogger()
    before = set(root.handlers)
    with log_to(path):
        (handler,) = set(root.handlers) - before
    threads = set(threading.enumerate())
    handler.handle(logging.LogRecord("traindeck.test", logging.INFO, __file__, 1, "late", None, None))
    assert set(threading.enumerate()) == threads
    assert list(path.parent.iterdir()) == []


def test_it_never_grows_beyond_its_bounds(tmp_path: Path) -> None:
    with log_to(tmp_path / "log" / "traindeck.log", lambda: 2_000):
        for number in range(400):
            logging.getLogger("traindeck.test").info("line %d", number)
    files = list((tmp_path / "log").glob("traindeck*"))
    assert len(files) == 3
    assert all(path.stat().st_size <= 2_100 for path in files)
    assert "line 399" in (tmp_path / "log" / "traindeck.log").read_text(encoding="utf-8")


WRITES = """
import logging, os, sys, time
from pathlib import Path
from traindeck.assembly import app_log
path, mine = Path(sys.argv[1]), f" {os.getpid()} INFO "
with app_log.log_to(path, lambda: 5_000):
    logging.getLogger("traindeck.test").info("%s begins", sys.argv[2])
    # Its file is its own from the first line on, which another thread writes.
    while not any(mine in file.read_text(encoding="utf-8") for file in path.parent.glob("*.log")):
        time.sleep(0.01)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(500):
        logging.getLogger("traindeck.test").info("%s line %d", sys.argv[2], number)
"""


def test_programs_at_the_same_time_do_not_rotate_each_others_file(tmp_path: Path) -> None:
    path = tmp_path / "log" / "traindeck.log"
    for _ in range(2):
        programs = [
            subprocess.Popen(
                [sys.executable, "-c", WRITES, str(path), f"program{number}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for number in range(3)
        ]  # fmt: skip
        for program in programs:
            assert program.stdout is not None and program.stdout.readline() == "ready\n"
        for program in programs:
            assert program.communicate("go\n", timeout=PATIENT_S) == ("", "")
    names = {file.name for file in path.parent.glob("traindeck*")}
    assert {name for name in names if name.endswith(".log")} == {"traindeck.log", "traindeck-2.log", "traindeck-3.log"}
    assert len(names) == 9
    newest = "".join((path.parent / name).read_text(encoding="utf-8") for name in names if name.endswith(".log"))
    assert all(f"program{number} line 499" in newest for number in range(3))


def test_a_place_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("", encoding="utf-8")
    with pytest.raises(LocalTrouble), log_to(tmp_path / "log" / "traindeck.log"):
        raise AssertionError("it must not begin")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


PATH = """
import asyncio, os, sys
from pathlib import Path
from traindeck.assembly import data_core
from traindeck.assembly.core import Core
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.form.job_file import with_setting
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.runtime.tasks import TaskScope
from traindeck.services.http import calls
from traindeck.services.jobs import submission
from traindeck.store.paths import Paths
from support.work_bench import code_in, spec

calls.FIRST_S = 0.001
submission.LOOK_UPS_S = (0.01, 0.02)
data_core.PATIENCE_S = 0.5
obs, modelarts, iam, region, nowhere, session = sys.argv[1:]
password = Secret(os.environ["PROXY_PASSWORD"])
good = Credentials(os.environ["GOOD_AK"], Secret(os.environ["GOOD_SK"]), proxy_password=password)
wrong = Credentials(os.environ["GOOD_AK"], Secret(os.environ["WRONG_SK"]))
short_lived = Credentials(os.environ["GOOD_AK"], Secret(os.environ["GOOD_SK"]), Secret(os.environ["TOKEN"]))


async def tried(what, work):
    try:
        print(what, "gave", type(await work).__name__)
    except AppError as error:
        print(what, "refused:", error.sentence(), error.detail, repr(error))


async def visit(core, name):
    if name == "good":
        await (await core.connections.open(name)).storage.create_bucket("bench")
    await tried("check", core.profiles.check(name))
    await tried("choices", core.choices.load(name))
    work = with_setting(spec(), "job.target=modelarts")
    await tried("submit", core.submission.submit(work, code_in(Path.cwd() / "code"), name))
    await tried("upload", core.transfers.upload(name, Path.cwd() / "code", ObjectPath("bench", "x/")))
    await tried("settle", core.submission.settle())


async def main():
    async with Core(Paths.for_user()) as core:
        keep = {"this_session_only": session == "session"}
        for name, keys, place in (("good", good, modelarts), ("wrong", wrong, modelarts), ("away", good, nowhere)):
            profile = Profile(name, Provider.MODELARTS, region, obs, place, iam if place == modelarts else place)
            await tried(f"add {name}", core.profiles.add(profile, keys, **keep))
            await tried(f"add {name} again", core.profiles.add(profile, keys, **keep))
            await visit(core, name)
        profile = Profile("token", Provider.MODELARTS, region, obs, modelarts, iam)
        await tried("add token", core.profiles.add(profile, short_lived))
        await tried("keep token", core.profiles.add(profile, short_lived, this_session_only=True))
        await visit(core, "token")
        profile = Profile("proxy", Provider.MODELARTS, region, obs, modelarts, iam, proxy="http://ann@" + nowhere[7:])
        await tried("add proxy", core.profiles.add(profile, good, **keep))
        await visit(core, "proxy")

        async def stumble():
            raise ValueError(f"with the keys in hand: {good} {wrong!r} {core.connections}")

        async with TaskScope(lambda name, error: print(name, error.sentence(), error.detail)) as scope:
            scope.start("stumble", stumble)
            await asyncio.sleep(0.1)
        for run in await core.records.all():
            print(run)


asyncio.run(main())
"""


def _path() -> str:
    """Where this very program and the tests are, wherever that is."""
    return os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize("kept", ["session", "keyring"])
def test_a_secret_reaches_no_file_and_no_screen(lab: LabProcess, tmp_path: Path, unused: str, kept: str) -> None:
    if kept == "keyring" and not is_installed:
        pytest.skip("gnome-keyring is Linux's")
    planted = {
        "GOOD_AK": lab.access_key,
        "GOOD_SK": lab.secret_key,
        "WRONG_SK": f"wrong{secrets.token_hex(16)}",
        "TOKEN": f"token{secrets.token_hex(16)}",
        "PROXY_PASSWORD": f"password {secrets.token_hex(16)}",
    }
    home = tmp_path / "home"
    environment = {**os.environ, **planted, "PYTHONPATH": _path(), "TRAINDECK_HOME": str(home)}
    places = [lab.obs, lab.modelarts, lab.iam, lab.region, unused, kept]
    if kept == "keyring":
        del environment["PYTHON_KEYRING_BACKEND"]
        with SecretService(tmp_path / "secret-service") as service:
            done = went_through(tmp_path, {**environment, **service.environment}, places)
    else:
        done = went_through(tmp_path, environment, places)
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout + done.stderr
    # The path was really walked: accepted, refused, unreachable.
    accepted = (b"submit gave Run", b"Cannot connect to", b"add good again refused")
    for words in (*accepted, b"secret key does not match", b"The proxy"):
        assert words in said, said.decode()
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {"traindeck.log", "records.db", "settings.json"} <= {path.name for path in files}
    assert b"task stumble failed" in (home / "log" / "traindeck.log").read_bytes()
    for path in files:
        said += path.read_bytes()
    for name, value in planted.items():
        if name != "GOOD_AK":
            assert value.encode() not in said, f"{name} was found"


def went_through(folder: Path, environment: dict[str, str], places: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PATH, *places],
        capture_output=True, env=environment, cwd=folder, timeout=PATIENT_S,
    )  # fmt: skip


@pytest.fixture
def unused() -> str:
    """An address nobody answers at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
