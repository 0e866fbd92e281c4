"""Everything that happened, also before this start: kept, searched, and what is worth a notice of the system."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.events import KeptEvent
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.tasks import TaskScope
from traindeck.store.events import EventStore
from traindeck.viewmodels.shell.journal import Happening, Journal, NewsKind, Subject, SystemNotice, Topic
from traindeck.viewmodels.shell.notices import KEYS

log = logging.getLogger(__name__)

_PAGE = 1000


class EventGroup(Enum):
    """What the list can be narrowed to."""

    ALL = text("All events")
    TROUBLES = text("Problems")
    RUNS = text("Runs")
    TRANSFERS = text("Transfers")
    PLACES = text("Storage")
    ACCOUNTS = text("Accounts")
    LAB = text("The Lab")
    OTHER = text("Other")


_GROUPS = {
    Subject.RUN.value: EventGroup.RUNS,
    Subject.LOG.value: EventGroup.RUNS,
    Subject.TRANSFER.value: EventGroup.TRANSFERS,
    Subject.PLACE.value: EventGroup.PLACES,
    Subject.ACCOUNT.value: EventGroup.ACCOUNTS,
    Subject.LAB.value: EventGroup.LAB,
}
_TROUBLES = (NewsKind.FAILED.value, NewsKind.BEGAN.value)


class Events(QObject):
    """Writes down what the journal tells, and shows it once it is on the disk; `most` are kept."""

    added = Signal(object)
    """Those that are new, the oldest first; what was told before this start is not among them."""
    news = Signal(object)
    """The same as they were told, with what can be done about them."""
    loaded = Signal()
    """Those of earlier starts are there."""

    def __init__(self, store: EventStore, journal: Journal, scope: TaskScope, most: Callable[[], int]) -> None:
        super().__init__()
        self.rows: deque[KeptEvent] = deque()
        """The oldest first."""
        self.is_loaded = False
        self._store = store
        self._scope = scope
        self._most = most
        self._writing = asyncio.Lock()
        self._waiting: list[Happening] = list(journal.entries)
        journal.told.connect(self._on_told)
        self._write_soon()

    def load(self) -> None:
        """Bring in those of earlier starts, once."""
        if not self.is_loaded:
            self._scope.start("read the events", self._load)

    async def flush(self) -> None:
        """What was told is on the disk when it returns, or cannot be."""
        async with self._writing:
            while self._waiting:
                await self._write()

    async def as_text(self, most: int = _PAGE) -> str:
        """The newest, in English, for a report."""
        return "\n".join(_line(event) for event in await self._store.newest(most))

    def _on_told(self, happening: Happening) -> None:
        self._waiting.append(happening)
        self._write_soon()

    def _write_soon(self) -> None:
        self._scope.start("keep the events", self.flush)

    async def _write(self) -> None:
        told, self._waiting = self._waiting, []
        batch = [_kept(happening) for happening in told]
        try:
            fresh = await self._store.add(batch, self._most())
        except AppError as error:
            # To report it would be one more event: it is seen, and is gone with this start.
            log.warning("events are not on the disk: %s %s", error, error.detail)
            fresh = batch
        self.rows.extend(fresh)
        self._trim()
        if fresh:
            self.added.emit(tuple(fresh))
            self.news.emit(tuple(_fresh_of(told, fresh)))

    async def _load(self) -> None:
        await self.flush()
        kept = await self._store.newest(self._most())
        there = {event.number for event in kept}
        self.rows = deque([*kept, *(event for event in self.rows if event.number not in there)])
        self._trim()
        self.is_loaded = True
        self.loaded.emit()

    def _trim(self) -> None:
        while len(self.rows) > self._most():
            self.rows.popleft()


def notice_of(happening: Happening) -> SystemNotice | None:
    """Which of the notices it is worth."""
    if happening.kind is NewsKind.BEGAN and happening.name.startswith(KEYS):
        return SystemNotice.KEYS_REFUSED
    return happening.notice


def _fresh_of(told: Sequence[Happening], fresh: Sequence[KeptEvent]) -> Iterator[Happening]:
    """Both are in the order in which they were told."""
    left = iter(told)
    for event in fresh:
        yield next(happening for happening in left if _kept(happening) == replace(event, number=0))


def _kept(happening: Happening) -> KeptEvent:
    topic = happening.topic
    is_state = happening.kind is NewsKind.BEGAN
    notice = notice_of(happening)
    return KeptEvent(
        at=happening.at,
        kind=happening.kind.value,
        title=happening.title,
        hint=happening.hint,
        detail=happening.detail,
        name=happening.name,
        subject=topic.subject.value if topic else "",
        topic=topic.name if topic else "",
        profile=topic.profile if topic else "",
        notice=notice.value if notice else "",
        mark=happening.mark,
        is_state=is_state,
    )


def topic_of(event: KeptEvent) -> Topic | None:
    """Where it leads to; None: nowhere, or to what only a newer program knows."""
    known = {subject.value: subject for subject in Subject}
    found = known.get(event.subject)
    return Topic(found, event.topic, event.profile) if found else None


def kind_of(event: KeptEvent) -> NewsKind:
    return next((kind for kind in NewsKind if kind.value == event.kind), NewsKind.NOTE)


def title_of(event: KeptEvent) -> Text:
    """As a line of its own: what is over is said to be."""
    return text("Resolved: {title}", title=event.title) if event.kind == NewsKind.OVER.value else event.title


def is_in(event: KeptEvent, group: EventGroup) -> bool:
    if group is EventGroup.ALL:
        return True
    if group is EventGroup.TROUBLES:
        return event.kind in _TROUBLES
    return _GROUPS.get(event.subject, EventGroup.OTHER) is group


def searched(event: KeptEvent) -> str:
    """What a search looks at."""
    return " ".join((say(title_of(event)), say(event.hint), event.topic, event.detail)).casefold()


def copied(event: KeptEvent) -> str:
    """All of it on one line, for another program."""
    parts = (event.at.isoformat(timespec="seconds"), say(title_of(event)), say(event.hint), event.detail)
    return "\t".join(" ".join(part.split()) for part in parts if part)


def _line(event: KeptEvent) -> str:
    words = (event.kind, title_of(event).in_english(), event.hint.in_english(), event.detail)
    return " ".join((event.at.isoformat(timespec="seconds"), *(" ".join(word.split()) for word in words if word)))
