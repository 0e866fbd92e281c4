"""`traindeck obs`: which module knows which command."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from traindeck.cli.main import Call, Command

WHERE = {
    "ls": ("listing_commands", "ls"),
    "du": ("listing_commands", "du"),
    "find": ("listing_commands", "find"),
    "mb": ("bucket_commands", "mb"),
    "rb": ("bucket_commands", "rb"),
    "policy": ("policy_command", "policy"),
    "cat": ("catting", "cat"),
    "cp": ("copying", "copy"),
    "mv": ("moving", "move"),
    "sync": ("syncing", "sync"),
    "pack": ("packing", "pack"),
    "rm": ("removing", "rm"),
    "stat": ("fact_commands", "stat"),
    "url": ("fact_commands", "url"),
    "fragments": ("fragments", "fragments"),
}
"""Loaded when it is wanted: no command waits for the modules of the others."""


def command(name: str) -> Command:
    module, function = WHERE[name]
    found: Command = getattr(import_module(f"traindeck.cli.{module}"), function)
    return found


async def _run(name: str, call: Call) -> int:
    return await command(name)(call)


COMMANDS: dict[str, Command] = {name: partial(_run, name) for name in WHERE}
