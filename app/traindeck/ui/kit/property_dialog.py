"""The frame around the properties of a bucket or an object: pages on the left, the chosen one at the right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QListWidgetItem, QStackedWidget, QWidget
from shiboken6 import isValid

from traindeck.domain.errors import AppError, Unexpected
from traindeck.domain.texts import say, say_list
from traindeck.ui.kit.cards import ElidedLabel, push_button
from traindeck.ui.kit.dialogs import AnswerButton, asked
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, line, row_of
from traindeck.ui.kit.property_page import PagePlace, PageState, PropertyPage, help_label
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Tasks

__all__ = ["PropertyDialog", "PropertyDialogs", "PropertyPage"]

_SIZE = (108 * SPACE, 76 * SPACE)
_LIST_WIDTH = 21 * SPACE
_BESIDE_TITLE = 8 * SPACE  # icon and margins
_LINE = 34


class PropertyDialog(QDialog):
    """Stays open beside the window; closing it asks about what was changed and not saved."""

    def __init__(
        self,
        title: str,
        address: str,
        pages: Sequence[PropertyPage],
        theme: Theme,
        scope: Tasks,
        parent: QWidget | None = None,
        page: str = "",
    ) -> None:
        """`page` is the title of the one to begin with."""
        super().__init__(parent)
        self.setWindowTitle(f"{title} – {address}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fit_on_screen(self, *_SIZE)
        self._theme = theme
        self._scope = scope
        self._name = f"properties {id(self)}"
        self._tasks: dict[PagePlace, str] = {}
        self._numbers = count(1)
        self._is_asking = False
        self.places = [PagePlace(page, theme) for page in pages]
        self.list, self.stack = RowList(), QStackedWidget()
        self.footing = help_label("", "small")
        self.reload_button = push_button(say("Reload"), self.reload, tip=say("Reload (F5)"))
        self.save_button = push_button(say("&Save"), self.save, "primary", say("Save (Ctrl+S)"))
        self._lay_out(title, address)
        self._connect()
        self._paint()
        titles = [place.page.title for place in self.places]
        self.list.setCurrentRow(titles.index(page) if page in titles else 0)
        self.list.setFocus()

    def _lay_out(self, title: str, address: str) -> None:
        set_role(self.list, "pages")
        self.list.setAccessibleName(say("Pages"))
        self.list.setUniformItemSizes(True)
        for place in self.places:
            item = QListWidgetItem(place.page.title, self.list)
            item.setSizeHint(QSize(0, _LINE))
            self.stack.addWidget(place)
        longest = max(self.fontMetrics().horizontalAdvance(f"{place.page.title} •") for place in self.places)
        self.list.setFixedWidth(max(_LIST_WIDTH, longest + _BESIDE_TITLE))
        inset = SPACE + HALF
        heading, where = label(title, "heading"), ElidedLabel(address, "dim")
        top = column_of(heading, where, margins=(2 * SPACE, inset, 2 * SPACE, inset), spacing=2)
        body = row_of(self.list, line(upright=True), (self.stack, 1), spacing=0)
        buttons = (self.reload_button, self.save_button, push_button(say("Close"), self.reject))
        foot = row_of((self.footing, 1), *buttons, margins=(2 * SPACE, SPACE, 2 * SPACE, SPACE), spacing=SPACE)
        column_of(top, line(), (body, 1), line(), foot, inside=self, margins=0, spacing=0)

    def _connect(self) -> None:
        for place in self.places:
            place.page.edited.connect(self._on_edited)
            place.retry.clicked.connect(self.reload)
        self.list.currentRowChanged.connect(self._on_row)
        self._theme.changed.connect(self._paint)
        self.finished.connect(self._stop)
        for keys, act in (
            ("Ctrl+S", self.save),
            ("F5", self.reload),
            ("Ctrl+PgDown", partial(self._turn, 1)),
            ("Ctrl+PgUp", partial(self._turn, -1)),
        ):
            QShortcut(QKeySequence(keys), self, act)

    # what is shown

    @property
    def current(self) -> PagePlace:
        return self.places[self.list.currentRow()]

    def open_page(self, title: str) -> None:
        for row, place in enumerate(self.places):
            if place.page.title == title:
                self.list.setCurrentRow(row)

    def _turn(self, pages: int) -> None:
        self.list.setCurrentRow((self.list.currentRow() + pages) % len(self.places))

    def _on_row(self, row: int) -> None:
        if row < 0:
            return
        place = self.places[row]
        self.stack.setCurrentWidget(place)
        if place.state is PageState.NEW:
            self._load(place)
        self._say()

    def _on_edited(self) -> None:
        page = self.sender()
        for place in self.places:
            if place.page is page and place.state is PageState.SHOWN:
                place.tell("")
        self._say()

    def _say(self) -> None:
        """Marks, words and buttons as the pages are now."""
        for row, place in enumerate(self.places):
            item, changed = self.list.item(row), self._is_changed(place)
            item.setText(f"{place.page.title} •" if changed else place.page.title)
            words = say("{page}, changed and not saved", page=place.page.title)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, words if changed else place.page.title)
        place = self.current
        problem = place.page.problem() if self._is_changed(place) else ""
        said, is_error = (problem, True) if problem else (place.said, place.is_error)
        self.footing.setText(said)
        set_role(self.footing, "error" if is_error else "small")
        self.save_button.setVisible(place.page.is_form)
        self.save_button.setEnabled(self._may_save(place))
        self.reload_button.setEnabled(place.state in (PageState.SHOWN, PageState.TROUBLE))

    def _paint(self) -> None:
        for row, place in enumerate(self.places):
            self.list.item(row).setIcon(self._theme.icon(place.page.icon))

    # reading

    def reload(self) -> None:
        place = self.current
        if place.state not in (PageState.SHOWN, PageState.TROUBLE):
            return
        if self._is_changed(place):
            self._scope.start(f"{self._name} ask", partial(self._ask_and_reload, place))
        else:
            self._load(place)

    async def _ask_and_reload(self, place: PagePlace) -> None:
        answer = AnswerButton("discard", say("Discard and reload"), "danger")
        question = say("Discard the changes on “{page}”?", page=place.page.title)
        if await asked(self, question, "", answer) == answer.id:
            self._load(place)

    def _load(self, place: PagePlace) -> None:
        place.become(PageState.LOADING)
        place.tell("")
        self._begin(place, partial(self._loading, place))
        self._say()

    async def _loading(self, place: PagePlace) -> None:
        try:
            await place.page.load()
        except AppError as error:
            self._settle(place, PageState.TROUBLE, error)
        except Exception as error:
            self._settle(place, PageState.TROUBLE, _mistake(error))
            raise
        else:
            self._settle(place, PageState.SHOWN)

    def _settle(self, place: PagePlace, state: PageState, error: AppError | None = None) -> None:
        if isValid(self):
            place.become(state, error)
            self._say()

    # saving

    def _is_changed(self, place: PagePlace) -> bool:
        return place.state in (PageState.SHOWN, PageState.SAVING) and place.page.has_changes()

    def _may_save(self, place: PagePlace) -> bool:
        return place.state is PageState.SHOWN and place.page.has_changes() and not place.page.problem()

    def has_changes(self) -> bool:
        return any(self._is_changed(place) for place in self.places)

    def save(self) -> None:
        place = self.current
        if self._may_save(place):
            self._begin(place, partial(self._saving, place))

    async def _saving(self, place: PagePlace) -> bool:
        """Whether it is kept now."""
        place.become(PageState.SAVING)
        place.tell(say("Saving…"))
        self._say()
        kept = False
        try:
            kept = await place.page.save()
            place.tell(say("Saved.") if kept else "")
        except AppError as error:
            place.tell(error.sentence(), is_error=True)
        except Exception as error:
            place.tell(_mistake(error).sentence(), is_error=True)
            raise
        finally:
            self._settle(place, PageState.SHOWN)
        return kept

    # leaving

    def reject(self) -> None:
        """Close, unless something would be lost that the user wants to keep."""
        if self._is_asking:
            return
        if self.has_changes() and self._scope.start(f"{self._name} ask", self._ask_and_leave):
            return
        super().reject()

    async def _ask_and_leave(self) -> None:
        self._is_asking = True
        try:
            leaves = await self._may_leave()
        finally:
            self._is_asking = False
        if leaves and isValid(self):
            super().reject()

    async def left(self) -> bool:
        """Ask as closing does, and wait for the answer; False: the user wants to stay."""
        self.raise_()
        if not self._is_asking:
            await self._ask_and_leave()
        return not isValid(self) or not self.isVisible()

    async def _may_leave(self) -> bool:
        if any(place.state is PageState.SAVING for place in self.places):
            answer = AnswerButton("leave", say("Close anyway"), "danger")
            hint = say("It is then not known whether the change was applied. Open the properties again to check.")
            return await asked(self, say("It is still being saved."), hint, answer) == answer.id
        changed = [place for place in self.places if self._is_changed(place)]
        names = say_list(place.page.title for place in changed)
        save, discard = AnswerButton("save", say("Save"), "primary"), AnswerButton("discard", say("Discard"), "danger")
        answer_id = await asked(self, say("Save the changes?"), say("Changed: {pages}", pages=names), save, discard)
        if answer_id == save.id:
            return await self._save_all(changed)
        return answer_id == discard.id

    async def _save_all(self, changed: Sequence[PagePlace]) -> bool:
        for place in changed:
            self.list.setCurrentRow(self.places.index(place))
            if not self._may_save(place) or not await self._saving(place):
                return False
        return True

    def _stop(self) -> None:
        for place in self.places:
            self._scope.cancel(self._tasks.get(place, ""))
            place.leave()

    def _begin(self, place: PagePlace, work: Callable[[], Awaitable[object]]) -> None:
        """Under a name of its own: what ended this very moment is not forgotten yet, and must not refuse the next."""
        self._tasks[place] = name = f"{self._name} {next(self._numbers)}"
        self._scope.start(name, work)


class PropertyDialogs:
    """One dialog for each thing: who asks again sees the one that is open."""

    def __init__(self, theme: Theme, scope: Tasks, window: QWidget) -> None:
        self._theme = theme
        self._scope = scope
        self._window = window
        self._open: dict[str, PropertyDialog] = {}

    def show(
        self, title: str, address: str, make: Callable[[], Sequence[PropertyPage]], page: str = "", *, key: str = ""
    ) -> PropertyDialog:
        """`make` gives the pages when there is no dialog yet; `page` is the title of the one to begin with.

        `key` tells things apart whose address does not.
        """
        key = key or f"{title} {address}"
        dialog = self._open.get(key)
        if dialog is None or not isValid(dialog) or not dialog.isVisible():
            dialog = PropertyDialog(title, address, make(), self._theme, self._scope, self._window, page)
            self._open[key] = dialog
            dialog.finished.connect(lambda _: self._open.pop(key, None))
        elif page:
            dialog.open_page(page)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        return dialog

    def unsaved(self) -> list[PropertyDialog]:
        return [dialog for dialog in self._open.values() if isValid(dialog) and dialog.has_changes()]

    async def may_go(self) -> bool:
        """Before the window goes: nothing is lost without a question."""
        for dialog in self.unsaved():
            if not await dialog.left():
                return False
        return True


def _mistake(error: Exception) -> Unexpected:
    return Unexpected(f"{type(error).__name__}: {error}")
