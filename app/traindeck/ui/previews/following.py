"""Where the preview stands in the tabs of buckets, and how it follows what is chosen there."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer

from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.theme import Theme
from traindeck.ui.previews.preview_place import PreviewPlace
from traindeck.ui.previews.preview_view import PreviewView
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.viewmodels.previews.preview import Preview


class PreviewFollower(QObject):
    """Lives as long as the tab; the panel is made when it is first wanted."""

    def __init__(self, preview: Preview, view: BrowserView, place: PreviewPlace, theme: Theme) -> None:
        super().__init__(view)
        self.panel: PreviewView | None = None
        self._preview = preview
        self._place = place
        self._theme = theme
        self._view = view
        self._browser = browser = view.browser
        self._told: ObjectPath | None = None
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(0)
        self._settling.timeout.connect(self._tell)
        view.table.selectionModel().selectionChanged.connect(self._settling.start)
        view.table.selectionModel().currentChanged.connect(self._settling.start)
        browser.moved.connect(self._settling.start)
        browser.rows.replaced.connect(self._settling.start)
        browser.rows.read.connect(self._settling.start)
        view.installEventFilter(self)
        view.parts.splitterMoved.connect(self._on_divided)
        place.changed.connect(self._stand)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and watched is self._view:
            self._told = None
            self._settling.start()
            self._stand()
        return super().eventFilter(watched, event)

    def chosen(self) -> ObjectPath | None:
        """The object or folder one is on, else the folder that is shown; None: not known yet."""
        table = self._view.table
        ranges = table.ranges()
        if not ranges:
            return self._browser.state.place
        current = table.currentIndex().row()
        is_chosen = any(first <= current <= last for first, last in ranges)
        shown = self._view.model.shown(self._view.model.index(current if is_chosen else ranges[0][0], 0))
        return shown.entry.path if shown is not None else None

    def _stand(self) -> None:
        """As wanted, in the tab that is in sight; the others follow when they come to the front."""
        parts, place = self._view.parts, self._place
        if not self._view.isVisible():
            return
        if self.panel is None:
            if not place.is_open:
                return
            self.panel = PreviewView(self._preview, place, self._theme)
            parts.addWidget(self.panel)
            parts.setStretchFactor(0, 1)
        parts.setOrientation(Qt.Orientation.Vertical if place.is_below else Qt.Orientation.Horizontal)
        self.panel.setVisible(place.is_open)
        room = max(100, parts.height() if place.is_below else parts.width())
        wanted = round(room * place.share)
        if place.is_open and abs(parts.sizes()[1] - wanted) > 1:
            parts.setSizes([room - wanted, wanted])

    def _on_divided(self, *_: int) -> None:
        rows, preview = self._view.parts.sizes()
        self._place.divide(preview / max(1, rows + preview))

    def _tell(self) -> None:
        """Only what is new: in the panel one may have gone on to something else."""
        if not self._view.isVisible() or (chosen := self.chosen()) is None or chosen == self._told:
            return
        self._told = chosen
        self._preview.choose(self._browser.profile, chosen)
