"""`traindeck obs find --report`: what a dataset holds, and what is wrong with it, before it is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.mini import dataset_folder
from traindeck.cli.progress import StatusLine
from traindeck.domain.datasets.report_words import ReportLine, facts_of, findings_of
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import count_words
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.domain.datasets.report import DatasetReport, FileTrouble, Groups
    from traindeck.services.datasets.looking import Stage

_MOST_SHOWN = 20


async def report(call: Call) -> int:
    options = call.options
    if options.words or options.name or options.larger is not None or options.smaller is not None:
        raise InvalidInput(
            text("--report looks at all files of a folder."), text("Leave out the other filters, or --report.")
        )
    place = dataset_folder(options.path)
    contents = options.contents or (isinstance(place, Path) and not options.names)
    async with call.data() as core:
        with StatusLine(call.output) as line:

            def at(stage: Stage, done: int, total: int) -> None:
                line.draw(lambda: _progress(stage, done, total))

            look = core.datasets.look(place, partial(call.profile, core), at, contents=contents)
            found = await look.report(str(place))
    if call.output.json_wanted:
        call.output.document(report_content(found))
    else:
        _tell(call, found)
    return DONE


def _progress(stage: Stage, done: int, total: int) -> str:
    from traindeck.services.datasets.looking import Stage

    if stage is Stage.CONTENTS:
        return say("Looking into files: {count} of {total}", count=count_words(done), total=count_words(total))
    return say("Counting: {count} so far…", count=count_words(done))


def _tell(call: Call, found: DatasetReport) -> None:
    output = call.output
    for label, value in facts_of(found):
        output.line(say("{label}: {value}", label=label, value=value))
    rows = [[name or ".", f"{one.samples:,}"] for name, one in sorted(found.classes.items())]
    if rows:
        output.line("")
        output.table([say("Class"), say("Samples")], rows[:_MOST_SHOWN], frozenset({1}))
        if len(rows) > _MOST_SHOWN:
            output.line(say("… and {count} more", count=f"{len(rows) - _MOST_SHOWN:,}"))
    for line in findings_of(found):
        output.line("")
        output.line(f"{_SIGNS[line.level]} {line.words}")
        for name in line.names[:_MOST_SHOWN]:
            output.named("    ", name, "")
        if len(line.names) > _MOST_SHOWN:
            output.line("    " + say("… and {count} more", count=f"{len(line.names) - _MOST_SHOWN:,}"))


_SIGNS = {ReportLine.GOOD: "✓", ReportLine.UNKNOWN: "?", ReportLine.ADVICE: "→", ReportLine.BAD: "×"}


def report_content(found: DatasetReport) -> dict[str, object]:
    """For programs. What is not known is null."""
    contents = found.contents
    return {
        "place": found.place,
        "files": found.total.files,
        "bytes": found.total.size_bytes,
        "stopped": found.is_stopped,
        "kinds": [{"ending": name, "files": one.files, "bytes": one.size_bytes} for name, one in found.kinds],
        "layouts": [one.value for one in found.layouts],
        "splits": dict(found.splits),
        "indexes": list(found.indexes),
        "classes": {name: one.samples for name, one in sorted(found.classes.items())},
        "empty": {"count": found.empty.count, "names": found.empty.first},
        "name_clashes": _groups(found.clashes),
        "duplicates": _groups(found.duplicates),
        "skipped": {"count": found.left_count, "files": _troubles(found.left)},
        "pictures": None if contents is None else asdict(contents.pictures),
        "broken": None
        if contents is None or not contents.pictures.looked_at
        else {"count": contents.broken_count, "files": _troubles(contents.broken)},
        "not_decoded": say(contents.unchecked_why) if contents and contents.unchecked_why else None,
        "encodings": None if contents is None else dict(contents.encodings),
        "other_encodings": None if contents is None else _troubles(contents.other_encodings),
        "unreadable": None if contents is None else _troubles(contents.unreadable),
        "records": None if contents is None else dict(contents.records),
        "shards_advised": found.shards,
        "notes": [say(note) for note in found.notes],
    }


def _groups(groups: Groups | None) -> dict[str, object] | None:
    if groups is None:
        return None
    return {
        "groups": groups.count, "files": groups.files, "bytes": groups.size_bytes,
        "looked_at": groups.extent.looked_at, "of": groups.extent.there, "first": [list(one) for one in groups.first],
    }  # fmt: skip


def _troubles(troubles: Iterable[FileTrouble]) -> list[dict[str, str]]:
    return [{"name": one.name, "why": say(one.why)} for one in troubles]
