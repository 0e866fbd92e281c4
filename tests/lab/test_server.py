"""The Lab as a program: one per root, the same after a restart, gone when nobody needs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from obs import ObsClient

from support.places import free_port
from support.servers.lab_process import LabProcess
from support.waiting import AT_ONCE_S, PATIENT_S
from traindeck.lab.life import Activity, Life


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "中文 root" / "lab"


def client(lab: LabProcess) -> ObsClient:
    return ObsClient(access_key_id=lab.access_key, secret_access_key=lab.secret_key, server=lab.obs, max_retry_count=0)


def running(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((root / "running.json").read_text("utf-8"))
    return content


def free_pair() -> int:
    """A port that is free together with its neighbour."""
    while True:
        port = free_port()
        with socket.socket() as second:
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def test_announcement_and_files(root: Path) -> None:
    with LabProcess(root) as lab:
        facts = json.loads(lab.stdout.read_text("utf-8"))
        assert list(facts) == [
            *("obs", "modelarts", "iam", "apulis"),
            *("access_key", "secret_key", "project_id", "region"),
        ]
        assert facts["apulis"] is None
        assert len(facts["project_id"]) == 32
        written = running(root)
        assert set(written) == {"pid", "instance", "obs", "modelarts", "iam", "started", "token"}
        assert written["pid"] == lab.pid
        assert (written["obs"], written["modelarts"]) == (lab.obs, lab.modelarts)
        for name in ("running.json", "lab.log", "ports.json"):
            assert lab.secret_key not in (root / name).read_text("utf-8")
        if os.name == "posix":
            assert stat.S_IMODE(root.stat().st_mode) == 0o700
            assert stat.S_IMODE((root / "accounts.json").stat().st_mode) == 0o600
    assert not (root / "running.json").exists()


def test_only_loopback_is_bound(root: Path) -> None:
    with LabProcess(root) as lab:
        listening = [one.laddr for one in psutil.Process(lab.pid).net_connections() if one.status == "LISTEN"]
        control = json.loads((root / "control.json").read_text("utf-8"))["url"]
        assert {f"http://{ip}:{port}" for ip, port in listening} == {lab.obs, lab.modelarts, control}


def test_a_restart_keeps_ports_keys_and_objects(root: Path) -> None:
    with LabProcess(root) as lab:
        first = json.loads(lab.stdout.read_text("utf-8"))
        instance = running(root)["instance"]
        assert client(lab).createBucket("kept").status == 200
        assert client(lab).putContent("kept", "k", b"content").status == 200
        for end in (lab.kill, lab.stop):
            end()
            lab.restart()
            assert json.loads(lab.stdout.read_text("utf-8")) == first
            assert running(root)["instance"] != instance
            got = client(lab).getObject("kept", "k", loadStreamInMemory=True)
            assert got.body.buffer == b"content"


def test_ports_taken_meanwhile_are_replaced(root: Path) -> None:
    with LabProcess(root) as lab:
        before = urlsplit(lab.obs).port or 0
        lab.stop()
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", before))
            taken.listen()
            lab.restart()
            assert urlsplit(lab.obs).port != before
            assert client(lab).listBuckets().status == 200


def test_named_ports_are_used_or_refused_in_words(root: Path, tmp_path: Path) -> None:
    port = free_pair()
    with LabProcess(root, port=port) as lab:
        assert lab.obs == f"http://127.0.0.1:{port}"
        assert lab.modelarts == lab.iam == f"http://127.0.0.1:{port + 1}"
        other = LabProcess(tmp_path / "other", port=port)
        other.launch()
        assert other.exit_code() == 1
        assert f"cannot listen on port {port}" in other.error_text
        assert "--port" in other.error_text
        assert "Traceback" not in other.error_text


def test_a_second_lab_on_the_same_root_is_refused_in_words(root: Path) -> None:
    with LabProcess(root) as lab:
        second = LabProcess(root)
        second.stdout, second.stderr = root.with_name("2.stdout"), root.with_name("2.stderr")
        second.launch()
        assert second.exit_code() == 1
        assert "already running" in second.error_text
        assert lab.obs in second.error_text
        assert "Traceback" not in second.error_text
        assert client(lab).listBuckets().status == 200
        assert running(root)["pid"] == lab.pid


def test_unusable_roots_are_refused_in_words(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("x", encoding="utf-8")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "accounts.json").write_text("{", encoding="utf-8")
    no_database = tmp_path / "no database"
    (no_database / "obs").mkdir(parents=True)
    (no_database / "obs" / "index.sqlite3").write_bytes(b"not a database, but long enough to be read as one" * 100)
    for root in (in_the_way / "below", in_the_way, broken, no_database):
        lab = LabProcess(root)
        lab.stdout, lab.stderr = tmp_path / "out", tmp_path / "err"
        lab.launch()
        assert lab.exit_code() == 1
        wanted = "accounts of the Lab" if root is broken else "cannot use the folder"
        assert wanted in lab.error_text
        assert "Traceback" not in lab.error_text


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files by the shell of POSIX")
def test_a_full_disk_is_an_error_and_leaves_nothing(root: Path) -> None:
    # The limit makes every write beyond it fail as it does on a full disk.
    limited = ["sh", "-c", 'ulimit -f 8192; exec "$@"', "sh"]
    with LabProcess(root, wrapper=limited) as lab:
        assert client(lab).createBucket("full").status == 200
        refused = client(lab).putContent("full", "k", b"x" * (10 << 20))
        assert (refused.status, refused.errorCode) == (500, "InternalError")
        assert "full" in refused.errorMessage
        assert client(lab).getObjectMetadata("full", "k").status == 404
        assert client(lab).putContent("full", "small", b"x").status == 200
        bodies = [path for path in (root / "obs" / "bodies").rglob("*") if path.is_file()]
        assert len(bodies) == 1


@contextmanager
def upload_under_way(lab: LabProcess, size: int) -> Iterator[socket.socket]:
    """The Lab has its head and waits for its body."""
    assert client(lab).createBucket("half").status == 200
    link = client(lab).createSignedUrl("PUT", "half", "k", expires=60).signedUrl
    target, host = link.removeprefix(lab.obs), urlsplit(lab.obs)
    with socket.create_connection(("127.0.0.1", host.port or 0), timeout=PATIENT_S) as sock:
        head = f"PUT {target} HTTP/1.1\r\nHost: {host.netloc}\r\nContent-Length: {size}\r\n"
        sock.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert sock.recv(100).startswith(b"HTTP/1.1 100")
        yield sock


def test_an_upload_under_way_does_not_hold_up_the_end(root: Path) -> None:
    with LabProcess(root) as lab:
        with upload_under_way(lab, 9_000_000) as sock:
            sock.sendall(b"x" * 3_000_000)
            began = time.monotonic()
            assert lab.stop() == 0
            assert time.monotonic() - began < AT_ONCE_S
        assert lab.error_text == ""
        assert "Traceback" not in (root / "lab.log").read_text("utf-8")
        assert not [path for path in (root / "obs" / "bodies").rglob("*") if path.is_file()]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_end_it_in_order(root: Path, name: str) -> None:
    with LabProcess(root) as lab:
        os.kill(lab.pid, getattr(signal, name))
        assert lab.exit_code() == 0
        assert not (root / "running.json").exists()
        assert lab.error_text == ""


@pytest.mark.skipif(sys.platform == "win32", reason="the loop of Windows is woken by itself")
async def test_a_signal_is_heard_also_in_the_moment_before_the_lab_waits() -> None:
    """A plain handler wakes no loop: the Lab would go on until something else happens."""
    life = Life(Activity(), lambda: 0, None, has_owner=False)
    with life.signals():
        waker = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(waker)
        assert waker != -1
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENT_S):
            await life.wait()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


IDLE_S = 0.5


def status(lab: LabProcess) -> dict[str, Any]:
    with urllib.request.urlopen(lab.modelarts + "/lab/status", timeout=PATIENT_S) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


# Nothing here has to be done before the Lab goes to sleep: until a request is under way it has an owner.


def test_it_ends_when_idle_but_not_while_used(root: Path) -> None:
    with LabProcess(root, owner_pipe=True, idle_exit_s=IDLE_S) as lab:
        with upload_under_way(lab, 3) as sock:
            lab.hang_up()
            assert lab.exit_code(3 * IDLE_S) is None
            assert status(lab)["live_jobs"] == 0
            used = time.monotonic()
            sock.sendall(b"abc")
            assert sock.recv(100).startswith(b"HTTP/1.1 200")
        # Asking how it is does not keep it alive.
        while lab.exit_code(IDLE_S / 5) is None and time.monotonic() < used + PATIENT_S:
            with suppress(OSError, HTTPException):
                status(lab)
        assert lab.exit_code(0) == 0
        assert time.monotonic() >= used + IDLE_S, "the time of the last request counts"
        assert not (root / "running.json").exists()


def test_the_owner_can_stop_it(root: Path) -> None:
    with LabProcess(root, owner_pipe=True, idle_exit_s=0.1) as lab:
        assert lab.exit_code(0.5) is None
        lab.say("stop")
        assert lab.exit_code() == 0


@pytest.mark.parametrize("farewell", ["detach", ""])
def test_without_its_owner_it_carries_on_until_idle(root: Path, farewell: str) -> None:
    with LabProcess(root, owner_pipe=True, idle_exit_s=IDLE_S) as lab:
        with upload_under_way(lab, 3) as sock:
            if farewell:
                lab.say(farewell)
            else:
                lab.hang_up()
            assert lab.exit_code(2 * IDLE_S) is None
            assert client(lab).listBuckets().status == 200
            sock.sendall(b"abc")
            assert sock.recv(100).startswith(b"HTTP/1.1 200")
        assert lab.exit_code() == 0


def test_without_its_owner_and_without_a_limit_it_stays_for_minutes(root: Path) -> None:
    with LabProcess(root, owner_pipe=True) as lab:
        lab.hang_up()
        assert lab.exit_code(1.5) is None
        assert client(lab).listBuckets().status == 200
