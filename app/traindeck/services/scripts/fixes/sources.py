"""A file that is about to be rewritten: its syntax with every blank and comment, and what its imported names mean."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, NotFixed, ScriptChange, ScriptFix
from traindeck.domain.texts import Text, text

if TYPE_CHECKING:
    from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree

_BOM = "\ufeff"


@dataclass(eq=False, slots=True)
class Source:
    """Python that can be rewritten."""

    path: str
    text: str
    module: cst.Module
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)
    """What each imported name stands for, as `nn` for torch.nn."""
    left: list[NotFixed] = field(default_factory=list)

    def leave(self, line: int, reason: Text) -> None:
        """Say that this is up to the user."""
        one = NotFixed(self.path, line, reason)
        if one not in self.left:
            self.left.append(one)

    def imports(self, package: str) -> bool:
        """It, or something of it."""
        return any(name == package or name.startswith(f"{package}.") for name in imported(self.tree))

    def binds(self, name: str) -> bool:
        """The name means something in this file."""
        return any(
            (isinstance(node, ast.Name) and node.id == name)
            or (isinstance(node, ast.arg) and node.arg == name)
            or (isinstance(node, ast.alias) and (node.asname or node.name) == name)
            or (isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) and node.name == name)
            for node in ast.walk(self.tree)
        )

    def dotted(self, node: cst.CSTNode) -> str:
        """What an expression names, from the package on: `torch.nn.Linear`; empty: nothing that was imported."""
        parts = []
        while isinstance(node, cst.Attribute):
            parts.append(node.attr.value)
            node = node.value
        if not isinstance(node, cst.Name) or node.value not in self.names:
            return ""
        return ".".join([self.names[node.value], *reversed(parts)])


def parsed(path: str, words: str) -> Source | None:
    """None: it cannot be rewritten without a risk."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(words.removeprefix(_BOM))
        module = cst.parse_module(words)
    except (SyntaxError, ValueError, RecursionError, MemoryError, cst.ParserSyntaxError):
        return None
    if module.code != words:
        return None
    return Source(path, words, module, tree, _meanings(tree))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _meanings(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for name in _rebound(tree):
        found.pop(name, None)
    return found


def _rebound(tree: ast.Module) -> Iterator[str]:
    """Names that stand for something else too; `torch = None` where an import fails is none of them."""
    excused = {
        id(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in excused:
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def appended(call: cst.Call, words: str) -> cst.Call:
    """A call with more arguments behind those it has, on lines of their own where those are."""
    made = cst.parse_expression(f"f({words})")
    assert isinstance(made, cst.Call)
    args, new = list(call.args), list(made.args)
    if not args:
        return call.with_changes(args=new)
    last = args[-1]
    before = args[-2].comma if len(args) > 1 else cst.MaybeSentinel.DEFAULT
    gap = before.whitespace_after if isinstance(before, cst.Comma) else call.whitespace_before_args
    between = cst.Comma(whitespace_after=_uncommented(gap))
    tail, end = last.whitespace_after_arg, new[-1]
    if isinstance(last.comma, cst.Comma):
        tail = last.comma.whitespace_after
        if isinstance(tail, cst.ParenthesizedWhitespace):
            end = end.with_changes(comma=last.comma.with_changes(whitespace_after=_uncommented(tail)))
    elif isinstance(tail, cst.ParenthesizedWhitespace):
        end = end.with_changes(whitespace_after_arg=_uncommented(tail))
    args[-1] = last.with_changes(comma=_with_remark(between, tail), whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*args, *(one.with_changes(comma=between) for one in new[:-1]), end])


def _uncommented(gap: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The same break of a line, without the remark that stands there."""
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return cst.SimpleWhitespace(" ")
    return cst.ParenthesizedWhitespace(indent=gap.indent, last_line=gap.last_line)


def _with_remark(between: cst.Comma, tail: cst.BaseParenthesizableWhitespace) -> cst.Comma:
    """A remark stays with the argument that it stands beside."""
    if not isinstance(tail, cst.ParenthesizedWhitespace):
        return between
    gap = between.whitespace_after
    if isinstance(gap, cst.ParenthesizedWhitespace):
        tail = tail.with_changes(indent=gap.indent, last_line=gap.last_line)
    elif tail.first_line.comment is None and not tail.empty_lines:
        return between
    return between.with_changes(whitespace_after=tail)


SAFE = text("This file could not be changed safely, so it was left as it is.")


class Rewriter(cst.CSTTransformer):
    """Turns what it can in one file, and says what it cannot."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.has_changed = False

    def line(self, node: cst.CSTNode) -> int:
        return self.get_metadata(PositionProvider, node).start.line

    def leave_it(self, node: cst.CSTNode, reason: Text) -> None:
        self.source.leave(self.line(node), reason)

    def rewritten(self) -> cst.Module:
        # A tree that was just parsed has no node twice, so it need not be copied first.
        return MetadataWrapper(self.source.module, unsafe_skip_copy=True).visit(self)


CodeStatement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def statements(module: cst.Module, words: str) -> list[CodeStatement]:
    """Lines to put into a module, with its own indents and ends of lines."""
    lines = words.split("\n")
    indent = module.default_indent
    words = "\n".join(indent * ((len(one) - len(one.lstrip(" "))) // 4) + one.lstrip(" ") for one in lines)
    found = cst.parse_module(words, module.config_for_parsing)
    first, *rest = found.body
    return [first.with_changes(leading_lines=[*found.header, *first.leading_lines]), *rest]


def python_files(tree: ScriptTree) -> Iterator[ScriptFile]:
    """What the job runs; all there is where no boot file is named."""
    for path in tree.reached or sorted(tree.files):
        file = tree.files.get(path)
        if file is not None and file.is_python:
            yield file


def first_script(tree: ScriptTree) -> ScriptFile | None:
    """What is started first of the Python files, by the boot file itself or by a shell file."""
    return next(python_files(tree), None) if tree.boot else None


FileEdit = Callable[[Source], str]
"""The new text of a file; what stays to be done is put into its `left`."""


def proposal(fix: ScriptFix, files: Iterable[ScriptFile], edit: FileEdit, needles: Iterable[str] = ()) -> FixProposal:
    """`needles`: a file without any of these words is not looked at closer."""
    wanted = tuple(needles)
    changes: list[ScriptChange] = []
    left: list[NotFixed] = []
    for file in files:
        if wanted and not any(word in file.text for word in wanted):
            continue
        change, rest = changed(file, edit)
        left += rest
        if change is not None:
            changes.append(change)
    return FixProposal(fix, FIX_WORDS[fix], tuple(changes), tuple(left))


def joined(*proposals: FixProposal) -> FixProposal:
    """Of one fix, over several sets of files."""
    first = proposals[0]
    changes = tuple(change for one in proposals for change in one.changes)
    left = tuple(rest for one in proposals for rest in one.not_fixed)
    return FixProposal(first.fix, first.words, changes, left)


def is_used(files: Iterable[ScriptFile], package: str) -> bool:
    """One of the files imports it."""
    trees = (file.module for file in files if file.module is not None and package in file.text)
    return any(name == package or name.startswith(f"{package}.") for tree in trees for name in imported(tree))


def changed(file: ScriptFile, edit: FileEdit) -> tuple[ScriptChange | None, list[NotFixed]]:
    """None: nothing of it changes."""
    is_sound = file.fault is None or file.module is not None
    body = _without_end(file.text)
    source = None
    if is_sound and file.encoding.lower() != "utf-16":
        source = parsed(file.path, body) or parsed(file.path, file.text)
    if source is None:
        reason = text("This file cannot be read as Python, so it was left as it is.")
        return None, [NotFixed(file.path, file.line or 0, reason)]
    words = edit(source) + file.text[len(source.text) :]
    left = sorted(source.left, key=lambda one: one.line)
    if words == file.text:
        return None, left
    after = parsed(file.path, _without_end(words)) or parsed(file.path, words)
    if after is None:
        return None, [*left, NotFixed(file.path, 0, SAFE)]
    try:
        return ScriptChange(file.path, content_of(file, file.text), content_of(file, words)), left
    except UnicodeEncodeError:
        return None, [*left, NotFixed(file.path, 0, SAFE)]


def _without_end(words: str) -> str:
    """Up to the last line of code: of blanks and remarks at the end of a file not all survive being parsed."""
    lines = words.split("\n")
    while lines:
        line = lines[-1].strip(" \t\f\r")
        if "\r" in line or (line and not line.startswith("#")):
            break
        lines.pop()
    return "\n".join(lines).rstrip("\r")


def content_of(file: ScriptFile, words: str) -> bytes:
    return words.encode(file.encoding or "utf-8")
