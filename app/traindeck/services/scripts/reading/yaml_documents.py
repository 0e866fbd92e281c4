"""The names and plain values at the top of YAML documents, without building anything out of them."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from traindeck.services.scripts.reading.values import UNKNOWN

_MOST_IN_LIST = 500


def yaml_documents(words: str) -> list[Iterator[tuple[str, object, int]]]:
    """Name, value and line; nothing where it cannot be read."""
    try:
        nodes = list(yaml.compose_all(words, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    return [_entries(node) for node in nodes]


def _entries(node: yaml.Node | None) -> Iterator[tuple[str, object, int]]:
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag == "tag:yaml.org,2002:str":
            yield key.value, _value(value), key.start_mark.line + 1


def _value(node: yaml.Node) -> object:
    """A list of plain values is one, too."""
    if isinstance(node, yaml.SequenceNode) and len(node.value) <= _MOST_IN_LIST:
        values = [_plain(one) for one in node.value]
        return UNKNOWN if UNKNOWN in values else values
    return _plain(node)


def _plain(node: yaml.Node) -> object:
    if not isinstance(node, yaml.ScalarNode):
        return UNKNOWN
    constructor = yaml.SafeLoader("")
    try:
        return constructor.construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError):
        return UNKNOWN
    finally:
        constructor.dispose()
