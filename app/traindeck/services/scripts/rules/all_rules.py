"""Every rule there is, in the order they are told; a new one is a module and its line here."""

from __future__ import annotations

from traindeck.services.scripts.rules import (
    ascend,
    cards,
    channels,
    copies,
    downloads,
    interactive,
    local_paths,
    newer_python,
    obs_paths,
    packages,
    results,
    secrets,
    shell_files,
    syntax,
)
from traindeck.services.scripts.rules.frame import ScriptRule

RULES: tuple[ScriptRule, ...] = (
    *syntax.RULES,
    *newer_python.RULES,
    *channels.RULES,
    *obs_paths.RULES,
    *copies.RULES,
    *downloads.RULES,
    *packages.RULES,
    *ascend.RULES,
    *cards.RULES,
    *local_paths.RULES,
    *interactive.RULES,
    *results.RULES,
    *secrets.RULES,
    *shell_files.RULES,
)
RULE_NAMES: tuple[str, ...] = tuple(rule.name for rule in RULES)
