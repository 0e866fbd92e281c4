"""A very fast S3 server for benchmarks: it looks at no signature, and lets nobody wait but by the delay asked for.

    python tests/bench/sink.py [--delay-ms 20] [--room-mib 1024] [--no-crc64]

prints its port and serves loopback until its standard input ends. Large contents are kept in one memory-backed file
where the system has such, all of which is there before the first client comes: what arrives goes from the line to its
place, so that the clients' own work is what the clock sees, and none of them pays for memory that the next one finds.
A Content-MD5 and a CRC-64 are believed and repeated (--no-crc64: the latter is not), parts are not hashed, and of each
request only as much is read as these clients need.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import bisect
import hashlib
import itertools
import mmap
import socket
import sys
import tempfile
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from time import gmtime, strftime, time
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

SMALL = 1 << 20
_AT_ONCE = 1 << 18
_XML = b"Content-Type: application/xml\r\n"
_CRC64 = b"x-obs-checksum-crc64ecma: "


@dataclass(slots=True)
class Held:
    """One object or part: small ones as bytes, large ones as stretches of the room."""

    size: int
    etag: str
    data: bytes = b""
    stretches: list[range] = field(default_factory=list)
    modified: float = field(default_factory=time)
    metadata: list[tuple[str, str]] = field(default_factory=list)
    crc64: str = ""


@dataclass(slots=True)
class Upload:
    bucket: str
    key: str
    metadata: list[tuple[str, str]]
    parts: dict[int, Held] = field(default_factory=dict)


class Room:
    """Memory for large contents, in a file, so that the system can send from it; it ends with the program."""

    def __init__(self, size: int) -> None:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.file = tempfile.TemporaryFile(dir=memory)  # noqa: SIM115
        self.file.truncate(size)
        self.memory = memoryview(mmap.mmap(self.file.fileno(), size))
        self._free = [range(size)]
        for start in range(0, size, mmap.PAGESIZE):
            self.memory[start] = 0

    def take(self, size: int) -> range:
        for at, free in enumerate(self._free):
            if len(free) >= size:
                self._free[at] = free[size:]
                return free[:size]
        raise MemoryError("give more --room-mib")

    def give(self, stretch: range) -> None:
        """What lies side by side becomes one again."""
        joined: list[range] = []
        for free in sorted((one for one in (*self._free, stretch) if one), key=lambda one: one.start):
            if joined and joined[-1].stop == free.start:
                joined[-1] = range(joined[-1].start, free.stop)
            else:
                joined.append(free)
        self._free = joined


class Shelf:
    """Everything the server holds."""

    def __init__(self, room: Room, *, has_crc64: bool) -> None:
        self.room = room
        self.has_crc64 = has_crc64
        self.scratch = memoryview(bytearray(_AT_ONCE))
        self.buckets: dict[str, dict[str, Held]] = {}
        self.uploads: dict[str, Upload] = {}
        self.names: dict[str, list[str]] = {}
        self.numbers = itertools.count(1)

    def put(self, bucket: str, key: str, held: Held) -> None:
        self.buckets.setdefault(bucket, {})[key] = held
        self.names.pop(bucket, None)

    def forget(self, bucket: str, prefix: str) -> None:
        held = self.buckets.get(bucket, {})
        for name in [name for name in held if name.startswith(prefix)]:
            for stretch in held.pop(name).stretches:
                self.room.give(stretch)
        self.names.pop(bucket, None)

    def fill(self, bucket: str, prefix: str, count: int) -> None:
        """Empty objects in folders of a thousand."""
        empty = hashlib.md5(usedforsecurity=False).hexdigest()
        held = self.buckets.setdefault(bucket, {})
        for number in range(count):
            held[f"{prefix}{number // 1000:03}/{number % 1000:03}.jpg"] = Held(0, empty)
        self.names.pop(bucket, None)

    def sorted_names(self, bucket: str) -> list[str]:
        if bucket not in self.names:
            self.names[bucket] = sorted(self.buckets.get(bucket, {}), key=lambda name: name.encode())
        return self.names[bucket]


class Line(asyncio.BufferedProtocol):
    """One connection."""

    def __init__(self, shelf: Shelf, delay_s: float) -> None:
        self.shelf = shelf
        self.delay_s = delay_s
        self.waiting = bytearray()
        self.left = 0
        self.body = bytearray()
        self.stretch: range | None = None  # where a large body goes
        self.sending = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self.stretch is not None:
            self.shelf.room.give(self.stretch)
            self.stretch = None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._rest_of(self.stretch) if self.stretch is not None else self.shelf.scratch

    def buffer_updated(self, size: int) -> None:
        if self.stretch is not None:
            self._came(size)
        else:
            self._data_received(bytes(self.shelf.scratch[:size]))

    def _rest_of(self, stretch: range) -> memoryview:
        return self.shelf.room.memory[stretch.stop - self.left : stretch.stop]

    def _data_received(self, data: bytes) -> None:
        if self.left:
            data = self._take(data)
        if data:
            self.waiting += data
        while self.waiting and not self.left and not self.sending:
            end = self.waiting.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self.waiting[:end])
            rest = bytes(self.waiting[end + 4 :])
            self.waiting.clear()
            self._begin(head)
            if self.left:
                rest = self._take(rest)
            else:
                self._serve()
            self.waiting += rest

    def _begin(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.left = self.size = int(self.headers.get("content-length", 0))
        if "100-continue" in self.headers.get("expect", ""):
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.body.clear()
        if self.size > SMALL and self.method == "PUT":
            self.stretch = self.shelf.room.take(self.size)
            self._wake_at(_AT_ONCE)

    def _take(self, data: bytes) -> bytes:
        mine, rest = data[: self.left], data[self.left :]
        if self.stretch is not None:
            self._rest_of(self.stretch)[: len(mine)] = mine
        else:
            self.body += mine
        self._came(len(mine))
        return rest

    def _wake_at(self, size: int) -> None:
        """Only then the system tells that something is there."""
        line: socket.socket = self.transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

    def _came(self, size: int) -> None:
        self.left -= size
        if self.stretch is not None and self.left < _AT_ONCE:
            self._wake_at(1)
        if not self.left:
            self._serve()

    def _serve(self) -> None:
        path, _, query = self.target.partition("?")
        answer = self._answer(path, dict(parse_qsl(query, keep_blank_values=True)))
        if self.delay_s:
            self.sending = True
            asyncio.get_running_loop().call_later(self.delay_s, self._late, answer)
        elif isinstance(answer, Held):
            self._send_object(answer)
        else:
            self.transport.write(answer)

    def _late(self, answer: bytes | Held) -> None:
        if self.transport.is_closing():
            return
        self.sending = False
        if isinstance(answer, Held):
            self._send_object(answer)
        else:
            self.transport.write(answer)
        if self.waiting:
            self._data_received(b"")

    def _answer(self, path: str, query: dict[str, str]) -> bytes | Held:
        bucket, _, key = unquote(path[1:]).partition("/")
        shelf = self.shelf
        match self.method:
            case "PUT" if not key:
                shelf.buckets.setdefault(bucket, {})
                return _reply()
            case "PUT" if "uploadId" in query:
                part = self._held("part")
                shelf.uploads[query["uploadId"]].parts[int(query["partNumber"])] = part
                return _reply(part)
            case "PUT" if source := self.headers.get("x-obs-copy-source") or self.headers.get("x-amz-copy-source"):
                there, _, name = unquote(source.lstrip("/")).partition("/")
                copied = replace(shelf.buckets[there][name], modified=time())
                shelf.put(bucket, key, copied)
                return _xml(f"<CopyObjectResult><ETag>&quot;{copied.etag}&quot;</ETag></CopyObjectResult>")
            case "PUT":
                held = self._held("")
                shelf.put(bucket, key, held)
                return _reply(held)
            case "POST" if "fill" in query:  # no such request exists elsewhere
                shelf.fill(bucket, key, int(query["fill"]))
                return _reply()
            case "POST" if "uploads" in query:
                name = f"upload-{next(shelf.numbers)}"
                shelf.uploads[name] = Upload(bucket, key, self._metadata())
                begun = f"<UploadId>{name}</UploadId>"
                return _xml(f"<InitiateMultipartUploadResult>{begun}</InitiateMultipartUploadResult>")
            case "POST" if "uploadId" in query:
                upload = shelf.uploads.pop(query["uploadId"])
                parts = [upload.parts[number] for number in sorted(upload.parts)]
                digest = hashlib.md5(b"".join(bytes.fromhex(part.etag) for part in parts), usedforsecurity=False)
                whole = Held(
                    sum(part.size for part in parts), f"{digest.hexdigest()}-{len(parts)}",
                    b"".join(part.data for part in parts), [one for part in parts for one in part.stretches],
                    metadata=upload.metadata, crc64=self._crc64(),
                )  # fmt: skip
                if whole.data and whole.stretches:  # a small last part behind large ones
                    tail = shelf.room.take(len(whole.data))
                    shelf.room.memory[tail.start : tail.stop] = whole.data
                    whole.stretches.append(tail)
                    whole.data = b""
                shelf.put(bucket, key, whole)
                return _xml(
                    f'<CompleteMultipartUploadResult><ETag>"{whole.etag}"</ETag></CompleteMultipartUploadResult>'
                )
            case "POST" if "delete" in query:
                return _xml("<DeleteResult></DeleteResult>")
            case "DELETE" if key.endswith("/"):  # no such request exists elsewhere
                shelf.forget(bucket, key)
                return _reply(status=b"204 No Content")
            case "DELETE":
                return _reply(status=b"204 No Content")
            case "HEAD" if not key:
                return _reply(status=b"200 OK" if bucket in shelf.buckets else b"404 Not Found")
            case "HEAD" | "GET" if key:
                found = shelf.buckets.get(bucket, {}).get(key)
                if found is None:
                    return _xml("<Error><Code>NoSuchKey</Code></Error>", b"404 Not Found", self.method == "HEAD")
                return _describe(found, b"200 OK", 0, found.size) if self.method == "HEAD" else found
            case "GET" if "uploadId" in query:
                upload = shelf.uploads[query["uploadId"]]
                rows = "".join(
                    f"<Part><PartNumber>{number}</PartNumber><Size>{part.size}</Size><ETag>&quot;{part.etag}&quot;</ETag></Part>"
                    for number, part in sorted(upload.parts.items())
                )
                return _xml(f"<ListPartsResult><IsTruncated>false</IsTruncated>{rows}</ListPartsResult>")
            case "GET" if "uploads" in query:
                return _xml("<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
            case "GET" if not bucket:
                rows = "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in shelf.buckets)
                return _xml(f"<ListAllMyBucketsResult><Buckets>{rows}</Buckets></ListAllMyBucketsResult>")
            case "GET" if "location" in query:
                return _xml("<LocationConstraint></LocationConstraint>")
            case "GET" if query.keys() & {"versioning", "policy", "acl", "cors", "lifecycle"}:
                return _xml("<Nothing></Nothing>")
            case "GET":
                return self._listing(bucket, query)
        return _reply(status=b"501 Not Implemented")

    def _crc64(self) -> str:
        told = (self.headers.get(f"x-{prefix}-checksum-crc64ecma", "") for prefix in ("obs", "amz"))
        return "".join(told) if self.shelf.has_crc64 else ""

    def _metadata(self) -> list[tuple[str, str]]:
        kept = ("x-amz-meta-", "x-obs-meta-")
        return [(name, value) for name, value in self.headers.items() if name.startswith(kept)]

    def _held(self, kind: str) -> Held:
        data = bytes(self.body)
        said = self.headers.get("content-md5")
        stretches = [self.stretch] if self.stretch is not None else []
        self.stretch = None
        if said:
            etag = base64.b64decode(said).hex()
        elif kind == "part":
            etag = f"{next(self.shelf.numbers):032x}"
        else:
            digest = hashlib.md5(data, usedforsecurity=False)
            for stretch in stretches:
                digest.update(self.shelf.room.memory[stretch.start : stretch.stop])
            etag = digest.hexdigest()
        return Held(self.size, etag, data, stretches, metadata=self._metadata(), crc64=self._crc64())

    def _send_object(self, held: Held) -> None:
        start, end, status = 0, held.size, b"200 OK"
        asked = self.headers.get("range", "")
        if asked.startswith("bytes="):
            first, _, last = asked[6:].partition("-")
            start = int(first) if first else max(0, held.size - int(last))
            end = min(held.size, int(last) + 1) if first and last else held.size
            status = b"206 Partial Content"
        head = _describe(held, status, start, end)
        if held.data or not held.size:
            self.transport.write(head + held.data[start:end])
            return
        self.transport.write(head)
        self.sending = True
        self.task = asyncio.get_running_loop().create_task(self._stream(held, start, end))

    async def _stream(self, held: Held, start: int, end: int) -> None:
        loop = asyncio.get_running_loop()
        position = 0
        try:
            for stretch in held.stretches:
                mine = stretch[max(0, start - position) : max(0, end - position)]
                if mine:
                    await loop.sendfile(self.transport, self.shelf.room.file, mine.start, len(mine))
                position += len(stretch)
        except (ConnectionError, RuntimeError):
            return  # the client has gone
        self.sending = False
        if self.waiting:
            self._data_received(b"")

    def _listing(self, bucket: str, query: dict[str, str]) -> bytes:
        held = self.shelf.buckets.get(bucket)
        if held is None:
            return _xml("<Error><Code>NoSuchBucket</Code></Error>", b"404 Not Found")
        names = self.shelf.sorted_names(bucket)
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        most = min(1000, int(query.get("max-keys", 1000)))
        after = query.get("continuation-token") or query.get("start-after") or query.get("marker") or ""
        place = bisect.bisect_left(names, prefix.encode(), key=str.encode)
        if after:
            place = max(place, bisect.bisect_right(names, after.encode(), key=str.encode))
        rows: list[str] = []
        folders: list[str] = []
        last, count, more = "", 0, False
        while place < len(names):
            name = names[place]
            if not name.startswith(prefix):
                break
            if count == most:
                more = True
                break
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            if cut >= 0:
                last = name[: cut + 1]
                place = bisect.bisect_left(names, last.encode() + b"\xff", key=str.encode)
                if last == after:
                    continue
                folders.append(f"<CommonPrefixes><Prefix>{escape(last)}</Prefix></CommonPrefixes>")
            else:
                one = held[name]
                when = strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(one.modified))
                rows.append(
                    f"<Contents><Key>{escape(name)}</Key><LastModified>{when}</LastModified>"
                    f"<ETag>&quot;{one.etag}&quot;</ETag><Size>{one.size}</Size>"
                    "<StorageClass>STANDARD</StorageClass></Contents>"
                )
                last = name
                place += 1
            count += 1
        next_one = ""
        if more:
            mark = escape(last)
            next_one = f"<NextMarker>{mark}</NextMarker><NextContinuationToken>{mark}</NextContinuationToken>"
        return _xml(
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{count}</KeyCount>"
            f"<MaxKeys>{most}</MaxKeys><IsTruncated>{str(more).lower()}</IsTruncated>{next_one}"
            f"{''.join(rows)}{''.join(folders)}</ListBucketResult>"
        )


def _reply(held: Held | None = None, status: bytes = b"200 OK") -> bytes:
    told = b'ETag: "' + held.etag.encode() + b'"\r\n' if held else b""
    if held and held.crc64:
        told += _CRC64 + held.crc64.encode() + b"\r\n"
    return b"HTTP/1.1 " + status + b"\r\n" + _date() + told + b"Content-Length: 0\r\n\r\n"


def _xml(document: str, status: bytes = b"200 OK", head_only: bool = False) -> bytes:
    body = b'<?xml version="1.0" encoding="UTF-8"?>' + document.encode()
    length = b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n"
    head = b"HTTP/1.1 " + status + b"\r\n" + _date() + _XML + length
    return head if head_only else head + body


def _describe(held: Held, status: bytes, start: int, end: int) -> bytes:
    lines = [
        f'ETag: "{held.etag}"', f"Content-Length: {end - start}", "Accept-Ranges: bytes",
        f"Last-Modified: {formatdate(held.modified, usegmt=True)}", "Content-Type: application/octet-stream",
    ]  # fmt: skip
    lines += [f"{name}: {value}" for name, value in held.metadata]
    lines += [_CRC64.decode() + held.crc64] if held.crc64 else []
    if status.startswith(b"206"):
        lines.append(f"Content-Range: bytes {start}-{end - 1}/{held.size}")
    return b"HTTP/1.1 " + status + b"\r\n" + _date() + "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


_now = (0, b"")


def _date() -> bytes:
    global _now
    second = int(time())
    if _now[0] != second:
        _now = (second, b"Date: " + formatdate(second, usegmt=True).encode() + b"\r\n")
    return _now[1]


async def serve(delay_s: float, room_bytes: int, *, has_crc64: bool) -> None:
    shelf = Shelf(Room(room_bytes), has_crc64=has_crc64)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Line(shelf, delay_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--delay-ms", type=float, default=0)
    options.add_argument("--room-mib", type=int, default=1024)
    options.add_argument("--no-crc64", action="store_true")
    given = options.parse_args()
    asyncio.run(serve(given.delay_ms / 1000, given.room_mib << 20, has_crc64=not given.no_crc64))
