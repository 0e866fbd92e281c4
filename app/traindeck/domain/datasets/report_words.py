"""A report of a dataset in words, the same in window and terminal: what it is, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from traindeck.domain.datasets.report import Contents, DatasetReport, Extent, FileTrouble, Groups
from traindeck.domain.previews import PICTURE_NAMES
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count, say_list

_MOST_KINDS = 8


class ReportLine(Enum):
    """How a line is meant."""

    GOOD = auto()
    UNKNOWN = auto()
    ADVICE = auto()
    BAD = auto()


@dataclass(frozen=True, slots=True)
class ReportFinding:
    level: ReportLine
    words: str
    names: tuple[str, ...] = ()
    """The files it is about, the first of them."""


def facts_of(report: DatasetReport) -> list[tuple[str, str]]:
    """Labels and values."""
    total = report.total
    files = say_count("{count} file", "{count} files", total.files)
    found = [
        (say("Location"), report.place),
        (say("Files"), say("{files}, {size}", files=files, size=size_words(total.size_bytes))),
        (say("Layout"), say_list(one.title for one in report.layouts) or say("Not recognized")),
    ]
    if report.kinds:
        found.append((say("Kinds"), _kinds(report)))
    if report.splits:
        found.append((say("Splits"), say_list(f"{name} {count:,}" for name, count in report.splits)))
    if report.classes:
        found.append((say("Classes"), _classes(report)))
    if report.indexes:
        found.append((say("Classes from"), say_list(report.indexes)))
    if report.contents is not None and report.contents.records:
        found.append((say("Records"), _records(report.contents)))
    return found


def _kinds(report: DatasetReport) -> str:
    words = [f"{name or say('no extension')} {one.files:,}" for name, one in report.kinds[:_MOST_KINDS]]
    return say_list([*words, "…"] if len(report.kinds) > _MOST_KINDS else words)


def _classes(report: DatasetReport) -> str:
    counts = sorted(one.samples for one in report.classes.values())
    if len(counts) == 1:
        return say_count("1, with {count} sample", "1, with {count} samples", counts[0])
    if counts[0] == counts[-1]:
        return say_count(
            "{classes}, with {count} sample each", "{classes}, with {count} samples each", counts[0],
            classes=f"{len(counts):,}",
        )  # fmt: skip
    return say(
        "{count}, from {least} to {most} samples", count=f"{len(counts):,}", least=f"{counts[0]:,}",
        most=f"{counts[-1]:,}",
    )  # fmt: skip


def _records(contents: Contents) -> str:
    known = [count for _, count in contents.records if count is not None]
    unknown = len(contents.records) - len(known)
    words = say_count("{records} in {count} file", "{records} in {count} files", len(known), records=f"{sum(known):,}")
    if unknown:
        words += "; " + say_count("unknown in {count} file", "unknown in {count} files", unknown)
    return words


def findings_of(report: DatasetReport) -> list[ReportFinding]:
    """The worst first."""
    found = [*_of_names(report), *_of_duplicates(report.duplicates), *_of_contents(report), *_of_size(report)]
    if report.is_stopped:
        found.append(ReportFinding(ReportLine.UNKNOWN, say("Stopped before everything was looked at.")))
    found += [ReportFinding(ReportLine.ADVICE, say(note)) for note in report.notes]
    return sorted(found, key=lambda one: -one.level.value)


def _of_names(report: DatasetReport) -> Iterable[ReportFinding]:
    if report.empty.count:
        words = say_count("{count} file is empty.", "{count} files are empty.", report.empty.count)
        yield ReportFinding(ReportLine.BAD, words, tuple(report.empty.first))
    else:
        yield ReportFinding(ReportLine.GOOD, say("No file is empty."))
    if report.clashes.count:
        words = say_count(
            "{count} name exists in several spellings that are one name on Windows and macOS.",
            "{count} names exist in several spellings that are one name on Windows and macOS.",
            report.clashes.count,
        )
        yield ReportFinding(ReportLine.BAD, words, _names(report.clashes))
    else:
        yield ReportFinding(ReportLine.GOOD, say("No names differ only by case."))
    if report.left_count:
        words = say_count(
            "{count} file would not be uploaded: a link, or unreadable.",
            "{count} files would not be uploaded: links, or unreadable.",
            report.left_count,
        )
        yield ReportFinding(ReportLine.BAD, words, _with_reasons(report.left))


def _of_duplicates(groups: Groups | None) -> Iterable[ReportFinding]:
    if groups is None:
        yield ReportFinding(ReportLine.UNKNOWN, say("Duplicates: unknown, no contents were compared."))
        return
    looked = extent_words(groups.extent)
    if groups.count:
        words = say_count(
            "{count} content exists several times, in {files} files; the copies take up {size}.",
            "{count} contents exist several times, in {files} files; the copies take up {size}.",
            groups.count, files=f"{groups.files:,}", size=size_words(groups.size_bytes),
        )  # fmt: skip
        yield ReportFinding(ReportLine.BAD, f"{words} {looked}".strip(), _names(groups))
    elif groups.extent.is_whole:
        yield ReportFinding(ReportLine.GOOD, say("No two files have the same content."))
    else:
        yield ReportFinding(ReportLine.UNKNOWN, f"{say('No duplicates were found.')} {looked}")


def _of_contents(report: DatasetReport) -> Iterable[ReportFinding]:
    contents = report.contents
    if contents is None:
        if any(name in _PICTURES for name, _ in report.kinds):
            yield ReportFinding(ReportLine.UNKNOWN, say("Broken pictures: unknown, no contents were read."))
        return
    yield from _of_pictures(contents)
    if contents.other_encodings:
        words = say_count("{count} text is not UTF-8.", "{count} texts are not UTF-8.", contents.other_count)
        yield ReportFinding(
            ReportLine.BAD, f"{words} {extent_words(contents.texts)}".strip(), _with_reasons(contents.other_encodings)
        )
    elif contents.texts.looked_at:
        level = ReportLine.GOOD if contents.texts.is_whole else ReportLine.UNKNOWN
        words = say("The beginnings of all texts looked at are UTF-8.")
        yield ReportFinding(level, f"{words} {extent_words(contents.texts)}".strip())
    if contents.unreadable:
        words = say_count(
            "{count} file could not be read.", "{count} files could not be read.", contents.unreadable_count
        )
        yield ReportFinding(ReportLine.BAD, words, _with_reasons(contents.unreadable))


def _of_pictures(contents: Contents) -> Iterable[ReportFinding]:
    pictures = contents.pictures
    if not pictures.there:
        return
    why = say(contents.unchecked_why) if contents.unchecked_why else ""
    looked = " ".join(part for part in (extent_words(pictures), why) if part)
    if contents.broken_count:
        words = say_count("{count} picture is broken.", "{count} pictures are broken.", contents.broken_count)
        yield ReportFinding(ReportLine.BAD, f"{words} {looked}".strip(), _with_reasons(contents.broken))
    elif pictures.is_whole:
        yield ReportFinding(ReportLine.GOOD, say("All pictures can be decoded."))
    elif pictures.looked_at:
        yield ReportFinding(ReportLine.UNKNOWN, f"{say('No broken pictures were found.')} {looked}")
    else:
        yield ReportFinding(ReportLine.UNKNOWN, f"{say('Broken pictures: unknown.')} {why}".strip())


def _of_size(report: DatasetReport) -> Iterable[ReportFinding]:
    if report.shards is not None:
        words = say_count(
            "Many small files: each is a request of its own in a job. They fit into about {count} tar shard.",
            "Many small files: each is a request of its own in a job. They fit into about {count} tar shards.",
            report.shards,
        )
        yield ReportFinding(ReportLine.ADVICE, words)


def extent_words(extent: Extent) -> str:
    """Empty where all was looked at."""
    if extent.is_whole:
        return ""
    return say("Looked at: {count} of {total}.", count=f"{extent.looked_at:,}", total=f"{extent.there:,}")


def _names(groups: Groups) -> tuple[str, ...]:
    return tuple(" = ".join(names) for names in groups.first)


def _with_reasons(troubles: Iterable[FileTrouble]) -> tuple[str, ...]:
    return tuple(f"{one.name}  ({say(one.why)})" for one in troubles)


_PICTURES = set(PICTURE_NAMES)
