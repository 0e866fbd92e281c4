"""What can be typed to take accounts over, to find faults, and to let a shell complete."""

from __future__ import annotations

import argparse
from pathlib import Path

from traindeck.cli.parser_parts import Parser, Subcommands, group, leaf, yes
from traindeck.domain.texts import say

_SHELLS = ("bash", "zsh", "fish", "powershell")


def add_tools(groups: Subcommands) -> None:
    group(groups, "config", say("import accounts of other programs"), _config)
    leaf(groups, "doctor", say("find what would fail in a script where the job runs, and fix it"), _doctor, yes)
    leaf(groups, "explain", say("tell what a log says: failure, progress, values, curves"), _explain)
    leaf(groups, "billing", say("show what is charged now and this month; prices; stop any job"), _billing, yes)
    leaf(groups, "diag", say("diagnose problems: clock, DNS, proxy, TLS, permissions, speed"), _diag, yes)
    leaf(groups, "completion", say("print the completion script for a shell"), _completion)


def _doctor(doctor: Parser) -> None:
    doctor.epilog = say(
        "Scripts are read and never run. With a job file, the findings are about that job: its engine, specification, "
        'inputs, outputs and parameters. Findings are silenced in the job file: [checks] silence = ["local-path"]. '
        "The exit code is 1 when something must be corrected."
    )
    doctor.option("path", "FILE", say("a script, a folder or a job file"), nargs="?", type=Path)
    means = say("what it is to run on, where no job file says it")
    doctor.add_argument("--for", choices=("ascend", "modelarts"), dest="target", help=means)
    doctor.flag("--fix", means=say("show what fixes the findings as a diff, and write it after confirmation"))
    doctor.flag("--undo", means=say("take back the last fix, byte for byte"))
    doctor.flag("--arguments", means=say("list what the script can be told, with types and defaults"))
    doctor.flag("--rules", means=say("list the rules by their names"))


def _explain(explain: Parser) -> None:
    explain.epilog = say(
        "The log can be of a run or of any other training, also one made elsewhere. With --json, the curves "
        "are included point by point. Nothing is sent anywhere."
    )
    explain.option("what", "RUN|FILE", say("a run, or a log file; “-” for standard input"))


def _config(config: Subcommands) -> None:
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


def _billing(billing: Parser) -> None:
    billing.epilog = say(
        "Without a word, or with “jobs”: all active jobs of the account, also those made elsewhere. “prices” shows and "
        "changes the price table. “stop ID” stops a job."
    )
    what = say("jobs, prices or stop (default: jobs)")
    billing.add_argument("what", nargs="?", choices=("jobs", "prices", "stop"), default="jobs", help=what)
    billing.option("job", "ID", say("with stop: ID of the job at the service"), nargs="?")
    billing.option("--regions", "LIST", say("regions separated by commas, or “all” (default: that of the account)"))
    billing.flag("--all-accounts", means=say("of all accounts"))
    means = say("price per hour and node of a specification; empty removes it")
    billing.option("--set", "NAME=PRICE", means, action="append", default=[], type=_price)
    billing.option("--currency", "CODE", say("currency of the prices, e.g. CNY"))
    billing.option("--limit", "AMOUNT", say("monthly limit; 0 for none"), type=_amount)


def _price(value: str) -> tuple[str, float | None]:
    name, equals, price = value.rpartition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(say("enter a price such as modelarts.vm.cpu.2u=1.5"))
    return name, _amount(price) if price.strip() else None


def _amount(value: str) -> float:
    try:
        amount = float(value)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e12:
        raise argparse.ArgumentTypeError(say("enter an amount, 0 or more"))
    return amount


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
