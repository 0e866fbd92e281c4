"""The preview in the tab of a bucket: what is chosen there, shown as what it is."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex
from PySide6.QtGui import QHideEvent, QImage, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from traindeck.domain.previews import (
    ArchivePage,
    BytesPage,
    PicturePage,
    PreviewPage,
    TablePage,
    TensorsPage,
    TextPage,
)
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, push_button, theme_tool_buttons, tool_button
from traindeck.ui.kit.layouts import column_of, row_of, steady_row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.previews.lists import (
    CellsTable,
    ListPane,
    ListTable,
    member_columns,
    tensor_columns,
)
from traindeck.ui.previews.pictures import GridView, PictureView, TextPane
from traindeck.ui.previews.preview_place import PreviewPlace
from traindeck.viewmodels.previews.preview import (
    Preview,
    about_words,
    grid_words,
    more_words,
    waiting_words,
)


class PreviewView(QWidget):
    """Follows what is chosen while it is visible; reading never keeps the window waiting."""

    def __init__(self, preview: Preview, place: PreviewPlace, theme: Theme) -> None:
        super().__init__()
        self._preview = preview
        self._theme = theme
        self.setMinimumSize(18 * SPACE, 15 * SPACE)  # some kinds would like more than a tab has to give
        self._shown: tuple[PreviewPage, ...] = ()
        self.name = ElidedLabel(role="strong")
        self.about = ElidedLabel(role="small")
        self.back = tool_button("back", say("Back to the pictures of the folder"), preview.back)
        self.edit = tool_button("edit", say("Edit this text…"), preview.edit)
        self.refresh = tool_button("refresh", say("Reload the preview"), preview.look_again)
        self.turn = tool_button("below", say("Next to the list or below it"), place.turn)
        self.shut = tool_button("close", say("Close the preview (Space)"), place.toggle)
        self.message = EmptyPage(say("Nothing is selected."), say("Select an object in a bucket to preview it."))
        self.text = TextPane(theme)
        self.cells = CellsTable()
        self.tensors = ListPane(tensor_columns(), say("Tensors"))
        self.members = ListPane(member_columns(), say("Entries of the archive"))
        self.picture = PictureView()
        self.grid = GridView(preview.pictures, theme)
        self.notes = sentence("", "warn")
        self.more = push_button(say("Load more"))
        set_role(self.more, "flat")
        self.count = ElidedLabel(role="small")
        self._lay_out()
        self._connect()
        self._apply_theme()
        self._show_state()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._on_changed()  # what was chosen while nobody looked
        self._preview.watch(id(self), True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._preview.watch(id(self), False)

    def _lay_out(self) -> None:
        names = column_of(self.name, self.about, spacing=0)
        head = row_of(
            self.back,
            (names, 1),
            self.edit,
            self.refresh,
            self.turn,
            self.shut,
            margins=(SPACE, HALF, HALF, HALF),
            spacing=HALF,
        )
        self._pages = QStackedLayout()
        self._pages.currentChanged.connect(self._on_page)
        foot = steady_row_of((self.count, 1), self.more, margins=(SPACE, HALF, HALF, HALF), spacing=HALF)
        notes = column_of(self.notes, margins=(SPACE, 0, SPACE, 0))
        column_of(head, (self._pages, 1), notes, foot, inside=self, margins=0, spacing=0)
        for page in (self.message, self.text, self.cells, self.tensors, self.members, self.picture, self.grid):
            self._pages.addWidget(page)

    def _connect(self) -> None:
        preview = self._preview
        preview.changed.connect(self._on_changed)
        preview.grew.connect(self._on_grew)
        preview.pictures.changed.connect(self._on_pictures)
        self.more.clicked.connect(self._load_more)
        for area in (self.text, self.cells, self.tensors.table, self.members.table):
            area.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.grid.activated.connect(self._open_picture)
        self._theme.changed.connect(self._apply_theme)

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self.grid.viewport().update()

    def _on_page(self, _number: int) -> None:
        if (page := self._pages.currentWidget()) is not None:
            self.setFocusProxy(page.table if isinstance(page, ListPane) else page)

    def _load_more(self) -> None:
        if self._preview.state.is_folder:
            self._preview.pictures.more()
        else:
            self._preview.more()

    def _on_scrolled(self, value: int) -> None:
        """Who comes near the end wants to go on."""
        area = self._pages.currentWidget()
        pane = area.table if isinstance(area, ListPane) else area
        bar = pane.verticalScrollBar() if isinstance(pane, TextPane | CellsTable | ListTable) else None
        if bar is self.sender() and value and value >= bar.maximum() - bar.pageStep() // 2:
            self._preview.more()

    def _open_picture(self, index: QModelIndex) -> None:
        self._preview.open_picture(index.row())

    def _on_changed(self) -> None:
        """There is one for each tab, and only that in sight has anything to do."""
        if self.isVisible():
            self._show_state()

    def _show_state(self) -> None:
        state = self._preview.state
        self.name.setText("" if state.place is None else state.place.name)
        self.name.setToolTip("" if state.place is None else str(state.place))
        self.about.setText(about_words(state))
        self.back.setVisible(state.within is not None)
        self.edit.setVisible(state.can_edit)
        self.refresh.setVisible(state.place is not None)
        if state.is_folder:
            self._shown = ()
            self._show_pictures()
            return
        if state.pages != self._shown:
            self._show_pages(state.pages)
        if not state.pages:
            if state.place is None:
                self.message.restore()
            else:
                self.message.say(*waiting_words(state))
            self._pages.setCurrentWidget(self.message)
        self._say_how_much()

    def _on_grew(self) -> None:
        if not self.isVisible():
            return
        self._show_pages(self._preview.state.pages)
        self._say_how_much()

    def _show_pages(self, pages: tuple[PreviewPage, ...]) -> None:
        """All of them, or those behind what is there."""
        known = len(self._shown)
        if pages[:known] != self._shown or not known:
            known = 0
        self._shown = pages
        for number, page in enumerate(pages[known:], known):
            self._show_page(page, is_first=number == 0)

    def _show_page(self, page: PreviewPage, *, is_first: bool) -> None:
        pane: QWidget = self.text
        match page:
            case TextPage() if is_first and not page.text and page.notes:
                self.message.say(say(page.notes[0]), "")
                pane = self.message
            case TextPage():
                self.text.show_page(page.text, is_first=is_first)
            case BytesPage():
                self.text.show_page(page.dump, is_first=True)
            case TablePage():
                self.cells.show_page(page, is_first=is_first)
                pane = self.cells
            case TensorsPage():
                self.tensors.show_page(page.facts, page.tensors, page.sample, is_first=is_first)
                pane = self.tensors
            case ArchivePage():
                self.members.show_page(page.facts, page.members, is_first=is_first)
                pane = self.members
            case PicturePage():
                drawn = self._preview.state.drawn
                assert isinstance(drawn, QImage)
                self.picture.show_image(drawn, self.name.text())
                pane = self.picture
        self._pages.setCurrentWidget(pane)

    def _say_how_much(self) -> None:
        state = self._preview.state
        notes = [say(note) for page in state.pages for note in page.notes]
        if state.pages and state.trouble is not None:
            notes.append(state.trouble.sentence())
        self.notes.setText("\n".join(dict.fromkeys(notes)))
        self.notes.setVisible(bool(notes) and self._pages.currentWidget() is not self.message)
        self.count.setText(more_words(state))
        self.more.setVisible(state.has_more)
        self.more.setEnabled(not state.is_reading_more)

    def _on_pictures(self) -> None:
        if self._preview.state.is_folder and self.isVisible():
            self._show_pictures()

    def _show_pictures(self) -> None:
        grid = self._preview.pictures
        has_pictures = bool(grid.rows)
        title, hint, count = grid_words(grid.state, len(grid.rows))
        self.message.say(title, hint)
        self._pages.setCurrentWidget(self.grid if has_pictures else self.message)
        self.count.setText(count)
        self.notes.setText(grid.state.trouble.sentence() if grid.state.trouble and has_pictures else "")
        self.notes.setVisible(bool(self.notes.text()))
        self.more.setVisible(grid.state.has_more and not grid.state.is_listing)
        self.more.setEnabled(True)
