"""The report of a problem as one file that can be given away: looked through for secrets, closed to others."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Check
from traindeck.domain.errors import Conflict
from traindeck.domain.settings import SETTINGS, WebAddress
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors, write_whole
from traindeck.services.diagnosis.computer import all_versions
from traindeck.services.diagnosis.report_masking import masked_json, masked_text
from traindeck.services.http.masking import without_secrets
from traindeck.store.paths import Paths

_LOG_BYTES = 256 * 1024
_MOST_LOGS = 8
# A web address of the user's may let in everyone who knows it.
_PRIVATE = frozenset(one.key for one in SETTINGS if isinstance(one, WebAddress))


@dataclass(frozen=True, slots=True)
class ReportPart:
    """One file of a report, as it will be written."""

    name: str
    content: bytes

    @property
    def words(self) -> str:
        return self.content.decode()


@dataclass(frozen=True, slots=True)
class ProblemReport:
    """All files of a report; nothing is on disk yet."""

    parts: tuple[ReportPart, ...]
    known: tuple[Credentials, ...] = field(default=(), repr=False)
    """What must not stand in what is added to it."""

    def with_part(self, name: str, words: str) -> ProblemReport:
        """In the place of one of this name; without words there is none."""
        parts = [part for part in self.parts if part.name != name]
        if words.strip():
            words = masked_json(words, _PRIVATE) if name.endswith(".json") else masked_text(words)
            parts.append(ReportPart(name, without_secrets(words, *self.known).encode(errors="replace")))
        return replace(self, parts=tuple(parts))

    def without(self, names: Collection[str]) -> ProblemReport:
        return replace(self, parts=tuple(part for part in self.parts if part.name not in names))

    def as_text(self) -> str:
        """All of it, to be pasted."""
        return "\n".join(f"===== {part.name}\n{part.words.rstrip()}\n" for part in self.parts)

    def write(self, file: Path, *, replace_old: bool = False) -> None:
        with local_errors():
            if (file.exists() or file.is_symlink()) and not replace_old:
                raise Conflict(
                    text("“{file}” already exists and was not changed.", file=str(file)),
                    text("Specify another file, or add --yes to replace this one."),
                )
            file.parent.stat()  # a folder that is not there is not made by the way
            write_whole(file, self._packed())

    def _packed(self) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in self.parts:
                entry = zipfile.ZipInfo(part.name)
                entry.external_attr = 0o600 << 16
                archive.writestr(entry, part.content, zipfile.ZIP_DEFLATED)
        return packed.getvalue()


def collected(paths: Paths, checks: Sequence[Check], known: Sequence[Credentials]) -> ProblemReport:
    report = ProblemReport((), tuple(known))
    for name, content in (("diagnosis.json", _findings(checks)), ("versions.txt", all_versions()), *_kept(paths)):
        report = report.with_part(name, content)
    return report


def _findings(checks: Sequence[Check]) -> str:
    """In English: whoever reads it may not share the user's language."""
    rows = [
        {
            "id": check.id,
            "title": check.title.in_english(),
            "passed": check.passed,
            "fact": check.fact.in_english(),
            "hint": check.hint.in_english() if check.hint else "",
        }
        for check in checks
    ]
    return json.dumps({"taken": datetime.now(UTC).isoformat(), "checks": rows}, indent=1, ensure_ascii=False)


def _kept(paths: Paths) -> Iterator[tuple[str, str]]:
    """Settings hold no secret; the log neither, and both are looked through all the same."""
    if paths.settings.exists():
        yield "settings.json", _end_of(paths.settings)
    logs = sorted(paths.app_log.parent.glob("*.log"), key=lambda log: log.name) if paths.app_log.parent.exists() else []
    for log in logs[:_MOST_LOGS]:
        yield f"log/{log.name}", _end_of(log)


def _end_of(file: Path) -> str:
    """Whole lines: half a secret would not be known for one."""
    with local_errors(file), file.open("rb") as opened:
        size = opened.seek(0, io.SEEK_END)
        opened.seek(max(0, size - _LOG_BYTES))
        content = opened.read(_LOG_BYTES)
    if size > _LOG_BYTES:
        content = content.partition(b"\n")[2]
    return content.decode("utf-8", "replace")
