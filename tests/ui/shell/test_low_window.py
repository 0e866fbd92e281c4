"""In a low window the pages keep what one can work with; the log has what is left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QToolBar
from pytestqt.qtbot import QtBot

from support.folder_cloud import FolderCloud
from support.panel_bench import User, light_theme
from support.qt_support import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.shell.folding import FoldedButton
from traindeck.ui.shell.main_window import MainWindow, make_frame
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.transfers.transfer_commands import transfer_commands
from traindeck.ui.transfers.transfer_view import TransferView
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.window_state import WindowState
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites
from traindeck.viewmodels.transfers.transfer_list import TransferList

BUCKET = ObjectPath("bucket")
_LEAST_ROWS = 5


@asynccontextmanager
async def with_bucket(qapp: QApplication, home: Path) -> AsyncIterator[tuple[MainWindow, BrowserView]]:
    """The frame with a log below and a bucket of many objects in the middle."""
    with light_theme(qapp) as theme:
        async with FolderCloud(home) as cloud:
            for number in range(40):
                await cloud.storage.put(b"x", BUCKET.join(f"{number:02}.bin"))
            tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
            favourites = Favourites(SettingsFile(cloud.paths.settings), cloud.disk, cloud.scope, Settings())
            browser = ObjectBrowser(
                "lab", BUCKET, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, "browser"
            )
            feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
            transfers = TransferList(cloud.transfers, cloud.scope)
            acts = transfer_commands(transfers, User(), lambda _: None, lambda _: None)
            window = make_frame(theme, Notices(), WindowState(home / "window.json"), lambda: None)
            window.provide("log", lambda: LogView(feed, theme))
            window.provide("transfers", lambda: TransferView(transfers, theme, acts))
            window.commands.add(Command("job.new", "Sample", lambda: None, menu="file", icon="flask"))
            view = BrowserView(browser, tree, favourites, theme, User())
            window.open_tab("bucket", "bucket", lambda: view)
            window.show()
            await until(lambda: view.model.rowCount() == 40)
            yield window, view
            browser.close()
            feed.close()
            transfers.close()
            window.hide()
            window.deleteLater()


def whole_rows(view: BrowserView) -> int:
    height = view.table.rowHeight(0)
    return view.table.viewport().height() // height if view.table.isVisible() else 0


def log_lines(window: MainWindow) -> int:
    view = window.panel("log")
    assert isinstance(view, LogView)
    return view.pane.viewport().height() // view.pane.fontMetrics().height() if view.isVisible() else 0


def log_height(window: MainWindow) -> int:
    dock = window.findChild(QDockWidget, "dock.log")
    assert dock is not None
    return dock.height()


@pytest.mark.parametrize("size", [(960, 600), (800, 500)])
async def test_a_bucket_keeps_five_rows_in_a_low_window(
    qapp: QApplication, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with with_bucket(qapp, tmp_path) as (window, view):
        window.resize(1280, 800)
        window.reset_layout()
        await until(lambda: log_height(window) > 300)  # where there is room it has half of the window
        window.resize(*size)  # somebody makes the window smaller
        await until(lambda: whole_rows(view) >= _LEAST_ROWS)
        window.reset_layout()
        window.reset_layout()
        await until(lambda: whole_rows(view) >= _LEAST_ROWS)
        first = bytes(window.saveState().data())
        notices = window.findChild(QToolBar, "notices")
        assert notices is not None and not notices.isVisible(), "there is nothing to say"
        window.show_dock("log")  # it is asked for: then it is there, with the keyboard
        await until(lambda: log_lines(window) >= 5)
        window.show_dock("transfers")
        window.give_page_room()
        await until(lambda: whole_rows(view) >= _LEAST_ROWS)
        window.reset_layout()
        await until(lambda: bytes(window.saveState().data()) == first)


async def test_what_a_low_window_folds_below_is_a_click_away_and_comes_back_with_the_room(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with with_bucket(qapp, tmp_path) as (window, view):
        window.resize(800, 500)
        window.reset_layout()
        await until(lambda: not window.is_dock_shown("log"))
        strip = window.findChild(QToolBar, "strip.bottom")
        assert strip is not None and strip.isVisible()
        names = {button.text(): button for button in strip.findChildren(FoldedButton)}
        assert list(names) == ["Log", "Transfers", "Events"]
        qtbot.mouseClick(names["Transfers"], Qt.MouseButton.LeftButton)
        transfers = window.panel("transfers")
        await until(lambda: transfers.isVisible() and not strip.isVisible())
        assert transfers.height() > 100
        window.give_page_room()
        await until(lambda: whole_rows(view) >= _LEAST_ROWS and strip.isVisible())
        window.resize(1280, 800)
        await until(lambda: transfers.isVisible() and not strip.isVisible())
        await until(lambda: whole_rows(view) >= _LEAST_ROWS)
        window.resize(800, 500)
        window.arrangements.apply("watch")
        await until(lambda: log_height(window) > 200)  # it is about the log
