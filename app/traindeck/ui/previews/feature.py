"""The room of previews: what is chosen in a bucket is shown beside its rows, and the editor for texts."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.previews import MOST_EDITED
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say, text
from traindeck.ui.kit.dialogs import shown
from traindeck.ui.previews.following import PreviewFollower
from traindeck.ui.previews.preview_place import PreviewPlace
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.storage.active_list import ROWS, ActiveList, Need
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_list import ObjectList
from traindeck.ui.storage.text_editor_dialog import TextEditorDialog
from traindeck.viewmodels.rooms import PreviewsRoom, StorageRoom
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import FILE, FOLDER


class PreviewsFeature(Feature):
    """One editor at a time."""

    def __init__(self, shell: Shell, room: PreviewsRoom, storage: StorageRoom, active: ActiveList) -> None:
        super().__init__(shell)
        self._room = room
        self._storage = storage
        self._place = PreviewPlace(shell.window.state)
        self._active = active

    def news(self) -> Subscriptions:
        return [(self._room.preview.edit_wanted, self.edit_text)]

    def commands(self) -> Iterable[Command]:
        can_edit = Need(_can_edit, text("Select one small text first."))
        preview, edit = say("Preview"), say("Edit text…")
        return [
            self._active.tab_command(
                "object.preview", preview, lambda _: self._place.toggle(), 0,
                contexts=(FILE, FOLDER), icon="eye", shortcut="Space", scope=ROWS,
            ),
            self._active.tab_command(
                "object.edit", edit, self._edit, 0, need=can_edit, contexts=(FILE,), icon="edit"
            ),
        ]  # fmt: skip

    def extend(self, view: ObjectList) -> None:
        if isinstance(view, BrowserView):
            PreviewFollower(self._room.preview, view, self._place, self.shell.theme)

    def page_closed(self, key: str) -> None:
        if not self.shell.window.pages(BrowserView):
            self._room.preview.choose("", None)

    def edit_text(self, profile: str, place: ObjectPath) -> None:
        work = "edit a text in the window"
        if not self.shell.tasks.is_running(work):
            editor = self._room.editor(profile, place)
            editor.saved.connect(self._text_saved)
            dialog = TextEditorDialog(editor, self.shell.theme, self.shell.window)
            editor.load()

            async def show() -> None:
                await shown(dialog)
                editor.close()

            self.shell.tasks.start(work, show)

    def _edit(self, view: BrowserView) -> None:
        if (entry := view.only()) is not None:
            self.edit_text(view.profile, entry.path)

    def _text_saved(self, place: ObjectPath) -> None:
        self._storage.buckets.touched.emit(place.parent)
        self._room.preview.saved(place)


def _can_edit(view: ObjectList) -> bool:
    entry = view.only() if isinstance(view, BrowserView) else None
    size = None if entry is None or entry.path.is_folder else entry.size_bytes
    return size is not None and size <= MOST_EDITED
