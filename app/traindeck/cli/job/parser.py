"""What can be typed after `traindeck job`."""

from __future__ import annotations

from pathlib import Path

from traindeck.cli.parser_parts import Adder, Parser, count, leaf, yes
from traindeck.domain.texts import say


def add_job(job: Adder) -> None:
    leaf(job, "init", say("write a commented job.toml; in an empty folder, also the sample project"), _init)
    leaf(job, "fields", say("list all keys of a job file"))
    leaf(job, "template", say("manage templates of job files: list, show, save, remove"), _template)
    leaf(job, "export", say("print a job as a file of another program"), _what, _format, _to)
    leaf(job, "import", say("print a file of another program as a job.toml"), _foreign, _to)
    leaf(job, "submit", say("submit a job file"), _file, _sending, _parameters)
    leaf(job, "ls", say("list runs, newest first"), _runs)
    leaf(job, "show", say("show a run"), _run)
    leaf(job, "logs", say("print the log of a run"), _run, _logs)
    leaf(job, "stop", say("stop a run"), _run)
    leaf(job, "rerun", say("run the same job again, with the same code"), _run, _sending)
    leaf(job, "rm", say("delete a finished run, here and at the service"), _run, yes)
    leaf(job, "wait", say("wait until a run has ended"), _run)
    leaf(job, "fetch", say("download the outputs of a run"), _run, _fetch)


def _init(init: Parser) -> None:
    init.add_argument("folder", type=Path, metavar="DIR")
    init.option("--template", "NAME", say("begin with a template"))


def _file(parser: Parser) -> None:
    parser.option("file", "FILE", say("a job.toml, or its folder"), type=Path)


def _runs(ls: Parser) -> None:
    ls.add_argument("-n", "--limit", type=count, default=50, metavar="N", help=say("maximum number; 0 for all"))


def _run(parser: Parser) -> None:
    parser.option("run", "RUN", say("its ID, the beginning of its ID or name, or “last”"))


def _logs(logs: Parser) -> None:
    logs.flag("-f", "--follow", means=say("continue until the run has ended"))
    logs.option("--worker", "W", say("worker, e.g. worker-1 or 1"))
    logs.option("--grep", "RE", say("only lines that match this regular expression"))


def _fetch(fetch: Parser) -> None:
    fetch.option("--to", "DIR", say("target folder (default: named like the run)"), type=Path)


def _sending(parser: Parser) -> None:
    change = say("change a parameter (lr=0.01) or any other key (resources.nodes=2)")
    parser.option("--set", "KEY=VALUE", change, action="append", default=[], dest="changes")
    parser.flag("--wait", means=say("wait until the run has ended"))
    parser.flag("--follow", means=say("print its log until the run has ended"))


def _parameters(submit: Parser) -> None:
    words = say("running parameters as “a=1;b=2”, as a command line or as JSON; “-” for standard input")
    submit.option("--parameters", "TEXT", words)


def add_filter(parser: Parser) -> None:
    parser.option("--filter", "WORDS", say("only those that contain all of these words"), default="")


def _template(template: Parser) -> None:
    verbs = ("list", "show", "save", "remove")
    template.option("what", "WHAT", say("what to do (default: list)"), nargs="?", choices=verbs, default=verbs[0])
    template.option("name", "NAME", say("its name"), nargs="?")
    template.option("file", "FILE", say("for save: a job.toml, or its folder"), nargs="?", type=Path)
    lock = say("for save: a key that jobs of this template cannot change, such as resources.flavor")
    template.option("--lock", "KEY", lock, action="append", default=[])
    template.flag("--replace", means=say("for save: replace a template of this name"))


def _what(export: Parser) -> None:
    export.option("what", "RUN|FILE", say("a run, a job.toml, or its folder"))


def _foreign(import_: Parser) -> None:
    words = say("YAML of ma-cli, JSON of ModelArts or of the ToolKit; “-” for standard input")
    import_.option("file", "FILE", words, type=Path)


def _format(export: Parser) -> None:
    words = say("job file, YAML of ma-cli, JSON of ModelArts, or JSON of the older service that the ToolKit used")
    export.option("--as", None, words, choices=("toml", "yaml", "json", "toolkit"), default="toml", dest="kind")


def _to(parser: Parser) -> None:
    parser.option("--to", "FILE", say("write it to a new file (default: standard output)"), type=Path)
