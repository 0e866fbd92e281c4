"""click: options and arguments are decorators of the function that is started."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from traindeck.domain.scripts.arguments import ArgumentKind, ArgumentSource, ScriptArgument
from traindeck.services.scripts.reading.calls_made import CallMade, Handled
from traindeck.services.scripts.reading.kinds import kind_of_type, kind_of_value, words_of
from traindeck.services.scripts.reading.values import External, FunctionValue, Scope, is_plain
from traindeck.services.scripts.reading.walk import Walker

LIBRARY = ("click", "rich_click", "asyncclick", "cloup")
_TYPES = {
    "INT": ArgumentKind.WHOLE, "FLOAT": ArgumentKind.NUMBER, "BOOL": ArgumentKind.YES_NO, "STRING": ArgumentKind.TEXT,
    "UUID": ArgumentKind.TEXT, "IntRange": ArgumentKind.WHOLE, "FloatRange": ArgumentKind.NUMBER,
    "Path": ArgumentKind.TEXT, "File": ArgumentKind.TEXT, "DateTime": ArgumentKind.TEXT, "Choice": ArgumentKind.TEXT,
    "UNPROCESSED": ArgumentKind.TEXT, "Tuple": ArgumentKind.LIST,
}  # fmt: skip


@dataclass(eq=False, slots=True)
class ClickParameter(Handled):
    argument: ScriptArgument

    def call(self, name: str, made: CallMade) -> object:
        return self


@dataclass(eq=False, slots=True)
class ClickType(Handled):
    name: str
    choices: tuple[object, ...] = ()

    def call(self, name: str, made: CallMade) -> object:
        return self


def is_click(name: str) -> bool:
    return name.partition(".")[0] in LIBRARY


def click_type(made: CallMade, kind: External) -> object:
    choices = made.value(0, "choices")
    known = tuple(choices) if isinstance(choices, list | tuple) and is_plain(choices) else ()
    return ClickType(kind.last, known if kind.last == "Choice" else ())


def option(made: CallMade, kind: External) -> object:
    """`click.option` and `click.argument`, as values: they are put into lists and handed around as well."""
    names = [one for one in made.values if isinstance(one, str)]
    if not names:
        return ClickParameter(_made(made, "", (), ArgumentKind.UNKNOWN, is_sure=False))
    if kind.last == "argument":
        return ClickParameter(_positional(made, names))
    flags = [flag.strip() for name in names if name[:1] == "-" for flag in name.split("/")]
    has_off = any("/" in name for name in names if name[:1] == "-")
    named = [name for name in names if name[:1] != "-"]
    dest = named[0] if named else _dest([name.partition("/")[0] for name in names])
    is_flag = made.named.get("is_flag")
    is_switch = has_off or is_flag is True or ("flag_value" in made.named and is_flag is not False)
    found, is_sure, choices = _kind(made)
    if is_switch or made.named.get("count") is True:
        found, is_sure = ArgumentKind.SWITCH, True
    elif made.named.get("multiple") is True or _is_many(made.named.get("nargs")):
        found = ArgumentKind.LIST
    long = next((flag for flag in flags if flag.startswith("--")), "")
    name = long[2:] or flags[0].lstrip("-") if flags else dest
    argument = _made(made, name, tuple(flags), found, is_sure=is_sure and made.is_whole, choices=choices)
    if "default" not in made.named and is_switch and "flag_value" not in made.named:
        argument = replace(argument, default=False)
    if "default" not in made.named and made.named.get("count") is True:
        argument = replace(argument, default=0)
    return ClickParameter(replace(argument, dest=dest, is_required=made.named.get("required") is True))


def _positional(made: CallMade, names: list[str]) -> ScriptArgument:
    kind, is_sure, choices = _kind(made)
    nargs = made.named.get("nargs")
    if _is_many(nargs):
        kind = ArgumentKind.LIST
    required = made.named.get("required")
    is_required = required if isinstance(required, bool) else "default" not in made.named and nargs != -1
    argument = _made(made, names[0].lower().replace("-", "_"), (), kind, is_sure=is_sure, choices=choices)
    return replace(argument, dest=argument.name, is_required=is_required)


def _is_many(nargs: object) -> bool:
    return isinstance(nargs, int) and nargs != 1


def _kind(made: CallMade) -> tuple[ArgumentKind, bool, tuple[object, ...]]:
    given = made.named.get("type")
    if isinstance(given, ClickType):
        return _TYPES.get(given.name, ArgumentKind.UNKNOWN), given.name in _TYPES, given.choices
    if isinstance(given, External) and is_click(given.name):
        return _TYPES.get(given.last, ArgumentKind.UNKNOWN), given.last in _TYPES, ()
    if isinstance(given, list | tuple) and is_plain(given) and given:
        return ArgumentKind.TEXT, True, tuple(given)
    if given is not None:
        return kind_of_type(given)
    default = made.named.get("default")
    if default is None or not is_plain(default) or isinstance(default, list | tuple):
        return ArgumentKind.TEXT, True, ()
    return kind_of_value(default), True, ()


def _made(
    made: CallMade, name: str, flags: tuple[str, ...], kind: ArgumentKind, *, is_sure: bool,
    choices: tuple[object, ...] = (),
) -> ScriptArgument:  # fmt: skip
    default, written, type_ = made.named.get("default"), made.written(99, "default"), made.written(99, "type")
    is_known = is_plain(default)
    help_words = made.named.get("help")
    return ScriptArgument(
        name=name, flags=flags, kind=kind, default=default if is_known else None, choices=choices,
        help=" ".join(help_words.split()) if isinstance(help_words, str) else "", file=made.file, line=made.line,
        is_sure=is_sure, default_source="" if is_known or written is None else words_of(written),
        type_source="" if type_ is None else words_of(type_), source=ArgumentSource.CLICK,
    )  # fmt: skip


def _dest(flags: list[str]) -> str:
    """As click names it: the longest dashes first."""
    first = max(flags, key=lambda flag: len(flag) - len(flag.lstrip("-")))
    return first.lstrip("-").replace("-", "_").lower()


@dataclass(slots=True)
class _Command:
    name: str
    is_group: bool
    parameters: list[ScriptArgument]
    takes_others: bool


def commands_in(walker: Walker) -> tuple[list[ScriptArgument], bool]:
    """What all commands take, and whether one of them takes what it does not know."""
    found = [command for function, scope in walker.decorated if (command := _command(walker, function, scope))]
    has_groups = any(one.is_group for one in found)
    arguments = [
        replace(argument, command=command.name if has_groups and not command.is_group else "")
        for command in found
        for argument in command.parameters
    ]
    return arguments, any(command.takes_others for command in found)


def _command(walker: Walker, function: FunctionValue, scope: Scope) -> _Command | None:
    node = function.node
    if isinstance(node, ast.Lambda):
        return None
    command: _Command | None = None
    parameters: list[ScriptArgument] = []
    for one in node.decorator_list:
        called = one.func if isinstance(one, ast.Call) else one
        last = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        value = walker.value(called, scope)
        is_external = isinstance(value, External) and is_click(value.name)
        is_of_group = isinstance(called, ast.Attribute) and last in ("command", "group")
        if (is_external and last in ("command", "group")) or is_of_group:
            command = _Command(_command_name(walker, one, scope) or _usual_name(node.name), last == "group", [], False)
            command.takes_others = "ignore_unknown_options" in ast.unparse(one)
        elif last not in ("pass_context", "pass_obj", "version_option", "help_option"):
            parameters += (each.argument for each in _parameters(walker, one, scope))
    if command is not None:
        command.parameters = [one for one in parameters if one.name]
    return command


def _usual_name(name: str) -> str:
    name = name.lower().replace("_", "-")
    for end in ("-command", "-cmd", "-group", "-grp"):
        name = name.removesuffix(end)
    return name


def _command_name(walker: Walker, decorator: ast.expr, scope: Scope) -> str:
    if not isinstance(decorator, ast.Call):
        return ""
    given = [*decorator.args[:1], *(keyword.value for keyword in decorator.keywords if keyword.arg == "name")]
    value = walker.value(given[0], scope) if given else ""
    return value if isinstance(value, str) else ""


def _parameters(walker: Walker, decorator: ast.expr, scope: Scope) -> Iterator[ClickParameter]:
    """Of a decorator of click, of one that was given a name, and of one of the script's own."""
    value = walker.value(decorator, scope)
    if isinstance(value, ClickParameter):
        yield value
        return
    if isinstance(decorator, ast.Call):
        for each in decorator.args:
            yield from _inside(walker.value(each, scope))
        value = walker.value(decorator.func, scope)
    if isinstance(value, FunctionValue):
        yield from _in_body(walker, value)


def _inside(value: object) -> Iterator[ClickParameter]:
    if isinstance(value, ClickParameter):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _inside(one)


def _in_body(walker: Walker, function: FunctionValue) -> Iterator[ClickParameter]:
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call):
            called = walker.value(node.func, Scope(function.scope.file, function.scope))
            if isinstance(called, External) and is_click(called.name) and called.last in ("option", "argument"):
                value = walker.value(node, Scope(function.scope.file, function.scope))
                if isinstance(value, ClickParameter):
                    yield value
