"""What is no part of a job's code, and which rule of whom says so."""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.name_filter import utf8_name
from traindeck.domain.transfers.sync_rules import DATA_IGNORE_FILE, can_be_used, ignore_spec, too_many_rules

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LARGE_BYTES = 10_000_000
"""Above this, what its name says to be weights or data is no code."""

_USUAL = (
    ".git/", ".hg/", ".svn/", "__pycache__/", "*.pyc", ".venv/", "venv/", ".conda/", "node_modules/", ".idea/",
    ".vscode/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".ipynb_checkpoints/", ".DS_Store", "Thumbs.db",
    "MA_LOG/",
)  # fmt: skip
_WEIGHTS_OR_DATA = frozenset((
    "ckpt", "pt", "pth", "bin", "safetensors", "gguf", "onnx", "om", "air", "mindir", "pb", "h5", "hdf5", "keras",
    "pdparams", "caffemodel", "weights", "pkl", "pickle", "joblib", "npy", "npz", "mat", "dat", "data", "rec", "idx",
    "tfrecord", "tfrecords", "mindrecord", "record", "parquet", "arrow", "feather", "csv", "tsv", "jsonl", "lmdb",
    "mdb", "db", "sqlite", "zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "mp4", "avi", "mov", "mkv",
    "wav", "flac", "mp3", "tif", "tiff", "nii", "dcm",
))  # fmt: skip
_GITIGNORE = ".gitignore"
_MOST_RULE_BYTES = 1 << 20
_SPECIAL = re.compile(r"([\\*?\[\]!#])")


def pattern_of(path: str) -> str:
    """The pattern that means this very entry of the code folder and no other; a folder ends with a slash."""
    written = _SPECIAL.sub(r"\\\1", path)
    bare = written.rstrip(" ")
    return f"/{bare}" + "\\ " * (len(written) - len(bare))


class RuleSource(StrEnum):
    """Who says that something is left out; a later one overrules those before it."""

    LARGE = "large"
    USUAL = "usual"
    GITIGNORE = _GITIGNORE
    TRAINDECKIGNORE = DATA_IGNORE_FILE
    JOB_FILE = "job file"


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line that leaves something out."""

    source: RuleSource
    pattern: str
    file: str = ""
    """Below the code folder; empty where it is none."""
    line: int = 0

    def words(self) -> Text:
        if self.file:
            return text("“{rule}” in {file}, line {line}", rule=self.pattern, file=self.file, line=self.line)
        if self.source is RuleSource.LARGE:
            return text("weights or data over {size} ({rule})", size=size_words(LARGE_BYTES), rule=self.pattern)
        if self.source is RuleSource.USUAL:
            return text("“{rule}” is never code", rule=self.pattern)
        return text("“{rule}” in “ignore” of the job file", rule=self.pattern)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The lines of one source, about what lies in one folder."""

    source: RuleSource
    lines: Sequence[str]
    spec: GitIgnoreSpec
    folder: str = ""  # ends with a slash, except the code folder itself
    file: str = ""

    def says(self, name: str) -> IgnoreRule | bool:
        """The rule that leaves it out; True: it is taken in again; False: nothing is said of it."""
        found = self.spec.check_file(utf8_name(name[len(self.folder) :]))
        if found.include is None or found.index is None:
            return False
        if not found.include:
            return True
        return IgnoreRule(self.source, self.lines[found.index].strip(), self.file, found.index + 1 if self.file else 0)


@dataclass(frozen=True, slots=True)
class CodeRules:
    """The rules that hold in one folder, the strongest first."""

    layers: tuple[_Layer, ...]
    bad: tuple[IgnoreRule, ...] = ()
    """Lines that say nothing, as nobody can match them."""

    @classmethod
    def of(cls, ignore: Sequence[str]) -> CodeRules:
        """Those of the job file and the usual ones; those of the folders come with `below`."""
        mine, bad = _layer(RuleSource.JOB_FILE, ignore)
        usual, _ = _layer(RuleSource.USUAL, _USUAL)
        return cls((mine, usual), bad)

    def below(self, place: Path, folder: str) -> CodeRules:
        """With the ignore files in this folder too."""
        layers, bad = list(self.layers), self.bad
        for source in (RuleSource.GITIGNORE, RuleSource.TRAINDECKIGNORE):
            lines = _lines_in(place / source.value)
            if lines:
                layer, wrong = _layer(source, lines, folder, f"{folder}{source.value}")
                layers.append(layer)
                bad += wrong
        if len(layers) == len(self.layers):
            return self
        # The job file before all, then ours before git's, the deeper folder before the one above it.
        order = list(RuleSource)
        layers.sort(key=lambda layer: (order.index(layer.source), len(layer.folder)), reverse=True)
        return CodeRules(tuple(layers), bad)

    def against(self, name: str, size_bytes: int = 0) -> IgnoreRule | None:
        """What leaves this out; a folder ends with a slash, and is left out with all that is in it."""
        for layer in self.layers:
            said = layer.says(name)
            if said is True:
                return None
            if said:
                return said
        ending = name.rpartition("/")[2].rpartition(".")[2].lower()
        if size_bytes > LARGE_BYTES and ending in _WEIGHTS_OR_DATA:
            return IgnoreRule(RuleSource.LARGE, f"*.{ending}")
        return None


def _layer(
    source: RuleSource, lines: Sequence[str], folder: str = "", file: str = ""
) -> tuple[_Layer, tuple[IgnoreRule, ...]]:
    good = [line if can_be_used(line) else "" for line in lines]
    try:
        spec = ignore_spec(good)
    except ValueError as error:  # each of them can be used, but not all together
        raise too_many_rules() from error
    bad = tuple(
        IgnoreRule(source, line.strip(), file, number if file else 0)
        for number, (line, kept) in enumerate(zip(lines, good, strict=True), start=1)
        if line and not kept
    )
    return _Layer(source, good, spec, folder, file), bad


def _lines_in(file: Path) -> list[str]:
    """None where there is no such file; a link, or what is no file, is not read: it may lead anywhere."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return []
        with file.open("rb") as opened:
            return opened.read(_MOST_RULE_BYTES).decode("utf-8-sig", "replace").splitlines()
    except OSError:
        return []
