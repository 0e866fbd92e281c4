"""All regular expressions of the program, by its syntax trees and data files, and texts that are bad for each."""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants as signs  # type: ignore[attr-defined]  # the parser of the library itself
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import traindeck

APP = Path(traindeck.__file__).parent
LONGEST = 8 * 1024
MOST_S = 0.12
_CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_PIECES = (
    *" a0\n./-\"'<[(", "a ", "0 ", "a.", "0,", "a=", "a\n", " \n",
)  # fmt: skip
_TAILS = ("", "! x\x00")


@dataclass(frozen=True)
class Expression:
    where: str
    words: str
    flags: int
    is_bytes: bool
    ways: frozenset[str]
    """The methods it is used with."""

    @property
    def id(self) -> str:
        return f"{self.where}: {self.words[:60]}"

    def compiled(self) -> re.Pattern[Any]:
        return re.compile(self.words.encode("latin-1") if self.is_bytes else self.words, self.flags)


def of_program() -> list[Expression]:
    found: dict[tuple[str, int, bool], Expression] = {}
    for file in sorted(APP.rglob("*.py")):
        for one in _of_file(file):
            found.setdefault((one.words, one.flags, one.is_bytes), one)
    return list(found.values())


def of_data(*roots: object) -> list[Expression]:
    """All that are in these, which were made of the data files."""
    found: dict[str, Expression] = {}
    for where, pattern in _inside(roots, ""):
        words = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        is_bytes = isinstance(pattern.pattern, bytes)
        found[words] = Expression(f"data{where}", words, pattern.flags, is_bytes, frozenset({"search"}))
    return list(found.values())


def _inside(value: object, where: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield where, value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _inside(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _inside(one, f"{where}.{key}")
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _inside(one, where)


def _of_file(file: Path) -> Iterator[Expression]:
    source = file.read_text(encoding="utf-8")
    if "re." not in source:
        return
    tree = ast.parse(source)
    name = ".".join(("traindeck", *file.relative_to(APP).with_suffix("").parts)).removesuffix(".__init__")
    module: ModuleType | None = None
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if not (isinstance(called, ast.Attribute) and called.attr in _CALLS and _is_re(called.value)):
            continue
        assert isinstance(node, ast.Call)
        module = module or importlib.import_module(name)
        words = _value(node.args[0], module)
        if not isinstance(words, str | bytes) or not words:
            continue  # made when it is used: of_data has those of files
        given = [one.value for one in node.keywords if one.arg == "flags"]
        place = {"sub": 4, "subn": 4, "split": 3}.get(called.attr, 1 if called.attr == "compile" else 2)
        given += node.args[place : place + 1]
        flags = _value(given[0], module) if given else 0
        ways = {called.attr} if called.attr != "compile" else _ways_of(node, tree, source)
        is_bytes = isinstance(words, bytes)
        written = words.decode("latin-1") if isinstance(words, bytes) else words
        yield Expression(f"{file.relative_to(APP)}:{node.lineno}", written, int(flags), is_bytes, frozenset(ways))


def _is_re(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "re"


def _ways_of(call: ast.Call, tree: ast.Module, source: str) -> set[str]:
    """The methods that are called on the name it is given; one that is handed on may be searched with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.value is call and isinstance(node.targets[0], ast.Name):
            name = re.escape(node.targets[0].id)
            is_public = not name.startswith("_") and node in tree.body
            used = set(re.findall(rf"\b{name}\.([a-z]+)\(", _all_sources() if is_public else source)) & _CALLS
            is_handed_on = len(re.findall(rf"\b{name}\b(?!\.)", source)) > 1
            return used if used and not is_handed_on else used | {"search"}
    return {"search"}


@cache
def _all_sources() -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in APP.rglob("*.py"))


def _value(node: ast.expr, module: ModuleType) -> Any:
    try:
        return eval(compile(ast.Expression(node), "expression", "eval"), vars(module))
    except (NameError, SyntaxError, TypeError, AttributeError):
        pass
    if isinstance(node, ast.JoinedStr):
        parts = (one.value if isinstance(one, ast.Constant) else _value(one.value, module) for one in node.values)  # type: ignore[attr-defined]
        return "".join(str("x" if part is None else part) for part in parts)
    return None


# --- texts that are bad ----------------------------------------------------------------------------------------------


def _pieces(one: Expression) -> list[str]:
    tree = parser.parse(one.words, one.flags & ~re.UNICODE)
    found: dict[str, None] = {}
    whole = _sample(tree)
    _gather(list(tree), "", found)
    for words in (whole, whole[:-1], *_PIECES):
        if words:
            found.setdefault(words)
    return list(found)


def _gather(nodes: list[Any], before: str, found: dict[str, None]) -> None:
    for sign, value in nodes:
        sample = _sample([(sign, value)])
        if sign in (signs.MAX_REPEAT, signs.MIN_REPEAT, signs.POSSESSIVE_REPEAT):
            body = _sample(value[2])
            for piece in (body, before + body, before + body * 2, body + before, before):
                if piece and len(piece) < 200:
                    found.setdefault(piece)
            _gather(list(value[2]), before, found)
        elif sign is signs.SUBPATTERN:
            _gather(list(value[3]), before, found)
        elif sign is signs.BRANCH:
            for branch in value[1]:
                _gather(list(branch), before, found)
                if piece := _sample(branch):
                    found.setdefault(piece)
                    found.setdefault(before + piece)
        elif sign in (signs.ASSERT, signs.ASSERT_NOT):
            _gather(list(value[1]), before, found)
        elif sign is signs.ATOMIC_GROUP:
            _gather(list(value), before, found)
        before += sample


def _sample(nodes: Any) -> str:
    out = ""
    for sign, value in nodes:
        if sign is signs.LITERAL:
            out += chr(value)
        elif sign is signs.NOT_LITERAL:
            out += "a" if value != ord("a") else "b"
        elif sign is signs.ANY:
            out += "a"
        elif sign is signs.IN:
            out += _one_of(value)
        elif sign in (signs.MAX_REPEAT, signs.MIN_REPEAT, signs.POSSESSIVE_REPEAT):
            low, high, body = value
            out += _sample(body) * min(max(low, 1), 300) if high else ""
        elif sign is signs.SUBPATTERN:
            out += _sample(value[3])
        elif sign is signs.ATOMIC_GROUP:
            out += _sample(value)
        elif sign is signs.BRANCH:
            out += _sample(value[1][0])
    return out


_CATEGORIES = {
    signs.CATEGORY_DIGIT: "0", signs.CATEGORY_SPACE: " ", signs.CATEGORY_WORD: "a",
    signs.CATEGORY_NOT_DIGIT: "a", signs.CATEGORY_NOT_SPACE: "a", signs.CATEGORY_NOT_WORD: "-",
}  # fmt: skip


def _one_of(parts: list[Any]) -> str:
    if parts and parts[0][0] is signs.NEGATE:
        banned = re.compile("[" + "".join(_in_class(part) for part in parts[1:]) + "]")
        return next((sign for sign in "a0 -.:/\x01b\u4e00" if not banned.match(sign)), "")
    sign, value = parts[0]
    if sign is signs.LITERAL:
        return chr(value)
    return chr(value[0]) if sign is signs.RANGE else _CATEGORIES[value]


def _in_class(part: tuple[Any, Any]) -> str:
    sign, value = part
    if sign is signs.LITERAL:
        return re.escape(chr(value))
    if sign is signs.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {"0": r"\d", " ": r"\s", "a": r"\w"}.get(_CATEGORIES[value], r"\W")


def worst(one: Expression, longest: int = LONGEST, most_s: float = MOST_S) -> tuple[float, int, str]:
    """Its worst time, the length it took it for, and the text's beginning: growing texts, up to one that takes long."""
    compiled = one.compiled()
    slowest = (0.0, 0, "")
    way = next((name for name in ("search", "findall", "finditer", "sub", "split", "subn") if name in one.ways), "")
    run = {"": compiled.match if "match" in one.ways else compiled.fullmatch, "search": compiled.search}.get(
        way, lambda text: compiled.sub(b"" if one.is_bytes else "", text)
    )
    for piece, tail in product(_pieces(one), _TAILS):
        length = 16
        while True:
            text = (piece * (length // len(piece) + 1))[:length] + tail
            given = text.encode("utf-8", "replace") if one.is_bytes else text
            began = time.thread_time()
            run(given)
            took = time.thread_time() - began
            slowest = max(slowest, (took, length, text[:80]))
            if took > most_s:
                return slowest
            if length == longest:
                break
            length = min(longest, length * 8 if took < most_s / 1000 else int(length * 1.2) + 1)
    return slowest
