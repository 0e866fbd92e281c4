"""What a script can be told when it is started: found in its code, which is followed and never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

from traindeck.domain.scripts.arguments import (
    ArgumentKind,
    ArgumentSource,
    ScriptArgument,
    ScriptArguments,
)
from traindeck.services.scripts.imports import folder_of
from traindeck.services.scripts.reading import absl_flags, click_options
from traindeck.services.scripts.reading.argparse_calls import PARSERS, GroupValue, ParserValue, parser_of
from traindeck.services.scripts.reading.calls_made import CallMade, Handled
from traindeck.services.scripts.reading.configs import (
    arguments_of,
    arguments_of_hydra,
    configs_named,
    dictionary_of,
    is_alone,
)
from traindeck.services.scripts.reading.hydra_configs import hydra_configs
from traindeck.services.scripts.reading.relevance import Relevance, may_speak
from traindeck.services.scripts.reading.signatures import FireCommands, field_of, fields_of
from traindeck.services.scripts.reading.values import UNKNOWN, External, FunctionValue
from traindeck.services.scripts.reading.walk import Walker
from traindeck.services.scripts.rules.secrets import HIDDEN, secrets_in
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree

_ADDED = re.compile(r"""\.add_argument\(\s*(['"])(--?[A-Za-z][\w-]*)\1(?:\s*,\s*(['"])(--[A-Za-z][\w-]*)\3)?""")
_HARMLESS = frozenset({"print", "isinstance", "hasattr", "autocomplete", "getattr", "setattr", "type", "id", "repr"})


def script_arguments(tree: ScriptTree) -> ScriptArguments:
    """Of all the scripts that the boot file is or starts; blocks, for workers."""
    found: list[ScriptArgument] = []
    is_whole, takes_others, has_parser = not tree.limits, False, False
    for start in tree.started:
        program = _Program.of(tree, start)
        if program is None:
            continue
        arguments = list(program.arguments())
        found += arguments
        has_parser = has_parser or program.has_parser
        is_whole = is_whole and program.is_whole
        takes_others = takes_others or program.takes_others
    unique: dict[tuple[str, str, str], ScriptArgument] = {}
    for one in found:
        unique.setdefault((one.command, one.name, one.flags[0] if one.flags else ""), _without_secret(one))
    has_absl = any(one.source is ArgumentSource.ABSL for one in found)
    return ScriptArguments(
        tuple(unique.values()),
        is_whole and has_parser,
        takes_others or not has_parser,
        absl_flags.OWN if has_absl else frozenset(),
        tree.limits,
    )


def _without_secret(one: ScriptArgument) -> ScriptArgument:
    """Whoever may see what a script can be told need not see a key that stands in it."""
    value = one.default
    if not isinstance(value, str) or next(secrets_in(f'{one.name} = "{value}"'), None) is None:
        return one
    return replace(one, default=None, default_source=HIDDEN, help=one.help.replace(value, HIDDEN))


def arguments_document(found: ScriptArguments) -> dict[str, object]:
    """As `doctor --arguments --json` prints it."""
    return {
        "arguments": [_document(one) for one in found.arguments],
        "is_whole": found.is_whole,
        "takes_others": found.takes_others,
        "limits": [one.in_english() for one in found.limits],
    }


def _document(one: ScriptArgument) -> dict[str, object]:
    document = asdict(one)
    document["kind"], document["source"] = one.kind.value, one.source.value
    document["type"] = document.pop("kind")
    document["required"], document["sure"] = document.pop("is_required"), document.pop("is_sure")
    document["default"] = _plain(one.default)
    document["choices"] = [_plain(choice) for choice in one.choices]
    document["flags"] = list(one.flags)
    return document


def _plain(value: object) -> object:
    """What JSON can hold: infinite numbers and sets have to be words."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return [_plain(one) for one in sorted(value, key=repr)]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    return repr(value)


@dataclass(eq=False)
class _Program:
    """One script that is started, with all it imports."""

    tree: ScriptTree
    start: str
    modules: dict[str, ast.Module]
    walker: Walker = field(init=False)
    parsers: list[ParserValue] = field(default_factory=list)
    flags: absl_flags.AbslFlags = field(default_factory=absl_flags.AbslFlags)
    fired: FireCommands | None = None
    unsure: ParserValue | None = None
    """Takes what is added to a parser that nobody saw being made."""
    is_read_only_in_part: bool = False
    commands: tuple[list[ScriptArgument], bool] = field(default_factory=lambda: ([], False))

    @classmethod
    def of(cls, tree: ScriptTree, start: str) -> _Program | None:
        read = tree.files.get(start)
        if read is None or not read.is_python:
            return None
        modules = {path: found.module for path in tree.reached if (found := tree.files[path]).module is not None}
        program = cls(tree, start, modules)
        program._read()
        return program

    def _read(self) -> None:
        speaking = {path for path in self.modules if may_speak(self.tree.files[path].text)}
        handlers = {
            **dict.fromkeys(PARSERS, self._parser),
            **dict.fromkeys(absl_flags.DEFINERS, self.flags.define),
            **dict.fromkeys(absl_flags.MARKERS, self.flags.mark),
            "option": self._click,
            "argument": self._click,
            **dict.fromkeys(click_options._TYPES, self._click_type),
            "Fire": self._fire,
            "field": lambda made, _: field_of(self.walker, made),
            "HfArg": lambda made, _: field_of(self.walker, made),
            **dict.fromkeys(("load", "safe_load", "full_load", "unsafe_load"), self._load),
        }
        self.walker = Walker(
            self.tree,
            Relevance.of(self.modules[path] for path in speaking),
            handlers,
            self._on_unknown,
            tuple(dict.fromkeys((folder_of(self.start), *self.tree.roots))),
        )
        try:
            if self.start in self.modules:
                self.walker.module(self.start, "__main__")
            self.commands = click_options.commands_in(self.walker)
            if not self.has_parser:
                self._read_what_nobody_calls(speaking)
        except RecursionError:  # an expression as deep as no person writes it
            self.is_read_only_in_part = True

    def _read_what_nobody_calls(self, speaking: set[str]) -> None:
        """As far as can be seen: a framework may."""
        for path in sorted(speaking, key=lambda path: path != self.start):
            for node in ast.walk(self.modules[path]):
                if (
                    isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                    and node not in self.walker.entered
                    and self.walker.relevance.is_relevant(node)
                ):
                    scope = self.walker.module(path).scope
                    call = ast.Call(ast.Name(node.name, ast.Load()), [], [])
                    ast.copy_location(call, node)
                    self.walker.call(FunctionValue(node, scope), CallMade(call, path, [], {}, False, False))
        self.is_read_only_in_part = True

    # what libraries make of their calls

    def _parser(self, made: CallMade, kind: External) -> object:
        found = parser_of(made, kind)
        self.parsers.append(found)
        return found

    def _click(self, made: CallMade, kind: External) -> object:
        return click_options.option(made, kind) if click_options.is_click(kind.name) else UNKNOWN

    def _click_type(self, made: CallMade, kind: External) -> object:
        return click_options.click_type(made, kind) if click_options.is_click(kind.name) else UNKNOWN

    def _fire(self, made: CallMade, kind: External) -> object:
        self.fired = self.fired or FireCommands()
        self.fired.take(self.walker, made)
        return UNKNOWN

    def _load(self, made: CallMade, kind: External) -> object:
        found = made.value(0, "stream")
        return dictionary_of(found.config) if isinstance(found, ConfigFile) else UNKNOWN

    def _on_unknown(self, made: CallMade, what: object) -> object:
        if isinstance(what, External) and what.name in ("builtins.open", "open"):
            return self._opened(made)
        last = what.last if isinstance(what, External) else str(what)
        given = [one for one in (*made.values, *made.named.values()) if isinstance(one, ParserValue | GroupValue)]
        for one in given:
            parser = one.parser if isinstance(one, GroupValue) else one
            parser.is_whole = parser.is_whole and last in _HARMLESS
        if last in ("add_argument", "add_argument_group", "add_mutually_exclusive_group", "add_subparsers"):
            return self._foreign(made).call(last, made)
        if last == "set_default":
            self.flags.set_default(made)
        if last.endswith(("ArgumentParser", "ArgParser")) and isinstance(what, External):
            parser = parser_of(made, what)
            parser.is_whole = False
            self.parsers.append(parser)
            return parser
        return given[0] if given else UNKNOWN

    def _foreign(self, made: CallMade) -> ParserValue:
        if self.unsure is None:
            self.unsure = ParserValue(made.file, made.line, is_whole=False)
            self.parsers.append(self.unsure)
        return self.unsure

    def _opened(self, made: CallMade) -> object:
        path = made.value(0, "file")
        if not isinstance(path, str):
            return UNKNOWN
        name = path.replace("\\", "/").lstrip("./")
        for place in (folder_of(self.start) + name, name):
            if place in self.tree.files:
                return ConfigFile(self.tree.files[place])
        return UNKNOWN

    # what came of it

    @property
    def has_parser(self) -> bool:
        return bool(self.parsers or self.flags.arguments or self.fired or self.commands[0] or self.of_hydra)

    @cached_property
    def of_hydra(self) -> tuple[str, ...]:
        return tuple(place for path, module in self.modules.items() for place in hydra_configs(module, path))

    @property
    def _counting(self) -> list[ParserValue]:
        """Those that are asked; where none is seen to be, those that no other parser has in it."""
        parsed = [one for one in self.parsers if one.is_parsed and not one.command]
        return parsed or [one for one in self.parsers if not one.is_used_elsewhere]

    @property
    def is_whole(self) -> bool:
        if self.walker.is_over or self.is_read_only_in_part or self.start not in self.modules:
            return False
        if not all(place in self.tree.files and is_alone(self.tree.files[place]) for place in self.of_hydra):
            return False
        fired = self.fired is None or self.fired.is_whole
        return fired and self.flags.is_whole and all(one.is_known_whole() for one in self._counting)

    @property
    def takes_others(self) -> bool:
        if self.fired is not None and self.fired.takes_others:
            return True
        parsers = self._counting
        is_ended = any(one.ends_at_others for one in parsers)
        return self.commands[1] or (not is_ended and any(one.takes_others for one in parsers))

    def arguments(self) -> Iterator[ScriptArgument]:
        if self.start not in self.modules:
            yield from _in_words(self.tree.files[self.start])
            return
        has_dynamic = False
        for parser in self._counting:
            for one in parser.all():
                if one.is_dynamic and not one.argument.name:
                    has_dynamic = True
                    continue
                is_sure = one.argument.is_sure and not self.is_read_only_in_part
                yield replace(one.argument, is_sure=is_sure)
            for kind in parser.dataclasses:
                fields, is_whole = fields_of(self.walker, kind)
                parser.is_whole = parser.is_whole and is_whole
                yield from fields
        yield from self.flags.arguments.values()
        if self.fired is not None:
            yield from self.fired.arguments
        yield from self.commands[0]
        yield from self._of_configs(is_told=has_dynamic)

    def _of_configs(self, *, is_told: bool) -> Iterable[ScriptArgument]:
        for path in self.of_hydra:
            if path in self.tree.files:
                yield from arguments_of_hydra(self.tree.files[path])
        for config in configs_named(self.tree, self.modules.values()):
            if config.path in self.of_hydra:
                continue
            yield from arguments_of(config, is_told=is_told)


@dataclass(eq=False, slots=True)
class ConfigFile(Handled):
    """One that the script has opened."""

    config: ScriptFile

    def call(self, name: str, made: CallMade) -> object:
        return UNKNOWN


def _in_words(read: ScriptFile) -> Iterator[ScriptArgument]:
    """Of a file that is not understood, the names that stand there in so many words."""
    for number, line in enumerate(read.lines, 1):
        for matched in _ADDED.finditer(line):
            flags = tuple(flag for flag in (matched[2], matched[4]) if flag)
            name = next((flag for flag in flags if flag.startswith("--")), flags[0]).lstrip("-")
            yield ScriptArgument(
                name, flags, ArgumentKind.UNKNOWN, file=read.path, line=number, is_sure=False,
                dest=name.replace("-", "_"), source=ArgumentSource.ARGPARSE,
            )  # fmt: skip
