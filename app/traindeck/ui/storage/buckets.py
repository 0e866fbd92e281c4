"""What the window does with whole buckets: making them, showing and changing who gets in, removing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from traindeck.domain.storage.buckets import StorageClass
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import say, text
from traindeck.ui.kit.cards import show_words
from traindeck.ui.kit.dialogs import shown
from traindeck.ui.kit.fields import label_of
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.access_page import TEMPLATES, AccessPage
from traindeck.ui.storage.active_list import PLACE, ActiveList
from traindeck.ui.storage.bucket_fragments_page import BucketFragmentsPage
from traindeck.ui.storage.bucket_general_page import BucketGeneralPage
from traindeck.ui.storage.bucket_rules_pages import (
    BucketCorsPage,
    BucketLifecyclePage,
    BucketTagsPage,
)
from traindeck.ui.storage.bucket_view import BucketView, RemovalRows
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.ports import ConfirmLoss, Tasks
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import BUCKET, NOTHING
from traindeck.viewmodels.shell.status import region_words
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.buckets import BucketRemovals, BucketService, NewBucketForm

_WIDTH = 520
_TEMPLATES = (Template.PRIVATE, Template.PUBLIC_READ, Template.PUBLIC_READ_LIST, Template.PUBLIC_READ_WRITE)
_CLASSES = {
    StorageClass.STANDARD.value: text("Standard: for data that is read often"),
    StorageClass.WARM.value: text(
        "Infrequent Access: lower storage cost, higher read cost; charged for at least 30 days"
    ),
    StorageClass.COLD.value: text("Archive: lowest storage cost; restoring takes hours; charged for at least 90 days"),
}


class NewBucketDialog(QDialog):
    """Binds a NewBucketForm; it closes when the bucket is there."""

    def __init__(self, form: NewBucketForm, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = form
        self._theme = theme
        self.setWindowTitle(say("New bucket"))
        self.setMinimumWidth(_WIDTH)
        self.name, self.problem, self.note = QLineEdit(), sentence("", "error"), sentence("", "small")
        self.region, self.classes, self.access = QLabel(), QComboBox(), QComboBox()
        self.meaning, self.error = sentence("", "small"), sentence("", "error")
        self.create_button = QPushButton(say("Create bucket"))
        self.buttons = QDialogButtonBox()
        self.name.setPlaceholderText(say("e.g. my-team-data"))
        for template in _TEMPLATES:
            self.access.addItem(say(TEMPLATES[template][0]), template)
        layout = QFormLayout()
        layout.setHorizontalSpacing(2 * SPACE)
        layout.setVerticalSpacing(SPACE)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        layout.addRow(label_of(say("&Name"), self.name), _stacked(self.name, self.problem, self.note))
        layout.addRow(say("Region"), self.region)
        layout.addRow(label_of(say("&Storage class"), self.classes), self.classes)
        layout.addRow(label_of(say("&Access"), self.access), _stacked(self.access, self.meaning))
        set_role(self.create_button, "primary")
        self.create_button.setDefault(True)
        self.buttons.addButton(self.create_button, QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.addButton(say("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        margins = (3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        self._column = column_of(layout, self.error, self.buttons, inside=self, margins=margins, spacing=SPACE + HALF)
        self.name.textEdited.connect(form.name)
        self.classes.activated.connect(self._on_class)
        self.access.activated.connect(self._on_access)
        self.create_button.clicked.connect(form.submit)
        self.buttons.rejected.connect(self.reject)
        self.finished.connect(form.stop)
        form.changed.connect(self._refresh)
        form.made.connect(self.accept)
        form.start()
        self._refresh()
        self.name.setFocus()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            height = self._column.totalHeightForWidth(self.width())
            if height != self.height():
                self.setMinimumHeight(height)
                self.resize(self.width(), height)
        return handled

    def _on_class(self, at: int) -> None:
        self._form.choose_class(str(self.classes.itemData(at)))

    def _on_access(self, at: int) -> None:
        self._form.choose_template(Template(self.access.itemData(at)))

    def _refresh(self) -> None:
        state = self._form.state
        region = region_words(state.region) or say("Loading…")
        self.region.setText(f"{region}  ({state.region})" if state.region and region != state.region else region)
        if self.classes.count() != len(state.storage_classes):
            self.classes.clear()
            for name in state.storage_classes:
                self.classes.addItem(say(_CLASSES[name]) if name in _CLASSES else name, name)
        self.classes.setEnabled(self.classes.count() > 1)
        show_words(self.problem, say(state.problem) if state.problem else "")
        self.name.setAccessibleDescription(self.problem.text())
        set_role(self.name, "invalid" if state.problem else "")
        free = say("The name must be unique in the whole cloud and cannot be changed later.")
        self.note.setText(f"{say(state.note)} {free}" if state.note else free)
        is_public = state.wanted.template is not Template.PRIVATE
        self.meaning.setText(say(TEMPLATES[state.wanted.template][1]))
        set_role(self.meaning, "warn" if is_public else "small")
        show_words(self.error, state.trouble.sentence() if state.trouble else "")
        self.create_button.setEnabled(state.can_be_made)
        busy, rest = say("Creating…"), say("Create public bucket") if is_public else say("Create bucket")
        self.create_button.setText(busy if state.is_busy else rest)


def _stacked(*widgets: QWidget) -> QWidget:
    box = QWidget()
    column_of(*widgets, inside=box, margins=0, spacing=HALF)
    return box


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
