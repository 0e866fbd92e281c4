"""Twenty scripts and what fixes make of them, to the letter."""

from __future__ import annotations

import ast

import pytest

from support.fix_corpus import FOLDER, fix_case, fix_case_names, golden_of
from support.script_folders import tree_of
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.services.scripts.fixes.all_fixes import propose, propose_together

NAMES = fix_case_names()


def test_there_are_twenty() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_the_difference_is_the_one_that_was_looked_at(name: str) -> None:
    """`PYTHONPATH=tests python -m support.fix_corpus` writes them anew, to be looked at."""
    golden = FOLDER / name / "expected.diff"
    assert golden_of(fix_case(name).proposal()) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_second_time_changes_nothing(name: str) -> None:
    case = fix_case(name)
    files, boot = case.fixed()
    assert case.proposal(files, boot).changes == ()
    for path, content in files.items():
        ast.parse(content, path)


def test_bytes_that_are_no_part_of_a_fix_stay() -> None:
    """GBK, tabs, ends of lines of Windows, no new line at the end."""
    case = fix_case("torch_old_encoding")
    before, after = case.files["train.py"], case.fixed()[0]["train.py"]
    expected = before.replace(b"import torch\r\n", b"import torch\r\nimport torch_npu\r\n", 1)
    assert after == expected.replace(b".cuda()", b".npu()").replace(b"is_cuda", b"is_npu")


def test_what_a_later_fix_does_is_not_left() -> None:
    words = "import torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1).cuda())\nx = torch.nn.apex\n"
    tree = tree_of({"train.py": words}, "train.py")
    alone = propose("ascend-pytorch", tree, ScriptJob())
    assert any("DataParallel" in str(one.reason) for one in alone.not_fixed)
    both = propose_together(["ascend-pytorch", "eight-cards-pytorch"], tree, ScriptJob())
    assert not any("DataParallel" in str(one.reason) for one in both.not_fixed)
