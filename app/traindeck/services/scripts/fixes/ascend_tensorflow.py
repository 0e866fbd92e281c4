"""TensorFlow 1.x on an NPU: each session gets a configuration with the optimizer that hands its graph to the NPU.

How a session is configured for Ascend, and the package `npu_bridge` that the Ascend engines bring: "迁移思路" ("Porting
Principle") and "sess.run迁移" (TensorFlow 1.15 模型迁移, hiascend.com).
"""

from __future__ import annotations

import ast

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, NotFixed, ScriptFix
from traindeck.domain.scripts.script_job import Framework, ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.module_lines import after_imports, with_lines
from traindeck.services.scripts.fixes.sources import Rewriter, Source, appended, is_used, proposal, python_files
from traindeck.services.scripts.script_tree import ScriptTree

_HELPER = "npu_config"
_SESSIONS = ("Session", "InteractiveSession", "train.MonitoredTrainingSession", "train.SessionManager")
_ROOTS = ("tensorflow.compat.v1.", "tensorflow.")
_LINES = '''
def npu_config(config=None):
    """The configuration of a session, with the NPU to run it."""
    config = tf.ConfigProto() if config is None else config
    try:
        from npu_bridge.npu_init import RewriterConfig
    except ImportError:  # not an Ascend
        return config
    rewrite = config.graph_options.rewrite_options
    if all(one.name != "NpuOptimizer" for one in rewrite.custom_optimizers):
        optimizer = rewrite.custom_optimizers.add()
        optimizer.name = "NpuOptimizer"
        optimizer.parameter_map["use_off_line"].b = True
    rewrite.remapping = RewriterConfig.OFF
    rewrite.memory_optimization = RewriterConfig.OFF
    return config
'''


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    files = list(python_files(tree))
    if not is_used(files, "tensorflow"):
        return FixProposal(fix, FIX_WORDS[fix], ())
    if not _has_bridge(job):
        reason = text("The engine {engine} has no NPU bridge for TensorFlow 1.", engine=job.engine_version)
        return FixProposal(fix, FIX_WORDS[fix], (), (NotFixed(tree.boot, 0, reason),))
    return proposal(fix, files, _turned, ("tensorflow",))


def _has_bridge(job: ScriptJob) -> bool:
    """Engines of Ascend with TensorFlow 1; nobody knows what is in one that is not named."""
    if not job.engine_version or job.image:
        return True
    version = job.framework_version
    return job.framework is Framework.TENSORFLOW and job.is_ascend and (not version or version[0] == 1)


def _turned(source: Source) -> str:
    if not source.imports("tensorflow"):
        return source.text
    _look(source)
    turning = _Turning(source)
    module = turning.rewritten()
    if not turning.has_changed:
        return source.text
    if not _defines(source.tree):
        lines = _LINES.strip("\n").replace("tf.", f"{turning.root}.")
        module = with_lines(module, after_imports(module), lines + "\n", blank=True)
    return module.code


class _Turning(Rewriter):
    root = "tf"
    """What the script calls TensorFlow."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        dotted = self.source.dotted(original_node.func)
        name = next((dotted.removeprefix(root) for root in _ROOTS if dotted.startswith(root)), "")
        if name not in _SESSIONS or not isinstance(original_node.func, cst.Attribute):
            return updated_node
        self.root = _first_name(original_node.func)
        args = list(updated_node.args)
        for number, one in enumerate(args):
            if one.keyword is not None and one.keyword.value == "config":
                if _HELPER not in cst.Module([]).code_for_node(one.value):
                    args[number] = one.with_changes(value=_call(one.value))
                    self.has_changed = True
                return updated_node.with_changes(args=args)
        if name == "Session" and len(args) > 2 and all(one.keyword is None and not one.star for one in args[:3]):
            if _HELPER not in cst.Module([]).code_for_node(args[2].value):
                args[2] = args[2].with_changes(value=_call(args[2].value))
                self.has_changed = True
            return updated_node.with_changes(args=args)
        if any(one.star for one in args):
            self.leave_it(
                original_node, text("The arguments of this session are not known here: pass config=npu_config().")
            )
            return updated_node
        self.has_changed = True
        return appended(updated_node, f"config={_HELPER}()")


def _call(value: cst.BaseExpression) -> cst.Call:
    return cst.Call(cst.Name(_HELPER), [cst.Arg(value)])


def _first_name(node: cst.BaseExpression) -> str:
    """The part of a name that stands for TensorFlow itself."""
    words = cst.Module([]).code_for_node(node)
    for name in sorted(_SESSIONS, key=len, reverse=True):
        if words.endswith(f".{name}"):
            return words[: -len(name) - 1]
    return words


def _defines(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == _HELPER for node in ast.walk(tree))


def _look(source: Source) -> None:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        if last in ("RunConfig", "Estimator", "TPUEstimator") and "estimator" in name:
            reason = text("Estimators take NPURunConfig and NPUEstimator of npu_bridge instead of these classes.")
            source.leave(node.lineno, reason)
        elif (
            last == "device"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and "gpu" in str(node.args[0].value).lower()
        ):
            source.leave(
                node.lineno, text("This places operations on a GPU: remove it, the NPU takes the whole graph.")
            )
        elif last in ("fit", "compile") and "keras" in source.text and "set_session" not in source.text:
            reason = text("Keras makes a session of its own: call set_session(tf.Session(config=npu_config())) before.")
            source.leave(node.lineno, reason)
        elif last in ("MirroredStrategy", "DistributedOptimizer"):
            source.leave(node.lineno, text("Training on several cards is arranged by npu_bridge in another way."))
