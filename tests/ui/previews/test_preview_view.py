"""The Preview panel beside a real tab of a bucket."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, offline
from support.list_host import ListHost
from support.panel_bench import User, light_theme
from support.preview_files import Shape, mindspore, npy, tarred, torch_zip, zipped
from support.qt_support import Stalls
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.kit.theme import Theme
from traindeck.ui.previews.following import PreviewFollower
from traindeck.ui.previews.pictures import drawn_picture
from traindeck.ui.previews.preview_place import PreviewPlace
from traindeck.ui.previews.preview_view import PreviewView
from traindeck.ui.storage.active_list import ROWS
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_table import NAME
from traindeck.viewmodels.previews.preview import Preview
from traindeck.viewmodels.shell.window_state import WindowState
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

BUCKET = ObjectPath("bucket")
PICTURE = b"a picture, drawn once there is an application"


def picture(width: int, height: int, color: str = "red", form: str = "PNG") -> bytes:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(color))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, form)  # type: ignore[call-overload]  # as Qt has it
    return bytes(buffer.data().data())


FILES = {
    "a.txt": "第一行\nsecond\n".encode(),
    "b.csv": b"name,size\n" + b"".join(b"file %d,%d\n" % (n, n) for n in range(60_000)),
    "c.npy": npy("<f4", (2, 2), struct.pack("<4f", 1, 2, 3, 4)),
    "d.pt": torch_zip({"epoch": 3, "model": {f"layer{n}.weight": Shape(n + 1, 4) for n in range(12)}}),
    "e.ckpt": mindspore([("w", "Float32", [4], 16)]),
    "f.tar": tarred({f"data/{n:03}.bin": bytes(10 * n) for n in range(20)}),
    "g.zip": zipped({"x/y.txt": b"hello"}),
    "h.png": PICTURE,
    "i.npy": b"\x93NUMPY\1\0\xff\x7f",
    "j.bin": bytes(range(256)),
    "k.txt": b"",
    "long.log": b"a line of some length in a log\n" * 40_000,
}


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


class Bench:
    def __init__(self, cloud: FolderCloud, calls: BlockingCalls, theme: Theme, qtbot: QtBot) -> None:
        self.cloud, self.qtbot = cloud, qtbot
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        tree.use_profile("lab")
        favourites = Favourites(SettingsFile(cloud.paths.settings), cloud.disk, cloud.scope, Settings())
        self.browser = ObjectBrowser(
            "lab", BUCKET, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, "browser"
        )
        self.browser.start()
        self.tab = BrowserView(self.browser, tree, favourites, theme, User())
        self.preview = Preview(cloud.planes, calls, cloud.scope, drawn_picture)
        self.state = WindowState(cloud.paths.home / "window.json")
        self.place = PreviewPlace(self.state)
        self.follower = PreviewFollower(self.preview, self.tab, self.place, theme)
        self.window, place = ListHost(theme), self.place
        toggle = self.window.active.tab_command(
            "object.preview", "Preview", lambda _: place.toggle(), 0, shortcut="Space", scope=ROWS
        )
        self.window.take(self.tab, [toggle])
        self.window.resize(1000, 600)

    @property
    def panel(self) -> PreviewView:
        assert self.follower.panel is not None
        return self.follower.panel

    def rows(self) -> list[str]:
        model = self.tab.model
        return [str(model.index(row, NAME).data()) for row in range(model.rowCount())]

    async def choose(self, name: str) -> None:
        """As a click does."""
        self.tab.table.select(self.rows().index(name))
        await until(lambda: self.preview.state.place is not None and self.preview.state.place.name == name)
        await until(lambda: not self.preview.state.is_reading)


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot, files: dict[str, bytes] = FILES) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        for name, content in files.items():
            await cloud.storage.put(picture(300, 200) if content is PICTURE else content, BUCKET.join(name))
        calls = BlockingCalls(2, "previews")
        on = Bench(cloud, calls, theme, qtbot)
        qtbot.addWidget(on.window)
        on.window.show()
        on.place.toggle()
        on.window.activateWindow()
        try:
            await until(lambda: len(on.rows()) == len({name.partition("/")[0] for name in files}))
            await until(on.window.isActiveWindow)
            on.tab.table.setFocus()
            yield on
        finally:
            on.browser.close()
            on.preview.choose("", None)
            calls.close()


def cells(model: object) -> list[list[str]]:
    from PySide6.QtCore import QAbstractItemModel

    assert isinstance(model, QAbstractItemModel)
    return [
        [str(model.index(row, column).data()) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


async def test_each_kind_has_its_view(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        panel = on.panel
        await on.choose("a.txt")
        assert panel.text.isVisible()
        assert panel.text.toPlainText() == "第一行\nsecond\n"
        assert panel.about.text().startswith("Text, UTF-8 · 17 B")
        assert panel.edit.isVisible()
        await on.choose("b.csv")
        assert panel.cells.isVisible()
        assert cells(panel.cells.cells)[0] == ["file 0", "0"]
        assert panel.cells.cells.headerData(0, Qt.Orientation.Horizontal) == "name"
        assert panel.more.isVisible()
        await on.choose("c.npy")
        assert "1, 2, 3, 4" in panel.tensors.sample.toPlainText()
        assert not panel.tensors.table.isVisible()
        assert not panel.edit.isVisible()
        await on.choose("d.pt")
        assert cells(panel.tensors.model)[0] == ["model.layer0.weight", "1 × 4", "float32", "16 B"]
        assert panel.count.text() == "12 tensors"
        await on.choose("e.ckpt")
        assert cells(panel.tensors.model) == [["w", "4", "Float32", "16 B"]]
        await on.choose("f.tar")
        assert cells(panel.members.model)[2][:2] == ["data/002.bin", "20 B"]
        await on.choose("g.zip")
        assert cells(panel.members.model)[0][:2] == ["x/y.txt", "5 B"]
        await on.choose("h.png")
        assert panel.picture.isVisible()
        assert panel.picture.grab().toImage().pixelColor(panel.picture.rect().center()).red() > 200
        assert "PNG · 300 × 200" in panel.about.text()
        await on.choose("i.npy")
        assert panel.message.isVisible()
        assert "incomplete" in panel.message.title.text()
        await on.choose("k.txt")
        assert panel.message.title.text() == "The object is empty."
        assert not panel.notes.isVisible()
        await on.choose("j.bin")
        assert panel.text.toPlainText().startswith("00000000  00 01 02")
        assert "no preview" in panel.notes.text()


async def test_lists_are_sorted_narrowed_and_copied(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        pane = on.panel.tensors
        QAbstractItemModelTester(pane.model, QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
        await on.choose("d.pt")
        pane.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
        assert cells(pane.model)[0][0] == "model.layer11.weight"
        qtbot.keyClicks(pane.search, "LAYER1")
        assert [row[0] for row in cells(pane.model)] == [f"model.layer{n}.weight" for n in (11, 10, 1)]
        await on.choose("f.tar")
        await on.choose("d.pt")
        assert cells(pane.model)[0][0] == "model.layer0.weight", "another file begins in its own order"
        assert pane.search.text() == ""
        await on.choose("b.csv")
        table = on.panel.cells
        table.selectRow(1)
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: QGuiApplication.clipboard().text() == "file 1\t1")


async def test_more_comes_while_scrolling_and_never_blocks(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        responsive.clear()  # making the window took its time
        await on.choose("b.csv")
        first = on.panel.cells.cells.rowCount()
        assert first < 60_000
        bar = on.panel.cells.verticalScrollBar()
        while on.preview.state.has_more:
            count = on.panel.cells.cells.rowCount()

            def has_more_rows(count: int = count) -> bool:
                bar.setValue(bar.maximum())  # the bar grows a little later than the rows
                return on.panel.cells.cells.rowCount() > count

            await until(has_more_rows)
        assert on.panel.cells.cells.rowCount() == 60_000
        assert on.panel.count.text() == "60,000 rows"
        await on.choose("long.log")
        text = on.panel.text
        while on.preview.state.has_more:
            before = len(text.toPlainText())
            qtbot.mouseClick(on.panel.more, Qt.MouseButton.LeftButton)
            await until(lambda before=before: len(text.toPlainText()) > before)
        assert text.toPlainText() == "a line of some length in a log\n" * 40_000


async def test_who_asks_for_more_the_moment_a_page_came_gets_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.choose("b.csv")
        on.preview.grew.connect(on.preview.more)
        on.preview.more()
        await until(lambda: on.panel.cells.cells.rowCount() == 60_000)


async def test_nothing_is_read_while_nobody_looks(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.tab.table.setFocus()
        await until(on.tab.table.hasFocus)
        qtbot.keyClick(on.tab.table, Qt.Key.Key_Space)
        assert not on.place.is_open and not on.panel.isVisible()
        on.tab.table.select(on.rows().index("a.txt"))
        await until(lambda: on.preview.state.place == BUCKET.join("a.txt"))
        assert on.preview.state.pages == ()
        assert not on.preview.state.is_reading
        on.place.toggle()
        assert on.tab.table.hasFocus(), "to go on from row to row"
        await until(lambda: on.panel.text.toPlainText().startswith("第一行"))


async def test_the_preview_stands_where_it_stood(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    """Beside the rows or below them, as large as it was drawn: in another tab, and at the next start."""
    async with bench(tmp_path, theme, qtbot) as on:
        parts = on.tab.parts
        qtbot.mouseClick(on.panel.turn, Qt.MouseButton.LeftButton)
        assert parts.orientation() == Qt.Orientation.Vertical
        await until(lambda: sum(parts.sizes()) == parts.height() - parts.handleWidth())
        parts.handle(1).moveSplitter(round(parts.height() * 0.7))
        share = on.place.share
        assert share == pytest.approx(0.3, abs=0.03)
        later = PreviewPlace(on.state)
        assert (later.is_open, later.is_below, later.share) == (True, True, share)
        qtbot.mouseClick(on.panel.shut, Qt.MouseButton.LeftButton)
        assert not on.panel.isVisible() and not PreviewPlace(on.state).is_open
        for damaged in ("[]", '{"open": 1, "below": "x", "share": "half"}', '{"share": 7.0}'):
            on.state.put("preview", json.loads(damaged))
            assert not PreviewPlace(on.state).is_open and 0.1 < PreviewPlace(on.state).share < 0.9


async def test_trouble_is_said_and_looking_again_helps(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.cloud.storage.trouble = offline()
        await on.choose("a.txt")
        assert "cannot be reached" in on.panel.message.title.text()
        on.cloud.storage.trouble = None
        qtbot.mouseClick(on.panel.refresh, Qt.MouseButton.LeftButton)
        await until(lambda: on.panel.text.isVisible())
        await on.choose("b.csv")
        shown = on.panel.cells.cells.rowCount()
        await on.cloud.storage.put(b"other,content\n" * 60_000, BUCKET.join("b.csv"))
        qtbot.mouseClick(on.panel.more, Qt.MouseButton.LeftButton)
        await until(lambda: "changed" in on.panel.notes.text())
        assert on.panel.cells.cells.rowCount() == shown


async def test_only_the_last_choice_is_read(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        for name in on.rows():
            on.tab.table.select(on.rows().index(name))
        on.tab.table.select(on.rows().index("a.txt"))
        await until(lambda: on.panel.text.toPlainText().startswith("第一行"))
        assert len(on.preview.state.pages) == 1


async def test_pictures_of_a_folder_are_drawn_where_one_looks(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    colors = ("red", "green", "blue")
    drawn = {color: picture(60, 40, color, "JPG") for color in colors}
    files = {f"images/{n:04}.jpg": drawn[colors[n % 3]] for n in range(1500)}
    files["images/0001.jpg"] = b"\xff\xd8\xff broken"
    files["images/notes.txt"] = b"no picture"
    async with bench(tmp_path, theme, qtbot, files) as on:
        responsive.clear()  # making the window took its time
        await on.choose("images")
        grid, model = on.panel.grid, on.panel.grid.grid_model
        await until(lambda: model.rowCount() >= 900)
        assert grid.isVisible()
        first = model.index(0)
        await until(lambda: isinstance(first.data(Qt.ItemDataRole.DecorationRole), QImage))
        await until(lambda: model.failed(model.index(1)))
        assert "0001.jpg" in str(model.index(1).data(Qt.ItemDataRole.ToolTipRole))
        assert len(on.preview.pictures._drawn) < 60, "what is out of sight is not read"
        while on.preview.pictures.state.has_more:
            count = model.rowCount()
            grid.scrollToBottom()
            await until(lambda count=count: model.rowCount() > count or not on.preview.pictures.state.has_more)
        assert model.rowCount() == 1500

        def at_the_end() -> bool:
            bar = grid.verticalScrollBar()
            is_last = bar.value() == bar.maximum()
            grid.scrollToBottom()  # which moves while the rows are being laid out
            return 1499 in on.preview.pictures._drawn and is_last

        await until(at_the_end)
        assert len(on.preview.pictures._drawn) < 200
        grid.activated.emit(model.index(0))
        await until(lambda: on.panel.picture.isVisible())
        assert on.preview.state.place == BUCKET.join("images/0000.jpg")
        place = grid.verticalScrollBar().value()
        qtbot.mouseClick(on.panel.back, Qt.MouseButton.LeftButton)
        await until(lambda: grid.isVisible())
        assert (model.rowCount(), grid.verticalScrollBar().value()) == (1500, place)
        height = grid.height()
        on.panel.more.show()
        on.panel.layout().activate()
        assert grid.height() == height


async def test_a_folder_without_pictures_says_so(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, {"data/a.txt": b"x", "b.txt": b"y"}) as on:
        await on.choose("data")
        await until(lambda: "no pictures" in on.panel.message.title.text())
        on.tab.table.clearSelection()
        await until(lambda: on.preview.state.place == BUCKET)
        on.preview.choose("lab", None)
        assert on.panel.message.title.text() == "Nothing is selected."
