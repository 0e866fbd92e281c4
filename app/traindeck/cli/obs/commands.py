"""`traindeck obs`: which module knows which command."""

from __future__ import annotations

from functools import partial

from traindeck.cli.main import Call, Handler

NAMES = (
    "ls", "du", "find", "mb", "rb", "policy", "cat", "cp", "mv", "sync", "pack", "rm", "stat", "url", "fragments",
)  # fmt: skip


def command(name: str) -> Handler:
    """Loaded when it is wanted, so that no command waits for the others; written out, so that packagers see all."""
    match name:
        case "ls" | "du" | "find":
            from traindeck.cli.obs import ls

            return {"ls": ls.ls, "du": ls.du, "find": ls.find}[name]
        case "mb" | "rb":
            from traindeck.cli.obs import buckets

            return {"mb": buckets.mb, "rb": buckets.rb}[name]
        case "policy":
            from traindeck.cli.obs.policy import policy

            return policy
        case "cat":
            from traindeck.cli.obs.cat import cat

            return cat
        case "cp":
            from traindeck.cli.obs.cp import copy

            return copy
        case "mv":
            from traindeck.cli.obs.mv import move

            return move
        case "sync":
            from traindeck.cli.obs.sync import sync

            return sync
        case "pack":
            from traindeck.cli.obs.pack import pack

            return pack
        case "rm":
            from traindeck.cli.obs.rm import rm

            return rm
        case "stat" | "url":
            from traindeck.cli.obs import stat

            return {"stat": stat.stat, "url": stat.url}[name]
        case _:
            from traindeck.cli.obs.fragments import fragments

            return fragments


async def _run(name: str, call: Call) -> int:
    return await command(name)(call)


COMMANDS: dict[str, Handler] = {name: partial(_run, name) for name in NAMES}
