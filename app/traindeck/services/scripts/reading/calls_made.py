"""A call in a script as it was found, and what takes it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from traindeck.services.scripts.reading.values import External


@dataclass(slots=True)
class CallMade:
    """A call as it was found: what it is given, as far as that can be known."""

    node: ast.Call
    file: str
    values: list[object]
    named: dict[str, object]
    is_whole: bool
    """Nothing was handed over that could not be seen."""
    is_certain: bool
    """It stands under no condition that nobody knows."""

    @property
    def line(self) -> int:
        return self.node.lineno

    def value(self, place: int, name: str, default: object = None) -> object:
        if name in self.named:
            return self.named[name]
        return self.values[place] if place < len(self.values) else default

    def written(self, place: int, name: str) -> ast.expr | None:
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value
        return self.node.args[place] if place < len(self.node.args) else None


LibraryCall = Callable[[CallMade, External], object]
"""What a library makes of a call."""


class Handled:
    """What a library makes: a parser, a group. `call` is asked for each of its methods."""

    def call(self, name: str, made: CallMade) -> object:
        raise NotImplementedError

    def assign(self, name: str, value: object) -> None:
        """An attribute is set."""
