"""One line of a log: which numbers are in it, and what they are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from traindeck.domain.readings.encodings import words_of
from traindeck.domain.readings.patterns import COUNTERS, Patterns, count_of, number_of
from traindeck.domain.readings.tracking import TrackedNumber

MOST_LINE = 4096
_MOST_NAMES = 4096
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00\x07\x08]")
_FIRST_HEAD = re.compile(r"[\s|]{0,40}(\w{1,20})[\s|,]")
_SEPARATORS = (None, ",", "|")
_HAS_DIGIT = re.compile(r"\d|nan\b|inf\b", re.IGNORECASE)
_WORDS_BEFORE = re.compile(r"(?<![\w./@-])((?:[A-Za-z\u4e00-\u9fff][\w./@%-]{0,59} ){1,2})$")
_MOST_BEFORE = 80
_WORD_BEFORE = re.compile(r"([A-Za-z_-]+)[^A-Za-z0-9]*$")
_SECONDS_A_DAY = 86400
_MOST_STAMP = 60
_MOST_PLACE = 1e15
_MOST_HEADING = 60
_MOST_RANK = 200
_OF_BARS = ("throughput", "step_time")
_BESIDE_MODES = ("val", "test", "cv")
_LEAST_HEADS = 3
_LEAST_MEASURED = 2


@dataclass(slots=True)
class LineFacts:
    """What one line said."""

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    values: list[tuple[str, float]] = field(default_factory=list)
    tracked: list[tuple[str, float]] = field(default_factory=list)
    is_bar: bool = False
    is_beside: bool = False
    """It tells of validation, of a download: not of where the training is."""
    is_total: bool = False
    """It only says how many epochs or steps there will be."""
    is_measured: bool = False
    """It has a number that training itself makes: not only how fast a bar moves."""
    seconds_left: float | None = None
    """As the log itself says."""
    stamp: float | None = None
    rank: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.values and self.epoch is None and self.step is None and not self.is_total


class LineReader:
    """Reads lines in their order: a table's names stand above its numbers."""

    def __init__(self, patterns: Patterns, tracked: tuple[TrackedNumber, ...] = ()) -> None:
        self._patterns = patterns
        self._tracked = [(one.name, re.compile(one.expression)) for one in tracked]
        self._names: dict[str, str] = {}
        self._is_measured: dict[str, bool] = {}
        self._heads: list[str] = []
        self._row: re.Pattern[str] | None = None
        self._separator: str | None = None
        self._under = ""
        """Which kind of work beside training was announced on a line of its own."""
        self._last_kind = ""
        self._last_step = 0
        self._day = 0.0
        self._clock = -1.0

    def facts(self, line: bytes) -> LineFacts | None:
        """None: nothing in it is of interest."""
        words = _ANSI.sub("", words_of(line[:MOST_LINE]))
        self._take_heads(words)
        if not _HAS_DIGIT.search(words):
            self._take_heading(words)
            return None
        found = LineFacts()
        self._track(words, found)  # as the line is shown, with its time
        words = self._rank(self._stamp(words, found), found)
        low = words.lower()
        bar_at = self._own_ways(words, low, found)
        first = self._values(words, low, found)
        self._beside(words, low, min(bar_at, first), found)
        self._counters(words, low, found)
        self._below_heading(words, low, found)
        found.is_measured = any(self._patterns.role(name) not in _OF_BARS for name, _ in found.values)
        self._left(words, low, found)
        return found

    def _rank(self, words: str, found: LineFacts) -> str:
        head = words[:_MOST_RANK]
        low = head.lower()
        for pattern in self._patterns.ranks:
            if match := pattern.search(head, low):
                found.rank = int(match["rank"][:9])
                return f"{words[: match.start()]} {words[match.end() :]}"
        return words

    def _take_heading(self, words: str) -> None:
        """“Eval begin…” is about all below, up to the next epoch."""
        if len(words) <= _MOST_HEADING and (match := self._patterns.beside.expression.match(words.strip(" *=-#>\t"))):
            self._under = self._patterns.kinds[match[1].lower()]
        elif "train" in words[:_MOST_HEADING].lower():
            self._under = ""

    def _below_heading(self, words: str, low: str, found: LineFacts) -> None:
        goes_on = found.step is not None and found.step > self._last_step > 0
        if self._patterns.summary.match(words) and self._last_kind and not found.is_beside:
            found.values = [(self._beside_name(self._last_kind, name), value) for name, value in found.values]
            found.is_beside = True
        if self._under and (found.epoch is not None or goes_on or "train" in low):
            self._under = ""
        if self._under:
            if not found.is_beside:
                found.values = [(self._beside_name(self._under, name), value) for name, value in found.values]
            found.is_beside = True
        elif found.step is not None and not found.is_beside:
            self._last_step = found.step

    def _left(self, words: str, low: str, found: LineFacts) -> None:
        if found.is_bar or found.is_empty:
            return
        for needs, expression in self._patterns.left:
            if needs in low and (match := expression.search(words)):
                parts = [count_of(part or "0") for part in match.groups()]
                if None not in parts:
                    days, hours, minutes, seconds = (part or 0 for part in parts)
                    found.seconds_left = float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)

    def _take_heads(self, words: str) -> None:
        first = _FIRST_HEAD.match(words)
        row = self._patterns.tables.get(first[1].lower()) if first else None
        if row is None:
            return
        for separator in _SEPARATORS:
            cells = [cell.strip("():,") for cell in _cells(words, separator)]
            if len(cells) >= _LEAST_HEADS and sum(map(self._is_named, cells)) >= _LEAST_MEASURED:
                self._heads, self._row, self._separator = cells, row, separator
                return

    def _is_named(self, name: str) -> bool:
        known = self._is_measured.get(name)
        if known is None:
            bare = name.rstrip("./-")
            known = bool(self._patterns.role(bare)) or self._patterns.is_measure(bare)
            if len(self._is_measured) < _MOST_NAMES:
                self._is_measured[name] = known
        return known

    def _stamp(self, words: str, found: LineFacts) -> str:
        for expression in self._patterns.stamps:
            match = expression.search(words, 0, _MOST_STAMP)
            if match is None:
                continue
            parts = match.groupdict()
            fraction = float(f"0.{parts.get('fraction') or 0}")
            hour, minute, second = (int(parts[name]) for name in ("hour", "minute", "second"))
            if hour > 23 or minute > 59 or second > 60:
                continue
            clock = hour * 3600 + minute * 60 + second + fraction
            try:
                if parts.get("month"):
                    day = datetime(int(parts.get("year") or 2000), int(parts["month"]), int(parts["day"]), tzinfo=UTC)
                    self._day = day.timestamp()
                elif clock < self._clock - _SECONDS_A_DAY / 2:
                    self._day += _SECONDS_A_DAY  # midnight went by
            except ValueError:
                continue
            self._clock = clock
            found.stamp = self._day + clock
            return f"{words[: match.start()]} {words[match.end() :]}"
        return words

    def _track(self, words: str, found: LineFacts) -> None:
        for name, expression in self._tracked:
            if match := expression.search(words):
                try:
                    found.tracked.append((name, number_of(match[1])))
                except (ValueError, IndexError):
                    continue

    def _own_ways(self, words: str, low: str, found: LineFacts) -> int:
        """What a framework says in its own way; where that begins."""
        for pattern in self._patterns.lines:
            if pattern.needs not in low:
                continue
            match = pattern.expression.search(words)
            if match is None:
                continue
            parts = match.groupdict()
            if (parts.get("mode") or "").lower() in _BESIDE_MODES:
                found.is_beside = True
                return match.start()
            self._place(found, parts)
            found.is_bar = found.is_bar or pattern.is_bar
            return match.start()
        return len(words)

    @staticmethod
    def _place(found: LineFacts, parts: dict[str, str | None]) -> None:
        if epoch := parts.get("epoch"):
            found.epoch = _place_of(epoch)
        if epochs := parts.get("epochs"):
            found.epochs = count_of(epochs)
        if step := parts.get("step"):
            found.step = count_of(step)
        if steps := parts.get("steps"):
            found.steps = count_of(steps)

    def _values(self, words: str, low: str, found: LineFacts) -> int:
        """The numbers that were measured, and where the first of them is named."""
        if self._row is not None and (match := self._row.match(words)):
            self._take_row(words, found)
            if found.values:
                parts = match.groupdict()
                self._place(found, parts)
                found.is_beside = found.is_beside or not parts
                return 0
        first = len(words)
        for match in self._patterns.pair.finditer(words):
            name = self._named(match[1], words, match.start())
            if not name:
                continue
            number, between = match[4], match[2]
            # “error 404” and “score 3 of 7” are words; “loss 0.182” is a number that was measured.
            if not (between.strip() or "." in number or not number[-1].isdigit() or "e" in number.lower()):
                continue
            value = number_of(number)
            total = number_of(match[5]) if match[5] else 0.0
            is_share = "acc" in name.lower() and total >= value and total > 1
            found.values.append((name, value / total if is_share else value))
            first = min(first, match.end(1) - len(name))
        for pattern in self._patterns.units:
            if match := pattern.search(words, low):
                found.values.append(_with_unit(number_of(match[1]), match[2].lower()))
        return first

    def _take_row(self, words: str, found: LineFacts) -> None:
        cells = _cells(words, self._separator)
        if self._separator and len(cells) < len(self._heads):
            return
        for name, cell in zip(self._heads[1:], cells[1:], strict=False):
            if self._is_named(name):
                try:
                    found.values.append((name, float(cell)))
                except ValueError:
                    return  # the columns of another table

    def _named(self, word: str, words: str, begins: int) -> str:
        """The name of a number, with the words before that belong to it; empty: it is not one that was measured."""
        is_last = word.lower() in self._patterns.last_words
        if not is_last and not self._is_named(word):
            return ""
        before = _WORDS_BEFORE.search(words, max(0, begins - _MOST_BEFORE), begins)
        whole = f"{before[1]}{word}" if before else word
        known = self._names.get(whole)
        if known is None:
            known = self._find_name(whole)
            if len(self._names) < _MOST_NAMES:
                self._names[whole] = known
        return known

    def _find_name(self, words: str) -> str:
        parts = words.rstrip("./-").split()
        for count in (3, 2):
            whole = " ".join(parts[-count:])
            if len(parts) >= count and self._patterns.role(whole):
                return whole.replace(" ", "_")
        name = parts[-1]
        if not self._is_named(name):
            return ""
        for word in reversed(parts[:-1]):
            if word.lower() not in self._patterns.qualifiers:
                break
            name = f"{word}_{name}"
        return name

    def _beside(self, words: str, low: str, first: int, found: LineFacts) -> None:
        """Words in front of the first number say what the line is about."""
        match = self._patterns.beside.search(words, low)
        begins = match.start() if match else len(words)
        if match and begins <= first and "train" not in low[:begins]:
            kind = self._patterns.kinds[match[1].lower()]
            self._last_kind = kind
            if begins < first:
                found.values = [(self._beside_name(kind, name), value) for name, value in found.values]
            found.is_beside = found.is_beside or begins < first or all(
                self._patterns.beside.expression.match(name) for name, _ in found.values
            )  # fmt: skip
        if found.is_bar and (found.is_beside or self._patterns.ignored.search(words[:first])):
            found.is_beside = True
            found.values = [(name, value) for name, value in found.values if not self._patterns.role(name)]

    def _beside_name(self, kind: str, name: str) -> str:
        if self._patterns.beside.expression.match(name) or self._patterns.role(name) in (
            "lr",
            "throughput",
            "step_time",
        ):
            return name
        return f"{kind}_{name}"

    def _counters(self, words: str, low: str, found: LineFacts) -> None:
        if found.epoch is None:
            self._counter(low, found, "epoch")
        if found.step is None and (found.values or found.epoch is not None):
            self._counter(low, found, "step")
            if not found.values and found.steps is None:
                found.step = None
        is_place = found.epoch is not None or found.step is not None
        for name, pattern in self._patterns.totals.items():
            if getattr(found, name) is None and (match := pattern.search(words, low)):
                total = count_of(match[1])
                setattr(found, name, total)
                found.is_total = not is_place and total is not None

    def _counter(self, low: str, found: LineFacts, name: str) -> None:
        best: re.Match[str] | None = None
        order = self._patterns.counter_order[name]
        for match in self._patterns.counters[name].finditer(low):
            begins = match.start()
            if begins and (low[begins - 1].isalnum() or low[begins - 1] in "_./-"):
                continue
            before = _WORD_BEFORE.search(low, max(0, begins - 24), begins)
            if before and before[1].strip("-_") in self._patterns.not_after:
                continue
            if best is None or order.get(_plain(match[1]), 9) < order.get(_plain(best[1]), 9):
                best = match
        if best is None:
            return
        number = _place_of(best[2])
        if number is None:
            return
        # “epochs: 30” is a setting, and “epochs 3/30” is not.
        if name == COUNTERS[0] and best[1].endswith("s") and best[3] is None:
            return
        total = count_of(best[3]) if best[3] else None
        if name == COUNTERS[0]:
            found.epoch, found.epochs = number, found.epochs or total
        else:
            found.step, found.steps = int(number), found.steps or total


def _place_of(words: str) -> float | None:
    """How far an epoch or a step is, with a part of it; None: no training is there."""
    number = number_of(words)
    return number if abs(number) <= _MOST_PLACE else None


def _cells(words: str, separator: str | None) -> list[str]:
    if separator is None:
        return words.split()
    return [cell.strip() for cell in words.strip(" \t\r|").split(separator)]


def _with_unit(value: float, unit: str) -> tuple[str, float]:
    """Times in seconds: a bar goes over from one unit to the other."""
    factor = 1e-3 if unit.startswith("ms/") else 1e-6 if unit.startswith("us/") else 1.0
    return (unit[1:] if factor != 1.0 else unit), value * factor


def _plain(words: str) -> str:
    return words.replace(" ", "_") if words.startswith("num") else words
