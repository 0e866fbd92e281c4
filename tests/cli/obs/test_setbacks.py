"""What fails is said when it fails: what cannot get better ends at once, the rest says when it tries again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from support.cli_commands import Answer, Traindeck
from support.places import closed_port
from support.servers.beside import beside
from support.servers.secure import SecureServer
from support.stores.written import Line, Script, WrittenServer
from traindeck.assembly import data_core
from traindeck.services.http import calls
from traindeck.services.transfers import active

KEYS = {
    "HUAWEICLOUD_SDK_AK": "AKOFAHOSTILESERVER00",
    "HUAWEICLOUD_SDK_SK": "SKOFAHOSTILESERVER0000000000000000000000",
    "HUAWEICLOUD_SDK_REGION": "nowhere-1",
    "TRAINDECK_PATH_STYLE": "1",
}


# In a transfer many fail at a time, and are told together.
SAID = re.compile(r"Failed attempts: [1-9]\d*; next attempt at \d\d:\d\d:\d\d\.")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_core, "PATIENCE_S", 0.2)
    monkeypatch.setattr(calls, "FIRST_S", 0.001)
    monkeypatch.setattr(active, "FIRST_WAIT_S", 0.05)


async def body_of(line: Line) -> str:
    """The whole request; its first line."""
    head = await line.head()
    length = next((value for value in head.split("\r\n") if value.lower().startswith("content-length:")), "x: 0")
    await line.body(int(length.partition(":")[2]))
    return head.partition("\r\n")[0]


async def page(line: Line) -> None:
    while await body_of(line):
        await line.answer(200, b"<!DOCTYPE html><html>Sign in</html>", Content_Type="text/html")


async def wants_a_sign_in(line: Line) -> None:
    while await body_of(line):
        await line.answer(511, b"<html>Sign in</html>", Content_Type="text/html")


async def wrong_etag(line: Line) -> None:
    while asked := await body_of(line):
        if asked.startswith("GET"):
            listing = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
            await line.answer(200, listing, Content_Type="application/xml")
        else:
            await line.answer(404 if asked.startswith("HEAD") else 200, ETag='"' + "0" * 32 + '"')


async def breaks_off(line: Line) -> None:
    while asked := await body_of(line):
        if asked.startswith("HEAD"):
            await line.say(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nETag: "' + b"0" * 32 + b'"\r\n\r\n')
        else:
            await line.say(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nETag: "' + b"0" * 32 + b'"\r\n\r\nshort')
            return


async def busy(line: Line) -> None:
    while await body_of(line):
        await line.answer(503, b"<Error><Code>ServiceUnavailable</Code></Error>", Content_Type="application/xml")


async def away(line: Line) -> None:
    while await body_of(line):
        await line.answer(307, Location="https://elsewhere.example/")


async def leads_nowhere(line: Line) -> None:
    while await body_of(line):
        await line.answer(307)


async def denied(line: Line) -> None:
    while await body_of(line):
        await line.answer(403, b"<Error><Code>AccessDenied</Code></Error>", Content_Type="application/xml")


async def has_no_such_thing(line: Line) -> None:
    while await body_of(line):
        await line.answer(501, b"<Error><Code>NotImplemented</Code></Error>", Content_Type="application/xml")


async def no_tls(line: Line) -> None:
    await line.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


COMMANDS = {
    "cp up": ("obs", "cp", "data", "obs://bucket/x/"),
    "mv up": ("obs", "mv", "data", "obs://bucket/x/"),
    "sync up": ("obs", "sync", "data", "obs://bucket/x/"),
    "pack": ("obs", "pack", "data", "obs://bucket/x/"),
    "cp down": ("obs", "cp", "obs://bucket/k", "here"),
    "ls": ("obs", "ls", "obs://bucket/"),
    "stat": ("obs", "stat", "obs://bucket/k"),
    "cat": ("obs", "cat", "obs://bucket/k"),
    "rm": ("obs", "rm", "obs://bucket/k"),
    "mb": ("obs", "mb", "obs://bucket"),
}


# Each way in once; the whole of it is a long proof.
_QUICK = {"cp up", "cp down", "ls", "mb"}


def each(*chosen: str) -> list[ParameterSet]:
    """These commands, or all."""
    return [
        pytest.param(command, marks=() if command in _QUICK else pytest.mark.long) for command in chosen or COMMANDS
    ]


def each_with(script: Script, *more: object, of: Sequence[str] = ()) -> list[ParameterSet]:
    return [pytest.param(*one.values, script, *more, marks=one.marks) for one in each(*of)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}").write_bytes(b"content")
    return folder


@contextmanager
def at(script: Script) -> Iterator[WrittenServer]:
    with beside(WrittenServer(script)) as server:
        yield server


def run(traindeck: Traindeck, url: str, command: str, *more: str) -> Answer:
    environment = KEYS | {"TRAINDECK_OBS_ENDPOINT": url}
    return traindeck(*COMMANDS[command], "--profile", "environment", *more, environment=environment)


@pytest.mark.parametrize(
    ("command", "script"),
    [
        *each_with(page),
        *each_with(away),
        *each_with(wants_a_sign_in, of=("cp up", "ls")),
        *each_with(leads_nowhere),
    ],
)
def test_what_cannot_get_better_ends_at_once(
    traindeck: Traindeck, data: Path, command: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_core, "PATIENCE_S", 3600.0)
    monkeypatch.setattr(active, "FIRST_WAIT_S", 3600.0)
    with at(script) as server:
        answer = run(traindeck, server.url, command).must_be(5)
        assert server.connections <= 20, "not every file is asked for"
    expected = "instead of a service response"
    if script in (away, leads_nowhere):
        expected = "not part of the service" if script is away else "without naming an address of the service"
    assert expected in answer.said
    assert "Failed attempts" not in answer.said and "try again later" not in answer.said


def test_training_says_the_same_of_a_redirect_to_nowhere(traindeck: Traindeck) -> None:
    with at(leads_nowhere) as server:
        addresses = {f"TRAINDECK_{name}_ENDPOINT": server.url for name in ("OBS", "MODELARTS", "IAM")}
        keys = KEYS | addresses | {"HUAWEICLOUD_SDK_PROJECT_ID": "p"}
        answer = traindeck("engines", "--profile", "environment", environment=keys).must_be(5)
    assert "without naming an address of the service" in answer.said


@pytest.mark.parametrize("command", each("cp up", "mv up", "sync up", "cp down", "ls"))
def test_what_is_not_tried_again_is_not_said_to_be(traindeck: Traindeck, data: Path, command: str) -> None:
    with at(denied) as server:
        answer = run(traindeck, server.url, command)
    assert answer.code in (1, 3) and "do not have permission" in answer.said
    assert "try again later" not in answer.said and "Failed attempts" not in answer.said


@pytest.mark.parametrize("command", each("cp up", "ls", "stat"))
def test_a_certificate_that_nobody_knows_ends_at_once(
    traindeck: Traindeck, data: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_core, "PATIENCE_S", 3600.0)
    monkeypatch.setattr(active, "FIRST_WAIT_S", 3600.0)
    with beside(SecureServer(tmp_path)) as server:
        answer = run(traindeck, server.url, command).must_be(5)
        assert server.requests == 0
    assert "certificate" in answer.said and "Failed attempts" not in answer.said


@pytest.mark.parametrize("command", each("cp up", "mb"))
def test_a_server_without_tls_ends_at_once(traindeck: Traindeck, data: Path, command: str) -> None:
    with at(no_tls) as server:
        answer = run(traindeck, server.url.replace("http:", "https:"), command).must_be(5)
    assert "TLS" in answer.said and "Failed attempts" not in answer.said


@pytest.mark.parametrize(
    ("command", "script", "reason"),
    [
        *each_with(busy, "HTTP 503"),
        *each_with(wrong_etag, "corrupted", of=("cp up", "sync up", "mv up")),
        *each_with(breaks_off, "lost", of=("cp down", "cat")),
    ],
)
def test_the_first_failure_is_said_and_when_it_tries_again(
    traindeck: Traindeck, data: Path, command: str, script: Script, reason: str
) -> None:
    with at(script) as server:
        answer = run(traindeck, server.url, command).must_be(5)
    first = answer.said.splitlines()[0]
    assert reason in first and ("try again later" in first or SAID.search(first)), answer.said
    assert len(SAID.findall(answer.said)) <= 3, "not a line for each request"


@pytest.mark.parametrize("command", ["cp up", "ls", "mb"])
def test_nobody_there_is_said_too(traindeck: Traindeck, data: Path, command: str) -> None:
    answer = run(traindeck, f"http://127.0.0.1:{closed_port()}", command).must_be(5)
    assert "Cannot connect" in answer.said.splitlines()[0] and SAID.search(answer.said)


@pytest.mark.parametrize("command", each("cp up", "sync up", "mv up", "pack", "cp down"))
def test_programs_are_told_in_a_line_of_their_own(traindeck: Traindeck, data: Path, command: str) -> None:
    with at(busy) as server:
        rows = run(traindeck, server.url, command, "--json").must_be(5).rows
    told = rows[0]["trying_again"]
    assert "503" in told["title"] and told["tries"] >= 1 and told["kind"] == "service"
    assert rows[-1]["error"]["retryable"] is True


def test_one_document_stays_one(traindeck: Traindeck) -> None:
    with at(busy) as server:
        answer = run(traindeck, server.url, "stat", "--json").must_be(5)
    assert json.loads(answer.out)["error"] and SAID.search(answer.said)


@pytest.mark.parametrize("command", ["mb", "rm"])
def test_what_a_service_does_not_have_is_not_worth_another_try(traindeck: Traindeck, command: str) -> None:
    with at(has_no_such_thing) as server:
        answer = run(traindeck, server.url, command, "--json").must_be(1)
    assert answer.error["kind"] == "not_offered" and not answer.error["retryable"]
    assert "Failed attempts" not in answer.said
