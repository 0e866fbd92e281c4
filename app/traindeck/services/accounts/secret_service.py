"""The Secret Service of Linux desktops; imported in the keyring's worker only.

The library's own back end leaves its connection open when the keyring stays locked, and waits for ever for a dialog
or for a bus that hangs.
"""

from __future__ import annotations

from contextlib import closing

import secretstorage
from jaraco.classes import properties
from jeepney import Message
from jeepney.bus import get_bus
from jeepney.io.blocking import DBusConnection, prep_socket
from keyring.backends.SecretService import Keyring
from keyring.errors import InitError, KeyringLocked
from secretstorage.exceptions import SecretServiceNotAvailableException, SecretStorageException
from secretstorage.util import add_match_rules

from traindeck.services.http.calls import in_use

PROMPT_S = 120.0
CONNECT_S = 2.0
ANSWER_S = 25.0  # as other programs wait for an answer over D-Bus


class SecretServiceKeyring(Keyring):
    """The default collection, unlocked by its owner when it has to be."""

    @properties.classproperty
    def priority(cls) -> float:  # noqa: N805 - a property of the class
        with closing(_bus()) as bus:
            if not secretstorage.check_service_availability(bus):
                raise RuntimeError("no Secret Service is running, and none can be started")
        return 5

    def get_preferred_collection(self) -> secretstorage.Collection:
        bus = _bus()
        try:
            collection = secretstorage.get_default_collection(bus)
            if collection.is_locked():
                collection.unlock(timeout=PROMPT_S)
            if collection.is_locked():
                raise KeyringLocked("the dialog was dismissed")
        except SecretStorageException as error:
            bus.close()
            raise InitError(f"{type(error).__name__}: {error}") from error
        except BaseException:
            bus.close()
            raise
        return collection


class _Bus(DBusConnection):  # type: ignore[misc]
    """TimeoutError: it does not answer."""

    def send_and_get_reply(self, message: Message, *, timeout: float | None = None) -> Message:
        return super().send_and_get_reply(message, timeout=ANSWER_S if timeout is None else timeout)


def _bus() -> DBusConnection:
    try:
        line = prep_socket(get_bus("SESSION"), timeout=CONNECT_S)
    except (KeyError, ConnectionError, ValueError) as error:
        raise SecretServiceNotAvailableException(str(error)) from error
    in_use(line)  # so that the program can end while the dialog is open
    try:
        bus = _Bus(line)
        add_match_rules(bus)
    except BaseException:
        line.close()
        raise
    return bus
