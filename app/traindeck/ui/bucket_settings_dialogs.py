"""The dialogs of bucket settings of one window, and the commands that open them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from traindeck.domain.texts import say
from traindeck.ui.browser_view import CONTEXT, BrowserView
from traindeck.ui.bucket_settings_pages import bucket_settings_pages
from traindeck.ui.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.theme import Theme
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.commands import Command
from traindeck.viewmodels.object_browser import ObjectBrowser
from traindeck.viewmodels.ports import Tasks

MakeDesk = Callable[[str, str], BucketDesk]
"""For an account and a bucket."""

MorePages = Callable[[str, str], Sequence[PropertyPage]]
"""What others have to show of this bucket of this account."""


def _no_more(profile: str, bucket: str) -> Sequence[PropertyPage]:
    return ()


class BucketSettingsDialogs:
    """One for each bucket of each account."""

    def __init__(
        self,
        dialogs: PropertyDialogs,
        make_desk: MakeDesk,
        theme: Theme,
        tasks: Tasks,
        more: MorePages = _no_more,
    ) -> None:
        self._dialogs = dialogs
        self._make_desk = make_desk
        self._theme = theme
        self._tasks = tasks
        self._more = more

    def show(self, profile: str, bucket: str, page: str = "") -> PropertyDialog:
        """`page` is the title of the one to begin with."""
        address = say("{place}, account {profile}", place=f"obs://{bucket}/", profile=profile)
        return self._dialogs.show(say("Bucket settings"), address, partial(self._pages, profile, bucket), page)

    def _pages(self, profile: str, bucket: str) -> list[PropertyPage]:
        first, *others = bucket_settings_pages(self._make_desk(profile, bucket), self._theme, self._tasks)
        return [first, *self._more(profile, bucket), *others]

    def extend(self, view: BrowserView, browser: ObjectBrowser) -> None:
        """The command in the tab of a bucket."""

        def show() -> None:
            self.show(browser.profile, browser.state.place.bucket)

        view.commands.add(Command("bucket.settings", say("Bucket settings…"), show, menu=CONTEXT, group=5, icon="form"))
