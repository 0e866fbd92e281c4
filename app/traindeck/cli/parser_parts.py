"""What the parsers of all commands are made of."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser, HelpFormatter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, NoReturn

from traindeck.cli.argparse_words import translate_argparse
from traindeck.cli.help_page import help_page, terminal_columns, usage_line
from traindeck.domain.texts import say
from traindeck.runtime.clock import clamped
from traindeck.runtime.language import LANGUAGES

translate_argparse()

# A bare number could be seconds to one and days to another, and what is older is thrown away.
_DURATION = re.compile(r"(\d{1,6})\s*([smhd])")
_CLOCK = re.compile(r"\d\d?:\d\d(:\d\d)?")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class UsageError(Exception):
    """What was typed is not a command; `usage` is the line that says what would be."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class HelpSection(NamedTuple):
    """A part of the help page with a heading of its own."""

    title: str
    about: str


class ParserEntry(NamedTuple):
    """An option or argument, as the help page, the manual page and completion need it."""

    action: argparse.Action
    number: int | str | None  # of values; argparse changes its own while it parses
    section: HelpSection | None
    choice: Alternatives | None


class Alternatives:
    """Options that exclude each other."""

    def __init__(self, parser: Parser, *, is_required: bool) -> None:
        self.is_required = is_required
        self._parser = parser
        self._group = parser.add_mutually_exclusive_group(required=is_required)

    def add_argument(self, *names: str, **settings: Any) -> None:
        self._parser.record(self._group.add_argument(*names, **settings), self)


class Subcommands:
    """The commands of a group."""

    metavar = "COMMAND"

    def __init__(self, parser: Parser, dest: str, *, is_required: bool) -> None:
        self.title = say("commands")
        self.parsers: dict[str, Parser] = {}
        self._group = parser.add_subparsers(dest=dest, metavar=self.metavar, prog=parser.prog, required=is_required)

    def add(self, name: str, purpose: str, parts: Sequence[Callable[[Parser], None]], **settings: Any) -> None:
        self.parsers[name] = self._group.add_parser(name, description=purpose, parts=parts, **settings)


class Parser(ArgumentParser):
    """Takes the options of every command; its own come when somebody types its name, so that nobody waits for all."""

    def __init__(
        self,
        *,
        parts: Sequence[Callable[[Parser], None]] = (),
        help_names: Sequence[str] = ("-h", "--help"),
        **settings: Any,
    ) -> None:
        self.help_names = help_names
        self.entries: list[ParserEntry] = []
        self.commands: Subcommands | None = None
        self._section: HelpSection | None = None
        # Without a width argparse measures the terminal, for which it loads all archive formats.
        formatter: Any = partial(HelpFormatter, width=80)
        super().__init__(allow_abbrev=False, add_help=False, formatter_class=formatter, **settings)
        self._parts = (add_common, *parts)
        self._is_mixed = False

    def complete(self) -> None:
        parts, self._parts = self._parts, ()
        for part in parts:
            part(self)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        return self.record(super().add_argument(*names, **settings))

    def record(self, action: argparse.Action, choice: Alternatives | None = None) -> argparse.Action:
        self.entries.append(ParserEntry(action, action.nargs, self._section, choice))
        return action

    def begin_section(self, title: str, about: str) -> None:
        """Show the options that follow under a heading of their own."""
        self._section = HelpSection(title, about)

    def one_of(self, *, is_required: bool = False) -> Alternatives:
        return Alternatives(self, is_required=is_required)

    def add_commands(self, dest: str, *, is_required: bool = True) -> Subcommands:
        self.commands = Subcommands(self, dest, is_required=is_required)
        return self.commands

    def format_usage(self) -> str:
        return usage_line(self, terminal_columns())

    def format_help(self) -> str:
        return help_page(self, terminal_columns())

    def flag(self, *names: str, means: str) -> None:
        self.add_argument(*names, action="store_true", help=means)

    def option(self, name: str, metavar: str | None, means: str, **settings: Any) -> None:
        self.add_argument(name, metavar=metavar, help=means, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.complete()
        if self._is_mixed:
            return super().parse_known_args(args, namespace)
        found, rest = self._parse(args, namespace)
        if rest and self.commands is None:
            # Here, else the one above would tell it with a line that does not help.
            self.error(say("unrecognized arguments: %s") % " ".join(rest))
        return found, rest

    def _parse(self, args: Any, namespace: Any) -> Any:
        actions = [entry.action for entry in self.entries]
        if not any(action.nargs in ("?", "*", "+") for action in actions if not action.option_strings):
            return super().parse_known_args(args, namespace)
        # Else argparse takes what may be left out, or come again, as left out once an option stands before it.
        self._is_mixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixed = False

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage())


def _profile_name(name: str) -> str:
    if not name:  # an unset variable of a script must not choose the current account
        raise argparse.ArgumentTypeError(say("the name of the account is empty"))
    return name


def add_common(parser: Parser) -> None:
    """Options every command takes, before or after its name."""
    without: Any = {"default": argparse.SUPPRESS}  # else it would undo what stood before the name
    parser.add_argument(
        "--profile", metavar="NAME", type=_profile_name, **without,
        help=say("account to use (default: the current one); “environment” uses HUAWEICLOUD_SDK_AK and _SK"),
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", **without, help=say("print JSON to standard output"))
    parser.add_argument("--language", choices=LANGUAGES, **without, help=say("language (default: that of the system)"))
    parser.add_argument("-v", "--verbose", action="store_true", **without, help=say("show technical details of errors"))
    parser.add_argument(*parser.help_names, action="help", help=say("show this help and exit"))


def group(
    groups: Subcommands, name: str, purpose: str, fill: Callable[[Subcommands], None], dest: str = "action"
) -> None:
    """A command that has commands of its own."""

    def add(parser: Parser) -> None:
        fill(parser.add_commands(dest))

    leaf(groups, name, purpose, add)


def leaf(group: Subcommands, name: str, purpose: str, *parts: Callable[[Parser], None], **settings: Any) -> None:
    """A command with its own options, in the order of `parts`."""
    group.add(name, purpose, parts, **settings)


def yes(parser: Parser) -> None:
    parser.flag("-y", "--yes", means=say("answer yes to all prompts"))


def size(value: str) -> int:
    from traindeck.domain.storage.objects import bytes_of

    found = bytes_of(value)
    if found is None:
        raise argparse.ArgumentTypeError(say("enter a size such as 500, 10MB or 1.5GiB"))
    return found


def count(value: str) -> int:
    if not value.isdecimal():
        raise argparse.ArgumentTypeError(say("enter a number, 0 or more"))
    return int(value)


def duration(value: str) -> timedelta:
    match = _DURATION.fullmatch(value.strip().lower())
    if match is None:
        raise argparse.ArgumentTypeError(say("enter a duration such as 90s, 30m, 1h or 7d"))
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def moment(value: str) -> datetime:
    """So long ago, or a time of this computer; a clock time alone is the last one there was."""
    words = value.strip()
    now = datetime.now().astimezone()
    if _DURATION.fullmatch(words.lower()):
        return now - duration(words)
    try:
        if _CLOCK.fullmatch(words):
            hour, minute, *second = map(int, words.split(":"))
            found = now.replace(hour=hour, minute=minute, second=second[0] if second else 0, microsecond=0)
            return found if found <= now else found - timedelta(days=1)
        return clamped(datetime.fromisoformat(words).astimezone()).astimezone()
    except (ValueError, OverflowError):
        hint = say("enter a time such as 14:30 or 2026-03-01T14:30, or 90s, 30m, 1h or 7d")
        raise argparse.ArgumentTypeError(hint) from None


def share(value: str) -> float:
    number = value.strip().removesuffix("%")
    try:
        found = float(number) / (100 if value.strip().endswith("%") else 1)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(say("enter a share such as 5% or 0.05"))
    return found


def filters(parser: Parser) -> None:
    """All that is said with them goes into one list, for their order is part of what they mean."""
    included = say("only files whose names match, e.g. '*.jpg', 'train/**' or '/top.txt'; see --exclude")
    excluded = say(
        "skip files whose names match, written as in rclone. “*” and “?” stay within a name, “**” does "
        "not; “/” at the start is the folder itself, at the end everything in a folder; case matters. "
        "Of several --include and --exclude, the last match decides; files without a match are included "
        "unless the first option is --include"
    )
    parser.option("--include", "PATTERN", included, action=_Filter, dest="filters", default=())
    parser.option("--exclude", "PATTERN", excluded, action=_Filter, dest="filters", default=())


class _Filter(argparse.Action):
    def __call__(self, _: Any, namespace: Any, value: Any, name: str | None = None) -> None:
        from traindeck.domain.errors import InvalidInput
        from traindeck.domain.transfers.name_filter import NamePattern

        is_included = name == "--include"
        try:
            NamePattern(value, is_included=is_included)
        except InvalidInput as error:
            raise argparse.ArgumentError(self, error.sentence()) from error
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), (is_included, value)))
