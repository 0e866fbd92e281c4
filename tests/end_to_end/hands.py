"""A person at the window: finds things by what they say, and acts by mouse and keyboard alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDialog,
    QDockWidget,
    QFileDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QTabBar,
    QWidget,
)

from end_to_end.outside import outside_of_tasks
from support.awaited import Awaited
from traindeck.bootstrap import Program
from traindeck.ui.logs.log_pane import LogPane
from traindeck.ui.shell.main_window import MainWindow

STEP_S = 110.0  # given up a little earlier than by those who wait outside, to say what is in sight
_LOOK_S = 0.02

Kind = TypeVar("Kind", bound=QWidget)
KindOf = type[Kind]


def tell(what: str, **facts: Any) -> None:
    """One line for the test outside."""
    print(json.dumps({"what": what, "at": time.monotonic(), **facts}), flush=True)


def log_words(pane: LogPane) -> str:
    """All of it; what is not in memory is there when it is asked again."""
    lines = pane.lines
    lines.want(0, len(lines))
    rows = [lines.row(number) for number in lines.numbers(0, len(lines))]
    return "\n".join(str(row.mark or row.words) for row in rows if row is not None)


class Hands:
    """What a person does with the window of `program`."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @property
    def window(self) -> MainWindow:
        return self.program.workspace.window

    def panel(self, panel_id: str) -> Any:
        """What is in this dock."""
        return self.window.panel(panel_id)

    async def until(self, condition: Callable[[], object], timeout_s: float = STEP_S) -> None:
        awaited, end = Awaited(condition), time.monotonic() + timeout_s
        while not awaited.holds():
            if time.monotonic() > end:
                raise awaited.failure(timeout_s, f"in sight: {self.texts()}")
            await asyncio.sleep(_LOOK_S)

    # acting

    async def click(
        self, widget: QWidget, place: QPoint | None = None, *, double: bool = False, right: bool = False
    ) -> None:
        """Through the window system's door, so that what lies on top gets it."""
        window = widget.window()
        before = None
        while before != (before := (window.size(), widget.mapTo(window, QPoint()), widget.size())):
            await self.until(lambda: widget.isVisible() and widget.isEnabled() and _hit(widget, place))
            await asyncio.sleep(_LOOK_S)  # until it stands still
        inside = widget.mapTo(window, place or widget.rect().center())
        handle = window.windowHandle()
        act = QTest.mouseDClick if double else QTest.mouseClick
        none = Qt.KeyboardModifier.NoModifier
        button = Qt.MouseButton.RightButton if right else Qt.MouseButton.LeftButton
        await outside_of_tasks(lambda: act(handle, button, none, inside))

    async def open_menu_of(self, button: QWidget) -> QMenu:
        """Qt turns a loop of its own until the menu is closed: the click is not waited for."""
        await self.until(lambda: button.isVisible() and button.isEnabled() and _hit(button, None))
        QTimer.singleShot(0, lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton))
        await self.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        return menu

    async def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        handle = (QApplication.activePopupWidget() or QApplication.activeWindow() or self.window).windowHandle()
        await outside_of_tasks(lambda: QTest.keyClick(handle, key, modifiers))

    async def press_on(
        self, widget: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        """With the keyboard there."""
        widget.setFocus()
        await self.until(widget.hasFocus)
        await self.press(key, modifiers)

    async def type(self, words: str) -> None:
        """Into whatever has the keyboard."""
        target = QApplication.focusWidget()
        assert target is not None, "nothing has the keyboard"
        for letter in words:  # a person's come one by one, and the window answers between two
            await outside_of_tasks(partial(QTest.keyClicks, target, letter))

    async def fill(self, edit: QLineEdit, words: str) -> None:
        await self.click(edit)
        # In a dialog that has just come: until it has the keyboard, what is typed goes to the window behind.
        await self.until(edit.hasFocus)
        await self.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        await self.press(Qt.Key.Key_Delete)
        await self.type(words)

    async def bring_into_view(self, widget: QWidget, area: QScrollArea) -> None:
        """Turn the wheel over the area until the widget is wholly there."""
        viewport, content = area.viewport(), area.widget()
        assert content is not None
        spot = QPoint(4, viewport.height() - 4)
        while not _is_wholly_in(widget, viewport):
            before = area.verticalScrollBar().value()
            top = widget.mapTo(content, QPoint()).y() - before
            angle = QPoint(0, 120 if top < 0 else -120)
            wheel = QWheelEvent(
                QPointF(spot), QPointF(viewport.mapToGlobal(spot)), QPoint(), angle, Qt.MouseButton.NoButton,
                Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
            )  # fmt: skip
            await outside_of_tasks(partial(QApplication.sendEvent, viewport, wheel))
            assert area.verticalScrollBar().value() != before, f"{widget!r} cannot be scrolled into view"

    async def choose(self, *words: str) -> None:
        """From the menu bar, entry by entry, each by what it says."""
        bar = self.window.menuBar()
        first = next(action for action in bar.actions() if plain(action.text()) == words[0])
        await self.click(bar, bar.actionGeometry(first).center())
        await self.choose_in_menu(*words[1:])

    async def choose_from(self, button: QWidget, *words: str) -> None:
        """From the menu of a button."""
        await self.open_menu_of(button)
        await self.choose_in_menu(*words)

    async def choose_at(self, view: QAbstractItemView, row: int, column: int, *words: str) -> None:
        """From the context menu of a cell."""
        await self.choose_cell(view, row, column, right=True)
        await self.choose_in_menu(*words)

    async def choose_in_menu(self, *words: str) -> None:
        for word in words:
            await self.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
            menu = QApplication.activePopupWidget()
            assert isinstance(menu, QMenu)
            offered = [action for action in menu.actions() if plain(action.text().partition("\t")[0]) == word]
            if not offered:
                menu.close()
            assert offered, f"{word} is not among {[action.text() for action in menu.actions()]}"
            submenu = offered[0].menu()
            await self.click(menu, menu.actionGeometry(offered[0]).center())
            if isinstance(submenu, QMenu):
                await self.until(submenu.isVisible)
            else:
                await self.until(lambda menu=menu: QApplication.activePopupWidget() is not menu)

    async def choose_cell(
        self, view: QAbstractItemView, row: int, column: int, *, double: bool = False, right: bool = False
    ) -> None:
        view.scrollTo(view.model().index(row, column))
        place = view.visualRect(view.model().index(row, column))
        assert place.isValid(), f"no cell {row}, {column}"
        await self.click(view.viewport(), QPoint(place.left() + 6, place.center().y()), double=double, right=right)

    async def answer(self, title: str, words: str, *, closes: bool = True) -> None:
        """Type into the line that the dialog asks for, and press Return."""
        dialog = await self.dialog_saying(title)
        await self.until(lambda: isinstance(self.focused(), QLineEdit) and self.focused().window() is dialog)
        await self.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        await self.type(words)
        await self.press(Qt.Key.Key_Return)
        await self.until(lambda: dialog not in self.dialogs())
        if closes:
            await self.all_closed()

    async def choose_path(self, path: Path) -> None:
        """Type it into the dialog that asks for a file or a folder, and press Return."""
        dialog = await self.opened(QFileDialog)
        await self.until(lambda: isinstance(self.focused(), QLineEdit) and self.focused().window() is dialog)
        await self.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        await self.type(str(path))
        # Only pressed: Return closes the dialog before the key is let go of.
        await outside_of_tasks(lambda: QTest.keyPress(self.focused(), Qt.Key.Key_Return))
        await self.until(lambda: dialog not in self.dialogs())

    async def all_closed(self) -> None:
        """No dialog is open; the window gets the keyboard, as a window manager would give it."""
        await self.until(lambda: self.dialog() is None)
        await self.until(lambda: self.window.isActiveWindow() or self.window.activateWindow())

    # looking

    async def opened(self, kind: KindOf[Kind]) -> Kind:
        """The dialog of this kind that is visible and has the keyboard."""

        def seen() -> list[Kind]:
            return [one for one in self.dialogs() if isinstance(one, kind) and one.isActiveWindow()]

        await self.until(seen)
        return seen()[0]

    def focused(self) -> QWidget:
        return QApplication.focusWidget() or self.window

    def button(self, words: str, inside: QWidget | None = None) -> QAbstractButton:
        found = [one for one in self.visible(QAbstractButton, inside) if plain(one.text()) == words]
        assert found, f"no button “{words}” in {[plain(one.text()) for one in self.visible(QAbstractButton, inside)]}"
        return found[0]

    def dialogs(self) -> list[QDialog]:
        return [one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog) and one.isVisible()]

    def dialog(self) -> QDialog | None:
        return next(iter(self.dialogs()), None)

    async def dialog_saying(self, words: str) -> QDialog:
        def saying() -> list[QDialog]:
            found = [one for one in self.dialogs() if words in self.texts(one)]
            # The words of a dialog are also found in the one over which it opened.
            return [one for one in found if not any(other.parent() is one for other in found)]

        await self.until(saying)
        return saying()[0]

    def visible(self, kind: KindOf[Kind], inside: QWidget | None = None) -> list[Kind]:
        return [one for one in (inside or self.window).findChildren(kind) if one.isVisible()]

    def texts(self, inside: QWidget | None = None) -> str:
        """Every word in sight, the contents of the log and of tables aside."""
        top = inside or self.window
        return "\n".join(dict.fromkeys(words for words in _words(top) if words.strip()))


def _hit(widget: QWidget, place: QPoint | None) -> bool:
    """Whether a click there would meet the widget, and nothing that lies over it."""
    window = widget.window()
    hit = window.childAt(widget.mapTo(window, place or widget.rect().center())) or window
    return hit is widget or widget.isAncestorOf(hit)


def plain(words: str) -> str:
    """Without the mark of the access key."""
    if words.endswith(")") and "(&" in words:  # the Chinese way
        return words.rpartition("(&")[0]
    return words.replace("&&", "\0").replace("&", "").replace("\0", "&")


def _is_wholly_in(widget: QWidget, viewport: QWidget) -> bool:
    shown = viewport.parentWidget()
    assert shown is not None
    top = widget.mapTo(shown, QPoint()).y() - viewport.y()
    return top >= 0 and top + min(widget.height(), viewport.height()) <= viewport.height()


def _words(top: QWidget) -> Iterator[str]:
    yield top.windowTitle()
    for widget in top.findChildren(QWidget):
        if not widget.isVisibleTo(top) or not widget.visibleRegion().boundingRect().isValid():
            continue
        match widget:
            case QLabel():
                yield widget.text()
            case QPushButton() | QAbstractButton():
                yield plain(widget.text())
            case QLineEdit():
                yield widget.displayText() or widget.placeholderText()
            case QComboBox():
                yield widget.currentText()
            case QListWidget():
                yield from (widget.item(row).text() for row in range(widget.count()))
            case QTabBar():
                yield from (widget.tabText(number) for number in range(widget.count()))
            case QDockWidget():
                yield widget.windowTitle()
            case QMenuBar():
                yield from (plain(action.text()) for action in widget.actions())
            case QHeaderView():
                model = widget.model()
                if model is not None and widget.orientation() == Qt.Orientation.Horizontal:
                    for number in range(widget.count()):
                        if not widget.isSectionHidden(number):
                            yield str(model.headerData(number, widget.orientation()) or "")
            case QPlainTextEdit():
                if not widget.toPlainText():
                    yield widget.placeholderText()
