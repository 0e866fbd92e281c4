"""“Properties…” and “Temporary link…” for the objects of a bucket's tab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QWidget

from traindeck.domain.errors import AppError
from traindeck.domain.storage.object_facts import ObjectVersion
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, count_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.cards import card, plain
from traindeck.ui.kit.fields import ChoiceBox, Field, WheelGuard
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_dialog import PropertyDialogs, PropertyPage
from traindeck.ui.kit.property_page import ActingPage
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.many_objects_page import ManyChangesPage, ManySummaryPage
from traindeck.ui.storage.object_pages import (
    ObjectAccessPage,
    ObjectGeneralPage,
    ObjectMetadataPage,
)
from traindeck.ui.storage.object_versions import ObjectStoragePage, ObjectVersionsPage
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.shell.commands import CONTEXT, Command
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.object_sheet import ManyObjects, ObjectSheet

READ, WRITE = "GET", "PUT"
_MINUTES = (5, 15, 60, 12 * 60, 24 * 60, 3 * 24 * 60, 7 * 24 * 60)
_USUAL_MINUTES = 60
_CURRENT = ""
_LINES = 5


class LinkPage(ActingPage):
    """The link is shown when it was asked for, and forgotten when the page is left."""

    icon = "key"
    is_form = False

    def __init__(self, sheet: ObjectSheet, theme: Theme, scope: Tasks) -> None:
        super().__init__(scope)
        self.title = say("Link")
        self._sheet = sheet
        self.purpose, self.lasts, self.version = ChoiceBox(), ChoiceBox(), ChoiceBox()
        self._guard = WheelGuard(self)
        self._guard.watch(self.purpose, self.lasts, self.version)
        self.purpose.offer(
            ((say("Read the object"), READ), (say("Write the object (upload)"), WRITE)),
            READ,
            is_known=True,
            placeholder="",
        )
        self.lasts.offer(
            [(_lasting_words(minutes), str(minutes)) for minutes in _MINUTES],
            str(_USUAL_MINUTES),
            is_known=True,
            placeholder="",
        )
        self.version_field = Field(say("Version"), self.version)
        self.make = QPushButton(say("Make link"))
        set_role(self.make, "primary")
        self.make.setAutoDefault(False)
        self.made = QWidget()
        self.shown = QPlainTextEdit()
        self.shown.setReadOnly(True)
        self.shown.setFont(theme.mono_font())
        self.shown.setAccessibleName(say("Link"))
        self.shown.setFixedHeight(_LINES * self.shown.fontMetrics().lineSpacing() + 2 * SPACE)
        self.copy = QPushButton(say("Copy"))
        self.copy.setAutoDefault(False)
        self.warning = plain("")
        column_of(
            self.shown,
            self.warning,
            (self.copy, 0, Qt.AlignmentFlag.AlignLeft),
            inside=self.made,
            margins=0,
            spacing=SPACE,
        )
        fields: list[QWidget] = [
            Field(say("What it is for"), self.purpose),
            Field(say("How long it is good"), self.lasts),
            self.version_field,
        ]
        self.column.addWidget(card(say("Temporary link"), [*fields, self.make]))
        self.column.addWidget(self.made)
        self.column.addWidget(self.outcome)
        self.column.addStretch(1)
        self.make.clicked.connect(self._make)
        self.copy.clicked.connect(self._copy)
        for box in (self.purpose, self.lasts, self.version):
            box.chosen.connect(self._on_chosen)
        self.forget()

    async def load(self) -> None:
        self.forget()
        try:
            versions = await self._sheet.versions()
        except AppError:
            versions = ()  # the link to the object itself needs none
        self._offer(versions)

    def forget(self) -> None:
        """Nobody who looks at the page later finds the link."""
        self.shown.clear()
        self.made.hide()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():  # not for a window that was only made small
            self.forget()
            self.say_outcome("")

    def _offer(self, versions: Sequence[ObjectVersion]) -> None:
        choices = [(say("The object as it is then"), _CURRENT)]
        choices += [
            (f"{moment_words(one.modified) if one.modified else ''} {one.version}".strip(), one.version)
            for one in versions
            if not one.is_marker and one.version
        ]
        self.version.clear()
        self.version.offer(choices, _CURRENT, is_known=True, placeholder="")
        self.version.setCurrentIndex(0)
        self._on_chosen()

    def _on_chosen(self) -> None:
        self.forget()
        self.say_outcome("")
        is_reading = self.purpose.currentData() == READ
        self.version_field.setVisible(is_reading and self.version.count() > 2)

    def _make(self) -> None:
        self.act(say("Making it…"), self._made, self.make)

    async def _made(self) -> str:
        method = str(self.purpose.currentData())
        version = str(self.version.currentData() or "") if self.version_field.isVisible() else ""
        link = await self._sheet.link(timedelta(minutes=int(self.lasts.currentData())), method, version)
        if not self.isVisible():
            return ""
        until = moment_words(link.until)
        warning = (
            say("Anyone who has this link can read the object until {moment}, without keys.", moment=until)
            if link.method == READ
            else say(
                "Anyone who has this link can replace the object until {moment}, without keys. It is used without a "
                "content type, for example: curl -T FILE LINK",
                moment=until,
            )
        )
        if link.ends_with_token:
            warning += " " + say("These keys are temporary: the link ends with them, if that is sooner.")
        warning += " " + say("It cannot be taken back, and it is not kept here.")
        self.warning.setText(warning)
        self.shown.setPlainText(link.address)
        self.made.show()
        return ""

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.shown.toPlainText())
        self.say_outcome(say("Copied."))


def _lasting_words(minutes: int) -> str:
    if minutes < 60:
        return say("{count} minutes", count=minutes)
    if minutes < 24 * 60:
        return say("{count} hours", count=minutes // 60) if minutes > 60 else say("1 hour")
    days = minutes // (24 * 60)
    return say("{count} days", count=days) if days > 1 else say("1 day")


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

    def extend(self, view: BrowserView, browser: ObjectBrowser) -> None:
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
