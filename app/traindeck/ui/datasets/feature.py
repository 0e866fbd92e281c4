"""The room of datasets: making a small copy, looking before anything is used, and reading shards in training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.dialogs import choose_folder, chosen_place
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.storage.active_list import ActiveList
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.accounts.accounts import Accounts
from traindeck.viewmodels.datasets.dataset_look import DatasetReportPage
from traindeck.viewmodels.rooms import DatasetsRoom
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import FOLDERS

_TAB = "dataset."
_GROUP = 3
_LOADERS = {"pytorch": "pytorch_shards.py", "mindspore": "mindspore_shards.py"}


class DatasetsFeature(Feature):
    """A tab for each place that was looked at, a dialog for each small copy."""

    def __init__(self, shell: Shell, room: DatasetsRoom, accounts: Accounts, active: ActiveList) -> None:
        super().__init__(shell)
        self._room = room
        self._accounts = accounts
        self._active = active
        self._open: dict[str, DatasetReportPage] = {}

    def commands(self) -> Iterable[Command]:
        folder = say("&Folder")
        at = partial(Command, menu="storage", group=_GROUP, submenu=folder)
        return [
            at("dataset.look", say("Look at the dataset"), self._look_here, contexts=FOLDERS, icon="eye"),
            at("dataset.mini", say("Make a small copy…"), self._mini_here, contexts=FOLDERS, icon="copy"),
            at("dataset.look_local", say("Look at a dataset on this computer…"), self._look_local, icon="eye"),
            at("dataset.loader_pytorch", say("Save the PyTorch loader of shards…"), partial(self._loader, "pytorch")),
            at(
                "dataset.loader_mindspore", say("Save the MindSpore loader of shards…"),
                partial(self._loader, "mindspore"),
            ),
        ]  # fmt: skip

    def news(self) -> Subscriptions:
        return [(self._room.look_wanted, self._look_at)]

    def look(self, place: str, profile: str = "", *, by_names: bool = False) -> None:
        """Of a folder of this computer its contents, too; of one in a bucket what its listing tells."""
        key = f"{_TAB}{profile}\n{place}"
        page = self._open.get(key)
        title = say("Dataset {name}", name=place.rstrip("/").rpartition("/")[2] or place)
        view = self.shell.window.open_tab(key, title, partial(self._view, key))
        view.setFocus()
        self.shell.window.give_page_room()
        if page is None:
            page = self._open[key]
            page.look(contents=page.is_local and not by_names)

    def mini(self, source: str, profile: str = "") -> None:
        from traindeck.ui.datasets.mini_dialog import MiniDialog  # when it is asked for

        MiniDialog(self._room.mini(profile or self._accounts.current, source), self.shell.window).show()

    def restore(self, page: object) -> bool:
        if not isinstance(page, str) or not page.startswith(_TAB):
            return False
        profile, _, place = page.removeprefix(_TAB).partition("\n")
        try:
            self.look(place, profile, by_names=True)  # nobody asked for more than to have the page again
        except AppError:
            return False  # what was kept of another start may be anything
        return True

    def page_closed(self, key: str) -> None:
        if page := self._open.pop(key, None):
            page.close()

    def _view(self, key: str) -> QWidget:
        from traindeck.ui.datasets.report_view import DatasetReportView  # when it is asked for

        profile, _, place = key.removeprefix(_TAB).partition("\n")
        page = self._room.report(profile or self._accounts.current, place)
        self._open[key] = page
        view = DatasetReportView(page, self.shell.theme)
        view.mini_wanted.connect(partial(self.mini, profile=profile))
        return view

    def _look_at(self, folder: Path) -> None:
        self.look(str(folder))

    def _look_here(self) -> None:
        if not self._with_folder(lambda view, place: self.look(str(place.as_folder()), view.profile)):
            self._look_local()

    def _mini_here(self) -> None:
        if not self._with_folder(lambda view, place: self.mini(str(place.as_folder()), view.profile)):
            self.mini("")

    def _with_folder(self, act: Callable[[ObjectList, ObjectPath], None]) -> bool:
        """False: no folder is open or selected."""
        view: ObjectList | None = self._active.current
        if view is None or (view.place is None and not view.count_chosen()):
            return False
        view.with_folder(partial(act, view))
        return True

    def _look_local(self) -> None:
        choose_folder(self.shell.window, say("The dataset"), lambda found: self.look(str(found[0].absolute())))

    def _loader(self, framework: str) -> None:
        self.shell.tasks.start("save a loader", partial(self._save_loader, framework))

    async def _save_loader(self, framework: str) -> None:
        place = await chosen_place(
            self.shell.window, say("Save the loader of shards"), _LOADERS[framework], "Python (*.py)"
        )
        if place is not None:
            await self._room.save_loader(framework, place)
