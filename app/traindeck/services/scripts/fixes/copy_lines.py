"""Lines that copy: data from OBS before the training, results to OBS after it; folders of this machine stay.

`moxing.file.copy_parallel`, and that jobs and notebooks of ModelArts have MoXing: "MoXing Framework Functions"; images
of one's own install it: "How Do I Install MoXing for a Custom Image of a Training Job?" (ModelArts FAQs).
"""

from __future__ import annotations

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, NotFixed, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.channel_names import channel_names
from traindeck.services.scripts.fixes.module_lines import after_imports, is_main_guard, with_imports, with_lines
from traindeck.services.scripts.fixes.parsers import Parsed, flags, parsed_arguments
from traindeck.services.scripts.fixes.sources import Rewriter, Source, first_script, proposal, statements
from traindeck.services.scripts.script_tree import ScriptTree

_IN, _OUT, _BACK = "folder_with_data", "folder_for_results", "copy_results"
_LINES = '''
_results = []


def folder_with_data(url, folder):
    """Where the data is on this machine: OBS is copied into `folder`, a folder is used as it is."""
    if not str(url).startswith(("obs://", "s3://")):
        return url
    import moxing as mox

    folder = os.path.join(folder, os.getenv("DEVICE_ID", "0"))
    mox.file.copy_parallel(url, folder)
    return folder


def folder_for_results(url, folder):
    """Where results go on this machine; what is meant for OBS is copied there by copy_results."""
    if str(url).startswith(("obs://", "s3://")):
        folder = os.path.join(folder, os.getenv("DEVICE_ID", "0"))
        _results.append((folder, url))
    else:
        folder = url or "output"
    os.makedirs(folder, exist_ok=True)
    return folder


def copy_results():
    for folder, url in _results:
        import moxing as mox

        mox.file.copy_parallel(folder, url)
'''


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    boot = first_script(tree)
    if boot is None or boot.module is None:
        reason = text("The copies stand in the boot file: specify a Python boot file first.")
        return FixProposal(fix, FIX_WORDS[fix], (), (NotFixed(tree.boot, 0, reason),))
    dests = {
        word.lstrip("-"): flag.dest
        for path in tree.reached
        if (module := tree.files[path].module) is not None
        for flag in flags(module)
        for word in flag.words
    }
    return proposal(fix, [boot], lambda source: _turned(source, job, dests))


def _turned(source: Source, job: ScriptJob, dests: dict[str, str]) -> str:
    if source.imports("moxing") or source.binds(_IN):
        return source.text  # it copies already
    inputs, outputs = channel_names(job)
    ins = [dests[name] for name in inputs if name in dests]
    outs = [dests[name] for name in outputs if name in dests]
    parsed = next(parsed_arguments(source.tree), None)
    if parsed is None or not (ins or outs):
        names = ", ".join((*inputs, *outputs))
        reason = text("The job has no input and no output to be copied: add them to the form first.")
        if names:
            reason = text("The script takes no arguments {names}: add them first.", names=names)
        source.leave(0, reason)
        return source.text
    copying = _Copying(source, parsed, _lines(parsed.name, ins, outs), bool(outs))
    module = copying.rewritten()
    if not copying.has_changed:
        return source.text
    if outs and not copying.is_guarded:
        module = module.with_changes(body=[*module.body, *statements(module, f"{_BACK}()\n")])
        reason = text("Results are copied when the script ends well; an entry script copies them after a failure too.")
        source.leave(0, reason)
    module = with_lines(module, after_imports(module), _LINES.strip("\n") + "\n", blank=True)
    return with_imports(module, ["import os"]).code


def _lines(name: str, ins: list[str], outs: list[str]) -> str:
    lines = [f'{name}.{one} = {_IN}({name}.{one}, "/cache/{one}")' for one in ins]
    lines += [f'{name}.{one} = {_OUT}({name}.{one}, "/cache/{one}")' for one in outs]
    return "\n".join(lines) + "\n"


class _Copying(Rewriter):
    def __init__(self, source: Source, parsed: Parsed, lines: str, copies_back: bool) -> None:
        super().__init__(source)
        self._parsed, self._lines, self._copies_back = parsed, lines, copies_back
        self.is_guarded = False

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        if self.line(original_node) != self._parsed.statement.lineno:
            return updated_node
        self.has_changed = True
        return cst.FlattenSentinel([updated_node, *statements(self.source.module, self._lines)])

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.BaseStatement:
        if not (
            is_main_guard(original_node) and self._copies_back and isinstance(updated_node.body, cst.IndentedBlock)
        ):
            return updated_node
        self.is_guarded = True
        last = statements(self.source.module, f"try:\n    pass\nfinally:\n    {_BACK}()\n")[0]
        assert isinstance(last, cst.Try)
        block = updated_node.body
        inner = block.with_changes(header=cst.TrailingWhitespace(), footer=[])
        return updated_node.with_changes(body=block.with_changes(body=[last.with_changes(body=inner)]))
