"""The room of buckets and objects: the tree, the tabs, and the dialogs about what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtWidgets import QWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.property_dialog import PropertyDialogs
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import Make
from traindeck.ui.storage.active_list import LIST, ROWS, ActiveList
from traindeck.ui.storage.browser_tabs import BrowserTabs, FolderPage
from traindeck.ui.storage.bucket_view import BucketView
from traindeck.ui.storage.buckets import BucketDialogs
from traindeck.ui.storage.folder_commands import deleted_command, pack_command
from traindeck.ui.storage.list_commands import list_commands
from traindeck.ui.storage.object_actions import ObjectActions
from traindeck.ui.storage.object_list import ObjectList
from traindeck.ui.storage.object_properties import ObjectPropertiesDialogs
from traindeck.viewmodels.accounts.accounts import Accounts
from traindeck.viewmodels.rooms import StorageRoom
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.finding import PaletteEntry
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.storage.buckets import NewBucketForm


class StorageFeature(Feature):
    """Buckets are those of the account in use."""

    def __init__(self, shell: Shell, room: StorageRoom, accounts: Accounts) -> None:
        super().__init__(shell)
        self._room = room
        self._accounts = accounts
        window, theme, tasks = shell.window, shell.theme, shell.tasks
        room.buckets.ask_with(shell.choose)
        self.active = ActiveList(shell.commands, theme)
        self.properties = PropertyDialogs(theme, tasks, window)
        self.settings = BucketDialogs(
            self.properties,
            theme,
            tasks,
            window,
            room.marks,
            room.removals,
            shell.confirm_loss,
            self._new_bucket,
            room.rights,
            room.settings,
            self._empty,
        )
        self._actions = ObjectActions(
            room.moving, room.cut, room.buckets, room.dragged, shell.confirm, tasks.start, window
        )
        self._of_objects = ObjectPropertiesDialogs(
            self.properties,
            room.sheet,
            room.bulk.of,
            theme,
            tasks,
            shell.confirm,
            room.buckets.was_touched,
            self.settings.show,
        )
        self.browsers = BrowserTabs(
            window, room.browse, room.buckets, room.favourites, theme, shell.confirm, room.marks, shell.extend
        )

    def panels(self) -> Mapping[str, Make]:
        return {"buckets": self._tree}

    def news(self) -> Subscriptions:
        room = self._room
        return [
            (room.buckets.opened, self.open_bucket),
            (self.active.changed, self.shell.commands.refresh),
            (room.removals.removed, self._bucket_removed),
            (room.removals.touched, self._place_touched),
            (room.changes.touched, self._place_touched),
            (room.changes.arrived, self._place_arrived),
            (self._accounts.changed, self._account_changed),
        ]

    def commands(self) -> Iterable[Command]:
        active = self.active
        return [
            *list_commands(active),
            *self._actions.commands(active),
            pack_command(active, self._pack, self.shell.commands.run),
            deleted_command(active, self._room.deleted, self.shell.window),
            *self._of_objects.commands(active),
            *self.settings.commands(active),
        ]

    def offers(self) -> Iterable[PaletteEntry]:
        room, profile = self._room, self._accounts.current
        for place in room.favourites.of(profile):
            yield PaletteEntry(f"place.{place}", str(place), partial(self.open_bucket, place), say("Favorite"), "star")
        for name in room.buckets.bucket_names():
            place = ObjectPath(name)
            yield PaletteEntry(f"place.{place}", name, partial(self.open_bucket, place), say("Bucket"), "bucket")

    def extend(self, view: ObjectList) -> None:
        self._actions.extend(view)
        self.active.add(view)
        self.shell.window.menus.give_keys(LIST, view)
        self.shell.window.menus.give_keys(ROWS, view.rows)

    # pages

    def open_bucket(self, place: ObjectPath) -> None:
        self.browsers.open(self._accounts.current, place)
        self.shell.window.give_page_keys()

    def restore(self, page: object) -> bool:
        if isinstance(page, FolderPage):
            self.browsers.reopen(self._accounts.current, page)
        return isinstance(page, FolderPage)

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.PLACE and topic.profile in ("", self._accounts.current):
            self.browsers.show(self._accounts.current, ObjectPath.parse(topic.name))
        return topic.subject is Subject.PLACE

    def shown_on(self, key: str) -> object | None:
        return self.browsers.page_on(key)

    def page_closed(self, key: str) -> None:
        self.browsers.closed(key)

    def dispose(self) -> None:
        self.browsers.dispose()

    # inside

    def _tree(self) -> QWidget:
        view = BucketView(self._room.buckets, self.shell.theme, self.shell.confirm)
        self.settings.attach(view)
        self.shell.extend(view)
        return view

    def _new_bucket(self) -> NewBucketForm:
        profile = self._accounts.current
        return self._room.new_bucket(profile, partial(self._bucket_made, profile))

    def _pack(self, profile: str, source: ObjectPath, target: ObjectPath) -> None:
        self._room.buckets.pack(source, target, self.shell.confirm, profile)
        self.shell.show_dock("transfers")

    def _empty(self, profile: str, bucket: ObjectPath) -> None:
        self._room.buckets.empty(bucket, self.shell.confirm, profile)

    def _account_changed(self) -> None:
        self._room.buckets.use_profile(self._accounts.current)
        self.browsers.keep_only(self._accounts.current)

    def _bucket_made(self, profile: str, bucket: str) -> None:
        self._room.buckets.refresh(None)
        self._room.moving.appeared.emit(profile, ObjectPath(bucket))

    def _bucket_removed(self, profile: str, bucket: str) -> None:
        self.browsers.close_bucket(profile, bucket)
        if profile == self._accounts.current:
            self._room.buckets.refresh(None)

    def _place_touched(self, profile: str, folder: ObjectPath) -> None:
        if profile == self._accounts.current:
            self._room.buckets.was_touched(folder)

    def _place_arrived(self, profile: str, folder: ObjectPath) -> None:
        if profile == self._accounts.current:
            self._room.buckets.arrived.emit(folder)
