"""What lies over a window, and stays there."""

from __future__ import annotations

from PySide6.QtCore import QChildEvent, QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

_IS_OVERLAY = "is_overlay"


def is_covered(window: QWidget) -> bool:
    """Whether a modal dialog or an overlay of its own takes all clicks and keys of `window`."""
    if QApplication.activeModalWidget() is not None:
        return True
    return any(
        child.property(_IS_OVERLAY) and child.isVisible() and child.geometry().contains(window.rect())
        for child in window.children()
        if isinstance(child, QWidget)
    )


class StayAbove(QObject):
    """Keeps a widget over its siblings: a dock or a page that is shown comes to the front of all of them."""

    def __init__(self, overlay: QWidget) -> None:
        super().__init__(overlay)
        # A dock that is raised comes before its tabs only if nothing is above it in that moment.
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(overlay.raise_)
        overlay.setProperty(_IS_OVERLAY, True)
        window = overlay.parentWidget()
        assert window is not None
        for widget in (window, *(child for child in window.children() if isinstance(child, QWidget))):
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            event.child().installEventFilter(self)
            self._soon.start()
        elif event.type() == QEvent.Type.ZOrderChange and not watched.property(_IS_OVERLAY):
            self._soon.start()
        return super().eventFilter(watched, event)
