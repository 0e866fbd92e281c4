"""The notifications of Linux desktops, which tell which one was clicked; elsewhere the window has its own way."""

from __future__ import annotations

import asyncio
import html
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import AppError
from traindeck.runtime.tasks import Listeners, TaskScope

if TYPE_CHECKING:
    from jeepney.io.asyncio import DBusRouter

log = logging.getLogger(__name__)

_NAME, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_PATIENCE_S = 5.0
_MOST_WORDS = 500
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Notification:
    """`key` comes back when it is clicked; `otherwise` shows it where the desktop has no such service."""

    key: str
    title: str
    body: str
    otherwise: Callable[[], None]


class DesktopNotifications:
    """Connects with the first one; whoever cannot be reached is tried again with the next."""

    def __init__(self) -> None:
        self.clicked: Listeners[str] = Listeners()
        self._wanted: asyncio.Queue[Notification] = asyncio.Queue()
        self._shown: dict[int, str] = {}

    def show(self, wanted: Notification) -> None:
        if sys.platform == "linux":
            self._wanted.put_nowait(wanted)
        else:
            wanted.otherwise()

    async def run(self) -> None:
        """Show what is wanted, as long as this runs."""
        waiting: Notification | None = None
        while True:
            waiting = waiting or await self._wanted.get()
            try:
                async with _connected() as router, self._listening(router):
                    can_mark_up = "body-markup" in await _ask(router, "GetCapabilities")
                    while True:
                        await self._notify(router, waiting, can_mark_up=can_mark_up)
                        waiting = None
                        waiting = await self._wanted.get()
            except Exception as error:  # noqa: BLE001 - whatever the bus or its library does, the window must go on
                log.info("no notifications of the desktop: %s: %s", type(error).__name__, error)
                if waiting is not None:
                    waiting.otherwise()
                    waiting = None

    async def _notify(self, router: DBusRouter, wanted: Notification, *, can_mark_up: bool) -> None:
        body = wanted.body[:_MOST_WORDS]
        body = html.escape(body, quote=False) if can_mark_up else body
        hints = {"desktop-entry": ("s", "traindeck")}
        words = ("TrainDeck", 0, "traindeck", wanted.title[:_MOST_WORDS], body, ["default", ""], hints, -1)
        number = await _ask(router, "Notify", "susssasa{sv}i", words)
        self._shown[int(number)] = wanted.key
        while len(self._shown) > _MOST_SHOWN:
            del self._shown[next(iter(self._shown))]

    @asynccontextmanager
    async def _listening(self, router: DBusRouter) -> AsyncIterator[None]:
        from jeepney import MatchRule, message_bus
        from jeepney.io.asyncio import Proxy

        rule = MatchRule(type="signal", interface=_NAME, member="ActionInvoked", path=_PATH)
        await Proxy(message_bus, router).AddMatch(rule)

        async def listen() -> None:
            with router.filter(rule, bufsize=_MOST_SHOWN) as told:
                while True:
                    number = (await told.get()).body[0]
                    if key := self._shown.pop(number, None):
                        self.clicked.tell(key)

        async with TaskScope(_report) as scope:
            scope.start("listen to clicks", listen)
            yield


def _report(name: str, error: AppError) -> None:
    log.warning("%s: %s %s", name, error, error.detail)


@asynccontextmanager
async def _connected() -> AsyncIterator[DBusRouter]:
    from jeepney.io.asyncio import open_dbus_router

    async with open_dbus_router(bus="SESSION") as router:
        yield router


async def _ask(router: DBusRouter, method: str, signature: str = "", words: tuple[Any, ...] = ()) -> Any:
    from jeepney import DBusAddress, new_method_call
    from jeepney.wrappers import unwrap_msg

    address = DBusAddress(_PATH, bus_name=_NAME, interface=_NAME)
    async with asyncio.timeout(_PATIENCE_S):
        reply = await router.send_and_get_reply(new_method_call(address, method, signature or None, words))
    return unwrap_msg(reply)[0]
