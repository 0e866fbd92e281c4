"""Add or change an account: keys, region, and what the services say to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from traindeck.domain.accounts.keys import is_credentials_name
from traindeck.domain.accounts.profiles import REGIONS, Check, CheckUp, Signature
from traindeck.domain.texts import Text, moment_words, say, text
from traindeck.ui.kit.cards import ElidedLabel, push_button, show_words
from traindeck.ui.kit.dialogs import closing
from traindeck.ui.kit.fields import label_of
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, level, on_one_line, scrolling, take_out
from traindeck.ui.kit.property_page import help_label, sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.accounts.profile_form import SECRETS, ProfileForm
from traindeck.viewmodels.shell.status import region_words

_MARK = QSize(18, 18)


class CheckCard(QFrame):
    """The verdict, and below it one line per check: a mark, its name, the fact and what to do."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: CheckUp | None = None
        self._parts: list[QWidget] = []
        set_role(self, "card")
        self.setAccessibleName(say("Checks"))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(2 * SPACE, SPACE + HALF, 2 * SPACE, SPACE + HALF)
        self._grid.setHorizontalSpacing(SPACE + HALF)
        self._grid.setVerticalSpacing(HALF)
        self._grid.setColumnStretch(2, 1)
        self._show_none()

    def show_findings(self, check_up: CheckUp | None) -> bool:
        """None: nobody has been asked. Whether it shows something else now."""
        if check_up == self._shown:
            return False
        self._shown = check_up
        take_out(self._parts)
        if check_up is None:
            self._show_none()
            return True
        verdict = sentence(
            say("Checking…") if check_up.is_running and check_up.accepted is None else say(check_up.verdict),
            {True: "verdict-good", False: "verdict-bad", None: "heading"}[check_up.accepted],
        )
        self._place(verdict, 0, 0, 3)
        for row, check in enumerate(check_up.checks, 1):
            self._add(row, check)
        return True

    def _place(self, part: QWidget, row: int, column: int, width: int = 1) -> None:
        self._grid.addWidget(part, row, column, 1, width, Qt.AlignmentFlag.AlignTop)
        self._parts.append(part)

    def _show_none(self) -> None:
        """What will stand here, so that nothing moves when it comes."""
        self._place(sentence(say("Checked when you save"), "dim"), 0, 0, 3)
        titles = (say("Clock"), "OBS", say("Project"), "ModelArts", say("Write permission"))
        for row, title in enumerate(titles, 1):
            for column, words in enumerate(("–", title)):
                self._place(label(words, "dim"), row, column)

    def _add(self, row: int, check: Check) -> None:
        icon, color, verdict = _mark_of(check)
        mark = QLabel()
        mark.setPixmap(self._theme.icon(icon, color).pixmap(_MARK))
        mark.setAccessibleName(say(verdict))
        mark.setToolTip(say(verdict))
        words = say(check.fact) if check.hint is None else f"{say(check.fact)} {say(check.hint)}"
        fact = help_label(words, "dim" if check.is_running else "")
        title = label(say(check.title), "strong")
        on_one_line(title, fact)
        for column, part in enumerate((mark, title, fact)):
            self._place(part, row, column)


def _mark_of(check: Check) -> tuple[str, str, Text]:
    if check.is_running:
        return "unknown", "dim", text("Checking…")
    if check.passed is None:
        return "unknown", "warn", text("Not checked")
    return ("check", "good", text("Passed")) if check.passed else ("error", "bad", text("Check failed"))


class FileDrop(QObject):
    """Takes a file that is dropped on a widget, and on nothing in it that takes drops itself; of several the first."""

    def __init__(self, on: QWidget, take: Callable[[Path], None], fits: Callable[[list[Path]], bool] = bool) -> None:
        super().__init__(on)
        self._take = take
        self._fits = fits
        on.setAcceptDrops(True)
        on.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent | QDragMoveEvent | QDropEvent):
            files = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
            if self._fits(files):
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self._take(files[0])
                return True
        return super().eventFilter(watched, event)


def is_credentials(files: list[Path]) -> bool:
    """One file of the console's kind."""
    return len(files) == 1 and (files[0].suffix.lower() == ".csv" or is_credentials_name(files[0].name))


_SIZE = (640, 640)


class ProfileDialog(QDialog):
    """Binds a ProfileForm; a credentials.csv can be dropped anywhere on it."""

    def __init__(self, form: ProfileForm, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = form
        title = say("Keys of “{name}”", name=form.state.fields.name)
        self.setWindowTitle(title if form.state.is_change else say("Connect your account"))
        FileDrop(self, form.load)
        self.fields: dict[str, QLineEdit] = {}
        self._wrong: dict[str, QLabel] = {}
        self._labels: list[QLabel] = []
        self.region = QComboBox()
        self.signature = QComboBox()
        self.path_style = QCheckBox(say("&Bucket name in the path, not in the host"))
        self.more = push_button(say("&More settings"), role="link")
        self.error, self.note = help_label("", "error"), sentence("", "small")
        self.checks = CheckCard(theme)
        self.save = push_button("", form.submit, "primary")
        self.session = push_button(say("Keep for &this session only"), form.keep_for_session)
        self.use_anyway = push_button(say("Use it anyway"), form.use_anyway)
        self._build()
        self._bind()
        self._refresh()
        self.fields["access_key"].setFocus()
        # The size does not follow the content: what is wrong is said where there was room for it before.
        fit_on_screen(self, *_SIZE)
        form.look_for_keyring()

    def _build(self) -> None:
        intro = (
            say("Paste new keys, or leave both fields empty to keep those in use ({key}).", key=self.form.key_hint)
            if self.form.state.is_change
            else say("Paste the access key and the secret key, both at once if you like, or drop credentials.csv here.")
        )
        form = _form_layout()
        self._row(form, "name", say("&Name"), say("Empty: {name}", name=self.form.usual_name))
        self.fields["name"].setReadOnly(self.form.state.is_change)
        self._fill_regions()
        self._add(form, "region", say("R&egion"), self.region)
        stays = say("Leave empty to keep") if self.form.state.is_change else ""
        self._row(form, "access_key", say("&Access key (AK)"), stays)
        self._row(form, "secret_key", say("&Secret key (SK)"), stays)
        self._build_more(stays)
        widest = max(one.sizeHint().width() for one in self._labels)
        for one in self._labels:
            one.setMinimumWidth(widest)  # so that all fields of both parts begin in one line
        self.more.setCheckable(True)
        self.save.setAutoDefault(True)  # else Return would press “Close”
        self.save.setDefault(True)
        self.buttons, _ = closing(self, say("Close"), self.save, self.session, self.use_anyway)
        inside = QWidget()
        column_of(
            sentence(intro, "dim"),
            form,
            (self.more, 0, Qt.AlignmentFlag.AlignLeft),
            self.more_box,
            self.checks,
            1,
            inside=inside,
            margins=(0, 0, SPACE, 0),
            spacing=SPACE + HALF,
        )
        self.area = scrolling(inside)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column_of(
            (self.area, 1),
            self.error,
            self.note,
            self.buttons,
            inside=self,
            margins=(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE),
            spacing=SPACE + HALF,
        )

    def _build_more(self, stays: str) -> None:
        form = _form_layout()
        form.setContentsMargins(0, 0, 0, 0)
        from_region = say("Leave empty to use the region's")
        _head(form, say("Restricted keys"))
        self._row(form, "token", say("Security to&ken"), say("Only with temporary keys"))
        self._row(form, "work_in", say("Restri&ct to"), "obs://bucket/folder/")
        _head(form, say("Custom endpoints"))
        self._row(form, "obs_endpoint", say("&OBS endpoint"), from_region)
        self._fill_signatures()
        form.addRow(self._label(say("Si&gnature"), self.signature), self.signature)
        level(form, self.signature)
        form.addRow("", self.path_style)
        self._row(form, "modelarts_endpoint", say("Mo&delArts endpoint"), from_region)
        self._row(form, "iam_endpoint", say("&IAM endpoint"), from_region)
        self._row(form, "project_id", say("&Project ID"), say("Leave empty to detect"))
        self._row(form, "ca_file", say("CA &file"), say("Only for a custom certificate"))
        _head(form, say("Network"))
        self._row(form, "proxy", say("Prox&y"), "http://proxy.campus.cn:8080")
        self._row(form, "proxy_user", say("Proxy &user"), say("Only if the proxy asks for one"))
        self._row(form, "proxy_password", say("Proxy passwo&rd"), stays if self.form.state.fields.proxy_user else "")
        self._more_names = tuple(name for name in self.fields if name not in ("name", "access_key", "secret_key"))
        self.more_box = QWidget()
        self.more_box.setLayout(form)
        self.more_box.hide()

    def _row(self, form: QFormLayout, name: str, title: str, placeholder: str = "") -> None:
        edit = QLineEdit()
        edit.setObjectName(f"profile.{name}")
        edit.setPlaceholderText(placeholder)
        if name in SECRETS:
            # In this mode Qt gives nothing of it to the clipboard, to drags or to input methods.
            edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.fields[name] = edit
        self._add(form, name, title, edit)

    def _add(self, form: QFormLayout, name: str, title: str, field: QWidget) -> None:
        """With a line for what is wrong below it, so that nothing moves when there is something."""
        self._wrong[name] = hint = ElidedLabel(role="error")
        hint.setFixedHeight(hint.fontMetrics().lineSpacing())
        box = QWidget()
        column_of(field, hint, inside=box, margins=0, spacing=0)
        form.addRow(self._label(title, field), box)
        level(form, box, field)

    def _label(self, title: str, field: QWidget) -> QLabel:
        self._labels.append(label_of(title, field))
        return self._labels[-1]

    def _fill_regions(self) -> None:
        self.region.setObjectName("profile.region")
        self.region.setEditable(True)
        self.region.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.region.setMinimumContentsLength(30)
        for region, _, _ in REGIONS:
            self.region.addItem(f"{region_words(region)}  ({region})", region)
        chosen = self.form.state.fields.region
        self.region.setCurrentIndex(self.region.findData(chosen))
        if self.region.currentIndex() < 0:
            self.region.setEditText(chosen)

    def _fill_signatures(self) -> None:
        self.signature.setObjectName("profile.signature")
        for signature, words in (
            (Signature.AUTO, say("Automatic")),
            (Signature.OBS, "OBS"),
            (Signature.V2, "S3, v2"),
            (Signature.V4, "S3, v4"),
        ):
            self.signature.addItem(words, signature.value)

    def _bind(self) -> None:
        for name, edit in self.fields.items():
            edit.textEdited.connect(partial(self.form.set, name))
        self.region.currentTextChanged.connect(self._on_region)
        self.signature.currentIndexChanged.connect(lambda _: self.form.set("signature", self.signature.currentData()))
        self.path_style.toggled.connect(partial(self.form.set, "path_style"))
        self.more.toggled.connect(self._show_more)
        self.form.changed.connect(self._refresh)

    def _on_region(self, shown: str) -> None:
        at = self.region.findText(shown)
        self.form.set("region", str(self.region.itemData(at)) if at >= 0 else shown)

    def _show_more(self, is_wanted: bool) -> None:
        self.more_box.setVisible(is_wanted)
        if is_wanted:
            QTimer.singleShot(0, self, lambda: self.area.ensureWidgetVisible(self.fields["token"]))

    def _refresh(self) -> None:
        state = self.form.state
        self._show_values()
        self._show_mistakes()
        trouble = state.error or (state.keyring_trouble if state.has_no_keyring else None)
        show_words(self.error, trouble.sentence() if trouble else "")
        show_words(self.note, self._note())
        self.save.setEnabled(not state.busy)
        self.use_anyway.setVisible(state.can_use_anyway)
        self.session.setVisible(state.has_no_keyring)
        self.session.setEnabled(not state.busy)
        self.save.setText(
            say("Checking…") if state.busy else say("Save and check again") if state.saved else say("Save and check")
        )
        if self.checks.show_findings(state.check_up) and state.check_up is not None:
            # Where the window is low, the findings are what counts now.
            QTimer.singleShot(0, self, lambda: self.area.ensureWidgetVisible(self.checks))

    def _show_values(self) -> None:
        fields = self.form.state.fields
        for name, edit in self.fields.items():
            held = getattr(fields, name)
            value = held.reveal() if name in SECRETS else held
            if edit.text().strip() != value:
                edit.setText(value)
        self.signature.setCurrentIndex(self.signature.findData(fields.signature))
        self.path_style.setChecked(fields.path_style)

    def _show_mistakes(self) -> None:
        errors = self.form.state.errors
        for name, hint in self._wrong.items():
            message = errors.get(name)
            hint.setText(say(message) if message else "")
            field = self.region if name == "region" else self.fields[name]
            set_role(field, "invalid" if message else "")
            field.setAccessibleDescription(hint.text())
        hidden = [name for name in self._more_names if name in errors]
        if hidden:
            self.more.setChecked(True)
            self.area.ensureWidgetVisible(self.fields[hidden[0]])

    def _note(self) -> str:
        state = self.form.state
        if state.is_temporary and state.expires is not None:
            ends = moment_words(state.expires)
            return say("Temporary keys are kept for this session only. These expire at {time}.", time=ends)
        if state.is_temporary:
            return say("Temporary keys are kept for this session only.")
        if state.saved and state.is_session_only:
            return say("The keys are kept until TrainDeck ends, and nowhere on the disk.")
        if state.has_no_keyring:
            return say("Nothing is kept yet.")
        if not state.keyring:
            return ""
        if state.saved or state.is_change:
            return say("The secret key is kept in the system keyring ({name}) and nowhere else.", name=state.keyring)
        return say("The secret key will be kept in the system keyring ({name}) and nowhere else.", name=state.keyring)


def _form_layout() -> QFormLayout:
    form = QFormLayout()
    form.setHorizontalSpacing(2 * SPACE)
    form.setVerticalSpacing(SPACE)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
    return form


def _head(form: QFormLayout, words: str) -> None:
    head = label(words, "strong")
    head.setContentsMargins(0, SPACE if form.rowCount() else 0, 0, 0)
    form.addRow(head)
