"""The dialogs of bucket settings of one window, and the commands that open them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from traindeck.domain.texts import say
from traindeck.ui.browser_view import CONTEXT, BrowserView
from traindeck.ui.bucket_settings_pages import bucket_settings_pages
from traindeck.ui.property_dialog import PropertyDialog, PropertyDialogs
from traindeck.ui.theme import Theme
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.commands import Command
from traindeck.viewmodels.object_browser import ObjectBrowser
from traindeck.viewmodels.ports import Tasks

MakeDesk = Callable[[str, str], BucketDesk]
"""For an account and a bucket."""


class BucketSettingsDialogs:
    """One for each bucket of each account."""

    def __init__(self, dialogs: PropertyDialogs, make_desk: MakeDesk, theme: Theme, tasks: Tasks) -> None:
        self._dialogs = dialogs
        self._make_desk = make_desk
        self._theme = theme
        self._tasks = tasks

    def show(self, profile: str, bucket: str, page: str = "") -> PropertyDialog:
        """`page` is the title of the one to begin with."""
        address = say("{place}, account {profile}", place=f"obs://{bucket}/", profile=profile)
        desk = self._make_desk(profile, bucket)
        make = partial(bucket_settings_pages, desk, self._theme, self._tasks)
        return self._dialogs.show(say("Bucket settings"), address, make, page)

    def extend(self, view: BrowserView, browser: ObjectBrowser) -> None:
        """The command in the tab of a bucket."""

        def show() -> None:
            self.show(browser.profile, browser.state.place.bucket)

        view.commands.add(Command("bucket.settings", say("Bucket settings…"), show, menu=CONTEXT, group=5, icon="form"))
