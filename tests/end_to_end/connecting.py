"""Accounts of one's own: made, checked, and their keys taken away."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from pathlib import Path

from hands import Hands, tell
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton
from sample_form import is_in_sight

from traindeck.ui.accounts.profile_dialog import ProfileDialog
from traindeck.ui.shell.welcome_page import WelcomePage


async def connect(hands: Hands, access_key: str, project: str, obs: str, modelarts: str, iam: str) -> None:
    """Add an account by hand, for this session where there is no keyring, and see what the services say."""
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.account)
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    await hands.click(dialog.more)
    typed = {
        "name": "campus", "access_key": access_key, "secret_key": os.environ["SECRET_KEY"], "project_id": project,
        "obs_endpoint": obs, "modelarts_endpoint": modelarts, "iam_endpoint": iam,
    }  # fmt: skip
    await fill_account(hands, dialog, typed)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: dialog.error.text() and dialog.save.isEnabled())
    tell("kept", error=dialog.error.text(), buttons=[button.text() for button in hands.visible(QPushButton, dialog)])
    await hands.click(dialog.session)
    await hands.until(dialog.use_anyway.isVisible)
    await hands.bring_into_view(dialog.more, dialog.area)
    await hands.click(dialog.more)
    facts = [label for label in dialog.checks.findChildren(QLabel) if label.text()]
    await hands.until(lambda: all(is_in_sight(label) for label in facts))
    tell("checked", facts=[label.text() for label in facts], keys_in_sight=typed["secret_key"] in hands.texts(dialog))
    accounts, form = hands.program.models.accounts.accounts, hands.program.models.jobs.form
    assert accounts.is_lab, "it is not in use before its checks passed or the user said so"
    await hands.click(dialog.use_anyway)
    await hands.until(lambda: accounts.current == "campus")
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: hands.dialog() is None)
    assert form.state.profile == "lab", "where a job goes is for the user to say"
    form.choose_profile("campus")
    offer = hands.panel("job").page.offer
    await hands.until(lambda: offer.text() or hands.panel("job").page.engine.count())
    tell("form", offer=offer.text(), target=hands.panel("job").page.profile.currentText())


async def own_account(hands: Hands, access_key: str, region: str, obs: str, modelarts: str, iam: str) -> None:
    """From the button that is always in sight to an account in use; each act of the user is counted."""
    acts: list[str] = []

    async def act(what: str, doing: Awaitable[None]) -> None:
        acts.append(what)
        await doing

    toolbar, actions = hands.window.menus.toolbar, hands.window.menus.actions
    await act("connect", hands.click(toolbar.widgetForAction(actions["account.connect"])))
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    # The cloud of this test is elsewhere than the real one; nobody has to say so of that.
    for name, place in {"obs_endpoint": obs, "modelarts_endpoint": modelarts, "iam_endpoint": iam}.items():
        dialog.form.set(name, place)
    QGuiApplication.clipboard().setText(f"{access_key}\n{os.environ['SECRET_KEY']}")
    await hands.until(lambda: dialog.fields["access_key"].hasFocus())
    await act("paste both keys", hands.press(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier))
    edit = dialog.region.lineEdit()
    assert edit is not None
    edit.selectAll()
    await act("go to the region", hands.press(Qt.Key.Key_Backtab))
    await act("type it", hands.type(region))
    await hands.until(dialog.session.isVisible)
    await act("keep for this session, as there is no keyring", hands.click(dialog.session))
    await hands.until(lambda: hands.program.models.accounts.accounts.current == "account")
    await act("close", hands.press(Qt.Key.Key_Escape))
    await hands.until(lambda: hands.dialog() is None)
    QGuiApplication.clipboard().clear()
    tell("in use", acts=acts, status=hands.program.models.status.state.profile is not None)


async def lose_keys(hands: Hands, access_key: str, obs: str, modelarts: str, iam: str, rotated: str) -> None:
    """The keys of an account become others once `rotated` is there: one banner, and everything goes on."""
    hands.program.workspace.accounts.connect_account()
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    await hands.click(dialog.more)
    typed = {
        "name": "campus", "access_key": access_key, "secret_key": os.environ["SECRET_KEY"],
        "obs_endpoint": obs, "modelarts_endpoint": modelarts, "iam_endpoint": iam,
    }  # fmt: skip
    await fill_account(hands, dialog, typed)
    await hands.click(dialog.session)
    await hands.click(dialog.use_anyway)  # the Lab has no project in the region of the form
    await hands.until(lambda: hands.program.models.accounts.accounts.current == "campus" and dialog.save.isEnabled())
    tell("connected", words=hands.texts(dialog))
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: hands.dialog() is None)
    await hands.until(Path(rotated).exists)
    hands.program.models.storage.buckets.refresh()
    bar = hands.window.notice_bar
    await hands.until(lambda: bar.isVisible() and "rejected" in bar.title.text())
    tell("refused", title=bar.title.text(), hint=bar.hint.text(), button=bar.mending.text(),
         notices=len(hands.program.models.notices.conditions))  # fmt: skip
    await hands.click(bar.mending)
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    again = hands.dialog()
    assert isinstance(again, ProfileDialog)
    await hands.fill(again.fields["access_key"], "LAB" + access_key[:2:-1])
    await hands.fill(again.fields["secret_key"], os.environ["SECRET_KEY"][::-1])
    await hands.click(again.session)
    await hands.until(lambda: "The credential is valid." in hands.texts(again) and again.save.isEnabled())
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: not hands.program.models.notices.conditions)
    tell("accepted", words=hands.texts())


async def fill_account(hands: Hands, dialog: ProfileDialog, typed: dict[str, str]) -> None:
    for name, words in typed.items():
        edit = dialog.fields[name]
        if dialog.more_box.isAncestorOf(edit):
            await hands.bring_into_view(edit, dialog.area)
        await hands.fill(edit, words)
