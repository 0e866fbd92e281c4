"""A job with warnings is sent when the user says so, who has read them before."""

from __future__ import annotations

from collections.abc import Sequence

from traindeck.domain.jobs.checks import CheckFinding, CheckLevel, CheckReport
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, text
from traindeck.viewmodels.jobs.form.warnings_asked import asking
from traindeck.viewmodels.ports import Way

REPORT = CheckReport(
    JobSpec(),
    "lab",
    (
        CheckFinding("links", text("Links"), CheckLevel.AMBER, text("There are no links."), text("Check again.")),
        CheckFinding("keys", text("Keys"), CheckLevel.GREEN, text("The credential is valid.")),
    ),
)


async def test_only_what_is_amber_is_asked_about_and_only_a_yes_sends_it() -> None:
    asked: list[tuple[str, list[str], list[str]]] = []
    answers = ["", "submit"]

    async def choose(question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str:
        asked.append((str(question), [str(fact) for fact in facts], [str(way.action) for way in ways]))
        return answers.pop(0)

    assert not await asking(choose)(REPORT)
    assert await asking(choose)(REPORT)
    question, facts, ways = asked[0]
    assert question == "The checks have 1 warning. Submit the job anyway?"
    assert facts == ["Links: There are no links. Check again."] and ways == ["Submit anyway"]
