"""How the checks of an account ended is in the record, with the first thing that is wrong."""

from types import SimpleNamespace
from typing import cast

from traindeck.domain.accounts.profiles import Check, CheckUp
from traindeck.domain.texts import say, text
from traindeck.runtime.tasks import Listeners
from traindeck.services.accounts.profiles import ProfileService
from traindeck.viewmodels.accounts.account_news import AccountNews
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic


async def test_what_the_checks_said_is_kept() -> None:
    checked: Listeners[tuple[str, CheckUp]] = Listeners()
    journal = Journal()
    news = AccountNews(cast("ProfileService", SimpleNamespace(checked=checked)), journal)
    good, bad = Check(text("OBS"), True, text("Dark"), id="obs"), Check(text("Theme"), False, text("Light"), id="write")
    checked.tell(("work", CheckUp((good,), accepted=True)))
    checked.tell(("work", CheckUp((good, bad), accepted=True)))
    checked.tell(("home", CheckUp((), accepted=None)))
    news.close()
    checked.tell(("work", CheckUp((), accepted=True)))
    assert [(one.kind, say(one.hint)) for one in journal.entries] == [
        (NewsKind.DONE, ""), (NewsKind.FAILED, "Theme: Light"), (NewsKind.NOTE, ""),
    ]  # fmt: skip
    first = journal.entries[0]
    assert say(first.title) == "Account “work” was checked: The credential is valid."
    assert (first.topic, first.is_quiet) == (Topic(Subject.ACCOUNT, "work", "work"), True)
