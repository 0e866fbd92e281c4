"""Until when users want to hear nothing of what they were asked about a run; a small file beside its log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, local_errors, write_whole

_PATIENCE_S = 10.0
_MOST_BYTES = 1 << 14


class Waited(NamedTuple):
    until: datetime
    times: int
    """How often somebody said so."""


class RunWaits:
    """For worker threads; another program may have written them, so they are read each time."""

    def __init__(self, place: Callable[[str], Path]) -> None:
        self._place = place

    def of(self, run_id: str, what: str) -> Waited | None:
        return self._read(run_id).get(what)

    def put(self, run_id: str, what: str, until: datetime) -> None:
        place = self._place(run_id)
        busy = text("Another TrainDeck is changing the notifications of this run.")
        hint = text("Close the one not responding, then try again. Nothing was changed.")
        with local_errors(place), alone_with(place, _PATIENCE_S, busy, hint):
            known = self._read(run_id)
            before = known.get(what)
            changed = {**known, what: Waited(until, 1 + (before.times if before else 0))}
            content = {name: {"until": one.until.isoformat(), "times": one.times} for name, one in changed.items()}
            write_whole(place, json.dumps(content).encode())

    def _read(self, run_id: str) -> Mapping[str, Waited]:
        """What cannot be read was not said: the worst that comes of it is a notice too many."""
        try:
            with self._place(run_id).open("rb") as file:
                kept = json.loads(file.read(_MOST_BYTES))
            found = {
                str(name): Waited(datetime.fromisoformat(one["until"]), int(one["times"])) for name, one in kept.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}
        return {name: one for name, one in found.items() if one.until.tzinfo is not None}
