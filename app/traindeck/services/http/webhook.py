"""Telling a program of the user's what happened: one small HTTPS POST, to the address the user set and no other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from traindeck.domain.errors import AppError, InvalidInput, ServiceTrouble, TooSlow
from traindeck.domain.notices.run_notices import LINE_FOUND
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.clock import Clock, utc_now
from traindeck.services.http.calls import breakable, load
from traindeck.services.http.masking import without_secrets
from traindeck.store.notice_outbox import NoticeOutbox

log = logging.getLogger(__name__)

CONNECT_S, WHOLE_S = 6.0, 15.0
TRIES_S = (5.0, 60.0, 600.0)
_MOST_ANSWER = 1 << 16
_LATER = (408, 425, 429)


class Webhook:
    """Sends in the background, one after the other; what cannot be sent waits on the disk, also for another start."""

    def __init__(
        self,
        address: Callable[[], str],
        outbox: NoticeOutbox,
        calls: BlockingCalls,
        disk: BlockingCalls,
        clock: Clock = utc_now,
    ) -> None:
        """`address` is asked each time; empty: nobody wants to be told. `calls`: for waiting for somebody's server."""
        self._address = address
        self._outbox = outbox
        self._calls, self._disk = calls, disk
        self._clock = clock
        self._told: list[tuple[str, Mapping[str, object]]] = []
        self._woken, self._kept = asyncio.Event(), asyncio.Event()

    def tell(self, mark: str, content: Mapping[str, object]) -> None:
        """Never waits; what has the same mark is sent once, whoever tells it."""
        if self._address():
            self._told.append((mark, content))
            self._woken.set()

    async def run(self) -> None:
        """Send what is told, and what was left by earlier starts, as long as this runs."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_all())
            group.create_task(self._deliver())

    async def flush(self) -> None:
        """What was told is on the disk when this returns, or cannot be."""
        told, self._told = self._told, []
        for mark, content in told:
            try:
                await self._disk.run(partial(self._keep, mark, content))
            except AppError as error:
                log.warning("a notification is not on the disk: %s %s", error, error.detail)
        self._kept.set()

    def _keep(self, mark: str, content: Mapping[str, object], _: CancelToken) -> None:
        self._outbox.put(mark, content, self._clock())

    async def finish(self, limit_s: float) -> bool:
        """For who is about to end, and no longer runs this: whether nothing is left; what is, goes at a later start."""
        await self.flush()
        try:
            async with asyncio.timeout(limit_s):
                while await self._send_oldest():
                    pass
        except (AppError, TimeoutError) as error:
            log.info("a notification is left for later: %s", error)
            return False
        return True

    async def _keep_all(self) -> None:
        while True:
            self._woken.clear()
            await self.flush()
            await self._woken.wait()

    async def _deliver(self) -> None:
        tries = 0
        while True:
            self._kept.clear()
            try:
                while await self._send_oldest():
                    tries = 0
            except AppError as error:
                # The address opens the door to whoever has it: it goes into no log line.
                log.warning("a notification was not delivered: %s %s", error, error.detail)
                await asyncio.sleep(TRIES_S[min(tries, len(TRIES_S) - 1)])
                tries += 1
            else:
                await self._kept.wait()

    async def _send_oldest(self) -> bool:
        """Whether there was one."""
        return await self._in_time(lambda token: self._send_one(self._address(), token))

    def _send_one(self, address: str, token: CancelToken) -> bool:
        with self._outbox.alone():
            one = self._outbox.oldest(self._clock())
            if one is None:
                return False
            if address:
                try:
                    _post(address, one.content, token)
                except InvalidInput as error:
                    log.warning("a notification was refused: %s %s", error, error.detail)
            self._outbox.done(one.name)
            return True

    async def _in_time(self, work: Callable[[CancelToken], bool]) -> bool:
        try:
            async with asyncio.timeout(WHOLE_S):
                return await self._calls.run(work)
        except TimeoutError:
            raise TooSlow(
                text("The address for notifications did not respond in time."),
                text("Check it in the settings. Will try again."),
            ) from None


def notice_content(kind: str, title: Text, hint: Text, run: str, at: datetime) -> dict[str, object]:
    """What is sent of a notice: plain words without secrets."""
    return {
        "kind": kind,
        "name": str(title.fields.get("name", "")),
        "state": str(title.fields.get("state", "")),
        # What a rule found is a line of a log, and those stay here.
        "reason": "" if kind == LINE_FOUND else without_secrets(say(hint)),
        "title": without_secrets(say(title)),
        "run": run,
        "at": at.isoformat(),
    }


def _post(address: str, content: Mapping[str, object], token: CancelToken) -> None:
    load("requests")
    import requests

    from traindeck.services.http.breakable_requests import go_by

    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "TrainDeck"}
    with breakable(token), requests.Session() as session:
        go_by(session, None, address)
        try:
            with session.post(
                address, data=body, headers=headers, timeout=(CONNECT_S, WHOLE_S), allow_redirects=False, stream=True
            ) as answer:
                status = answer.status_code
                answer.raw.read(_MOST_ANSWER)
        except requests.RequestException as error:
            raise _failed(type(error).__name__) from None
    if 200 <= status < 300:
        return
    if status >= 500 or status in _LATER:
        raise _failed(f"HTTP {status}")
    raise InvalidInput(
        text("The address for notifications refuses them."),
        text("Check it in the settings. Redirects are not followed."),
        f"HTTP {status}",
    )


def _failed(detail: str) -> ServiceTrouble:
    return ServiceTrouble(
        text("The address for notifications could not be reached."),
        text("Check it in the settings. Will try again."),
        detail,
    )
