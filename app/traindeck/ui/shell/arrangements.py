"""Where the docks stand: arrangements by name, those of the user, and how it was at the end."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from traindeck.ui.shell.docks import Docks
from traindeck.ui.shell.folding import USUAL_WIDTH, Folding, room_below
from traindeck.viewmodels.shell.window_state import WindowState

LAYOUT_VERSION = 5  # raise it when docks come, go or change their names
FIRST_SIZE = (1280, 800)
_LEAST_PAGE = 0.3
_LITTLE = 0.25
_HALF = 0.5

_LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Which docks are there, which of them in front, and how much of the window those at the bottom have."""

    id: str
    title: str
    hidden: tuple[str, ...] = ()
    front: tuple[str, ...] = ()
    bottom: float = _HALF
    """More than half: it is about them, and the pages give way in a low window."""


@dataclass(frozen=True, slots=True)
class _Whole:
    """What has the whole window, and how all was before."""

    panel: str
    """Empty: the pages."""
    before: bytes


class Arrangements(QObject):
    """The first one is that of the first start, and of Reset."""

    changed = Signal()

    def __init__(
        self,
        window: QMainWindow,
        docks: Docks,
        pages: QWidget,
        folding: Folding,
        state: WindowState,
        named: Sequence[Arrangement],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._docks = docks
        self._pages = pages
        self._folding = folding
        self._state = state
        self.named = {arrangement.id: arrangement for arrangement in named or (Arrangement("", ""),)}
        self._whole: _Whole | None = None
        self._waits_for_log = False
        self._first_size = QSize()
        bottom = [docks.all[panel.id] for panel in docks.panels.values() if panel.area == _BOTTOM]
        for before, after in pairwise(bottom):
            window.tabifyDockWidget(before, after)
        self._blank = self._now()

    # by name

    def apply(self, name: str) -> None:
        """One of ours; whatever was done to the docks before leaves no trace."""
        arrangement, docks = self.named[name], self._docks
        self._begin_anew(self._blank)
        for panel_id, dock in docks.all.items():
            dock.setHidden(panel_id in arrangement.hidden)
        self._folding.leave_out(arrangement.hidden)  # folded while all docks were there for a moment
        for panel_id in self._fronts(arrangement):
            docks.all[panel_id].raise_()
        if arrangement.bottom > _HALF:
            self._folding.want_below()
        self._folding.fit()  # before the others are given their sizes
        for area, size in USUAL_WIDTH.items():
            self._resize(area, size, Qt.Orientation.Horizontal)
        self._resize(_LEFT, 1, Qt.Orientation.Vertical)  # equal shares
        self._share_below(arrangement.bottom)
        self._settled()

    def reset(self) -> None:
        self.apply(next(iter(self.named)))

    def own(self) -> list[str]:
        kept = self._state.get("arrangements")
        return sorted(kept) if isinstance(kept, dict) else []

    def save_as(self, name: str) -> None:
        self._state.put("arrangements", {**self._own(), name: self._described()})
        self.changed.emit()

    def apply_own(self, name: str) -> None:
        self.give_back()
        self._restore(self._own().get(name))
        self._settled()

    def rename(self, name: str, to: str) -> None:
        self._state.put("arrangements", {to if one == name else one: kept for one, kept in self._own().items()})
        self.changed.emit()

    def remove(self, name: str) -> None:
        self._state.put("arrangements", {one: kept for one, kept in self._own().items() if one != name})
        self.changed.emit()

    # as it was

    def save(self) -> None:
        """For the next window, and for the next start."""
        self._state.put("geometry", b64encode(bytes(self._window.saveGeometry().data())).decode())
        self._state.put("docks", self._described())

    def load(self) -> None:
        """What was kept by an older program, or is damaged, is left aside: then it is as at the first start."""
        if not self._window.restoreGeometry(QByteArray(_bytes(self._state.get("geometry")))):
            room = self._window.screen().availableGeometry()
            self._window.resize(min(FIRST_SIZE[0], room.width()), min(FIRST_SIZE[1], room.height()))
            self._first_size = self._window.size()
        self.reset()
        kept = self._state.get("docks")
        self._restore(kept)
        if kept is None or (isinstance(kept, dict) and kept.get("waits")):
            self._waits_for_log = True
            self._resize(_BOTTOM, round(self._window.height() * _LITTLE), Qt.Orientation.Vertical)

    def fit_on_screen(self) -> None:
        """How much the system puts around the window is known only now; its foot would be below the screen."""
        if self._window.size() != self._first_size:
            return
        room, whole = self._window.screen().availableGeometry(), self._window.frameGeometry()
        beyond = QSize(max(0, whole.width() - room.width()), max(0, whole.height() - room.height()))
        if not beyond.isNull():
            self._window.resize(self._first_size - beyond)

    def give_log_room(self) -> None:
        """Until there is something to look at, the page of welcome has the room of the log."""
        if self._waits_for_log:
            self._waits_for_log = False
            share = next(iter(self.named.values())).bottom
            self._share_below(share)

    # the whole window

    @property
    def is_whole(self) -> bool:
        return self._whole is not None

    def toggle_whole(self, panel_id: str) -> None:
        """All room for this dock, or for the pages; and back."""
        if self._whole is not None:
            self.give_back()
            return
        before = self._now()
        self._whole = _Whole(panel_id, before)
        focused = QApplication.focusWidget()
        for other, dock in self._docks.all.items():
            if other != panel_id and not dock.isFloating():
                dock.hide()
        self._pages.setVisible(not panel_id)
        _keep_keys(focused)
        self._settled()

    def give_back(self) -> None:
        if self._whole is None:
            return
        whole, focused = self._whole, QApplication.focusWidget()
        self._whole = None
        self._pages.show()
        self._window.restoreState(QByteArray(whole.before), LAYOUT_VERSION)
        _keep_keys(focused)
        self._settled()

    def share_height(self) -> None:
        """Of a window that became lower, the pages keep what can be read."""
        height = self._window.height()
        if self._whole is None and self._pages.height() < height * _LEAST_PAGE:
            self._share_below(_HALF)

    # inside

    def _share_below(self, share: float) -> None:
        """So much of the height; in a low window no more than leaves the pages what they need."""
        height = round(self._window.height() * share)
        if share <= _HALF and not self._folding.is_below_wanted:
            height = min(height, room_below(self._window))
        self._resize(_BOTTOM, height, Qt.Orientation.Vertical)

    def _begin_anew(self, docks: bytes) -> None:
        self._whole = None
        self._waits_for_log = False
        self._pages.show()
        self._folding.forget()
        for dock in self._docks.all.values():
            dock.setFloating(False)
        self._window.restoreState(QByteArray(docks), LAYOUT_VERSION)

    def _fronts(self, arrangement: Arrangement) -> list[str]:
        """Where none is named, the first."""
        bottom = [panel.id for panel in self._docks.panels.values() if panel.area == _BOTTOM]
        return [*reversed(bottom[:1]), *(name for name in arrangement.front if name in self._docks.all)]

    def _resize(self, area: Qt.DockWidgetArea, size: int, direction: Qt.Orientation) -> None:
        there = [self._docks.all[panel_id] for panel_id in self._docks.shown_in(area)]
        self._window.resizeDocks(there, [size] * len(there), direction)

    def _settled(self) -> None:
        self._docks.tidy()
        self._folding.fit()
        self.changed.emit()

    def _now(self) -> bytes:
        return bytes(self._window.saveState(LAYOUT_VERSION).data())

    def _described(self) -> dict[str, Any]:
        docks = self._whole.before if self._whole is not None else self._now()
        written = {"version": LAYOUT_VERSION, "docks": b64encode(docks).decode(), "folded": list(self._folding.folded)}
        return written | ({"waits": True} if self._waits_for_log else {})

    def _restore(self, kept: Any) -> None:
        if not isinstance(kept, dict) or kept.get("version") != LAYOUT_VERSION:
            return
        folded = kept.get("folded")
        if self._window.restoreState(QByteArray(_bytes(kept.get("docks"))), LAYOUT_VERSION):
            self._folding.take_over(folded if isinstance(folded, list) else [])

    def _own(self) -> dict[str, Any]:
        kept = self._state.get("arrangements")
        return kept if isinstance(kept, dict) else {}


def _bytes(written: Any) -> bytes:
    try:
        return b64decode(written, validate=True)
    except (ValueError, TypeError):
        return b""


def _keep_keys(focused: QWidget | None) -> None:
    """Where they were, if that is still in sight."""
    if focused is not None and focused.isVisible():
        focused.setFocus(Qt.FocusReason.OtherFocusReason)
