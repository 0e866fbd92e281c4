"""Notifications that wait until somebody takes them, one small file each; several programs may put some there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, local_errors, our_folder, our_opener, write_whole

MOST_WAITING = 100
TOO_OLD = timedelta(days=1)
_REMEMBERED = timedelta(days=30)
_BUSY_S = 0.1


class Waiting(NamedTuple):
    since: datetime
    name: str
    content: Mapping[str, object]


class NoticeOutbox:
    """What has the same mark is there once, and goes out once. For worker threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, mark: str, content: Mapping[str, object], now: datetime) -> None:
        name = hashlib.sha256(mark.encode("utf-8", "replace")).hexdigest()[:32]
        with local_errors(self._folder):
            our_folder(self._folder)
            if not self._waits(name).exists() and not self._sent(name).exists():
                write_whole(self._waits(name), json.dumps({"at": now.isoformat(), "content": content}).encode())

    def oldest(self, now: datetime) -> Waiting | None:
        """What is too old to be news, or is more than anybody wants, is forgotten."""
        with local_errors(self._folder):
            waiting = sorted(self._all(), key=lambda one: one.since)
            fresh = [one for one in waiting if now - one.since < TOO_OLD][-MOST_WAITING:]
            for one in waiting:
                if one not in fresh:
                    self.done(one.name)
            self._forget(now)
        return fresh[0] if fresh else None

    def done(self, name: str) -> None:
        """It is sent, or never will be."""
        with local_errors(self._folder):
            with open(self._sent(name), "wb", opener=our_opener):
                pass
            self._waits(name).unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One program sends at a time."""
        busy = text("Another TrainDeck is sending notifications.")
        with alone_with(self._folder / "sending", _BUSY_S, busy, text("Wait until it is done, then try again.")):
            yield

    def _all(self) -> Iterator[Waiting]:
        for path in self._folder.glob("*.json"):
            if self._sent(path.stem).exists():  # written by a program that had looked before it was sent
                path.unlink(missing_ok=True)
                continue
            try:
                kept = json.loads(path.read_bytes())
                content = kept["content"]
                since = datetime.fromisoformat(kept["at"])
                if isinstance(content, dict) and since.tzinfo is not None:
                    yield Waiting(since, path.stem, content)
                    continue
            except FileNotFoundError:
                continue  # another program has just sent it
            except (ValueError, KeyError, TypeError):
                pass
            path.unlink(missing_ok=True)  # damaged: nobody can send it

    def _forget(self, now: datetime) -> None:
        for path in self._folder.glob("*.sent"):
            if now.timestamp() - path.stat().st_mtime > _REMEMBERED.total_seconds():
                path.unlink(missing_ok=True)

    def _waits(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _sent(self, name: str) -> Path:
        return self._folder / f"{name}.sent"
