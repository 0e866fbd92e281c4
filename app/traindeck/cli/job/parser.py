"""What can be typed after `traindeck job`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from traindeck.cli.parser_parts import Parser, Subcommands, count, duration, filters, leaf, moment, size, yes
from traindeck.domain.jobs.code_choice import CodeOf
from traindeck.domain.texts import say

SORTS = ("number", "name", "state", "duration", "ended", "account")


def add_job(job: Subcommands) -> None:
    leaf(job, "init", say("write a commented job.toml; in an empty folder, also the sample project"), _init)
    leaf(job, "fields", say("list all keys of a job file"))
    leaf(job, "check", say("check a job file without submitting it"), _file, _changes, _parameters, _checking)
    leaf(job, "template", say("manage templates of job files: list, show, save, remove"), _template)
    leaf(job, "export", say("print a job as a file of another program"), _what, _format, _to)
    leaf(job, "import", say("print a file of another program as a job.toml"), _foreign, _to)
    leaf(job, "submit", say("submit a job file"), _file, _sending, _parameters, _looking)
    leaf(job, "ls", say("list runs, newest first"), _runs)
    leaf(job, "show", say("show a run"), _run)
    leaf(job, "logs", say("print the log of a run"), _run, _logs)
    leaf(job, "rules", say("list what is done when a line comes in the log of a run"), _rules)
    leaf(job, "metrics", say("show the numbers that a run printed"), _run, _metrics)
    leaf(job, "stop", say("stop runs"), _several, yes)
    leaf(job, "rerun", say("run the same job again"), _run, _sending, _code_of)
    leaf(job, "code", say("show, compare or restore the code of a run"), _run, _code)
    leaf(job, "rm", say("delete finished runs, here and at the service"), _several, _rm, yes)
    leaf(job, "clean", say("delete code in OBS that no run uses any more"), _clean, yes)
    leaf(job, "wait", say("wait until a run has ended"), _run)
    leaf(job, "compare", say("show how 2 to 8 runs differ"), _compare)
    leaf(job, "fetch", say("download the outputs of a run"), _run, _fetch, filters)
    leaf(job, "adopt", say("take a job made elsewhere into the list of runs"), _adopt)
    leaf(job, "note", say("keep a note with a run; without words, print it"), _run, _words)
    leaf(job, "tag", say("add or remove tags of a run, here and at the service"), _run, _tag)
    leaf(job, "star", say("mark a run with a star"), _run, _star)
    describe = say("change the description of a run, here and at the service; without words, print it")
    leaf(job, "describe", describe, _run, _words)


def _init(init: Parser) -> None:
    init.add_argument("folder", type=Path, metavar="DIR")
    init.option("--template", "NAME", say("begin with a template"))


def _file(parser: Parser) -> None:
    parser.option("file", "FILE", say("a job.toml, or its folder"), type=Path)


def _runs(ls: Parser) -> None:
    ls.option("words", "WORD", say("only runs with these words in name, form, note or tags"), nargs="*")
    ls.option("--state", "STATE", say("only runs in this state, e.g. running"), action="append", default=[])
    ls.option("--tag", "TAG", say("only runs with this tag (KEY or KEY=VALUE)"), action="append", default=[])
    ls.flag("--starred", means=say("only starred runs"))
    ls.option("--since", "TIME", say("only runs submitted within this time, e.g. 7d"), type=duration)
    ls.option("--log", "TEXT", say("only runs whose log on this computer contains this text"))
    ls.option("--best", "METRIC", say("only runs with this metric, best first, e.g. val_loss or score:max"))
    ls.option("--sort", None, say("order (default: number)"), choices=SORTS, default=SORTS[0])
    ls.flag("--ascending", means=say("smallest or oldest first"))
    columns = say("columns, separated by commas; a parameter or metric by its name")
    ls.option("--columns", "NAMES", columns)
    ls.option("--export", "FILE", say("write a .csv or .md file with all columns"), type=Path)
    _replacing(ls)
    limit = say("maximum number; 0 for all (default: 50, with --export all)")
    ls.add_argument("-n", "--limit", type=count, metavar="N", help=limit)


def _run(parser: Parser) -> None:
    parser.option("run", "RUN", say("its number or ID, the beginning of its ID or name, or “last”"))


def _several(parser: Parser) -> None:
    parser.option("runs", "RUN", say("runs by number or ID, the beginning of ID or name, or “last”"), nargs="+")


def _logs(logs: Parser) -> None:
    logs.flag("-f", "--follow", means=say("continue until the run has ended"))
    logs.option("--worker", "W", say("worker, e.g. worker-1 or 1"))
    logs.flag("--merged", means=say("lines of all workers in the order of their times"))
    logs.option("--grep", "RE", say("only lines that match this regular expression (RE2)"))
    since = say("only lines written since, e.g. 10m, 14:30 or '2026-03-01 14:30'; needs times in the log")
    logs.option("--since", "TIME", since, type=moment)
    logs.flag("--save", means=say("also copy the log to MA_LOG in the code directory"))
    logs.flag("--exit-status", means=say("exit with 0 only if the run has completed, otherwise with 1"))
    logs.epilog = say(
        "Into a file or a pipe a log is printed byte for byte as the service has it. On a terminal colors are kept "
        "(unless NO_COLOR is set), and everything else that controls a terminal is left out; of a progress bar that "
        "redraws itself the last state is printed. Times without a time zone are taken as those of this computer."
    )


def _rules(rules: Parser) -> None:
    rules.flag("--init", means=say("write a commented file of rules, unless there is one"))
    rules.option("--test", "RUN", say("print the lines that the rules find in the log of a run or in a file"))


def _metrics(metrics: Parser) -> None:
    metrics.flag("--csv", means=say("print the curves as a table for spreadsheets"))


def _fetch(fetch: Parser) -> None:
    fetch.option("--to", "DIR", say("target folder (default: named like the run)"), type=Path)
    fetch.option("--max-size", "SIZE", say("leave larger files in OBS, e.g. 2GB"), type=size, default=0)
    fetch.flag("--overwrite", means=say("also replace files that were edited here"))
    fetch.flag("-f", "--follow", means=say("continue until the run has ended"))
    fetch.flag("--tensorboard", means=say("download only event files and open TensorBoard on them"))


def _rm(rm: Parser) -> None:
    rm.flag("--code", means=say("also delete its code in OBS, and here unless another run uses it"))


def _clean(clean: Parser) -> None:
    words = say("bucket, or folder that the keys are restricted to (default: where the runs of the account are)")
    clean.option("place", "BUCKET", words, nargs="?")
    age = say("only what was stored longer ago than this, e.g. 30d (default: 7d)")
    clean.option("--older-than", "TIME", age, type=duration, default=timedelta(days=7))
    clean.flag("-n", "--dry-run", means=say("only show what would be deleted"))


def _compare(compare: Parser) -> None:
    _several(compare)
    compare.flag("--all", means=say("also show what is equal"))


def _adopt(adopt: Parser) -> None:
    adopt.option("job", "ID", say("ID or name of the job at the service"))


def _words(parser: Parser) -> None:
    parser.option("words", "WORD", say("the text"), nargs="*")
    parser.flag("--clear", means=say("remove the text"))


def _tag(tag: Parser) -> None:
    tag.option("tags", "TAG", say("KEY or KEY=VALUE"), nargs="*")
    tag.option("--remove", "KEY", say("remove this tag"), action="append", default=[])


def _star(star: Parser) -> None:
    star.flag("--remove", means=say("remove the star"))


def _changes(parser: Parser) -> None:
    change = say("change a parameter (lr=0.01) or any other key (resources.nodes=2)")
    parser.option("--set", "KEY=VALUE", change, action="append", default=[], dest="changes")


def _checking(parser: Parser) -> None:
    parser.flag("--fix", means=say("show what the first fix of each finding changes, and change it"))
    yes(parser)


def _sending(parser: Parser) -> None:
    _changes(parser)
    parser.flag("-y", "--yes", means=say("submit in spite of warnings"))
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
    replace = say("for save: replace a template of this name; its locks stay unless --lock is given ('' for none)")
    template.flag("--replace", means=replace)


def _what(export: Parser) -> None:
    export.option("what", "RUN|FILE", say("a run, a job.toml, or its folder"))


def _foreign(import_: Parser) -> None:
    words = say("YAML of ma-cli, JSON of ModelArts or of the ToolKit; “-” for standard input")
    import_.option("file", "FILE", words, type=Path)


def _format(export: Parser) -> None:
    words = say("job file, YAML of ma-cli, JSON of ModelArts, or JSON of the older service that the ToolKit used")
    export.option("--as", None, words, choices=("toml", "yaml", "json", "toolkit"), default="toml", dest="kind")


def _to(parser: Parser) -> None:
    parser.option("--to", "FILE", say("write it to a file (default: standard output)"), type=Path)
    _replacing(parser)


def _replacing(parser: Parser) -> None:
    parser.flag("-y", "--yes", means=say("replace the file if it exists"))


def _looking(submit: Parser) -> None:
    submit.flag("-n", "--dry-run", means=say("only show what would be submitted"))


def _code_of(rerun: Parser) -> None:
    words = say("code of that run or of its folder now (default: then)")
    rerun.option("--code", None, words, choices=[one.value for one in CodeOf], default=CodeOf.THEN.value)


def _code(code: Parser) -> None:
    code.option("--diff", "RUN|FOLDER", say("compare it with another run or a folder"))
    code.option("--to", "FOLDER", say("restore it to this folder"), type=Path)
    code.option("--zip", "FILE", say("write it to this archive"), type=Path)
    code.flag("-y", "--yes", means=say("replace files that differ"))
