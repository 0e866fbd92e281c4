"""The pages of a bucket's settings, in their order."""

from __future__ import annotations

from traindeck.ui.bucket_cors_page import BucketCorsPage
from traindeck.ui.bucket_fragments_page import BucketFragmentsPage
from traindeck.ui.bucket_general_page import BucketGeneralPage
from traindeck.ui.bucket_lifecycle_page import BucketLifecyclePage
from traindeck.ui.bucket_tags_page import BucketTagsPage
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.theme import Theme
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.ports import Tasks


def bucket_settings_pages(desk: BucketDesk, theme: Theme, tasks: Tasks) -> list[PropertyPage]:
    return [
        BucketGeneralPage(desk),
        BucketTagsPage(desk, theme),
        BucketCorsPage(desk, theme),
        BucketLifecyclePage(desk, theme),
        BucketFragmentsPage(desk, tasks),
    ]
