"""Columns and their order as the user left them: the same for every table of a kind, and at the next start."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import partial
from typing import Any

from PySide6.QtCore import QByteArray, QObject
from PySide6.QtWidgets import QHeaderView, QWidget

from traindeck.ui.kit.tables import KEPT_AS
from traindeck.viewmodels.shell.window_state import WindowState


class KeptWidgets(QObject):
    """Finds what is to be kept in new panels and pages by the name it was given."""

    def __init__(self, state: WindowState, parent: QObject) -> None:
        super().__init__(parent)
        self._state = state

    def take(self, root: QWidget) -> None:
        """Bring it to how it was, and note from now on how it is."""
        for header in root.findChildren(QHeaderView):
            name = header.property(KEPT_AS)
            if not name:
                continue
            # Qt takes what was kept of another number of columns for its own.
            key = f"columns.{name}.{header.count()}"
            header.restoreState(QByteArray(_bytes(self._state.get(key))))
            note = partial(self._note, key, header)
            for told in (header.sectionResized, header.sectionMoved, header.sortIndicatorChanged):
                told.connect(note)

    def _note(self, key: str, header: QHeaderView, *_: object) -> None:
        if header.isVisible():  # else it is being laid out, not arranged by somebody
            self._state.put(key, b64encode(bytes(header.saveState().data())).decode())


def _bytes(written: Any) -> bytes:
    try:
        return b64decode(written, validate=True)
    except (ValueError, TypeError):
        return b""
