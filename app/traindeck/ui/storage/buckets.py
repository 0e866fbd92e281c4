"""What the window does with whole buckets: making them, showing and changing who gets in, removing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtWidgets import QWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.dialogs import shown
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.active_list import PLACE, ActiveList
from traindeck.ui.storage.bucket_view import BucketView, RemovalRows
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.ports import ConfirmLoss, Tasks
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import BUCKET, NOTHING
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.buckets import BucketRemovals, BucketService, NewBucketForm


@dataclass(eq=False)
class BucketDialogs:
    """The dialogs about whole buckets: to make one, to see and change its settings and who gets in, to remove it."""

    dialogs: PropertyDialogs
    theme: Theme
    tasks: Tasks
    window: QWidget
    marks: PublicMarks
    removals: BucketRemovals
    confirm: ConfirmLoss
    new: Callable[[], NewBucketForm]
    """A new bucket of the account in use."""
    rights: Callable[[str, str], BucketAccess]
    """Who gets, in this account, into this bucket."""
    service: Callable[[str, str], BucketService]
    """The settings, in this account, of this bucket."""
    empty: Callable[[str, ObjectPath], None]
    """Deletes all objects of a bucket, in this account."""

    def attach(self, view: BucketView) -> None:
        """What the panel asks for, and what goes on with buckets below them."""
        view.show_beside(RemovalRows(self.removals), self.marks)
        view.new_wanted.connect(self.make_bucket)
        view.removal_wanted.connect(self._remove)

    def make_bucket(self) -> None:
        from traindeck.ui.storage.new_bucket_dialog import NewBucketDialog  # seldom seen

        dialog = NewBucketDialog(self.new(), self.theme, self.window)

        async def show() -> None:
            await shown(dialog)

        if not self.tasks.start("make a bucket", show):
            dialog.deleteLater()

    def show(self, profile: str, bucket: str, page: str = "") -> PropertyDialog:
        """The settings; `page` is the title of the one to begin with. There is one dialog for each bucket."""
        address = say("{place}, account {profile}", place=f"obs://{bucket}/", profile=profile)
        return self.dialogs.show(say("Bucket settings"), address, partial(self._pages, profile, bucket), page)

    def commands(self, active: ActiveList) -> list[Command]:
        """Settings and rights from wherever one is in a bucket."""

        def show(page: str, view: ObjectList) -> None:
            if view.place is not None:
                self.show(view.profile, view.place.bucket, page)

        def of_page(command_id: str, title: str, page: str, icon: str) -> Command:
            return active.command(
                command_id, title, partial(show, page), PLACE, 6, submenu=say("&Bucket"), contexts=(BUCKET,), icon=icon
            )

        def remove(view: ObjectList) -> None:
            if view.place is not None:
                self._remove(view.profile, [view.place.bucket])

        def empty(view: ObjectList) -> None:
            if view.place is not None:
                self.empty(view.profile, ObjectPath(view.place.bucket))

        submenu = say("&Bucket")
        new = Command(
            "bucket.new", say("New bucket…"), self.make_bucket,
            menu="storage", group=6, submenu=submenu, contexts=(BUCKET, NOTHING), icon="plus",
        )  # fmt: skip
        gone = partial(active.command, need=PLACE, group=7, submenu=submenu)
        return [
            new,
            of_page("bucket.settings", say("Bucket settings…"), "", "form"),
            of_page("bucket.access", say("Bucket policy and ACL…"), say("Access"), "lock"),
            of_page("bucket.versioning", say("Versioning, storage class and quota…"), say("General"), "bucket"),
            of_page("bucket.lifecycle", say("Lifecycle rules…"), say("Lifecycle"), "clock"),
            of_page("bucket.cors", say("CORS rules…"), say("CORS"), "globe"),
            of_page("bucket.tags", say("Tags…"), say("Tags"), "tag"),
            of_page("bucket.fragments", say("Fragments…"), say("Fragments"), "fragments"),
            gone("bucket.empty", say("Empty bucket…"), empty),
            gone("bucket.delete", say("Delete bucket…"), remove, icon="trash"),
        ]

    def _pages(self, profile: str, bucket: str) -> list[PropertyPage]:
        # Seldom seen, and much to load.
        from traindeck.ui.storage.access_page import AccessPage
        from traindeck.ui.storage.bucket_fragments_page import BucketFragmentsPage
        from traindeck.ui.storage.bucket_general_page import BucketGeneralPage
        from traindeck.ui.storage.bucket_rules_pages import BucketCorsPage, BucketLifecyclePage, BucketTagsPage

        service, rights = self.service(profile, bucket), self.rights(profile, bucket)
        rights.saved.connect(partial(self.marks.look_again, profile))
        return [
            BucketGeneralPage(service),
            AccessPage(rights, self.theme),
            BucketTagsPage(service, self.theme),
            BucketCorsPage(service, self.theme),
            BucketLifecyclePage(service, self.theme),
            BucketFragmentsPage(service, self.tasks),
        ]

    def _remove(self, profile: str, buckets: list[str]) -> None:
        self.removals.remove(profile, buckets, self.confirm)
