"""The scripts of a code folder as they are written: read once for all who look into them. Nothing of them ever runs."""

from __future__ import annotations

import ast
import posixpath
import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.scripts.imports import (
    LocalImport,
    added_roots,
    files_of,
    folder_of,
    local_imports,
    reached_from,
)
from traindeck.services.scripts.python_source import (
    MOST_BYTES,
    PythonVersion,
    SourceFault,
    module_again,
    parsed_source,
    understood_source,
)
from traindeck.services.scripts.reading.hydra_configs import hydra_configs
from traindeck.services.scripts.started_files import CONFIGS, configs_by_shell, started_by_python, started_by_shell

REQUIREMENTS = "pip-requirements.txt"
# Source: “How Do I Create a Training Job That References a Third-Party Dependency Package in ModelArts?” (FAQs, 2025):
# any one of these is installed; earlier editions of the page name the first alone, and the Lab goes by them.
REQUIREMENT_NAMES = (REQUIREMENTS, "pip-requirement.txt", "requirements.txt", "requirement.txt")
MOST_FILES = 2_000
MOST_TOTAL_BYTES = 50 << 20
MOST_SECONDS = 5.0
_MOST_KEPT_LETTERS = 4 << 20
_MOST_CONFIG_BYTES = 256 * 1024
_MODULES = (".py", ".pyw")
_REQUIRED = re.compile(r"^[ \t]*(?:-r|--requirement)[ \t=]*([^\s#]+)", re.MULTILINE)
_READ = (*_MODULES, ".sh", *CONFIGS)


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """One file as it was read."""

    path: str
    """Below the code folder, with slashes."""
    text: str
    """Decoded as Python would, GBK where it is; empty where it cannot be read."""
    kept: ast.Module | None = None
    fault: SourceFault | None = None
    words: str = ""
    line: int | None = None
    encoding: str = ""
    is_understood: bool = False
    """It has a syntax tree, though that may not be kept: forty times its text, of two thousand files."""
    version: PythonVersion | None = None

    @property
    def module(self) -> ast.Module | None:
        """None: not Python, or past understanding. What only the engine cannot read has both a module and a fault.

        Of what the boot file does not need it is made anew each time.
        """
        if self.kept is not None or not self.is_understood:
            return self.kept
        return module_again(self.text, self.version)

    @property
    def lines(self) -> tuple[str, ...]:
        """As Python counts them."""
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))

    @property
    def is_python(self) -> bool:
        return self.path.endswith(_MODULES)


@dataclass(frozen=True)
class ScriptTree:
    """What was read of a code folder."""

    boot: str
    """The file that is started, which may be a shell file; empty where a folder without one is looked at."""
    files: Mapping[str, ScriptFile]
    """Every Python and shell file, flat configs and lists of packages, as far as the bounds let."""
    reached: tuple[str, ...] = ()
    """What the boot file imports or starts, itself first."""
    version: PythonVersion | None = None
    """The engine's."""
    limits: tuple[Text, ...] = ()
    """What was not read, and why."""
    started: tuple[str, ...] = ()
    """Those that run as programs of their own, the boot file first."""
    configs: frozenset[str] = field(default_factory=frozenset)
    """Configuration files that a shell file names, and those that Hydra reads."""
    roots: tuple[str, ...] = ()
    """The folders that modules are looked for in, each with a slash behind it."""
    names: frozenset[str] = field(default_factory=frozenset)
    """Of all files of the folder, those that were not read among them."""

    @cached_property
    def python(self) -> tuple[ScriptFile, ...]:
        """The Python files that are reached first, then the others."""
        reached = set(self.reached)
        others = (path for path in self.files if path not in reached)
        return tuple(found for path in (*self.reached, *others) if (found := self.files[path]).is_understood)

    @property
    def requirement_files(self) -> tuple[ScriptFile, ...]:
        """The lists of packages, and those that they name in turn."""
        return tuple(self.files[path] for path in reached_from(REQUIREMENT_NAMES, self.files, self._named_by))

    def _named_by(self, path: str) -> Iterator[str]:
        return required_files(self.files[path].text, path)

    @property
    def requirements(self) -> str:
        """The list of packages; where there is none, the one that would be installed everywhere."""
        return next((name for name in REQUIREMENT_NAMES if name in self.files), REQUIREMENTS)

    def module_of(self, wanted: LocalImport, importer: str, roots: Iterable[str] = ()) -> str | None:
        """The file that a whole name is, for the file that asks for it; `roots` are looked in before those of all."""
        folders = dict.fromkeys((*roots, *self.roots, folder_of(importer)))
        end = wanted.module.replace(".", "/")
        for place in files_of(wanted, importer, folders):
            if place in self.files and (not end or place.endswith((f"{end}.py", f"{end}/__init__.py"))):
                return place
        return None

    def is_reached(self, path: str) -> bool:
        return path in self.reached


@dataclass(eq=False, slots=True)
class _Reading:
    read: Callable[[str], bytes]
    check: Callable[[], None]
    clock: Callable[[], float]
    version: PythonVersion | None
    ends_at: float
    known: Callable[[str], ScriptFile | None]
    files: dict[str, ScriptFile] = field(default_factory=dict)
    size_bytes: int = 0
    kept_letters: int = 0
    late: int = 0
    beyond: int = 0
    failed: dict[str, Text | str] = field(default_factory=dict)
    started: dict[str, None] = field(default_factory=dict)
    configs: set[str] = field(default_factory=set)
    roots: dict[str, None] = field(default_factory=dict)

    def file(self, path: str, *, is_needed: bool) -> ScriptFile | None:
        found = self.files.get(path)
        if found is not None or path in self.failed:
            return found
        if len(self.files) >= MOST_FILES or self.size_bytes >= MOST_TOTAL_BYTES:
            self.beyond += 1
            return None
        if self.clock() >= self.ends_at:
            self.late += 1
            return None
        self.check()
        if (known := self.known(path)) is not None and (known.kept is not None or not is_needed):
            self.size_bytes += len(known.text)
            self.files[path] = known
            return known
        try:
            content = self.read(path)
        except AppError as error:
            self.failed[path] = error.title
            return None
        except OSError as error:
            self.failed[path] = error.strerror or type(error).__name__
            return None
        self.size_bytes += len(content)
        found = script_file(path, content, self.version, is_needed=is_needed)
        self.kept_letters += 0 if found.kept is None else len(found.text)
        if self.kept_letters > _MOST_KEPT_LETTERS:
            found = replace(found, kept=None)
        self.files[path] = found
        return found

    def limits(self) -> Iterator[Text]:
        if self.beyond:
            yield count_text(
                "{count} file was not read: only 2,000 files and 50 MB are.",
                "{count} files were not read: only 2,000 files and 50 MB are.",
                self.beyond,
            )
        if self.late:
            yield count_text(
                "{count} file was not read: reading took longer than 5 seconds.",
                "{count} files were not read: reading took longer than 5 seconds.",
                self.late,
            )
        for path, problem in self.failed.items():
            yield text("{file} was not read: {problem}", file=path, problem=problem)


def is_script(name: str) -> bool:
    return name.endswith((*_MODULES, ".sh"))


def is_read(name: str) -> bool:
    """Whether a file of this name says something of a script."""
    return name.endswith(_READ) or name.rpartition("/")[2] in REQUIREMENT_NAMES


def script_file(
    path: str, content: bytes, version: PythonVersion | None = None, *, is_needed: bool = True
) -> ScriptFile:
    """`is_needed`: somebody looks into it; of others it is only said whether they are sound."""
    if path.endswith(_MODULES):
        if not is_needed and (sound := understood_source(content)) is not None:
            return ScriptFile(path, sound.text, encoding=sound.encoding, is_understood=True, version=version)
        found = parsed_source(content, version)
        has_tree = found.module is not None
        return ScriptFile(
            path, found.text, found.module, found.fault, found.words, found.line, found.encoding, has_tree, version
        )
    if len(content) > (_MOST_CONFIG_BYTES if path.endswith(CONFIGS) else MOST_BYTES):
        return ScriptFile(path, "", fault=SourceFault.TOO_LARGE)
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return ScriptFile(path, content.decode(encoding), encoding=encoding)
        except UnicodeDecodeError:
            continue
    return ScriptFile(path, "", fault=SourceFault.ENCODING)


def read_scripts(
    names: Container[str],
    read: Callable[[str], bytes],
    boot: str,
    version: PythonVersion | None = None,
    *,
    others: bool = True,
    check: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
    known: Callable[[str], ScriptFile | None] = lambda _: None,
) -> ScriptTree:
    """Blocks: for workers. `read` gives a file, its beginning at least; `check` raises when nobody waits any more;
    `known` is what was read of a file before, and is still so.

    What the boot file needs is read first, so that the bounds leave out what matters least. The others are read where
    `names` can be gone through.
    """
    there = frozenset(names) if isinstance(names, Iterable) else names
    reading = _Reading(read, check, clock, version, clock() + MOST_SECONDS, known)
    reading.started[boot] = None
    reading.roots.update(dict.fromkeys(_roots(boot)))
    reached = reached_from([boot], there, lambda path: _needed_by(reading, path, there))
    reached_from(REQUIREMENT_NAMES, there, lambda path: _required_by(reading, path))
    if others and isinstance(there, frozenset):
        for name in sorted(filter(is_read, there), key=lambda name: (not name.endswith(_MODULES), name)):
            reading.file(name, is_needed=False)
    files = reading.files
    listed = there if isinstance(there, frozenset) else frozenset(files)
    reached = tuple(path for path in reached if path in files)
    started = tuple(path for path in reading.started if path in files)
    configs = frozenset(path for path in reading.configs if path in files)
    limits, roots = tuple(reading.limits()), tuple(reading.roots)
    return ScriptTree(boot, files, reached, version, limits, started, configs, roots, listed)


def required_files(words: str, path: str) -> Iterator[str]:
    """Further lists that a list of packages takes in."""
    for name in _REQUIRED.findall(words):
        yield posixpath.normpath(folder_of(path) + name)


def _required_by(reading: _Reading, path: str) -> Iterator[str]:
    found = reading.file(path, is_needed=True)
    return iter(()) if found is None else required_files(found.text, path)


def _first_found(wanted: LocalImport, path: str, roots: Iterable[str], there: Container[str]) -> Iterator[str]:
    """Of what has the same name in several folders, Python takes the first."""
    for root in roots:
        found = [place for place in files_of(wanted, path, [root]) if place in there]
        if found:
            yield from found
            return


def _needed_by(reading: _Reading, path: str, there: Container[str]) -> Iterator[str]:
    found = reading.file(path, is_needed=True)
    if found is None:
        return
    module = found.module
    if module is not None:
        reading.roots.update(dict.fromkeys(added_roots(module, path)))
        here = tuple(dict.fromkeys((*reading.roots, folder_of(path))))
        for wanted in local_imports(module):
            yield from _first_found(wanted, path, here, there)
        configs = list(configs_named_in(module, here))
        its_own = list(hydra_configs(module, path))
        started = list(started_by_python(module, path))
    else:
        is_shell = path.endswith(".sh")
        configs, its_own = [], list(configs_by_shell(found.text, path)) if is_shell else []
        started = list(started_by_shell(found.text, path)) if is_shell else []
    reading.configs.update(its_own)
    for config in (*configs, *its_own):
        if config in there:
            reading.file(config, is_needed=True)
    reading.started.update(dict.fromkeys(started))
    yield from started


def configs_named_in(module: ast.Module, folders: Iterable[str]) -> Iterator[str]:
    """Where the configs may be that a script names in so many words."""
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(CONFIGS):
            name = node.value.replace("\\", "/")
            yield from dict.fromkeys(posixpath.normpath(folder + name) for folder in folders)


def _roots(boot: str) -> tuple[str, ...]:
    """Where modules are looked for: beside the boot file, in the code folder, and in `src/` of both."""
    start = folder_of(boot)
    return tuple(dict.fromkeys((start, "", f"{start}src/", "src/")))
