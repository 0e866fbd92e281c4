"""A form to begin with, and what it may be called."""

from __future__ import annotations

from dataclasses import dataclass

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import text

_LONGEST = 60
_FORBIDDEN = set('/\\:*?"<>|')


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """A form to begin with."""

    name: str
    spec: JobSpec
    locked: frozenset[str] = frozenset()
    """Fields of JobSpec that are not changed by accident."""


def check_template_name(name: str) -> None:
    """Raise InvalidInput for what no file can be called."""
    has_control = any(not letter.isprintable() for letter in name)
    if not name.strip() or name != name.strip() or name.startswith(".") or len(name) > _LONGEST:
        raise InvalidInput(
            text("Enter a name of 1 to 60 characters, without a dot or a space at the beginning."),
            text("For example “bert on 8 NPUs”."),
        )
    if has_control or _FORBIDDEN & set(name) or name.endswith("."):
        raise InvalidInput(
            text("The name of a template cannot have / \\ : * ? \" < > | in it, or end with a dot."),
            text("It is also the name of its file."),
        )  # fmt: skip
