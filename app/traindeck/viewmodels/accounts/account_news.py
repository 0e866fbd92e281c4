"""Tells the journal how the checks of accounts end."""

from __future__ import annotations

from traindeck.domain.accounts.profiles import CheckUp
from traindeck.domain.texts import Text, text
from traindeck.services.accounts.profiles import ProfileService
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic


class AccountNews:
    """For the record: who asked for the checks is looking at them."""

    def __init__(self, profiles: ProfileService, journal: Journal) -> None:
        self._journal = journal
        self._stop_listening = profiles.checked.add(self._on_checked)

    def close(self) -> None:
        self._stop_listening()

    def _on_checked(self, told: tuple[str, CheckUp]) -> None:
        name, check_up = told
        wrong = next((check for check in check_up.checks if check.passed is False), None)
        kind = NewsKind.NOTE if check_up.accepted is None else NewsKind.DONE
        self._journal.tell(
            NewsKind.FAILED if wrong is not None else kind,
            text("Account “{name}” was checked: {verdict}", name=name, verdict=check_up.verdict),
            Text("{title}: {fact}", {"title": wrong.title, "fact": wrong.fact}) if wrong is not None else None,
            name=f"checks of {name}",
            topic=Topic(Subject.ACCOUNT, name, name),
            is_quiet=True,
        )
