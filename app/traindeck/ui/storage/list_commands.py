"""The commands that a list of objects carries out by itself: opening, sending, fetching, looking again, and the way."""

from __future__ import annotations

from functools import partial

from traindeck.domain.texts import say, text
from traindeck.ui.storage.active_list import ANY, LIST, PLACE, ROWS, ActiveList, Need
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import ANYWHERE, BUCKET, FOLDER, NOTHING, OBJECTS, SEVERAL


def list_commands(active: ActiveList) -> list[Command]:
    return [*_ways(active), *_acts(active), *_looks(active)]


def _acts(active: ActiveList) -> list[Command]:
    add = active.command
    can_open = Need(lambda view: view.can_open(), text("Select a folder first."))
    files, folder = say("Upload files…"), say("Upload folder…")
    return [
        add(
            "object.open", say("Open"), lambda view: view.open(), can_open, 0,
            contexts=(FOLDER, BUCKET), icon="folder", shortcut="Return", scope=ROWS,
        ),
        add(
            "object.upload", files, lambda view: view.choose_uploads(), PLACE, 1,
            contexts=ANYWHERE, icon="upload", shortcut="Ctrl+U", scope=LIST,
        ),
        add(
            "object.upload_folder", folder, lambda view: view.choose_upload_folder(), PLACE, 1,
            contexts=ANYWHERE, icon="upload-folder", shortcut="Ctrl+Shift+U", scope=LIST,
        ),
        add(
            "object.download", say("Download…"), lambda view: view.download(), ANY, 1,
            contexts=(*OBJECTS, BUCKET), icon="download", shortcut="Ctrl+Shift+D", scope=LIST,
        ),
        add(
            "object.copy_address", say("Copy OBS path"), lambda view: view.copy_address(), ANY, 2,
            contexts=(*OBJECTS, BUCKET), icon="copy", shortcut="Ctrl+Shift+C", scope=LIST,
        ),
        add(
            "object.delete", say("Delete…"), lambda view: view.delete(), ANY, 4,
            contexts=(*OBJECTS, BUCKET), icon="trash", shortcut="Del", scope=ROWS,
        ),
    ]  # fmt: skip


def _looks(active: ActiveList) -> list[Command]:
    sized, everything = say("Calculate size"), say("List everything again")
    look = partial(active.tab_command, group=3, submenu=say("&Folder"))
    return [
        look("object.size", sized, BrowserView.calculate, contexts=(FOLDER, SEVERAL, NOTHING)),
        look("object.list_all", everything, lambda view: view.browser.list_everything(), contexts=(NOTHING,)),
    ]


def _ways(active: ActiveList) -> list[Command]:
    nowhere = text("There is no folder in that direction.")
    back = Need(lambda view: isinstance(view, BrowserView) and view.browser.state.can_go_back, nowhere)
    forward = Need(lambda view: isinstance(view, BrowserView) and view.browser.state.can_go_forward, nowhere)
    up = Need(lambda view: view.place is not None and not view.place.is_bucket, nowhere)
    go = partial(active.tab_command, group=8, submenu=say("&Go"), scope=LIST)
    return [
        go("place.back", say("Back"), lambda view: view.browser.back(), need=back, shortcut="Alt+Left", icon="back"),
        go(
            "place.forward", say("Forward"), lambda view: view.browser.forward(),
            need=forward, shortcut="Alt+Right", icon="forward",
        ),
        go("place.up", say("Up"), lambda view: view.browser.up(), need=up, shortcut="Alt+Up", icon="up"),
        go("place.address", say("Address"), BrowserView.go_to_address, shortcut="Ctrl+L"),
        go(
            "place.favourite", say("Favorite"), BrowserView.toggle_favourite,
            shortcut="Ctrl+D", icon="star", checked=partial(_is_favourite, active),
        ),
    ]  # fmt: skip


def _is_favourite(active: ActiveList) -> bool:
    view: ObjectList | None = active.current
    return isinstance(view, BrowserView) and view.star.isChecked()
