"""Asking the user whether to run a job again beside one of which nobody knows whether it was submitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import exact_words, text
from traindeck.viewmodels.ports import Choose, Way

if TYPE_CHECKING:
    from traindeck.services.jobs.submission import AcceptBeside

_SUBMIT = "submit"
_NAMED = 5


def asking_beside(choose: Choose) -> AcceptBeside:
    """What a submission asks before a second job could be charged beside the first."""

    async def accept(beside: Sequence[Run]) -> bool:
        question = text("It is not known whether “{name}” was submitted. Run the job again?", name=beside[0].name)
        facts = [
            text("Run {number} of {time} may exist and be charged.", number=run.number, time=exact_words(run.created))
            for run in beside[:_NAMED]
        ]
        facts.append(text("Check it again first: if the job exists, it is taken in and nothing is charged twice."))
        return await choose(question, facts, [Way(_SUBMIT, text("Run again anyway"))]) == _SUBMIT

    return accept
