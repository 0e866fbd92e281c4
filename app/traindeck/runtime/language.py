"""Which language to speak, and where its sentences come from."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from gettext import NullTranslations, c2py
from io import BufferedIOBase

from traindeck.domain import texts
from traindeck.runtime.resources import resource

LANGUAGES = (texts.ENGLISH, texts.CHINESE)
_MAGIC = 0x950412DE  # what a compiled catalogue of gettext begins with


def system_language() -> str:
    """The user's, as the environment or the system tells it."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return texts.CHINESE if value.lower().startswith("zh") else texts.ENGLISH
    import locale  # where the environment says nothing, as on Windows

    name = locale.getlocale()[0] or ""
    return texts.CHINESE if name.lower().startswith(("zh", "chinese")) else texts.ENGLISH


def speak(language: str) -> None:
    """Say everything in `language` from now on; what has no translation stays English."""
    texts.speak(language, catalogue(language))


def catalogue(language: str) -> NullTranslations:
    """Its sentences; reads a file, so call it in a worker where somebody waits."""
    if language == texts.ENGLISH:
        return texts.AS_WRITTEN
    with resource("translations", f"{language}.mo").open("rb") as file:
        return Catalogue(file)


class Catalogue(NullTranslations):
    """A compiled catalogue that decodes a sentence when it is said.

    gettext's own reader decodes all of them at once, for which a command that says thirty would wait.
    """

    def _parse(self, fp: BufferedIOBase) -> None:  # type: ignore[override]  # the hook the standard library names
        self._data = fp.read()
        head = memoryview(self._data)[:20].cast("I")  # in the order of bytes of the machine, like all numbers below
        if head[0] != _MAGIC:
            raise ValueError("a catalogue compiled for another kind of machine, or none")
        _, _, count, ids, words = head
        self._words_at = self._table(words, count)
        table = self._table(ids, count)
        keys = [self._data[start : start + length] for length, start in zip(table[::2], table[1::2], strict=True)]
        self._numbers = dict(zip(keys, range(count), strict=True))
        self._head = self._numbers.pop(b"")
        self._read: dict[str, list[str]] = {}

    def _table(self, start: int, count: int) -> list[int]:
        """Length and place of each string, in turn."""
        return memoryview(self._data)[start : start + 8 * count].cast("I").tolist()

    def gettext(self, message: str) -> str:
        forms = self._forms(message)
        return forms[0] if forms else super().gettext(message)

    def pgettext(self, context: str, message: str) -> str:
        forms = self._forms(f"{context}\4{message}")
        return forms[0] if forms else super().pgettext(context, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        forms = self._forms(f"{msgid1}\0{msgid2}")
        return forms[self._form_of(n)] if forms else super().ngettext(msgid1, msgid2, n)

    def npgettext(self, context: str, msgid1: str, msgid2: str, n: int) -> str:
        forms = self._forms(f"{context}\4{msgid1}\0{msgid2}")
        return forms[self._form_of(n)] if forms else super().npgettext(context, msgid1, msgid2, n)

    def _forms(self, key: str) -> list[str]:
        if (forms := self._read.get(key)) is None:
            name = key.encode(errors="surrogatepass")
            if (number := self._numbers.get(name)) is None and (number := self._single_forms.get(name)) is None:
                return []
            forms = self._read[key] = self._words(number).split("\0")
        return forms

    @cached_property
    def _single_forms(self) -> dict[bytes, int]:
        """One form alone: as of a sentence that elsewhere does not count, and as version 0.1 kept those that do."""
        return {form: number for key, number in self._numbers.items() if b"\0" in key for form in key.split(b"\0")}

    def _words(self, number: int) -> str:
        length, start = self._words_at[2 * number : 2 * number + 2]
        return self._data[start : start + length].decode()

    @cached_property
    def _form_of(self) -> Callable[[int], int]:
        """As the head of the catalogue says: Plural-Forms: nplurals=1; plural=0;"""
        return c2py(self._words(self._head).partition("plural=")[2].partition(";")[0])
