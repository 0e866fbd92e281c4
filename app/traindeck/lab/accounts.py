"""The Lab's accounts: who may ask, with which keys, in which project."""

from __future__ import annotations

import re
import secrets
import string
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from pathlib import Path

from filelock import FileLock

from traindeck.lab.files import read_json, write_json

FILE = "accounts.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_KEY_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits


class AccountsError(Exception):
    """accounts.json of this root is not what the Lab wrote."""


class RefusedAccount(Enum):
    """Why an account is not made or removed."""

    BAD_NAME = "The name of an account is 1 to 32 letters, digits, dots, hyphens or underscores."
    TAKEN = "There is an account of this name."
    UNKNOWN = "There is no account of this name."
    FIRST = "The first account is the Lab's own and stays."


class AccountRefused(Exception):
    """The change of the accounts that was asked for is not made."""

    def __init__(self, reason: RefusedAccount, name: str) -> None:
        super().__init__(f"{reason.value} ({name})")
        self.reason = reason
        self.name = name


@dataclass(frozen=True, slots=True)
class LabAccount:
    """One customer of the Lab; `domain_id` is also the canonical id that owns buckets."""

    name: str
    access_key: str
    secret_key: str = field(repr=False)
    project_id: str
    domain_id: str
    user_id: str
    user_name: str
    region: str = "lab"

    @classmethod
    def with_random_keys(cls, name: str) -> LabAccount:
        return cls(
            name=name,
            access_key="LAB" + "".join(secrets.choice(_KEY_LETTERS) for _ in range(17)),
            secret_key="".join(secrets.choice(_SECRET_LETTERS) for _ in range(40)),
            project_id=secrets.token_hex(16),
            domain_id=secrets.token_hex(16),
            user_id=secrets.token_hex(16),
            user_name=name,
        )


class Accounts:
    """The accounts of one root; the first one, "lab", makes itself."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._lock = FileLock(root / "accounts.lock")
        self._state: object = None
        self._accounts: tuple[LabAccount, ...] = ()
        if not self._loaded():
            with self._lock:
                # A Lab and a command may both be the first on this root.
                if not self._loaded():
                    self._write((LabAccount.with_random_keys("lab"),))

    @property
    def first(self) -> LabAccount:
        return self.all()[0]

    def all(self) -> tuple[LabAccount, ...]:
        """As they are now: another program may have changed the file meanwhile."""
        found = self._path.stat()
        # Asked before reading: a change in between is then seen the next time.
        state = found.st_mtime_ns, found.st_size, found.st_ino
        if self._state != state:
            self._state, self._accounts = state, self._loaded()
        return self._accounts

    def by_access_key(self, access_key: str, *, as_seen: bool = False) -> LabAccount | None:
        """`as_seen`: without another look at the file."""
        accounts = self._accounts if as_seen else self.all()
        return next((account for account in accounts if account.access_key == access_key), None)

    def secret_of(self, access_key: str) -> str | None:
        account = self.by_access_key(access_key)
        return account.secret_key if account else None

    def has_domain(self, domain_id: str) -> bool:
        return any(account.domain_id == domain_id for account in self.all())

    def by_project(self, project_id: str) -> LabAccount | None:
        return next((account for account in self.all() if account.project_id == project_id), None)

    def add(self, name: str) -> LabAccount:
        """Make an account; a Lab that runs on this root knows it from its next request on."""
        if not _NAME.fullmatch(name):
            raise AccountRefused(RefusedAccount.BAD_NAME, name)
        with self._lock:
            present = self._loaded()
            if any(account.name == name for account in present):
                raise AccountRefused(RefusedAccount.TAKEN, name)
            made = LabAccount.with_random_keys(name)
            self._write((*present, made))
        return made

    def remove(self, name: str) -> None:
        """Forget an account; what it owned stays, and nobody can reach it but through grants."""
        with self._lock:
            present = self._loaded()
            if name not in [account.name for account in present]:
                raise AccountRefused(RefusedAccount.UNKNOWN, name)
            if present[0].name == name:
                raise AccountRefused(RefusedAccount.FIRST, name)
            self._write(tuple(account for account in present if account.name != name))

    def _write(self, accounts: tuple[LabAccount, ...]) -> None:
        write_json(self._path, {"accounts": [asdict(account) for account in accounts]})

    def _loaded(self) -> tuple[LabAccount, ...]:
        try:
            content = read_json(self._path)
        except ValueError as error:
            raise AccountsError(f"{self._path} is not JSON.") from error
        if content is None:
            return ()
        rows = content.get("accounts") if isinstance(content, dict) else None
        if not isinstance(rows, list):
            raise AccountsError(f"{self._path} has no list of accounts.")
        names = [one.name for one in fields(LabAccount)]
        for row in rows:
            if not isinstance(row, dict) or not all(isinstance(row.get(name), str) and row[name] for name in names):
                raise AccountsError(f"{self._path} holds an account with a missing field.")
        return tuple(LabAccount(**{name: row[name] for name in names}) for row in rows)
