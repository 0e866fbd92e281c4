"""A request during which the Lab is killed."""

from __future__ import annotations

import http.client
import select
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S


def answered_before_kill(
    lab: LabProcess, method: str, url: str, headers: Mapping[str, str], body: bytes, sent: int, wait_ms: int
) -> int:
    """Send so much of the body, wait a little, kill; the status of an answer that came all the same, else 0."""
    parts = urlsplit(url)
    given = {**headers, "Host": parts.netloc, "Content-Length": str(len(body))}
    lines = [f"{method} {url.removeprefix(f'http://{parts.netloc}')} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in given.items()]
    with socket.create_connection(("127.0.0.1", parts.port or 0), timeout=PATIENT_S) as sock:
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body[:sent])
        select.select([sock], [], [], wait_ms / 1000)
        lab.kill()
        answer = http.client.HTTPResponse(sock)
        try:
            answer.begin()
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            answer.close()
    return answer.status
