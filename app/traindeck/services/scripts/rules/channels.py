"""Arguments, inputs and outputs of the form that the script does not know."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.jobs.job_spec import Channel, ChannelAccess
from traindeck.domain.texts import Text, text
from traindeck.services.scripts.rules.file_calls import file_calls
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.obs_paths import SCHEMES
from traindeck.services.scripts.rules.results import lost_results
from traindeck.services.scripts.rules.source_view import SeenCall, SourceView

_TRAINING = frozenset({"torch", "mindspore", "tensorflow", "keras", "sklearn", "xgboost", "lightgbm", "paddle", "jax"})
# Source: “ModelArts训练作业无法解析参数，日志报错” (ModelArts 故障排除): the platform passes arguments of its own, and
# parse_known_args is what lets a script get over those it does not define.
_KNOWN = text(
    "Define them with add_argument, or use parser.parse_known_args()[0], which passes over what it does not know."
)


_OTHERS = text("Define them in the script, or let it pass over what it does not know.")
# Source: “Hydra's command line flags” and “Basic Override syntax” (hydra.cc): name=value; other options are its own.
_HYDRA = "hydra.main"
_GROUP = "click.group"
_BY_NAME = frozenset({"vars", "getattr", "asdict", "__dict__"})
"""What reads an argument by its name as a text: `vars(args)["data_url"]`."""
_OF_HYDRA = text("Hydra takes name=value without dashes: start it by a boot file of your own that passes them on so.")
_OF_RESULTS = ("out", "save", "ckpt", "checkpoint", "log", "result", "project", "work_dir", "model_dir", "url")
_DATACLASSES = "parse_args_into_dataclasses"


def _parse_args(look: ScriptLook) -> Iterable[Fault]:
    for view, call in _parsers(look):
        missing = [name for name in look.job.passed if look.arguments.named(name) is None]
        is_dataclasses = call.method == _DATACLASSES
        if is_dataclasses:  # what those of a library define is not known; none of them is called so
            missing = [name for name in missing if name.endswith("_url")]
        is_hydra = call.name == _HYDRA
        if is_hydra:  # not even those that its config has
            missing = list(look.job.passed)
        if missing:
            named = ", ".join(f"--{name}" for name in missing)
            why = text(
                "The job passes {names}, which {call} does not know: the script ends at once.",
                names=named, call=call.method if call.method.startswith("parse_") else call.name,
            )  # fmt: skip
            if not look.job.has_form:
                why = text(
                    "Jobs are passed {names}, which {call} does not know: the script ends at once.",
                    names=named, call=call.method if call.method.startswith("parse_") else call.name,
                )  # fmt: skip
            level = RED if look.job.has_form or look.job.reaches_internet is False else AMBER
            hint = _OF_HYDRA if is_hydra else _KNOWN if call.method == "parse_args" else _OTHERS
            fix = "" if call.name in (_HYDRA, _GROUP) else "parse-known-args"
            yield at(level, view, call.node, why, hint, fix)


def _parsers(look: ScriptLook) -> Iterator[tuple[SourceView, SeenCall]]:
    """Those that read the command line: a list of their own is no concern of the platform."""
    for view, call in look.methods(_DATACLASSES):
        if call.argument(1, "return_remaining_strings") is None and not call.node.args and not call.around.is_tried:
            yield view, call
    yield from look.calls(_HYDRA)
    if not look.arguments.is_whole and look.arguments.arguments:
        return
    if look.arguments.arguments and not look.arguments.takes_others:
        for view, call in look.calls("absl.app.run", "click.command", _GROUP):
            if call.argument(2, "flags_parser") is None and not call.around.is_tried:
                yield view, call
    for view, call in look.methods("parse_args"):
        is_given = call.argument(0, "args")
        is_own = isinstance(is_given, ast.List | ast.Tuple)
        if is_own or "argparse" not in look.modules or call.around.is_tried:
            continue
        yield view, call


def _required(look: ScriptLook) -> Iterable[Fault]:
    if not look.job.has_form:
        return
    passed = {id(look.arguments.named(name)) for name in look.job.passed}
    for one in look.arguments.arguments:
        is_there = id(one) in passed or one.file not in look.paths or one.command
        if one.is_required and one.is_sure and not is_there and one.default is None:
            shown = f"--{one.name}" if one.flags else one.name
            why = text("The script needs {name}, and the job does not pass it: the script ends at once.", name=shown)
            hint = text("Add “{name}” to the running parameters or inputs, or give it a default.", name=one.name)
            if not one.flags:
                hint = text("Jobs pass arguments with names only. Make it an option: --{name}.", name=one.name)
            yield Fault(RED, one.file, one.line or 1, why, hint)


def _parameters(look: ScriptLook) -> Iterable[Fault]:
    """Passed over without a word."""
    if not look.arguments.takes_others or not look.tree.boot:
        return
    for name, _ in look.job.parameters:
        if look.arguments.is_unknown(name) and name not in look.all_texts:
            known = [one.name for one in look.arguments.arguments]
            near = nearest(name, known)
            why = text("No line of the script reads the running parameter “{name}”.", name=name)
            hint = text("Remove it, or define --{name} in the script.", name=name)
            if near:
                hint = text("Did you mean “{nearest}”?", nearest=near)
            yield Fault(AMBER, look.tree.boot, 1, why, hint)


def _values(look: ScriptLook) -> Iterable[Fault]:
    """Of what is known to be passed, and to be taken by this very script."""
    for name, value in look.job.parameters:
        one = look.arguments.named(name)
        if one is None or not one.is_sure or one.file not in look.paths:
            continue
        if (wrong := one.mistake(value.strip())) is not None:
            why = text("The running parameter “{name}”: {problem}", name=name, problem=wrong)
            hint = text("Correct the value in the job, or what the script takes.")
            yield Fault(RED if one.is_strict else AMBER, one.file, one.line or 1, why, hint)


def _unread(look: ScriptLook, channels: tuple[Channel, ...], why: Text, hint: Text) -> Iterator[Fault]:
    if look.tree.boot not in look.tree.files or not look.views:
        return
    if look.tree.limits or look.reads_everything or _is_trial(look):
        return
    for channel in channels:
        if not _is_read(look, channel):
            filled = {"name": channel.name}
            yield Fault(
                AMBER, look.tree.boot, 1, why.with_fields(**filled), hint.with_fields(**filled), "data-and-train-url"
            )


def _is_trial(look: ScriptLook) -> bool:
    """Neither told anything nor opening anything nor training: who prints a word wants to see the platform work."""
    if look.arguments.arguments or look.modules & _TRAINING:
        return False
    return next(file_calls(look), None) is None


def _is_read(look: ScriptLook, channel: Channel) -> bool:
    name = channel.name
    if channel.local_dir and any(channel.local_dir.rstrip("/") in words for words in look.all_texts):
        return True
    if channel.access is ChannelAccess.PARAMETER:
        argument = look.arguments.named(name)
        if argument is not None:
            dest = argument.dest or argument.name.replace("-", "_")
            return dest in look.words or (dest in look.all_texts and bool(look.words & _BY_NAME))
        return name in look.words or any(name in words for words in look.all_texts)
    return any(name in words for words in look.all_texts)


def _inputs(look: ScriptLook) -> Iterable[Fault]:
    why = text("No line of the script uses the input “{name}”.")
    hint = text("Read the data from args.{name}, or remove the input from the job.")
    return _unread(look, look.job.inputs, why, hint) if look.job.has_form else ()


def _outputs(look: ScriptLook) -> Iterable[Fault]:
    why = text("No line of the script uses the output “{name}”, so nothing will be in it.")
    hint = text("Write the results into args.{name}, or remove the output from the job.")
    if not look.job.has_form:
        # An argument for the input says nothing of the output, nor does one that is only defined.
        passed = {one.name for one in (*look.job.inputs, *look.job.outputs)}
        names = [one.name.lower() for one in look.arguments.arguments if one.name not in passed]
        names += [one.name for one in look.job.outputs if _is_read(look, one)]
        if look.job.reaches_internet is not False or any(part in name for name in names for part in _OF_RESULTS):
            return ()  # jobs may name their output after that argument
        if any(words.startswith(SCHEMES) for words in look.all_texts) or any(True for _ in lost_results(look)):
            return ()  # it copies to OBS itself, or each place is told
        hint = text("Take --{name} as an argument, and write the results into that folder.")
    return _unread(look, look.job.outputs, why, hint)


RULES = (
    ScriptRule("parse-args", "arguments", text("Arguments the script does not know"), _parse_args),
    ScriptRule("required-argument", "arguments", text("Required arguments that are not passed"), _required),
    ScriptRule("argument-value", "arguments", text("Values the script does not take"), _values),
    ScriptRule("unread-parameter", "arguments", text("Running parameters nobody reads"), _parameters),
    ScriptRule("unread-input", "channels", text("Input nobody reads"), _inputs),
    ScriptRule("unread-output", "channels", text("Output nobody writes"), _outputs),
)
