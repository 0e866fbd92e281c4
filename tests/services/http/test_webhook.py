"""A program of the user's is told over a real socket: politely, again where that helps, and nobody waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from support.waiting import fail_with, until
from traindeck.domain.errors import InvalidInput
from traindeck.domain.settings import WEBHOOK
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import TaskScope
from traindeck.services.http import webhook as webhooks
from traindeck.services.http.webhook import Webhook
from traindeck.store.notice_outbox import MOST_WAITING, TOO_OLD, NoticeOutbox

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/hook?key=k"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def hook_at(home: Path, address: Callable[[], str], clock: Clock = utc_now) -> AsyncIterator[Webhook]:
    with closing(BlockingCalls(1, "webhook")) as calls, closing(BlockingCalls(1, "disk")) as disk:
        yield Webhook(address, NoticeOutbox(home / "notices"), calls, disk, clock)


@asynccontextmanager
async def sending(home: Path, address: Callable[[], str], clock: Clock = utc_now) -> AsyncIterator[Webhook]:
    async with hook_at(home, address, clock) as hook, TaskScope(fail_with) as scope:
        scope.start("hook", hook.run)
        yield hook


def waiting(home: Path) -> int:
    return len(list((home / "notices").glob("*.json")))


async def test_what_happened_arrives_as_json_and_is_sent_again_while_that_may_help(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(webhooks, "TRIES_S", (0.01,))
    came: list[tuple[str, str, object]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        came.append((request.method, request.path_qs, json.loads(await request.read())))
        return web.Response(status=503 if len(came) < 3 else 204)

    async with server(answer) as address, sending(tmp_path, lambda: address) as hook:
        hook.tell("1", {"kind": "run_failed", "name": "训练", "reason": "no"})
        hook.tell("2", {"kind": "run_finished"})
        await until(lambda: len(came) == 4)
    first = ("POST", "/hook?key=k", {"kind": "run_failed", "name": "训练", "reason": "no"})
    assert came == [first, first, first, ("POST", "/hook?key=k", {"kind": "run_finished"})]


async def test_a_redirect_is_not_followed_and_what_refuses_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(webhooks, "TRIES_S", (0.01,))
    came: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        came.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with server(answer) as address, sending(tmp_path, lambda: address) as hook:
        hook.tell("1", {"kind": "one"})
        hook.tell("2", {"kind": "two"})
        await until(lambda: len(came) == 2 and not waiting(tmp_path))
    assert came == ["/hook"] * 2


async def test_what_could_not_be_sent_waits_on_the_disk_for_the_next_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(webhooks, "WHOLE_S", 0.3)
    monkeypatch.setattr(webhooks, "TRIES_S", (60.0,))
    held, came = asyncio.Event(), list[object]()

    async def no_answer(request: web.Request) -> web.StreamResponse:
        await held.wait()
        return web.Response()

    async def answer(request: web.Request) -> web.StreamResponse:
        came.append(json.loads(await request.read()))
        return web.Response()

    async with server(no_answer) as address, hook_at(tmp_path, lambda: address) as hook:
        hook.tell("run 1", {"kind": "run_failed"})
        assert not await hook.finish(5.0)
        held.set()
    (left,) = (tmp_path / "notices").glob("*.json")
    assert left.stat().st_mode & 0o077 == 0 and address not in left.read_text()

    async with server(answer) as address, sending(tmp_path, lambda: address) as later:
        later.tell("run 1", {"kind": "run_failed"})  # the program before this one told the same
        later.tell("run 2", {"kind": "run_finished"})
        await until(lambda: len(came) == 2)
        assert await hook_is_empty(tmp_path)
        later.tell("run 2", {"kind": "run_finished"})
        await later.flush()
        assert not waiting(tmp_path)
    assert came == [{"kind": "run_failed"}, {"kind": "run_finished"}]


async def hook_is_empty(home: Path) -> bool:
    await until(lambda: not waiting(home))
    return True


async def test_what_is_too_old_damaged_or_too_much_is_forgotten(tmp_path: Path) -> None:
    now, came = [datetime(2031, 5, 1, tzinfo=UTC)], list[object]()

    async def answer(request: web.Request) -> web.StreamResponse:
        came.append(json.loads(await request.read())["number"])
        return web.Response()

    async with server(answer) as address, hook_at(tmp_path, lambda: address, lambda: now[0]) as hook:
        hook.tell("old", {"number": -1})
        await hook.flush()
        (tmp_path / "notices" / "damaged.json").write_text("{")
        now[0] += TOO_OLD
        for number in range(MOST_WAITING + 3):
            hook.tell(f"mark {number}", {"number": number})
            now[0] += timedelta(seconds=1)
            await hook.flush()
        assert await hook.finish(60.0)
    assert came == list(range(3, MOST_WAITING + 3))


async def test_two_programs_send_each_once(tmp_path: Path) -> None:
    came: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        came.append(json.loads(await request.read())["number"])
        return web.Response()

    async with (
        server(answer) as address, sending(tmp_path, lambda: address) as one, sending(tmp_path, lambda: address) as two,
    ):  # fmt: skip
        for number in range(10):
            for hook in (one, two):
                hook.tell(f"mark {number}", {"number": number})
        await until(lambda: len(came) >= 10 and not waiting(tmp_path))
    assert sorted(came) == list(range(10))


def test_what_is_kept_once_more_after_it_was_sent_is_not_sent_again(tmp_path: Path) -> None:
    outbox = NoticeOutbox(tmp_path / "notices")
    outbox.put("mark", {}, utc_now())
    (kept,) = (tmp_path / "notices").glob("*.json")
    content = kept.read_bytes()
    outbox.done(kept.stem)
    kept.write_bytes(content)  # by a program that was slow: it looked before, and writes now
    assert outbox.oldest(utc_now()) is None
    assert not waiting(tmp_path)


async def test_without_an_address_nothing_is_kept(tmp_path: Path) -> None:
    async with hook_at(tmp_path, lambda: "") as hook:
        hook.tell("1", {})
        assert await hook.finish(5.0)
    assert not waiting(tmp_path)


@pytest.mark.parametrize(
    "address",
    ["http://example.com/hook", "ftp://x/y", "https://", "https://me:pw@example.com/", "javascript:1", "https://a b/"],
)
def test_only_https_and_this_computer_are_addresses_for_it(address: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        WEBHOOK.checked(address)
    assert address not in str(refused.value), "it may open a door"
    for fine in ("", "https://example.com/hook?key=k", "http://127.0.0.1:9/x"):
        assert WEBHOOK.checked(fine) == fine
