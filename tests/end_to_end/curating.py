"""A dataset in a bucket: looked at, and made into a small copy, by the commands of its folder."""

from __future__ import annotations

from hands import Hands, tell
from PySide6.QtWidgets import QTableView

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.ui.datasets.mini_dialog import MiniDialog
from traindeck.ui.datasets.report_view import DatasetReportView
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.viewmodels.datasets.mini_form import MiniStage

_BUCKET = ObjectPath("pets-bucket")


async def look_and_make_smaller(hands: Hands, folder: str, pictures: str) -> None:
    """`folder` holds a dataset with an index; `pictures`: where to keep what was seen, if anywhere."""
    await hands.until(hands.window.isActiveWindow)
    core, commands = hands.program.core, hands.program.workspace.shell.commands
    await (await core.connections.open("lab")).storage.create_bucket(_BUCKET.bucket)
    await core.transfers.move(Order(Kind.UPLOAD, "lab", folder, str(_BUCKET.join("pets/"))))
    hands.program.workspace.storage.open_bucket(_BUCKET)
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.model.rowCount() == 1)
    rows = view.rows
    assert isinstance(rows, QTableView)
    rows.setFocus()
    rows.selectRow(0)
    menu = hands.program.workspace.storage.active.menu(view)
    titles = [action.text() for action in menu.actions()]
    titles += [one.text() for action in menu.actions() if (inside := action.menu()) for one in inside.actions()]
    menu.deleteLater()

    commands.run("dataset.look")
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), DatasetReportView))
    report = hands.window.tabs.currentWidget()
    assert isinstance(report, DatasetReportView)
    await hands.until(lambda: report.summary_card.isVisible() and report.again.isEnabled())
    by_names = report.status.text()
    await hands.click(report.read)
    await hands.until(lambda: report.again.isEnabled() and not report.status.text())
    _keep(hands, pictures, "look")

    await hands.click(report.mini)
    dialog = await hands.opened(MiniDialog)
    dialog.per_class.setValue(3)
    await hands.click(dialog.look)
    await hands.until(lambda: dialog.form.state.stage is MiniStage.SHOWN)
    await hands.click(dialog.make)
    await hands.until(lambda: dialog.form.state.stage is MiniStage.DONE)
    source, target = dialog.source.text(), dialog.target.text()
    await hands.click(dialog.close_button)
    content: list[bytes] = []
    path = ObjectPath(_BUCKET.bucket, "pets_mini/labels.csv")
    await core.planes.run("lab", lambda plane: plane.get(path, lambda piece: content.append(bytes(piece))))

    hands.window.tabs.setCurrentWidget(view)
    commands.run("dataset.mini")
    again = await hands.opened(MiniDialog)
    from_folder = again.source.text()
    _keep(hands, pictures, "mini")
    await hands.click(again.close_button)
    tell(
        "made", menu=titles, by_names=by_names, source=source, target=target, from_folder=from_folder,
        index=b"".join(content).decode(), findings=len(report.rows),
    )  # fmt: skip


def _keep(hands: Hands, pictures: str, name: str) -> None:
    if pictures:
        hands.window.grab().save(f"{pictures}/{name}.png")
