"""Whether a file is Python that an engine can read."""

from __future__ import annotations

import ast
import codecs
import gc
import io
import re
import sys
import threading
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto

from traindeck.services.scripts.imports import LocalImport, local_imports
from traindeck.services.scripts.newer_syntax import beginning_of, newer_syntax

MOST_BYTES = 512 * 1024
"""Reading a larger one would hold up everything else in this program."""

PythonVersion = tuple[int, int]
OWN: PythonVersion = sys.version_info[:2]

_OF_ENGINE = re.compile(r"(?:^|[-_])py(?:thon)?_?(\d)\.(\d{1,2})", re.IGNORECASE)
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<!--(?>.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|\?xml)\b", re.I | re.S
)
_NOTEBOOK = re.compile(rb'\s*\{(?=.*"cells"\s*:)(?=.*"nbformat"\s*:)', re.S)
_COMMAND = re.compile(r"^([ \t]*)(?:%%?[A-Za-z]|[!?])[^\r\n]*")
_DEFINES = ("def ", "class ", "async def ", "@")
_LARGE = 64 * 1024
_PART = 24 * 1024
_LONE_RETURN = re.compile(r"\r(?!\n)")
_ASYNC_NAME = re.compile(r"\basync\b(?!\s+(?:def|for|with)\b)")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# The filters of warnings are the whole program's.
_quiet = threading.Lock()


class SourceFault(Enum):
    """What keeps a file from being read as Python."""

    PAGE = auto()
    NOTEBOOK = auto()
    NULS = auto()
    ENCODING = auto()
    SYNTAX = auto()
    TOO_LARGE = auto()
    TOO_DEEP = auto()


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """A file read as Python.

    With a fault there may still be text and a module: what an engine cannot read, as GBK without a line that says so or
    `match` with Python 3.7, can be understood here all the same.
    """

    text: str = ""
    encoding: str = ""
    module: ast.Module | None = None
    fault: SourceFault | None = None
    words: str = ""
    """Python's own, or the encoding it may be in."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PythonSource:
    """What was found in one file, without its syntax tree."""

    fault: SourceFault | None = None
    words: str = ""
    line: int | None = None
    imports: tuple[LocalImport, ...] = ()


def engine_python(version: str) -> PythonVersion | None:
    """Of an engine's name for itself, as in `…-py_3.9-…`."""
    found = _OF_ENGINE.search(version)
    return (int(found[1]), int(found[2])) if found else None


def version_words(version: PythonVersion | None) -> str:
    return "Python" if version is None else f"Python {version[0]}.{version[1]}"


def python_source(content: bytes, version: PythonVersion | None = None) -> PythonSource:
    """Read as this version would; None: as ours does. Nothing of it runs."""
    found = parsed_source(content, version)
    imports = tuple(local_imports(found.module)) if found.module is not None and found.fault is None else ()
    return PythonSource(found.fault, found.words, found.line, imports)


def parsed_source(content: bytes, version: PythonVersion | None = None) -> ParsedSource:
    """The same with the text and the syntax tree, as far as they can be had."""
    if len(content) > MOST_BYTES:
        return ParsedSource(fault=SourceFault.TOO_LARGE)
    if _PAGE.match(content):
        return ParsedSource(fault=SourceFault.PAGE, line=1)
    if _NOTEBOOK.match(content):
        return ParsedSource(fault=SourceFault.NOTEBOOK, line=1)
    if content.startswith(_WIDE):
        found = _parsed(content.decode("utf-16", "replace"), "UTF-16", version)
        return replace(found, fault=SourceFault.ENCODING, words="UTF-16", line=1)
    if b"\0" in content:
        return ParsedSource(fault=SourceFault.NULS, line=content[: content.index(b"\0")].count(b"\n") + 1)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        words = content.decode(encoding)
    except UnicodeDecodeError as error:
        return _misread(content, error.start, version)
    except SyntaxError as error:
        return _undecoded(content, error, version)
    return _parsed(words, encoding, version)


def understood_source(content: bytes) -> ParsedSource | None:
    """Whether it is sound, without its syntax tree, for what nobody may ever look into; None: look closer.

    The tree takes forty times the room of the text and most of the time. Only what is sound for our own Python is told.
    """
    if len(content) > MOST_BYTES or content.startswith(_WIDE) or b"\0" in content:
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        words = content.decode(encoding)
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(words, "code", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return ParsedSource(words, encoding)


def module_again(words: str, version: PythonVersion | None) -> ast.Module | None:
    """The syntax tree of what was understood before."""
    try:
        with _quiet, warnings.catch_warnings(), _uncollected():
            warnings.simplefilter("ignore")
            return ast.parse(words, "code", feature_version=min(version, OWN) if version else None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _mended(words)


def _undecoded(content: bytes, error: SyntaxError, version: PythonVersion | None) -> ParsedSource:
    """A declared encoding that there is not, or a beginning that is in none."""
    try:
        words = content.decode("utf-8")
    except UnicodeDecodeError as bad:
        return _misread(content, bad.start, version)
    found = _parsed(words, "utf-8", version)
    return replace(found, fault=SourceFault.SYNTAX, words=str(error.msg), line=error.lineno or 1)


def _misread(content: bytes, start: int, version: PythonVersion | None) -> ParsedSource:
    """Python does not read it; where it is the other encoding that is common, we do."""
    line = content[:start].count(b"\n") + 1
    try:
        words = content.decode("gb18030")
    except UnicodeDecodeError:
        return ParsedSource(fault=SourceFault.ENCODING, line=line)
    return replace(_parsed(words, "gb18030", version), fault=SourceFault.ENCODING, words="GBK", line=line)


def _parsed(words: str, encoding: str, version: PythonVersion | None) -> ParsedSource:
    try:
        with _quiet, warnings.catch_warnings(), _uncollected():
            warnings.simplefilter("ignore")  # about escapes and comparisons, which fail nothing
            tree = _tree(words, version)
    except SyntaxError as error:
        mended = _mended(words)
        line = beginning_of(error.msg, mended, words) if mended is not None else None
        return ParsedSource(words, encoding, mended, SourceFault.SYNTAX, str(error.msg), line or error.lineno)
    except (RecursionError, MemoryError, ValueError):
        return ParsedSource(words, encoding, fault=SourceFault.TOO_DEEP)
    newer = newer_syntax(tree, words, version) if version is not None else None
    if newer is not None:
        return ParsedSource(words, encoding, tree, SourceFault.SYNTAX, newer.words, newer.line)
    return ParsedSource(words, encoding, tree)


@contextmanager
def _uncollected() -> Iterator[None]:
    """A syntax tree is a hundred thousand objects without a cycle among them: looking for one takes twice its time.

    One at a time is here: `_quiet` is held.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _tree(words: str, version: PythonVersion | None) -> ast.Module:
    """In parts where it is large: nothing else of this program runs while the parser does."""
    if version is not None and version < (3, 7) <= (3, 13) <= OWN:
        words = _ASYNC_NAME.sub("async_", words)  # a name like any other then, which ours no longer takes
    if len(words) > _LARGE:
        try:
            parts = [_part_tree(part, version) for part in _parts(words)]
        except SyntaxError:
            return _part_tree(words, version)  # which tells what is wrong, and where
        return ast.Module([statement for part in parts for statement in part.body], [])
    return _part_tree(words, version)


def _part_tree(words: str, version: PythonVersion | None) -> ast.Module:
    tree = ast.parse(words, "code", feature_version=min(version, OWN) if version else None)
    # What only shows when it is compiled, as a return outside of a function.
    compile(tree, "code", "exec", dont_inherit=True)
    return tree


def _parts(words: str) -> Iterator[str]:
    """Cut before definitions at the very left, each with empty lines before it in place of what was cut off.

    A cut within a text of several lines leaves two parts of which the first is no Python.
    """
    # The only ends of lines that Python knows, a lone carriage return aside.
    lines = [words] if _LONE_RETURN.search(words) else words.split("\n")
    start = size = 0
    for number, line in enumerate(lines):
        if size > _PART and line.startswith(_DEFINES) and not lines[number - 1].strip():
            yield "\n" * start + "\n".join(lines[start:number]) + "\n"
            start, size = number, 0
        size += len(line)
    yield "\n" * start + "\n".join(lines[start:])


def _mended(words: str) -> ast.Module | None:
    """As Python of today reads it, with tabs as Python 2 took them and without the commands of notebooks."""
    for text in (words, _without_commands(words.expandtabs(8))):
        try:
            with _quiet, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text, "code")
        except (SyntaxError, RecursionError, MemoryError, ValueError):
            continue
    return None


def _without_commands(words: str) -> str:
    """Line by line the same, with `pass` where a notebook has a command of its own."""
    return "".join(_COMMAND.sub(r"\1pass", line) for line in words.splitlines(keepends=True))
