"""What the palette finds: commands, runs, buckets and whatever else the rooms offer, by a few letters of it."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from traindeck.domain.pinyin import initials
from traindeck.domain.texts import say
from traindeck.viewmodels.shell.commands import Command, Commands, without_mnemonic
from traindeck.viewmodels.shell.recent import MOST_RECENT

MOST_FOUND = 100


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One thing to find; `id` is stable, so that it is known again as used lately."""

    id: str
    title: str
    act: Callable[[], object]
    detail: str = ""  # said behind it: where it stands, or why it cannot be done
    icon: str = ""
    keys: str = ""
    also: str = ""  # other words it is found by
    enabled: bool = True


PaletteOffer = Callable[[], Iterable[PaletteEntry]]
LookUp = Callable[[str, Callable[[Iterable[PaletteEntry]], None]], None]
"""Words, and who is told what they find beside what was offered."""


def command_entries(commands: Commands, menu_titles: dict[str, str]) -> list[PaletteEntry]:
    return [_of_command(commands, command, menu_titles.get(command.menu, "")) for command in commands.all()]


def _of_command(commands: Commands, command: Command, menu: str) -> PaletteEntry:
    enabled = command.enabled()
    why = "" if enabled else command.why_not()
    return PaletteEntry(
        command.id,
        command.plain_title.rstrip("…"),
        lambda: commands.run(command.id),
        why or without_mnemonic(menu),
        command.icon,
        command.shortcut,
        command.id.replace(".", " ").replace("_", " "),
        enabled,
    )


class Finder:
    """Over everything there is at this moment; what was found narrows what is looked through next."""

    def __init__(self, entries: Iterable[PaletteEntry], recent: Sequence[str] = ()) -> None:
        self._entries = [(entry, entry.title.casefold(), entry.also.casefold()) for entry in entries]
        self._lately = {entry_id: place for place, entry_id in enumerate(recent)}
        self._typed = ""
        self._left = self._entries

    def add(self, entries: Iterable[PaletteEntry]) -> bool:
        """What was found later; whether it is new."""
        known = {entry.id for entry, *_ in self._entries}
        new = [entry for entry in entries if entry.id not in known]
        self._entries = [*self._entries, *((entry, entry.title.casefold(), entry.also.casefold()) for entry in new)]
        self._typed, self._left = "", self._entries
        return bool(new)

    def find(self, typed: str) -> list[PaletteEntry]:
        """The best first; where nothing is typed, what was used lately, then all."""
        words = typed.casefold().split()
        if not words:
            self._typed, self._left = "", self._entries
            lately = self._lately
            used = sorted((row for row in self._entries if row[0].id in lately), key=lambda row: lately[row[0].id])
            rest = (row for row in self._entries if row[0].id not in lately)
            return [entry for entry, *_ in (*used, *rest)][: max(MOST_FOUND, len(lately))]
        letters = "".join(words)
        rows = self._left if self._typed and letters.startswith(self._typed) else self._entries
        loosely = re.compile(".*?".join(map(re.escape, letters)), re.DOTALL)
        found, left = [], []
        for place, row in enumerate(rows):
            entry, title, also = row
            cost = _cost(title, also, words, letters, loosely)
            if cost is not None:
                left.append(row)
                is_dead = 0 if entry.enabled else 1
                found.append((cost[0] + is_dead, self._lately.get(entry.id, MOST_RECENT), cost[1], place, entry))
        self._typed, self._left = letters, left
        return [entry for *_, entry in heapq.nsmallest(MOST_FOUND, found, key=lambda one: one[:4])]


def _cost(
    title: str, also: str, words: Sequence[str], letters: str, loosely: re.Pattern[str]
) -> tuple[int, int] | None:
    """How far it is from what was typed: the kind of likeness, then how much else stands in it."""
    if all(word in title for word in words):
        if title.startswith(words[0]):
            return 0, len(title)
        return (1 if _at_beginning(title, words[0]) else 2), len(title)
    if not title.isascii() and any(letters in sounds for sounds in initials(title)):
        begins = any(sounds.startswith(letters) for sounds in initials(title))
        return (1 if begins else 3), len(title)
    if also and all(word in also or word in title for word in words):
        return 4, len(title)
    if _begins_words(title, letters):
        return 3, len(title)
    match = loosely.search(title)
    if match is not None:
        return 6, match.end() - match.start()
    if not title.isascii() and any(loosely.search(sounds) for sounds in initials(title)):
        return 7, len(title)
    if also and (match := loosely.search(also)) is not None and match.end() - match.start() <= 2 * len(letters):
        return 8, match.end() - match.start()
    return None


def _at_beginning(title: str, word: str) -> bool:
    at = title.find(word)
    while at > 0 and title[at - 1].isalnum() and title[at - 1].isascii():
        at = title.find(word, at + 1)
    return at >= 0


def _begins_words(title: str, letters: str) -> bool:
    """“ra” for “Run again”."""
    if len(letters) > 1 and title.startswith(letters[0]):
        return "".join(re.findall(r"(?<![^\W_])[^\W_]", title)).startswith(letters)
    return False


def nothing_found(typed: str) -> str:
    return say("No matches for “{words}”.", words=typed.strip())
