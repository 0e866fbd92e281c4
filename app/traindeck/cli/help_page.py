"""The usage line and the help page of a command, written from what its parser has recorded.

argparse would write them with code that is private to it and that differs between versions of Python.
"""

from __future__ import annotations

import argparse
import os
import sys
from argparse import Action
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from traindeck.cli.columns import width, wrapped
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.cli.parser_parts import Parser, ParserEntry

_MEANINGS_AT = 24
_LEAST_MEANING = 22
_LEAST_ROOM = 20


def terminal_columns() -> int:
    """Return the width of the terminal. argparse would load all archive formats to measure it."""
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80 if sys.__stdout__ else 80
    except (OSError, ValueError):
        return 80


def usage_line(parser: Parser, columns: int) -> str:
    head = f"{say('usage: ')}{parser.prog}"
    indent = width(head) + 1 if width(head) + _LEAST_ROOM < columns else 4
    lines = [head]
    for part in usage_parts(parser.entries, parser):
        if width(f"{lines[-1]} {part}") <= columns:
            lines[-1] += f" {part}"
        else:
            lines += [" " * indent + piece for piece in wrapped(part, columns - indent)]
    if width(head) > columns:
        lines[:1] = wrapped(head, columns)
    return "\n".join(lines)


def usage_parts(entries: Iterable[ParserEntry], parser: Parser) -> Iterator[str]:
    """Yield options, then arguments, then the place of a command."""
    shown = [entry for entry in entries if entry.action.help != argparse.SUPPRESS]
    options = [entry for entry in shown if entry.action.option_strings]
    for choice, alternatives in groupby(options, key=lambda entry: entry.choice):
        if choice is None:
            for entry in alternatives:
                part = _with_value(entry, entry.action.option_strings[0])
                yield part if entry.action.required else f"[{part}]"
        else:
            part = " | ".join(_with_value(entry, entry.action.option_strings[0]) for entry in alternatives)
            yield f"({part})" if choice.is_required else f"[{part}]"
    for entry in shown:
        if not entry.action.option_strings:
            yield _values(entry)
    if parser.commands:
        yield f"{parser.commands.metavar} ..."


def invocation(entry: ParserEntry) -> str:
    """Return all names of an option with its value, or the name of an argument."""
    names = entry.action.option_strings
    return _with_value(entry, ", ".join(names)) if names else _name(entry.action)


def meaning(action: Action) -> str:
    """Return the help of an action; argparse wants a percent sign written twice."""
    return (action.help or "").replace("%%", "%")


def help_page(parser: Parser, columns: int) -> str:
    blocks = [[usage_line(parser, columns)]]
    if parser.description:
        blocks.append(wrapped(parser.description, columns))
    shown = [entry for entry in parser.entries if entry.action.help != argparse.SUPPRESS]
    arguments = [entry for entry in shown if not entry.action.option_strings]
    blocks.append(_section(say("positional arguments"), arguments, columns))
    for section, options in groupby(shown, key=lambda entry: entry.section):
        title, about = (section.title, section.about) if section else (say("options"), "")
        blocks.append(_section(title, [entry for entry in options if entry.action.option_strings], columns, about))
    if parser.commands:
        rows = [(name, inner.description or "") for name, inner in parser.commands.parsers.items()]
        blocks.append([_heading(parser.commands.title), *_rows(rows, columns)])
    if parser.epilog:
        blocks.append(wrapped(parser.epilog, columns))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _section(title: str, entries: list[ParserEntry], columns: int, about: str = "") -> list[str]:
    if not entries:
        return []
    told = [f"  {line}" for line in wrapped(about, columns - 2)] + [""] if about else []
    return [_heading(title), *told, *_rows([(invocation(entry), meaning(entry.action)) for entry in entries], columns)]


def _heading(title: str) -> str:
    return say("{title}:", title=title)


def _rows(rows: list[tuple[str, str]], columns: int) -> Iterator[str]:
    at = max(4, min(_MEANINGS_AT, columns - _LEAST_MEANING))
    for term, means in rows:
        lines = [f"  {line}" for line in wrapped(term, columns - 2)]
        rest = wrapped(" ".join(means.split()), columns - at) if means else []
        if rest and len(lines) == 1 and width(lines[0]) + 2 <= at:
            lines = [lines[0] + " " * (at - width(lines[0])) + rest.pop(0)]
        yield from lines
        yield from (" " * at + line for line in rest)


def _name(action: Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def _values(entry: ParserEntry) -> str:
    name = _name(entry.action)
    match entry.number:
        case None:
            return name
        case "?":
            return f"[{name}]"
        case "*":
            return f"[{name} ...]"
        case "+":
            return f"{name} [{name} ...]"
        case number:
            return " ".join([name] * int(number))


def _with_value(entry: ParserEntry, names: str) -> str:
    return names if entry.number == 0 else f"{names} {_values(entry)}"
