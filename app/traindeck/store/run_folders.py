"""The record of each run once more in its own folder, from which the records can be rebuilt."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from traindeck.runtime.files import our_folder, our_opener
from traindeck.store.run_rows import COLUMNS, Row

log = logging.getLogger(__name__)

_SCHEMA = 1
_NAME = "run.json"
_MOST_BYTES = 4 << 20


class RunFolders:
    """Written beside the records when a run begins, gets its job, ends, or is noted about; read when those are lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, row: Row) -> None:
        """The records have it already: what cannot be written here keeps nobody."""
        place = self.folder / str(row["id"]) / _NAME
        part = place.with_name(f".{_NAME}.{os.getpid()}")
        try:
            our_folder(place.parent)
            with open(part, "w", encoding="utf-8", opener=our_opener) as file:
                json.dump({"schema": _SCHEMA, "run": dict(row)}, file, ensure_ascii=False)
            part.replace(place)
        except (OSError, ValueError) as error:  # as of half a character
            log.warning("the record in %s was not written: %s", place, error)
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def forget(self, run_id: str) -> None:
        """The log stays, the run is not to come back."""
        try:
            (self.folder / run_id / _NAME).unlink(missing_ok=True)
        except OSError as error:
            log.warning("the record in the folder of %s was not removed: %s", run_id, error)

    def any(self) -> bool:
        """Whether runs were ever recorded here."""
        try:
            with os.scandir(self.folder) as found:
                return any(entry.is_dir() for entry in found)
        except OSError:
            return False

    def rows(self) -> Iterator[dict[str, object]]:
        """Of all that can be read, in the order of their numbers."""
        found = []
        try:
            places = sorted(self.folder.glob(f"*/{_NAME}"))
        except OSError:
            return
        for place in places:
            try:
                with place.open("rb") as file:
                    row = json.loads(file.read(_MOST_BYTES))["run"]
                if not isinstance(row["number"], int) or row["id"] != place.parent.name:
                    raise ValueError(row["id"])
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                log.warning("the record in %s cannot be read: %s", place, error)
                continue
            found.append({name: row[name] for name in COLUMNS if name in row and _is_plain(row[name])})
        yield from sorted(found, key=lambda row: str(row["number"]).zfill(20))


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int)
