"""What would mend a script: new contents for its files, as a difference that is shown before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from traindeck.domain.texts import Text, text
from traindeck.domain.unified_diff import unified_diff


class ScriptFix(StrEnum):
    PARSE_KNOWN_ARGS = "parse-known-args"
    DATA_AND_TRAIN_URL = "data-and-train-url"
    COPY_LINES = "copy-lines"
    ENTRY_SCRIPT = "entry-script"
    ASCEND_PYTORCH = "ascend-pytorch"
    ASCEND_PYTORCH_TRANSFER = "ascend-pytorch-transfer"
    ASCEND_MINDSPORE = "ascend-mindspore"
    ASCEND_TENSORFLOW = "ascend-tensorflow"
    EIGHT_CARDS_MINDSPORE = "eight-cards-mindspore"
    EIGHT_CARDS_PYTORCH = "eight-cards-pytorch"


@dataclass(frozen=True, slots=True)
class FixWay:
    """Fixes that are made together."""

    words: Text
    fixes: tuple[ScriptFix, ...]


@dataclass(frozen=True, slots=True)
class FixFamily:
    """What one command offers: one of several ways."""

    name: str
    title: Text
    ways: tuple[FixWay, ...]


FOR_MODELARTS = FixFamily(
    "modelarts",
    text("Adapt for ModelArts"),
    (
        FixWay(
            text("Change the script: arguments, data, results"),
            (ScriptFix.PARSE_KNOWN_ARGS, ScriptFix.DATA_AND_TRAIN_URL, ScriptFix.COPY_LINES),
        ),
        FixWay(text("Add an entry script and leave your files as they are"), (ScriptFix.ENTRY_SCRIPT,)),
        FixWay(text("Only accept arguments that the platform adds"), (ScriptFix.PARSE_KNOWN_ARGS,)),
    ),
)
FOR_ASCEND = FixFamily(
    "ascend",
    text("Adapt for Ascend"),
    (
        FixWay(
            text("Change the code"),
            (ScriptFix.ASCEND_PYTORCH, ScriptFix.ASCEND_MINDSPORE, ScriptFix.ASCEND_TENSORFLOW),
        ),
        FixWay(text("PyTorch: let torch_npu replace CUDA while it runs"), (ScriptFix.ASCEND_PYTORCH_TRANSFER,)),
    ),
)
FOR_EIGHT_CARDS = FixFamily(
    "eight-cards",
    text("Train on all cards"),
    (FixWay(text("Change the code"), (ScriptFix.EIGHT_CARDS_PYTORCH, ScriptFix.EIGHT_CARDS_MINDSPORE)),),
)
FAMILIES = (FOR_MODELARTS, FOR_ASCEND, FOR_EIGHT_CARDS)

FIX_WORDS = {
    ScriptFix.PARSE_KNOWN_ARGS: text("Accept arguments that the platform adds"),
    ScriptFix.DATA_AND_TRAIN_URL: text("Take data_url and train_url as arguments"),
    ScriptFix.COPY_LINES: text("Copy data before and results after the training"),
    ScriptFix.ENTRY_SCRIPT: text("Add an entry script and leave your files as they are"),
    ScriptFix.ASCEND_PYTORCH: text("PyTorch: use the NPU instead of CUDA"),
    ScriptFix.ASCEND_PYTORCH_TRANSFER: text("PyTorch: let torch_npu replace CUDA while it runs"),
    ScriptFix.ASCEND_MINDSPORE: text("MindSpore: use Ascend as the device"),
    ScriptFix.ASCEND_TENSORFLOW: text("TensorFlow 1: run sessions on the NPU"),
    ScriptFix.EIGHT_CARDS_MINDSPORE: text("MindSpore: train on all cards"),
    ScriptFix.EIGHT_CARDS_PYTORCH: text("PyTorch: train on all cards"),
}


@dataclass(frozen=True, slots=True)
class ScriptChange:
    """One file below the code folder; None stands for a file that does not exist."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def is_new(self) -> bool:
        return self.before is None


@dataclass(frozen=True, slots=True)
class NotFixed:
    """What a fix leaves to the user."""

    file: str
    line: int
    """0: the whole file."""
    reason: Text


@dataclass(frozen=True, slots=True)
class FixProposal:
    fix: ScriptFix
    words: Text
    changes: tuple[ScriptChange, ...]
    not_fixed: tuple[NotFixed, ...] = ()
    boot: str = ""
    """The boot file of the job after this; empty: it stays."""

    def of(self, paths: Sequence[str]) -> FixProposal:
        """Only these files of it."""
        kept = tuple(change for change in self.changes if change.path in paths)
        boot = self.boot if any(change.path == self.boot for change in kept) else ""
        return FixProposal(self.fix, self.words, kept, self.not_fixed, boot)


def difference(change: ScriptChange) -> tuple[str, ...]:
    """As a unified diff; in what cannot be read as text each strange byte is a sign of its own."""
    old, new = (_text(one).splitlines() for one in (change.before, change.after))
    return tuple(unified_diff(old, new, change.path, change.path))


def _text(content: bytes | None) -> str:
    if content is None:
        return ""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return content.decode("utf-8", "replace")
