"""Whether the preview is open, on which side of the rows, and how much of the tab it has."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from traindeck.viewmodels.shell.window_state import WindowState

_KEPT = "preview"
_SHARES = (0.15, 0.85)


class PreviewPlace(QObject):
    """The same in all tabs, and at the next start."""

    changed = Signal()

    def __init__(self, state: WindowState) -> None:
        super().__init__()
        self._state = state
        kept: Any = state.get(_KEPT)
        kept = kept if isinstance(kept, dict) else {}
        self.is_open = kept.get("open") is True
        self.is_below = kept.get("below") is True
        share = kept.get("share")
        self.share = min(max(share, _SHARES[0]), _SHARES[1]) if isinstance(share, float) else 0.45

    def toggle(self) -> None:
        self.is_open = not self.is_open
        self._keep()

    def turn(self) -> None:
        self.is_below = not self.is_below
        self._keep()

    def divide(self, share: float) -> None:
        """As the user drew it."""
        self.share = round(min(max(share, _SHARES[0]), _SHARES[1]), 4)
        self._keep()

    def _keep(self) -> None:
        self._state.put(_KEPT, {"open": self.is_open, "below": self.is_below, "share": self.share})
        self.changed.emit()
