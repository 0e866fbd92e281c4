"""Whether the file that starts the training is there, goes along, and is Python that the engine can read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import PurePosixPath

from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.jobs.job_spec import JobSpec, usual_boots
from traindeck.domain.texts import count_text, text
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import (
    CheckAnswer,
    CheckedJob,
    JobCheck,
    amber,
    green,
    levels,
    not_checked,
    red,
)
from traindeck.services.jobs.code.code_tree import CodeEntry, CodeTree
from traindeck.services.scripts.fault_words import fault_words
from traindeck.services.scripts.imports import files_of, folder_of
from traindeck.services.scripts.python_source import (
    OWN,
    PythonSource,
    PythonVersion,
    SourceFault,
    engine_python,
    version_words,
)

OTHERS_LIMIT_S = 2.0
"""So long the files that the boot file does not import are read; who has thousands need not wait for all."""
_MOST_SAID = 5


def boot_of(spec: JobSpec) -> str:
    """As the tree of the code names it."""
    return PurePosixPath(spec.boot.replace("\\", "/")).as_posix() if spec.boot else ""


async def _boot(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistakes(job, "boot", "command"):
        return wrong
    if not job.spec.has_own_code or not job.spec.boot:
        return []
    tree, boot = await job.code.tree(), boot_of(job.spec)
    if tree.holds(boot):
        if next(entry for entry in tree.taken if entry.path == boot).size_bytes == 0:
            fact = text("The boot file “{boot}” is empty: the job would end at once.", boot=boot)
            return [amber(fact, text("Save your script, or select another file."), field="boot", file=boot)]
        return [green(text("{boot} is in the code directory.", boot=boot), field="boot")]
    out = next((one for one in tree.left_out if boot == one.path or _is_in(boot, one.path)), None)
    if out is not None:
        fact = text(
            "The boot file “{boot}” is not included: {reason}.", boot=boot, reason=out.why_left_out() or out.path
        )
        return [red(fact, text("Check “ignore” in the job file, .gitignore and .traindeckignore."), field="boot")]
    fact = text("The boot file “{boot}” is not in the code directory.", boot=boot)
    hint = text("Select a .py file inside “{folder}”.", folder=str(tree.root))
    return [red(fact, hint, *_other_boots(tree, boot), field="boot")]


def _is_in(path: str, folder: str) -> bool:
    return folder.endswith("/") and path.startswith(folder)


def _other_boots(tree: CodeTree, boot: str) -> list[CheckFix]:
    scripts = [entry.path for entry in tree.taken if entry.path.endswith(".py")]
    folded = {script.casefold(): script for script in scripts}
    near = [folded[one] for one in get_close_matches(boot.casefold(), folded, 1, 0.6)]
    usual = usual_boots([script for script in scripts if "/" not in script])
    only = scripts if len(scripts) == 1 else []
    found = list(dict.fromkeys((*near, *usual, *only)))[:2]
    return [CheckFix(text("Use {boot}", boot=script), (("boot", script),)) for script in found]


async def _syntax(job: CheckedJob) -> Iterable[CheckAnswer]:
    """The boot file and what it imports must be good; of the others nobody knows whether they are run."""
    boot = boot_of(job.spec)
    if not job.spec.has_own_code or not boot:
        return []
    tree = await job.code.tree()
    if not tree.holds(boot) or not boot.endswith(".py"):
        return []  # said by the check of the boot file
    promised = engine_python(job.spec.engine_version)
    here = await _lab_version(job)
    version = here or promised
    scripts = {entry.path: entry for entry in tree.taken if entry.path.endswith(".py")}
    needed = await _needed(job, scripts, boot, version)
    said = [answer for path, source in needed.items() if (answer := _fault(path, source, version, red)) is not None]
    if here is not None and promised is not None and not said:
        said += await _elsewhere(job, [scripts[path] for path in needed], promised)
    if not job.is_again:
        said += await _others(job, [scripts[path] for path in scripts if path not in needed], version)
    return said or [_good(len(needed), version)]


async def _lab_version(job: CheckedJob) -> PythonVersion | None:
    """What runs it where the Lab does; the engine's name says what runs it elsewhere."""
    if not job.profile.is_lab or job.lab_python is None:
        return None
    python = await job.lab_python(job.spec.engine_version)
    return python.short_version


def _good(count: int, version: PythonVersion | None) -> CheckAnswer:
    compiled = count_text(
        "{count} file compiles with {python}.",
        "{count} files compile with {python}.",
        count,
        python=version_words(version or OWN),
    )
    return green(compiled)


async def _needed(
    job: CheckedJob, scripts: Mapping[str, CodeEntry], boot: str, version: PythonVersion | None
) -> dict[str, PythonSource]:
    """The boot file and all it surely imports of this folder, in that order."""

    def imported(path: str, source: PythonSource) -> Iterator[str]:
        for one in source.imports:
            if one.is_sure:
                yield from files_of(one, path, [folder_of(boot)])

    return await job.code.reached_sources(scripts, boot, version, imported)


async def _elsewhere(job: CheckedJob, entries: list[CodeEntry], promised: PythonVersion) -> list[CheckAnswer]:
    """What runs in the Lab, and would not with the Python that the engine is named after."""
    found = await job.code.sources(entries, promised)
    return [answer for path, one in found.items() if (answer := _fault(path, one, promised, amber)) is not None]


async def _others(job: CheckedJob, entries: list[CodeEntry], version: PythonVersion | None) -> list[CheckAnswer]:
    end = time.monotonic() + OTHERS_LIMIT_S
    found = await job.code.sources(entries, version, lambda: time.monotonic() < end)
    said = [answer for path, source in found.items() if (answer := _fault(path, source, version, amber)) is not None]
    if len(said) > _MOST_SAID:
        more = len(said) - _MOST_SAID
        fact = count_text("{count} more file does not compile.", "{count} more files do not compile.", more)
        said = [*said[:_MOST_SAID], amber(fact, text("Exclude files that are not part of the job."))]
    if len(found) < len(entries):
        left = len(entries) - len(found)
        said.append(
            not_checked(
                count_text(
                    "Not checked: {count} file that the boot file does not import.",
                    "Not checked: {count} files that the boot file does not import.",
                    left,
                )
            )
        )
    return said


def _fault(
    path: str, source: PythonSource, version: PythonVersion | None, make: Callable[..., CheckAnswer]
) -> CheckAnswer | None:
    if source.fault is None:
        return None
    if source.fault in (SourceFault.TOO_LARGE, SourceFault.TOO_DEEP):
        return not_checked(text("Not checked: {file} is too large to be compiled here.", file=path))
    is_newer = version is not None and version > OWN and source.fault is SourceFault.SYNTAX
    if is_newer:
        return not_checked(
            text(
                "Not checked: {file} does not compile with {own}, but may with {python}.",
                file=path, own=version_words(OWN), python=version_words(version),
            )
        )  # fmt: skip
    fact, hint = fault_words(path, source.fault, source.words, source.line, version)
    return make(fact, hint, file=path, line=source.line)


_CODE = frozenset({"code_folder", "ignore", "boot", "command", "code_url"})
_ALL = levels(*CheckLevel)

CHECKS = (
    JobCheck("boot-file", text("Boot file"), _CODE, _boot, _ALL),
    JobCheck("syntax", text("Python files"), _CODE | {"engine_version"}, _syntax, _ALL),
)
