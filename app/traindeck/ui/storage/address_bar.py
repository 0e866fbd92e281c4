"""Where one is in OBS, to be read, typed and completed."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.fields import PlaceCompletion
from traindeck.ui.kit.layouts import row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.storage.browser_rows import BrowserRows
from traindeck.viewmodels.storage.object_browser import BrowserState
from traindeck.viewmodels.storage.places import MissingPlace


class AddressBar(QLineEdit):
    """Takes every spelling of a place; what it may become is offered while it is typed."""

    wanted = Signal(str)
    typed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._completion = PlaceCompletion(self)
        self.setAccessibleName(say("Address"))
        self.setPlaceholderText(say("obs://bucket/folder/, or paste an address"))
        self.returnPressed.connect(self._on_return)
        self._completion.typed.connect(self.typed)
        self._completion.chosen.connect(self.wanted)

    def show_place(self, place: ObjectPath) -> None:
        self._place = str(place)
        self.setText(self._place)
        self.setToolTip(self._place)

    def offer(self, places: list[str]) -> None:
        """Show these below, if something is still being typed."""
        self._completion.offer(places)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.ShortcutFocusReason):
            self.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.setText(self._place)
            self.selectAll()
        else:
            super().keyPressEvent(event)

    def _on_return(self) -> None:
        self.wanted.emit(self.text())


class MissingBar(QWidget):
    """Shows a MissingPlace; None hides it."""

    wanted = Signal(str)
    """One of the nearest was chosen."""
    create_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.shown: MissingPlace | None = None
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.words.linkActivated.connect(self.wanted)
        self.create_button = QPushButton()
        self.create_button.clicked.connect(self.create_wanted)
        set_role(self.create_button, "flat")
        row_of(
            (self.words, 1),
            (self.create_button, 0, Qt.AlignmentFlag.AlignTop),
            inside=self,
            margins=(SPACE, HALF, SPACE, 0),
            spacing=SPACE,
        )
        theme.changed.connect(self._paint)
        self.show_missing(None)

    def show_missing(self, missing: MissingPlace | None) -> None:
        self.shown = missing
        self.setVisible(missing is not None)
        self._paint()

    def _paint(self) -> None:
        missing = self.shown
        if missing is None:
            return
        place = str(missing.path)
        if missing.has_bucket:
            words = say("There is nothing at {place}.", place=place)
            self.create_button.setText(say("Create this folder"))
        else:
            words = say("There is no bucket “{name}” here.", name=missing.path.bucket)
            self.create_button.setText(say("Create this bucket"))
        words = escape(words)
        if missing.alike:
            color = self._theme.color("link").name()
            links = ", ".join(
                f'<a style="color:{color}" href="{escape(str(path), quote=True)}">{escape(str(path))}</a>'
                for path in missing.alike
            )
            # Put in last: a translation may stand anywhere around it.
            words += " " + escape(say("Did you mean {places}?", places="\0")).replace("\0", links)
        self.words.setText(words)


def footing_words(state: BrowserState, rows: BrowserRows, selected: int) -> str:
    parts = []
    if selected:
        parts.append(say("{count} chosen", count=f"{selected:,}"))
    if rows.look.search:
        parts.append(say("{count} found", count=f"{rows.count:,}"))
    elif rows.count:
        if rows.folders:
            parts.append(say("{count} folders", count=f"{rows.folders:,}"))
        objects = rows.count - rows.folders
        if objects:
            parts.append(say("{count} objects, {size}", count=f"{objects:,}", size=size_words(rows.size_bytes)))
    if rows.below is not None and rows.folders:
        below = rows.below
        parts.append(
            say(
                "everything below: {count} objects, {size}", count=f"{below.count:,}", size=size_words(below.size_bytes)
            )
        )
    if rows.as_of is not None:
        parts.append(say("as of {moment}", moment=moment_words(rows.as_of)[11:]))
    elif rows.count or rows.look.search:
        parts.append(say("so far"))
    return " · ".join(parts)


def listing_words(state: BrowserState, rows: BrowserRows) -> str:
    if state.trouble is not None and rows.count:
        return say(state.trouble.title)
    if state.busy is not None:
        return say(state.busy)
    if rows.look != state.look:
        return say("Putting in order…")
    if state.swept is not None:
        return say("Listing all below: {count} objects…", count=f"{state.swept:,}")
    if state.is_cut:
        return say("Not all below is listed.")
    return say("Reading…") if state.is_reading else ""


def empty_words(state: BrowserState, rows: BrowserRows) -> tuple[str, str]:
    if state.trouble is not None and rows.as_of is None:
        return say(state.trouble.title), say(state.trouble.hint)
    if rows.look != state.look or (rows.as_of is None and (state.is_reading or state.swept is not None)):
        return say("Reading…"), ""
    if rows.look.search:
        if rows.as_of is None:
            return say("Nothing of this name is known so far."), say("List all to look everywhere below.")
        return say("Nothing here or below is named so."), ""
    return say("This folder is empty."), say("Drop files here to upload them.")
