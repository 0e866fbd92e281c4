"""What can be typed: the tree of commands, their options and their help."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from traindeck import __version__
from traindeck.cli.job.parser import add_filter, add_job
from traindeck.cli.obs.parser import add_obs
from traindeck.cli.parser_parts import Parser, Subcommands, group, leaf, yes
from traindeck.cli.tools_parser import add_tools
from traindeck.domain.texts import say

_LAST_PORT = 65534  # the Lab takes the next one too
_WINDOW_ONLY = ("self_check", "first_minute", "theme")
_WITH_VALUE = ("--language", "--theme", "--profile")
_NEEDS_A_COMMAND = ("profile", "json", "verbose")


def read(arguments: Sequence[str]) -> Namespace:
    """What was asked for; `group` is None for the window."""
    openings, arguments = _openings(arguments)
    parser = build()
    # Given from outside: a default of a subcommand would undo what stood before its name.
    options = parser.parse_args(
        arguments, Namespace(profile=None, json=False, verbose=False, language=None, action=None, opens=openings)
    )
    if options.group is None:
        for name in _NEEDS_A_COMMAND:
            if getattr(options, name):
                parser.error(say("--{option} needs a command.", option=name))
    else:
        if openings:
            parser.error(say("“{file}” opens in the window: no command may follow.", file=openings[0]))
        for name in _WINDOW_ONLY:
            if getattr(options, name):
                parser.error(say("--{option} applies to the window, not to a command.", option=name.replace("_", "-")))
    return options


def _openings(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What the window is to open, and the rest of the arguments; what follows a command is the command's."""
    openings: list[str] = []
    others: list[str] = []
    before = ""
    for number, argument in enumerate(arguments):
        is_word = not argument.startswith("-") and before not in _WITH_VALUE
        if not is_word:
            others.append(argument)
        elif argument.lower().startswith("traindeck:") or argument.lower().endswith(".toml"):
            openings.append(argument)
        else:
            return openings, [*others, *arguments[number:]]
        before = argument
    return openings, others


def build() -> Parser:
    return Parser(
        prog="traindeck",
        description=say("Train on Huawei ModelArts, or first on this computer. Without a command, the window opens."),
        parts=[_program],
    )


def _program(parser: Parser) -> None:
    parser.add_argument("--version", action="version", version=f"traindeck {__version__}", help=say("show the version"))
    opens = say("FILE.toml opens in the form; traindeck://run/ID and traindeck://obs/BUCKET/FOLDER/ open there too.")
    parser.begin_section(say("window"), opens)
    parser.add_argument("--theme", choices=("light", "dark"), help=say("color theme (default: that of the system)"))
    parser.add_argument("--self-check", action="store_true", help=say("check the installation, then exit"))
    parser.add_argument("--first-minute", action="store_true", help=say("run the sample project, then exit"))
    groups = parser.add_commands("group", is_required=False)
    group(groups, "lab", say("manage the Lab, the cloud simulator on this computer"), _lab)
    group(groups, "profile", say("manage accounts and their keys"), _profile)
    group(groups, "obs", say("manage buckets and objects"), add_obs)
    group(groups, "job", say("manage training jobs"), add_job)
    leaf(groups, "engines", say("list the available engines"), add_filter)
    leaf(groups, "flavors", say("list the available specifications"), add_filter)
    add_tools(groups)


def _lab(lab: Subcommands) -> None:
    leaf(lab, "serve", say("run the Lab in the foreground until interrupted"), _lab_root, _serve)
    leaf(lab, "status", say("show whether the Lab is running, where, and its contents"), _lab_root)
    leaf(lab, "stop", say("stop the Lab and its jobs"), _lab_root)
    leaf(lab, "reset", say("delete all objects and jobs of the Lab; keep its keys"), _lab_root, yes)
    leaf(lab, "engines", say("list the engines of the Lab and their Python"), _lab_root)
    group(lab, "account", say("manage the accounts of the Lab"), _accounts, dest="account_action")


def _accounts(accounts: Subcommands) -> None:
    leaf(accounts, "add", say("create an account with its own keys; takes effect at once"), _name, _lab_root)
    leaf(accounts, "remove", say("remove an account; keep its data"), _name, _lab_root)
    leaf(accounts, "ls", say("list the accounts of the Lab"), _lab_root)


def _name(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")


def _serve(serve: Parser) -> None:
    from traindeck.lab.fault_kinds import Kind

    serve.option("--port", "N", say("port (default: a free one)"), type=_port, default=0)
    serve.option("--faults", "FILE", say("faults to inject, for tests"), type=Path)
    settings = say(
        "DIR/lab.toml can contain a table [engines] with the Python of an engine version, or of "
        "all engines as “default”. Other keys: parallel_jobs, code_entries, metrics_interval_s, clock (with "
        "60, an hour of a time limit takes a minute), container_paths = false, and obs_urls = "
        "true (engines of the older service pass URLs instead of folders to scripts)."
    )
    kinds = ", ".join(kind.value for kind in Kind)
    rules = say(
        "Faults are injected by tables [[fault]] in DIR/faults.toml or FILE, for tests. Each "
        "needs a kind: {kinds}. Optional keys: service (obs, modelarts), operation, resource (a "
        "pattern for /bucket/key or flavors), count, skip, probability, seconds, "
        "bytes_per_second, status, code, after_bytes and body (html for error, pending for "
        "sold-out). A top-level “seed” makes runs repeatable. While the Lab runs, GET, PUT and "
        "DELETE on /faults at the URL in DIR/control.json show, replace and remove the rules; "
        "send its token as bearer.",
        kinds=kinds,
    )
    serve.epilog = f"{settings} {rules}"
    # Between programs only: who starts a Lab in the background says when it should end by itself.
    serve.add_argument("--idle-exit", type=float, metavar="SECONDS", help=argparse.SUPPRESS)
    serve.add_argument("--python", default="", help=argparse.SUPPRESS)
    serve.add_argument("--owner-pipe", action="store_true", help=argparse.SUPPRESS)


def _lab_root(parser: Parser) -> None:
    parser.option("--root", "DIR", say("data folder"), type=Path)


def _profile(profile: Subcommands) -> None:
    leaf(profile, "add", say("add an account; its keys are kept in the system keyring"), _name, _add)
    leaf(profile, "list", say("list accounts"))
    leaf(profile, "use", say("make an account current"), _name)
    leaf(profile, "check", say("check the keys: clock, OBS, project, ModelArts, write permission"), _check)
    leaf(profile, "remove", say("remove an account and its keys from this computer"), _name, yes)


def _check(check: Parser) -> None:
    check.add_argument("name", nargs="?", metavar="NAME")


def _add(add: Parser) -> None:
    add.epilog = say(
        "Enter the access key and the secret key on standard input, one per line; a terminal "
        "prompts for them. Keys cannot be passed as arguments. A third line is the token of "
        "temporary keys, which are not stored: see --profile environment. A fourth line is the "
        "password of the proxy; after --csv, --env and --keep-keys it is the first line."
    )
    add.option("--region", "R", say("e.g. cn-north-4"), required=True)
    add.option("--obs-endpoint", "URL", say("OBS endpoint (default: from the region)"), default="")
    add.option("--modelarts-endpoint", "URL", say("ModelArts endpoint"), default="")
    add.option("--iam-endpoint", "URL", say("IAM endpoint"), default="")
    add.option("--project-id", "ID", say("project ID (default: looked up)"), default="")
    ways = ("auto", "obs", "v2", "v4")
    add.option("--signature", None, say("signature of OBS requests"), choices=ways, default="auto")
    add.flag("--path-style", means=say("put the bucket in the path, not in the host name"))
    add.option("--ca", "FILE", say("CA certificates to trust, for a private cloud"), type=_absolute, default="")
    add.option("--proxy", "URL", say("http://host:port or http://user@host:port, without a password"), default="")
    add.option("--work-in", "PATH", say("bucket or folder that the keys are restricted to"), default="")
    add.option("--csv", "FILE", say("read the keys from a credentials.csv"), type=Path)
    add.flag("--env", means=say("read the keys from HUAWEICLOUD_SDK_AK and _SK"))
    add.flag("--replace", means=say("replace an account of this name"))
    add.flag("--keep-keys", means=say("with --replace: keep the keys, change the rest"))


def _absolute(value: str) -> str:
    """As seen from anywhere, because it is kept for commands started elsewhere."""
    return str(Path(value).absolute()) if value else ""


def _port(value: str) -> int:
    if not value.isdecimal() or int(value) > _LAST_PORT:
        raise argparse.ArgumentTypeError(say("a port must be a number up to {last}", last=_LAST_PORT))
    return int(value)
