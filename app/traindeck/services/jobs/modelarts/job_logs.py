"""What ModelArts tells of a worker while it runs: its log, in three ways, and what it uses of its machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import AppError, LogGone, NotFound
from traindeck.domain.jobs.job import LogChunk, NumberedLines
from traindeck.domain.jobs.resource_use import MEASURED, ResourceUse
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.http import bounds
from traindeck.services.http.calls import breakable, load
from traindeck.services.http.errors import ErrorResponse, not_understood
from traindeck.services.jobs.modelarts.account import ModelArtsAccount
from traindeck.services.jobs.modelarts.errors import NO_LOG_FOLDER, NO_LOG_YET, NO_METRICS_YET, is_gone

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.client import TrainingClient

# Half of what the service says a link lives.
_LINK_S = 150.0
_MOST_LINKS = 100
_MOST_LINES = 500
_MOST_SAMPLES = 100_000
_NOT_KNOWN = ("APIGW.0101", "APIGW.0103")


class JobLogs:
    """Of all jobs of one account."""

    def __init__(self, account: ModelArtsAccount, calls: BlockingCalls) -> None:
        self._account = account
        self._calls = calls
        self._links: dict[tuple[str, str], tuple[str, float]] = {}

    async def tail(self, job_id: str, task: str) -> LogChunk | None:
        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobLogsPreviewRequest

            return client.show_training_job_logs_preview(
                ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id=task)
            )

        try:
            document = await self._document(ask, lambda answer: answer.code in NO_LOG_YET)
        except NotFound as error:
            raise LogGone(error.title, error.hint, error.detail) from None
        if document is None:
            return None
        content = document.get("content")
        if content is None:
            content = document.get("context")  # what the field was called before 2022
        data = str(content or "").encode("utf-8", "replace")
        try:
            full_size = int(document.get("full_size") or len(data))
            shown_size = int(document.get("current_size") or len(data))
        except (TypeError, ValueError, OverflowError):
            full_size = shown_size = len(data)
        return LogChunk(data, full_size, shown_size)

    async def part(self, job_id: str, task: str, start: int, most_bytes: int) -> bytes | None:
        """None: the job has no log folder, so there is no file of it."""
        link = await self._link(job_id, task)
        if not link:
            return None if link is None else b""

        def fetch(token: CancelToken) -> bytes:
            load("requests")
            from traindeck.services.jobs.modelarts.log_link import fetched

            with breakable(token):
                return fetched(link, start, most_bytes, self._account.ca_file, self._account.proxy)

        try:
            return await self._calls.run(fetch)
        except AppError:
            self._links.pop((job_id, task), None)  # it may have expired
            raise

    async def lines(self, job_id: str, task: str, after: str) -> NumberedLines | None:
        """Those behind the line of this id, or the newest; None: this service has no such operation."""

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobLogsFromAomRequest

            more = {"base_line": after, "order": "asc"} if after else {"order": "desc"}
            return client.show_training_job_logs_from_aom(
                ShowTrainingJobLogsFromAomRequest(training_job_id=job_id, task_id=task, lines=_MOST_LINES, **more)
            )

        try:
            document = await self._document(ask, _knows_no_lines)
        except NotFound:
            return None
        if document is None:
            return None
        data = str(document.get("content") or "").encode("utf-8", "replace")
        first, last = (str(document.get(name) or "") for name in ("start_line", "end_line"))
        if data and after and first == after:
            # Some begin with the line they were asked to go on from.
            data = data.partition(b"\n")[2]
            number = bounds.whole_number(first)
            first = str(number + 1) if number is not None and last != first else first
        return NumberedLines(data, first, last)

    async def resource_use(self, job_id: str, task: str) -> ResourceUse | None:
        """One sample a minute since the start; None: nothing was measured yet."""

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobMetricsRequest

            return client.show_training_job_metrics(ShowTrainingJobMetricsRequest(training_job_id=job_id, task_id=task))

        document = await self._document(ask, lambda answer: answer.code in NO_METRICS_YET)
        rows = None if document is None else document.get("metrics")
        if not isinstance(rows, list):
            return None
        found = {
            str(row["metric"]): tuple(map(_sample, row["value"][:_MOST_SAMPLES]))
            for row in rows
            if isinstance(row, Mapping) and row.get("metric") in MEASURED and isinstance(row.get("value"), list)
        }
        return ResourceUse(found)

    async def stage(self, job_id: str) -> str:
        """The newest: scheduling, preparing, running or end; empty where the service does not say."""

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ListTrainingJobStagesRequest

            return client.list_training_job_stages(ListTrainingJobStagesRequest(training_job_id=job_id))

        document = await self._document(ask, lambda answer: answer.status == 404) or {}
        records = document.get("running_records")
        last = records[-1] if isinstance(records, list) and records else None
        stages = last.get("stages") if isinstance(last, Mapping) else None
        newest = stages[-1] if isinstance(stages, list) and stages else None
        return str(newest.get("name") or "") if isinstance(newest, Mapping) else ""

    async def _link(self, job_id: str, task: str) -> str | None:
        """Empty: there is no file yet; None: there will be none."""
        known, until = self._links.get((job_id, task), ("", 0.0))
        if time.monotonic() < until:
            return known
        refused: list[str] = []

        def is_fine(answer: ErrorResponse) -> bool:
            refused.append(answer.code)
            return answer.code in NO_LOG_YET or answer.code == NO_LOG_FOLDER

        document = await self._document(lambda client: client.log_link(job_id, task), is_fine)
        if document is None:
            return None if NO_LOG_FOLDER in refused else ""
        link = str(document.get("obs_url") or "")
        if link:
            if len(self._links) >= _MOST_LINKS:
                self._links.clear()
            self._links[job_id, task] = link, time.monotonic() + _LINK_S
        return link

    async def _document(
        self, ask: Callable[[TrainingClient], Any], fine: Callable[[ErrorResponse], bool]
    ) -> Mapping[str, Any] | None:
        found = await self._account.ask(ask, fine=fine)
        if found is not None and not isinstance(found, Mapping):
            raise not_understood(ErrorResponse(self._account.service, 200, message="not a JSON object"))
        return found


def _knows_no_lines(answer: ErrorResponse) -> bool:
    is_missing = answer.status in (404, 405, 501) or answer.code in _NOT_KNOWN
    return answer.code in NO_LOG_YET or (is_missing and not is_gone(answer))


def _sample(value: object) -> float | None:
    """-1 is no measurement, and neither is what no machine can use."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)
