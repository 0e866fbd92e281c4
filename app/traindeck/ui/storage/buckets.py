"""What the window does with whole buckets: making them, showing and changing who gets in, removing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import say
from traindeck.ui.kit.dialogs import shown
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.access_page import AccessPage, class_name, template_meaning, template_name
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
from traindeck.viewmodels.shell.commands import CONTEXT, Command
from traindeck.viewmodels.shell.status import region_words
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.bucket_settings import BucketService
from traindeck.viewmodels.storage.buckets import BucketRemovals, NewBucketForm

_WIDTH = 520
_TEMPLATES = (Template.PRIVATE, Template.PUBLIC_READ, Template.PUBLIC_READ_LIST, Template.PUBLIC_READ_WRITE)


class NewBucketDialog(QDialog):
    """Binds a NewBucketForm; it closes when the bucket is there."""

    def __init__(self, form: NewBucketForm, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = form
        self._theme = theme
        self.setWindowTitle(say("New bucket"))
        self.setMinimumWidth(_WIDTH)
        self.name, self.problem, self.note = QLineEdit(), QLabel(), QLabel()
        self.region, self.classes, self.access = QLabel(), QComboBox(), QComboBox()
        self.meaning, self.error = QLabel(), QLabel()
        self.create_button = QPushButton(say("Create bucket"))
        self.buttons = QDialogButtonBox()
        self._column = QVBoxLayout(self)
        self._lay_out()
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

    def _lay_out(self) -> None:
        self.name.setPlaceholderText(say("For example my-team-data"))
        for template in _TEMPLATES:
            self.access.addItem(template_name(template), template)
        for label, role in (
            (self.problem, "error"),
            (self.note, "small"),
            (self.meaning, "small"),
            (self.error, "error"),
        ):
            label.setWordWrap(True)
            set_role(label, role)
        layout = QFormLayout()
        layout.setHorizontalSpacing(2 * SPACE)
        layout.setVerticalSpacing(SPACE)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        layout.addRow(_buddy(say("&Name"), self.name), _stacked(self.name, self.problem, self.note))
        layout.addRow(say("Region"), self.region)
        layout.addRow(_buddy(say("&Storage class"), self.classes), self.classes)
        layout.addRow(_buddy(say("Who &gets in"), self.access), _stacked(self.access, self.meaning))
        set_role(self.create_button, "primary")
        self.create_button.setDefault(True)
        self.buttons.addButton(self.create_button, QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.addButton(say("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self._column.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        self._column.setSpacing(SPACE + HALF)
        self._column.addLayout(layout)
        self._column.addWidget(self.error)
        self._column.addWidget(self.buttons)

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
        self.region.setText(_region_words(state.region) if state.region else say("Loading…"))
        if self.classes.count() != len(state.storage_classes):
            self.classes.clear()
            for name in state.storage_classes:
                self.classes.addItem(class_name(name), name)
        self.classes.setEnabled(self.classes.count() > 1)
        self.problem.setText(say(state.problem) if state.problem else "")
        self.problem.setVisible(state.problem is not None)
        self.name.setAccessibleDescription(self.problem.text())
        role = "invalid" if state.problem else ""
        if (self.name.property("role") or "") != role:
            set_role(self.name, role)
        free = say("The name must be free in the whole cloud, and cannot be changed later.")
        self.note.setText(f"{say(state.note)} {free}" if state.note else free)
        is_public = state.wanted.template is not Template.PRIVATE
        self.meaning.setText(template_meaning(state.wanted.template))
        if self.meaning.property("role") != ("warn" if is_public else "small"):
            set_role(self.meaning, "warn" if is_public else "small")
        self.error.setText(state.trouble.sentence() if state.trouble else "")
        self.error.setVisible(state.trouble is not None)
        self.create_button.setEnabled(state.can_be_made)
        busy, rest = say("Creating…"), say("Create public bucket") if is_public else say("Create bucket")
        self.create_button.setText(busy if state.is_busy else rest)


def _region_words(region: str) -> str:
    words = region_words(region)
    return words if words == region else f"{words}  ({region})"


def _buddy(title: str, field: QWidget) -> QLabel:
    label = QLabel(title)
    label.setBuddy(field)
    field.setAccessibleName(title.replace("&", ""))
    return label


def _stacked(*widgets: QWidget) -> QWidget:
    box = QWidget()
    column_of(*widgets, inside=box, margins=0, spacing=HALF)
    return box


Form = Callable[[], NewBucketForm]
"""A new bucket of the account in use."""
Rights = Callable[[str, str], BucketAccess]
"""Who gets, in this account, into this bucket."""
ShowSettings = Callable[[str, str, str], object]
"""Shows, of this account, the settings of this bucket, beginning with the page of this title."""


class BucketParts:
    """Between the buckets' panel and the dialogs; `made` and `rights` give what a dialog shows."""

    def __init__(
        self,
        theme: Theme,
        scope: Tasks,
        marks: PublicMarks,
        removals: BucketRemovals,
        made: Form,
        rights: Rights,
        confirm: ConfirmLoss,
        window: QWidget,
        profile: Callable[[], str],
        show: ShowSettings,
    ) -> None:
        self._theme = theme
        self._scope = scope
        self._marks = marks
        self._removals = removals
        self._made = made
        self._rights = rights
        self._confirm = confirm
        self._window = window
        self._profile = profile
        self._show = show

    def attach(self, view: BucketView) -> None:
        """What the panel asks for, and what goes on with buckets below them."""
        view.show_beside(RemovalRows(self._removals), self._marks)
        view.new_wanted.connect(self.make_bucket)
        view.removal_wanted.connect(self._remove)

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
        model.saved.connect(partial(self._marks.look_again, profile))
        return [AccessPage(model, self._theme)]

    def extend(self, view: ObjectList) -> None:
        """The same from wherever one is in a bucket."""

        def show() -> None:
            if view.place is not None:
                self._show(view.profile, view.place.bucket, say("Access"))

        def is_in_one() -> bool:
            return view.place is not None

        view.commands.add(Command("bucket.access", say("Access…"), show, is_in_one, menu=CONTEXT, group=5, icon="lock"))

    def _remove(self, buckets: list[str]) -> None:
        self._removals.remove(self._profile(), buckets, self._confirm)


def bucket_settings_pages(service: BucketService, theme: Theme, tasks: Tasks) -> list[PropertyPage]:
    return [
        BucketGeneralPage(service),
        BucketTagsPage(service, theme),
        BucketCorsPage(service, theme),
        BucketLifecyclePage(service, theme),
        BucketFragmentsPage(service, tasks),
    ]


MakeService = Callable[[str, str], BucketService]
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
        make_service: MakeService,
        theme: Theme,
        tasks: Tasks,
        more: MorePages = _no_more,
    ) -> None:
        self._dialogs = dialogs
        self._make_service = make_service
        self._theme = theme
        self._tasks = tasks
        self._more = more

    def show(self, profile: str, bucket: str, page: str = "") -> PropertyDialog:
        """`page` is the title of the one to begin with."""
        address = say("{place}, account {profile}", place=f"obs://{bucket}/", profile=profile)
        return self._dialogs.show(say("Bucket settings"), address, partial(self._pages, profile, bucket), page)

    def _pages(self, profile: str, bucket: str) -> list[PropertyPage]:
        first, *others = bucket_settings_pages(self._make_service(profile, bucket), self._theme, self._tasks)
        return [first, *self._more(profile, bucket), *others]

    def extend(self, view: ObjectList) -> None:
        """The command that shows those of the bucket one is in."""

        def show() -> None:
            if view.place is not None:
                self.show(view.profile, view.place.bucket)

        def is_in_one() -> bool:
            return view.place is not None

        view.commands.add(
            Command("bucket.settings", say("Bucket settings…"), show, is_in_one, menu=CONTEXT, group=5, icon="form")
        )
