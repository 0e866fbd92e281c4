"""Sentences for the user: written once in English, said in the language in use."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

ENGLISH = "en"
CHINESE = "zh_CN"


@dataclass(frozen=True, slots=True)
class Text:
    """A whole sentence with named fields, put into words only when it is shown."""

    english: str
    fields: Mapping[str, object] = field(default_factory=dict, hash=False)
    one: str = ""  # what English says instead where the number is one

    def __str__(self) -> str:
        return say(self)

    def in_english(self) -> str:
        """For logs, which are read by people who may not share the user's language."""
        fields = {name: _shown(value, Text.in_english) for name, value in self.fields.items()}
        return (self.one or self.english).format_map(fields)


def text(english: str, /, **fields: object) -> Text:
    return Text(english, fields)


def count_text(one: str, many: str, count: int, /, **fields: object) -> Text:
    """As the language counts: English has a form for one and one for many, Chinese a single form; {count} is shown."""
    return Text(many, {"count": f"{count:,}", **fields}, one if count == 1 else "")


@dataclass(slots=True)
class _Speech:
    """What gettext keeps in a module too: one process speaks one language at a time."""

    language: str
    catalogue: Mapping[str, str]


_speech = _Speech(ENGLISH, {})


def speak(language: str, catalogue: Mapping[str, str]) -> None:
    _speech.language = language
    _speech.catalogue = catalogue


def spoken() -> str:
    return _speech.language


def say(message: str | Text, /, **fields: object) -> str:
    if isinstance(message, str):
        message = Text(message, fields)
    words = _speech.catalogue.get(message.english) or message.one or message.english
    return words.format_map({name: _shown(value, say) for name, value in message.fields.items()})


def say_count(one: str, many: str, count: int, /, **fields: object) -> str:
    return say(count_text(one, many, count, **fields))


def printable(words: str) -> str:
    """On one line, and unable to steer a terminal or turn the direction of writing: names come from anybody."""
    if words.isprintable():
        return words
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character)[0] == "C" else character
        for character in words
    )


def _shown(value: object, said: Callable[[Text], str]) -> object:
    if isinstance(value, Text):
        return said(value)
    return value if isinstance(value, int | float | datetime) else printable(str(value))


def moment_words(moment: datetime | None) -> str:
    """In the user's own time, to the minute; what never was is a dash."""
    return "–" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def exact_words(moment: datetime | None) -> str:
    """The same to the second."""
    return "–" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"
