"""“Properties…” and “Temporary link…” for the objects of a bucket's tab."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from traindeck.domain.objects import ObjectEntry, ObjectPath, count_words
from traindeck.domain.texts import say
from traindeck.ui.browser_view import CONTEXT, BrowserView
from traindeck.ui.link_page import LinkPage
from traindeck.ui.many_objects_page import ManyChangesPage, ManySummaryPage
from traindeck.ui.object_access_page import ObjectAccessPage
from traindeck.ui.object_general_page import ObjectGeneralPage
from traindeck.ui.object_metadata_page import ObjectMetadataPage
from traindeck.ui.object_storage_page import ObjectStoragePage
from traindeck.ui.object_versions_page import ObjectVersionsPage
from traindeck.ui.property_dialog import PropertyDialogs, PropertyPage
from traindeck.ui.theme import Theme
from traindeck.viewmodels.commands import Command
from traindeck.viewmodels.many_objects import ManyObjects
from traindeck.viewmodels.object_browser import ObjectBrowser
from traindeck.viewmodels.object_sheet import ObjectSheet
from traindeck.viewmodels.ports import Confirm, Tasks

MakeSheet = Callable[[str, ObjectPath], ObjectSheet]
"""Of an account's object."""
MakeMany = Callable[[str, Sequence[ObjectEntry]], ManyObjects]

_GROUP = 5


class ObjectPropertiesExtension:
    """Adds the commands to each new tab; the dialogs are those of the window."""

    def __init__(
        self,
        dialogs: PropertyDialogs,
        make_sheet: MakeSheet,
        make_many: MakeMany,
        theme: Theme,
        scope: Tasks,
        confirm: Confirm,
    ) -> None:
        self._dialogs = dialogs
        self._make_sheet = make_sheet
        self._make_many = make_many
        self._theme = theme
        self._scope = scope
        self._confirm = confirm

    def __call__(self, view: BrowserView, browser: ObjectBrowser) -> None:
        def has_chosen() -> bool:
            return bool(view.table.ranges())

        def has_one() -> bool:
            shown = view.model.shown(view.table.currentIndex())
            return view.table.count_selected() == 1 and shown is not None and not shown.entry.is_folder

        def properties() -> None:
            browser.with_chosen(view.table.ranges(), lambda chosen: self.show(browser, chosen))

        def link() -> None:
            browser.with_chosen(view.table.ranges(), lambda chosen: self.show(browser, chosen, say("Link")))

        view.commands.add(
            Command("object.properties", say("Properties…"), properties, has_chosen, "Alt+Return", CONTEXT, _GROUP),
            Command("object.link", say("Temporary link…"), link, has_one, "", CONTEXT, _GROUP, icon="key"),
        )

    def show(self, browser: ObjectBrowser, chosen: Sequence[ObjectEntry], page: str = "") -> None:
        if not chosen:
            return
        if len(chosen) == 1 and not chosen[0].is_folder:
            path = chosen[0].path
            self._dialogs.show(path.name, str(path), lambda: self._pages(browser, path), page)
            return
        first = chosen[0].path
        title = first.name if len(chosen) == 1 else say("{count} selected", count=count_words(len(chosen)))
        where = str(first) if len(chosen) == 1 else str(browser.state.place)
        key = "\n".join(str(entry.path) for entry in chosen)
        self._dialogs.show(title, where, lambda: self._pages_of_many(browser, chosen), key=key)

    def _pages(self, browser: ObjectBrowser, path: ObjectPath) -> list[PropertyPage]:
        sheet = self._make_sheet(browser.profile, path)

        def refresh() -> None:
            browser.touched(path.parent)

        sheet.changed.connect(refresh)
        return [
            ObjectGeneralPage(sheet, self._scope),
            ObjectMetadataPage(sheet, self._theme),
            ObjectStoragePage(sheet, self._scope),
            ObjectAccessPage(sheet, self._theme, self._confirm),
            ObjectVersionsPage(sheet, self._scope, self._confirm),
            LinkPage(sheet, self._theme, self._scope),
        ]

    def _pages_of_many(self, browser: ObjectBrowser, chosen: Sequence[ObjectEntry]) -> list[PropertyPage]:
        many = self._make_many(browser.profile, chosen)
        many.ended.connect(browser.refresh)
        return [
            ManySummaryPage(many),
            ManyChangesPage(many, self._theme, self._scope, self._confirm),
        ]
