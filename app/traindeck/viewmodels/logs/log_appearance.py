"""How logs are looked at, and what was noted in them; kept over restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

LEAST_ZOOM, MOST_ZOOM = -6, 24
MOST_HIGHLIGHTS, MOST_BOOKMARKS, _MOST_RUNS = 12, 500, 200
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class AppearanceState:
    wraps: bool = False
    shows_numbers: bool = True
    folds: bool = True
    zoom: int = 0
    """Points more than usual."""
    highlights: tuple[str, ...] = ()
    """Words that have a colour each, wherever they are."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A row, by the byte of the file where it begins."""

    offset: int
    note: str = ""


class LogAppearance(QObject):
    """What is kept may be anything; what it cannot be is left out."""

    changed = Signal()

    def __init__(self, kept: object = None, keep: Callable[[object], object] = lambda _: None) -> None:
        super().__init__()
        self._keep = keep
        entries: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self.state = _state(entries)
        self._bookmarks = _bookmarks(entries.get("bookmarks"))

    def change(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        self._tell()

    def zoom_by(self, points: int) -> None:
        """0: as usual again."""
        self.change(zoom=0 if not points else max(LEAST_ZOOM, min(MOST_ZOOM, self.state.zoom + points)))

    def highlight(self, words: Iterable[str]) -> None:
        clean = dict.fromkeys(word.strip()[:_LONGEST] for word in words)
        self.change(highlights=tuple(word for word in clean if word)[:MOST_HIGHLIGHTS])

    def bookmarks(self, run: str, task: str) -> list[Bookmark]:
        """In the order of the log."""
        return sorted(self._bookmarks.get(f"{run}/{task}", ()), key=lambda mark: mark.offset)

    def bookmark(self, run: str, task: str, offset: int) -> Bookmark | None:
        return next((mark for mark in self.bookmarks(run, task) if mark.offset == offset), None)

    def put_bookmark(self, run: str, task: str, mark: Bookmark) -> None:
        others = [one for one in self.bookmarks(run, task) if one.offset != mark.offset]
        self._set(run, task, [*others, replace(mark, note=mark.note[:_LONGEST])][-MOST_BOOKMARKS:])

    def remove_bookmark(self, run: str, task: str, offset: int) -> None:
        self._set(run, task, [one for one in self.bookmarks(run, task) if one.offset != offset])

    def _set(self, run: str, task: str, marks: list[Bookmark]) -> None:
        self._bookmarks.pop(f"{run}/{task}", None)
        if marks:
            self._bookmarks[f"{run}/{task}"] = marks
        while len(self._bookmarks) > _MOST_RUNS:
            del self._bookmarks[next(iter(self._bookmarks))]
        self._tell()

    def _tell(self) -> None:
        state = self.state
        marked = {name: [[mark.offset, mark.note] for mark in marks] for name, marks in self._bookmarks.items()}
        self._keep({
            "wraps": state.wraps, "numbers": state.shows_numbers, "folds": state.folds, "zoom": state.zoom,
            "highlights": list(state.highlights),
            "bookmarks": marked,
        })  # fmt: skip
        self.changed.emit()


def _state(entries: dict[str, Any]) -> AppearanceState:
    usual = AppearanceState()
    zoom, words = entries.get("zoom"), entries.get("highlights")
    return AppearanceState(
        entries.get("wraps", usual.wraps) is True,
        entries.get("numbers", usual.shows_numbers) is not False,
        entries.get("folds", usual.folds) is not False,
        max(LEAST_ZOOM, min(MOST_ZOOM, zoom)) if isinstance(zoom, int) else 0,
        tuple(word for word in words if isinstance(word, str))[:MOST_HIGHLIGHTS] if isinstance(words, list) else (),
    )


def _bookmarks(entries: object) -> dict[str, list[Bookmark]]:
    found: dict[str, list[Bookmark]] = {}
    for name, marks in entries.items() if isinstance(entries, dict) else ():
        for one in marks if isinstance(marks, list) else ():
            match one:
                case [int(offset), str(note)] if offset >= 0:
                    found.setdefault(str(name), []).append(Bookmark(offset, note))
    return found
