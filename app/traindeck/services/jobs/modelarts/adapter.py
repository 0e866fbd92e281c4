"""Training jobs on ModelArts, over its SDK."""

from __future__ import annotations

from collections.abc import Mapping
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
from traindeck.domain.jobs.job import Engine, Flavor, JobSpec, LogChunk, RemoteJob
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.http.calls import Refused, breakable, load, nobody_listens
from traindeck.services.http.errors import ErrorResponse, not_understood
from traindeck.services.http.proxies import proxy_of
from traindeck.services.jobs.modelarts.account import ModelArtsAccount, RequestRefused
from traindeck.services.jobs.modelarts.documents import (
    Document,
    engine_of,
    flavor_of,
    job_request,
    remote_job,
)
from traindeck.services.jobs.modelarts.errors import (
    CANNOT_STOP,
    NO_LOG_YET,
    is_gone,
    modelarts_error,
)

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.client import TrainingClient

PAGE_JOBS = 50
MOST_PAGES = 20


class ModelArtsTraining:
    """Where one account's jobs run; its project is looked up where `profile` names none."""

    def __init__(
        self, profile: Profile, credentials: Credentials, calls: BlockingCalls, refused: Refused = nobody_listens
    ) -> None:
        self._calls = calls
        self._ca_file = profile.ca_file
        self._proxy = proxy_of(profile, credentials)
        self._account = ModelArtsAccount(
            profile.modelarts_url,
            credentials,
            calls,
            project_id=profile.project_id,
            find_project=partial(find_project, profile, credentials, calls, refused),
            ca_file=profile.ca_file,
            proxy=self._proxy,
            is_lab=profile.is_lab,
            refused=refused,
        )

    def close(self) -> None:
        """Close idle connections; the next call opens new ones."""
        self._account.close()

    async def is_authorised(self) -> bool:
        """Whether the account has let ModelArts reach its data; without that no job can be made."""

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import GetAuthorizationsRequest

            return client.get_authorizations(GetAuthorizationsRequest())

        return bool(self._items(await self._account.ask(ask), "auth"))

    async def engines(self) -> list[Engine]:
        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobEnginesRequest

            return client.show_training_job_engines(ShowTrainingJobEnginesRequest())

        return [engine_of(item) for item in self._items(await self._account.ask(ask), "items")]

    async def flavors(self) -> list[Flavor]:
        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobFlavorsRequest

            return client.show_training_job_flavors(ShowTrainingJobFlavorsRequest())

        return [flavor_of(item) for item in self._items(await self._account.ask(ask), "flavors")]

    async def create(self, name: str, spec: JobSpec, code: ObjectPath) -> RemoteJob:
        body = job_request(name, spec, code)
        await self._account.know_project()

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import CreateTrainingJobRequest

            return client.create_training_job(CreateTrainingJobRequest(body=body))

        try:
            job = remote_job(self._object(await self._account.ask_once(ask)))
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
        for page in range(MOST_PAGES):
            jobs = await self._search(name, page)
            for job in jobs:
                if job.name == name:
                    return job
            if len(jobs) < PAGE_JOBS:
                break
        return None

    async def show(self, job_id: str) -> RemoteJob | None:
        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobDetailsRequest

            return client.show_training_job_details(ShowTrainingJobDetailsRequest(training_job_id=job_id))

        document = await self._account.ask(ask, fine=is_gone)
        return None if document is None else remote_job(self._object(document))

    async def stop(self, job_id: str) -> None:
        """A job that cannot be stopped any more is as good as stopped."""

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import StopTrainingJobRequest

            return client.stop_training_job(
                StopTrainingJobRequest(training_job_id=job_id, body={"action_type": "terminate"})
            )

        await self._account.ask(ask, fine=lambda answer: is_gone(answer) or answer.code == CANNOT_STOP)

    async def delete(self, job_id: str) -> None:
        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import DeleteTrainingJobRequest

            return client.delete_training_job(DeleteTrainingJobRequest(training_job_id=job_id))

        await self._account.ask(ask, fine=is_gone)

    async def log_tail(self, job_id: str, task: str) -> LogChunk | None:
        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ShowTrainingJobLogsPreviewRequest

            return client.show_training_job_logs_preview(
                ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id=task)
            )

        document = await self._account.ask(ask, fine=lambda answer: answer.code in NO_LOG_YET)
        if document is None:
            return None
        document = self._object(document)
        content = document.get("content")
        if content is None:
            content = document.get("context")  # what the field was called before 2022
        data = str(content or "").encode("utf-8", "replace")
        try:
            full_size = int(document.get("full_size") or len(data))
            shown_size = int(document.get("current_size") or len(data))
        except (TypeError, ValueError):
            full_size = shown_size = len(data)
        return LogChunk(data, full_size, shown_size)

    async def log_part(self, job_id: str, task: str, start: int, most_bytes: int) -> bytes:
        found = await self._account.ask(
            lambda client: client.log_link(job_id, task), fine=lambda answer: answer.code in NO_LOG_YET
        )
        link = self._object(found or {}).get("obs_url")
        if not link:
            return b""

        def fetch(token: CancelToken) -> bytes:
            load("requests")
            from traindeck.services.jobs.modelarts.log_link import fetched

            with breakable(token):
                return fetched(str(link), start, most_bytes, self._ca_file, self._proxy)

        return await self._calls.run(fetch)

    async def _search(self, name: str, page: int) -> list[RemoteJob]:
        body = {
            "offset": page,  # of pages, not of jobs
            "limit": PAGE_JOBS,
            "sort_by": "create_time",
            "order": "desc",
            "workspace_id": "0",
            "filters": [{"key": "name", "operator": "like", "value": [name]}],
        }

        def ask(client: TrainingClient) -> Any:
            from huaweicloudsdkmodelarts.v1 import ListTrainingJobsRequest

            return client.list_training_jobs(ListTrainingJobsRequest(body=body))

        return [remote_job(item) for item in self._items(await self._account.ask(ask), "items")]

    def _lost(self, detail: str) -> AnswerLost:
        return AnswerLost(
            text("It is not known yet whether {host} took the job.", host=self._account.service.host),
            text("It is looked up by its name and never sent twice; until it is found it may exist and bill."),
            detail,
        )

    def _object(self, document: object) -> Document:
        if not isinstance(document, Mapping):
            raise not_understood(ErrorResponse(self._account.service, 200, message="not a JSON object"))
        return document

    def _items(self, document: object, name: str) -> list[Document]:
        items = self._object(document).get(name)
        if not isinstance(items, list):
            raise not_understood(ErrorResponse(self._account.service, 200, message=f"no list of {name}"))
        return [item for item in items if isinstance(item, Mapping)]


async def find_project(
    profile: Profile, credentials: Credentials, calls: BlockingCalls, refused: Refused = nobody_listens
) -> str:
    """The id of the account's project in the region of the profile."""
    if not profile.has_training:
        raise InvalidInput(
            text("The account “{name}” has storage only: it names no address of ModelArts.", name=profile.name),
            text("Give the address of ModelArts in its settings, or use another account for jobs."),
        )
    region = profile.region
    account = ModelArtsAccount(
        profile.iam_url,
        credentials,
        calls,
        ca_file=profile.ca_file,
        proxy=proxy_of(profile, credentials),
        is_lab=profile.is_lab,
        refused=refused,
    )
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
        text("Choose another region; one is used for the first time by opening it in the console."),
    )
