"""What happened to a job, as its events and stages are asked for and answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from traindeck.lab.training.job_records import EventRecord, JobRecord, StageRecord, now_ms
from traindeck.lab.training.request_body import RefusedError

_BAD_QUERY = "50004000"
_LEVELS = ("Info", "Error", "Warning")
_MAX_LIMIT = 100
_DEFAULT_LIMIT = 50
_MAX_PATTERN = 256

_STAGES = {
    "scheduling": ("The job waits for its resources.", "作业正在等待资源。"),
    "preparing": ("The code and the inputs are being downloaded.", "正在下载代码和输入数据。"),
    "running": ("The training process is running.", "训练进程正在运行。"),
    "end": ("The training has ended.", "训练已结束。"),
}


@dataclass(frozen=True)
class EventQuery:
    """A question for events that was found good; `page` counts pages, not events."""

    page: int
    limit: int
    newest_first: bool
    start_ms: int | None
    end_ms: int | None
    level: str
    pattern: str
    is_chinese: bool

    def answer(self, events: Sequence[EventRecord], job: JobRecord) -> dict[str, Any]:
        start = job.create_time if self.start_ms is None else self.start_ms
        end = now_ms() if self.end_ms is None else self.end_ms
        found = [event for event in events if self._is_wanted(event)]
        if self.newest_first:
            found.reverse()
        first = self.page * self.limit
        return {
            "total": len(found),
            "limit": self.limit,
            "offset": self.page,
            "order": "desc" if self.newest_first else "asc",
            "start_time": _time_text(start),
            "end_time": _time_text(end),
            "events": [
                {
                    "time": _time_text(event.time),
                    "level": event.level,
                    "source": event.source,
                    "message": self._message(event),
                }
                for event in found[first : first + self.limit]
            ],
        }

    def _is_wanted(self, event: EventRecord) -> bool:
        if self.start_ms is not None and event.time < self.start_ms:
            return False
        if self.end_ms is not None and event.time > self.end_ms:
            return False
        return self.level in ("", event.level) and self.pattern in self._message(event)

    def _message(self, event: EventRecord) -> str:
        return event.text.chinese if self.is_chinese else event.text.english


def read_event_query(query: Mapping[str, str], language: str | None) -> EventQuery:
    start, end = query.get("start_time") or "", query.get("end_time") or ""
    if bool(start) != bool(end):
        raise RefusedError(_BAD_QUERY, "start_time and end_time must be given together")
    order = query.get("order") or "desc"
    level = query.get("level") or ""
    pattern = query.get("pattern") or ""
    if order not in ("asc", "desc"):
        raise RefusedError(_BAD_QUERY, "order must be asc or desc")
    if level and level not in _LEVELS:
        raise RefusedError(_BAD_QUERY, f"level must be one of {', '.join(_LEVELS)}")
    if len(pattern) > _MAX_PATTERN:
        raise RefusedError(_BAD_QUERY, f"pattern must have at most {_MAX_PATTERN} characters")
    limit = _whole("limit", query.get("limit") or str(_DEFAULT_LIMIT))
    if not 1 <= limit <= _MAX_LIMIT:
        raise RefusedError(_BAD_QUERY, f"limit must be a whole number from 1 to {_MAX_LIMIT}")
    return EventQuery(
        page=_whole("offset", query.get("offset") or "0"),
        limit=limit,
        newest_first=order == "desc",
        start_ms=_whole("start_time", start) if start else None,
        end_ms=_whole("end_time", end) if end else None,
        level=level,
        pattern=pattern,
        is_chinese=(language or "").lower().startswith("zh"),
    )


def stage_table(job: JobRecord, stages: Sequence[StageRecord]) -> dict[str, Any]:
    rows = [
        {
            "job_id": job.id,
            "name": stage.name,
            "en_message": _STAGES[stage.name][0],
            "zh_message": _STAGES[stage.name][1],
            "start_time": _time_text(stage.start_time),
            "end_time": _time_text(stage.end_time) if stage.end_time else "",
            "stage_order": list(_STAGES).index(stage.name) + 1,
            "sub_stages": [],
        }
        for stage in stages
    ]
    return {"total_count": 1, "running_records": [{"record_order": 1, "stages": rows}]}


def _whole(name: str, text: str) -> int:
    # Longer numbers would be no time that a calendar knows.
    if not (text.isascii() and text.isdigit() and len(text) <= 14):
        raise RefusedError(_BAD_QUERY, f"{name} must be a whole number from 0")
    return int(text)


def _time_text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="seconds")
