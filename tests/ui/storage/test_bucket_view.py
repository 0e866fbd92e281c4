from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, code_folder, offline
from support.list_host import ListHost, plain
from support.panel_bench import User, drop, following, light_theme
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.active_list import LIST, PLACE
from traindeck.ui.storage.bucket_view import BucketView
from traindeck.ui.storage.object_list import ObjectList
from traindeck.ui.storage.object_properties import ObjectPropertiesDialogs
from traindeck.viewmodels.shell.contexts import BUCKET as BUCKET_ROW
from traindeck.viewmodels.shell.contexts import FOLDER, NOTHING
from traindeck.viewmodels.storage.bucket_tree import BucketTree

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls

BUCKET = ObjectPath("bucket")
DATA = ObjectPath("bucket", "data/")
DEEP = ObjectPath("bucket", "data/deep/")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


class Bench:
    def __init__(self, cloud: FolderCloud, tree: BucketTree, host: ListHost, view: BucketView, user: User) -> None:
        self.cloud, self.tree, self.host, self.view, self.user = cloud, tree, host, view, user

    async def expand(self, *folders: ObjectPath) -> None:
        for folder in folders:
            self.view.rows.expand(self.view.model.index_of(folder))
            await until(lambda folder=folder: self.tree.level(folder).is_known)

    def select(self, path: ObjectPath) -> None:
        self.view.rows.setCurrentIndex(self.view.model.index_of(path))

    def middle_of(self, path: ObjectPath) -> QPoint:
        return self.view.rows.visualRect(self.view.model.index_of(path)).center()

    def names(self, folder: ObjectPath | None) -> list[str]:
        parent = self.view.model.index_of(folder)
        return [parent_name(self.view, row, parent) for row in range(self.view.model.rowCount(parent))]


def parent_name(view: BucketView, row: int, parent: QModelIndex) -> str:
    return str(view.model.index(row, 0, parent).data())


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot, *, tested: bool = False) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        for name in ("1.txt", "2.txt", "deep/3.txt"):
            await cloud.storage.put(b"12345", DATA.join(name))
        tree, user = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope), User()
        view = BucketView(tree, theme, user)
        host = ListHost(theme)
        host.take(view)
        qtbot.addWidget(host)
        if tested:  # it looks into every folder, and so reads them all
            QAbstractItemModelTester(view.model, QAbstractItemModelTester.FailureReportingMode.Fatal, view)
        host.resize(320, 320)
        host.show()
        host.activateWindow()
        await until(host.isActiveWindow)
        view.rows.setFocus()
        tree.use_profile("lab")
        await until(lambda: tree.level(None).is_known)
        with following(tree, cloud.transfers, cloud.scope):
            yield Bench(cloud, tree, host, view, user)


async def test_folders_open_one_level_at_a_time(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        assert on.names(None) == ["bucket"]
        await on.expand(BUCKET)
        assert on.cloud.storage.listed == ["obs://bucket/"]
        on.select(BUCKET)
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Down)
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Right)
        await until(lambda: on.tree.level(DATA).is_known)
        assert on.names(DATA) == ["deep", "1.txt", "2.txt"]


async def test_files_dropped_on_a_folder_go_into_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.expand(BUCKET, DATA)
        code = code_folder(tmp_path / "我的代码")
        assert drop(on.view.rows.viewport(), [code], on.middle_of(DATA))
        await until(lambda: "我的代码" in on.names(DATA))
        assert on.user.asked == []
        assert (on.cloud.storage.root / "bucket/data/我的代码/train.py").is_file()
        assert code.is_dir()


async def test_files_dropped_on_an_object_go_beside_it_and_nowhere_beside_the_tree(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.expand(BUCKET, DATA)
        (tmp_path / "new.txt").write_bytes(b"new")
        viewport = on.view.rows.viewport()
        assert not drop(viewport, [tmp_path / "new.txt"], QPoint(20, viewport.height() - 5))
        assert drop(viewport, [tmp_path / "new.txt"], on.middle_of(DATA.join("1.txt")))
        await until(lambda: "new.txt" in on.names(DATA))


async def test_a_refresh_keeps_what_is_open_and_selected(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, tested=True) as on:
        await on.expand(BUCKET, DATA, DEEP)
        on.select(DATA.join("2.txt"))
        await on.cloud.storage.put(b"", DATA.join("0.txt"))
        await on.cloud.storage.put(b"", BUCKET.join("aa/x"))
        await on.cloud.storage.remove([DATA.join("1.txt")])
        on.tree.refresh(DATA)
        on.tree.refresh(BUCKET)
        await until(lambda: on.names(DATA) == ["deep", "0.txt", "2.txt"])
        await until(lambda: on.names(BUCKET) == ["aa", "data"])
        assert on.view.rows.isExpanded(on.view.model.index_of(DEEP))
        assert [entry.path for entry in on.view.selected()] == [DATA.join("2.txt")]
        await on.cloud.storage.remove([DATA.join("deep/3.txt")])
        qtbot.keyClick(on.view.rows, Qt.Key.Key_F5)
        await until(lambda: on.names(DATA) == ["0.txt", "2.txt"])
        assert on.names(DEEP.parent) == ["0.txt", "2.txt"]


async def test_delete_asks_with_count_and_bytes(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.expand(BUCKET)
        on.select(DATA)
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Delete)
        await until(lambda: on.names(BUCKET) == [])
        assert on.user.asked == [
            "Delete 3 objects (15 B) permanently? They are obs://bucket/data/. This cannot be undone. [Delete]"
        ]


async def test_what_is_added_to_the_tree_is_in_its_menu_and_knows_the_bucket_one_is_in(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        seen: list[tuple[str, ObjectPath | None]] = []

        def look(view: ObjectList) -> None:
            seen.append((view.profile, view.place))

        contexts, keys = (BUCKET_ROW, FOLDER, NOTHING), "Ctrl+J"
        on.host.commands.add(
            on.host.active.command("bucket.look", "Look", look, PLACE, 5, contexts=contexts, shortcut=keys, scope=LIST)
        )
        assert not on.host.offered(on.view)["Look"]
        await on.expand(BUCKET)
        for place in (BUCKET, DATA):
            on.select(place)
            menu = on.host.menu(on.view)
            next(action for action in menu.actions() if plain(action.text()) == "Look").trigger()
            menu.deleteLater()
        assert seen == [("lab", BUCKET), ("lab", DATA)]
        on.view.rows.activateWindow()
        on.view.rows.setFocus()
        await until(on.view.rows.hasFocus)
        qtbot.keyClick(on.view.rows, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
        assert len(seen) == 3


async def test_the_keys_of_properties_open_the_settings_of_a_bucket(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        seen: list[tuple[str, str]] = []
        nobody: Any = None
        properties = ObjectPropertiesDialogs(
            nobody, nobody, nobody, theme, on.cloud.scope, on.user, nobody, lambda *bucket: seen.append(bucket)
        )
        on.host.commands.add(*properties.commands(on.host.active))
        on.select(BUCKET)
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Return, Qt.KeyboardModifier.AltModifier)
        assert seen == [("lab", "bucket")]


async def test_buckets_are_handed_to_those_who_make_open_and_remove_them(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        told: list[object] = []
        on.view.new_wanted.connect(lambda: told.append("new"))
        on.view.removal_wanted.connect(lambda _, names: told.append(names))
        qtbot.mouseClick(on.view.add, Qt.MouseButton.LeftButton)
        await on.expand(BUCKET, DATA)
        on.select(DATA)
        assert on.view.place == DATA
        on.view.rows.selectAll()
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Delete)
        assert told == ["new", ["bucket"]]
        assert on.user.asked == []


async def test_a_folder_that_is_opened_before_the_rows_are_laid_out_shows_what_is_in_it(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.expand(BUCKET)
        on.view.rows.scheduleDelayedItemsLayout()  # Qt does so whenever rows came; until then it asks for no others
        await on.expand(DATA)
        assert on.names(DATA) == ["deep", "1.txt", "2.txt"]


async def test_a_folder_that_cannot_be_read_says_so_and_is_tried_again(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.cloud.storage.trouble = offline()
        index = on.view.model.index_of(BUCKET)
        on.view.rows.expand(index)
        await until(lambda: "cannot be reached" in str(index.data()))
        on.cloud.storage.trouble = None
        on.view.rows.collapse(index)
        await on.expand(BUCKET)
        assert index.data() == "bucket"


async def test_without_a_service_the_panel_says_why(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.cloud.storage.trouble = offline()
        on.tree.use_profile("lab")
        await until(lambda: "cannot be reached" in on.view.empty.title.text())
        on.cloud.storage.trouble = None
        qtbot.mouseClick(on.view.again, Qt.MouseButton.LeftButton)
        await until(lambda: on.view.rows.isVisible())


async def test_buttons_and_menu_offer_what_is_possible(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        assert not on.view.send.isEnabled()
        await on.expand(BUCKET, DATA)
        on.select(DATA.join("1.txt"))
        assert on.view.send.isEnabled()
        assert on.view.place == DATA
        on.view.rows.selectAll()
        assert not on.view.send.isEnabled()
        assert on.view.trash.isEnabled()
        assert on.host.offered(on.view)["Download…"]
        assert not on.host.offered(on.view)["Upload files…"]


@pytest.mark.parametrize("count", [1500, pytest.param(5000, marks=pytest.mark.long)])
async def test_thousands_of_objects_come_without_a_stall(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls, count: int
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        place = on.cloud.storage.root / "many"

        def fill(_: object) -> None:
            place.mkdir()
            for number in range(count):
                (place / f"{number:05}.txt").write_bytes(b"")

        await on.cloud.disk.run(fill)
        on.tree.refresh(None)
        many = ObjectPath("many")
        await until(lambda: "many" in on.names(None))
        on.cloud.storage.page_size = 500
        await on.expand(many)
        assert on.view.model.rowCount(on.view.model.index_of(many)) == count
        on.view.rows.scrollToBottom()
        await on.cloud.storage.put(b"", many.join("00000.a"))
        on.tree.refresh(many)
        await until(lambda: on.view.model.rowCount(on.view.model.index_of(many)) == count + 1)
