"""The room of previews: the panel that follows what is chosen, and the editor for texts."""

from __future__ import annotations

from collections.abc import Mapping

from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.dialogs import shown
from traindeck.ui.previews.preview_view import PreviewFollower, PreviewView
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import Make
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_list import ObjectList
from traindeck.ui.storage.text_editor_dialog import TextEditorDialog
from traindeck.viewmodels.rooms import PreviewsRoom, StorageRoom


class PreviewsFeature(Feature):
    """One editor at a time."""

    def __init__(self, shell: Shell, room: PreviewsRoom, storage: StorageRoom) -> None:
        super().__init__(shell)
        self._room = room
        self._storage = storage

    def panels(self) -> Mapping[str, Make]:
        return {"preview": lambda: PreviewView(self._room.preview, self.shell.theme)}

    def news(self) -> Subscriptions:
        return [(self._room.preview.wanted, self._toggle), (self._room.preview.edit_wanted, self.edit_text)]

    def extend(self, view: ObjectList) -> None:
        if isinstance(view, BrowserView):
            PreviewFollower(self._room.preview, view)

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

    def _toggle(self) -> None:
        """The keyboard stays in the list, to go on from row to row."""
        self.shell.window.peek_dock("preview")

    def _text_saved(self, place: ObjectPath) -> None:
        self._storage.buckets.touched.emit(place.parent)
        self._room.preview.saved(place)
