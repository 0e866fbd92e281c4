"""Sentences for the user: written once in English, said in the language in use."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from gettext import NullTranslations

ENGLISH = "en"
CHINESE = "zh_CN"

AS_WRITTEN = NullTranslations()
"""The catalogue of English."""
_MOST_TOLD = 200


@dataclass(frozen=True, slots=True)
class Text:
    """A whole sentence with named fields, put into words only when it is shown."""

    english: str
    fields: Mapping[str, object] = field(default_factory=dict, hash=False)
    one: str = ""  # of a sentence that counts: what English says instead where the number is one
    count: int = 0
    context: str = ""  # tells apart what English says with the same words

    def __str__(self) -> str:
        return say(self)

    def in_english(self) -> str:
        """For logs, which are read by people who may not share the user's language."""
        return _in_words(self, AS_WRITTEN, Text.in_english)

    def with_fields(self, **fields: object) -> Text:
        """The same sentence with other values."""
        return Text(self.english, fields, self.one, self.count, self.context)


def text(english: str, context: str = "", /, **fields: object) -> Text:
    return Text(english, fields, context=context)


def count_text(one: str, many: str, count: int, context: str = "", /, **fields: object) -> Text:
    """As the language counts: English has a form for one and one for many, Chinese a single form; {count} is shown."""
    return Text(many, {"count": f"{count:,}", **fields}, one, count, context)


@dataclass(slots=True)
class _Speech:
    """What gettext keeps in a module too: one process speaks one language at a time."""

    language: str
    catalogue: NullTranslations


_speech = _Speech(ENGLISH, AS_WRITTEN)


def speak(language: str, catalogue: NullTranslations) -> None:
    _speech.language = language
    _speech.catalogue = catalogue


def spoken() -> str:
    return _speech.language


def say(message: str | Text, context: str = "", /, **fields: object) -> str:
    if isinstance(message, str):
        message = Text(message, fields, context=context)
    return _in_words(message, _speech.catalogue, say)


def say_count(one: str, many: str, count: int, context: str = "", /, **fields: object) -> str:
    return say(count_text(one, many, count, context, **fields))


def say_list(parts: Iterable[Text | str]) -> str:
    """One after the other, with the mark between them that the language has."""
    words = [part if isinstance(part, str) else say(part) for part in parts]
    return reduce(lambda some, more: say("{some}, {more}", some=some, more=more), words) if words else ""


def _in_words(message: Text, catalogue: NullTranslations, said: Callable[[Text], str]) -> str:
    context, one, many = message.context, message.one, message.english
    if one and context:
        words = catalogue.npgettext(context, one, many, message.count)
    elif one:
        words = catalogue.ngettext(one, many, message.count)
    else:
        words = catalogue.pgettext(context, many) if context else catalogue.gettext(many)
    return words.format_map({name: _shown(value, said) for name, value in message.fields.items()})


def printable(words: str) -> str:
    """On one line, and unable to steer a terminal or turn the direction of writing: names come from anybody."""
    if words.isprintable():
        return words
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character)[0] == "C" else character
        for character in words
    )


def beginning(words: str) -> str:
    """Of what was pasted by mistake, as a file in place of its path, enough to know it again."""
    return words if len(words) <= _MOST_TOLD else f"{words[:_MOST_TOLD]}…"


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
