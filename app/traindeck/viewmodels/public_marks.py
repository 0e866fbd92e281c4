"""Which buckets are public, looked up beside everything else; what is not known is not claimed."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.access import Exposure
from traindeck.domain.errors import AppError, NotFound
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.runtime.together import together
from traindeck.viewmodels.bucket_tree import BucketTree, Folder
from traindeck.viewmodels.ports import Opened, Opener

AT_ONCE = 4
FRESH_S = 60.0

log = logging.getLogger(__name__)


class PublicMarks(QObject):
    """Follows the tree: each bucket it shows is looked at, and again when it is read again later."""

    changed = Signal(str)
    """What is known of this bucket changed."""

    def __init__(self, connections: Opener, tree: BucketTree, scope: TaskScope) -> None:
        super().__init__()
        self._connections = connections
        self._tree = tree
        self._scope = scope
        self._known: dict[tuple[str, str], tuple[Exposure, float]] = {}
        self._waiting: deque[str] = deque()
        self._looking_at: str | None = None
        """The account whose buckets somebody is looking at."""
        tree.emptied.connect(self._on_emptied)
        tree.appended.connect(self._on_appended)
        tree.listed.connect(self._on_listed)

    def of(self, bucket: str) -> Exposure | None:
        """None: nobody has looked yet, or could."""
        known = self._known.get((self._tree.state.profile, bucket))
        return known[0] if known else None

    def is_public(self, bucket: str) -> bool:
        known = self.of(bucket)
        return known is not None and bool(known.is_public)

    def look_again(self, bucket: str) -> None:
        """Its rights were changed just now."""
        self._known.pop((self._tree.state.profile, bucket), None)
        self.changed.emit(bucket)
        self._look([bucket])

    def _on_emptied(self) -> None:
        self._waiting.clear()
        self._looking_at = None
        self._scope.cancel(self._task)

    def _on_appended(self, folder: Folder, start: int) -> None:
        if folder is None:
            self._look(entry.path.bucket for entry in self._tree.level(None).entries[start:])

    def _on_listed(self, folder: Folder) -> None:
        if folder is None:
            self._look(self._tree.bucket_names())

    def _look(self, buckets: Iterable[str]) -> None:
        profile, now = self._tree.state.profile, time.monotonic()
        for bucket in buckets:
            known = self._known.get((profile, bucket))
            if bucket not in self._waiting and (known is None or now - known[1] > FRESH_S):
                self._waiting.append(bucket)
        if self._waiting:
            self._start()

    @property
    def _task(self) -> str:
        return f"who gets in {id(self)}"

    def _start(self) -> None:
        profile = self._tree.state.profile
        if self._looking_at == profile:
            return  # whoever looks takes up what is waiting
        self._looking_at = profile
        # One that was told to end may still be there: it ends first.
        self._scope.start(self._task, partial(self._look_at_all, profile), Repeat.REPLACE)

    async def _look_at_all(self, profile: str) -> None:
        try:
            opened = await self._connections.open(profile)
            while self._waiting:
                await together(self._some(opened, profile) for _ in range(AT_ONCE))
        except AppError as error:
            # The tree says itself what keeps it from the service; here it only means that nothing is known.
            self._waiting.clear()
            log.info("who gets into the buckets of %s: %s", profile, error)
        self._looking_at = None

    async def _some(self, opened: Opened, profile: str) -> None:
        while self._waiting:
            bucket = self._waiting.popleft()
            try:
                found = await opened.access.exposure(bucket, patiently=False)
            except NotFound:  # removed meanwhile
                continue
            before = self._known.get((profile, bucket))
            self._known[profile, bucket] = (found, time.monotonic())
            if before is None or before[0] != found:
                self.changed.emit(bucket)
