"""The Lab's accounts: who may ask, with which keys, in which project."""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from traindeck.lab.private_files import read_json, write_json

_KEY_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits


class AccountsError(Exception):
    """accounts.json of this root is not what the Lab wrote."""


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
        self._path = root / "accounts.json"
        accounts = self._loaded()
        if not accounts:
            accounts = (LabAccount.with_random_keys("lab"),)
            write_json(self._path, {"accounts": [asdict(account) for account in accounts]})
        self._accounts = accounts
        self._by_access_key = {account.access_key: account for account in accounts}
        self._by_project = {account.project_id: account for account in accounts}

    @property
    def first(self) -> LabAccount:
        return self._accounts[0]

    def all(self) -> tuple[LabAccount, ...]:
        return self._accounts

    def by_access_key(self, access_key: str) -> LabAccount | None:
        return self._by_access_key.get(access_key)

    def by_project(self, project_id: str) -> LabAccount | None:
        return self._by_project.get(project_id)

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
        return tuple(self._account(row) for row in rows)

    def _account(self, row: object) -> LabAccount:
        names = [one.name for one in fields(LabAccount)]
        if not isinstance(row, dict) or not _all_texts(row.get(name) for name in names):
            raise AccountsError(f"{self._path} holds an account with a missing field.")
        return LabAccount(**{name: row[name] for name in names})


def _all_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) and value for value in values)
