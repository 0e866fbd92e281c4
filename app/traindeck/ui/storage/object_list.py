"""Where objects are chosen: the tab of a bucket and the tree of all buckets, extended in one way."""

from __future__ import annotations

from collections.abc import Callable

from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.bucket_view import BucketView

ObjectList = BrowserView | BucketView
"""Its `commands` are its context menu, its keys and its part of the palette."""

Extend = Callable[[ObjectList], None]
"""Adds what a room has for a new one: commands, mostly."""
