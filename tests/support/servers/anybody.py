"""Somebody without an account, who sends plain requests over a socket."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from support.waiting import PATIENT_S


class Anybody:
    """Signs nothing; each answer is its status."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        assert address.hostname and address.port
        self._place = (address.hostname, address.port)

    def get(self, target: str) -> int:
        return self.ask("GET", target)

    def put(self, target: str, content: bytes = b"by nobody") -> int:
        return self.ask("PUT", target, content)

    def delete(self, target: str) -> int:
        return self.ask("DELETE", target)

    def ask(self, method: str, target: str, content: bytes = b"") -> int:
        head = f"{method} {target} HTTP/1.1\r\nHost: {self._place[0]}:{self._place[1]}\r\nConnection: close\r\n"
        head += f"Content-Length: {len(content)}\r\n\r\n"
        with socket.create_connection(self._place, timeout=PATIENT_S) as sock:
            sock.sendall(head.encode() + content)
            raw = b""
            while piece := sock.recv(65536):
                raw += piece
        return int(raw.split(b" ", 2)[1])
