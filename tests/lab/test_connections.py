"""Clients that keep a port waiting, and more of them than there is room for; who moves, however slowly, is served."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire
from support.waiting import PATIENT_S
from traindeck.lab.accounts import Accounts
from traindeck.lab.connections import Bounds, Connections
from traindeck.lab.faults import Faults
from traindeck.lab.gateway import gateway_app
from traindeck.lab.life import Activity
from traindeck.lab.obs import body_streams
from traindeck.lab.obs.api import ObsApi, obs_server
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.server import MOST_CONTROL, MOST_GATEWAY, MOST_OBS

# Of the real clock only what ends a connection is waited for; what keeps one alive is asked at made-up times.
SOON_S = 0.2
LATE_S = 3600.0


class TwoPorts:
    """The object store and the gateway of a Lab, in this process, with bounds of the test's choice."""

    region = "lab"

    def __init__(self, root: Path, bounds: Bounds) -> None:
        accounts = Accounts(root)
        self.access_key, self.secret_key = accounts.first.access_key, accounts.first.secret_key
        self.store = ObjectStore(root)
        self.store.create_bucket("box", accounts.first.domain_id)
        self._api = ObsApi(self.store, accounts, Activity(), Faults())
        self.objects, self.calls = Connections(bounds), Connections(bounds)
        self.app = gateway_app(accounts, Activity(), Faults())
        self.app.router.add_post("/lab/echo", _echo)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="two-ports", daemon=True)

    def __enter__(self) -> TwoPorts:
        self._thread.start()
        self._runners: list[tuple[Connections, web.BaseRunner]] = []
        self.run(self._serve())
        return self

    def __exit__(self, *_: object) -> None:
        for connections, runner in self._runners:
            self._loop.call_soon_threadsafe(connections.close)
            self.run(runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENT_S)
        self._loop.close()
        self._api.close()
        self.store.close()

    def run(self, call: Any) -> Any:
        done: Future[Any] = asyncio.run_coroutine_threadsafe(call, self._loop)
        return done.result(PATIENT_S)

    def look(self, connections: Connections, now: float) -> None:
        async def looked() -> None:
            connections.look(now)

        self.run(looked())

    async def _serve(self) -> None:
        idle_s = self.objects.bounds.idle_s
        self._runners = [
            (self.objects, web.ServerRunner(obs_server(self._api, self.objects))),
            (self.calls, web.AppRunner(self.calls.of(self.app), keepalive_timeout=idle_s, shutdown_timeout=0.1)),
        ]
        self.obs, self.gateway = [await _listening(*one) for one in self._runners]


async def _listening(connections: Connections, runner: web.BaseRunner) -> str:
    await runner.setup()
    sock = socket.create_server(("127.0.0.1", 0))
    assert runner.server is not None
    await connections.listen(runner.server, sock)
    return f"http://127.0.0.1:{sock.getsockname()[1]}"


async def _echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[TwoPorts]:
    with TwoPorts(tmp_path / "root", Bounds(idle_s=SOON_S)) as ports:
        yield ports


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[TwoPorts]:
    """Looked at by hand only."""
    with TwoPorts(tmp_path / "root", Bounds(connections=4, idle_s=LATE_S, stall_s=LATE_S)) as ports:
        yield ports


@contextmanager
def connected(url: str, first: bytes = b"") -> Iterator[socket.socket]:
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port or 0), timeout=PATIENT_S) as sock:
        sock.sendall(first)
        yield sock


def is_ended(sock: socket.socket) -> bool:
    """Comes back when the other side has ended the connection."""
    with suppress(ConnectionError):
        while sock.recv(65536):
            pass
    return True


def answer(sock: socket.socket) -> Answer:
    """The next one, of a connection that stays."""
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += sock.recv(1)
    length = int(Answer(raw, "GET").headers.get("content-length", "0"))
    while len(raw.partition(b"\r\n\r\n")[2]) < length:
        raw += sock.recv(65536)
    return Answer(raw, "GET")


def kept(wire: Wire, method: str, target: str, headers: dict[str, str] | None = None) -> bytes:
    return wire.head(method, target, headers).replace(b"Connection: close\r\n", b"")


def wire_of(ports: TwoPorts) -> Wire:
    wire = Wire.__new__(Wire)
    wire.lab, wire.port = ports, urlsplit(ports.obs).port or 0
    return wire


BEGUN = [b"", b"P", b"PUT /box/k HTTP/1.1\r\n", b"PUT /box/k HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "]


@pytest.mark.parametrize("port", ["obs", "gateway"])
def test_a_head_that_never_ends_ends_the_connection(impatient: TwoPorts, port: str) -> None:
    url = getattr(impatient, port)
    with ExitStack() as opened:
        waiting = [opened.enter_context(connected(url, BEGUN[number % len(BEGUN)])) for number in range(50)]
        assert all(is_ended(sock) for sock in waiting)
    with connected(url, BEGUN[2] + b"X: ") as dripping:
        dripping.settimeout(SOON_S / 10)
        end = time.monotonic() + PATIENT_S
        is_open = True
        while is_open:
            assert time.monotonic() < end
            try:
                dripping.sendall(b"x")
                is_open = bool(dripping.recv(100))
            except TimeoutError:
                continue
            except ConnectionError:
                is_open = False
    assert wire_of(impatient).ask("GET", "/box").status == 200


def test_a_connection_that_is_not_used_ends(impatient: TwoPorts) -> None:
    with connected(impatient.obs, kept(wire_of(impatient), "GET", "/box")) as sock:
        assert answer(sock).status == 200
        assert is_ended(sock)


def test_a_body_that_stops_ends_the_connection_and_leaves_nothing(patient: TwoPorts) -> None:
    wire = wire_of(patient)
    cases = [(1000, 500), (5 << 20, 3 << 20), (1000, 0)]
    for size, sent in cases:
        head = kept(wire, "PUT", "/box/cut", {"Content-Length": str(size)})
        with connected(patient.obs, head + bytes(sent)) as sock:
            ended = looked_at_until_ended(patient, patient.objects, sock)
            assert ended
    assert patient.store.info("box", "cut") is None
    begun = b"POST /lab/echo HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 5\r\n\r\nab"
    with connected(patient.gateway, begun % (urlsplit(patient.gateway).port or 0)) as sock:
        assert looked_at_until_ended(patient, patient.calls, sock)


def looked_at_until_ended(ports: TwoPorts, connections: Connections, sock: socket.socket) -> bool:
    """However far the Lab is with what came: time goes on for it until it has seen nothing new for too long."""
    sock.settimeout(0.01)
    now, end = 0.0, time.monotonic() + PATIENT_S
    while time.monotonic() < end:
        ports.look(connections, now)
        now += LATE_S
        try:
            if not sock.recv(65536):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


def test_a_slow_body_is_taken_as_long_as_it_moves(patient: TwoPorts) -> None:
    wire = wire_of(patient)
    content = bytes(range(256)) * 40
    with connected(patient.obs, kept(wire, "PUT", "/box/slow", {"Content-Length": str(len(content))})) as sock:
        arrived = 0
        for at in range(0, len(content), 1024):
            sock.sendall(content[at : at + 1024])
            arrived += 1024
            end = time.monotonic() + PATIENT_S
            # The Lab has the piece, or all of them and is past the body.
            while arrived_at(patient) not in (arrived, None):
                assert time.monotonic() < end
            patient.look(patient.objects, at * LATE_S)
        assert answer(sock).status == 200
        # An answered client owes nothing, whatever the time.
        for turn in range(3):
            patient.look(patient.objects, (len(content) + turn) * LATE_S)
        sock.sendall(kept(wire, "GET", "/box/slow"))
        got = answer(sock)
    assert (got.status, got.body) == (200, content)


def arrived_at(ports: TwoPorts) -> int | None:
    async def told() -> int | None:
        bodies = [http.content for http in ports.objects._busy.values()]
        return bodies[0].total_bytes if bodies else None

    found = ports.run(told())
    return found if found is None else int(found)


@pytest.mark.parametrize("size", [200_000, 9 << 20], ids=["written", "by the system"])
def test_an_answer_that_nobody_takes_ends_the_connection(
    patient: TwoPorts, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = wire_of(patient)
    assert wire.put("/box/k", bytes(size)).status == 200
    with monkeypatch.context() as changed, connected(patient.obs) as sock:
        changed.setattr(body_streams, "TAKEN_S", SOON_S)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(kept(wire, "GET", "/box/k") * 60)
        assert sock.recv(1)
        now, end = 0.0, time.monotonic() + PATIENT_S
        while open_ones(patient):
            assert time.monotonic() < end
            patient.look(patient.objects, now)
            now += LATE_S
    whole = wire.ask("GET", "/box/k")
    assert (whole.status, len(whole.body)) == (200, size)


def open_ones(ports: TwoPorts) -> int:
    async def told() -> int:
        return len(ports.objects._server.connections)

    return int(ports.run(told()))


def test_who_waits_longest_makes_room(patient: TwoPorts) -> None:
    wire = wire_of(patient)
    ask = kept(wire, "GET", "/box")
    with ExitStack() as opened:
        made: list[socket.socket] = []
        for _ in range(4):  # one after the other: who is answered first waits longest
            made.append(opened.enter_context(connected(patient.obs, ask)))
            assert answer(made[-1]).status == 200
        first, *others = made
        first.sendall(ask)
        assert answer(first).status == 200
        newcomer = opened.enter_context(connected(patient.obs, ask))
        assert answer(newcomer).status == 200
        assert is_ended(others[0])
        for sock in (first, *others[1:], newcomer):
            sock.sendall(ask)
            assert answer(sock).status == 200


def test_many_may_come_one_after_another(patient: TwoPorts) -> None:
    wire = wire_of(patient)
    assert [wire.ask("GET", "/box").status for _ in range(20)] == [200] * 20


def test_who_is_served_never_makes_room(patient: TwoPorts) -> None:
    wire = wire_of(patient)
    ask = kept(wire, "GET", "/box")
    with ExitStack() as opened:
        writers = []
        for number in range(4):
            head = kept(wire, "PUT", f"/box/{number}", {"Content-Length": "4", "Expect": "100-continue"})
            writers.append(opened.enter_context(connected(patient.obs, head)))
            # From here on the request is under way.
            assert answer(writers[-1]).status == 100
        with connected(patient.obs, ask) as refused:
            assert is_ended(refused)
        for sock in writers:
            sock.sendall(b"body")
            assert answer(sock).status == 200
        with connected(patient.obs, ask) as sock:
            assert answer(sock).status == 200


def test_the_ports_of_a_lab_have_bounds(tmp_path: Path) -> None:
    with LabProcess(tmp_path / "root") as lab, ExitStack() as opened:
        control: str = json.loads((lab.root / "control.json").read_text("utf-8"))["url"]
        for url, most in ((lab.obs, MOST_OBS), (lab.iam, MOST_GATEWAY), (control, MOST_CONTROL)):
            waiting = [opened.enter_context(connected(url)) for _ in range(most + 40)]
            end = time.monotonic() + PATIENT_S
            while sum(is_open(sock) for sock in waiting) > most:
                assert time.monotonic() < end
        assert Wire(lab).ask("GET", "/").status == 200


def is_open(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def half_closed(address: str, *pieces: bytes) -> bytes:
    """What comes back, to the end, when nothing more will be sent."""
    host = urlsplit(address)
    with socket.create_connection((host.hostname or "", host.port or 0), PATIENT_S) as line:
        for piece in pieces:
            line.sendall(piece)
        line.shutdown(socket.SHUT_WR)
        said = b""
        while data := line.recv(65536):
            said += data
        return said


def test_a_client_that_says_it_has_nothing_more_to_say_is_answered(tmp_path: Path) -> None:
    began = time.monotonic()
    with LabProcess(tmp_path / "lab") as lab:
        head = b"GET /lab/status HTTP/1.1\r\nHost: " + urlsplit(lab.modelarts).netloc.encode() + b"\r\n\r\n"
        assert half_closed(lab.modelarts, head).startswith(b"HTTP/1.1 200")
        host = b"Host: " + urlsplit(lab.obs).netloc.encode() + b"\r\n"
        listed = half_closed(lab.obs, b"GET / HTTP/1.1\r\n" + host + b"\r\n")
        assert listed.startswith(b"HTTP/1.1 403") and listed.endswith(b"</Error>")
        body = half_closed(lab.obs, b"PUT /x/y HTTP/1.1\r\n" + host + b"Content-Length: 3\r\n\r\n", b"abc")
        assert body.startswith(b"HTTP/1.1 404") and b"NoSuchBucket" in body
        # Of a request that is cut short nothing more can come, so the connection ends, perhaps after a refusal.
        short = half_closed(lab.obs, b"PUT /x/y HTTP/1.1\r\n" + host + b"Content-Length: 30\r\n\r\n", b"abc")
        assert short.partition(b" ")[2][:3] in (b"", b"404")
        assert half_closed(lab.obs) == b""
    assert time.monotonic() - began < Bounds().stall_s


def test_requests_that_wait_when_a_client_has_nothing_more_to_say_are_answered(tmp_path: Path) -> None:
    ports = TwoPorts(tmp_path, Bounds())

    async def patient(http: web.Request) -> web.Response:
        while http.protocol not in ports.calls._half_closed:
            await asyncio.sleep(0)
        return web.Response(text="patient")

    ports.app.router.add_get("/lab/patient", patient)
    with ports:
        head = b"GET /lab/patient HTTP/1.1\r\nHost: " + urlsplit(ports.gateway).netloc.encode() + b"\r\n\r\n"
        assert half_closed(ports.gateway, head * 3).count(b"\r\npatient") == 3
