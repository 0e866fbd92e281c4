"""Where secrets are kept: the keyring of the system, or memory for this session; never a file of ours."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import AccessRefused, AppError, InvalidInput, KeyringMissing
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.accounts.environment import ENVIRONMENT, environment_keys
from traindeck.services.http.calls import breakable

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "TrainDeck"
# What Windows keeps for one entry: 2,560 bytes of UTF-16.
MOST_UNITS = 1280
# Overrides the choice, as it does for every program that uses this library; only to an accepted one.
CHOICE_VARIABLE = "PYTHON_KEYRING_BACKEND"

_SECRET_SERVICE = "keyring.backends.SecretService.Keyring"
_KWALLET = "keyring.backends.kwallet.DBusKeyring"
_KEYCHAIN = "keyring.backends.macOS.Keyring"
_WINDOWS = "keyring.backends.Windows.WinVaultKeyring"
_NAMES = {
    _SECRET_SERVICE: "Secret Service",
    _KWALLET: "KWallet",
    _KEYCHAIN: "macOS Keychain",
    _WINDOWS: "Windows Credential Locker",
}
_IMPROVED = {_SECRET_SERVICE: "traindeck.services.accounts.secret_service.SecretServiceKeyring"}

log = logging.getLogger(__name__)
Result = TypeVar("Result")


class Secrets:
    """Keys for this session only and those in the environment, before those in the keyring of the system."""

    def __init__(self, calls: BlockingCalls) -> None:
        """`calls` has one worker, because the keyring may open a dialog and wait."""
        self._calls = calls
        self._kept: dict[str, Credentials] = {}
        self._backend: tuple[str, KeyringBackend] | None = None

    async def backend(self) -> str:
        """The name of the keyring in use; raises KeyringMissing with what to do where there is none."""
        return (await self._calls.run(lambda _: self._opened()))[0]

    def keep(self, profile: str, credentials: Credentials) -> None:
        """Hold these until the program ends, and write them nowhere."""
        self._kept[profile] = credentials

    def is_kept(self, profile: str) -> bool:
        return profile in self._kept

    async def read(self, profile: str) -> Credentials | None:
        kept = self._kept.get(profile)
        if kept is None and profile == ENVIRONMENT:
            kept = environment_keys()
        if kept is not None:
            return kept
        found = await self._use(lambda backend: backend.get_password(SERVICE, _user(profile)))
        return _parsed(found, profile) if found else None

    async def write(self, profile: str, credentials: Credentials) -> None:
        if credentials.token:
            raise InvalidInput(
                text("Temporary keys are not stored in the keyring."),
                text("Use them for this session only. They expire."),
            )
        kept = {"ak": credentials.access_key, "sk": credentials.secret_key.reveal()}
        if credentials.proxy_password:
            kept["proxy"] = credentials.proxy_password.reveal()
        entry = json.dumps(kept)
        if len(entry.encode("utf-16-le")) > MOST_UNITS * 2:
            raise InvalidInput(
                text("These keys are too long for a keyring."), text("Check that nothing else was pasted with them.")
            )
        await self._use(lambda backend: backend.set_password(SERVICE, _user(profile), entry))
        self._kept.pop(profile, None)

    async def remove(self, profile: str) -> None:
        def remove(backend: KeyringBackend) -> None:
            if backend.get_password(SERVICE, _user(profile)) is not None:
                backend.delete_password(SERVICE, _user(profile))

        was_kept = self._kept.pop(profile, None) is not None
        try:
            await self._use(remove)
        except KeyringMissing:
            if not was_kept:
                raise

    async def _use(self, call: Callable[[KeyringBackend], Result]) -> Result:
        return await self._calls.run(lambda token: self._asked(call, token))

    def _asked(self, call: Callable[[KeyringBackend], Result], token: CancelToken) -> Result:
        """In the worker."""
        from keyring.errors import KeyringError

        _, backend = self._opened()
        try:
            with breakable(token):
                return call(backend)
        except AppError:
            raise
        except TimeoutError as error:
            self._backend = None
            raise _silent(str(error)) from None
        except KeyringError as error:
            raise _locked(f"{type(error).__name__}: {error}") from error
        except Exception as error:  # noqa: BLE001 - each back end lets through what its system raises
            self._backend = None  # a bus that went away is looked for again
            log.warning("keyring: %s", type(error).__name__)
            raise _locked(type(error).__name__) from None

    def _opened(self) -> tuple[str, KeyringBackend]:
        if self._backend is None:
            self._backend = _best_backend()
        return self._backend


def _user(profile: str) -> str:
    return f"profile:{profile}"


def _parsed(entry: str, profile: str) -> Credentials:
    try:
        content = json.loads(entry)
        proxy = content.get("proxy")
        return Credentials(
            str(content["ak"]), Secret(str(content["sk"])), proxy_password=Secret(str(proxy)) if proxy else None
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        # Nothing of the entry goes into the error: it may be the secret itself.
        raise AccessRefused(
            text("The entry of “{name}” in the keyring cannot be read.", name=profile),
            text("Paste the keys again; that replaces it."),
        ) from None


def _accepted() -> tuple[str, ...]:
    """Never found by discovery: what announces itself may keep secrets in plain text."""
    chosen = os.environ.get(CHOICE_VARIABLE)
    if chosen is not None:
        return (chosen,) if chosen in _NAMES else ()
    if sys.platform == "darwin":
        return (_KEYCHAIN,)
    if sys.platform == "win32":
        return (_WINDOWS,)
    return (_SECRET_SERVICE, _KWALLET)


def _best_backend() -> tuple[str, KeyringBackend]:
    found: list[tuple[float, str, type[KeyringBackend]]] = []
    problems: list[str] = []
    hanging: TimeoutError | None = None
    for path in _accepted():
        module, _, name = _IMPROVED.get(path, path).rpartition(".")
        try:
            kind = getattr(importlib.import_module(module), name)
            found.append((kind.priority, _NAMES[path], kind))
        except TimeoutError as error:
            hanging = error
        except Exception as error:  # noqa: BLE001 - whatever keeps it from working, it is not usable here
            problems.append(f"{_NAMES[path]}: {type(error).__name__}: {error}")
    if not found and hanging is not None:
        raise _silent(str(hanging))
    if not found:
        raise _missing("; ".join(problems))
    _, name, kind = max(found, key=lambda entry: entry[0])
    return name, kind()


def _missing(detail: str) -> KeyringMissing:
    if sys.platform in ("darwin", "win32"):
        hint = text("Sign in with your own desktop session.")
    elif "DBUS_SESSION_BUS_ADDRESS" in os.environ or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
        hint = text("Install the package gnome-keyring (on KDE: kwallet) and sign in to the desktop again.")
    else:
        hint = text(
            "This session has no D-Bus. Sign in to a desktop, or start a shell with “dbus-run-session” and unlock "
            "gnome-keyring in it."
        )
    return KeyringMissing(text("This computer has no keyring for the keys."), hint, detail)


def _silent(detail: str) -> KeyringMissing:
    return KeyringMissing(
        text("The keyring of this desktop does not respond."),
        text("Sign out of the desktop and in again, which restarts D-Bus and the keyring."),
        detail,
    )


def _locked(detail: str) -> KeyringMissing:
    return KeyringMissing(text("The keyring is locked."), text("Unlock it with its password and try again."), detail)
