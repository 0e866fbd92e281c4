"""A picture that fits its place, and the pictures of a folder side by side."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QBuffer,
    QByteArray,
    QIODevice,
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QImage, QImageReader, QPainter, QPaintEvent, QPixmap, QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QPlainTextEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.tables import FocusedView, Index
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.previews.picture_grid import PictureGrid

_SIDE = 12 * SPACE
_CELL = QSize(_SIDE + 2 * SPACE, _SIDE + 5 * SPACE)


class PictureView(QWidget):
    """As large as there is room, never larger than it is."""

    def __init__(self) -> None:
        super().__init__()
        self._image = QImage()
        self._fitting = QPixmap()
        self.setMinimumSize(SPACE, SPACE)

    def show_image(self, image: QImage, name: str) -> None:
        self._image, self._fitting = image, QPixmap()
        self.setAccessibleName(say("Picture {name}", name=name))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image.isNull():
            return
        ratio = self.devicePixelRatioF()
        room = self.contentsRect().adjusted(SPACE, SPACE, -SPACE, -SPACE).size() * ratio
        size = self._image.size()
        if size.width() > room.width() or size.height() > room.height():
            size = size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        if size != self._fitting.size():
            scaled = self._image.scaled(
                size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
            self._fitting = QPixmap.fromImage(scaled)
            self._fitting.setDevicePixelRatio(ratio)
        shown = (self._fitting.deviceIndependentSize()).toSize()
        place = QRect(0, 0, shown.width(), shown.height())
        place.moveCenter(self.rect().center())
        QPainter(self).drawPixmap(place.topLeft(), self._fitting)


class GridModel(QAbstractListModel):
    """The pictures of a folder; each is asked for when it comes into sight."""

    def __init__(self, grid: PictureGrid) -> None:
        super().__init__()
        self._grid = grid
        self._count = len(grid.rows)
        grid.cleared.connect(self._on_cleared)
        grid.listed.connect(self._on_listed)
        grid.drawn.connect(self._on_drawn)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self._count

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and self._count > 0 and self._grid.state.has_more

    def fetchMore(self, parent: Index) -> None:
        self._grid.more()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._grid.path(index.row()).name
        if role == Qt.ItemDataRole.DecorationRole:
            return self._grid.picture(index.row())
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(index.row())
        return None

    def failed(self, index: Index) -> bool:
        return self._grid.trouble(index.row()) is not None

    def _tip(self, number: int) -> str:
        path, size = self._grid.path(number), size_words(self._grid.rows[number].size_bytes)
        trouble = self._grid.trouble(number)
        return f"{path.name}\n{size}" + (f"\n{trouble.sentence()}" if trouble else "")

    def _on_cleared(self) -> None:
        self.beginResetModel()
        self._count = 0
        self.endResetModel()

    def _on_listed(self, first: int, last: int) -> None:
        self.beginInsertRows(QModelIndex(), first, last)
        self._count = last + 1
        self.endInsertRows()

    def _on_drawn(self, number: int) -> None:
        if number < self._count:
            self.dataChanged.emit(self.index(number), self.index(number), [Qt.ItemDataRole.DecorationRole])


class _CellDelegate(QStyledItemDelegate):
    """A picture in the middle of its cell, its name below; a sign while it is drawn, and where it cannot be."""

    def __init__(self, theme: Theme, parent: QListView) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return _CELL

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors, cell = self._theme, QRect(option.rect)
        state = option.state
        is_chosen = bool(state & QStyle.StateFlag.State_Selected)
        if is_chosen or state & QStyle.StateFlag.State_MouseOver:
            has_keys = bool(state & QStyle.StateFlag.State_Active)
            ground = ("selection" if has_keys else "selection_idle") if is_chosen else "hover"
            painter.fillRect(cell.adjusted(2, 2, -2, -2), colors.color(ground))
        room = QRect(cell.x() + SPACE, cell.y() + SPACE, _SIDE, _SIDE)
        picture = index.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(picture, QImage):
            size = picture.size()
            if max(size.width(), size.height()) > _SIDE:
                size = size.scaled(room.size(), Qt.AspectRatioMode.KeepAspectRatio)
            place = QRect(QPoint(), size)
            place.moveCenter(room.center())
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(place, picture)
        else:
            model = index.model()
            failed = isinstance(model, GridModel) and model.failed(index)
            icon = colors.icon("warning", "warn") if failed else colors.icon("file", "disabled")
            mark = QRect(0, 0, 24, 24)
            mark.moveCenter(room.center())
            icon.paint(painter, mark)
        painter.setPen(colors.color("on_selection" if is_chosen else "text"))
        name = QRect(cell.x() + HALF, room.bottom() + HALF, cell.width() - 2 * HALF, 3 * SPACE)
        words = painter.fontMetrics().elidedText(str(index.data()), Qt.TextElideMode.ElideMiddle, name.width())
        painter.drawText(name, Qt.AlignmentFlag.AlignCenter, words)


class GridView(FocusedView, QListView):
    """However many pictures there are, only those in sight are read."""

    def __init__(self, grid: PictureGrid, theme: Theme) -> None:
        super().__init__()
        self.grid_model = GridModel(grid)
        self.setModel(self.grid_model)
        self.setItemDelegate(_CellDelegate(theme, self))
        self.setAccessibleName(say("Pictures of the folder"))
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setGridSize(_CELL)
        self.setLayoutMode(QListView.LayoutMode.Batched)
        # As a whole up to here: while the batches of a larger folder come in, the end of the list is not its end yet.
        self.setBatchSize(10_000)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        set_role(self, "grid")


def drawn_picture(content: bytes, longest: int) -> QImage | None:
    """None: it cannot be drawn."""
    buffer = QBuffer()
    buffer.setData(QByteArray(content))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if max(size.width(), size.height()) > longest:
        reader.setScaledSize(size.scaled(QSize(longest, longest), Qt.AspectRatioMode.KeepAspectRatio))
    image = reader.read()
    if image.isNull():
        return None
    if max(image.width(), image.height()) > longest:  # where the size was not known before
        image = image.scaled(
            longest, longest, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
    # What the screen takes without another conversion.
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)


class TextPane(QPlainTextEdit):
    """Letters of one width; a page more never moves what is being read."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(theme.mono_font())
        self.setAccessibleName(say("Content"))
        self.setTabChangesFocus(True)
        set_role(self, "log")

    def show_page(self, words: str, *, is_first: bool) -> None:
        if is_first:
            self.setPlainText(words)
            return
        place = self.verticalScrollBar().value()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(words)
        self.verticalScrollBar().setValue(place)
