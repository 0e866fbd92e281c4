"""Engines and specifications a profile offers, remembered for a while, and as they last were for times without one."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.files import local_errors, our_folder, write_whole
from traindeck.services.accounts.connections import Connections

log = logging.getLogger(__name__)

Kind = TypeVar("Kind", Engine, Flavor)

_KEEP_S = 300.0
_MOST_BYTES = 8 << 20


class JobChoices:
    """What the form offers."""

    def __init__(
        self,
        connections: Connections,
        folder: Path | None = None,
        disk: BlockingCalls | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """`folder`: where what was offered is kept for the next start; without it, or without a disk, nowhere."""
        self._connections = connections
        self._folder = folder
        self._disk = disk
        self._clock = clock
        self._kept: dict[str, tuple[float, Choices]] = {}

    async def load(self, profile: str, *, anew: bool = False) -> Choices:
        """As the service tells; `anew`: whatever it told a moment ago."""
        kept = self._kept.get(profile)
        if kept and not anew and time.monotonic() - kept[0] < _KEEP_S:
            return kept[1]
        training = (await self._connections.open(profile)).training
        choices = Choices(tuple(await training.engines()), tuple(await training.flavors()), self._clock())
        self._kept[profile] = (time.monotonic(), choices)
        await self._write(profile, choices)
        return choices

    async def recall(self, profile: str) -> Choices | None:
        """As it was the last time the service answered, however long ago; nobody is asked."""
        if kept := self._kept.get(profile):
            return kept[1]
        if self._folder is None or self._disk is None:
            return None
        place = self._place(self._folder, profile)
        return await self._disk.run(lambda _: _read(place))

    async def _write(self, profile: str, choices: Choices) -> None:
        if self._folder is None or self._disk is None:
            return
        folder, place = self._folder, self._place(self._folder, profile)

        def write(_: object) -> None:
            with local_errors(place):
                our_folder(folder)
                taken = choices.taken.isoformat() if choices.taken else ""
                content = json.dumps({**asdict(choices), "taken": taken}, ensure_ascii=False)
                write_whole(place, content.encode())

        try:
            await self._disk.run(write)
        except AppError as error:
            log.warning("what %s offers is not kept: %s", profile, error)  # it is there for now, only not offline

    @staticmethod
    def _place(folder: Path, profile: str) -> Path:
        """A name may hold what no file may be called."""
        return folder / f"{hashlib.sha256(profile.encode()).hexdigest()[:24]}.json"


def _read(place: Path) -> Choices | None:
    """None for what is not there or cannot be read: it is only a memory."""
    try:
        with place.open("rb") as file:
            content: Any = json.loads(file.read(_MOST_BYTES))
        engines = tuple(_known(Engine, one) for one in content["engines"])
        flavors = tuple(_flavor(one) for one in content["flavors"])
        return Choices(engines, flavors, datetime.fromisoformat(content["taken"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _flavor(entry: Any) -> Flavor:
    found = _known(Flavor, entry)
    attributes = tuple((str(name), str(value)) for name, value in found.attributes)
    return replace(found, engines=tuple(map(str, found.engines)), attributes=attributes)


def _known(kind: type[Kind], entry: Any) -> Kind:
    """Without what a newer TrainDeck has added."""
    return kind(**{one.name: entry[one.name] for one in fields(kind) if one.name in entry})
