"""Cut, copy, paste, rename, move and drag: the same in every table of a bucket and in the tree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.dialogs import CANCEL, AnswerButton, asked, asked_line, choose_folder
from traindeck.ui.kit.edits import COPY, CUT, PASTE, SELECT_ALL, Edit
from traindeck.ui.storage.active_list import LIST, ONE, PLACE, ROWS, SOME, ActiveList
from traindeck.ui.storage.object_drag import carried_in, drag, local_paths, mime_of
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import ANYWHERE, OBJECTS
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.moving import Carried, CutObjects, Moving, Taken, check_name
from traindeck.viewmodels.transfers.dragged_files import DraggedFiles

Start = Callable[[str, Callable[[], Awaitable[None]]], object]
"""Runs work in the background, under a name."""

_NAMES_SHOWN = 5


class ObjectActions(QObject):
    """Of one window."""

    def __init__(
        self,
        moving: Moving,
        cut: CutObjects,
        tree: BucketTree,
        dragged: DraggedFiles,
        confirm: Confirm,
        start: Start,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._dragged = dragged
        self._moving = moving
        self._cut = cut
        self._tree = tree
        self._confirm = confirm
        self._start = start
        self._window = window
        QGuiApplication.clipboard().dataChanged.connect(self._on_clipboard)

    def extend(self, view: ObjectList) -> None:
        """What is cut, copied and pasted in a list of objects, and what is dropped and dragged there."""

        def chosen() -> bool:
            return bool(view.count_chosen())

        def can_paste() -> bool:
            data = QGuiApplication.clipboard().mimeData()
            has_files = data is not None and bool(local_paths(data.urls()))
            return view.place is not None and (has_files or carried_in(data) is not None)

        def paste() -> None:
            if view.place is not None:
                self.paste(view.profile, view.place)

        def dropped(carried: Carried, target: ObjectPath, is_move: bool) -> None:
            carried = replace(carried, is_cut=is_move)
            self._moving.put(carried, view.profile, target, self._ask_taken)

        def drag_chosen() -> None:
            view.with_chosen(partial(self._drag_soon, view.rows, view.profile))

        cut, copy = partial(self._to_clipboard, True), partial(self._to_clipboard, False)
        view.add_edits(
            {
                CUT: Edit(partial(_with_paths, cut, view), chosen),
                COPY: Edit(partial(_with_paths, copy, view), chosen),
                PASTE: Edit(paste, can_paste),
                SELECT_ALL: Edit(view.rows.selectAll),
            }
        )
        view.new_folder_wanted.connect(partial(self._new_folder, view))
        view.model.show_cut(self._cut)
        view.model.carried_in.connect(dropped)
        view.rows.drag_wanted.connect(drag_chosen)
        self._moving.appeared.connect(view.follow)
        self._escape_clears(view.rows)

    def commands(self, active: ActiveList) -> list[Command]:
        make, rename = self._new_folder, partial(_with_paths, self._rename_one)
        move, copy = partial(_with_paths, partial(self._bring, True)), partial(_with_paths, partial(self._bring, False))
        return [
            active.command(
                "object.new_folder", say("New folder…"), make, PLACE, 1,
                contexts=ANYWHERE, icon="folder-plus", shortcut="Ctrl+Shift+N", scope=LIST,
            ),
            active.command(
                "object.rename", say("Rename…"), rename, ONE, 2, contexts=OBJECTS, shortcut="F2", scope=ROWS
            ),
            active.command("object.move", say("Move to…"), move, SOME, 2, contexts=OBJECTS),
            active.command("object.copy_to", say("Copy to…"), copy, SOME, 2, contexts=OBJECTS),
        ]  # fmt: skip

    def paste(self, profile: str, target: ObjectPath) -> None:
        """What is on the clipboard, into this folder."""
        data = QGuiApplication.clipboard().mimeData()
        carried = carried_in(data)
        if carried is not None:
            self._moving.put(carried, profile, target, self._ask_taken, partial(self._pasted, carried))
        elif files := local_paths(data.urls() if data else []):
            self._tree.upload(files, target, self._confirm, profile)

    # inside

    def _to_clipboard(self, is_cut: bool, profile: str, paths: Sequence[ObjectPath]) -> None:
        paths = [path for path in paths if not path.is_bucket]
        if paths:
            QGuiApplication.clipboard().setMimeData(mime_of(Carried(profile, tuple(paths), is_cut)))
            self._cut.put(profile, paths if is_cut else ())

    def _on_clipboard(self) -> None:
        """Something else was copied, here or elsewhere: what was cut cannot be pasted any more."""
        if self._cut:
            carried = carried_in(QGuiApplication.clipboard().mimeData())
            if carried is None or not carried.is_cut:
                self._cut.clear()

    def _pasted(self, carried: Carried) -> None:
        if carried.is_cut:
            self._cut.clear()
            # Unless something else is on it by now: pasted once more it would no longer be there.
            if carried_in(QGuiApplication.clipboard().mimeData()) == carried:
                QGuiApplication.clipboard().clear()

    def _new_folder(self, view: ObjectList) -> None:
        if view.place is not None:
            self._start("new folder", partial(self._make_folder, view.profile, view.place))

    async def _make_folder(self, profile: str, place: ObjectPath) -> None:
        title = say("New folder in {place}", place=str(place))
        check = partial(check_name, path=place.join("new/"))
        name = await asked_line(self._window, title, say("Name of the folder"), say("Create folder"), "", check)
        if name is not None:
            self._moving.make_folder(profile, place.join(f"{name}/"))

    def _rename_one(self, profile: str, paths: Sequence[ObjectPath]) -> None:
        if len(paths) == 1 and not paths[0].is_bucket:
            self._start("rename", partial(self._rename, profile, paths[0]))

    async def _rename(self, profile: str, path: ObjectPath) -> None:
        title = say("Rename “{name}”", name=path.name)
        label = say("New name of the folder (moves everything in it)") if path.is_folder else say("New name")
        check = partial(check_name, path=path)
        name = await asked_line(self._window, title, label, say("Rename"), path.name, check)
        if name is not None:
            self._moving.rename(profile, path, name)

    def _bring(self, is_move: bool, profile: str, paths: Sequence[ObjectPath]) -> None:
        paths = [path for path in paths if not path.is_bucket]
        if paths:
            self._start("move or copy to", partial(self._bring_to, is_move, profile, tuple(paths)))

    async def _bring_to(self, is_move: bool, profile: str, paths: tuple[ObjectPath, ...]) -> None:
        name, count = paths[0].name, len(paths)
        if is_move:
            one, many = say("Move “{name}”", name=name), say_count("Move {count} item", "Move {count} items", count)
            label, action = say("Folder to move to"), say("Move")
        else:
            one, many = say("Copy “{name}”", name=name), say_count("Copy {count} item", "Copy {count} items", count)
            label, action = say("Folder to copy to"), say("Copy")
        title = one if count == 1 else many
        place = await asked_line(self._window, title, label, action, str(paths[0].parent), ObjectPath.parse)
        if place is not None:
            target = ObjectPath.parse(place).as_folder()
            self._moving.put(Carried(profile, paths, is_cut=is_move), profile, target, self._ask_taken)

    async def _ask_taken(self, target: ObjectPath, names: Sequence[str]) -> Taken | None:
        if len(names) == 1:
            title, lines = (
                say("“{name}” already exists in {target}.", name=names[0].rstrip("/"), target=str(target)),
                [],
            )
        else:
            title = say_count(
                "{count} name already exists in {target}.",
                "{count} names already exist in {target}.",
                len(names),
                target=str(target),
            )
            shown = ", ".join(f"“{name.rstrip('/')}”" for name in names[:_NAMES_SHOWN])
            lines = [shown + (" …" if len(names) > _NAMES_SHOWN else "")]
        if any(name.endswith("/") for name in names):
            lines.append(say("“Replace” merges folders of the same name and replaces files that exist in both."))
        answers = (
            AnswerButton(Taken.REPLACE.value, say("Replace"), "danger"),
            AnswerButton(Taken.KEEP_BOTH.value, say("Keep both"), "primary"),
            AnswerButton(Taken.SKIP.value, say("Skip them")),
        )
        answer = await asked(self._window, title, "\n".join(lines), *answers)
        return None if answer == CANCEL else Taken(answer)

    def _escape_clears(self, widget: QWidget) -> None:
        shortcut = QShortcut(QKeySequence(Qt.Key.Key_Escape), widget)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self._cut.clear)
        shortcut.setEnabled(bool(self._cut))

        def follow() -> None:
            shortcut.setEnabled(bool(self._cut))

        self._cut.changed.connect(follow)
        widget.destroyed.connect(lambda: self._cut.changed.disconnect(follow))

    def _drag_soon(self, widget: QWidget, profile: str, entries: Sequence[ObjectEntry]) -> None:
        chosen = [entry for entry in entries if not entry.path.is_bucket]
        if self._dragged.fit(chosen):
            self._start("drag", partial(self._drag_with_files, widget, profile, chosen))
        elif chosen:
            self._drag(widget, profile, _paths(chosen), ())

    async def _drag_with_files(self, widget: QWidget, profile: str, entries: Sequence[ObjectEntry]) -> None:
        self._drag(widget, profile, _paths(entries), await self._dragged.fetched(profile, entries))

    def _drag(self, widget: QWidget, profile: str, paths: list[ObjectPath], files: Sequence[Path]) -> None:
        title = say("Download into this folder")

        def ask_where() -> None:
            choose_folder(widget, title, lambda folders: self._tree.download(paths, folders[0], profile))

        # Not now: this may be a task, and a drag turns a loop of its own.
        QTimer.singleShot(0, widget, partial(drag, widget, Carried(profile, tuple(paths)), files, ask_where))


def _with_paths(use: Callable[[str, list[ObjectPath]], None], view: ObjectList) -> None:
    profile = view.profile
    view.with_chosen(lambda entries: use(profile, _paths(entries)))


def _paths(entries: Sequence[ObjectEntry]) -> list[ObjectPath]:
    return [entry.path for entry in entries]
