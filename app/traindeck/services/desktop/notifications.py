"""The notifications of Linux desktops, which tell which one was clicked; elsewhere the window has its own way."""

from __future__ import annotations

import asyncio
import html
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from traindeck.domain.errors import AppError
from traindeck.runtime.tasks import Listeners, TaskScope

if TYPE_CHECKING:
    from jeepney.io.asyncio import DBusRouter

log = logging.getLogger(__name__)

_NAME, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_PATIENCE_S = 5.0
_MOST_WORDS = 500
_MOST_SHOWN = 100
_WHOLE = "default"


@dataclass(frozen=True, slots=True)
class Notification:
    """`key` comes back when it is clicked; `otherwise` shows it where the desktop has no such service."""

    key: str
    title: str
    body: str
    otherwise: Callable[[], None]
    buttons: tuple[tuple[str, str], ...] = ()
    """The name and the words of each, where the desktop has buttons for them."""


class ClickedNotification(NamedTuple):
    key: str
    action: str
    """The name of the button; empty: of the notification as a whole."""


@dataclass(frozen=True, slots=True)
class _Outdated:
    key: str


class DesktopNotifications:
    """Connects with the first one; whoever cannot be reached is tried again with the next."""

    def __init__(self) -> None:
        self.clicked: Listeners[ClickedNotification] = Listeners()
        self._wanted: asyncio.Queue[Notification | _Outdated] = asyncio.Queue()
        self._shown: dict[int, str] = {}

    def show(self, wanted: Notification) -> None:
        if sys.platform == "linux":
            self._wanted.put_nowait(wanted)
        else:
            wanted.otherwise()

    def take_away(self, key: str) -> None:
        """It holds no more."""
        if sys.platform == "linux":
            self._wanted.put_nowait(_Outdated(key))

    async def run(self) -> None:
        """Show what is wanted, as long as this runs."""
        waiting: Notification | _Outdated | None = None
        while True:
            waiting = waiting or await self._wanted.get()
            try:
                async with _connected() as router, self._listening(router):
                    abilities = frozenset(await _ask(router, "GetCapabilities"))
                    while True:
                        if isinstance(waiting, Notification):
                            await self._notify(router, waiting, abilities)
                        else:
                            await self._close(router, waiting.key)
                        waiting = None
                        waiting = await self._wanted.get()
            except Exception as error:  # noqa: BLE001 - whatever the bus or its library does, the window must go on
                log.info("no notifications of the desktop: %s: %s", type(error).__name__, error)
                if isinstance(waiting, Notification):
                    waiting.otherwise()
                waiting = None

    async def _notify(self, router: DBusRouter, wanted: Notification, abilities: frozenset[str]) -> None:
        body = wanted.body[:_MOST_WORDS]
        body = html.escape(body, quote=False) if "body-markup" in abilities else body
        hints = {"desktop-entry": ("s", "traindeck")}
        buttons = wanted.buttons if "actions" in abilities else ()
        actions = [_WHOLE, "", *(part for button in buttons for part in button)]
        words = ("TrainDeck", 0, "traindeck", wanted.title[:_MOST_WORDS], body, actions, hints, -1)
        number = await _ask(router, "Notify", "susssasa{sv}i", words)
        self._shown[int(number)] = wanted.key
        while len(self._shown) > _MOST_SHOWN:
            del self._shown[next(iter(self._shown))]

    async def _close(self, router: DBusRouter, key: str) -> None:
        from jeepney import DBusErrorResponse

        for number in [number for number, shown in self._shown.items() if shown == key]:
            del self._shown[number]
            with suppress(DBusErrorResponse):  # somebody has closed it
                await _ask(router, "CloseNotification", "u", (number,))

    @asynccontextmanager
    async def _listening(self, router: DBusRouter) -> AsyncIterator[None]:
        from jeepney import MatchRule, message_bus
        from jeepney.io.asyncio import Proxy

        rule = MatchRule(type="signal", interface=_NAME, member="ActionInvoked", path=_PATH)
        await Proxy(message_bus, router).AddMatch(rule)

        async def listen() -> None:
            with router.filter(rule, bufsize=_MOST_SHOWN) as told:
                while True:
                    number, action = (await told.get()).body[:2]
                    if key := self._shown.pop(number, None):
                        self.clicked.tell(ClickedNotification(key, "" if action == _WHOLE else action))

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
    return next(iter(unwrap_msg(reply)), None)
