"""Scripts that end with "unrecognized arguments" where the platform adds some: they take what they do not know.

That ModelArts may add arguments, and `parse_known_args` as the cure: "ModelArts Training Job Failed to Parse Parameters
and an Error Is Displayed in the Log" (ModelArts Troubleshooting). The ways of the libraries: argparse
(docs.python.org), "absl.app.run" with `flags_parser` and `known_only`, "Forwarding Unknown Options" (click),
"HfArgumentParser" and its remaining strings.
"""

from __future__ import annotations

import ast

import libcst as cst

from traindeck.domain.scripts.fixes import FixProposal, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.sources import Rewriter, Source, appended, proposal, python_files
from traindeck.services.scripts.script_tree import ScriptTree

_STRICT = {"parse_args": "parse_known_args", "parse_intermixed_args": "parse_known_intermixed_args"}
_NEEDLES = ("parse_args", "parse_intermixed_args", "absl", "click", "fire", "optparse", "OptionParser")


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    return proposal(fix, python_files(tree), _turned, _NEEDLES)


def _turned(source: Source) -> str:
    turning = _Turning(source)
    module = turning.rewritten()
    return module.code if turning.has_changed else source.text


class _Turning(Rewriter):
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        called = original_node.func
        dotted = self.source.dotted(called)
        if dotted == "absl.app.run":
            return self._of_absl(original_node, updated_node)
        if dotted == "fire.Fire":
            self.leave_it(original_node, text("Fire passes every argument on: let the function take **others as well."))
            return updated_node
        if not isinstance(called, cst.Attribute):
            return updated_node
        name = called.attr.value
        if name == "parse_args_into_dataclasses":
            return self._of_dataclasses(updated_node)
        if name in _STRICT and self._is_parser(called.value) and _takes_command_line(original_node):
            if self.source.imports("optparse"):
                self.leave_it(original_node, text("optparse refuses arguments that it does not know: use argparse."))
                return updated_node
            if self.source.imports("tap"):
                return self._with(updated_node, "known_only=True")
            self.has_changed = True
            new = updated_node.with_changes(
                func=updated_node.func.with_changes(attr=cst.Name(_STRICT[name])), lpar=[], rpar=[]
            )
            first = cst.SubscriptElement(cst.Index(cst.Integer("0")))
            return cst.Subscript(new, [first], lpar=updated_node.lpar, rpar=updated_node.rpar)
        return updated_node

    def leave_Decorator(self, original_node: cst.Decorator, updated_node: cst.Decorator) -> cst.Decorator:
        made = updated_node.decorator
        called = original_node.decorator
        is_call = isinstance(called, cst.Call)
        if self.source.dotted(called.func if isinstance(called, cst.Call) else called) != "click.command":
            return updated_node
        call = made if isinstance(made, cst.Call) else cst.Call(made)
        keyword = next(
            (one for one in call.args if one.keyword is not None and one.keyword.value == "context_settings"), None
        )
        if keyword is not None:
            if "ignore_unknown_options" not in cst.Module([]).code_for_node(keyword.value):
                reason = text("Set ignore_unknown_options and allow_extra_args in these context_settings.")
                self.leave_it(original_node, reason)
            return updated_node
        call = self._with(call, "context_settings={'ignore_unknown_options': True, 'allow_extra_args': True}")
        return updated_node.with_changes(decorator=call) if is_call or self.has_changed else updated_node

    def _of_absl(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if any(one.keyword is not None and one.keyword.value == "flags_parser" for one in original_node.args):
            return updated_node
        flags = next((name for name, meaning in self.source.names.items() if meaning == "absl.flags"), "")
        if not flags:
            self.leave_it(original_node, text("Pass app.run a flags_parser that uses known_only=True."))
            return updated_node
        return self._with(updated_node, f"flags_parser=lambda argv: {flags}.FLAGS(argv, known_only=True)")

    def _of_dataclasses(self, updated_node: cst.Call) -> cst.BaseExpression:
        if "return_remaining_strings" in cst.Module([]).code_for_node(updated_node):
            return updated_node
        rest = cst.SubscriptElement(cst.Slice(None, cst.UnaryOperation(cst.Minus(), cst.Integer("1"))))
        return cst.Subscript(self._with(updated_node, "return_remaining_strings=True"), [rest])

    def _with(self, call: cst.Call, keyword: str) -> cst.Call:
        self.has_changed = True
        return appended(call, keyword)

    def _is_parser(self, receiver: cst.BaseExpression) -> bool:
        """An argparse parser, by where it comes from or by what it is called."""
        words = cst.Module([]).code_for_node(receiver)
        if words in ("self", "cls"):
            return _derives_from_parser(self.source.tree)
        dotted = self.source.dotted(receiver)
        if dotted:
            return "pars" in dotted.rpartition(".")[2].lower()
        has_parsers = self.source.imports("argparse") or self.source.imports("optparse")
        return has_parsers or "pars" in words.lower()


def _takes_command_line(call: cst.Call) -> bool:
    """What is parsed is what the platform passes, not a list of the script's own, and strictly so."""
    if any(one.keyword is not None and one.keyword.value == "known_only" for one in call.args):
        return False
    first = next((one for one in call.args if one.keyword is None or one.keyword.value == "args"), None)
    if first is None:
        return True
    return cst.Module([]).code_for_node(first.value) in ("None", "sys.argv[1:]", "argv", "args")


def _derives_from_parser(tree: ast.Module) -> bool:
    bases = (base for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases)
    return any(ast.unparse(base).endswith("ArgumentParser") for base in bases)
