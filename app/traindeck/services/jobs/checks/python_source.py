"""Whether a file is Python that an engine can read, and what of the folder it needs."""

from __future__ import annotations

import ast
import codecs
import io
import re
import sys
import threading
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

MOST_BYTES = 512 * 1024
"""Reading a larger one would hold up everything else in this program."""

PythonVersion = tuple[int, int]
OWN: PythonVersion = sys.version_info[:2]

_OF_ENGINE = re.compile(r"(?:^|[-_])py(?:thon)?_?(\d)\.(\d{1,2})", re.IGNORECASE)
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|\?xml)\b", re.I | re.S)
_NOTEBOOK = re.compile(rb'\s*\{(?=.*"cells"\s*:)(?=.*"nbformat"\s*:)', re.S)
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
class LocalImport:
    """An import that runs as soon as the file does; `level` is the number of dots before it."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0


@dataclass(frozen=True, slots=True)
class PythonSource:
    """What was found in one file."""

    fault: SourceFault | None = None
    words: str = ""
    """Python's own, or the encoding it may be in."""
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
    if len(content) > MOST_BYTES:
        return PythonSource(SourceFault.TOO_LARGE)
    if _PAGE.match(content):
        return PythonSource(SourceFault.PAGE, line=1)
    if _NOTEBOOK.match(content):
        return PythonSource(SourceFault.NOTEBOOK, line=1)
    if content.startswith(_WIDE):
        return PythonSource(SourceFault.ENCODING, "UTF-16", 1)
    if b"\0" in content:
        return PythonSource(SourceFault.NULS, line=content[: content.index(b"\0")].count(b"\n") + 1)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        words = content.decode(encoding)
    except UnicodeDecodeError as error:
        return PythonSource(SourceFault.ENCODING, _encoding_of(content), content[: error.start].count(b"\n") + 1)
    except SyntaxError as error:
        return _undecoded(content, error)
    return _parsed(words, version)


def _undecoded(content: bytes, error: SyntaxError) -> PythonSource:
    """A declared encoding that there is not, or a beginning that is in none."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as bad:
        return PythonSource(SourceFault.ENCODING, _encoding_of(content), content[: bad.start].count(b"\n") + 1)
    return PythonSource(SourceFault.SYNTAX, str(error.msg), error.lineno or 1)


def _encoding_of(content: bytes) -> str:
    try:
        content.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return "GBK"


def _parsed(words: str, version: PythonVersion | None) -> PythonSource:
    try:
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and comparisons, which fail nothing
            tree = ast.parse(words, "code", feature_version=min(version, OWN) if version else None)
            # What only shows when it is compiled, as a return outside of a function.
            compile(tree, "code", "exec", dont_inherit=True)
    except SyntaxError as error:
        return PythonSource(SourceFault.SYNTAX, str(error.msg), error.lineno)
    except (RecursionError, MemoryError, ValueError):
        return PythonSource(SourceFault.TOO_DEEP)
    return PythonSource(imports=tuple(_imports(tree)))


def _imports(tree: ast.Module) -> Iterator[LocalImport]:
    """Those that nothing keeps from running; one that is tried, or stands in a function, may never do."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for name in statement.names:
                yield LocalImport(name.name)
        elif isinstance(statement, ast.ImportFrom):
            yield LocalImport(statement.module or "", tuple(name.name for name in statement.names), statement.level)


def files_of(wanted: LocalImport, importer: str, start: str) -> Iterator[str]:
    """Where it may be found, below the code folder; `start` is the folder of the boot file, and ends with a slash."""
    folder = start
    if wanted.level:
        parts = importer.split("/")[: -wanted.level]
        if len(importer.split("/")) < wanted.level:
            return
        folder = "".join(f"{part}/" for part in parts)
    steps = [step for step in wanted.module.split(".") if step]
    for count in range(1, len(steps) + 1):
        place = folder + "/".join(steps[:count])
        yield f"{place}.py"
        yield f"{place}/__init__.py"
    above = folder + "".join(f"{step}/" for step in steps)
    for name in wanted.names:
        yield f"{above}{name}.py"
        yield f"{above}{name}/__init__.py"
