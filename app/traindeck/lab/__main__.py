"""Runs the Lab by itself: python -m traindeck.lab."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from traindeck.lab.ports import LabStartError
from traindeck.lab.server import LabOptions, serve


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m traindeck.lab", description="A cloud in a box on loopback.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds everything of this Lab")
    parser.add_argument("--port", type=int, default=0, help="of OBS; ModelArts and IAM take the next one")
    parser.add_argument("--json", action="store_true", help="print addresses and keys as one line of JSON")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without request and job")
    parser.add_argument("--faults", type=Path, metavar="FILE", help="rules of what goes wrong; else faults.toml there")
    parser.add_argument("--owner-pipe", action="store_true", help='take "stop" or "detach" from standard input')
    given = parser.parse_args(arguments)

    def announce(facts: dict[str, object]) -> None:
        text = json.dumps(facts) if given.json else f"OBS {facts['obs']}\nModelArts and IAM {facts['modelarts']}"
        print(text, flush=True)

    options = LabOptions(
        root=given.root.absolute(),
        announce=announce,
        port=given.port,
        idle_exit_s=given.idle_exit,
        owner_pipe=given.owner_pipe,
        faults=given.faults,
        warn=lambda problem: print(problem.english, file=sys.stderr, flush=True),
    )
    try:
        return serve(options)
    except LabStartError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
