"""Scripts that are adapted in tests: what each is fixed with, and what it must do then."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.script_folders import tree_of
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.scripts.fixes import FixProposal
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.services.scripts.fixes.all_fixes import propose_together

FOLDER = Path(__file__).parents[1] / "fixes_corpus"
STAND_INS = Path(__file__).with_name("stand_ins") / "stand_in.py"
PACKAGES = ("torch", "torch_npu", "torchvision", "mindspore", "tensorflow", "npu_bridge")


@dataclass(frozen=True, slots=True)
class FixCase:
    name: str
    fixes: tuple[str, ...]
    files: Mapping[str, bytes]
    boot: str = "train.py"
    cards: int = 1
    fails_before: bool = True
    exit_code: int = 0
    calls: tuple[str, ...] = ()
    """What the job calls then, as its log says."""
    outputs: tuple[str, ...] = ()
    saves: int = 0
    """How often weights are written, over all processes."""

    @property
    def job(self) -> ScriptJob:
        return ScriptJob(
            flavor_kind=AcceleratorKind.ASCEND,
            cards=self.cards,
            inputs=(Channel("data_url", "obs://data/"),),
            outputs=(Channel("train_url", "obs://out/"),),
            has_form=True,
        )

    def proposal(self, files: Mapping[str, bytes] | None = None, boot: str = "") -> FixProposal:
        return propose_together(self.fixes, tree_of(files or self.files, boot or self.boot), self.job)

    def fixed(self) -> tuple[dict[str, bytes], str]:
        """The files then, and the boot file."""
        found = self.proposal()
        files = dict(self.files)
        for change in found.changes:
            assert change.after is not None
            assert change.before == files.get(change.path)
            files[change.path] = change.after
        return files, found.boot or self.boot


def fix_case(name: str) -> FixCase:
    folder = FOLDER / name
    said = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    code = folder / "code"
    encoding, newline = said.pop("encoding", "utf-8"), said.pop("newline", "\n")
    texts = {path.relative_to(code).as_posix(): path.read_text("utf-8") for path in sorted(code.rglob("*.py"))}
    # What is no UTF-8, and ends its lines as Windows does, would not pass through everybody's git as it is.
    files = {path: words.replace("\n", newline).encode(encoding) for path, words in texts.items()}
    rest: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
    return FixCase(name, files=files, **rest)


def fix_case_names() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir() if (path / "case.toml").is_file())


def golden_of(found: FixProposal) -> str:
    """All that changes, and all that is left, as it is kept beside the scripts."""
    lines: list[str] = []
    for change in sorted(found.changes, key=lambda one: one.path):
        before, after = (_text(one).splitlines() for one in (change.before, change.after))
        lines += difflib.unified_diff(before, after, change.path, change.path, lineterm="", n=1)
    lines += [f"! {one.file}:{one.line} {one.reason.in_english()}" for one in found.not_fixed]
    lines += [f"boot {found.boot}"] if found.boot else []
    return "\n".join(lines) + "\n"


def _text(content: bytes | None) -> str:
    if content is None:
        return ""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("gbk")


if __name__ == "__main__":
    for one in fix_case_names():
        (FOLDER / one / "expected.diff").write_text(golden_of(fix_case(one).proposal()), encoding="utf-8")
