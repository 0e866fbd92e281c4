"""A difference leads from the one text to the other, and large ones are found at once."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.unified_diff import unified_diff

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "d", "e = 1", "f = 2"]), max_size=40)


def applied(old: Sequence[str], lines: Sequence[str]) -> list[str]:
    made: list[str] = []
    place = 0
    for line in lines[2:]:
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            begin = int(start) - (length != "0")
            made += old[place:begin]
            place = begin
            continue
        if line[0] in " -":
            assert old[place] == line[1:]
            place += 1
        if line[0] in " +":
            made.append(line[1:])
    return [*made, *old[place:]]


@given(LINES, LINES)
def test_it_leads_from_the_one_to_the_other(old: list[str], new: list[str]) -> None:
    lines = list(unified_diff(old, new, "x", "x"))
    assert applied(old, lines) == new
    assert (lines == []) == (old == new)


def test_little_changes_give_little() -> None:
    old = ["import torch", *["x = 1"] * 500, "m.cuda()"]
    new = ["import torch", "import torch_npu", *["x = 1"] * 500, "m.npu()"]
    assert list(unified_diff(old, new, "a", "b")) == [
        "--- a", "+++ b", "@@ -1,4 +1,5 @@", " import torch", "+import torch_npu", " x = 1", " x = 1", " x = 1",
        "@@ -499,4 +500,4 @@", " x = 1", " x = 1", " x = 1", "-m.cuda()", "+m.npu()",
    ]  # fmt: skip


def test_ten_thousand_changes_are_found_at_once() -> None:
    """With difflib alone it took half a minute, on the thread of the window."""
    old = [line for n in range(10_000) for line in (f"def f{n}(x):", "    y = x.cuda()", f"    return y + {n}")]
    began = time.process_time()
    assert len(list(unified_diff(old, [line.replace("cuda", "npu") for line in old], "x", "x"))) > 40_000
    assert time.process_time() - began < 3
