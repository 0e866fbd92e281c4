"""argparse and what is made like it: parsers, groups, sub-parsers, and what is added to them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from traindeck.domain.scripts.arguments import ArgumentKind, ArgumentSource, ScriptArgument
from traindeck.services.scripts.reading.calls_made import CallMade, Handled
from traindeck.services.scripts.reading.kinds import kind_of_type, words_of
from traindeck.services.scripts.reading.values import (
    UNKNOWN,
    ClassValue,
    EnumMember,
    External,
    is_plain,
)

PARSERS = frozenset({"ArgumentParser", "ArgParser", "OptionParser", "HfArgumentParser"})
_PARSES = frozenset({"parse_args", "parse_intermixed_args", "parse_args_into_dataclasses"})
_PARSES_SOME = frozenset({"parse_known_args", "parse_known_intermixed_args"})
_ADDS = frozenset({"add_argument", "add_option", "add"})
_NO_VALUE = frozenset({"store_true", "store_false", "store_const", "append_const", "count"})
_NOT_TOLD = frozenset({"help", "version"})
_SUPPRESSED = "SUPPRESS"


@dataclass(eq=False, slots=True)
class ArgumentValue(Handled):
    """What `add_argument` gives back: it can still be changed."""

    argument: ScriptArgument
    is_certain: bool = True
    is_dynamic: bool = False
    """Its name cannot be known."""

    def call(self, name: str, made: CallMade) -> object:
        return UNKNOWN

    def assign(self, name: str, value: object) -> None:
        if not is_plain(value):
            return
        if name == "default":
            self.argument = replace(self.argument, default=value, default_source="")
        elif name == "required":
            self.argument = replace(self.argument, is_required=bool(value))
        elif name == "help":
            self.argument = replace(self.argument, help=str(value or ""))
        elif name == "choices" and isinstance(value, list | tuple | set):
            self.argument = replace(self.argument, choices=tuple(value))


@dataclass(eq=False)
class ParserValue(Handled):
    """One parser; a sub-parser has the name of its command."""

    file: str
    line: int
    source: ArgumentSource = ArgumentSource.ARGPARSE
    command: str = ""
    arguments: list[ArgumentValue] = field(default_factory=list)
    below: list[ParserValue] = field(default_factory=list)
    parents: list[ParserValue] = field(default_factory=list)
    defaults: dict[str, object] = field(default_factory=dict)
    default: object = UNKNOWN
    """Of all arguments that have none of their own."""
    is_parsed: bool = False
    takes_others: bool = False
    ends_at_others: bool = False
    """It is asked in the way that ends the script at what it does not know."""
    is_whole: bool = True
    resolves: bool = False
    """What is added takes the place of what has the same name."""
    is_used_elsewhere: bool = False
    """Another parser has all of it."""
    dataclasses: list[ClassValue] = field(default_factory=list)

    def call(self, name: str, made: CallMade) -> object:
        if name in _ADDS:
            return self.add(made)
        if name in ("add_argument_group", "add_mutually_exclusive_group", "add_option_group"):
            return GroupValue(self)
        if name == "add_subparsers":
            return CommandsValue(self)
        if name == "set_defaults":
            self._set_defaults(made)
        elif name in _PARSES or name in _PARSES_SOME:
            return self._parse(made, is_whole=name in _PARSES)
        elif name == "get_default" and isinstance(made.value(0, "dest"), str):
            return self._default_of(str(made.value(0, "dest")))
        elif name == "add_arguments" and isinstance(made.value(0, "dataclass"), ClassValue):
            self.dataclasses.append(made.value(0, "dataclass"))  # type: ignore[arg-type]
        elif name in ("add_arguments", "_add_action", "add_args", "add_argument_class", "add_class_arguments"):
            self.is_whole = False
        return UNKNOWN

    def assign(self, name: str, value: object) -> None:
        if name == "argument_default" and is_plain(value):
            self.default = value

    def add(self, made: CallMade) -> object:
        found = argument_of(made, self)
        if found is None:
            self.is_whole = self.is_whole and made.named.get("action") in _NOT_TOLD
            return UNKNOWN
        self.is_whole = self.is_whole and not found.is_dynamic
        if self.resolves:
            flags = set(found.argument.flags)
            self.arguments = [one for one in self.arguments if flags.isdisjoint(one.argument.flags)]
        self.arguments.append(found)
        return found

    def _set_defaults(self, made: CallMade) -> None:
        for name, value in made.named.items():
            self.defaults[name] = value
            for one in self._own():
                if one.argument.dest == name:
                    one.argument = replace(one.argument, **_default(value, None))  # type: ignore[arg-type]
        self.is_whole = self.is_whole and made.is_whole

    def _default_of(self, dest: str) -> object:
        for one in self._own():
            if one.argument.dest == dest:
                return UNKNOWN if one.argument.default_source else one.argument.default
        return self.defaults.get(dest, UNKNOWN)

    def _parse(self, made: CallMade, *, is_whole: bool) -> object:
        given = made.value(0, "args")
        if isinstance(given, list | tuple) and is_plain(given):
            return UNKNOWN  # not what somebody types, but what stands here
        self.is_parsed = True
        self.takes_others = self.takes_others or not is_whole
        self.ends_at_others = self.ends_at_others or is_whole
        return UNKNOWN

    def _own(self) -> Iterator[ArgumentValue]:
        """Those of its parents first, as argparse has them."""
        for parent in self.parents:
            yield from parent._own()
        yield from self.arguments

    def all(self) -> Iterator[ArgumentValue]:
        """With those of its commands."""
        yield from self._own()
        for one in self.below:
            yield from one.all()

    def is_known_whole(self) -> bool:
        return self.is_whole and all(one.is_known_whole() for one in (*self.parents, *self.below))


@dataclass(eq=False, slots=True)
class GroupValue(Handled):
    """A part of a parser; what is added to it is the parser's."""

    parser: ParserValue

    def call(self, name: str, made: CallMade) -> object:
        return self.parser.call(name, made)


@dataclass(eq=False, slots=True)
class CommandsValue(Handled):
    parser: ParserValue

    def call(self, name: str, made: CallMade) -> object:
        if name != "add_parser":
            return UNKNOWN
        command = made.value(0, "name")
        whole = " ".join(part for part in (self.parser.command, command if isinstance(command, str) else "") if part)
        made_parser = parser_of(made, External("argparse.ArgumentParser"))
        made_parser.command, made_parser.is_used_elsewhere = whole, True
        self.parser.below.append(made_parser)
        return made_parser


def parser_of(made: CallMade, kind: External) -> ParserValue:
    source = ArgumentSource.OPTPARSE if kind.last == "OptionParser" else ArgumentSource.ARGPARSE
    found = ParserValue(made.file, made.line, source)
    found.is_whole, found.resolves = made.is_whole, made.named.get("conflict_handler") == "resolve"
    parents = made.named.get("parents")
    if isinstance(parents, list | tuple):
        for one in parents:
            parser = one.parser if isinstance(one, GroupValue) else one
            if isinstance(parser, ParserValue):
                parser.is_used_elsewhere = True
                found.parents.append(parser)
                found.defaults |= parser.defaults
            else:
                found.is_whole = False
    elif parents is not None:
        found.is_whole = False
    default = made.named.get("argument_default", UNKNOWN)
    if isinstance(default, External) and default.last == _SUPPRESSED:
        default = None
    found.default = default
    if kind.last == "HfArgumentParser":
        classes = made.value(0, "dataclass_types")
        for one in classes if isinstance(classes, list | tuple) else [classes]:
            if isinstance(one, ClassValue):
                found.dataclasses.append(one)
            else:
                found.is_whole = False
    return found


def argument_of(made: CallMade, parser: ParserValue) -> ArgumentValue | None:
    """None: it is nothing that a user tells, as a help text."""
    named = made.named
    action = named.get("action")
    if action in _NOT_TOLD or (isinstance(action, External) and action.last in ("_HelpAction", "_VersionAction")):
        return None
    names = [one for one in made.values if isinstance(one, str)]
    is_dynamic = not names or len(names) < len(made.values)
    if not names:
        is_nothing = not made.values and made.is_whole
        return None if is_nothing else ArgumentValue(_nameless(made, parser), made.is_certain, True)
    flags = tuple(name for name in names if name[:1] in "-+")
    is_switch = _is_switch(action)
    if isinstance(action, External) and action.last == "BooleanOptionalAction":
        flags = tuple(all_ for flag in flags for all_ in _both(flag)) if flags else flags
    dest = named.get("dest")
    if not isinstance(dest, str):
        dest = _dest(flags, names[0])
    nargs = named.get("nargs")
    kind, is_sure, choices = _kind(made, parser, is_switch=is_switch)
    written = made.written(99, "type")
    default = _argument_default(made, parser, dest, action)
    required = named.get("required", False)
    is_required = (
        (required is True and made.is_certain) if flags else nargs not in ("?", "*", "...") and made.is_certain
    )
    help_words = named.get("help")
    found = ScriptArgument(
        name=_name(flags, dest),
        flags=flags,
        kind=kind,
        choices=choices,
        is_required=is_required,
        help=help_words if isinstance(help_words, str) else "",
        file=made.file,
        line=made.line,
        is_sure=is_sure,
        dest=dest.replace("-", "_") if flags else dest,
        type_source="" if written is None else words_of(written),
        source=parser.source,
        command=parser.command,
        **default,  # type: ignore[arg-type]
    )
    return ArgumentValue(replace(found, help=_filled(found)), made.is_certain, is_dynamic)


def _kind(made: CallMade, parser: ParserValue, *, is_switch: bool) -> tuple[ArgumentKind, bool, tuple[object, ...]]:
    """What its values are, whether that is sure, and what they may be."""
    named, nargs, action = made.named, made.named.get("nargs"), made.named.get("action")
    kind, is_sure, choices = ArgumentKind.TEXT, True, _choices(named.get("choices"))
    if parser.source is ArgumentSource.OPTPARSE and isinstance(named.get("type"), str):
        kind = _OPTPARSE.get(str(named["type"]), ArgumentKind.TEXT)
    elif "type" in named and named["type"] is not None:
        kind, is_sure, more = kind_of_type(named["type"])
        choices = choices or more
    if is_switch:
        return ArgumentKind.SWITCH, True, choices
    if _is_list(nargs, action):
        return ArgumentKind.LIST, is_sure, choices
    if not made.is_whole or ("nargs" in named and not is_plain(nargs)):
        is_sure = False
    elif _is_own(action):
        is_sure, kind = False, kind if "type" in named else ArgumentKind.UNKNOWN
    return kind, is_sure, choices


def _nameless(made: CallMade, parser: ParserValue) -> ScriptArgument:
    return ScriptArgument("", (), ArgumentKind.UNKNOWN, file=made.file, line=made.line, is_sure=False,
                          source=parser.source, command=parser.command)  # fmt: skip


_OPTPARSE = {
    "int": ArgumentKind.WHOLE, "long": ArgumentKind.WHOLE, "float": ArgumentKind.NUMBER, "string": ArgumentKind.TEXT,
    "choice": ArgumentKind.TEXT,
}  # fmt: skip


def _both(flag: str) -> Iterable[str]:
    return (flag, f"--no-{flag[2:]}") if flag.startswith("--") else (flag,)


def _is_switch(action: object) -> bool:
    return action in _NO_VALUE if isinstance(action, str) else (
        isinstance(action, External)
        and action.last in ("BooleanOptionalAction", "_StoreTrueAction", "_StoreFalseAction", "_CountAction")
    )  # fmt: skip


def _is_own(action: object) -> bool:
    """A class of the script's own may do anything."""
    return action is not None and (not isinstance(action, str) or action not in ("store", "append", "extend"))


def _is_list(nargs: object, action: object) -> bool:
    is_counted = isinstance(nargs, int) and not isinstance(nargs, bool) and nargs > 0
    return is_counted or nargs in ("*", "+", "...", "A...") or action in ("append", "extend")


def _dest(flags: tuple[str, ...], first: str) -> str:
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else first)
    return long.lstrip("-+").replace("-", "_") if flags else first


def _name(flags: tuple[str, ...], dest: str) -> str:
    long = next((flag for flag in flags if flag.startswith("--")), "")
    return long[2:] or (flags[0].lstrip("-+") if flags else dest)


def _choices(found: object) -> tuple[object, ...]:
    if isinstance(found, ClassValue) and found.is_enum:
        return tuple(one for name, one in found.names.items() if is_plain(one) and not name.startswith("_"))
    if isinstance(found, dict | set):
        found = list(found) if isinstance(found, dict) else sorted(found, key=str)
    if isinstance(found, str):
        found = list(found)
    if not isinstance(found, list | tuple):
        return ()
    values = [one.value if isinstance(one, EnumMember) else one for one in found]
    return tuple(values) if all(map(is_plain, values)) else ()


def _argument_default(made: CallMade, parser: ParserValue, dest: str, action: object) -> dict[str, object]:
    if "default" in made.named:
        return _default(made.named["default"], made.written(99, "default"))
    if not made.is_whole:
        return _default(UNKNOWN, None)
    if dest in parser.defaults:
        return _default(parser.defaults[dest], None)
    if parser.default is not UNKNOWN and parser.default is not None:
        return _default(parser.default, None)
    if action == "store_true":
        return {"default": False}
    if action == "store_false":
        return {"default": True}
    return {}


def _default(value: object, written: ast.expr | None) -> dict[str, object]:
    if isinstance(value, EnumMember):
        value = value.value
    if isinstance(value, External) and value.last == _SUPPRESSED:
        return {"default": None, "default_source": ""}
    if is_plain(value):
        return {"default": value, "default_source": ""}
    return {"default": None, "default_source": "" if written is None else words_of(written)}


def _filled(found: ScriptArgument) -> str:
    """As the help of the script shows it."""
    words = found.help
    if words == "==SUPPRESS==":
        return ""
    if "%(" not in words:
        return words.replace("%%", "%")
    known = {"default": found.default_words or "None", "choices": ", ".join(found.choice_words),
             "type": found.type_source, "dest": found.dest, "prog": found.file.rpartition("/")[2]}  # fmt: skip
    for name, value in known.items():
        words = words.replace(f"%({name})s", value)
    return words.replace("%%", "%")
