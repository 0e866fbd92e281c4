"""Over every script there is in the tests: a second time changes nothing, and what is not meant stays."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.fixed_scripts import BOOT, applied, fixed
from support.script_pieces import ScriptPiece, pieces
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.scripts.fixes import ScriptFix
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob

TESTS = Path(__file__).parents[3]
JOB = ScriptJob(
    flavor_kind=AcceleratorKind.ASCEND,
    cards=8,
    inputs=(Channel("data_url", "obs://data/"),),
    outputs=(Channel("train_url", "obs://out/"),),
    has_form=True,
)


def _scripts() -> list[bytes]:
    """Of all corpora, the ones whose pieces stand in tables too."""
    found = [path.read_bytes() for path in sorted(TESTS.glob("scripts_corpus/**/*.py"))]
    found += [path.read_bytes() for path in sorted(TESTS.glob("fixes_corpus/**/*.py"))]
    return found + [
        words.encode() for kind in ("faulty", "right") for piece in pieces(kind) for words in _python(piece)
    ]


def _python(piece: ScriptPiece) -> Iterator[str]:
    return (words for path, words in piece.files.items() if path.endswith(".py"))


_FEW = 8
"""Every so many are looked at each time."""


@pytest.mark.parametrize("fix", list(ScriptFix))
def test_a_second_time_changes_nothing(fix: ScriptFix) -> None:
    _twice(fix, _scripts()[::_FEW])


@pytest.mark.long
@pytest.mark.parametrize("fix", list(ScriptFix))
def test_a_second_time_changes_nothing_in_all_scripts(fix: ScriptFix) -> None:
    scripts = _scripts()
    assert len(scripts) > 120
    _twice(fix, scripts)


def _twice(fix: ScriptFix, scripts: Sequence[bytes]) -> None:
    for content in scripts:
        files = {BOOT: content}
        found = fixed(fix, files, JOB)
        then = applied(files, found)
        for change in found.changes:
            assert change.before == files.get(change.path)
        again = fixed(fix, then, JOB).changes
        assert again == (), f"{content.decode(errors='replace')}\n-----\n{(again[0].after or b'').decode()}"


# Lines that no fix is about, put together at random: comments, blanks, odd spaces, words that only look alike.
_LINES = st.sampled_from(
    [
        "x = 1", "y  =  2 ;z=3", "# torch.cuda in a comment", "    ", "", "\t# odd", "def f(a, b = 1):\n    return a",
        "class A:\n\n    'cuda'\n\n    pass", "text = '''\ncuda:0\n'''", "if x:\n\tpass\nelse :\n\tpass",
        "import os,sys",
        "try:\n    import json\nexcept ImportError: json = None", "print( 'nccl is a word' )", "d = {'cuda' : 1}",
        "for i in range(3): print(i)   # loop", "lambda q: q", "w = [1,\n     2,  # two\n     3]", "u = d['cuda']",
        "assert True, \"parse_args()\"", "def parse_args(): return None", "parse_args()", "\x0c", "n = 'GPU'",
    ]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(_LINES, max_size=12),
    end=st.sampled_from(["", "\n", "\n\n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig"]),
    fix=st.sampled_from([one for one in ScriptFix if one is not ScriptFix.ENTRY_SCRIPT]),
)
def test_a_file_with_nothing_to_fix_is_returned_as_it_was(
    lines: list[str], end: str, newline: str, encoding: str, fix: ScriptFix
) -> None:
    words = "\n".join(lines) + end
    try:
        ast.parse(words)
    except SyntaxError:
        return
    content = words.replace("\n", newline).encode(encoding)
    assert fixed(fix, {BOOT: content}, JOB).changes == ()


@settings(max_examples=30, deadline=None)
@given(
    before=st.lists(_LINES, max_size=6), after=st.lists(_LINES, max_size=6), newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig"]), end=st.sampled_from(["", "\n"]),
)  # fmt: skip
def test_around_what_is_fixed_every_byte_stays(
    before: list[str], after: list[str], newline: str, encoding: str, end: str
) -> None:
    words = "\n".join([*before, "import torch", "t = torch.zeros(1).cuda()  # here", *after]) + end
    try:
        ast.parse(words)
    except SyntaxError:
        return
    (change,) = fixed("ascend-pytorch", {BOOT: words.replace("\n", newline).encode(encoding)}, JOB).changes
    assert change.after is not None
    expected = words.replace("import torch\n", "import torch\nimport torch_npu\n").replace("(1).cuda()", "(1).npu()")
    assert change.after.decode(encoding) == expected.replace("\n", newline)
