"""What the form was checked for: what is wrong, how much is right, and what could not be checked yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from traindeck.domain.jobs.validation import FieldError
from traindeck.domain.texts import Text, text

_CHECKED = (
    "name", "target", "code_folder", "boot", "engine", "flavor", "nodes", "stop_after", "inputs", "outputs", "log_to",
    "parameters", "environment", "description", "image",
)  # fmt: skip
_NEEDS_OFFER = ("engine", "flavor")


@dataclass(frozen=True, slots=True)
class FormCheck:
    """One thing to mend: the field it is about, and the sentence."""

    field: str
    words: Text


@dataclass(frozen=True, slots=True)
class FormChecks:
    """One check for each field; one that could not run is never counted as passed."""

    problems: tuple[FormCheck, ...] = ()
    passed: int = 0
    open: int = 0


def checks_of(errors: Iterable[FieldError], *, offer_is_known: bool) -> FormChecks:
    problems = tuple(FormCheck(error.field, _words(error)) for error in errors)
    wrong = {problem.field.partition(":")[0] for problem in problems}
    left = [name for name in _CHECKED if name not in wrong]
    waiting = [name for name in left if name in _NEEDS_OFFER and not offer_is_known]
    return FormChecks(problems, len(left) - len(waiting), len(waiting))


def _words(error: FieldError) -> Text:
    """What is about one row of a table names the row."""
    row = error.field.partition(":")[2]
    return text("{row}: {problem}", row=row, problem=error.message) if row else error.message
