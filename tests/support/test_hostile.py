"""The bad servers of the tests: they turn bad when they should, and note what they were asked."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.servers.hostile import HOSTILE, LISTING, Around, Upstream, hostile
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[Upstream]:
    with LabProcess(tmp_path / "root") as lab:
        yield Upstream(lab.obs, lab.modelarts, lab.iam)


def asked(around: Around, target: str = "/") -> tuple[int, str, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", urlsplit(around.obs).port or 0, timeout=PATIENT_S)
    try:
        line.request("GET", target)
        answer = line.getresponse()
        return answer.status, answer.headers.get("Location", ""), answer.read()
    finally:
        line.close()


def test_it_is_honest_for_so_long_and_notes_what_it_was_asked(upstream: Upstream) -> None:
    with hostile(upstream, HOSTILE["a page with 503"], honest=2) as around:
        kinds = [asked(around, f"/bucket?prefix={number}") for number in range(3)]
        assert [status for status, _, _ in kinds] == [404, 404, 503], "the real one knows no such bucket"
        assert around.budget.asked == [f"GET /bucket?prefix={number}" for number in range(3)]
        assert not around.stranger.connections and not around.stranger.heard


def test_it_leads_to_the_stranger_who_hears_all(upstream: Upstream) -> None:
    with hostile(upstream, HOSTILE["sent away with 302"]) as around:
        _, there, _ = asked(around)
        line = http.client.HTTPConnection("127.0.0.1", around.stranger.port, timeout=PATIENT_S)
        line.request("GET", there, headers={"Authorization": "secret"})
        assert line.sock is not None
        line.sock.shutdown(socket.SHUT_WR)
        assert not line.sock.recv(1), "it hears all, and says nothing"
        line.close()
    assert b"Authorization: secret" in around.stranger.heard and around.stranger.connections == 1


def test_its_lists_lie_and_all_else_is_honest(upstream: Upstream) -> None:
    with hostile(upstream, LISTING["names outside"]) as around:
        assert b"elsewhere%2Fpasswd" in asked(around, "/bucket?prefix=in%2F&max-keys=10")[2]
        assert asked(around, "/bucket/key")[0] == 404
