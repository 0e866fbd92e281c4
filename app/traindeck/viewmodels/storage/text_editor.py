"""A text of a bucket being edited, up to the moment it is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope, Work
from traindeck.services.storage.text_editing import (
    UTF_8,
    ChangedMeanwhile,
    EditedText,
    load_text,
    save_text,
    save_text_as,
)
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.services.storage.planes import Planes

_WORK = "edit a text"


@dataclass(frozen=True, slots=True)
class EditorState:
    """What the editor says beside the text itself."""

    path: ObjectPath
    is_busy: bool = True
    text: EditedText | None = None
    """None until it is read."""
    trouble: AppError | None = None
    conflict: ChangedMeanwhile | None = None
    """Somebody else has written to it: the user has to decide."""
    can_become_utf_8: bool = False


class TextEditor(Stateful):
    """One text; what is typed lives in the view and is handed over to be saved."""

    loaded = Signal(str)
    """The text as it is stored is here; also when it was asked for again."""
    saved = Signal(object)
    """It is stored at this place; what is shown may have been edited on since."""

    def __init__(self, planes: Planes, scope: TaskScope, profile: str, path: ObjectPath) -> None:
        super().__init__()
        self.state: EditorState = EditorState(path)
        self._planes = planes
        self._scope = scope
        self._profile = profile
        self._work = f"{_WORK} {profile} {path}"

    def load(self) -> None:
        """As it is stored now."""
        self._start(self._load)

    def save(self, shown: str, *, overwrite: bool = False) -> None:
        self._start(partial(self._save, shown, overwrite))

    def save_as(self, shown: str, name: str) -> None:
        """Beside the other, under another name."""
        self._start(partial(self._save_as, shown, name))

    def become_utf_8(self) -> None:
        """From now on it is stored so."""
        if self.state.text is not None:
            edited = replace(self.state.text, encoding=UTF_8)
            self._become(text=edited, trouble=None, can_become_utf_8=False)

    def close(self) -> None:
        self._scope.cancel(self._work)

    def _start(self, work: Work) -> None:
        self._become(is_busy=True, trouble=None, conflict=None, can_become_utf_8=False)

        async def guarded() -> None:
            try:
                await work()
            except ChangedMeanwhile as error:
                self._become(is_busy=False, conflict=error)
            except AppError as error:
                is_letter = isinstance(error.__cause__, UnicodeEncodeError)
                self._become(is_busy=False, trouble=error, can_become_utf_8=is_letter)

        self._scope.start(self._work, guarded)

    async def _load(self) -> None:
        edited = await load_text(self._planes, self._profile, self.state.path)
        self._become(is_busy=False, text=edited)
        self.loaded.emit(edited.shown)

    async def _save(self, shown: str, overwrite: bool) -> None:
        if self.state.text is not None:
            edited = self.state.text
            self._stored(await save_text(self._planes, self._profile, edited, shown, overwrite=overwrite))

    async def _save_as(self, shown: str, name: str) -> None:
        target = ObjectPath.parse(str(self.state.path.parent.join(name.strip())))
        if target.is_folder:
            raise InvalidInput(text("A file needs a name."), text("Enter another name."))
        if self.state.text is not None:
            self._stored(await save_text_as(self._planes, self._profile, self.state.text, shown, target))

    def _stored(self, edited: EditedText) -> None:
        self._become(path=edited.found.path, is_busy=False, text=edited)
        self.saved.emit(edited.found.path)
