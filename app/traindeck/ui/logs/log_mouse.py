"""What the mouse does in a log: selects, over any length, and opens what can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QMouseEvent

from traindeck.ui.logs.row_layouts import characters
from traindeck.ui.logs.row_marks import LogLink, links_in

if TYPE_CHECKING:
    from traindeck.ui.logs.log_pane import LogPane

_DRAG_MS = 40


class LogMouse:
    """Nothing of it changes whether the end is followed, but for a drag beyond the edge: that scrolls."""

    def __init__(self, pane: LogPane) -> None:
        self._pane = pane
        self._at = QPoint()
        """Where the mouse was last dragged to."""
        self._dragging = QTimer(pane, interval=_DRAG_MS)
        self._dragging.timeout.connect(self._drag_on)

    def press(self, event: QMouseEvent) -> None:
        pane, point = self._pane, event.position().toPoint()
        spot = pane.spot_at(point)
        if event.button() != Qt.MouseButton.LeftButton or spot is None:
            return
        if (row := pane.badge_at(point)) is not None:
            pane.badge_clicked.emit(row)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            pane.selection.extend(spot)
        else:
            pane.selection.begin(spot)
        pane.selected_anew()

    def move(self, event: QMouseEvent) -> None:
        pane, point = self._pane, event.position().toPoint()
        if not event.buttons():
            can_be_opened = self._link_at(point) is not None or pane.badge_at(point) is not None
            shape = Qt.CursorShape.PointingHandCursor if can_be_opened else Qt.CursorShape.IBeamCursor
            pane.viewport().setCursor(shape)
        elif event.buttons() & Qt.MouseButton.LeftButton and pane.selection.anchor is not None:
            self._at = point
            self._extend_to(point)
            is_outside = not pane.viewport().rect().contains(point)
            if is_outside != self._dragging.isActive():
                (self._dragging.start if is_outside else self._dragging.stop)()

    def release(self, event: QMouseEvent) -> None:
        self._dragging.stop()
        link = self._link_at(event.position().toPoint())
        if link is not None and event.button() == Qt.MouseButton.LeftButton and not self._pane.selection:
            self._pane.link_clicked.emit(link)

    def double_click(self, event: QMouseEvent) -> None:
        pane = self._pane
        spot = pane.spot_at(event.position().toPoint())
        row = pane.lines.row(spot.number) if spot is not None else None
        if spot is not None and row is not None:
            pane.selection.choose_word(row, spot)
            pane.selected_anew()

    def _link_at(self, point: QPoint) -> LogLink | None:
        row = self._pane.row_at(point)
        spot = self._pane.spot_at(point) if row is not None and row.mark is None else None
        if row is None or spot is None:
            return None
        place = characters(row.words, spot.unit)
        return next((link for link in links_in(row.words) if link.begin <= place < link.end), None)

    def _drag_on(self) -> None:
        pane, at = self._pane, self._at
        beyond = at.y() if at.y() < 0 else max(0, at.y() - pane.viewport().height())
        if beyond:
            pane.scroll_by(int(beyond / pane.layouts.line_height) or (1 if beyond > 0 else -1))
        self._extend_to(at)

    def _extend_to(self, point: QPoint) -> None:
        if (spot := self._pane.spot_at(point)) is not None:
            self._pane.selection.extend(spot)
            self._pane.selected_anew()
