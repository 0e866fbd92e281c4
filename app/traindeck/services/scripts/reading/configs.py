"""Flat configuration files: names and values in YAML or JSON, read without building anything out of them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from traindeck.domain.scripts.arguments import ArgumentKind, ArgumentSource, ScriptArgument
from traindeck.services.scripts.reading.hydra_configs import OWN
from traindeck.services.scripts.reading.kinds import kind_of_value
from traindeck.services.scripts.reading.values import UNKNOWN
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree
from traindeck.services.scripts.started_files import CONFIGS

_MOST_NAMES = 500


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    value: object
    """Plain; unknown where it is a table of its own."""
    line: int


def configs_named(tree: ScriptTree, modules: Iterable[ast.Module]) -> Iterator[ScriptFile]:
    """Those that the scripts, or the shell files that start them, name in so many words."""
    words = {
        node.value.replace("\\", "/").rpartition("/")[2]
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(CONFIGS)
    }
    for path, found in tree.files.items():
        if path.endswith(CONFIGS) and (path in tree.configs or path.rpartition("/")[2] in words):
            yield found


def entries_of(config: ScriptFile) -> tuple[ConfigEntry, ...]:
    """The names at its top with plain values; a file of another shape has none."""
    documents = documents_of(config)
    return documents[0] if documents else ()


def documents_of(config: ScriptFile) -> list[tuple[ConfigEntry, ...]]:
    if config.path.endswith(".json"):
        return [_of_json(config.text)]
    # Loaded when there is one to read: the window that only offers arguments need not wait for it.
    from traindeck.services.scripts.reading.yaml_documents import yaml_documents

    return [
        tuple(ConfigEntry(name, value, line) for name, value, line in islice(document, _MOST_NAMES))
        for document in yaml_documents(config.text)
    ]


def _of_json(words: str) -> tuple[ConfigEntry, ...]:
    try:
        content = json.loads(words)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(content, dict):
        return ()
    lines = words.splitlines()
    found = []
    for name, value in list(content.items())[:_MOST_NAMES]:
        quoted = json.dumps(name, ensure_ascii=False)
        line = next((number for number, one in enumerate(lines, 1) if quoted in one), 1)
        found.append(ConfigEntry(name, UNKNOWN if isinstance(value, dict) else value, line))
    return tuple(found)


def dictionary_of(config: ScriptFile) -> object:
    """As a script sees it that loads it."""
    entries = entries_of(config)
    return {one.name: one.value for one in entries} if entries else UNKNOWN


def is_alone(config: ScriptFile) -> bool:
    """It is all that Hydra reads: `defaults` names no other config."""
    return all(one.value in ([], ["_self_"]) for one in entries_of(config) if one.name == "defaults")


def arguments_of_hydra(config: ScriptFile) -> Iterator[ScriptArgument]:
    """They are there, but no running parameter can say them: it would be an option, and Hydra ends at those."""
    for one in entries_of(config):
        if one.name not in OWN:
            kind = ArgumentKind.UNKNOWN if one.value is UNKNOWN else kind_of_value(one.value)
            default = None if one.value is UNKNOWN else one.value
            yield ScriptArgument(
                one.name, (), kind, default, file=config.path, line=one.line, is_sure=False, dest=one.name,
                source=ArgumentSource.CONFIG,
            )  # fmt: skip


def arguments_of(config: ScriptFile, *, is_told: bool) -> Iterator[ScriptArgument]:
    """`is_told`: the script makes an argument of each name, with help and choices from the documents that follow."""
    documents = documents_of(config)
    helps, choices = (
        {one.name: one.value for one in documents[place]} if len(documents) > place else {} for place in (1, 2)
    )
    for one in documents[0] if documents else ():
        if one.value is UNKNOWN or (is_told and isinstance(one.value, list)):
            continue
        kind = kind_of_value(one.value)
        known, said = choices.get(one.name), helps.get(one.name)
        yield ScriptArgument(
            name=one.name,
            flags=(f"--{one.name}",) if is_told else (),
            kind=ArgumentKind.TEXT if kind is ArgumentKind.UNKNOWN else kind,
            default=one.value,
            choices=tuple(known) if isinstance(known, list) else (),
            help=said if isinstance(said, str) else "",
            file=config.path,
            line=one.line,
            is_sure=is_told and kind is not ArgumentKind.UNKNOWN,
            dest=one.name,
            source=ArgumentSource.CONFIG,
        )
