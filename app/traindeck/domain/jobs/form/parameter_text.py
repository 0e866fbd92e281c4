"""Parameters as people paste them: `a=1;b=2`, lines, a command line, JSON."""

from __future__ import annotations

import json
import math
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job_spec import Scalar, wire_value
from traindeck.domain.texts import text

_LAUNCHERS = ("torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch", "deepspeed.launcher")
_ASSIGNMENT = re.compile(r"\s*-{0,2}([^\s=:]+)\s*[=:]\s*(.*)", re.DOTALL)
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z_]")
_NUMBER = re.compile(r"[-+]?(\d++(?:\.\d*+)?|\.\d++)([eE][-+]?\d++)?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class _Piece:
    """One parameter as it was written; without a value where none was."""

    written: str
    name: str
    value: Scalar | None


def parameters_in(pasted: str) -> tuple[tuple[str, Scalar], ...]:
    """Names and values in their order, of the type they look like; InvalidInput names what is wrong."""
    found: dict[str, Scalar] = {}
    for piece in _pieces(pasted):
        if piece.value is None:
            raise _mistake(piece.written, text("Enter it as name=value."))
        if not _NAME.fullmatch(piece.name):
            raise _mistake(piece.written, text("A name has 1 to 64 letters, digits, “-” or “_”."))
        if piece.name in found:
            raise _mistake(piece.written, text("“{name}” appears twice.", name=piece.name))
        if isinstance(piece.value, float) and not math.isfinite(piece.value):
            raise _mistake(piece.written, text("It is not a number to compute with."))
        found[piece.name] = piece.value
    return tuple(found.items())


def rows_in(pasted: str) -> tuple[tuple[str, str], ...]:
    """The same as text, for a table in which it can still be mended: what has no value is a row without one."""
    try:
        pieces = list(_pieces(pasted))
    except InvalidInput:
        pieces = list(_assignments(re.split(r"[;\n]", pasted)))
    return tuple((piece.name, "" if piece.value is None else wire_value(piece.value)) for piece in pieces)


def scalar_of(value: str) -> Scalar:
    """`3`, `0.1` and `true` as what they look like; everything else is text."""
    value = value.strip()
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
    return parsed if isinstance(parsed, (int, float, bool)) else value


def exact_scalar(written: str) -> Scalar:
    """The value of what is written, where the script then sees the very same; else the text."""
    value = scalar_of(written)
    if isinstance(value, float) and not math.isfinite(value):
        return written
    return value if wire_value(value) == written else written


def _pieces(pasted: str) -> Iterator[_Piece]:
    pasted = pasted.strip()
    if pasted.startswith(("{", "[")):
        return _of_json(pasted)
    if ";" not in pasted and _OPTION.search(pasted):
        return _of_command(pasted)
    return _assignments(re.split(r"[;\n]", pasted))


def _assignments(pieces: Sequence[str]) -> Iterator[_Piece]:
    for piece in pieces:
        if not piece.strip():
            continue
        found = _ASSIGNMENT.fullmatch(piece)
        if found is None:
            yield _Piece(piece.strip(), piece.strip(), None)
            continue
        value = found[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            yield _Piece(piece.strip(), found[1], value[1:-1])
        else:
            yield _Piece(piece.strip(), found[1], exact_scalar(value))


def _of_command(pasted: str) -> Iterator[_Piece]:
    """What follows a script: `--lr 0.1 --flag --name=x`; a name without a value is true."""
    try:
        words = shlex.split(pasted.replace("\\\r\n", " ").replace("\\\n", " "))
    except ValueError as error:
        raise InvalidInput(
            text("The command line cannot be read: a quotation mark is missing."),
            text("Close every quotation mark."),
            str(error),
        ) from error
    start = _behind_the_script(words)
    place = next((place for place in range(start, len(words)) if _is_name(words[place])), len(words))
    while place < len(words):
        word = words[place]
        place += 1
        if not _is_name(word):
            raise _mistake(word, text("It follows no name. Put values with spaces in quotation marks."))
        name, equals, value = word.lstrip("-").partition("=")
        if equals:
            yield _Piece(word, name, exact_scalar(value))
        elif place < len(words) and not _is_name(words[place]):
            yield _Piece(f"{word} {words[place]}", name, exact_scalar(words[place]))
            place += 1
        else:
            yield _Piece(word, name, True)


def _behind_the_script(words: Sequence[str]) -> int:
    """Options of Python, or of what starts several processes, are no parameters of the job."""
    if not words or _is_name(words[0]):
        return 0
    script = next((place for place, word in enumerate(words) if word.endswith((".py", ".sh"))), len(words))
    module = words.index("-m") + 1 if "-m" in words[:script] else len(words)
    if module < script and words[module] not in _LAUNCHERS:
        return module + 1
    return script + 1 if script < len(words) else 0


def _is_name(word: str) -> bool:
    """A number below zero is a value."""
    return word.startswith("-") and len(word.lstrip("-")) > 0 and not _NUMBER.fullmatch(word)


def _of_json(pasted: str) -> Iterator[_Piece]:
    """An object, or the list of names and values that a request holds."""
    try:
        content: Any = json.loads(pasted)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", "?")
        raise InvalidInput(
            text("The JSON cannot be read: there is a mistake in line {line}.", line=line),
            text("Check quotation marks and commas."),
            str(error),
        ) from error
    if isinstance(content, list):
        rows = [(row.get("name", row.get("label")), row.get("value")) for row in content if isinstance(row, dict)]
        if len(rows) != len(content):
            raise _mistake(pasted, text("Each entry needs a name and a value."))
    else:
        rows = list(content.items())
    for name, value in rows:
        if not isinstance(name, str) or isinstance(value, list | dict):
            raise _mistake(str(name), text("The value must be a string, a number, true or false."))
        yield _Piece(name, name, exact_scalar(value) if isinstance(value, str) and isinstance(content, list) else value)


def _mistake(written: str, hint: Any) -> InvalidInput:
    return InvalidInput(text("“{written}” is not a parameter.", written=written[:80]), hint)
