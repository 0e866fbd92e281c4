"""Add an account: keys, region, and what the services say to them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.profiles import REGIONS
from traindeck.domain.texts import say
from traindeck.ui.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.profile_form import ProfileForm
from traindeck.viewmodels.status import region_words

_WIDTH = 560
_MORE = ("obs_endpoint", "modelarts_endpoint", "iam_endpoint", "project_id", "ca_file")


class ProfileDialog(QDialog):
    """Binds a ProfileForm; a credentials.csv can be dropped anywhere on it."""

    def __init__(self, form: ProfileForm, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = form
        self._theme = theme
        self.setWindowTitle(say("Connect your account"))
        self.setAcceptDrops(True)
        self.setMinimumWidth(_WIDTH)
        self.fields: dict[str, QLineEdit] = {}
        self._wrong: dict[str, QLabel] = {}
        self.region = QComboBox()
        self.path_style = QCheckBox(say("&Bucket name in the path, not in the host"))
        self.more = QPushButton(say("&More settings"))
        self.more_box = QWidget()
        self.error = QLabel()
        self.checks = QFrame()
        self._checks_grid = QGridLayout(self.checks)
        self.save = QPushButton()
        self.session = QPushButton(say("Keep for &this session only"))
        self.buttons = QDialogButtonBox()
        self._column = QVBoxLayout(self)
        self._build()
        self._bind()
        self._refresh()

    def _build(self) -> None:
        intro = QLabel(
            say("Paste the access key (AK) and the secret key (SK), or drop credentials.csv on this window.")
        )
        intro.setWordWrap(True)
        set_role(intro, "dim")
        form = _form_layout()
        self._row(form, "name", say("&Name"), say("How you want to call it, for example campus"))
        self._fill_regions()
        form.addRow(_buddy(say("R&egion"), self.region), _with_hint(self.region, self._hint("region")))
        self._row(form, "access_key", say("&Access key (AK)"), "")
        self._row(form, "secret_key", say("&Secret key (SK)"), "")
        self.fields["secret_key"].setEchoMode(QLineEdit.EchoMode.Password)
        self._build_more()
        set_role(self.more, "link")
        self.more.setCheckable(True)
        self.more.setAutoDefault(False)  # else Return in a field would press it
        set_role(self.error, "error")
        self.error.setWordWrap(True)
        self.error.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_role(self.checks, "card")
        self._checks_grid.setContentsMargins(2 * SPACE, SPACE + HALF, 2 * SPACE, SPACE + HALF)
        self._checks_grid.setHorizontalSpacing(SPACE + HALF)
        self._checks_grid.setColumnStretch(2, 1)
        note = QLabel(say("The secret key is kept in the keyring of this computer and nowhere else."))
        note.setWordWrap(True)
        set_role(note, "small")
        set_role(self.save, "primary")
        self.save.setDefault(True)
        self.buttons.addButton(self.save, QDialogButtonBox.ButtonRole.ActionRole)
        self.session.setAutoDefault(False)
        self.buttons.addButton(self.session, QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.addButton(say("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        layout = self._column
        layout.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + HALF)
        layout.addWidget(intro)
        layout.addLayout(form)
        layout.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        for widget in (self.more_box, self.error, self.checks, note, self.buttons):
            layout.addWidget(widget)

    def _build_more(self) -> None:
        form = _form_layout()
        form.setContentsMargins(0, 0, 0, 0)
        from_region = say("Empty: from the region")
        self._row(form, "obs_endpoint", say("&OBS address"), from_region)
        self._row(form, "modelarts_endpoint", say("Mo&delArts address"), from_region)
        self._row(form, "iam_endpoint", say("&IAM address"), from_region)
        self._row(form, "project_id", say("&Project ID"), say("Empty: found by itself"))
        self._row(form, "ca_file", say("CA &file"), say("Only for a certificate of your own"))
        form.addRow("", self.path_style)
        self.more_box.setLayout(form)
        self.more_box.hide()

    def _row(self, form: QFormLayout, name: str, label: str, placeholder: str) -> None:
        edit = QLineEdit()
        edit.setObjectName(f"profile.{name}")
        edit.setPlaceholderText(placeholder)
        self.fields[name] = edit
        form.addRow(_buddy(label, edit), _with_hint(edit, self._hint(name)))

    def _hint(self, name: str) -> QLabel:
        hint = QLabel()
        hint.setWordWrap(True)
        hint.hide()
        set_role(hint, "error")
        self._wrong[name] = hint
        return hint

    def _fill_regions(self) -> None:
        self.region.setObjectName("profile.region")
        self.region.setEditable(True)
        self.region.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.region.setMinimumContentsLength(30)
        for region, _, _ in REGIONS:
            self.region.addItem(f"{region_words(region)}  ({region})", region)

    def _bind(self) -> None:
        for edit in self.fields.values():
            edit.textEdited.connect(self._on_edited)
        self.region.currentTextChanged.connect(self._on_region)
        self.path_style.toggled.connect(self._form.set_path_style)
        self.more.toggled.connect(self.more_box.setVisible)
        self.save.clicked.connect(self._form.submit)
        self.session.clicked.connect(self._form.keep_for_session)
        self.buttons.rejected.connect(self.reject)
        self._form.changed.connect(self._refresh)

    def _on_edited(self, typed: str) -> None:
        edit = self.sender()
        for name, field in self.fields.items():
            if field is edit:
                self._form.set(name, typed)

    def _on_region(self, shown: str) -> None:
        at = self.region.findText(shown)
        self._form.set("region", str(self.region.itemData(at)) if at >= 0 else shown)

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return handled

    def _fit(self) -> None:
        """Room for every wrapped line, and no more; a dialog does not follow those by itself."""
        height = self._column.totalHeightForWidth(self.width())
        if height != self.height():
            self.setMinimumHeight(height)
            self.resize(self.width(), height)

    def _refresh(self) -> None:
        state = self._form.state
        for name, edit in self.fields.items():
            held = getattr(state.fields, name)
            value = held.reveal() if name == "secret_key" else held
            if edit.text().strip() != value:
                edit.setText(value)
        for name, hint in self._wrong.items():
            message = state.errors.get(name)
            hint.setText(say(message) if message else "")
            hint.setVisible(message is not None)
            field = self.region if name == "region" else self.fields[name]
            role = "invalid" if message else ""
            if (field.property("role") or "") != role:
                set_role(field, role)
            field.setAccessibleDescription(hint.text())
        if any(name in state.errors for name in _MORE):
            self.more.setChecked(True)
        self.error.setText(state.error.sentence() if state.error else "")
        self.error.setVisible(state.error is not None)
        self.save.setEnabled(not state.busy)
        self.session.setVisible(state.has_no_keyring)
        self.session.setEnabled(not state.busy)
        self.save.setText(
            say("Checking…") if state.busy else say("Save and check again") if state.saved else say("Save and check")
        )
        self._show_checks()

    def _show_checks(self) -> None:
        while (item := self._checks_grid.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        checks = self._form.state.checks
        self.checks.setVisible(bool(checks))
        for row, check in enumerate(checks):
            name, color, word = _MARKS[check.passed]
            mark, title = QLabel(), QLabel(say(check.title))
            mark.setPixmap(self._theme.icon(name, color).pixmap(QSize(18, 18)))
            mark.setAccessibleName(_verdict(word))
            mark.setToolTip(_verdict(word))
            set_role(title, "strong")
            fact = QLabel(say(check.fact) if check.hint is None else f"{say(check.fact)} {say(check.hint)}")
            fact.setWordWrap(True)
            for column, label in enumerate((mark, title, fact)):
                self._checks_grid.addWidget(label, row, column, Qt.AlignmentFlag.AlignTop)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            event.acceptProposedAction()
            self._form.load(Path(files[0]))


_MARKS = {
    True: ("check", "good", "passed"),
    False: ("error", "bad", "failed"),
    None: ("unknown", "dim", "not checked"),
}


def _verdict(word: str) -> str:
    if word == "passed":
        return say("Passed")
    return say("Check failed") if word == "failed" else say("Not checked")


def _form_layout() -> QFormLayout:
    form = QFormLayout()
    form.setHorizontalSpacing(2 * SPACE)
    form.setVerticalSpacing(SPACE)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
    return form


def _buddy(title: str, field: QWidget) -> QLabel:
    label = QLabel(title)
    label.setBuddy(field)
    field.setAccessibleName(title.replace("&", ""))
    return label


def _with_hint(field: QWidget, hint: QLabel) -> QWidget:
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(2)
    layout.addWidget(field)
    layout.addWidget(hint)
    return box
