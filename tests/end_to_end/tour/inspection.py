"""Finds by measuring what a picture would show: cut words, widgets over each other, widgets without a name."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QDialog,
    QDockWidget,
    QHeaderView,
    QLabel,
    QLayout,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QSizeGrip,
    QSplitterHandle,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionHeader,
    QStyleOptionTab,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

_SLACK = 1
"""Rounding at a scale of 150 or 200 %."""


def faults(top: QWidget) -> list[str]:
    """All that is wrong with what is in sight, each in a line."""
    return [*cut(top), *overlapping(top), *without_name(top), *beyond_screen(top)]


def in_sight(top: QWidget) -> Iterator[QWidget]:
    """What is seen of it, though only in part; what was scrolled away is not."""
    for widget in (top, *top.findChildren(QWidget)):
        if widget.window() is top.window() and widget.isVisible() and _is_within(widget, top):
            yield widget


def _is_within(widget: QWidget, top: QWidget) -> bool:
    """Qt's own region of what is seen leaves out what lies below its children, as a list does below its rows."""
    seen, at = widget.rect(), widget
    while at is not top and not seen.isEmpty():
        seen, at = seen.translated(at.pos()), at.parentWidget()
        seen = seen.intersected(at.rect())
    return not seen.isEmpty()


def cut(top: QWidget) -> list[str]:
    """Words with less room than they take. What elides by itself tells all in its tool tip."""
    found = []
    for widget in in_sight(top):
        for words, needed, given in _wants(widget):
            if needed > given + _SLACK and not _is_told(widget, words):
                found.append(f"cut: “{words}” takes {needed} of {given} in {_where(widget)}")
    return found


def overlapping(top: QWidget) -> list[str]:
    """Neighbours of one layout that lie over each other, and what reaches out of its parent."""
    found = []
    for widget in in_sight(top):
        if isinstance(widget, QMainWindow):
            continue  # docks behind others stand far outside
        children = [one for one in _laid_out(widget) if one.isVisible()]
        for at, one in enumerate(children):
            if not widget.rect().adjusted(-_SLACK, -_SLACK, _SLACK, _SLACK).contains(one.geometry()):
                found.append(f"outside: {_where(one)} at {_box(one.geometry())} of {_box(widget.rect())}")
            for other in children[at + 1 :]:
                common = one.geometry().intersected(other.geometry())
                if common.width() > _SLACK and common.height() > _SLACK:
                    found.append(f"overlap: {_where(one)} and {_where(other)} in {_box(common)}")
    return found


def beyond_screen(top: QWidget) -> list[str]:
    """A window of which no window manager could show all; one that fills the screen is as it was made."""
    if top.isMaximized():
        return []
    room, size = top.screen().availableGeometry(), top.frameGeometry()
    if size.width() <= room.width() + _SLACK and size.height() <= room.height() + _SLACK:
        return []
    return [f"too large: {_where(top)} is {_box(size)} on {_box(room)}"]


def folded_menu(menu: QMenu) -> list[str]:
    """One that is higher than the screen, so that Qt parts it into columns."""
    lefts = {menu.actionGeometry(action).left() for action in menu.actions() if not action.isSeparator()}
    return [f"too high: {_where(menu)} with {len(menu.actions())} entries"] if len(lefts) > 1 else []


def without_name(top: QWidget) -> list[str]:
    """What a screen reader could not call anything: neither words nor an accessible name, nor a label beside it."""
    return [f"no name: {_where(widget)}" for widget in in_sight(top) if _needs_name(widget) and not _name(widget)]


def _wants(widget: QWidget) -> Iterator[tuple[str, int, int]]:
    """Words, the pixels they take and the pixels there are for them."""
    match widget:
        case QLabel() if widget.text():
            yield _label(widget)
        case QTabBar():
            for at in range(widget.count()):
                yield _tab(widget, at)
        case QCheckBox() | QRadioButton() | QPushButton():
            if widget.text():
                yield widget.text(), widget.minimumSizeHint().width(), widget.width()
        case QToolButton() if widget.text() and widget.toolButtonStyle() != Qt.ToolButtonStyle.ToolButtonIconOnly:
            has_icon_alone = widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonFollowStyle
            if not has_icon_alone:
                yield widget.text(), widget.sizeHint().width(), widget.width()
        case QComboBox() if widget.currentText() and widget.objectName() not in _OF_QT:
            option = QStyleOptionComboBox()
            widget.initStyleOption(option)
            field = widget.style().subControlRect(
                QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, widget
            )
            yield widget.currentText(), widget.fontMetrics().horizontalAdvance(widget.currentText()), field.width()
        case QLineEdit() if not isinstance(widget.parentWidget(), QComboBox) and not widget.text():
            words = widget.placeholderText()
            yield words, widget.fontMetrics().horizontalAdvance(words), widget.contentsRect().width() - 2 * _SLACK
        case QHeaderView() if widget.orientation() == Qt.Orientation.Horizontal and widget.model() is not None:
            for at in range(widget.count()):
                if not widget.isSectionHidden(at) and widget.sectionSize(at):
                    words = str(widget.model().headerData(at, widget.orientation()) or "")
                    yield words, _header(widget, at, words), widget.sectionSize(at)


def _label(label: QLabel) -> tuple[str, int, int]:
    if label.wordWrap():
        return label.text(), label.heightForWidth(label.width()), label.height()
    if "</" in label.text():
        document = QTextDocument()
        document.setDefaultFont(label.font())
        document.setDocumentMargin(0)
        document.setHtml(label.text())
        return document.toPlainText(), int(document.idealWidth()), label.contentsRect().width()
    words = label.text().replace("&", "") if label.buddy() is not None else label.text()
    widest = max(label.fontMetrics().horizontalAdvance(line) for line in words.splitlines() or [""])
    return words, widest, label.contentsRect().width()


def _header(header: QHeaderView, at: int, words: str) -> int:
    """With what the style leaves around the words, the arrow of the order aside."""
    option = QStyleOptionHeader()
    header.initStyleOption(option)
    option.section, option.text = at, words
    kind = QStyle.ContentsType.CT_HeaderSection
    return header.style().sizeFromContents(kind, option, QSize(), header).width() if words else 0


def _tab(bar: QTabBar, at: int) -> tuple[str, int, int]:
    option = QStyleOptionTab()
    bar.initStyleOption(option, at)
    room = bar.style().subElementRect(QStyle.SubElement.SE_TabBarTabText, option, bar)
    words = bar.tabText(at)
    # A strip may cut long titles, though not below what tells them apart.
    needed = bar.fontMetrics().horizontalAdvance(words[:12].replace("&", ""))
    return words, needed, room.width()


def _is_told(widget: QWidget, words: str) -> bool:
    """All of it in the tool tip, and the widget shows that something is missing."""
    tip = widget.toolTip()
    if isinstance(widget, QTabBar):
        return False
    return bool(tip) and (words.rstrip("…") in tip or tip in words or "…" in words)


def _needs_name(widget: QWidget) -> bool:
    kinds = (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView, QPlainTextEdit, QTextEdit, QTabBar)
    is_part = isinstance(widget.parentWidget(), QComboBox | QHeaderView | QLineEdit) or isinstance(widget, QHeaderView)
    return isinstance(widget, kinds) and not is_part and widget.objectName() not in _OF_QT


_OF_QT = (
    "qt_toolbar_ext_button",
    "ScrollLeftButton",
    "ScrollRightButton",
    "qt_spinbox_lineedit",
    "qt_menubar_ext_button",
    "qt_tableview_cornerbutton",
    "lookInCombo",  # where Qt's own dialog for files is: it elides the path of a folder, however long that is
)


def _name(widget: QWidget) -> str:
    if name := widget.accessibleName():
        return name
    if isinstance(widget, QAbstractButton) and widget.text():
        return widget.text()
    if isinstance(widget, QAbstractButton) and isinstance(widget.parentWidget(), QDockWidget | QTabBar):
        return widget.toolTip() or type(widget).__name__
    if isinstance(widget, QToolButton) and widget.defaultAction() is not None:
        return widget.defaultAction().text()
    buddies = (label.text() for label in widget.window().findChildren(QLabel) if label.buddy() is widget)
    return next(buddies, "")


def _laid_out(widget: QWidget) -> list[QWidget]:
    """Its children that a layout of it has placed. The items of a layout are not asked for: Qt deletes them without
    a word to Python, and what stands at their address next would be taken for one of them."""
    layout = widget.layout()
    if layout is None:
        return []
    layouts = [layout, *layout.findChildren(QLayout)]
    children = widget.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return [
        child
        for child in children
        if not isinstance(child, QScrollBar | QSplitterHandle | QSizeGrip)
        and any(one.indexOf(child) >= 0 for one in layouts)
    ]


def _where(widget: QWidget) -> str:
    """Enough to find it in the code."""
    steps: list[str] = []
    at: QWidget | None = widget
    while at is not None and len(steps) < 5:
        name = at.objectName() or (at.text()[:20] if isinstance(at, QLabel | QAbstractButton) else "")
        steps.append(f"{type(at).__name__}({name})" if name else type(at).__name__)
        if isinstance(at, QMainWindow | QDialog):
            break
        at = at.parentWidget()
    return " < ".join(steps)


def _box(rect: QRect) -> str:
    return f"{rect.width()}×{rect.height()}+{rect.x()}+{rect.y()}"
