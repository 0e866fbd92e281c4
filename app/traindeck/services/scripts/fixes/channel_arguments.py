"""Arguments for the folders that the platform passes: `--data_url` and `--train_url`, or what the job calls them.

An argument of the script that already means such a folder gets the other name beside its own, so that what reads it
stays as it is. Names and form of these arguments: "Developing Code for Training Using a Preset Image" (ModelArts).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, NotFixed, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.channel_names import channel_names, flag_for
from traindeck.services.scripts.fixes.module_lines import with_imports
from traindeck.services.scripts.fixes.parsers import Flag, flags, parsed_arguments, returned_parse
from traindeck.services.scripts.fixes.path_uses import PathUses
from traindeck.services.scripts.fixes.sources import Rewriter, Source, proposal, python_files, statements
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    files = list(python_files(tree))
    there = {word.lstrip("-") for file in files if file.module for flag in flags(file.module) for word in flag.words}
    inputs, outputs = channel_names(job)
    wanted = {name: True for name in inputs if name not in there} | {
        name: False for name in outputs if name not in there
    }
    file = next(filter(_parses, files), None)
    if not wanted:
        return FixProposal(fix, FIX_WORDS[fix], ())
    if file is None:
        reason = text("No argparse parser was found: add arguments for {names}.", names=", ".join(wanted))
        return FixProposal(fix, FIX_WORDS[fix], (), (NotFixed(tree.boot, 0, reason),))
    return proposal(fix, [file], lambda source: _turned(source, wanted))


def _parses(file: ScriptFile) -> bool:
    tree = file.module
    if tree is None:
        return False
    return any(one.parser for one in parsed_arguments(tree)) or returned_parse(tree) is not None


def _turned(source: Source, wanted: Mapping[str, bool]) -> str:
    """`wanted`: names, and whether each is an input."""
    known = list(flags(source.tree))
    beside: dict[int, str] = {}
    missing: dict[str, bool] = {}
    for name, is_input in wanted.items():
        flag = _usual(known, name, is_input)
        if flag is None:
            missing[name] = is_input
        elif flag.is_positional:
            reason = text(
                "“{flag}” is a positional argument, and the platform passes only --name=value: make it --{name}.",
                flag=flag.words[0],
                name=name,
            )
            source.leave(flag.call.lineno, reason)
        else:
            beside[flag.call.lineno] = name
            known.remove(flag)
    where = _parse_line(source.tree)
    if where is None:
        missing = {}
    adding = _Adding(source, beside, missing, where or (0, ""))
    module = adding.rewritten()
    if adding.needs_os:
        module = with_imports(module, ["import os"])
    return module.code if adding.has_changed else source.text


def _usual(known: list[Flag], name: str, is_input: bool) -> Flag | None:
    """The argument of the script that means this folder under a name of its own."""
    texts = [one for one in known if one.takes_text]
    by_word = {word: one for one in texts for word in one.words if word.startswith("--")}
    word = flag_for(name, by_word, is_input=is_input)
    if word is not None:
        return by_word[word]
    positional = {f"--{one.words[0]}": one for one in texts if one.is_positional}
    word = flag_for(name, positional, is_input=is_input)
    return positional[word] if word is not None else None


def _parse_line(tree: ast.Module) -> tuple[int, str] | None:
    """The statement that parses, and the expression of its parser."""
    for one in parsed_arguments(tree):
        if one.parser and one.parser.isidentifier():
            return one.statement.lineno, one.parser
    returned = returned_parse(tree)
    if returned is not None and returned.value is not None:
        value = returned.value.value if isinstance(returned.value, ast.Subscript) else returned.value
        assert isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
        parser = ast.unparse(value.func.value)
        if parser.replace(".", "").isidentifier():
            return returned.lineno, parser
    return None


class _Adding(Rewriter):
    def __init__(
        self, source: Source, beside: Mapping[int, str], missing: Mapping[str, bool], where: tuple[int, str]
    ) -> None:
        super().__init__(source)
        self._beside, self._missing, self._where = beside, missing, where
        self.needs_os = False
        self._uses = PathUses(source, missing)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        called = original_node.func
        if isinstance(called, cst.Attribute) and called.attr.value == "add_argument":
            name = self._beside.get(self.line(original_node))
            return updated_node if name is None else self._with_name(updated_node, name)
        turned = self._uses.turned(updated_node, self.line(original_node))
        if turned is not None:
            self.has_changed = True
            return turned
        return updated_node

    def _with_name(self, call: cst.Call, name: str) -> cst.Call:
        self.has_changed = True
        args = list(call.args)
        last = max(
            number for number, one in enumerate(args) if one.keyword is None and isinstance(one.value, cst.SimpleString)
        )
        old = args[last].value
        assert isinstance(old, cst.SimpleString)
        new = cst.Arg(cst.SimpleString(f"{old.quote}--{name}{old.quote}"), comma=args[last].comma)
        args[last] = args[last].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        return call.with_changes(args=[*args[: last + 1], new, *args[last + 1 :]])

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        (line, parser), here = self._where, self.line(original_node)
        found: list[cst.BaseStatement] = [updated_node]
        if here == line and self._missing:
            self.has_changed = self.needs_os = True
            words = "\n".join(_argument(parser, name, is_input) for name, is_input in self._missing.items())
            new = statements(self.source.module, words + "\n")
            new[0] = new[0].with_changes(leading_lines=updated_node.leading_lines)
            found = [*new, updated_node.with_changes(leading_lines=[])]
        folder = self._uses.written_at(here)
        if folder:
            found += statements(self.source.module, f"os.makedirs({folder}, exist_ok=True)\n")
        return found[0] if len(found) == 1 else cst.FlattenSentinel(found)


def _argument(parser: str, name: str, is_input: bool) -> str:
    """With a default for the platform's machines and one for all others."""
    there, here = ("/cache/data", "./data") if is_input else ("/cache/output", "./output")
    default = f'"{there}" if os.path.isdir("/cache") else "{here}"'
    return f'{parser}.add_argument("--{name}", default={default})'
