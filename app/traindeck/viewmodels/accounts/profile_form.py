"""Adding or changing an account: the fields, what is wrong with them, and what the services say to the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.keys import Credentials, Secret, are_swapped, keys_in
from traindeck.domain.accounts.profiles import (
    ENDPOINTS,
    LAB,
    REGIONS,
    CheckUp,
    Profile,
    Provider,
    Proxy,
    Signature,
    is_profile_name,
    is_region,
    parse_endpoint,
    parse_proxy,
)
from traindeck.domain.errors import AppError, InvalidInput, KeyringMissing
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.environment import ENVIRONMENT
from traindeck.services.accounts.key_checks import read_credentials
from traindeck.services.accounts.profiles import ProfileService

TASK = "add an account"
SECRETS = frozenset({"secret_key", "token", "proxy_password"})
_KEYS = ("access_key", "secret_key")
_AS_TYPED = ("name", "region", "project_id", "path_style", "ca_file")
"""What a profile has just as it stands in the form."""


@dataclass(frozen=True, slots=True)
class ProfileFields:
    """As typed, without blanks and line ends around it."""

    name: str = ""
    region: str = REGIONS[0][0]
    access_key: str = ""
    secret_key: Secret = field(default=Secret(""))
    token: Secret = field(default=Secret(""))
    work_in: str = ""
    obs_endpoint: str = ""
    signature: str = Signature.AUTO.value
    path_style: bool = False
    modelarts_endpoint: str = ""
    iam_endpoint: str = ""
    project_id: str = ""
    ca_file: str = ""
    proxy: str = ""
    proxy_user: str = ""
    proxy_password: Secret = field(default=Secret(""))

    @classmethod
    def of(cls, profile: Profile) -> ProfileFields:
        """Everything but the keys, which are shown to nobody."""
        same: dict[str, Any] = {name: getattr(profile, name) for name in (*_AS_TYPED, *ENDPOINTS, "work_in")}
        typed = cls(signature=profile.signature.value, **same)
        if not profile.proxy:
            return typed
        proxy = parse_proxy(profile.proxy)
        return replace(typed, proxy=proxy.url, proxy_user=proxy.user)

    @property
    def has_keys(self) -> bool:
        return bool(self.access_key or self.secret_key or self.token)


@dataclass(frozen=True, slots=True)
class ProfileFormState:
    fields: ProfileFields = ProfileFields()
    errors: Mapping[str, Text] = field(default_factory=dict)
    error: AppError | None = None
    busy: bool = False
    check_up: CheckUp | None = None
    saved: bool = False
    keyring: str = ""  # its name; empty: not known, or there is none
    keyring_trouble: KeyringMissing | None = None
    """There is none, as far as was seen when it was last looked for."""
    is_session_only: bool = False  # so the keys that were saved are kept
    is_current: bool = False
    """The account is in use."""
    is_change: bool = False
    expires: datetime | None = None  # of temporary keys out of a file

    @property
    def has_no_keyring(self) -> bool:
        return self.keyring_trouble is not None and not self.is_temporary and not self.is_session_only

    @property
    def can_use_anyway(self) -> bool:
        """It is saved, and what was found does not speak for it."""
        return self.saved and not (self.is_current or self.is_change or self.busy)

    @property
    def is_temporary(self) -> bool:
        return bool(self.fields.token)


class ProfileForm(QObject):
    """One form, from the first letter to the answer of the services."""

    changed = Signal()
    added = Signal(str)
    """The name of a profile that is there now, or is another than before."""

    def __init__(self, accounts: ProfileService, scope: TaskScope, existing: Profile | None = None) -> None:
        super().__init__()
        self._accounts = accounts
        self._scope = scope
        self._existing = existing
        self._ours = existing.name if existing else ""  # the name this form may save again
        fields = ProfileFields.of(existing) if existing else ProfileFields()
        self.usual_name = self._ours or self._free_name()
        """What it is called when nobody says otherwise."""
        self.state = ProfileFormState(fields, is_change=existing is not None)

    @property
    def key_hint(self) -> str:
        """Enough of the access key in use to tell it from another."""
        return self._existing.key_hint if self._existing else ""

    def _free_name(self) -> str:
        taken = {profile.name for profile in self._accounts.all()}
        return next(
            name for number in count(1) if (name := f"account{number}" if number > 1 else "account") not in taken
        )

    def set(self, name: str, value: str | bool) -> None:
        """What was typed, pasted or chosen in one field; both keys may come in one piece."""
        typed: Any = value.strip() if isinstance(value, str) else value
        change: dict[str, Any] = {name: Secret(typed) if name in SECRETS else typed}
        if name in _KEYS and (both := keys_in(str(typed))) is not None:
            change = {"access_key": both[0], "secret_key": Secret(both[1])}
        errors = {key: message for key, message in self.state.errors.items() if key not in change}
        expires = None if name == "token" else self.state.expires  # it was that of another token
        self._become(replace(self.state, fields=replace(self.state.fields, **change), errors=errors, expires=expires))

    def look_for_keyring(self) -> None:
        """Say early where the keys will be kept, or that there is no place for them."""

        async def look() -> None:
            try:
                name = await self._accounts.keyring()
            except KeyringMissing as error:
                self._become(replace(self.state, keyring="", keyring_trouble=error))
            else:
                self._become(replace(self.state, keyring=name, keyring_trouble=None))

        self._scope.start("look for the keyring", look)

    def load(self, path: Path) -> None:
        """Take the keys out of a credentials.csv."""

        async def read() -> None:
            found = await asyncio.to_thread(read_credentials, path)
            taken = replace(
                self.state.fields,
                access_key=found.access_key,
                secret_key=found.secret_key,
                token=found.token or Secret(""),
            )
            self._become(replace(self.state, fields=taken, errors={}, error=None, check_up=None, expires=found.expires))

        self._start(read)

    def submit(self) -> None:
        """Keep the keys, ask the services what they think of them, and use the account when that is good."""
        self._send(this_session_only=self.state.is_session_only)

    def keep_for_session(self) -> None:
        """The same where there is no keyring: the keys are held until the program ends, and written nowhere."""
        self._send(this_session_only=True)

    def use_anyway(self) -> None:
        """Make it the current account although the checks do not speak for it."""
        self._start(partial(self._use, self._ours))

    def _send(self, *, this_session_only: bool) -> None:
        fields = replace(self.state.fields, name=self.state.fields.name or self.usual_name)
        errors = validate(fields, keys_may_stay=self.state.is_change)
        self._become(replace(self.state, fields=fields, errors=errors, error=None, check_up=None))
        if not errors:
            self._start(partial(self._submit, this_session_only))

    async def _submit(self, this_session_only: bool) -> None:
        typed = self.state.fields
        try:
            kept = await self._keep(typed, this_session_only)
        except KeyringMissing as error:
            # Another kind of trouble than a mistake: it stays until there is a keyring.
            self._become(replace(self.state, keyring="", keyring_trouble=error))
            return
        self._ours = kept.name
        self._become(replace(self.state, saved=True, is_session_only=this_session_only))
        self.added.emit(kept.name)
        check_up = await self._accounts.check(kept.name, self._show)
        self._show(check_up)
        is_well = check_up.accepted and all(check.passed is not False for check in check_up.checks)
        if is_well and not self.state.is_change and not self.state.is_current:
            await self._use(kept.name)

    async def _use(self, name: str) -> None:
        await self._accounts.use(name)
        self._become(replace(self.state, is_current=True))
        self.added.emit(name)

    async def _keep(self, typed: ProfileFields, this_session_only: bool) -> Profile:
        profile = _profile(typed)
        if self.state.is_change and not typed.has_keys:
            return await self._accounts.change(profile, typed.proxy_password or None)
        credentials = Credentials(
            typed.access_key,
            typed.secret_key,
            typed.token or None,
            typed.proxy_password or None,
            self.state.expires if typed.token else None,
        )
        return await self._accounts.add(
            profile, credentials, replace_old=profile.name == self._ours, this_session_only=this_session_only
        )

    def _show(self, check_up: CheckUp) -> None:
        self._become(replace(self.state, check_up=check_up))

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        async def shown_in_place() -> None:
            try:
                await work()
            except AppError as error:
                self._become(replace(self.state, error=error, check_up=None))
            finally:
                self._become(replace(self.state, busy=False))

        if self._scope.start(TASK, shown_in_place):
            self._become(replace(self.state, busy=True, error=None))

    def _become(self, state: ProfileFormState) -> None:
        self.state = state
        self.changed.emit()


def validate(typed: ProfileFields, *, keys_may_stay: bool = False) -> dict[str, Text]:
    """Each field's mistake that can be seen without asking anybody."""
    wrong: dict[str, Text] = {}
    if typed.name.casefold() in (LAB, ENVIRONMENT):
        wrong["name"] = text("This name is reserved by TrainDeck. Enter another one.")
    elif not is_profile_name(typed.name):
        wrong["name"] = text("1 to 40 letters, digits, “.”, “_” or “-”.")
    if not is_region(typed.region):
        wrong["region"] = text("Select a region, or enter one as in the URL of the console, e.g. cn-north-4.")
    if not keys_may_stay or typed.has_keys:
        wrong |= _wrong_keys(typed)
    for place in ENDPOINTS:
        address = str(getattr(typed, place))
        if address and not address.startswith(("https://", "http://")):
            wrong[place] = text("Enter the whole URL, beginning with https://.")
        elif address:
            try:
                parse_endpoint(address)
            except InvalidInput as error:
                wrong[place] = error.hint
    if typed.work_in:
        try:
            ObjectPath.parse(typed.work_in)
        except InvalidInput:
            wrong["work_in"] = text("Enter it as obs://bucket/folder/.")
    if typed.proxy:
        try:
            parse_proxy(typed.proxy)
        except InvalidInput as error:
            wrong["proxy"] = error.hint
    elif typed.proxy_user or typed.proxy_password:
        wrong["proxy"] = text("The proxy is missing. Enter http://host:port.")
    return wrong


def _wrong_keys(typed: ProfileFields) -> dict[str, Text]:
    wrong: dict[str, Text] = {}
    odd = text("It contains characters that no key has.")
    if not typed.access_key:
        wrong["access_key"] = text("Paste the access key (AK).")
    elif not _is_key(typed.access_key):
        wrong["access_key"] = odd
    if not typed.secret_key:
        wrong["secret_key"] = text("Paste the secret key (SK).")
    elif not _is_key(typed.secret_key.reveal()):
        wrong["secret_key"] = odd
    if not _is_key(typed.token.reveal()):
        wrong["token"] = odd
    if are_swapped(typed.access_key, typed.secret_key.reveal()):
        wrong["access_key"] = text("This is the secret key: the two are swapped.")
    return wrong


def _is_key(word: str) -> bool:
    return word.isascii() and word.isprintable() and " " not in word


def _profile(typed: ProfileFields) -> Profile:
    proxy = parse_proxy(typed.proxy) if typed.proxy else None
    same: dict[str, Any] = {name: getattr(typed, name) for name in _AS_TYPED}
    return Profile(
        provider=Provider.MODELARTS,
        signature=Signature(typed.signature),
        **same,
        **{name: getattr(typed, name).rstrip("/") for name in ENDPOINTS},
        proxy=Proxy(proxy.host, proxy.port, typed.proxy_user or proxy.user).address if proxy else "",
        work_in=str(ObjectPath.parse(typed.work_in).as_folder()) if typed.work_in else "",
    )
