"""What somebody does who was given a link and has no keys."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from support.waiting import PATIENT_S


def fetched(link: str, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    """Status and body, by the plainest client there is."""
    parts = urlsplit(link)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENT_S)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
