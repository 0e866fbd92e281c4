"""The rules on lines as a file that the user edits, by hand or on the page of the window; comments stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from traindeck.domain.errors import NotFound
from traindeck.domain.notices.line_rules import STARTER, LineRule, RuleAct, line_rules
from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, local_errors, text_in, write_whole

_PATIENCE_S = 10


class RuleFile:
    """Read anew each time: it is small, and edited by hand while we run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[LineRule, ...]:
        return line_rules(text_in(self.path), str(self.path)) if self.path.exists() else ()

    def changed(self) -> float:
        """When it was written, in seconds since 1970; 0 where there is none."""
        try:
            return self.path.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def make(self) -> None:
        """For whoever wants to edit it."""
        if not self.path.exists():
            with local_errors(self.path):
                write_whole(self.path, STARTER.encode())

    def put(self, rule: LineRule, instead_of: str = "") -> None:
        """Raises InvalidInput where that makes the file one that cannot be used."""

        def edit(rows: Any) -> None:
            table = next((row for row in rows if instead_of and row.get("name") == instead_of), None)
            if instead_of and table is None:
                raise _gone(instead_of)
            if table is None:
                import tomlkit

                table = tomlkit.table()
                rows.append(table)
            _fill(table, rule)

        self._change(edit)

    def remove(self, name: str) -> None:
        def edit(rows: Any) -> None:
            place = next((at for at, row in enumerate(rows) if row.get("name") == name), None)
            if place is None:
                raise _gone(name)
            del rows[place]

        self._change(edit)

    def _change(self, edit: Callable[[Any], None]) -> None:
        import tomlkit  # slow to load, and seldom needed

        busy = text("Another TrainDeck is using the rules.")
        hint = text("Close the one not responding, then try again. Nothing was changed.")
        with local_errors(self.path), alone_with(self.path, _PATIENCE_S, busy, hint):
            self.read()  # a broken one is told of, not written over
            content = tomlkit.parse(text_in(self.path) if self.path.exists() else STARTER)
            if not isinstance(content.get("rule"), tomlkit.items.AoT):  # none yet, or written on one line
                rows = tomlkit.aot()
                for row in content.pop("rule", ()):
                    rows.append(tomlkit.item(dict(row)))
                content.append("rule", rows)
            edit(content["rule"])
            if not content["rule"]:
                del content["rule"]
            written = tomlkit.dumps(content)
            line_rules(written, str(self.path))
            write_whole(self.path, written.encode())


def _fill(table: Any, rule: LineRule) -> None:
    """What is as it comes needs no line, unless it has one."""
    for key, value, usual in (
        ("name", rule.name, None), ("pattern", rule.pattern, None), ("does", rule.act.value, None),
        ("label", rule.label if rule.act is RuleAct.LABEL else "", ""), ("runs", rule.runs, ""),
        ("enabled", rule.is_enabled, True),
    ):  # fmt: skip
        if value != usual:
            table[key] = value
        elif key in table:
            del table[key]


def _gone(name: str) -> NotFound:
    return NotFound(text("There is no rule “{name}” any more.", name=name), text("The file of the rules was edited."))
