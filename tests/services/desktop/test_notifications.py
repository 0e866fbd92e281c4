"""Notifications over a real D-Bus: shown, clicked, and in another way where nobody shows them."""

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.waiting import fail_with, until
from traindeck.runtime.tasks import TaskScope
from traindeck.services.desktop.notifications import DesktopNotifications, Notification

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not shutil.which("dbus-daemon"), reason="needs D-Bus")


class Shown:
    def __init__(self, desktop: DesktopNotifications) -> None:
        self.desktop = desktop
        self.clicked: list[tuple[str, str]] = []
        self.otherwise: list[str] = []
        desktop.clicked.add(self.clicked.append)

    def show(self, key: str, title: str = "", body: str = "", *buttons: tuple[str, str]) -> None:
        self.desktop.show(Notification(key, title, body, lambda: self.otherwise.append(key), buttons))


@asynccontextmanager
async def running() -> AsyncIterator[Shown]:
    async with TaskScope(fail_with) as scope:
        desktop = DesktopNotifications()
        scope.start("show", desktop.run)
        yield Shown(desktop)


async def test_each_is_shown_and_tells_when_it_is_clicked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from support.servers.notification_service import notification_service, session_bus

    with session_bus(tmp_path / "bus") as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        async with notification_service(address, "body-markup") as service, running() as at:
            at.show("one", "Run 1 & 2", "a < b & <img src='http://x'>")
            at.show("two", "Second")
            await until(lambda: len(service.shown) == 2)
            assert service.shown == [("Run 1 & 2", "a &lt; b &amp; &lt;img src='http://x'&gt;"), ("Second", "")]
            await service.click(77)  # another program's
            await service.click(2)
            await until(lambda: at.clicked == [("two", "")])
            assert at.otherwise == []


async def test_buttons_are_there_where_the_desktop_has_some_and_what_is_outdated_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from support.servers.notification_service import notification_service, session_bus

    answers = ("stop", "Stop…"), ("wait", "Wait")
    with session_bus(tmp_path / "bus") as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        async with notification_service(address, "actions") as service, running() as at:
            for key in ("one", "two", "three"):
                at.show(key, key, "", *answers)
            await until(lambda: len(service.shown) == 3)
            assert service.buttons == [["stop", "Stop…", "wait", "Wait"]] * 3
            await service.click(1, "wait")
            await until(lambda: at.clicked == [("one", "wait")])
            at.desktop.take_away("one")  # clicked: it is not there any more
            at.desktop.take_away("two")  # somebody closed this one, and the service says so
            at.desktop.take_away("three")
            await until(lambda: service.closed == [2, 3])
        async with notification_service(address) as plain, running() as at:
            at.show("four", "four", "", *answers)
            await until(lambda: plain.shown == [("four", "")])
            assert plain.buttons == [[]]


async def test_where_nobody_shows_them_the_other_way_is_taken_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from support.servers.notification_service import notification_service, session_bus

    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'nobody'}")
    async with running() as at:
        at.show("one")
        await until(lambda: at.otherwise == ["one"])
        with session_bus(tmp_path / "bus") as address:
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
            at.show("two")  # a bus without the service
            await until(lambda: at.otherwise == ["one", "two"])
            async with notification_service(address) as service:
                at.show("three", "plain", "a < b")
                await until(lambda: service.shown == [("plain", "a < b")])
            at.show("four")  # it has ended since
            await until(lambda: at.otherwise == ["one", "two", "four"])
