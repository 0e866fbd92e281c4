"""What must hold on a bad day: full disks, writers that overtake each other, readers of what is replaced."""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from obs import AppendObjectContent, CompleteMultipartUploadRequest, CompletePart, ObsClient

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire
from support.stores.lab_clients import obs_client
from support.waiting import PATIENT_S

# A file system of its own, as small as the test needs it, seen by the Lab alone.
SMALL_DISK = 'mount -t tmpfs -o size={size}k none "$0" && exec "$@"'
MiB = 1 << 20


def can_mount() -> bool:
    unshare = shutil.which("unshare")
    if sys.platform != "linux" or unshare is None:
        return False
    tried = subprocess.run([unshare, "-rm", "true"], capture_output=True, timeout=PATIENT_S)
    return tried.returncode == 0


class FullDisk:
    """A Lab on a disk of a few megabytes."""

    def __init__(self, root: Path, size_kib: int) -> None:
        root.mkdir()
        wrapper = ["unshare", "-rm", "sh", "-c", SMALL_DISK.format(size=size_kib), str(root)]
        self.lab = LabProcess(root, wrapper=wrapper).start()
        self.client = obs_client(self.lab)
        assert self.client.createBucket("full").status == 200

    def bodies(self) -> list[str]:
        inside = Path(f"/proc/{self.lab.pid}/root{self.lab.root}")
        return sorted(str(path) for path in (inside / "obs" / "bodies").rglob("*") if path.is_file())

    def listed(self) -> list[tuple[str, int, str]]:
        found = self.client.listObjects("full", encoding_type="url").body.contents
        return [(one.key, one.size, one.etag) for one in found]

    def fill(self) -> list[str]:
        """Until not even a small object has room."""
        keys: list[str] = []
        for size in (500_000, 50_000, 4096, 1):
            while self.client.putContent("full", f"filler-{len(keys):04}", b"x" * size).status == 200:
                keys.append(f"filler-{len(keys):04}")
        return keys

    def close(self) -> None:
        self.client.close()
        self.lab.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FullDisk]:
    if not can_mount():
        pytest.skip("this system lets nobody but its administrator mount a file system")
    disk = FullDisk(tmp_path / "root", 16 * 1024)
    yield disk
    disk.close()


def test_a_full_disk_refuses_and_leaves_nothing(disk: FullDisk) -> None:
    client = disk.client
    assert client.appendObject("full", "log", AppendObjectContent(content=b"a" * 1000, position=0)).status == 200
    upload = client.initiateMultipartUpload("full", "parts").body.uploadId
    parts = [
        CompletePart(number, client.uploadPart("full", "parts", number, upload, b"p" * 500_000).body.etag)
        for number in (1, 2)
    ]
    assert client.putContent("full", "source", b"s" * 500_000).status == 200
    disk.fill()
    listed, bodies = disk.listed(), disk.bodies()
    refused: dict[str, Callable[[], Any]] = {
        "put": lambda: client.putContent("full", "new", b"x" * 600_000),
        "large put": lambda: client.putContent("full", "new", b"x" * 3_000_000),
        "overwrite": lambda: client.putContent("full", "source", b"x" * 600_000),
        "append": lambda: client.appendObject(
            "full", "log", AppendObjectContent(content=b"b" * 600_000, position=1000)
        ),
        "copy": lambda: client.copyObject("full", "source", "full", "copy"),
        "part": lambda: client.uploadPart("full", "parts", 3, upload, b"p" * 600_000),
        "copied part": lambda: client.copyPart("full", "parts", 3, upload, "full/source"),
        "complete": lambda: client.completeMultipartUpload(
            "full", "parts", upload, CompleteMultipartUploadRequest(parts)
        ),
    }
    for name, call in refused.items():
        answer = call()
        assert (answer.status, answer.errorCode) == (500, "InternalError"), name
        assert "full" in answer.errorMessage, name
        assert disk.listed() == listed, name
        assert disk.bodies() == bodies, name
    assert client.getObject("full", "log", loadStreamInMemory=True).body.buffer == b"a" * 1000
    assert client.getObject("full", "source", loadStreamInMemory=True).body.buffer == b"s" * 500_000
    assert [one.partNumber for one in client.listParts("full", "parts", upload).body.parts] == [1, 2]


def test_a_full_disk_can_be_emptied(disk: FullDisk) -> None:
    """Who may no longer write must still be able to delete."""
    for _ in range(3):
        keys = disk.fill()
        for key in keys:
            answer = disk.client.deleteObject("full", key)
            assert answer.status == 204, (key, answer.errorMessage)
        assert disk.listed() == []
        assert disk.bodies() == []


def test_a_full_disk_can_be_used_again(disk: FullDisk) -> None:
    keys = disk.fill()
    disk.client.deleteObject("full", keys[0])
    assert disk.client.putContent("full", "after", b"y" * 300_000).status == 200
    assert disk.client.getObject("full", "after", loadStreamInMemory=True).body.buffer == b"y" * 300_000
    assert disk.client.putContent("full", "small", b"y").status in (200, 500)


# --- writers and readers at once -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/writers", b"").status == 200
    return wire


class Writer:
    """A PUT in slow motion."""

    def __init__(self, wire: Wire, target: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.body = body
        self._sock = socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENT_S)
        self._sock.sendall(wire.head("PUT", target, {"Content-Length": str(len(body)), **(headers or {})}))

    def send(self, first: int, last: int | None = None) -> None:
        self._sock.sendall(self.body[first:last])

    def end(self) -> Answer:
        raw = b""
        while piece := self._sock.recv(65536):
            raw += piece
        self._sock.close()
        return Answer(raw, "PUT")


@pytest.mark.parametrize("size", [1000, 3 * MiB])
def test_the_last_complete_writer_wins(wire: Wire, size: int) -> None:
    target = f"/writers/{size}"
    first, second = Writer(wire, target, b"1" * size), Writer(wire, target, b"2" * size)
    first.send(0, size // 2)
    second.send(0, size // 2)
    assert wire.ask("HEAD", target).status == 404
    second.send(size // 2)
    assert second.end().status == 200
    assert wire.ask("GET", target).body == second.body
    first.send(size // 2)
    assert first.end().status == 200
    got = wire.ask("GET", target)
    assert (got.body, got.headers["etag"]) == (first.body, f'"{hashlib.md5(first.body).hexdigest()}"')


def test_of_two_that_must_be_the_first_one_is(wire: Wire) -> None:
    writers = [Writer(wire, "/writers/once", b"%d" % number * 1000, {"If-None-Match": "*"}) for number in range(2)]
    for writer in writers:
        writer.send(0, 500)
    for writer in reversed(writers):
        writer.send(500)
        assert writer.end().status == (412 if writer is writers[0] else 200)
    assert wire.ask("GET", "/writers/once").body == writers[1].body


def test_a_reader_gets_what_was_there_when_it_began(wire: Wire) -> None:
    old, new = b"o" * (20 * MiB), b"n" * (20 * MiB)
    wire.put("/writers/read", old)
    with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENT_S) as sock:
        sock.sendall(wire.head("GET", "/writers/read"))
        raw = sock.recv(65536)
        assert wire.put("/writers/read", new).status == 200
        assert wire.ask("DELETE", "/writers/read").status == 204
        while piece := sock.recv(MiB):
            raw += piece
    assert Answer(raw, "GET").body == old
    assert wire.ask("HEAD", "/writers/read").status == 404


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files by the shell of POSIX")
def test_an_index_that_cannot_grow_refuses_and_leaves_nothing(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 2048; exec "$@"', "sh"]
    with LabProcess(tmp_path / "root", wrapper=limited) as lab:
        client = obs_client(lab)
        assert client.createBucket("index").status == 200
        stored = 0
        while (answer := put_with_much_to_index(client, stored)).status == 200:
            stored += 1
            assert stored < 1000
        assert answer.status == 500
        assert len(client.listObjects("index").body.contents) == stored
        assert client.getObject("index", name_of(0), loadStreamInMemory=True).body.buffer == b"x"
        client.close()
        lab.kill()
        lab.restart()
        client = obs_client(lab)
        assert len(client.listObjects("index").body.contents) == stored
        bodies = [path for path in (lab.root / "obs" / "bodies").rglob("*") if path.is_file()]
        assert len(bodies) == stored
        client.close()


def name_of(number: int) -> str:
    return f"{number:04}" + "k" * 1000


def put_with_much_to_index(client: ObsClient, number: int) -> Any:
    return client.putContent("index", name_of(number), b"x", metadata={"m": "v" * 7000})
