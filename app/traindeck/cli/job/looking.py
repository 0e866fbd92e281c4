"""`traindeck job submit -n`: the code that would go, what stays behind and why, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.columns import aligned
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.services.jobs.code.code_bundles import CodeLook
    from traindeck.services.jobs.code.code_tree import CodeEntry

_LARGE_BYTES = 1_000_000


async def show_what_would_go(call: Call, core: RunCore, spec: JobSpec, base: Path) -> int:
    look = await core.submission.look(spec, base, call.options.profile)
    over = look.tree.over(await core.submission.limits_of(core.submission.profile_for(spec, call.options.profile)))
    if call.output.json_wanted:
        call.output.document(_document(look) | {"over": [{"limit": one.limit.value, "found": one.found,
            "most": one.most, "folder": one.folder} for one in over]})  # fmt: skip
    else:
        for line in _lines(look):
            call.output.line(line)
    for one in (*(each.words() for each in over), *(_named(entry) for entry in look.tree.refused)):
        call.output.note(str(one))
    return FAILED if over or look.tree.refused else DONE


def _lines(look: CodeLook) -> Iterable[str]:
    tree, new = look.tree, set(look.new)
    yield str(tree.root)
    yield from _drawn(tree.taken, new)
    if tree.left_out:
        yield ""
        yield say("Left out:")
        yield from _below((_named_path(entry), str(entry.why_left_out() or "")) for entry in tree.left_out)
    if tree.unlisted:
        yield say("… and {count} more", count=f"{tree.unlisted:,}")
    if links := [entry for entry in tree.links if entry.is_taken]:
        yield ""
        yield say("Links whose content goes along:")
        yield from _below((entry.path, f"→ {entry.link}") for entry in links)
    if large := [entry for entry in tree.largest if (entry.size_bytes or 0) >= _LARGE_BYTES]:
        yield ""
        yield say("Large files:")
        yield from _below((entry.path, size_words(entry.size_bytes)) for entry in large)
    yield ""
    yield str(tree.summary(len(new)))
    yield say("To be sent: {size}", size=size_words(look.new_bytes))


def _drawn(entries: Sequence[CodeEntry], new: set[str]) -> Iterable[str]:
    """Files below their folders, those that are new with a mark."""
    rows: list[tuple[str, str]] = []
    above: list[str] = []
    for entry in sorted(entries, key=lambda one: one.path.split("/")):
        *folders, name = entry.path.split("/")
        same = 0
        while same < min(len(folders), len(above)) and folders[same] == above[same]:
            same += 1
        rows += [(f"  {'  ' * depth}{folders[depth]}/", "") for depth in range(same, len(folders))]
        above = folders
        mark = "+ " if entry.path in new else "  "
        rows.append((f"{mark}{'  ' * len(folders)}{name}", size_words(entry.size_bytes)))
    return aligned(rows, frozenset({1}))


def _below(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"  {line}" for line in aligned(list(rows))]


def _named_path(entry: CodeEntry) -> str:
    size = f" ({size_words(entry.size_bytes)})" if entry.size_bytes else ""
    return f"{entry.path}{f' → {entry.link}' if entry.link else ''}{size}"


def _named(entry: CodeEntry) -> str:
    return f"{entry.path}: {entry.problem}"


def _document(look: CodeLook) -> dict[str, object]:
    tree, new = look.tree, set(look.new)
    return {
        "folder": str(tree.root),
        "files": tree.total.files,
        "folders": tree.total.folders,
        "size": tree.total.size_bytes,
        "new": len(new),
        "new_size": look.new_bytes,
        "entries": [
            {
                "path": entry.path,
                "kind": entry.kind.value,
                "size": entry.size_bytes,
                "taken": entry.is_taken,
                "new": entry.path in new,
                "why": str(entry.why_left_out() or "") or None,
                "link": entry.link or None,
                "leads_outside": entry.leads_outside,
            }
            for entry in tree.entries
        ],
        "unlisted": tree.unlisted,
        "same_but_case": [list(names) for names in tree.same_but_case],
    }
