"""What is said about a field of the job form: what it holds, its limits, its words, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, StrEnum, auto
from typing import Any

from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, count_text, text


class FieldKind(Enum):
    """What a field holds."""

    WORDS = auto()
    TARGET = auto()
    WHOLE = auto()
    YES_NO = auto()
    LIST = auto()
    CHANNELS = auto()
    PARAMETERS = auto()
    PAIRS = auto()
    VOLUMES = auto()

    @property
    def words(self) -> Text:
        return _KINDS[self]


_KINDS = {
    FieldKind.WORDS: text("text"),
    FieldKind.TARGET: text("text"),
    FieldKind.WHOLE: text("whole number"),
    FieldKind.YES_NO: text("true or false"),
    FieldKind.LIST: text("list of texts"),
    FieldKind.CHANNELS: text("names with OBS paths"),
    FieldKind.PARAMETERS: text("names with values"),
    FieldKind.PAIRS: text("names with texts"),
    FieldKind.VOLUMES: text("list of tables"),
}


class FormSection(StrEnum):
    """The parts of the form, in their order."""

    JOB = "job"
    CODE = "code"
    ENGINE = "engine"
    MACHINE = "machine"
    DATA = "data"
    PARAMETERS = "parameters"
    NOTIFICATIONS = "notifications"
    OTHER = "other"

    @property
    def words(self) -> Text:
        return _SECTIONS[self]


_SECTIONS = {
    FormSection.JOB: text("Job"),
    FormSection.CODE: text("Code"),
    FormSection.ENGINE: text("Engine"),
    FormSection.MACHINE: text("Machine"),
    FormSection.DATA: text("Data"),
    FormSection.PARAMETERS: text("Parameters"),
    FormSection.NOTIFICATIONS: text("Notifications"),
    FormSection.OTHER: text("Other settings"),
}


class Prominence(StrEnum):
    """How many need a field: the first are filled in a new job file, the rare ones come last and not in it."""

    FIRST = "first"
    MORE = "more"
    RARE = "rare"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a value must be; `pattern` comes with the sentence that says it in words."""

    pattern: str = ""
    wrong: Text | None = None
    longest: int | None = None
    lowest: int | None = None
    highest: int | None = None
    choices: tuple[str, ...] = ()
    choice_words: tuple[Text, ...] = ()
    """What each of them means, where its name does not say so in every language."""

    def mistakes(self, label: Text, value: Any) -> Iterator[Text]:
        if isinstance(value, tuple):
            for item in value:
                yield from self._mistakes_of_choice(item)
        elif isinstance(value, int):
            yield from self._mistakes_of_number(label, value)
        elif value:
            yield from self._mistakes_of_words(label, value)

    def _mistakes_of_words(self, label: Text, value: str) -> Iterator[Text]:
        if self.pattern and self.wrong is not None and not re.fullmatch(self.pattern, value):
            yield self.wrong
        elif self.longest is not None and len(value) > self.longest:
            yield count_text(
                "{field}: at most {count} character.", "{field}: at most {count} characters.", self.longest, field=label
            )

    def _mistakes_of_number(self, label: Text, value: int) -> Iterator[Text]:
        if self.lowest is not None and value < self.lowest and self.highest is None:
            yield text("{field}: at least {lowest}.", field=label, lowest=self.lowest)
        elif (self.lowest is not None and value < self.lowest) or (self.highest is not None and value > self.highest):
            yield text("{field}: a number from {lowest} to {highest}.", field=label, lowest=self.lowest,
                       highest=self.highest)  # fmt: skip

    def _mistakes_of_choice(self, value: str) -> Iterator[Text]:
        if self.choices and value not in self.choices:
            yield unknown_words(value, self.choices)


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of the form, named as in JobSpec.

    `table` and `key` say where it stands in the job file, without a key it is the whole table; `request` where it
    goes in the request of ModelArts, as a JSON pointer: empty where it stays here or is put together with others.
    """

    name: str
    label: Text
    help: Text
    section: FormSection
    table: str
    key: str = ""
    kind: FieldKind = FieldKind.WORDS
    request: str = ""
    limits: Limits = Limits()
    example: str = ""
    """As it stands in a job file; for a table, a line of it."""
    prominence: Prominence = Prominence.MORE
    is_folded: bool = False
    """In the window it stands under “More”, though a new job file has it."""

    @property
    def is_under_more(self) -> bool:
        return self.is_folded or self.prominence is not Prominence.FIRST

    @property
    def example_words(self) -> str:
        """As somebody would type it into a field."""
        return self.example.strip().strip('"')

    @property
    def place(self) -> str:
        """What it is called in a setting: `resources.nodes`; of a table, `parameters.NAME`."""
        if self.kind is FieldKind.VOLUMES:
            return self.table
        return f"{self.table}.{self.key or 'NAME'}"

    @property
    def default(self) -> object:
        """What it is where nothing is written."""
        return getattr(_DEFAULTS, self.name)

    @property
    def is_table(self) -> bool:
        return not self.key


_DEFAULTS = JobSpec()


def nearest(word: str, known: list[str] | tuple[str, ...], closeness: float = 0.5) -> str | None:
    """What was probably meant, whatever its case."""
    by_lower = {one.lower(): one for one in known}
    found = get_close_matches(word.lower(), list(by_lower), 1, closeness)
    return by_lower[found[0]] if found else None


def unknown_words(word: str, known: list[str] | tuple[str, ...]) -> Text:
    """That there is no such word, and what may be meant."""
    near = nearest(word, known)
    if near is not None:
        return text("“{word}” is unknown. Did you mean “{nearest}”?", word=word, nearest=near)
    return text("“{word}” is unknown. Known here: {known}.", word=word, known=", ".join(known))
