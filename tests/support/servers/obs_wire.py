"""A client of the object store that sends exactly the bytes it is told to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import socket
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import urlsplit

from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S
from traindeck.lab.signing.request import ChunkSeed
from traindeck.lab.signing.v4 import signing_key


class Answer:
    def __init__(self, raw: bytes, method: str) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.code = (re.findall(rb"<Code>(.*?)</Code>", self.body) or [b""])[0].decode()
        if method == "HEAD" or self.status in (204, 304):
            assert self.body == b""


class Wire:
    """Signs by hand with the OBS signature and sends exactly the bytes it is told to."""

    def __init__(self, lab: LabProcess) -> None:
        self.lab = lab
        self.port = urlsplit(lab.obs).port or 0

    def exchange(self, data: bytes, method: str = "GET") -> Answer:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENT_S) as sock:
            sock.sendall(data)
            raw = b""
            while piece := sock.recv(65536):
                raw += piece
        return Answer(raw, method)

    def begun(self, data: bytes) -> Answer:
        """The first answer, where the rest of the request is never sent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENT_S) as sock:
            sock.sendall(data)
            return Answer(sock.recv(65536), "GET")

    def head(
        self,
        method: str,
        target: str,
        headers: dict[str, str] | None = None,
        *,
        host: str = "",
        resource: str | None = None,
        date: datetime | None = None,
    ) -> bytes:
        given = {"Date": format_datetime(date or datetime.now(UTC), usegmt=True), **(headers or {})}
        lower = {name.lower(): value for name, value in given.items()}
        extra = "".join(f"{n}:{v}\n" for n, v in sorted(lower.items()) if n.startswith("x-obs-"))
        signed = resource if resource is not None else target
        text = f"{method}\n{lower.get('content-md5', '')}\n{lower.get('content-type', '')}\n{given['Date']}\n{extra}"
        digest = hmac.new(self.lab.secret_key.encode(), (text + signed).encode(), hashlib.sha1).digest()
        given["Authorization"] = f"OBS {self.lab.access_key}:{base64.b64encode(digest).decode()}"
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or f'127.0.0.1:{self.port}'}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in given.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def ask(self, method: str, target: str, headers: dict[str, str] | None = None, **more: object) -> Answer:
        return self.exchange(self.head(method, target, headers, **more), method)  # type: ignore[arg-type]

    def put(self, target: str, body: bytes, headers: dict[str, str] | None = None, **more: object) -> Answer:
        given = {"Content-Length": str(len(body)), **(headers or {})}
        return self.exchange(self.head("PUT", target, given, **more) + body)  # type: ignore[arg-type]

    def signed_by(self, scheme: str, method: str, target: str, date: datetime) -> bytes:
        """A request of an S3 client, version 2 ("AWS") or 4 ("AWS4"), at that moment."""
        if scheme == "AWS4":
            return self.v4_head(method, target, "UNSIGNED-PAYLOAD", date=date)[0]
        moment = format_datetime(date, usegmt=True)
        digest = hmac.new(self.lab.secret_key.encode(), f"{method}\n\n\n{moment}\n{target}".encode(), hashlib.sha1)
        signature = base64.b64encode(digest.digest()).decode()
        lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close", f"Date: {moment}"]
        return ("\r\n".join([*lines, f"Authorization: AWS {self.lab.access_key}:{signature}"]) + "\r\n\r\n").encode()

    def v4_head(
        self,
        method: str,
        target: str,
        payload: str,
        headers: dict[str, str] | None = None,
        date: datetime | None = None,
    ) -> tuple[bytes, ChunkSeed]:
        """Signed with version 4 over `payload` as the hash of the body; with it what signed chunks grow from."""
        path, _, query = target.partition("?")
        now = (date or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
        given = {"host": f"127.0.0.1:{self.port}", "x-amz-content-sha256": payload, "x-amz-date": now}
        given = dict(sorted({**given, **(headers or {})}.items()))
        lines = "".join(f"{name}:{value}\n" for name, value in given.items())
        names = ";".join(given)
        ordered = "&".join(sorted(query.split("&"))) if query else ""
        canonical = f"{method}\n{path}\n{ordered}\n{lines}\n{names}\n{payload}"
        scope = f"{now[:8]}/{self.lab.region}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = signing_key(self.lab.secret_key, now[:8], self.lab.region)
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        proof = f"AWS4-HMAC-SHA256 Credential={self.lab.access_key}/{scope}, SignedHeaders={names}"
        sent = [f"{method} {target} HTTP/1.1", "Connection: close", f"Authorization: {proof}, Signature={signature}"]
        sent += [f"{name}: {value}" for name, value in given.items()]
        return ("\r\n".join(sent) + "\r\n\r\n").encode(), ChunkSeed(key, now, scope, signature)

    def v4_put(self, target: str, body: bytes, payload: str, headers: dict[str, str] | None = None) -> Answer:
        given = {"content-length": str(len(body)), **(headers or {})}
        return self.exchange(self.v4_head("PUT", target, payload, given)[0] + body)
