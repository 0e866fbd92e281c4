"""What accounts offer for jobs as it was last told, so that a form can be filled in without a network."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, fields, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, our_folder, text_in, write_whole

log = logging.getLogger(__name__)

Offered = TypeVar("Offered", Engine, Flavor)
_ENGINE, _FLAVOR = Engine("", "", ""), Flavor("", "", "")


class OfferStore:
    """A file for each account; it may be deleted at any time."""

    def __init__(self, folder: Path, disk: BlockingCalls) -> None:
        self._folder = folder
        self._disk = disk

    async def read(self, account: str, service: str) -> Choices | None:
        """What `service` offered to the account; None: nothing is known, or it was another service."""
        return await self._disk.run(lambda _: self._read(account, service))

    async def write(self, account: str, service: str, choices: Choices) -> None:
        """Without room for it the form is filled in all the same."""
        content = {"account": account, "service": service, **asdict(choices)}
        path = self._path(account)

        def write(_: object) -> None:
            with local_errors(path):
                our_folder(self._folder)
                write_whole(path, json.dumps(content, ensure_ascii=False, default=datetime.isoformat).encode())

        try:
            await self._disk.run(write)
        except AppError as error:
            log.warning("the offer for %s was not kept: %s", account, error)

    def _path(self, account: str) -> Path:
        return self._folder / f"{sha256(account.encode()).hexdigest()[:16]}.json"

    def _read(self, account: str, service: str) -> Choices | None:
        path = self._path(account)
        try:
            content = json.loads(text_in(path)) if path.exists() else None
            if content is None or (content["account"], content["service"]) != (account, service):
                return None
            return Choices(
                tuple(_row(_ENGINE, row) for row in content["engines"]),
                tuple(_row(_FLAVOR, row) for row in content["flavors"]),
                datetime.fromisoformat(content["taken"]),
            )
        except (InvalidInput, AppError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            log.warning("the offer for %s cannot be read: %s", account, error)
            return None


def _row(empty: Offered, row: dict[str, Any]) -> Offered:
    """As this program knows it: each value of the kind that the record has."""
    values: dict[str, Any] = {}
    for entry in fields(empty):
        value, usual = row.get(entry.name), getattr(empty, entry.name)
        if value is None:
            continue
        if isinstance(usual, tuple):
            value = tuple(tuple(map(str, part)) if isinstance(part, list) else str(part) for part in value)
        elif type(value) is not (int if usual is None else type(usual)):
            raise TypeError(entry.name)
        values[entry.name] = value
    return replace(empty, **values)
