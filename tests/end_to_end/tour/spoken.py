"""What a screen reader is told of a window: names, roles and values, by walking the tree Qt gives to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAbstractItemView, QAbstractScrollArea, QComboBox, QFileDialog, QLabel, QTabBar, QWidget

_Role, _Text = QAccessible.Role, QAccessible.Text
# Nothing is done with these by themselves: their children are used.
_BOXES = (
    _Role.Client, _Role.Grouping, _Role.LayeredPane, _Role.Pane, _Role.ScrollBar, _Role.Separator, _Role.Splitter,
    _Role.StaticText, _Role.StatusBar, _Role.ToolBar, _Role.MenuBar, _Role.Window, _Role.Dialog, _Role.Border,
    _Role.Graphic, _Role.Grip, _Role.TitleBar, _Role.ToolTip, _Role.WebDocument,
)  # fmt: skip
_CELLS = (_Role.Cell, _Role.ListItem, _Role.TreeItem)
_HEADERS = (_Role.ColumnHeader, _Role.RowHeader)
_WITH_VALUE = (_Role.SpinBox, _Role.ProgressBar, _Role.Slider)
_NO_NAME = re.compile(r"\.(svg|png|py)\b|^Q[A-Z][A-Za-z]+$|^qt_|^[a-z]+([._][a-z]+)+$")
_MOST_CELLS = 120


def unspoken(top: QWidget) -> list[str]:
    """All that has no words, or the wrong ones, each in a line."""
    root = QAccessible.queryAccessibleInterface(top)
    # Qt's own dialog for files is as Qt made it.
    return [] if root is None or isinstance(top, QFileDialog) else [*_faults(root, ())]


def _faults(parent: QAccessibleInterface, path: tuple[str, ...]) -> Iterator[str]:
    """Nothing of the tree is kept: Qt deletes its parts without a word to Python."""
    is_list = parent.role() in (_Role.Table, _Role.List, _Role.Tree)
    count = parent.childCount()
    for number in range(min(count, _MOST_CELLS) if is_list else count):
        child = parent.child(number)
        if child is None or child.state().invisible or _is_left_over(child.object()):
            continue
        role, name = child.role(), child.text(_Text.Name).strip()
        here = (*path, f"{role.name}({name[:20] or _kind(child)})")
        if fault := _fault(child, name):
            yield f"{fault}: {' > '.join(here[-4:])}"
        yield from _faults(child, here)


def _fault(one: QAccessibleInterface, name: str) -> str:
    role, widget = one.role(), one.object()
    if role in _CELLS or role in _HEADERS:
        return "" if name or not _shows_something(one) else "not said"
    if isinstance(widget, QWidget) and not widget.isVisible():
        return ""
    if role in _BOXES:
        return "no fitting role" if isinstance(widget, QWidget) and _takes_keys(widget) else ""
    if not name or (isinstance(widget, QComboBox) and name == widget.currentText() and not _is_named(widget)):
        return "no name" if one.state().focusable or role in _WITH_VALUE else ""
    if _NO_NAME.search(name) and not _is_of_the_user(one):
        return "no words for a name"
    if role in _WITH_VALUE and one.valueInterface() is None:
        return "no value"
    return ""


def _is_left_over(widget: object) -> bool:
    """A bar of tabs that Qt keeps for the next docks behind each other."""
    return isinstance(widget, QTabBar) and widget.count() == 0


def _kind(one: QAccessibleInterface) -> str:
    """Enough to find it."""
    widget = one.object()
    if not isinstance(widget, QWidget):
        return type(widget).__name__
    return f"{type(widget).__name__} in {type(widget.parent()).__name__}, {widget.width()}×{widget.height()}"


def _takes_keys(widget: QWidget) -> bool:
    """Itself, to be used by them; not to be scrolled or copied from."""
    if isinstance(widget, QAbstractScrollArea | QLabel) and not isinstance(widget, QAbstractItemView):
        return False
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None


def _shows_something(cell: QAccessibleInterface) -> bool:
    """A cell without words may be empty; one with a picture may not."""
    table = cell.parent()
    view = table.object() if table is not None else None
    if not isinstance(view, QAbstractItemView) or cell.role() in _HEADERS:
        return False
    index = view.indexAt(view.viewport().mapFromGlobal(cell.rect().center()))
    return index.isValid() and index.data(Qt.ItemDataRole.DecorationRole) is not None


def _is_named(widget: QWidget) -> bool:
    buddies = (label for label in widget.window().findChildren(QLabel) if label.buddy() is widget)
    return bool(widget.accessibleName()) or any(buddies)


def _is_of_the_user(one: QAccessibleInterface) -> bool:
    """Named after what somebody named: files, jobs, buckets; Qt calls a box for a choice after what is chosen."""
    named = (_Role.PageTab, _Role.MenuItem, _Role.RadioButton, _Role.CheckBox)
    return isinstance(one.object(), QComboBox) or one.role() in named
