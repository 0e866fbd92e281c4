"""Training jobs on ModelArts, over its SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import (
    AccessRefused,
    AnswerLost,
    InvalidInput,
    ServiceTrouble,
    Unexpected,
    Unreachable,
)
from traindeck.domain.jobs.choices import Engine, Flavor
from traindeck.domain.jobs.job import LiveJobs, LogChunk, NumberedLines, RemoteJob
from traindeck.domain.jobs.job_spec import JobSpec, Target
from traindeck.domain.jobs.pools import JobQuota, ResourcePool
from traindeck.domain.jobs.resource_use import ResourceUse
from traindeck.domain.readings.phases import JobEvent
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import CHINESE, spoken, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.http.calls import Refused, nobody_listens
from traindeck.services.http.errors import ErrorResponse, not_understood
from traindeck.services.jobs.modelarts.account import ModelArtsAccount, RequestRefused
from traindeck.services.jobs.modelarts.adoption import spec_of
from traindeck.services.jobs.modelarts.documents import (
    Document,
    engine_of,
    event_of,
    flavor_of,
    job_quota,
    pool_of,
    remote_job,
)
from traindeck.services.jobs.modelarts.errors import (
    CANNOT_STOP,
    is_gone,
    modelarts_error,
)
from traindeck.services.jobs.modelarts.job_logs import JobLogs
from traindeck.services.jobs.modelarts.job_search import live_jobs, name_filter, pages
from traindeck.services.jobs.modelarts.request import job_request

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.client import TrainingClient

_MOST_EVENTS = 100


class ModelArtsTraining:
    """Where one account's jobs run; its project is looked up where `profile` names none; all raises AppError."""

    def __init__(
        self, profile: Profile, credentials: Credentials, calls: BlockingCalls, refused: Refused = nobody_listens
    ) -> None:
        self._calls = calls
        find = partial(find_project, profile, credentials, calls, refused)
        self._account = ModelArtsAccount(profile.modelarts_url, profile, credentials, calls, refused, find)
        self._logs = JobLogs(self._account, calls)

    def close(self) -> None:
        """Close idle connections; the next call opens new ones."""
        self._account.close()

    async def is_authorised(self) -> bool:
        """Whether the account has let ModelArts reach its data; without that no job can be made."""
        return bool(await self._items("auth", _call("get_authorizations")))

    async def engines(self) -> list[Engine]:
        return [engine_of(item) for item in await self._items("items", _call("show_training_job_engines"))]

    async def flavors(self) -> list[Flavor]:
        return [flavor_of(item) for item in await self._items("flavors", _call("show_training_job_flavors"))]

    async def project(self) -> str:
        """The id of the project that is asked about jobs."""
        await self._account.know_project()
        return self._account.project_id

    async def pools(self) -> list[ResourcePool]:
        return [pool_of(item) for item in await self._items("items", _call("list_pools"))]

    async def job_quota(self) -> JobQuota | None:
        """How many jobs there may be; None: the service does not say."""
        return job_quota(await self._items("quotas", _call("show_training_quotas", resource="job-num")))

    async def form(self, job_id: str, target: Target) -> JobSpec | None:
        """The form that a job was made from, whoever made it; None: there is no such job."""
        document = await self.document(job_id)
        return None if document is None else spec_of(document, target)

    async def create(self, name: str, spec: JobSpec, code: ObjectPath | None) -> RemoteJob:
        """Ask for a job once; the places in `spec` are those of the run.

        AnswerLost: nobody knows whether it exists. NameTaken: one of this name does.
        """
        body = job_request(name, spec, code)
        await self._account.know_project()
        try:
            job = remote_job(self._object(await self._account.ask_once(_call("create_training_job", body=body))))
        except RequestRefused as refusal:
            if refusal.answer.status >= 500 or refusal.answer.status == 408:
                raise self._lost(refusal.answer.detail) from None
            raise modelarts_error(refusal.answer) from None
        except Unreachable:
            raise
        except (ServiceTrouble, Unexpected) as error:
            raise self._lost(error.detail) from error
        if not job.id:
            raise self._lost("an answer without a job id")
        return job

    async def find_by_name(self, name: str) -> RemoteJob | None:
        async for jobs, _ in pages(self._found, name_filter(name)):
            for job in jobs:
                if job.name == name:
                    return job
        return None

    async def all_jobs(self) -> AsyncIterator[list[RemoteJob]]:
        """Those the service remembers, the newest first."""
        async for jobs, _ in pages(self._found):
            yield jobs

    async def jobs_since(self, moment: datetime) -> tuple[list[RemoteJob], bool]:
        """All jobs created since then, whoever made them, and whether none is missing."""
        found: list[RemoteJob] = []
        is_whole = False
        async for jobs, is_whole in pages(self._found):  # noqa: B007 - the last one counts
            found += jobs
            if any(job.created is not None and job.created < moment for job in jobs):
                return found, True
        return found, is_whole

    async def live_jobs(self) -> LiveJobs:
        """All that are not over, whoever made them."""
        return await live_jobs(self._found)

    async def show(self, job_id: str) -> RemoteJob | None:
        document = await self.document(job_id)
        return None if document is None else remote_job(document)

    async def document(self, job_id: str) -> Document | None:
        """The job as the service tells it, with what we have no field for."""
        found = await self._account.ask(_call("show_training_job_details", training_job_id=job_id), fine=is_gone)
        if found is None:
            return None
        document = self._object(found)
        if not remote_job(document).id:  # of no job, so not of this one
            raise not_understood(ErrorResponse(self._account.service, 200, message="a job without an id"))
        return document

    async def last_error(self, job_id: str) -> str:
        """What the service says went wrong, where its answer about the job has no reason; empty: nothing."""
        language = "zh-cn" if spoken() == CHINESE else "en-us"
        call = _call(
            "list_training_job_events", training_job_id=job_id, limit=20, order="desc", level="Error",
            x_language=language,
        )  # fmt: skip
        events = await self._items("events", call)
        # A service that does not know the level tells of all.
        errors = [event for event in events if event.get("level") == "Error" and event.get("message")]
        return str(errors[0]["message"]) if errors else ""

    async def events(self, job_id: str) -> list[JobEvent]:
        """The last of what the service tells of a job, the oldest first."""
        language = "zh-cn" if spoken() == CHINESE else "en-us"
        call = _call(
            "list_training_job_events", training_job_id=job_id, limit=_MOST_EVENTS, order="desc", x_language=language
        )
        told = [event_of(event) for event in await self._items("events", call)]
        # Many are of the same second: what came first there stays first.
        return sorted((event for event in reversed(told) if event is not None), key=lambda event: event.at)

    async def describe(self, job_id: str, description: str) -> None:
        """Whether the job is over does not matter."""
        body = {"description": description}
        await self._account.ask(_call("change_training_job_description", training_job_id=job_id, body=body))

    async def add_tags(self, job_id: str, tags: Mapping[str, str]) -> None:
        body = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        await self._account.ask(_call("create_train_job_tags", training_job_id=job_id, body=body))

    async def remove_tags(self, job_id: str, keys: Sequence[str]) -> None:
        body = {"tags": [{"key": key} for key in keys]}
        await self._account.ask(_call("delete_train_job_tags", training_job_id=job_id, body=body))

    async def stop(self, job_id: str) -> None:
        """A job that cannot be stopped any more is as good as stopped."""
        call = _call("stop_training_job", training_job_id=job_id, body={"action_type": "terminate"})
        await self._account.ask(call, fine=lambda answer: is_gone(answer) or answer.code == CANNOT_STOP)

    async def delete(self, job_id: str) -> None:
        await self._account.ask(_call("delete_training_job", training_job_id=job_id), fine=is_gone)

    async def log_tail(self, job_id: str, task: str) -> LogChunk | None:
        return await self._logs.tail(job_id, task)

    async def log_part(self, job_id: str, task: str, start: int, most_bytes: int) -> bytes | None:
        return await self._logs.part(job_id, task, start, most_bytes)

    async def log_lines(self, job_id: str, task: str, after: str) -> NumberedLines | None:
        return await self._logs.lines(job_id, task, after)

    async def resource_use(self, job_id: str, task: str) -> ResourceUse | None:
        return await self._logs.resource_use(job_id, task)

    async def stage(self, job_id: str) -> str:
        return await self._logs.stage(job_id)

    async def _found(self, body: dict[str, Any]) -> list[Document]:
        return await self._items("items", _call("list_training_jobs", body=body))

    def _lost(self, detail: str) -> AnswerLost:
        return AnswerLost(
            text(
                "No response from {host}, so it is not known whether the job was submitted.",
                host=self._account.service.host,
            ),
            text("TrainDeck looks it up by name and never submits twice. Until it is found, it may be charged."),
            detail,
        )

    def _object(self, document: object) -> Document:
        if not isinstance(document, Mapping):
            raise not_understood(ErrorResponse(self._account.service, 200, message="not a JSON object"))
        return document

    async def _items(self, name: str, call: Callable[[TrainingClient], Any]) -> list[Document]:
        items = self._object(await self._account.ask(call)).get(name)
        if not isinstance(items, list):
            raise not_understood(ErrorResponse(self._account.service, 200, message=f"no list of {name}"))
        return [item for item in items if isinstance(item, Mapping)]


def _call(name: str, **arguments: Any) -> Callable[[TrainingClient], Any]:
    """One call of the SDK, whose request has a class named after it; both are loaded in the worker."""

    def ask(client: TrainingClient) -> Any:
        from huaweicloudsdkmodelarts import v1

        request = getattr(v1, f"{name.title().replace('_', '')}Request")
        return getattr(client, name)(request(**arguments))

    return ask


async def find_project(
    profile: Profile, credentials: Credentials, calls: BlockingCalls, refused: Refused = nobody_listens
) -> str:
    """The id of the account's project in the region of the profile."""
    if not profile.has_training:
        raise InvalidInput(
            text("The account “{name}” has storage only: it has no ModelArts endpoint.", name=profile.name),
            text("Enter the ModelArts endpoint in its settings, or use another account for jobs."),
        )
    region = profile.region
    account = ModelArtsAccount(profile.iam_url, profile, credentials, calls, refused)
    try:
        document = await account.ask(lambda client: client.projects(region))
    finally:
        account.close()
    projects = document.get("projects") if isinstance(document, Mapping) else None
    if not isinstance(projects, list):
        raise not_understood(ErrorResponse(account.service, 200, message="no list of projects"))
    for project in projects:
        # Sub-projects are called <region>_<something>.
        if isinstance(project, Mapping) and project.get("name") == region and project.get("id"):
            return str(project["id"])
    raise AccessRefused(
        text("The account has no project in the region {region}.", region=region),
        text("Select another region. Open a region in the console before its first use."),
    )
