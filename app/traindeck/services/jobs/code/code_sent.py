"""Which contents a bucket is believed to have, as we put them there ourselves; a hint, checked where it counts."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection
from pathlib import Path

from traindeck.runtime.files import our_folder, our_opener
from traindeck.services.jobs.code.code_blobs import SHA256

log = logging.getLogger(__name__)

# Beyond this it is begun anew: what is not in it any more costs a look.
_MOST_BYTES = 1 << 25


class SentBlobs:
    """A line for each, one file for each place; may be deleted at any time. Blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def at(self, where: str) -> set[str]:
        try:
            lines = self._place(where).read_text(encoding="ascii", errors="replace").split()
        except OSError:
            return set()
        return {line for line in lines if SHA256.fullmatch(line)}

    def add(self, where: str, contents: Collection[str]) -> None:
        new = sorted(set(contents) - self.at(where))
        place = self._place(where)
        try:
            our_folder(self._folder)
            is_full = place.exists() and place.stat().st_size > _MOST_BYTES
            with open(place, "w" if is_full else "a", encoding="ascii", opener=our_opener) as file:
                # A line that a killed program left half is ended, and is no name.
                file.write("".join(f"\n{sha256}" for sha256 in new) + "\n" if new else "")
        except OSError as error:
            log.warning("what was sent to %s cannot be written down: %s", where, error)

    def forget(self, where: str) -> None:
        try:
            self._place(where).unlink(missing_ok=True)
        except OSError as error:
            log.warning("what was sent to %s cannot be forgotten: %s", where, error)

    def _place(self, where: str) -> Path:
        return self._folder / hashlib.sha256(where.encode()).hexdigest()[:32]
