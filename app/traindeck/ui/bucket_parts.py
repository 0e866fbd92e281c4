"""What the window does with whole buckets: making them, showing and changing who gets in, removing them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from traindeck.domain.texts import say
from traindeck.ui.access_page import AccessPage
from traindeck.ui.browser_view import CONTEXT, BrowserView
from traindeck.ui.bucket_view import BucketView
from traindeck.ui.dialogs import shown
from traindeck.ui.new_bucket_dialog import NewBucketDialog
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.removal_rows import RemovalRows
from traindeck.ui.theme import Theme
from traindeck.viewmodels.bucket_access import BucketAccess
from traindeck.viewmodels.bucket_removals import BucketRemovals
from traindeck.viewmodels.commands import Command
from traindeck.viewmodels.new_bucket import NewBucketForm
from traindeck.viewmodels.object_browser import ObjectBrowser
from traindeck.viewmodels.ports import ConfirmLoss, Tasks
from traindeck.viewmodels.public_marks import PublicMarks

Form = Callable[[], NewBucketForm]
"""A new bucket of the account in use."""
Rights = Callable[[str, str], BucketAccess]
"""Who gets, in this account, into this bucket."""
Show = Callable[[str, str, str], object]
"""Shows, of this account, the settings of this bucket, beginning with the page of this title."""


class BucketParts:
    """Between the buckets' panel and the dialogs; `made` and `rights` give what a dialog shows."""

    def __init__(
        self,
        view: BucketView,
        theme: Theme,
        scope: Tasks,
        marks: PublicMarks,
        removals: BucketRemovals,
        made: Form,
        rights: Rights,
        confirm: ConfirmLoss,
    ) -> None:
        self._view = view
        self._theme = theme
        self._scope = scope
        self._marks = marks
        self._removals = removals
        self._made = made
        self._rights = rights
        self._confirm = confirm
        view.show_beside(RemovalRows(removals), marks)

    def start(self, window: QWidget, profile: Callable[[], str], show: Show) -> None:
        """From now on the panel is answered."""
        self._window = window
        self._profile = profile
        self._show = show
        self._view.new_wanted.connect(self.make_bucket)
        self._view.access_wanted.connect(self.show_access)
        self._view.removal_wanted.connect(self._remove)

    def make_bucket(self) -> None:
        dialog = NewBucketDialog(self._made(), self._theme, self._window)

        async def show() -> None:
            await shown(dialog)

        if not self._scope.start("make a bucket", show):
            dialog.deleteLater()

    def show_access(self, bucket: str) -> None:
        self._show(self._profile(), bucket, say("Access"))

    def pages(self, profile: str, bucket: str) -> list[PropertyPage]:
        """Those about who gets in."""
        model = self._rights(profile, bucket)
        model.saved.connect(self._marks.look_again)
        return [AccessPage(model, self._theme)]

    def extend(self, view: BrowserView, browser: ObjectBrowser) -> None:
        """The same from the tab of a bucket."""

        def show() -> None:
            self._show(browser.profile, browser.state.place.bucket, say("Access"))

        view.commands.add(Command("bucket.access", say("Access…"), show, menu=CONTEXT, group=5, icon="lock"))

    def _remove(self, buckets: list[str]) -> None:
        self._removals.remove(self._profile(), buckets, self._confirm)
