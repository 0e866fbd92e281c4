"""The room of accounts: connecting, choosing and removing them, and their keys."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from traindeck.domain.texts import say
from traindeck.ui.accounts.profile_dialog import FileDrop, ProfileDialog, is_credentials
from traindeck.ui.kit.dialogs import shown
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.viewmodels.accounts.accounts import is_kept_here
from traindeck.viewmodels.accounts.profile_form import ProfileForm
from traindeck.viewmodels.rooms import AccountsRoom, JobsRoom, StorageRoom
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Subject, Topic

_in_menu = partial(Command, menu="account")


class AccountsFeature(Feature):
    """One command for each account, to switch to it."""

    def __init__(self, shell: Shell, room: AccountsRoom, jobs: JobsRoom, storage: StorageRoom) -> None:
        super().__init__(shell)
        self._room = room
        self._jobs = jobs
        self._storage = storage
        self._names: tuple[str, ...] = ()
        FileDrop(shell.window, self.connect_account, is_credentials)

    def news(self) -> Subscriptions:
        return [
            (self._room.accounts.changed, self._changed),
            (self._room.keys.paste_wanted, self.change_account),
            (self._room.keys.work_again, self._keys_work),
        ]

    def commands(self) -> Iterable[Command]:
        accounts, connect = self._room.accounts, self.connect_account

        def can_change() -> bool:
            return is_kept_here(accounts.current)

        def change() -> None:
            self.change_account(accounts.current)

        def remove() -> None:
            accounts.remove_current(self.shell.confirm)

        return [
            _in_menu("account.connect", say("&Connect your account…"), connect, icon="account"),
            _in_menu(
                "account.change", say("&Keys and settings of this account…"), change, can_change, group=2, icon="key"
            ),
            _in_menu("account.remove", say("&Remove this account…"), remove, can_change, group=2),
            *self._switches(),
        ]

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.ACCOUNT and is_kept_here(topic.name):
            self.change_account(topic.name)
        return topic.subject is Subject.ACCOUNT

    def connect_account(self, credentials: Path | None = None) -> None:
        form = self._room.form()
        if isinstance(credentials, Path):
            form.load(credentials)
        self._show(form)

    def change_account(self, name: str) -> None:
        """Other keys or settings for an account that is there."""
        self._show(self._room.form(name))

    def _switches(self) -> list[Command]:
        self._names = self._room.accounts.names
        return [
            _in_menu(
                f"account.use.{name}",
                say("Lab on this computer") if name == "lab" else name,
                partial(self._room.accounts.use, name),
                checked=partial(self._is_current, name),
                group=1,
            )
            for name in self._names
        ]

    def _changed(self) -> None:
        accounts, commands = self._room.accounts, self.shell.commands
        if self._names != accounts.names:
            commands.remove(f"account.use.{name}" for name in self._names)
            commands.add(*self._switches())
        else:
            commands.refresh()  # another one may be the current one
        self._jobs.form.refresh_profiles()

    def _show(self, form: ProfileForm) -> None:
        form.added.connect(self._saved)
        dialog = ProfileDialog(form, self.shell.theme, self.shell.window)
        self.shell.tasks.start("connect an account", partial(shown, dialog))

    def _saved(self, _: str) -> None:
        self._room.accounts.look()
        self._read_again()

    def _keys_work(self, name: str) -> None:
        """What was asked for in vain meanwhile is asked for again."""
        self._read_again()
        if self._jobs.form.state.profile == name:
            self._jobs.form.load_offer()

    def _read_again(self) -> None:
        self._jobs.refresh()
        self._storage.buckets.refresh()

    def _is_current(self, name: str) -> bool:
        return self._room.accounts.current == name
