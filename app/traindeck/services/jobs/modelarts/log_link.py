"""Fetching the bytes of a log over the link the service gives for it; imported in a worker only.

The link opens the log to whoever has it: it goes into no log line and no error.
"""

from __future__ import annotations

import requests

from traindeck.domain.accounts.profiles import Proxy
from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.texts import text
from traindeck.services.http import bounds
from traindeck.services.http.breakable_requests import go_by

_BLOCK = 1 << 18
_PART, _WHOLE, _NOTHING_THERE = 206, 200, (404, 416)


def fetched(link: str, start: int, most_bytes: int, ca_file: str, proxy: Proxy | None = None) -> bytes:
    """At most so many bytes from `start` on; none where the file is not that long yet."""
    with requests.Session() as session:
        go_by(session, proxy, link)
        session.verify = ca_file or True
        wanted = {"Range": f"bytes={start}-{start + most_bytes - 1}", "Accept-Encoding": "identity"}
        try:
            with session.get(
                link, headers=wanted, timeout=(bounds.CONNECT_S, bounds.SILENCE_S), stream=True, allow_redirects=False
            ) as answer:
                if answer.status_code in _NOTHING_THERE:
                    return b""
                if answer.status_code not in (_PART, _WHOLE):
                    raise _failed(f"HTTP {answer.status_code}")
                # Whoever does not know ranges begins with the first byte.
                return _read(answer, start if answer.status_code == _WHOLE else 0, most_bytes)
        except requests.RequestException as error:
            raise _failed(type(error).__name__) from None


def _read(answer: requests.Response, skipped: int, most_bytes: int) -> bytes:
    data = bytearray()
    # As it comes: nobody was asked to press it, and what it would become has no bounds.
    for block in answer.raw.stream(_BLOCK, decode_content=False):
        data += block[skipped:]
        skipped = max(0, skipped - len(block))
        if len(data) >= most_bytes:
            break
    return bytes(data[:most_bytes])


def _failed(detail: str) -> ServiceTrouble:
    return ServiceTrouble(
        text("The log file could not be downloaded."), text("Will try again on the next refresh."), detail
    )
