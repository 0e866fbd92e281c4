"""Adding an account: the fields, what is wrong with them, and what the services say to the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, KeyringMissing
from traindeck.domain.profiles import LAB, REGIONS, Profile, Provider, Signature, is_profile_name, is_region
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.services.key_file import read_credentials
from traindeck.services.profile_desk import Check

TASK = "add an account"


class Accounts(Protocol):
    """The part of the profile desk this form needs."""

    def all(self) -> list[Profile]: ...

    async def use(self, name: str) -> None: ...

    async def add(
        self,
        profile: Profile,
        credentials: Credentials,
        *,
        replace_old: bool = False,
        this_session_only: bool = False,
    ) -> Profile: ...

    async def check(self, name: str) -> list[Check]: ...


@dataclass(frozen=True, slots=True)
class ProfileFields:
    """As typed, without blanks and line ends around it."""

    name: str = ""
    region: str = REGIONS[0][0]
    access_key: str = ""
    secret_key: Secret = field(default=Secret(""))
    obs_endpoint: str = ""
    modelarts_endpoint: str = ""
    iam_endpoint: str = ""
    project_id: str = ""
    ca_file: str = ""
    path_style: bool = False


@dataclass(frozen=True, slots=True)
class ProfileFormState:
    fields: ProfileFields = ProfileFields()
    errors: Mapping[str, Text] = field(default_factory=dict)
    error: AppError | None = None
    busy: bool = False
    checks: tuple[Check, ...] = ()
    saved: bool = False

    @property
    def has_no_keyring(self) -> bool:
        return isinstance(self.error, KeyringMissing)



class ProfileForm(QObject):
    """One form, from the first letter to the answer of the services."""

    changed = Signal()
    added = Signal(str)
    """The name of a profile that is now in use."""

    def __init__(self, accounts: Accounts, scope: TaskScope) -> None:
        super().__init__()
        self._accounts = accounts
        self._scope = scope
        self._ours = ""  # the name this form has saved, which it may save again
        self.state = ProfileFormState()

    def set(self, name: str, value: str) -> None:
        """What was typed or pasted into one field."""
        trimmed = value.strip()
        change: dict[str, Any] = {name: Secret(trimmed) if name == "secret_key" else trimmed}
        self._set_fields(name, replace(self.state.fields, **change))

    def set_path_style(self, on: bool) -> None:
        self._set_fields("path_style", replace(self.state.fields, path_style=on))

    def load(self, path: Path) -> None:
        """Take the keys out of a credentials.csv."""

        async def read() -> None:
            credentials = await asyncio.to_thread(read_credentials, path)
            taken = replace(self.state.fields, access_key=credentials.access_key, secret_key=credentials.secret_key)
            self._become(replace(self.state, fields=taken, errors={}, error=None, checks=()))

        self._start(read)

    def submit(self) -> None:
        """Keep the keys, use the profile, and ask the services what they think of it."""
        self._send(this_session_only=False)

    def keep_for_session(self) -> None:
        """The same where there is no keyring: the keys are held until the program ends, and written nowhere."""
        self._send(this_session_only=True)

    def _send(self, *, this_session_only: bool) -> None:
        errors = validate(self.state.fields)
        self._become(replace(self.state, errors=errors, error=None, checks=()))
        if not errors:
            self._start(partial(self._submit, this_session_only))

    async def _submit(self, this_session_only: bool) -> None:
        typed = self.state.fields
        credentials = Credentials(typed.access_key, typed.secret_key)
        profile = _profile(typed)
        kept = await self._accounts.add(
            profile, credentials, replace_old=profile.name == self._ours, this_session_only=this_session_only
        )
        self._ours = kept.name
        await self._accounts.use(kept.name)
        self._become(replace(self.state, saved=True))
        self.added.emit(kept.name)
        checks = await self._accounts.check(kept.name)
        self._become(replace(self.state, checks=tuple(checks)))

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        async def shown_in_place() -> None:
            try:
                await work()
            except AppError as error:
                self._become(replace(self.state, error=error))
            finally:
                self._become(replace(self.state, busy=False))

        if self._scope.start(TASK, shown_in_place):
            self._become(replace(self.state, busy=True, error=None))

    def _set_fields(self, name: str, typed: ProfileFields) -> None:
        errors = {key: message for key, message in self.state.errors.items() if key != name}
        self._become(replace(self.state, fields=typed, errors=errors))

    def _become(self, state: ProfileFormState) -> None:
        self.state = state
        self.changed.emit()


def validate(typed: ProfileFields) -> dict[str, Text]:
    """Each field's mistake that can be seen without asking anybody."""
    wrong: dict[str, Text] = {}
    if typed.name.casefold() == LAB:
        wrong["name"] = text("“lab” is the Lab's own name; choose another.")
    elif not is_profile_name(typed.name):
        wrong["name"] = text("1 to 40 letters, digits, “.”, “_” or “-”.")
    if not is_region(typed.region):
        wrong["region"] = text("Choose a region, or write one as in the console's address: cn-north-4.")
    if not typed.access_key:
        wrong["access_key"] = text("Paste the access key (AK).")
    elif not _is_key(typed.access_key):
        wrong["access_key"] = text("There are characters in it that no key has.")
    if not typed.secret_key:
        wrong["secret_key"] = text("Paste the secret key (SK).")
    elif not _is_key(typed.secret_key.reveal()):
        wrong["secret_key"] = text("There are characters in it that no key has.")
    for place in ("obs_endpoint", "modelarts_endpoint", "iam_endpoint"):
        address = str(getattr(typed, place))
        if address and not address.startswith(("https://", "http://")):
            wrong[place] = text("Write the whole address, beginning with https://.")
    return wrong


def _is_key(word: str) -> bool:
    return word.isascii() and word.isprintable() and " " not in word


def _profile(typed: ProfileFields) -> Profile:
    kept = {item.name: getattr(typed, item.name) for item in fields(typed)}
    for elsewhere in ("access_key", "secret_key"):
        del kept[elsewhere]
    for address in ("obs_endpoint", "modelarts_endpoint", "iam_endpoint"):
        kept[address] = kept[address].rstrip("/")
    return Profile(provider=Provider.MODELARTS, signature=Signature.AUTO, **kept)
