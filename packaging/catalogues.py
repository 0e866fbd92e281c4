"""The catalogues of sentences: kept up with the sources, and compiled for the program to read.

    .venv/bin/python packaging/catalogues.py            # adds what the sources say anew, drops what they no longer say
    .venv/bin/python packaging/catalogues.py compile    # only compiles what was edited

A new sentence gets an empty entry: write its translation there. The program reads compiled catalogues, which are not
kept in the repository: building a package, a start from the sources and the tests make them anew when one was edited.
"""

from __future__ import annotations

import ast
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # Babel is loaded when there is something to do
    from babel.messages.catalog import Catalog

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "resources" / "translations"
SOURCES = (ROOT / "app" / "traindeck", ROOT / "packaging" / "manual_page.py")
# What is called with a sentence: where its forms are, and behind them where what tells its meaning apart is.
SAYING = {"say": ((0,), 1), "text": ((0,), 1), "say_count": ((0, 1), 3), "count_text": ((0, 1), 3)}


class Said(NamedTuple):
    """A sentence as a source says it."""

    forms: tuple[str, ...]  # one form, or one for one and one for many
    context: str
    place: str


def said(*sources: Path) -> Iterator[Said]:
    """All sentences of the sources, in their order."""
    files = [(base, path) for base in sources or SOURCES for path in sorted(base.rglob("*.py")) or [base]]
    for base, path in files:
        found = path.stat()
        yield from _said_in(path, base if base.is_dir() else base.parent, found.st_mtime_ns, found.st_size)


@cache
def _said_in(path: Path, base: Path, changed: int, size: int) -> tuple[Said, ...]:
    """Those of one file; when it was changed and its size tell whether they are known."""
    sentences = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        places, behind = SAYING.get(name, ((), 0))
        forms = [_literal(node.args, place) for place in places]
        if forms and all(forms):
            where = f"{path.relative_to(base).as_posix()}:{node.lineno}"
            sentences.append(Said((*forms,), _literal(node.args, behind), where))
    return (*sentences,)


def _literal(given: list[ast.expr], place: int) -> str:
    node = given[place] if place < len(given) else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def read(path: Path) -> Catalog:
    from babel.messages.pofile import read_po

    with path.open("rb") as file:
        catalogue = read_po(file, locale=path.stem, abort_invalid=True)
    # Of the same sentences the same bytes are made.
    catalogue.creation_date = catalogue.revision_date = datetime.fromtimestamp(0, UTC)
    return catalogue


def compiled(path: Path) -> bytes:
    """What the program reads."""
    from babel.messages.mofile import write_mo

    output = io.BytesIO()
    write_mo(output, read(path))
    return output.getvalue()


def update(path: Path, *sources: Path) -> None:
    """One entry for each sentence of the sources, in the order of the alphabet, and the head as it is."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import write_po

    template = Catalog()
    for sentence in said(*sources):
        id_ = sentence.forms if len(sentence.forms) > 1 else sentence.forms[0]
        template.add(id_, context=sentence.context or None)
    catalogue = read(path)
    catalogue.update(template, no_fuzzy_matching=True)
    output = io.BytesIO()
    write_po(output, catalogue, width=0, sort_output=True, omit_header=True, ignore_obsolete=True)
    head = path.read_text(encoding="utf-8").partition("\n\n")[0]
    _replace(path, f"{head}\n\n".encode() + output.getvalue().rstrip() + b"\n")


def is_current(path: Path) -> bool:
    """Whether what the program reads was made from this catalogue, which the time of the file tells."""
    made = path.with_suffix(".mo")
    return made.exists() and made.stat().st_mtime_ns == path.stat().st_mtime_ns


def all_current(folder: Path = FOLDER) -> bool:
    return all(map(is_current, folder.glob("*.po")))


def compile_edited(folder: Path = FOLDER) -> None:
    for path in folder.glob("*.po"):
        if not is_current(path):
            time_ns = path.stat().st_mtime_ns
            _replace(path.with_suffix(".mo"), compiled(path), time_ns)


def _replace(path: Path, content: bytes, time_ns: int | None = None) -> None:
    """At once: a program may be reading it, and another may write it as well."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        file.write(content)
    fresh = Path(file.name)
    fresh.chmod(0o644)
    if time_ns is not None:
        os.utime(fresh, ns=(time_ns, time_ns))
    fresh.replace(path)


def main(arguments: list[str]) -> int:
    from babel.messages.pofile import PoFileError

    try:
        if arguments != ["compile"]:
            for path in FOLDER.glob("*.po"):
                update(path)
        compile_edited()
    except (PoFileError, ValueError) as error:
        print(f"{FOLDER}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
