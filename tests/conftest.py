"""What every test stands on: a clean environment, an event loop, and nothing left behind.

Coroutine tests run on plain asyncio, or, in the folders that need Qt and wherever the fixture `loop` is asked for,
on the loop the window uses. This file imports Qt only for those.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

# Read when the application object is made; a platform given from outside (xcb under Xvfb) stays.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import catalogues
import pytest

from support import examples, planted
from support.leftovers import Leftovers
from support.permissions import permissions_hold  # noqa: F401 - a fixture
from support.waiting import PATIENT_S
from support.watched_loop import run_watched
from traindeck.domain import texts

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from support.qt_support import QtRunner, Stalls

ROOT = Path(__file__).parent
QT_FOLDERS = {"ui", "viewmodels", "window"}
QT_FILES = {"test_loop_contract.py"}
# For a whole coroutine test: a little more than a single wait may take, so that the wait is named.
LIMIT_S = 1.5 * PATIENT_S

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY")
_USERS_OWN = (
    *_PROXIES,
    *(name.lower() for name in _PROXIES),
    "LC_ALL",
    "LC_MESSAGES",
    "LC_CTYPE",
    "LANGUAGE",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "QT_SCALE_FACTOR",
    "QT_STYLE_OVERRIDE",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
)
_failed = pytest.StashKey[bool]()
_was_qt = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As a shell script starts what it puts into the background; every program of ours would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Qt reads the locale when the application object is made, and warns of one that is not UTF-8.
    for name in ("LC_ALL", "LC_CTYPE", "LC_MESSAGES"):
        os.environ.pop(name, None)
    os.environ["LANG"] = "C.UTF-8"
    catalogues.compile_edited()
    examples.choose(is_whole="not long" not in str(config.option.markexpr))
    config.addinivalue_line("markers", f"limit(seconds): how long a coroutine test may take, else {LIMIT_S:.0f} s")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`: a worker for each core of ours, and two at least, because tests wait more than they compute."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return max(2, cores or 0)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is loaded here lives to the end; a look of the collector at it takes half a second."""
    gc.disable()
    try:
        with _first_worker_first(session.config):
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def _first_worker_first(config: pytest.Config) -> Iterator[None]:
    """In a new clone one worker compiles the tests and the others read what it wrote: that is half of their work."""
    worker = getattr(config, "workerinput", {"workerid": ""})
    known = ROOT / "__pycache__" / f"test_architecture.{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    if not worker["workerid"] or known.exists() or sys.dont_write_bytecode:
        yield
        return
    done = Path(tempfile.gettempdir()) / f"traindeck-collected-{worker['testrunuid']}"
    if worker["workerid"] != "gw0":
        end = time.monotonic() + PATIENT_S
        while not done.exists() and time.monotonic() < end:
            time.sleep(0.05)
        yield
        return
    try:
        yield
    finally:
        done.touch()
        config.add_cleanup(lambda: done.unlink(missing_ok=True))


def needs_qt(item: pytest.Item) -> bool:
    path = Path(item.path).relative_to(ROOT)
    return path.parts[0] in QT_FOLDERS or path.name in QT_FILES or "loop" in getattr(item, "fixturenames", ())


def is_timed(item: pytest.Item) -> bool:
    """Whole windows note every moment in which they did not answer."""
    path = Path(item.path).relative_to(ROOT)
    return path.parts[0] == "end_to_end" or "responsive" in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_timed(item):
            item.add_marker("timed")
        if needs_qt(item) and isinstance(item, pytest.Function):
            if inspect.iscoroutinefunction(item.obj) and "loop" not in item.fixturenames:
                item.fixturenames.append("loop")
            if "collected_on_ui_thread" not in item.fixturenames:
                item.fixturenames.insert(0, "collected_on_ui_thread")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Widgets that an earlier test left as garbage go here: a worker thread that collects them would crash."""
    is_qt = needs_qt(item)
    if not is_qt and item.config.stash.get(_was_qt, False):
        gc.collect()
    item.config.stash[_was_qt] = is_qt


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    marker = pyfuncitem.get_closest_marker("limit")
    limit_s = float(marker.args[0]) if marker else LIMIT_S
    body = _limited(pyfuncitem.obj(**wanted), limit_s)
    if needs_qt(pyfuncitem):
        cast("QtRunner", pyfuncitem.funcargs["loop"]).run(body)
    else:
        with asyncio.Runner() as runner:
            run_watched(runner, body)
    return True


async def _limited(test: Coroutine[Any, Any, None], limit_s: float) -> None:
    async with asyncio.timeout(limit_s):
        await test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if planted.found_in(report.capstdout + report.capstderr + report.caplog):
        report.outcome = "failed"
        report.longrepr = "a planted secret was printed or logged"
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Secrets given to the program are in no file of the failed tests, or that several have shared."""
    factory = getattr(session.config, "_tmp_path_factory", None)
    base = getattr(factory, "_basetemp", None)
    # A worker's files lie in the folder of the run, which looks at them when all workers have ended.
    is_whole = not hasattr(session.config, "workerinput")
    if is_whole and base is not None and (problems := planted.leaks(base)):
        print("\nsecrets were left in:", *problems, sep="\n  ", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    ended = yield
    gui = sys.modules.get("PySide6.QtGui")
    if gui is not None and gui.QGuiApplication.instance() is not None:
        # Without a window system Qt deletes what lies there after Python has ended, and crashes if it was Python's.
        gui.QGuiApplication.clipboard().clear()
    return ended


@pytest.fixture(scope="session", autouse=True)
def labs_forked(pytestconfig: pytest.Config) -> Iterator[None]:
    from support.servers.forked_process import forking
    from support.servers.lab_process import FORKING, LabProcess

    with forking(LabProcess, FORKING, pytestconfig):
        yield


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the whole run, else every process would index the fonts again."""
    return tmp_path_factory.mktemp("caches")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caches: Path) -> Iterator[None]:
    """The user's folders, proxies, keyring and language stay out of the test."""
    for name in os.environ:
        if name in _USERS_OWN or name.startswith(("TRAINDECK_", "HUAWEICLOUD_", "AWS_")):
            monkeypatch.delenv(name)
    user = tmp_path / "user"
    user.mkdir()
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(user))
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    monkeypatch.setenv("TRAINDECK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    texts.speak(texts.ENGLISH, texts.AS_WRITTEN)
    yield
    texts.speak(texts.ENGLISH, texts.AS_WRITTEN)
    # The folder of a test that passed goes now: with those of a whole run it would take minutes later.
    assert not (problems := planted.leaks(tmp_path)), f"secrets were left in: {problems}"


@pytest.fixture(autouse=True)
def no_leftovers(request: pytest.FixtureRequest, clean_environment: None) -> Iterator[None]:
    """Threads, child processes and, with Qt, windows and timers must end with the test."""
    before = Leftovers.now(qt=needs_qt(request.node))
    yield
    if request.node.stash.get(_failed, False):
        before.end_processes()  # the traceback keeps objects alive; only what burns is put out
        return
    left = before.left()
    before.end_processes()
    assert not left, "left behind: " + "; ".join(left)


@pytest.fixture
def collected_on_ui_thread() -> Iterator[None]:
    from support.qt_support import collecting_here

    with collecting_here():
        yield


@pytest.fixture
def loop(qapp: QApplication, collected_on_ui_thread: None) -> Iterator[QtRunner]:
    """The loop of the window, as something with `run(coroutine)`; coroutine tests need not name it."""
    from support.qt_support import QtRunner

    with QtRunner(qapp) as runner:
        yield runner


@pytest.fixture
def responsive(loop: object) -> Iterator[Stalls]:
    """Fails the test when the UI thread was kept from answering for more than 100 ms."""
    from support.qt_support import watched_for_stalls

    with watched_for_stalls() as stalls:
        yield stalls
    stalls.check()
