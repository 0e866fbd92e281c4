"""Columns and places in lists as the user left them, for the next window of this kind and at the next start."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import partial
from typing import Any

from PySide6.QtCore import QByteArray, QObject
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from traindeck.ui.kit.columns import Columns
from traindeck.ui.kit.kept_place import KeptPlace
from traindeck.viewmodels.shell.window_state import WindowState


class KeptWidgets(QObject):
    """Finds what is to be kept in new panels and pages."""

    def __init__(self, state: WindowState, parent: QObject) -> None:
        super().__init__(parent)
        self._state = state

    def take(self, root: QWidget) -> None:
        """Bring it to how it was, and note from now on how it is."""
        for columns in root.findChildren(Columns):
            self._take_columns(columns)
        for place in root.findChildren(KeptPlace):
            key = f"place.{place.name}"
            place.moved.connect(partial(self._state.put, key))
            place.take_up(self._state.get(key))

    def _take_columns(self, columns: Columns) -> None:
        header = columns.header
        # Qt takes what was kept of another number of columns for its own.
        key, hidden_key = (f"{what}.{columns.name}.{header.count()}" for what in ("columns", "hidden"))
        hidden = self._state.get(hidden_key)
        columns.begin(_bytes(self._state.get(key)), hidden if isinstance(hidden, list) else columns.hidden)

        def note(*_: object) -> None:
            # Else it is being laid out, or goes with its window; nobody arranges it.
            if isValid(header) and header.isVisible():
                self._state.put(key, b64encode(bytes(header.saveState().data())).decode())

        def note_hidden() -> None:
            note()
            self._state.put(hidden_key, columns.hidden)

        for told in (header.sectionResized, header.sectionMoved, header.sortIndicatorChanged):
            told.connect(note)
        columns.arranged.connect(note_hidden)


def _bytes(written: Any) -> QByteArray:
    try:
        return QByteArray(b64decode(written, validate=True))
    except (ValueError, TypeError):
        return QByteArray()
