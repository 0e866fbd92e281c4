"""The tabs of buckets, and the mark of those that everybody may enter."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud
from support.frame_bench import frame
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, Template, template_policy
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.storage.browser_tabs import BrowserTabs
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites


async def test_the_tab_of_a_public_bucket_is_marked_for_as_long_as_it_is_public(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        for name in ("closed", "open"):
            await cloud.storage.create_bucket(name)
        cloud.access.policies["open"] = template_policy(Template.PUBLIC_READ, "open", PolicyForm.OBS)
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        marks = PublicMarks(cloud.connections, tree, cloud.scope)
        favourites = Favourites(SettingsFile(cloud.paths.settings), cloud.disk, cloud.scope, Settings())

        def browse(profile: str, place: ObjectPath, name: str) -> ObjectBrowser:
            return ObjectBrowser(
                profile, place, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, name
            )

        with frame(qapp, cloud.scope, tmp_path) as at:
            tabs, bar = at.window.tabs, at.window.tabs.tabBar()
            browsers = BrowserTabs(at.window, browse, tree, favourites, at.theme, User(), marks, lambda _: None)
            at.window.tab_closed.connect(browsers.closed)
            browsers.open("lab", ObjectPath("open"))
            browsers.open("lab", ObjectPath("closed"))
            assert tabs.tabIcon(0).isNull(), "nobody has looked yet"
            tree.use_profile("lab")
            await until(lambda: marks.of("closed") is not None and marks.words("open"))
            assert not tabs.tabIcon(0).isNull() and tabs.tabIcon(1).isNull()
            assert tabs.tabToolTip(0) == "Public: anyone on the internet can read objects."
            assert bar.accessibleTabName(0) == "open. Public: anyone on the internet can read objects."
            assert tabs.tabToolTip(1) == "" and "ublic" not in bar.accessibleTabName(1)
            browsers.browser("closed").go(ObjectPath("open"))
            await until(lambda: not tabs.tabIcon(1).isNull())
            cloud.access.policies["open"] = ""
            marks.look_again("lab", "open")
            assert tabs.tabIcon(0).isNull() and tabs.tabToolTip(0) == ""
            await until(lambda: marks.of("open") is not None)
            browsers.close_bucket("lab", "open")
            assert at.window.open_tabs() == []
            browsers.dispose()
