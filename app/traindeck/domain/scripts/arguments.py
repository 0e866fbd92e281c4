"""What a script can be told when it is started, as far as that can be read from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from traindeck.domain.jobs.job_spec import wire_value
from traindeck.domain.texts import Text, text


class ArgumentKind(StrEnum):
    """What is written behind its name."""

    TEXT = "text"
    WHOLE = "int"
    NUMBER = "float"
    YES_NO = "bool"
    SWITCH = "switch"
    """Nothing: being there is what counts."""
    LIST = "list"
    """Several values, each a word of its own."""
    UNKNOWN = "unknown"

    @property
    def words(self) -> Text:
        return _KINDS[self]


_KINDS = {
    ArgumentKind.TEXT: text("text"),
    ArgumentKind.WHOLE: text("whole number"),
    ArgumentKind.NUMBER: text("number"),
    ArgumentKind.YES_NO: text("true or false"),
    ArgumentKind.SWITCH: text("switch without a value"),
    ArgumentKind.LIST: text("several values"),
    ArgumentKind.UNKNOWN: text("found in the script, type unknown"),
}


class ArgumentSource(StrEnum):
    """What reads it in the script."""

    ARGPARSE = "argparse"
    OPTPARSE = "optparse"
    CLICK = "click"
    ABSL = "absl"
    FIRE = "fire"
    DATACLASS = "dataclass"
    CONFIG = "config"
    """A configuration file that the script reads; whether it can be told otherwise is not known."""


@dataclass(frozen=True, slots=True)
class ScriptArgument:
    """One thing a script can be told."""

    name: str
    """As a running parameter is called, without dashes."""
    flags: tuple[str, ...]
    """As on a command line; none where its place counts."""
    kind: ArgumentKind
    default: object = None
    """A plain value; None: there is none, or it is not known."""
    choices: tuple[object, ...] = ()
    is_required: bool = False
    help: str = ""
    file: str = ""
    line: int = 0
    is_sure: bool = True
    """Nothing of it had to be guessed."""
    dest: str = ""
    """What the script itself calls it."""
    default_source: str = ""
    """The default as it is written where its value cannot be known."""
    type_source: str = ""
    """What turns the text into a value, as it is written."""
    source: ArgumentSource = ArgumentSource.ARGPARSE
    command: str = ""
    """The sub-command it belongs to."""

    @property
    def names(self) -> tuple[str, ...]:
        """All that `--NAME=value` may say for it."""
        return tuple(flag[2:] for flag in self.flags if flag.startswith("--"))

    @property
    def takes_value(self) -> bool:
        """A running parameter is passed as `--name=value`; some take none, some have no such name."""
        return self.kind is not ArgumentKind.SWITCH and bool(self.names)

    @property
    def is_bare_bool(self) -> bool:
        """`bool` of argparse: every text but an empty one is true."""
        return self.source is ArgumentSource.ARGPARSE and self.type_source == "bool"

    @property
    def default_words(self) -> str:
        if self.default_source:
            return self.default_source
        if self.source is ArgumentSource.FIRE and isinstance(self.default, bool):
            return str(self.default)
        return "" if self.default is None else value_words(self.default)

    @property
    def first_value(self) -> str:
        """What is written when somebody begins to set it: what the script takes anyway, where that is one value."""
        is_one = self.kind not in (ArgumentKind.LIST, ArgumentKind.SWITCH)
        is_false = self.is_bare_bool and not self.default
        return self.default_words if is_one and not is_false and isinstance(self.default, str | int | float) else ""

    @property
    def choice_words(self) -> tuple[str, ...]:
        return tuple(map(value_words, self.choices))

    @property
    def values(self) -> tuple[str, ...]:
        """All that it may be; none: anything, or nobody knows."""
        if self.is_bare_bool:
            return ("true", "")
        if not self.is_sure or self.kind in (ArgumentKind.LIST, ArgumentKind.SWITCH):
            return ()
        if self.choices or self.kind is not ArgumentKind.YES_NO:
            return self.choice_words
        return ("True", "False") if self.source is ArgumentSource.FIRE else ("true", "false")

    @property
    def is_strict(self) -> bool:
        """A value that it would not take ends the script; others are taken for something else than is meant."""
        return self.source is not ArgumentSource.FIRE and self.kind is not ArgumentKind.YES_NO

    def mistake(self, value: str) -> Text | None:
        """Why the script would not take this; None: it would, or nobody can know."""
        if not self.names:
            return None
        if self.kind is ArgumentKind.SWITCH:
            return text(
                "It takes no value, but running parameters are passed as --{name}=value: the script would end with an "
                "error.",
                name=self.name,
            )
        if self.kind is ArgumentKind.LIST or not value:
            return None
        if self.choices:
            if value in self.choice_words or (self.kind is ArgumentKind.NUMBER and _is_number_of(value, self.choices)):
                return None
            return text("“{value}” is not one of: {choices}.", value=value, choices=", ".join(self.choice_words))
        if self.kind is ArgumentKind.WHOLE and not _is_whole(value):
            return text("“{value}” is not a whole number.", value=value)
        if self.kind is ArgumentKind.NUMBER and not _is_number(value):
            return text("“{value}” is not a number.", value=value)
        if self.kind is ArgumentKind.YES_NO:
            return self._mistaken_yes_no(value)
        return None

    def _mistaken_yes_no(self, value: str) -> Text | None:
        if self.is_bare_bool and value.lower() in _NO:
            return text("type=bool takes any text as true, even “{value}”. Only an empty value is false.", value=value)
        if self.source is ArgumentSource.FIRE and value not in ("True", "False", "1", "0"):
            return text("fire reads “{value}” as text. Enter True or False.", value=value)
        if value.lower() not in _YES | _NO:
            return text("“{value}” is neither true nor false.", value=value)
        return None


_YES = frozenset({"true", "1", "yes", "y", "t", "on"})
_NO = frozenset({"false", "0", "no", "n", "f", "off"})


@dataclass(frozen=True)
class ScriptArguments:
    """All that a script can be told."""

    arguments: tuple[ScriptArgument, ...] = ()
    is_whole: bool = False
    """Nothing more is read from the command line, as far as can be seen."""
    takes_others: bool = True
    """What it does not know does not end it."""
    others: frozenset[str] = frozenset()
    """Names that a library brings along, of which the script says nothing."""
    limits: tuple[Text, ...] = ()
    """What was not read of the folder, and why."""

    @cached_property
    def _by_name(self) -> dict[str, ScriptArgument]:
        found: dict[str, ScriptArgument] = {}
        for one in self.arguments:
            for name in one.names or (one.name,):
                found.setdefault(name, one)
        return found

    @property
    def offered(self) -> Iterator[ScriptArgument]:
        """What a running parameter can say, each name once."""
        found = dict.fromkeys(one.name for one in self.arguments if one.names)
        return (self._by_name[name] for name in found)

    def named(self, name: str) -> ScriptArgument | None:
        """What a parameter of this name is read as; a beginning that fits only one is enough for argparse."""
        found = self._by_name.get(name)
        if found is not None or not name:
            return found
        begun = {
            id(one): one
            for known, one in self._by_name.items()
            if known.startswith(name) and one.source is ArgumentSource.ARGPARSE
        }
        return next(iter(begun.values())) if len(begun) == 1 else None

    def is_unknown(self, name: str) -> bool:
        """The script is known to read nothing of this name."""
        return self.is_whole and bool(self.arguments) and name not in self.others and self.named(name) is None


def value_words(value: object) -> str:
    """As it is written in a job file, or as Python writes it."""
    if isinstance(value, str):
        return value
    return wire_value(value) if isinstance(value, int | float) else repr(value)


def _is_whole(value: str) -> bool:
    try:
        int(value)
    except ValueError:
        return False
    return True


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_number_of(value: str, choices: tuple[object, ...]) -> bool:
    return _is_number(value) and float(value) in choices
