"""What can be typed to take accounts over, to find faults, and to let a shell complete."""

from __future__ import annotations

import argparse
from pathlib import Path

from traindeck.cli.parser_parts import Adder, Parser, group, leaf, yes
from traindeck.domain.texts import say

_SHELLS = ("bash", "zsh", "fish", "powershell")


def add_tools(groups: Adder) -> None:
    group(groups, "config", say("import accounts of other programs"), _config)
    leaf(groups, "diag", say("diagnose problems: clock, DNS, proxy, TLS, permissions, speed"), _diag, yes)
    leaf(groups, "completion", say("print the completion script for a shell"), _completion)


def _config(config: Adder) -> None:
    leaf(config, "import", say("import accounts of rclone and obsutil"), _import, yes)


def _import(taking: Parser) -> None:
    taking.epilog = say(
        "The accounts found are shown first, without secrets. The keys are stored only in the "
        "system keyring, and the files are not changed. rclone: remotes of type s3. obsutil: its "
        "keys are encrypted with a key that only obsutil has, so you are prompted for them, or "
        "they are read as two lines from standard input."
    )
    taking.add_argument("tool", nargs="?", choices=("rclone", "obsutil"), help=say("default: both"))
    taking.option("--file", "FILE", say("its configuration file (default: the usual location)"), type=Path)
    taking.option("--only", "OLD", say("only the account of this name"), action="append", default=[])
    new_name = say("import OLD under the name NEW")
    taking.option("--name", "OLD=NEW", new_name, action="append", default=[], type=_pair, dest="names")
    taking.flag("--replace", means=say("replace accounts of these names"))
    taking.flag("-n", "--dry-run", means=say("only show what would be added"))


def _pair(value: str) -> tuple[str, str]:
    old, equals, new = value.rpartition("=")
    if not (old and equals and new):
        raise argparse.ArgumentTypeError(say("enter a pair such as OLD=NEW"))
    return old, new


def _diag(diag: Parser) -> None:
    diag.epilog = say(
        "Up to 8 MB are uploaded and downloaded to measure the speed, and nothing is stored. The "
        "report is a zip with versions, findings, settings and the end of the program log, "
        "without keys, tokens or signed links. Its contents are listed before it is written."
    )
    diag.option("--bundle", "FILE", say("write a report that can be shared"), type=Path)


def _completion(completion: Parser) -> None:
    completion.epilog = say(
        'bash: eval "$(traindeck completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after compinit; '
        "fish: traindeck completion fish > ~/.config/fish/completions/traindeck.fish; PowerShell: "
        "traindeck completion powershell | Out-String | Invoke-Expression in $PROFILE."
    )
    completion.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
