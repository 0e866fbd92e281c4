"""The syntax that counts is that of the engine's Python, as the versions themselves have it."""

from __future__ import annotations

import ast
import sys

import pytest

from traindeck.services.scripts.newer_syntax import newer_syntax
from traindeck.services.scripts.python_source import SourceFault, parsed_source, python_source

NEEDS = {
    "from __future__ import annotations": (3, 7),
    "f(" + ", ".join("a" for _ in range(300)) + ")": (3, 7),
    "if (x := 1): pass": (3, 8),
    "def f(a, /): pass": (3, 8),
    "f'{x=}'": (3, 8),
    "def f():\n return 1, *a": (3, 8),
    "def f():\n yield 1, *a": (3, 8),
    "x: t = 1, *b": (3, 8),
    "for x in y:\n try: pass\n finally: continue": (3, 8),
    "@a[0].b\ndef f(): pass": (3, 9),
    "@a.b(1).c\ndef f(): pass": (3, 9),
    "with (open('a') as f, open('b') as g): pass": (3, 9),
    "async def f():\n async with (a as b, c as d): pass": (3, 9),
    "for x in *a, *b: pass": (3, 9),
    "{a := 1}": (3, 9),
    "match x:\n case 1: pass": (3, 10),
    "a[b := 1]": (3, 10),
    "try: pass\nexcept* E: pass": (3, 11),
    "a[*b]": (3, 11),
    "a[1:2, *b]": (3, 11),
    "def f(*a: *T): pass": (3, 11),
    "async def f():\n return [[x async for x in y] for z in w]": (3, 11),
}
FROM_3_12 = {
    "type X = int": (3, 12),
    "def f[T](): pass": (3, 12),
    "f'{d['a']}'": (3, 12),
    "f'{f'{1}'}'": (3, 12),
    "f'{\"\\n\".join(a)}'": (3, 12),
    "f'''{\na # c\n}'''": (3, 12),
    "f'{\na\n}'": (3, 12),
}
"""Which a Python before 3.12 cannot read at all, and says so in other words."""
EVER = (
    "def f():\n return (1, *a)", "@a.b(1)\ndef f(): pass", "with (open('a')) as f: pass", "a[(1, 2)]", "{(1): 2}",
    "for x in y:\n try: pass\n finally:\n  for z in y: continue", "f'\\n{a}'", "f'{a:{b}}'", "f'''{\na\n}'''",
    "x = *a,", "for x in (*a, *b): pass", "from __future__ import division", "with a as b, c as d: pass",
    "f'{d[\"a\"]}' + f\"{d['a']}\"", "f'{a == b}'", "f'{(lambda: 1)()}'", "@a\nclass B: pass",
)  # fmt: skip


@pytest.mark.parametrize("words", [*NEEDS, *(FROM_3_12 if sys.version_info >= (3, 12) else ())])
def test_what_came_later_is_a_fault_before(words: str) -> None:
    needs = {**NEEDS, **FROM_3_12}[words]
    before = python_source(words.encode(), (needs[0], needs[1] - 1))
    assert before.fault is SourceFault.SYNTAX, words
    assert before.line is not None
    assert python_source(words.encode(), needs).fault is None


@pytest.mark.parametrize("words", EVER)
def test_what_was_always_taken_is_none(words: str) -> None:
    assert python_source(words.encode(), (3, 6)).fault is None


def test_the_first_of_several_is_told_in_words() -> None:
    found = newer_syntax(
        ast.parse("x = 1\nfor x in *a, *b: pass\na[*b]\n"), "x = 1\nfor x in *a, *b: pass\na[*b]\n", (3, 7)
    )
    assert found is not None
    assert (found.line, found.words) == (
        2, "A star without parentheses is only supported in Python 3.9 and greater",
    )  # fmt: skip


def test_a_name_that_became_a_keyword_is_none_where_it_was_not() -> None:
    assert python_source(b"model.cuda(async=True)", (3, 6)).fault is None
    assert python_source(b"model.cuda(async=True)", (3, 7)).fault is SourceFault.SYNTAX


LONG = "".join(f"def f{number}(a):\n    '''Text\n\n\ndef g{number}\n'''\n    return a\n\n\n" for number in range(1500))
DEFINITIONS = "".join(f"def f{number}(a, b=(1, 2)):\n    return [a, b]\n\n\n" for number in range(1500))


FED = f"{DEFINITIONS}\fx = '''\n\ndef f'''\n"


@pytest.mark.parametrize("words", [LONG, DEFINITIONS, DEFINITIONS.replace("\n", "\r\n"), FED], ids=range(4))
def test_a_large_file_is_read_in_parts_as_if_it_were_whole(words: str) -> None:
    found = parsed_source(words.encode(), (3, 9))
    assert found.module is not None and found.fault is None
    whole = ast.dump(ast.parse(words), include_attributes=True)
    assert ast.dump(found.module, include_attributes=True) == whole


def test_a_fault_in_a_large_file_has_its_line() -> None:
    found = parsed_source(f"{DEFINITIONS}\n\ndef broken(:\n".encode())
    assert (found.fault, found.line) == (SourceFault.SYNTAX, DEFINITIONS.count("\n") + 3)
