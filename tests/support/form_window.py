"""The form in a window over the small cloud of the panels, with a user who answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from support.folder_cloud import (
    FolderCloud,
    code_folder,
)
from support.form_bench import billing_of, form_parts, prepare_data
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import say
from traindeck.ui.jobs.form.check_list import CheckList
from traindeck.ui.jobs.form.field_editors import OpenEditor
from traindeck.ui.jobs.form.job_form_view import JobFormView
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.job_form import JobForm

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

CTRL = Qt.KeyboardModifier.ControlModifier


def said(notes: QWidget) -> str:
    return "\n".join(label.text() for label in notes.findChildren(QLabel) if label.isVisible())


class Bench:
    def __init__(self, cloud: FolderCloud, parts: FormParts, view: JobFormView, user: User) -> None:
        self.cloud, self.parts, self.form, self.view, self.user = cloud, parts, parts.form, view, user
        self.page, self.bar, self.sending = view.page, view.bar, parts.sending
        self.sent: list[Run] = []
        self.sending.submitted.connect(self.sent.append)

    def editor(self, name: str) -> Any:
        editor = self.view.fields[name].editor
        return editor.words if isinstance(editor, OpenEditor) else editor

    def error(self, name: str) -> str:
        """What is said of this field where it is."""
        field = self.view.fields[name]
        assert field.editor.accessibleDescription() in (field.wrong_words, say(BY_NAME[name].help))
        return field.wrong_words

    def lines(self, checks: CheckList | None = None) -> list[str]:
        """What is said over the button."""
        checks = checks or self.bar.checks
        return [checks.item(row).text() for row in range(checks.count())]

    async def checked(self) -> None:
        await until(lambda: self.parts.checks.state.report)


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot, spec: JobSpec | None = None) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        prepare_data(cloud)
        prices = billing_of(cloud).table
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code, read_prices=prices)
        parts, user = form_parts(cloud, form), User()
        view = JobFormView(parts, theme, user, cloud.scope)
        qtbot.addWidget(view)
        view.resize(380, 700)
        view.show()
        form.start()
        await until(lambda: form.state.offer and not form.state.offer_is_old)
        if spec is not None:
            form.load_spec(spec, code)
            await until(lambda: form.state.boot_files)
        yield Bench(cloud, parts, view, user)
        view.close()
