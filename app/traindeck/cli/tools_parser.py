"""What can be typed to take accounts over, to find faults, and to let a shell complete."""

from __future__ import annotations

import argparse
from pathlib import Path

from traindeck.cli.parser_parts import Adder, Parser, group, leaf, yes
from traindeck.domain.texts import say

_SHELLS = ("bash", "zsh", "fish", "powershell")


def add_tools(groups: Adder) -> None:
    group(groups, "config", say("accounts in the files of other programs"), _config)
    leaf(groups, "diag", say("look for what is wrong: clock, DNS, proxy, TLS, rights, speed"), _diag, yes)
    leaf(groups, "completion", say("print the script by which a shell completes commands"), _completion)


def _config(config: Adder) -> None:
    leaf(config, "import", say("take over the accounts of rclone and obsutil"), _import, yes)


def _import(taking: Parser) -> None:
    taking.epilog = say(
        "What was found is shown first, without secrets; the keys go to the keyring alone, and the files stay as they "
        "are. rclone: the remotes of the type s3. obsutil: its keys are encrypted with a key that only obsutil has; "
        "they are asked for, or read as two lines from standard input."
    )
    taking.add_argument("tool", nargs="?", choices=("rclone", "obsutil"), help=say("without it both"))
    taking.option("--file", "FILE", say("its file, where it is not at the usual place"), type=Path)
    taking.option("--only", "OLD", say("only the account of this name there"), action="append", default=[])
    new_name = say("take over OLD under the name NEW")
    taking.option("--name", "OLD=NEW", new_name, action="append", default=[], type=_pair, dest="names")
    taking.flag("--replace", means=say("replace accounts of these names"))
    taking.flag("-n", "--dry-run", means=say("only show what would be added"))


def _pair(value: str) -> tuple[str, str]:
    old, equals, new = value.rpartition("=")
    if not (old and equals and new):
        raise argparse.ArgumentTypeError(say("give a pair such as OLD=NEW"))
    return old, new


def _diag(diag: Parser) -> None:
    diag.epilog = say(
        "Up to 8 MB are sent and read for the speed, and nothing of them is kept. The report is a zip with versions, "
        "findings, settings and the end of the program's log, without keys, tokens and signed links; what it holds is "
        "listed before it is written."
    )
    diag.option("--bundle", "FILE", say("write a report that can be given away"), type=Path)


def _completion(completion: Parser) -> None:
    completion.epilog = say(
        'bash: eval "$(traindeck completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after compinit; '
        "fish: traindeck completion fish > ~/.config/fish/completions/traindeck.fish; PowerShell: "
        "traindeck completion powershell | Out-String | Invoke-Expression in $PROFILE."
    )
    completion.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
