from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from support.dialogs import visible_dialog
from support.folder_cloud import FolderCloud, offline
from support.list_host import ListHost, plain
from support.panel_bench import TableBench, User, drop, following, light_theme
from support.waiting import PATIENT_S, until
from traindeck.domain.errors import NotFound
from traindeck.domain.storage.object_facts import class_name
from traindeck.domain.storage.objects import Column, ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.kit.theme import SPACE, Theme
from traindeck.ui.storage.active_list import ONE, ROWS
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.folder_commands import PackDialog, pack_command, verify_command
from traindeck.ui.storage.object_table import CLASS, SIZE
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import BUCKET as BUCKET_ROW
from traindeck.viewmodels.shell.contexts import FILE, FOLDER, NOTHING, SEVERAL
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

BUCKET = ObjectPath("bucket")
DATA = BUCKET.join("data/")
NAMES = ("b.txt", "a.bin", "data/1.txt", "data/2.txt", "data/deep/3.txt", "more/img_1.png")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


class Bench(TableBench):
    def __init__(self, cloud: FolderCloud, tree: BucketTree, theme: Theme, user: User, qtbot: QtBot) -> None:
        self.cloud, self.tree, self.user, self.qtbot = cloud, tree, user, qtbot
        settings = SettingsFile(cloud.paths.settings)
        self.favourites = Favourites(settings, cloud.disk, cloud.scope, Settings())
        self.browser = ObjectBrowser(
            "lab", BUCKET, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, "browser"
        )
        self.browser.bucket_names = tree.bucket_names
        self.browser.start()
        self.view = BrowserView(self.browser, tree, self.favourites, theme, user)
        self.host = ListHost(theme)
        self.host.take(self.view)

    async def rests(self) -> None:
        browser = self.browser
        await until(
            lambda: (
                browser.rows.shown.below is not None and not browser.state.is_reading and browser.state.swept is None
            )
        )

    def selected(self) -> list[str]:
        return [self.names()[rank] for first, last in self.table.ranges() for rank in range(first, last + 1)]

    def middle_of(self, name: str) -> QPoint:
        return self.table.visualRect(self.view.model.index(self.names().index(name), 0)).center()


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        for number, name in enumerate(NAMES):
            await cloud.storage.put(b"x" * (10 * number), BUCKET.join(name))
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        tree.use_profile("lab")
        on = Bench(cloud, tree, theme, User(), qtbot)
        qtbot.addWidget(on.host)
        QAbstractItemModelTester(on.view.model, QAbstractItemModelTester.FailureReportingMode.Fatal, on.view)
        on.host.resize(640, 400)
        on.host.show()
        on.host.activateWindow()
        await on.shows("data", "more", "a.bin", "b.txt")
        await until(on.view.isActiveWindow)
        on.table.setFocus()
        with following(tree, cloud.transfers, cloud.scope):
            yield on
        on.browser.close()


async def test_folders_are_opened_and_left_by_key_and_mouse(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.select("data")
        on.table.setCurrentIndex(on.view.model.index(0, 0))
        qtbot.keyClick(on.table, Qt.Key.Key_Return)
        await on.shows("deep", "1.txt", "2.txt")
        assert on.view.address.text() == "obs://bucket/data/"
        qtbot.mouseClick(on.table.viewport(), Qt.MouseButton.LeftButton, pos=on.middle_of("deep"))
        qtbot.mouseDClick(on.table.viewport(), Qt.MouseButton.LeftButton, pos=on.middle_of("deep"))
        await on.shows("3.txt")
        qtbot.keyClick(on.table, Qt.Key.Key_Backspace)
        await on.shows("deep", "1.txt", "2.txt")
        qtbot.mouseClick(on.view.back, Qt.MouseButton.LeftButton)
        await on.shows("3.txt")
        qtbot.mouseClick(on.view.up, Qt.MouseButton.LeftButton)
        await on.shows("deep", "1.txt", "2.txt")
        assert not on.view.forward.isEnabled()


async def test_what_anybody_sends_is_shown_where_it_arrives(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        folder = tmp_path / "run" / "ckpt"
        folder.mkdir(parents=True)
        (folder / "epoch-1.bin").write_bytes(b"1")
        on.cloud.scope.start("sync", lambda: _sent(on.cloud, folder.parent, BUCKET.join("run/")))
        await on.shows("data", "more", "run", "a.bin", "b.txt")
        on.browser.go(BUCKET.join("run/ckpt/"))
        await on.shows("epoch-1.bin")
        (folder / "epoch-2.bin").write_bytes(b"2")
        on.cloud.scope.start("sync", lambda: _sent(on.cloud, folder.parent, BUCKET.join("run/")))
        await on.shows("epoch-1.bin", "epoch-2.bin")


async def _sent(cloud: FolderCloud, source: Path, target: ObjectPath) -> None:
    await cloud.transfers.upload("lab", source, target)


async def test_addresses_are_pasted_and_refused_with_a_sentence(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        address = on.view.address
        address.setFocus()
        address.selectAll()
        qtbot.keyClicks(address, '"s3://bucket/data/2.txt"')
        qtbot.keyClick(address, Qt.Key.Key_Return)
        await until(lambda: on.selected() == ["2.txt"])
        assert address.text() == "obs://bucket/data/"
        address.selectAll()
        qtbot.keyClicks(address, "Not A Place")
        qtbot.keyClick(address, Qt.Key.Key_Return)
        assert "not an OBS path" in on.view.address_trouble.text()
        assert not on.view.address_trouble.isHidden()
        qtbot.keyClick(address, Qt.Key.Key_Escape)
        assert address.text() == "obs://bucket/data/"


async def test_what_is_typed_may_be_completed(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await until(lambda: on.tree.level(None).is_known)
        offered: list[list[str]] = []
        on.browser.completed.connect(offered.append)
        on.view.address.selectAll()
        qtbot.keyClicks(on.view.address, "bucket/d")
        await until(lambda: offered and offered[-1] == ["obs://bucket/data/"])
        on.view.address.completer().activated.emit("obs://bucket/data/")
        await on.shows("deep", "1.txt", "2.txt")


async def test_a_click_on_a_head_sorts_and_keeps_what_is_chosen(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.rests()
        on.select("a.bin")
        header = on.table.horizontalHeader()
        at = QPoint(header.sectionViewportPosition(SIZE) + 10, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        await until(
            lambda: on.browser.rows.shown.look.column is Column.SIZE and not on.browser.rows.shown.look.descending
        )
        await on.shows("more", "data", "b.txt", "a.bin")
        assert on.selected() == ["a.bin"]
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        await on.shows("data", "more", "a.bin", "b.txt")
        assert on.selected() == ["a.bin"]


async def test_what_comes_while_every_row_is_selected_is_not_selected(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.table.selectAll()
        await on.cloud.storage.put(b"", BUCKET.join("new.txt"))
        on.browser.refresh()
        await on.shows("data", "more", "a.bin", "b.txt", "new.txt")
        assert on.selected() == ["data", "more", "a.bin", "b.txt"], "else it would be deleted with them"


async def test_the_search_field_finds_names_below(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        qtbot.keyClicks(on.view.search, "IMG")
        await on.shows("more/img_1.png")
        await until(lambda: on.view.footing.text().startswith("1 found · as of"))
        on.table.setCurrentIndex(on.view.model.index(0, 0))
        qtbot.keyClick(on.table, Qt.Key.Key_Return)
        await until(lambda: on.browser.state.place == BUCKET.join("more/") and on.selected() == ["img_1.png"])
        assert on.view.search.text() == ""
        on.view.search.setText("no such thing")
        await until(lambda: "No matches in this folder" in on.view.empty.title.text() and on.view.empty.isVisible())


async def test_what_is_known_and_since_when_is_said(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.rests()
        words = on.view.footing.text()
        assert words.startswith("2 folders · 2 objects, 10 B · including subfolders: 6 objects, 150 B · as of ")
        on.table.selectAll()
        assert on.view.footing.text().startswith("4 selected")
        on.cloud.storage.trouble = offline()
        qtbot.keyClick(on.table, Qt.Key.Key_F5)
        await until(lambda: "cannot be reached" in on.view.listing.text())
        assert len(on.names()) == 4


async def test_the_rows_keep_their_place_while_buttons_below_come_and_go(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.rests()
        assert not on.view.stop.isVisible()
        height = on.view.table.height()
        on.view.stop.show()
        on.view.layout().activate()
        assert on.view.table.height() == height


async def test_the_menu_is_that_of_what_is_selected(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        for chosen, context in (
            ((), NOTHING), (("a.bin",), FILE), (("data",), FOLDER), (("data", "a.bin"), SEVERAL),
        ):  # fmt: skip
            on.table.clearSelection()
            on.select(*chosen)
            assert on.view.context() == context


async def test_nothing_is_shown_of_a_bucket_that_is_gone(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.rests()
        on.table.selectAll()
        gone = text("The bucket “{bucket}” does not exist.", bucket="bucket")
        on.cloud.storage.trouble = NotFound(gone, text("Create the bucket."))
        qtbot.keyClick(on.table, Qt.Key.Key_F5)
        await until(on.view.empty.isVisible)
        assert "does not exist" in on.view.empty.title.text() and "Create" in on.view.empty.hint.text()
        assert (on.view.footing.text(), on.view.listing.text()) == ("", ""), "told once"
        assert not on.view.has_chosen() and not on.view.trash.isEnabled()
        on.cloud.storage.trouble = None
        on.browser.refresh()
        await until(on.table.isVisible)
        assert len(on.names()) == 4


async def test_files_are_dropped_and_deleted_and_the_table_follows(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        (tmp_path / "new.txt").write_bytes(b"new")
        viewport = on.table.viewport()
        assert drop(viewport, [tmp_path / "new.txt"], QPoint(20, viewport.height() - 5))
        await on.shows("data", "more", "a.bin", "b.txt", "new.txt")
        assert drop(viewport, [tmp_path / "new.txt"], on.middle_of("data"))
        await until(lambda: (on.cloud.storage.root / "bucket/data/new.txt").is_file())
        on.select("b.txt", "new.txt")
        on.table.setFocus()
        qtbot.keyClick(on.table, Qt.Key.Key_Delete)
        await on.shows("data", "more", "a.bin")
        assert "Delete 2 objects (3 B) permanently?" in on.user.asked[-1]


def focus() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


async def test_keys_work_wherever_in_the_tab_one_is(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        control, alt = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
        on.browser.go(DATA)
        await on.shows("deep", "1.txt", "2.txt")
        on.table.setFocus()
        qtbot.keyClick(focus(), Qt.Key.Key_L, control)
        await until(lambda: on.view.address.hasFocus() and on.view.address.selectedText() == "obs://bucket/data/")
        qtbot.keyClick(focus(), Qt.Key.Key_Delete)
        assert on.view.address.text() == "", "in a field the key means its text"
        assert on.user.asked == []
        qtbot.keyClick(focus(), Qt.Key.Key_Up, alt)
        await on.shows("data", "more", "a.bin", "b.txt")
        qtbot.keyClick(focus(), Qt.Key.Key_F, control)
        await until(lambda: on.view.search.hasFocus())


async def test_favourites_are_kept(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.browser.go(DATA)
        qtbot.mouseClick(on.view.star, Qt.MouseButton.LeftButton)
        assert on.view.star.isChecked()
        await until(lambda: SettingsFile(on.cloud.paths.settings).read().favourites)
        settings = SettingsFile(on.cloud.paths.settings).read()
        again = Favourites(SettingsFile(on.cloud.paths.settings), on.cloud.disk, on.cloud.scope, settings)
        assert again.of("lab") == [DATA]
        assert again.of("other") == []
        on.browser.go(BUCKET)
        assert not on.view.star.isChecked()
        on.view.places.menu().actions()[0].trigger()
        await on.shows("deep", "1.txt", "2.txt")


async def test_the_menu_offers_what_is_possible_and_what_others_add(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        ran: list[int] = []
        on.host.commands.add(
            Command("object.look", "Look", lambda: ran.append(1), contexts=(NOTHING,)),
            on.host.active.command("object.never", "Never", print, ONE, 0, contexts=(NOTHING,)),
        )
        offered = on.host.offered(on.view)
        assert offered["Upload files…"] and offered["Look"] and not offered["Never"]
        menu = on.host.menu(on.view)
        next(action for action in menu.actions() if plain(action.text()) == "Look").trigger()
        never = next(action for action in menu.actions() if plain(action.text()) == "Never")
        assert never.toolTip() == "Select one object or folder first."
        assert ran == [1]
        menu.deleteLater()
        on.select("a.bin", "data")
        on.view.copy_address()
        await until(lambda: QGuiApplication.clipboard().text() == "obs://bucket/data/\nobs://bucket/a.bin")


async def test_names_that_are_too_long_do_not_widen_the_window(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.rests()
        assert on.view.minimumSizeHint().width() < 420


async def test_names_can_be_read_where_there_is_little_room(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        header = on.table.horizontalHeader()
        for width, is_wide in ((640, True), (300, False), (640, True)):
            on.host.resize(width, 400)
            await until(lambda is_wide=is_wide: header.isSectionHidden(3) is not is_wide)
            assert header.sectionSize(0) >= 18 * SPACE and not header.isSectionHidden(1)


async def test_a_folder_is_verified_against_one_of_this_computer(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path / "cloud", theme, qtbot) as on:
        begun: list[Order] = []
        command = verify_command(on.host.active, begun.append)
        assert set(command.contexts) == {NOTHING, FOLDER, BUCKET_ROW}
        for chosen, place in ((["data"], DATA), (["data", "more"], BUCKET), ([], BUCKET), (["a.bin"], BUCKET)):
            on.select(*chosen)
            command.run()
            dialog = await visible_dialog(on.view, QFileDialog)
            dialog.filesSelected.emit([str(tmp_path)])
            assert begun[-1] == Order(
                Kind.CHECK, "lab", str(tmp_path), str(place.as_folder()), Rules(has_ignore_files=True)
            )
            dialog.close()
            await until(lambda: on.view.findChild(QFileDialog) is None)


async def test_a_folder_of_the_bucket_is_packed_into_one_beside_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path / "cloud", theme, qtbot) as on:
        begun: list[tuple[ObjectPath, ObjectPath]] = []
        ran: list[str] = []
        command = pack_command(on.host.active, lambda _, source, target: begun.append((source, target)), ran.append)
        assert set(command.contexts) == {NOTHING, FOLDER, BUCKET_ROW}
        for chosen, offered in ((["data"], "obs://bucket/data-shards/"), ([], "")):
            on.select(*chosen)
            command.run()
            dialog = await visible_dialog(on.view, PackDialog)
            assert dialog.target.text() == offered
            for typed in ("obs://bucket/data/in", "B", ""):
                dialog.target.setText(typed)
                assert not dialog.go.isEnabled()
                assert bool(dialog.trouble.text().strip()) == bool(typed)
                dialog.accept()
            assert len(begun) == (0 if chosen else 1)
            for loader in dialog.loaders:
                loader.click()
            assert ran == ["dataset.loader_pytorch", "dataset.loader_mindspore"]
            ran.clear()
            dialog.target.setText("obs://other/shards")
            dialog.go.click()
            assert begun[-1] == (DATA if chosen else BUCKET, ObjectPath("other", "shards/"))
            await until(lambda: on.view.findChild(PackDialog) is None)


@pytest.fixture
def patient_typing(qapp: QApplication) -> Iterator[None]:
    """On a busy machine two letters may come further apart than those of one word do."""
    before = QApplication.keyboardInputInterval()
    QApplication.setKeyboardInputInterval(int(PATIENT_S * 1000))
    yield
    QApplication.setKeyboardInputInterval(before)


async def test_typing_finds_a_row_that_was_never_read_and_is_no_command(
    tmp_path: Path, theme: Theme, qtbot: QtBot, patient_typing: None
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        for number in range(600):
            await on.cloud.storage.put(b"", BUCKET.join(f"long/row-{number:03}.txt"))
        ran: list[int] = []
        key = Command("x.r", "R", lambda: ran.append(1), shortcut="W", scope=ROWS)
        on.host.commands.add(key)
        on.browser.go(BUCKET.join("long/"))
        await until(lambda: on.view.model.rowCount() == 600)
        on.table.setFocus()
        qtbot.keyClicks(on.table, "row-5")
        await until(lambda: on.selected() == ["row-500.txt"])
        on.browser.sort(Column.NAME, True)
        await until(lambda: on.names()[0] == "row-599.txt")
        qtbot.keyClicks(on.table, "99")
        await until(lambda: on.selected() == ["row-599.txt"])
        assert ran == []


async def test_menus_differ_by_what_is_selected(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        found = {}
        for name, chosen in (("file", ["a.bin"]), ("folder", ["data"]), ("several", ["data", "a.bin"]), ("none", [])):
            on.select(*chosen)
            found[name] = on.host.offered(on.view)
            assert {"New folder…", "Upload files…", "Upload folder…", "Paste"} - set(found[name]) <= {"New folder…"}
        assert len({tuple(offered) for offered in found.values()}) == 4
        assert "Open" in found["folder"] and "Open" not in found["file"]
        assert "Delete…" in found["several"] and "Delete…" not in found["none"]
        on.browser.go(BUCKET.join("new/"))
        await until(on.view.empty.isVisible)
        menus: list[QPoint] = []
        on.view.menu_wanted.connect(menus.append)
        on.view.empty.customContextMenuRequested.emit(QPoint(5, 5))
        assert menus and on.host.offered(on.view)["Upload files…"]
        popup = QApplication.activePopupWidget()
        assert popup is not None
        popup.close()


async def test_a_storage_class_is_called_as_it_is_sold(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        model = on.view.table.model()
        row = next(row for row in range(model.rowCount()) if model.index(row, 0).data() == "a.bin")
        assert model.index(row, CLASS).data() == "Standard"
        assert class_name("COLD") == "Archive" and class_name("NEW_AND_UNKNOWN") == "NEW_AND_UNKNOWN"


async def test_a_list_left_in_the_middle_is_there_again_in_an_order_that_comes_later(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        for number in range(60):
            await cloud.storage.put(b"x" * number, BUCKET.join(f"{number:02}"))
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        on = Bench(cloud, tree, theme, User(), qtbot)
        qtbot.addWidget(on.host)
        on.browser.rows.top_wanted = "30"
        on.host.resize(640, 400)
        on.host.show()
        await until(lambda: on.table.rowAt(0) == 30)
        # What it was sorted by is put back when the window gets to its header.
        on.table.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
        await until(lambda: on.names()[0] == "59")
        await until(lambda: on.table.rowAt(0) == 29)
        await cloud.storage.put(b"x" * 1000, BUCKET.join("new"))
        on.browser.refresh()
        await until(lambda: on.view.model.rowCount() == 61)
        assert on.names()[on.table.rowAt(0)] == "30"
        qtbot.keyClick(on.table, Qt.Key.Key_Home)
        await until(lambda: on.table.rowAt(0) == 0)
        on.table.sortByColumn(SIZE, Qt.SortOrder.AscendingOrder)
        await until(lambda: on.names()[0] == "00")
        assert on.table.rowAt(0) == 0, "somebody went elsewhere"
        on.browser.close()
