"""Whether the folder of the code is what the service takes, and holds what the user thinks it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels, red
from traindeck.services.jobs.code.code_rules import LARGE_BYTES, RuleSource
from traindeck.services.jobs.code.code_tree import CodeEntry, EntryKind

RECOMMENDED_BYTES = 50_000_000
"""Above this the service advises against it: every worker copies it before it starts."""
_MOST_NAMED = 3
_EXCLUDE = text("Add data and results to “ignore”, or select a folder that contains only code.")


def _named(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_MOST_NAMED]) + (" …" if len(paths) > _MOST_NAMED else "")


async def _folder(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistakes(job, "code_folder"):
        return wrong
    if not job.spec.has_own_code:
        return []
    try:
        tree = await job.code.tree()
    except (NotFound, InvalidInput) as error:
        return [red(error.title, error.hint, field="code_folder")]
    said = [_refused(job, entry) for entry in tree.refused]
    for rule in tree.bad_rules:
        fact = text("A rule that leaves nothing out: {rule}.", rule=rule.words())
        said.append(amber(fact, text("Correct it, or remove the line."), file=rule.file, line=rule.line or None))
    if not tree.total.files and not said:
        said.append(red(text("There is no file in the code directory."), _EXCLUDE, field="code_folder"))
    return said or [green(tree.summary(), field="code_folder")]


def _refused(job: CheckedJob, entry: CodeEntry) -> CheckAnswer:
    fact = text("{file}: {problem}", file=entry.path, problem=entry.problem or "")
    return red(fact, text("Correct it, or add it to “ignore”."), _ignoring(job, [entry.path]), file=entry.path)


def _ignoring(job: CheckedJob, paths: Sequence[str]) -> CheckFix:
    """A slash first: just this one, wherever others of the name may be."""
    patterns = [f"/{path}" for path in paths]
    words = count_text("Exclude {count} file from the code", "Exclude {count} files from the code", len(paths))
    return CheckFix(words, (("ignore", (*job.spec.ignore, *patterns)),))


async def _size(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not job.spec.has_own_code:
        return []
    tree = await job.code.tree()
    over = tree.over(job.code.limits)
    if over:
        return [red(one.words(), _EXCLUDE, field="code_folder") for one in over]
    total = tree.total
    if total.size_bytes > RECOMMENDED_BYTES:
        largest = tree.largest[0]
        fact = text(
            "The code takes {size}; {most} are recommended. The largest file is {file} ({file_size}).",
            size=size_words(total.size_bytes), most=size_words(RECOMMENDED_BYTES), file=largest.path,
            file_size=size_words(largest.size_bytes),
        )  # fmt: skip
        return [amber(fact, _EXCLUDE, field="code_folder")]
    depth = count_text("{count} level deep", "{count} levels deep", max(1, total.depth))
    return [green(text("{summary}, {depth}.", summary=tree.summary(), depth=depth))]


async def _large(job: CheckedJob) -> Iterable[CheckAnswer]:
    """Both that go along unseen, and that are left out unseen."""
    if not job.spec.has_own_code:
        return []
    tree = await job.code.tree()
    said = []
    going = [entry for entry in tree.largest if (entry.size_bytes or 0) > LARGE_BYTES]
    if going:
        names = [_sized(entry) for entry in going]
        fact = text("Large files are included in the code: {files}.", files=_named(names))
        hint = text("Put data and weights into an input, so that they are stored once.")
        said.append(amber(fact, hint, _ignoring(job, [entry.path for entry in going]), file=going[0].path))
    left = [entry for entry in tree.left_out if entry.rule is not None and entry.rule.source is RuleSource.LARGE]
    if left:
        fact = text("Weights or data are left out: {files}.", files=_named([_sized(entry) for entry in left]))
        hint = text("If the script reads them, put them into an input. If it does not, exclude them in the job file.")
        said.append(amber(fact, hint, _ignoring(job, [entry.path for entry in left]), file=left[0].path))
    return said or [green(text("No file is larger than {size}.", size=size_words(LARGE_BYTES)))]


def _sized(entry: CodeEntry) -> str:
    return f"{entry.path} ({size_words(entry.size_bytes)})"


async def _links(job: CheckedJob) -> Iterable[CheckAnswer]:
    """What a link leads to outside of the folder does not go along, and is missing there."""
    if not job.spec.has_own_code:
        return []
    tree = await job.code.tree()
    gone = [entry for entry in tree.links if entry.problem is not None]
    gone += [entry for entry in tree.left_out if entry.kind is EntryKind.SPECIAL and entry.problem is not None]
    said = [_left_out(job, entry) for entry in gone[:_MOST_NAMED]]
    if len(gone) > _MOST_NAMED:
        more = len(gone) - _MOST_NAMED
        fact = count_text("{count} more link is not included.", "{count} more links are not included.", more)
        said.append(amber(fact, None, _ignoring(job, [entry.path for entry in gone])))
    if said:
        return said
    inside = [entry.path for entry in tree.links if entry.is_taken]
    fact = text("Links are included as the files they lead to: {files}.", files=_named(inside))
    return [green(fact if inside else text("There are no links."))]


def _left_out(job: CheckedJob, entry: CodeEntry) -> CheckAnswer:
    where = text("{file} → {target}", file=entry.path, target=entry.link) if entry.link else entry.path
    fact = text("{where}: {problem}", where=where, problem=entry.problem or "")
    hint = text("Put a copy in its place if the script needs it, or exclude it in the job file.")
    return amber(fact, hint, _ignoring(job, [entry.path]), file=entry.path)


async def _case(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not job.spec.has_own_code:
        return []
    said = [amber(_only_case(names), _RENAME, file=names[0]) for names in (await job.code.tree()).same_but_case]
    return said or [green(text("No two names differ only in upper and lower case."))]


def _only_case(names: Sequence[str]) -> Text:
    return text("These names differ only in upper and lower case: {names}.", names=_named(names))


_RENAME = text("Rename one: on Windows and macOS they are one file, and one of them is lost.")
_CODE = frozenset({"code_folder", "ignore", "code_url"})
_SAID = levels(CheckLevel.GREEN, CheckLevel.AMBER, CheckLevel.NOT_CHECKED)

CHECKS = (
    JobCheck("code", text("Code directory"), _CODE, _folder, levels(*CheckLevel) - {CheckLevel.NOT_CHECKED}),
    JobCheck("code-size", text("Size of the code"), _CODE, _size, _SAID | {CheckLevel.RED}),
    JobCheck("large-files", text("Large files"), _CODE, _large, _SAID),
    JobCheck("links", text("Links"), _CODE, _links, _SAID),
    JobCheck("name-case", text("Similar names"), _CODE, _case, _SAID),
)
