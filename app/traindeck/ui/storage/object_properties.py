"""“Properties…” and “Temporary link…” for the objects of a bucket's tab, one or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, count_words
from traindeck.domain.texts import say
from traindeck.ui.kit.property_dialog import PropertyDialogs, PropertyPage
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.active_list import ANY, LIST, ONE_FILE, ActiveList
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import FILE, OBJECTS
from traindeck.viewmodels.storage.object_sheet import ManyObjects, ObjectSheet

MakeSheet = Callable[[str, ObjectPath], ObjectSheet]
"""Of an account's object."""
MakeMany = Callable[[str, Sequence[ObjectEntry]], ManyObjects]


@dataclass(eq=False)
class ObjectPropertiesDialogs:
    """Of one object or of many; the dialogs are those of the window."""

    dialogs: PropertyDialogs
    make_sheet: MakeSheet
    make_many: MakeMany
    theme: Theme
    scope: Tasks
    confirm: Confirm
    touched: Callable[[ObjectPath], None]
    """What is in this folder is other than it was."""
    show_bucket: Callable[[str, str], object]
    """The settings, in this account, of this bucket."""

    def commands(self, active: ActiveList) -> list[Command]:
        def show(page: str, view: ObjectList) -> None:
            view.with_chosen(partial(self.show, view.profile, view.place, page))

        def of_page(command_id: str, title: str, page: str, icon: str) -> Command:
            return active.command(
                command_id, title, partial(show, page), ONE_FILE, 5,
                submenu=say("Ob&ject"), contexts=(FILE,) if page == links else (), icon=icon,
            )  # fmt: skip

        properties, links = partial(show, ""), say("Link")
        return [
            active.command(
                "object.properties", say("Properties…"), properties, ANY, 5,
                contexts=OBJECTS, icon="info", shortcut="Alt+Return", scope=LIST,
            ),
            of_page("object.link", say("Temporary link…"), links, "key"),
            of_page("object.versions", say("Versions…"), say("Versions"), "clock"),
            of_page("object.metadata", say("Metadata…"), say("Metadata"), "form"),
            of_page("object.access", say("ACL of the object…"), say("Access"), "lock"),
            of_page("object.storage", say("Storage class and restore…"), say("Storage"), "bucket"),
        ]  # fmt: skip

    def show(self, profile: str, place: ObjectPath | None, page: str, chosen: Sequence[ObjectEntry]) -> None:
        if len(chosen) == 1 and chosen[0].path.is_bucket:
            self.show_bucket(profile, chosen[0].path.bucket)
            return
        chosen = [entry for entry in chosen if not entry.path.is_bucket]
        if not chosen:
            return
        if len(chosen) == 1 and not chosen[0].is_folder:
            path = chosen[0].path
            self.dialogs.show(path.name, str(path), lambda: self._pages(profile, path), page)
            return
        first = chosen[0].path
        title = first.name if len(chosen) == 1 else say("{count} selected", count=count_words(len(chosen)))
        where = str(first) if len(chosen) == 1 else str(place or first.parent)
        key = "\n".join(str(entry.path) for entry in chosen)
        self.dialogs.show(title, where, lambda: self._pages_of_many(profile, chosen), key=key)

    def _pages(self, profile: str, path: ObjectPath) -> list[PropertyPage]:
        # Seldom seen, and much to load.
        from traindeck.ui.storage.object_pages import LinkPage, ObjectAccessPage, ObjectGeneralPage, ObjectMetadataPage
        from traindeck.ui.storage.object_versions import ObjectStoragePage, ObjectVersionsPage

        sheet = self.make_sheet(profile, path)
        sheet.changed.connect(partial(self.touched, path.parent))
        return [
            ObjectGeneralPage(sheet, self.scope),
            ObjectMetadataPage(sheet, self.theme),
            ObjectStoragePage(sheet, self.scope),
            ObjectAccessPage(sheet, self.theme, self.confirm),
            ObjectVersionsPage(sheet, self.scope, self.confirm),
            LinkPage(sheet, self.theme, self.scope),
        ]

    def _pages_of_many(self, profile: str, chosen: Sequence[ObjectEntry]) -> list[PropertyPage]:
        from traindeck.ui.storage.many_objects_pages import ManyChangesPage, ManySummaryPage  # seldom seen

        many = self.make_many(profile, chosen)

        touched, folders = self.touched, {entry.path.parent for entry in chosen}  # not the dialogs: they hold the pages

        def refresh() -> None:
            for folder in folders:
                touched(folder)

        many.ended.connect(lambda _: refresh())
        return [ManySummaryPage(many), ManyChangesPage(many, self.theme, self.scope, self.confirm)]
