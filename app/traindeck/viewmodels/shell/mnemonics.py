"""A letter for every entry of a menu, each once; what a title asks for it gets first."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase, digits

from traindeck.domain.pinyin import initials
from traindeck.viewmodels.shell.commands import without_mnemonic


def with_mnemonics(titles: Sequence[str]) -> list[str]:
    """The same titles, as many of them as there are letters with one of their own."""
    wanted = [_letter(title) for title in titles]
    taken: set[str] = set()
    kept = []
    for letter in wanted:
        kept.append(bool(letter) and letter not in taken)
        taken.add(letter)
    return [title if keep else _with_another(title, taken) for title, keep in zip(titles, kept, strict=True)]


def _letter(title: str) -> str:
    title = title.replace("&&", "")
    at = title.find("&")
    return title[at + 1 : at + 2].upper() if at >= 0 else ""


def _with_another(title: str, taken: set[str]) -> str:
    plain = without_mnemonic(title)
    for at in _places(plain):
        if plain[at].upper() not in taken:
            taken.add(plain[at].upper())
            return f"{_escaped(plain[:at])}&{_escaped(plain[at:])}"
    # Nothing in it can be typed, or all of that is taken: a letter is put behind it, as Chinese menus do.
    sounds = initials(plain)[0].upper()
    for letter in (*sounds, *ascii_uppercase, *digits):
        if letter not in taken and letter.isascii() and letter.isalnum():
            taken.add(letter)
            ending = "…" if plain.endswith("…") else ""
            return f"{_escaped(plain.removesuffix(ending))}(&{letter}){ending}"
    return _escaped(plain)


def _places(plain: str) -> list[int]:
    """Where a letter can be underlined, beginnings of words first; never inside Chinese words."""
    if not plain.isascii() and any("\u4e00" <= letter <= "\u9fff" for letter in plain):
        return []
    able = [at for at, letter in enumerate(plain) if letter.isascii() and letter.isalnum()]
    first = [at for at in able if at == 0 or not plain[at - 1].isalnum()]
    return [*first, *(at for at in able if at not in first)]


def _escaped(plain: str) -> str:
    return plain.replace("&", "&&")
