"""The MD5 of a file that is still on its way, and what is said of one that arrived otherwise than it was sent."""

from __future__ import annotations

import threading
from pathlib import Path

from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.texts import text
from traindeck.domain.transfers import Item
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.services.transfers.digests import md5

_HASH_BLOCK = 1024 * 1024


class InOrder:
    """MD5 of a file whose pieces come in any order; hashes what is there up to the first gap."""

    def __init__(self, part: Path, item: Item, numbers: set[int]) -> None:
        self._part = part
        self._item = item
        self._numbers = numbers
        self._next = 1
        self._digest = md5()
        self._busy = threading.Lock()

    def has(self, number: int, token: CancelToken) -> None:
        """Blocks; whoever comes while another hashes leaves it to that one."""
        self._numbers.add(number)
        while self._next in self._numbers and self._busy.acquire(blocking=False):
            try:
                self._go_on(token)
            finally:
                self._busy.release()

    def whole(self, token: CancelToken) -> str:
        with self._busy:
            self._go_on(token)
        return self._digest.hexdigest()

    def _go_on(self, token: CancelToken) -> None:
        with local_errors(self._part), self._part.open("rb", buffering=0) as file:
            while self._next in self._numbers:
                offset = (self._next - 1) * self._item.part_bytes
                left = min(self._item.part_bytes, self._item.size_bytes - offset)
                file.seek(offset)
                digest = self._digest.copy()
                while left:
                    token.check()
                    block = file.read(min(left, _HASH_BLOCK))
                    if not block:
                        raise damaged(str(self._part))
                    digest.update(block)
                    left -= len(block)
                self._digest = digest
                self._next += 1


def damaged(place: str) -> AppError:
    return LocalTrouble(
        text("{place} arrived damaged; it was not kept.", place=place),
        text("Try again; if it happens again, the object itself or the line is at fault."),
    )
