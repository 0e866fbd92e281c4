"""One index a bucket and account, each opened once."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from traindeck.store.object_index import ObjectIndex


class ObjectIndexes:
    """Opens and keeps the indexes below one folder; opening belongs into a worker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[Path, ObjectIndex] = {}

    def open(self, account: str, bucket: str) -> ObjectIndex:
        """`account` is any text that is the same for the same account; two of them never share a bucket's rows."""
        # The words in front keep the name from being one that Windows has taken, such as "con".
        place = self._folder / hashlib.sha256(account.encode()).hexdigest()[:16] / f"bucket-{bucket}.sqlite3"
        with self._lock:
            if place not in self._open:
                self._open[place] = ObjectIndex(place, bucket)
            return self._open[place]

    def close(self) -> None:
        with self._lock:
            for index in self._open.values():
                index.close()
            self._open.clear()
