"""Runs scripts up to where they read their arguments, and says what their parsers hold; a program of its own.

`asked_parsers.py SCRIPT…` prints one JSON document: for each script a list of arguments as the library has them.
"""

from __future__ import annotations

import argparse
import inspect
import json
import optparse
import runpy
import sys
from pathlib import Path
from typing import Any


class Asked(BaseException):
    """The script came to where it reads its arguments."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        super().__init__()
        self.found = found


def _plain(value: object) -> object:
    if isinstance(value, list | tuple | range):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return value
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) != float("inf") else repr(value)
    return str(value)


def _type_name(found: object) -> str | None:
    if found is None:
        return None
    name = getattr(found, "__name__", str(found))
    return None if name == "<lambda>" else str(name)


def of_argparse(parser: argparse.ArgumentParser, command: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            seen = set()
            for name, below in action.choices.items():
                if id(below) not in seen:
                    seen.add(id(below))
                    found += of_argparse(below, f"{command} {name}".strip())
        elif not isinstance(action, argparse._HelpAction | argparse._VersionAction):
            hidden = action.help == argparse.SUPPRESS
            found.append({
                "dest": action.dest, "flags": list(action.option_strings), "type": _type_name(action.type),
                "default": None if action.default == argparse.SUPPRESS else _plain(action.default),
                "choices": [] if action.choices is None else _plain(list(action.choices)),
                "required": action.required, "nargs": action.nargs, "command": command,
                "help": "" if hidden or not action.help else argparse.HelpFormatter(parser.prog)._expand_help(action),
                "action": type(action).__name__,
            })  # fmt: skip
    return found


def of_optparse(parser: optparse.OptionParser) -> list[dict[str, Any]]:
    return [
        {
            "dest": one.dest, "flags": [*one._short_opts, *one._long_opts], "type": one.type,
            "default": _plain(parser.defaults.get(one.dest)), "choices": _plain(one.choices or []), "required": False,
            "nargs": one.nargs if one.action == "store" else 0, "command": "", "help": one.help or "",
            "action": one.action,
        }
        for one in parser.option_list
        if one.dest
    ]  # fmt: skip


def of_click(command: Any, name: str = "") -> list[dict[str, Any]]:
    import click

    found = []
    for one in command.params:
        flags = [*getattr(one, "opts", []), *getattr(one, "secondary_opts", [])]
        is_option = isinstance(one, click.Option)
        found.append({
            "dest": one.name, "flags": flags if is_option else [], "type": one.type.name,
            "default": _plain(one.to_info_dict().get("default")),
            "choices": _plain(list(getattr(one.type, "choices", []))), "required": one.required,
            "nargs": 0 if is_option and (one.is_flag or one.count) else "*" if one.multiple or one.nargs != 1 else None,
            "command": name, "help": getattr(one, "help", "") or "", "action": type(one).__name__,
        })  # fmt: skip
    for below, sub in getattr(command, "commands", {}).items():
        found += of_click(sub, f"{name} {below}".strip())
    return found


def of_absl(required: set[str]) -> list[dict[str, Any]]:
    from absl import flags

    main = flags.FLAGS.flags_by_module_dict().get(sys.argv[0], [])
    found = []
    for one in main:
        found.append({
            "dest": one.name, "flags": [f"--{one.name}"], "type": one.flag_type(), "default": _plain(one.default),
            "choices": _plain(getattr(one.parser, "enum_values", None) or []), "help": one.help, "command": "",
            "required": one.name in required, "nargs": None, "action": type(one).__name__,
        })  # fmt: skip
    return found


def of_fire(component: Any, command: str = "") -> list[dict[str, Any]]:
    if inspect.isclass(component):
        methods = [one for name, one in vars(component).items() if inspect.isfunction(one) and name[0] != "_"]
        found = of_signature(component.__init__, "", is_method=True)
        return found + [entry for one in methods for entry in of_signature(one, one.__name__, is_method=True)]
    return of_signature(component, command)


def of_signature(function: Any, command: str, *, is_method: bool = False) -> list[dict[str, Any]]:
    parameters = list(inspect.signature(function).parameters.values())[1 if is_method else 0 :]
    return [
        {
            "dest": one.name, "flags": [f"--{one.name}"], "command": command, "choices": [], "help": None,
            "type": None if one.annotation is one.empty else one.annotation.__name__, "nargs": None,
            "default": None if one.default is one.empty else _plain(one.default), "required": one.default is one.empty,
            "action": "fire",
        }
        for one in parameters
    ]  # fmt: skip


def _stop(found: list[dict[str, Any]]) -> Any:
    raise Asked(found)


class Listening:
    """In the place of what reads the command line: it is told what would be read, and the script ends there."""

    def __init__(self) -> None:
        self.found: list[list[dict[str, Any]]] = []
        self.required: set[str] = set()

    def listen(self) -> None:
        import absl.app
        import absl.flags
        import click
        import fire

        found, required = self.found, self.required

        def parse_known(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> Any:
            """The script may go on with what its next parser knows."""
            found.append(of_argparse(parser))
            return argparse.Namespace(config="", isTrain=True), []

        marked: Any = absl.flags.mark_flag_as_required

        def mark(name: Any, *more: Any, **named: Any) -> None:
            required.add(getattr(name, "name", name))
            marked(name, *more, **named)

        replaced: list[tuple[Any, str, Any]] = [
            (argparse.ArgumentParser, "parse_args", lambda parser, *_, **__: _stop(of_argparse(parser))),
            (argparse.ArgumentParser, "parse_known_args", parse_known),
            (optparse.OptionParser, "parse_args", lambda parser, *_: _stop(of_optparse(parser))),
            (click.Command, "__call__", lambda command, *_, **__: _stop(of_click(command))),
            (absl.app, "run", lambda *_, **__: _stop(of_absl(required))),
            (absl.flags, "mark_flag_as_required", mark),
            (sys.modules["absl.flags._validators"], "mark_flag_as_required", mark),
            (fire, "Fire", lambda component=None, **_: _stop(of_fire(component))),
        ]
        for owner, name, value in replaced:
            setattr(owner, name, value)

    def asked(self, script: Path) -> list[dict[str, Any]]:
        from absl import flags

        self.found.clear()
        self.required.clear()
        sys.argv = [str(script)]
        sys.path.insert(0, str(script.parent))
        modules, defined = set(sys.modules), set(flags.FLAGS)
        try:
            runpy.run_path(str(script), run_name="__main__")
        except Asked as error:
            self.found.append(error.found)
        finally:
            sys.path.remove(str(script.parent))
            for name in set(sys.modules) - modules:
                del sys.modules[name]
            for name in set(flags.FLAGS) - defined:
                delattr(flags.FLAGS, name)
        unique = {f"{one['command']} {one['dest']} {one['flags']}": one for many in self.found for one in many}
        return list(unique.values())


def main() -> None:
    listening = Listening()
    listening.listen()
    print(json.dumps({script: listening.asked(Path(script)) for script in sys.argv[1:]}))


if __name__ == "__main__":
    main()
