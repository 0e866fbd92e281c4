"""Asking the user whether a job is to be sent in spite of what the checks warn of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.domain.jobs.checks import CheckReport, listed
from traindeck.domain.texts import count_text, text
from traindeck.viewmodels.ports import Choose, Way

if TYPE_CHECKING:
    from traindeck.services.jobs.submission import Accept

_SUBMIT = "submit"


def asking(choose: Choose) -> Accept:
    """What a submission asks before it sends a job with warnings."""

    async def accept(report: CheckReport) -> bool:
        question = count_text(
            "The checks have {count} warning. Submit the job anyway?",
            "The checks have {count} warnings. Submit the job anyway?",
            len(report.to_accept),
        )
        facts = [listed([finding]) for finding in report.to_accept]
        return await choose(question, facts, [Way(_SUBMIT, text("Submit anyway"))]) == _SUBMIT

    return accept
