"""A letter for every entry of a menu, each once; what a title asks for it gets first."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase, digits

from traindeck.viewmodels.shell.commands import without_mnemonic


def with_mnemonics(titles: Sequence[str]) -> list[str]:
    """The same titles, as many of them as there are letters with one of their own."""
    choices = [_choices(title) for title in titles]
    owners: dict[str, int] = {}
    for number in range(len(titles)):
        _find_letter(number, choices, owners, set())
    for number, title in enumerate(titles):
        if number not in owners.values():
            from traindeck.domain.pinyin import initials  # loaded with the rooms, after the first frame

            # Nothing in it can be typed, or all of that is taken: a letter is put behind it, as Chinese menus do.
            choices[number] = [
                *choices[number],
                *initials(without_mnemonic(title))[0].upper(),
                *ascii_uppercase,
                *digits,
            ]
            _find_letter(number, choices, owners, set())
    letters = {number: letter for letter, number in owners.items()}
    return [_marked(title, letters.get(number, "")) for number, title in enumerate(titles)]


def _find_letter(number: int, choices: Sequence[Sequence[str]], owners: dict[str, int], tried: set[str]) -> bool:
    """One that is free, or one whose owner finds another."""
    free = next((letter for letter in choices[number] if letter not in owners), None)
    if free is not None:
        owners[free] = number
        return True
    for letter in choices[number]:
        if letter not in tried:
            tried.add(letter)
            if _find_letter(owners[letter], choices, owners, tried):
                owners[letter] = number
                return True
    return False


def _choices(title: str) -> list[str]:
    plain, own = without_mnemonic(title), _letter(title)
    inside = [plain[at].upper() for at in _places(plain)]
    return list(dict.fromkeys([own, *inside] if own else inside))


def _marked(title: str, letter: str) -> str:
    plain = without_mnemonic(title)
    if not letter or letter == _letter(title):
        return title if letter else _escaped(plain)
    at = next((at for at in _places(plain) if plain[at].upper() == letter), None)
    if at is not None:
        return f"{_escaped(plain[:at])}&{_escaped(plain[at:])}"
    ending = "…" if plain.endswith("…") else ""
    return f"{_escaped(plain.removesuffix(ending))}(&{letter}){ending}"


def _letter(title: str) -> str:
    title = title.replace("&&", "")
    at = title.find("&")
    return title[at + 1 : at + 2].upper() if at >= 0 else ""


def _places(plain: str) -> list[int]:
    """Where a letter can be underlined, beginnings of words first; never inside Chinese words."""
    if not plain.isascii() and any("\u4e00" <= letter <= "\u9fff" for letter in plain):
        return []
    able = [at for at, letter in enumerate(plain) if letter.isascii() and letter.isalnum()]
    first = [at for at in able if at == 0 or not plain[at - 1].isalnum()]
    return [*first, *(at for at in able if at not in first)]


def _escaped(plain: str) -> str:
    return plain.replace("&", "&&")
