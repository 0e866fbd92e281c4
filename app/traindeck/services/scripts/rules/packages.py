"""Packages that are imported, and that neither the engine nor the list of packages brings."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from traindeck.domain.scripts.script_job import AcceleratorKind
from traindeck.domain.texts import text
from traindeck.runtime.resources import resource
from traindeck.services.scripts.rules.ascend import OF_NPUS, imported, is_optional
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.source_view import Seen
from traindeck.services.scripts.script_tree import required_files

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
# Source: “VCS Support” and “Requirement Specifiers” (pip documentation): name @ address, and address#egg=name.
_OF_ADDRESS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*@\s*\S")
_EGG = re.compile(r"#(?:[^#]*&)?egg=([A-Za-z0-9][A-Za-z0-9._-]*)")
_INSTALL = re.compile(r"pip3?\s+install\s+(?:-\S+\s+)*([^'\"|;&\n]+)")
# Of Python 3.7 to 3.11, which engines have; the later ones do without.
_ONCE_STANDARD = frozenset(
    {"distutils", "imp", "asynchat", "asyncore", "smtpd", "cgi", "crypt", "telnetlib", "pipes", "lib2to3"}
)


@dataclass(frozen=True, slots=True)
class PackageTable:
    """What is known of packages, as data: `resources/scripts/packages.toml`."""

    distributions: Mapping[str, tuple[str, ...]]
    """Of an import, what pip calls it; the first is the usual one."""
    brought: Mapping[str, frozenset[str]]
    """Of a distribution, the imports that come with it."""
    engines: tuple[tuple[re.Pattern[str], frozenset[str], frozenset[str]], ...]
    """By version: what it surely has, and what it may have."""
    covered: frozenset[str]
    """Imports that, on an NPU, another rule tells of."""


@cache
def package_table() -> PackageTable:
    with resource("scripts", "packages.toml").open("rb") as file:
        found = tomllib.load(file)
    common = found["common"]
    engines = tuple(
        (re.compile(row["version"]), frozenset((*common["has"], *row["has"])),
         frozenset((*common["may_have"], *row.get("may_have", ()))))
        for row in found["engine"]
    )  # fmt: skip
    names = {
        name: (given,) if isinstance(given, str) else tuple(given) for name, given in found["distributions"].items()
    }
    brought = {_plain(name): frozenset(imports) for name, imports in found["brings"].items()}
    return PackageTable(names, brought, engines, frozenset(found["covered"]["imports"]))


def knows_engine(version: str) -> bool:
    return any(pattern.search(version) for pattern, _, _ in package_table().engines)


def distribution_of(name: str) -> str:
    """What to write into pip-requirements.txt for an import."""
    return package_table().distributions.get(name, (name.replace("_", "-"),))[0]


def _missing(look: ScriptLook) -> Iterable[Fault]:
    table = package_table()
    known = next((row for row in table.engines if row[0].search(look.job.engine_version)), None)
    if known is None or look.job.image:
        return
    _, has, may_have = known
    installed, is_open = _installed(look)
    told: set[str] = set()
    for view, name, seen in imported(look):
        top = name.partition(".")[0]
        is_there = top in has or top in sys.stdlib_module_names or top in _ONCE_STANDARD or _is_beside(look, top)
        if is_there or top in told or _is_told_elsewhere(look, table, top) or _is_installed(table, top, installed):
            continue
        if is_optional(look, view, seen) or (is_open and not installed):
            continue
        told.add(top)
        file = look.tree.requirements
        is_known = not installed and not is_open and not look.job.is_rehearsal
        is_sure = is_known and top not in may_have and not _is_asked(look, view.path, seen)
        line = distribution_of(top)
        why = text("“{package}” is not known to be in the engine, and {file} does not name it.",
                   package=top, file=file)  # fmt: skip
        if is_sure:
            why = text("“{package}” is neither in the engine nor in {file}: the script ends at this line.",
                       package=top, file=file)  # fmt: skip
        hint = text("Add this line to {file} in the code directory: {line}", file=file, line=line)
        yield at(RED if is_sure else AMBER, view, seen.node, why, hint)


def _is_told_elsewhere(look: ScriptLook, table: PackageTable, top: str) -> bool:
    """What is for the other kind of accelerator."""
    if look.job.is_ascend:
        return top in table.covered
    return top in OF_NPUS and look.job.flavor_kind in (AcceleratorKind.GPU, AcceleratorKind.CPU)


def _is_asked(look: ScriptLook, path: str, seen: Seen) -> bool:
    """It stands under a condition that nobody can tell here."""
    return bool(seen.around.guards) or bool(seen.around.functions and path != look.tree.boot)


def _is_beside(look: ScriptLook, top: str) -> bool:
    """In the code itself, wherever; what is appended to sys.path is not followed."""
    return top in look.local_modules


def is_listed(look: ScriptLook, top: str) -> bool:
    """What the job installs has this module, or may have it."""
    installed, is_open = _installed(look)
    return is_open or _is_installed(package_table(), top, installed)


def _is_installed(table: PackageTable, top: str, installed: frozenset[str]) -> bool:
    names = {_plain(name) for name in (*table.distributions.get(top, ()), top)}
    if names & installed:
        return True
    return any(top in table.brought.get(name, ()) for name in installed)


def _installed(look: ScriptLook) -> tuple[frozenset[str], bool]:
    """What the list of packages names, and the script installs; True: there is more that nobody can tell."""
    found: set[str] = set()
    is_open = False
    for path, line in ((file.path, line) for file in look.tree.requirement_files for line in file.lines):
        words = _COMMENT.sub("", line).strip()
        if is_named := _OF_ADDRESS.match(words) or _EGG.search(words):
            found.add(_plain(is_named[1]))
        elif words.startswith("-") or "://" in words or words.endswith(".whl"):
            is_taken = all(one in look.tree.files for one in required_files(words, path))
            is_more = words.startswith(("-r", "--requirement")) and not is_taken
            is_open = is_open or is_more or words.startswith("-e") or "://" in words
            if words.endswith((".whl", ".git")):
                found.add(_plain(words.rpartition("/")[2].removesuffix(".git").partition("-")[0]))
        elif named := _NAME.match(words):
            found.add(_plain(named[1]))
    for words in look.all_texts:
        for command in _INSTALL.finditer(words):
            found |= {_plain(match[1]) for part in command[1].split() if (match := _NAME.match(part))}
            is_open = is_open or "-r" in command[0]
    return frozenset(found), is_open


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


RULES = (ScriptRule("missing-package", "packages", text("Package that is not installed"), _missing),)
