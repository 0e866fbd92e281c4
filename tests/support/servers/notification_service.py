"""A D-Bus of its own with a notification service on it that notes what it is asked to show."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from jeepney import DBusAddress, MessageType, message_bus, new_error, new_method_return, new_signal
from jeepney.io.asyncio import DBusConnection, open_dbus_connection

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


@contextmanager
def session_bus(folder: Path) -> Iterator[str]:
    """Its address."""
    folder.mkdir(mode=0o700)
    bus = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address"],
        env={"XDG_RUNTIME_DIR": str(folder), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert bus.stdout is not None
    try:
        yield bus.stdout.readline().decode().strip()
    finally:
        bus.terminate()
        bus.wait()
        bus.stdout.close()


class NotificationService:
    def __init__(self, connection: DBusConnection, capabilities: list[str]) -> None:
        self.shown: list[tuple[str, str]] = []
        self.buttons: list[list[str]] = []
        self.closed: list[int] = []
        self._connection = connection
        self._capabilities = capabilities

    async def click(self, number: int, action: str = "default") -> None:
        address = DBusAddress(PATH, interface=NAME)
        await self._connection.send(new_signal(address, "ActionInvoked", "us", (number, action)))

    async def serve(self) -> None:
        while True:
            call = await self._connection.receive()
            if call.header.message_type is not MessageType.method_call:
                continue
            method = call.header.fields[3]
            if method == "GetCapabilities":
                await self._connection.send(new_method_return(call, "as", (self._capabilities,)))
            elif method == "Notify":
                name, _, _, title, body, actions, hints, _ = call.body
                assert (name, actions[:2], hints["desktop-entry"]) == ("TrainDeck", ["default", ""], ("s", "traindeck"))
                self.buttons.append(actions[2:])
                self.shown.append((title, body))
                await self._connection.send(new_method_return(call, "u", (len(self.shown),)))
            elif method == "CloseNotification":
                (number,) = call.body
                self.closed.append(number)
                # As the specification has it for one that was closed before.
                is_there = number != 2
                reply = new_method_return(call) if is_there else new_error(call, f"{NAME}.Error")
                await self._connection.send(reply)


@asynccontextmanager
async def notification_service(bus: str, *capabilities: str) -> AsyncIterator[NotificationService]:
    connection = await open_dbus_connection(bus)
    async with connection:
        await connection.send(message_bus.RequestName(NAME))
        service = NotificationService(connection, list(capabilities))
        serving = asyncio.create_task(service.serve())
        try:
            yield service
        finally:
            serving.cancel()
