"""What is chosen in the tab of a bucket goes to the preview, and the space bar shows it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent

from traindeck.domain.objects import ObjectPath
from traindeck.domain.previews import MOST_EDITED
from traindeck.domain.texts import say
from traindeck.ui.browser_view import CONTEXT, BrowserView
from traindeck.viewmodels.commands import Command
from traindeck.viewmodels.object_browser import ObjectBrowser
from traindeck.viewmodels.preview import Preview


class PreviewFollower(QObject):
    """Lives as long as the tab."""

    def __init__(self, preview: Preview, view: BrowserView, browser: ObjectBrowser) -> None:
        super().__init__(view)
        self._preview = preview
        self._view = view
        self._browser = browser
        self._told: ObjectPath | None = None
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(0)
        self._settling.timeout.connect(self._tell)
        view.commands.add(
            Command("object.preview", say("Preview"), preview.wanted.emit, shortcut="Space", menu=CONTEXT, icon="eye"),
            Command("object.edit", say("Edit text…"), self._edit, self._can_edit, menu=CONTEXT, icon="edit"),
        )
        view.table.selectionModel().selectionChanged.connect(self._settling.start)
        view.table.selectionModel().currentChanged.connect(self._settling.start)
        browser.moved.connect(self._settling.start)
        browser.rows.replaced.connect(self._settling.start)
        browser.rows.read.connect(self._settling.start)
        view.installEventFilter(self)
        view.table.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and watched is self._view:
            self._told = None
            self._settling.start()
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and watched is self._view.table:
            is_plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
            if event.key() == Qt.Key.Key_Space and is_plain and not event.isAutoRepeat():
                self._view.commands.run("object.preview")
                return True
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

    def _tell(self) -> None:
        """Only what is new: in the panel one may have gone on to something else."""
        if not self._view.isVisible() or (chosen := self.chosen()) is None or chosen == self._told:
            return
        self._told = chosen
        self._preview.choose(self._browser.profile, chosen)

    def _can_edit(self) -> bool:
        table = self._view.table
        if table.count_selected() != 1:
            return False
        shown = self._view.model.shown(self._view.model.index(table.ranges()[0][0], 0))
        size = None if shown is None or shown.entry.path.is_folder else shown.entry.size_bytes
        return size is not None and size <= MOST_EDITED

    def _edit(self) -> None:
        if (chosen := self.chosen()) is not None:
            self._preview.edit_wanted.emit(self._browser.profile, chosen)


def follow_with(preview: Preview) -> Callable[[BrowserView, ObjectBrowser], None]:
    """What each tab of a bucket is extended with."""

    def follow(view: BrowserView, browser: ObjectBrowser) -> None:
        PreviewFollower(preview, view, browser)

    return follow
