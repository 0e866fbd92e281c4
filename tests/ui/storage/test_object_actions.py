"""Cut, copy, paste, rename, drag and delete with real windows over a folder that stands for a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QMimeData, QModelIndex, QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from support.folder_cloud import FolderCloud
from support.list_host import ListHost
from support.panel_bench import TableBench, User, let_go, light_theme
from support.waiting import PATIENT_S, until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.kit.dialogs import NameDialog, Question
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.bucket_view import BucketView
from traindeck.ui.storage.object_actions import ObjectActions
from traindeck.ui.storage.object_drag import carried_in, mime_of
from traindeck.ui.storage.object_table import NAME
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.deleting import News
from traindeck.viewmodels.storage.moving import OBJECTS, Carried, CutObjects, Moving
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites
from traindeck.viewmodels.transfers import dragged_files
from traindeck.viewmodels.transfers.dragged_files import DraggedFiles

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

BUCKET = ObjectPath("bucket")
NAMES = ("b.txt", "a.bin", "data/1.txt", "data/2.txt", "data/deep/3.txt", "more/1.txt")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


@pytest.fixture(autouse=True)
def empty_clipboard(qapp: QApplication) -> Iterator[None]:
    QGuiApplication.clipboard().clear()
    yield
    QGuiApplication.clipboard().clear()


class Bench(TableBench):
    def __init__(self, cloud: FolderCloud, theme: Theme, user: User, qtbot: QtBot) -> None:
        self.cloud, self.user, self.qtbot = cloud, user, qtbot
        self.tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        self.tree.use_profile("lab")
        self.cut = CutObjects()
        self.moving = Moving(cloud.transfers, cloud.scope)
        self.moving.touched.connect(self.tree.was_touched)
        self.moving.arrived.connect(self.tree.arrived)
        self.told: list[News] = []
        self.moving.news.connect(self.told.append)
        self.browser = ObjectBrowser(
            "lab", BUCKET, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, "browser"
        )
        self.browser.start()
        favourites = Favourites(SettingsFile(cloud.paths.settings), cloud.disk, cloud.scope, Settings())
        self.view = BrowserView(self.browser, self.tree, favourites, theme, user)
        self.buckets = BucketView(self.tree, theme, user)
        self.dragged = DraggedFiles(cloud.paths.dragged, cloud.planes, cloud.disk, cloud.scope)
        self.deeds = ObjectActions(self.moving, self.cut, self.tree, self.dragged, user, cloud.scope.start, self.view)
        self.deeds.extend(self.view)
        self.deeds.extend(self.buckets)
        self.host = ListHost(theme)
        self.host.take(self.buckets)
        self.host.take(self.view, self.deeds.commands(self.host.active))

    async def press(self, keys: str, widget: QWidget | None = None) -> None:
        widget = widget or self.table
        widget.window().activateWindow()
        await until(widget.window().isActiveWindow)
        widget.setFocus()
        self.qtbot.keySequence(widget, keys)

    def middle_of(self, name: str) -> QPoint:
        return self.table.visualRect(self.view.model.index(self.names().index(name), 0)).center()

    def stored(self) -> dict[str, bytes]:
        root = self.cloud.storage.root / "bucket"
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot, answer: bool = True) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        for name in NAMES:
            await cloud.storage.put(name.encode(), BUCKET.join(name))
        on = Bench(cloud, theme, User(answer), qtbot)
        qtbot.addWidget(on.host)
        on.host.resize(1280, 400)
        on.host.show()
        for model in (on.buckets.model, on.view.model):
            QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, on.view)
        on.view.activateWindow()
        await on.shows("data", "more", "a.bin", "b.txt")
        await until(on.view.isActiveWindow)
        on.table.setFocus()
        yield on
        on.browser.close()


async def dialog(kind: type[QWidget]) -> QWidget:
    """One that has the keyboard: until then a key goes nowhere."""
    found: list[QWidget] = []

    def is_there() -> bool:
        found[:] = [one for one in QApplication.topLevelWidgets() if isinstance(one, kind) and one.isActiveWindow()]
        return bool(found)

    await until(is_there)
    return found[0]


async def answer(words: str) -> str:
    """Press the button of a question that says so; the answer is what it asked."""
    question = await dialog(Question)
    assert isinstance(question, Question)
    button = next(one for one in question.buttons.buttons() if one.text() == words)
    asked = question.windowTitle() + "\n" + "\n".join(label.text() for label in question.findChildren(QLabel))
    button.click()
    await until(lambda: not [one for one in QApplication.topLevelWidgets() if isinstance(one, Question)])
    return asked


async def test_objects_and_folders_are_copied_into_another_folder(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.select("data", "b.txt")
        await on.press("Ctrl+C")
        await until(lambda: QGuiApplication.clipboard().text() == "obs://bucket/data/\nobs://bucket/b.txt")
        carried = carried_in(QGuiApplication.clipboard().mimeData())
        assert carried == Carried("lab", (BUCKET.join("data/"), BUCKET.join("b.txt")))
        on.browser.go(BUCKET.join("more/"))
        await on.shows("1.txt")
        await on.press("Ctrl+V")
        await on.shows("data", "1.txt", "b.txt")
        await until(lambda: on.browser.rows.shown.count == 3)
        await until(lambda: on.browser.rows.shown.below is not None and on.browser.rows.shown.below.count == 5)
        assert on.stored() == {name: name.encode() for name in NAMES} | {
            "more/data/1.txt": b"data/1.txt", "more/data/2.txt": b"data/2.txt", "more/data/deep/3.txt":
            b"data/deep/3.txt", "more/b.txt": b"b.txt",
        }  # fmt: skip
        assert on.user.asked == []


async def test_what_is_cut_is_dimmed_until_it_is_pasted_or_let_be(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:

        def is_dim(name: str) -> bool:
            index = on.view.model.index(on.names().index(name), NAME)
            return index.data(Qt.ItemDataRole.ForegroundRole) is not None

        on.select("a.bin")
        await on.press("Ctrl+X")
        await until(lambda: is_dim("a.bin"))
        assert not is_dim("b.txt")
        await on.press("Escape")
        assert not is_dim("a.bin")
        await on.press("Ctrl+X")
        await until(lambda: is_dim("a.bin"))
        QGuiApplication.clipboard().setText("something else")
        assert not is_dim("a.bin")
        await on.press("Ctrl+X")
        await until(lambda: is_dim("a.bin"))
        on.browser.go(BUCKET.join("more/"))
        await on.shows("1.txt")
        await on.press("Ctrl+V")
        await on.shows("1.txt", "a.bin")
        assert not is_dim("a.bin")
        assert "a.bin" not in on.stored()
        assert carried_in(QGuiApplication.clipboard().mimeData()) is None, "it could be pasted twice"


async def test_a_copy_beside_itself_gets_a_number(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.select("a.bin", "more")
        await on.press("Ctrl+C")
        await until(lambda: "a.bin" in QGuiApplication.clipboard().text())
        await on.press("Ctrl+V")
        await on.shows("data", "more (2)", "more", "a (2).bin", "a.bin", "b.txt")
        await on.press("Ctrl+V")
        await on.shows("data", "more (2)", "more (3)", "more", "a (2).bin", "a (3).bin", "a.bin", "b.txt")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Replace", {"more/1.txt": b"data/1.txt"}),
        ("Keep both", {"more/1.txt": b"more/1.txt", "more/1 (2).txt": b"data/1.txt"}),
        ("Skip them", {"more/1.txt": b"more/1.txt"}),
        ("Cancel", {"more/1.txt": b"more/1.txt"}),
    ],
)
async def test_taken_names_are_asked_about_once(
    tmp_path: Path, theme: Theme, qtbot: QtBot, words: str, expected: dict[str, bytes]
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        carried = Carried("lab", (BUCKET.join("data/1.txt"), BUCKET.join("data/2.txt")), is_cut=True)
        QGuiApplication.clipboard().setMimeData(mime_of(carried))
        on.browser.go(BUCKET.join("more/"))
        await on.shows("1.txt")
        await on.press("Ctrl+V")
        asked = await answer(words)
        assert "“1.txt” already exists in obs://bucket/more/." in asked
        rest = {} if words == "Cancel" else {"more/2.txt": b"data/2.txt"}
        await until(lambda: {name: c for name, c in on.stored().items() if name.startswith("more/")} == expected | rest)
        is_left = words in ("Skip them", "Cancel")
        await until(lambda: ("data/1.txt" in on.stored()) == is_left)


async def test_what_belongs_to_another_account_is_refused_with_a_sentence(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        QGuiApplication.clipboard().setMimeData(mime_of(Carried("work", (BUCKET.join("data/"),))))
        await on.press("Ctrl+V")
        await until(lambda: on.cloud.reported)
        assert "another account: “work”" in str(on.cloud.reported[0][1])
        assert "Download them" in on.cloud.reported[0][1].sentence()


async def test_files_of_the_file_manager_are_pasted_without_a_question(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        (tmp_path / "new.txt").write_bytes(b"new")
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(tmp_path / "new.txt"))])
        QGuiApplication.clipboard().setMimeData(data)
        await on.press("Ctrl+V")
        await until(lambda: "new.txt" in on.stored())
        assert on.user.asked == []


async def test_objects_are_renamed_and_bad_names_are_refused(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.select("a.bin")
        await on.press("F2")
        naming = await dialog(NameDialog)
        assert isinstance(naming, NameDialog)
        assert naming.edit.selectedText() == "a"
        assert not naming.accept_button.isEnabled()
        for bad in ("x/y", " ", "..", "tab\t", "x" * 1025):
            naming.edit.setText(bad)
            assert not naming.accept_button.isEnabled()
            assert naming.trouble.text()
        naming.edit.setText("A.bin")
        naming.accept_button.click()
        await on.shows("data", "more", "A.bin", "b.txt")
        await until(lambda: on.selected() == ["A.bin"])
        assert str(on.told[-1].message) == "Renamed “a.bin” to “A.bin”."

        on.select("data")
        await on.press("F2")
        naming = await dialog(NameDialog)
        assert isinstance(naming, NameDialog)
        naming.edit.setText("more")
        naming.accept_button.click()
        await until(lambda: on.cloud.reported)
        assert "“more” already exists" in str(on.cloud.reported[0][1])
        await on.press("F2")
        naming = await dialog(NameDialog)
        assert isinstance(naming, NameDialog)
        naming.edit.setText("Data")
        naming.accept_button.click()
        await on.shows("Data", "more", "A.bin", "b.txt")
        await until(lambda: on.selected() == ["Data"])
        assert {name for name in on.stored() if name.startswith("Data/")} == {"Data/1.txt", "Data/2.txt",
                                                                              "Data/deep/3.txt"}  # fmt: skip


async def test_a_drag_moves_in_a_bucket_and_ctrl_copies(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        viewport, onto = on.table.viewport(), on.middle_of("more")
        copies, moves = Qt.DropAction.CopyAction, Qt.DropAction.MoveAction
        one = Carried("lab", (BUCKET.join("a.bin"),))
        assert let_go(viewport, mime_of(one), onto, Qt.KeyboardModifier.ControlModifier) == copies
        await until(lambda: "more/a.bin" in on.stored())
        assert "a.bin" in on.stored()
        assert let_go(viewport, mime_of(Carried("lab", (BUCKET.join("b.txt"),))), onto) == moves
        await until(lambda: "b.txt" not in on.stored())
        assert on.stored()["more/b.txt"] == b"b.txt"
        assert on.user.asked == []
        await on.shows("data", "more", "a.bin")
        assert let_go(viewport, mime_of(Carried("lab", (BUCKET.join("data/"),))), on.middle_of("more")) == moves
        await on.shows("more", "a.bin")
        assert on.user.asked == [], "it can be undone"
        news = on.told[-1]
        assert str(news.message) == "Moved “data” to obs://bucket/more/." and news.undo is not None
        news.undo()
        await on.shows("data", "more", "a.bin")
        assert on.stored()["data/deep/3.txt"] == b"data/deep/3.txt"
        other = ObjectPath("other", "x")
        assert let_go(viewport, mime_of(Carried("lab", (other,))), on.middle_of("more")) == copies


async def test_a_folder_is_not_dragged_into_itself(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, answer=False) as on:
        data = mime_of(Carried("lab", (BUCKET.join("data/"),)))
        assert let_go(on.table.viewport(), data, on.middle_of("data"))
        await until(lambda: on.cloud.reported)
        assert "is inside" in str(on.cloud.reported[0][1])
        assert on.stored() == {name: name.encode() for name in NAMES}


async def test_the_tree_takes_and_gives_what_the_table_does(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        rows, model = on.buckets.rows, on.buckets.model
        rows.expand(model.index(0, 0))
        await until(lambda: model.rowCount(model.index(0, 0)) == 4)

        def tree_row(name: str) -> QModelIndex:
            return model.index_of(BUCKET.join(name))

        def choose(name: str) -> None:
            flags = rows.selectionModel().SelectionFlag
            rows.selectionModel().setCurrentIndex(tree_row(name), flags.ClearAndSelect | flags.Rows)

        place = rows.visualRect(tree_row("more/")).center()
        data = mime_of(Carried("lab", (BUCKET.join("a.bin"),)))
        assert let_go(rows.viewport(), data, place) == Qt.DropAction.MoveAction
        await until(lambda: "more/a.bin" in on.stored() and "a.bin" not in on.stored())
        await until(lambda: model.rowCount(model.index(0, 0)) == 3)

        choose("b.txt")
        await on.press("Ctrl+X", rows)
        assert tree_row("b.txt").data(Qt.ItemDataRole.ForegroundRole) is not None
        choose("data/")
        await on.press("Ctrl+V", rows)
        await until(lambda: "data/b.txt" in on.stored() and "b.txt" not in on.stored())
        assert {"Cut", "Copy", "Paste", "Rename…", "Move to…", "Copy to…"} <= set(on.host.offered(on.buckets))


async def test_an_empty_folder_takes_what_is_dropped_on_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.browser.go(BUCKET.join("new/"))
        await until(on.view.empty.isVisible)
        data = mime_of(Carried("lab", (BUCKET.join("a.bin"),)))
        assert let_go(on.view, data, on.view.rect().center()) == Qt.DropAction.MoveAction
        await on.shows("a.bin")


async def test_fields_keep_their_own_cut_copy_and_paste(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.select("a.bin")
        on.view.search.setText("words")
        on.view.search.selectAll()
        await on.press("Ctrl+X", on.view.search)
        assert (on.view.search.text(), QGuiApplication.clipboard().text()) == ("", "words")
        on.view.address.selectAll()
        await on.press("Ctrl+C", on.view.address)
        assert QGuiApplication.clipboard().text() == "obs://bucket/"
        await on.press("Ctrl+V", on.view.search)
        assert on.view.search.text() == "obs://bucket/"
        assert on.stored() == {name: name.encode() for name in NAMES}


async def test_a_drag_that_was_let_go_of_before_it_began_does_nothing(
    tmp_path: Path, theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dragged_files, "WAIT_S", PATIENT_S)
    async with bench(tmp_path, theme, qtbot) as on:
        on.select("a.bin")
        on.table.startDrag(Qt.DropAction.CopyAction)
        await until(lambda: len(list(on.cloud.paths.dragged.glob("*/a.bin"))) == 1)
        await until(lambda: not on.cloud.scope.is_running("drag"))
        assert on.stored() == {name: name.encode() for name in NAMES}


def test_what_others_put_on_the_clipboard_is_no_object() -> None:
    for content in (b"", b"{", b"[]", b'{"profile": 1}', b'{"profile":"x","cut":true,"places":[["a"]]}'):
        data = QMimeData()
        data.setData(OBJECTS, content)
        assert carried_in(data) is None


async def test_a_move_is_undone_and_nothing_is_replaced_by_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        carried = Carried("lab", (BUCKET.join("a.bin"), BUCKET.join("b.txt")), is_cut=True)
        assert let_go(on.table.viewport(), mime_of(carried), on.middle_of("more")) == Qt.DropAction.MoveAction
        await until(lambda: on.told)
        assert str(on.told[0].message) == "Moved 2 objects and folders to obs://bucket/more/."
        undo = on.told[0].undo
        assert undo is not None
        await on.cloud.storage.put(b"newer", BUCKET.join("a.bin"))
        undo()
        await until(lambda: on.cloud.reported)
        assert "“a.bin” already exists" in str(on.cloud.reported[0][1])
        assert on.stored()["a.bin"] == b"newer" and on.stored()["more/b.txt"] == b"b.txt"
        (on.cloud.storage.root / "bucket/a.bin").unlink()
        undo()
        await until(lambda: len(on.told) == 2)
        assert on.stored() == {name: name.encode() for name in NAMES}


async def test_a_renaming_is_undone_and_the_tree_keeps_what_was_selected(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        rows, model = on.buckets.rows, on.buckets.model
        rows.expand(model.index(0, 0))
        await until(lambda: model.rowCount(model.index(0, 0)) == 4)
        rows.setCurrentIndex(model.index_of(BUCKET.join("b.txt")))
        on.moving.rename("lab", BUCKET.join("b.txt"), "z.txt")
        await until(lambda: [entry.path.key for entry in on.buckets.selected()] == ["z.txt"])
        undo = on.told[0].undo
        assert undo is not None
        undo()
        await until(lambda: [entry.path.key for entry in on.buckets.selected()] == ["b.txt"])
        on.tree.refresh(BUCKET)
        await until(lambda: not on.tree.level(BUCKET).is_loading)
        assert [entry.path.key for entry in on.buckets.selected()] == ["b.txt"]
