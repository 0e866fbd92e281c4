"""Whether shell scripts and the list of packages are what the job can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels, red
from traindeck.services.jobs.code.code_tree import CodeTree
from traindeck.services.scripts.rules.shell_files import crlf_words
from traindeck.services.scripts.script_tree import REQUIREMENT_NAMES, REQUIREMENTS

_MOST_READ = 1 << 20
_MOST_SCRIPTS = 200

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_PACKAGE = re.compile(
    rf"{_NAME}\s*(?:\[[^\]]*\])?\s*(?:\(?\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*,?\s*\)?|@\s*\S+)?\s*(?:;.*)?"
)
_OPTION = re.compile(r"(-[A-Za-z]|--[a-z][a-z-]*)(?:[\s=]+(.*))?")
_OPTIONS = frozenset({
    "-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links", "--no-binary", "--only-binary",
    "--prefer-binary", "--require-hashes", "--pre", "--trusted-host", "--use-feature", "-r", "--requirement", "-c",
    "--constraint", "-e", "--editable",
})  # fmt: skip
_FILES = frozenset({"-r", "--requirement", "-c", "--constraint"})
_URL = re.compile(r"(?:git\+|hg\+|svn\+|bzr\+)?(?:https?|ssh|git|file)://", re.IGNORECASE)
_LOCAL = re.compile(r"file:/|[A-Za-z]:[\\/]|/|~", re.IGNORECASE)
_CONDA = re.compile(rf"{_NAME}=[^=]\S*")
_WHEEL = re.compile(r"\S+\.(?:whl|tar\.gz|zip)")
_CONTINUES = "\\"


async def _shell(job: CheckedJob) -> Iterable[CheckAnswer]:
    """Bash takes the carriage return for a part of the last word of a line."""
    if not job.spec.has_own_code:
        return []
    scripts = [entry.path for entry in (await job.code.tree()).taken if entry.path.endswith(".sh")]
    said = []
    for path in scripts[:_MOST_SCRIPTS]:
        if b"\r\n" in await job.code.content(path, _MOST_READ):
            fact, hint = crlf_words(path)
            is_started = path.rpartition("/")[2] in job.spec.command
            said.append((red if is_started else amber)(fact, hint, file=path, line=1))
    good = count_text(
        "{count} script has line ends of Linux.", "{count} scripts have line ends of Linux.", len(scripts)
    )
    return said or ([green(good)] if scripts else [])


async def _requirements(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not job.spec.has_own_code:
        return []
    tree = await job.code.tree()
    if not tree.holds(REQUIREMENTS):
        return _without(tree)
    content = await job.code.content(REQUIREMENTS, _MOST_READ)
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        fact = text("{file}, line {line}: it is not UTF-8.", file=REQUIREMENTS, line=line)
        return [red(fact, text("Save it as UTF-8."), file=REQUIREMENTS, line=line)]
    if content.lstrip()[:1] == b"<" or b"\0" in content:
        fact = text("{file} is not a list of packages.", file=REQUIREMENTS)
        return [red(fact, text("Write one package on each line, for example “numpy==1.26.4”."), file=REQUIREMENTS)]
    said = [answer for number, line in _joined(lines) for answer in _line(tree, number, line)]
    wanted = sum(1 for _, line in _joined(lines) if line and not line.startswith("-"))
    good = count_text("{count} package is installed before the start.",
                      "{count} packages are installed before the start.", wanted)  # fmt: skip
    return said or [green(good)]


def _without(tree: CodeTree) -> list[CheckAnswer]:
    out = next((entry for entry in tree.left_out if entry.path == REQUIREMENTS), None)
    if out is not None:
        fact = text("{file} is not included: {reason}.", file=REQUIREMENTS, reason=out.why_left_out() or "")
        return [
            amber(fact, text("Nothing of it is installed. Check “ignore” and the ignore files."), file=REQUIREMENTS)
        ]
    other = next((name for name in REQUIREMENT_NAMES if tree.holds(name)), "")
    if other:
        fact = text("ModelArts installs {other} too; the Lab installs {file} alone.", other=other, file=REQUIREMENTS)
        return [green(fact)]
    return []


def _joined(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Without comments; one that goes on in the next line is one."""
    begun, first = "", 0
    for number, line in enumerate(lines, start=1):
        first = first if begun else number
        begun += re.sub(r"(?:^|\s)#.*", "", line).strip()
        if begun.endswith(_CONTINUES):
            begun = begun.removesuffix(_CONTINUES) + " "
            continue
        yield first, begun.strip()
        begun = ""
    if begun:
        yield first, begun.strip()


def _line(tree: CodeTree, number: int, line: str) -> Iterator[CheckAnswer]:
    problem = _problem(tree, line) if line else None
    if problem is not None:
        fact = text("{file}, line {line}: {problem}", file=REQUIREMENTS, line=number, problem=problem[0])
        yield red(fact, problem[1], file=REQUIREMENTS, line=number)


def _problem(tree: CodeTree, line: str) -> tuple[Text, Text] | None:
    if option := _OPTION.fullmatch(line):
        return _of_option(tree, option[1], (option[2] or "").strip())
    line = re.sub(r"(?<!\s)\s++--(?:hash|config-settings|global-option)[=\s]\S++", "", line).strip()
    place = line.partition("@")[2].strip() if "@" in line and not _URL.match(line) else line
    if _LOCAL.match(place):
        return (
            text("“{line}” is a file of this computer, which the job does not have.", line=line),
            text("Put the wheel into the code directory and write its name, or write the package with its version."),
        )
    if _URL.match(place):
        return None
    if _WHEEL.fullmatch(line):
        return None if tree.holds(line.removeprefix("./")) else _missing(line)
    if _PACKAGE.fullmatch(line):
        return None
    if _CONDA.fullmatch(line):
        return (
            text("“{line}” is written for conda.", line=line),
            text("Write it for pip, for example “numpy==1.26.4”."),
        )
    return (
        text("“{line}” is not a package.", line=line),
        text("Write one package on each line, for example “numpy==1.26.4”."),
    )


def _of_option(tree: CodeTree, name: str, value: str) -> tuple[Text, Text] | None:
    if name not in _OPTIONS:
        return (
            text("“{option}” is not an option of a list of packages.", option=name),
            text("Write one package on each line, for example “numpy==1.26.4”."),
        )
    is_file = name in _FILES and not _URL.match(value)
    return _missing(value) if is_file and not tree.holds(value.removeprefix("./")) else None


def _missing(name: str) -> tuple[Text, Text]:
    return (
        text("“{file}” is not in the code directory.", file=name),
        text("Put it beside {file}, or remove the line.", file=REQUIREMENTS),
    )


_CODE = frozenset({"code_folder", "ignore", "command", "code_url"})
_ALL = levels(*CheckLevel)

CHECKS = (
    JobCheck("shell-scripts", text("Shell scripts"), _CODE, _shell, _ALL),
    JobCheck("requirements", text("Packages"), _CODE, _requirements, _ALL),
)
