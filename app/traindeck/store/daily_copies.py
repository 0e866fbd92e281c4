"""A copy of a database for each day it was used, of which it is known that it opens."""

from __future__ import annotations

import logging
import re
import sqlite3
from contextlib import closing, suppress
from datetime import date
from pathlib import Path

from traindeck.domain.errors import Damaged
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors, our_file, our_folder
from traindeck.store.database import copies_of, database_errors

log = logging.getLogger(__name__)

DAYS_KEPT = 14
_DAILY = re.compile(r".*-\d{4}-\d\d-\d\d")


class DailyCopies:
    """Made once a day; the last fourteen are kept, however long ago they were made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = path.parent / "copies"

    def place(self, day: date) -> Path:
        return self._folder / f"{self._path.stem}-{day.isoformat()}.db"

    def make(self, day: date) -> Path | None:
        """The copy of that day; None: it was there. Damaged: what would have been copied is not whole."""
        place = self.place(day)
        if place.exists():
            return None
        with local_errors(place):
            our_folder(self._folder)
            part = place.with_name(place.name + ".part")
            part.unlink(missing_ok=True)
            our_file(part)
        try:
            with database_errors(self._path):
                # A connection of its own: nobody who writes waits for it.
                with closing(sqlite3.connect(self._path)) as db, closing(sqlite3.connect(part)) as copy:
                    db.backup(copy)
                    copy.execute("PRAGMA journal_mode = DELETE")
                check(part)
            with local_errors(place):
                part.replace(place)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        self._thin_out()
        return place

    def newest(self) -> Path | None:
        """The newest that opens and is whole."""
        for copy in copies_of(self._path):
            try:
                with database_errors(copy):
                    check(copy)
            except Exception as error:  # noqa: BLE001 - an older one may be good
                log.warning("the copy %s cannot be used: %s", copy, error)
            else:
                return copy
        return None

    def _thin_out(self) -> None:
        daily = [copy for copy in copies_of(self._path) if copy.parent == self._folder and _DAILY.fullmatch(copy.stem)]
        for copy in sorted(daily, reverse=True)[DAYS_KEPT:]:
            with suppress(OSError):
                copy.unlink()


def check(path: Path) -> None:
    """Damaged: it opens, but is not whole."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if found != "ok" or not tables:
        raise Damaged(
            text("The records in “{path}” are damaged.", path=str(path)),
            text("TrainDeck uses an older copy where there is one."),
            str(found),
        )
