"""The Secret Service of Linux desktops; imported in the keyring's worker only.

The library's own back end leaves its connection open when the keyring stays locked, and waits for ever for a dialog.
"""

from __future__ import annotations

import secretstorage
from keyring.backends.SecretService import Keyring
from keyring.errors import InitError, KeyringLocked
from secretstorage.exceptions import SecretStorageException

from traindeck.services.http.calls import in_use

PROMPT_S = 120.0


class SecretServiceKeyring(Keyring):
    """The default collection, unlocked by its owner when it has to be."""

    def get_preferred_collection(self) -> secretstorage.Collection:
        bus = secretstorage.dbus_init()
        try:
            in_use(bus.sock)  # so that nobody has to answer the dialog before the program can end
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
