"""The ModelArts SDK, used for signing and transport alone; imported in a worker only, for it is slow to load.

Its models drop fields and choke on others, its retries swallow error bodies, and each client holds eight threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.auth.internal import IamHelper
from huaweicloudsdkcore.exceptions.exception_handler import DefaultExceptionHandler
from huaweicloudsdkcore.exceptions.exceptions import ServiceResponseException
from huaweicloudsdkcore.http.http_config import HttpConfig
from huaweicloudsdkmodelarts.v1 import ModelArtsClient, ShowTrainingJobLogsPreviewRequest

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Proxy
from traindeck.services.http import bounds
from traindeck.services.http.breakable_requests import go_by

POOL = 10


class TrainingClient(ModelArtsClient):  # type: ignore[misc]
    """One account at one endpoint; for many threads at once."""

    @classmethod
    def connect(
        cls, url: str, credentials: Credentials, project_id: str | None, ca_file: str, proxy: Proxy | None = None
    ) -> TrainingClient:
        keys = BasicCredentials(credentials.access_key, credentials.secret_key.reveal(), project_id)
        if credentials.token:
            keys.with_security_token(credentials.token.reveal())
        config = HttpConfig(timeout=(bounds.CONNECT_S, bounds.SILENCE_S), retry_times=0, ssl_ca_cert=ca_file or None)
        builder = ModelArtsClient.new_builder()
        builder._client_type = cls  # the builder checks the name of a class given to it
        client: TrainingClient = (
            builder.with_http_config(config)
            .with_credentials(keys)
            .with_endpoint(url)
            .with_exception_handler(_KeepsHeaders())
            .build()
        )
        http = client.get_http_client()
        http._executor = _Here()
        # The SDK's own adapter turns 429 into an exception without the answer.
        go_by(http._session, proxy, url, pool_connections=POOL, pool_maxsize=POOL)
        # They would print to standard error, with whatever the gateway echoes.
        client._logger.addHandler(logging.NullHandler())
        client._logger.setLevel(logging.CRITICAL + 1)
        return client

    def deserialize(self, response: object, response_type: object, progress_callback: object) -> None:
        """The bytes as they came are read by us."""
        return

    def close(self) -> None:
        """Close idle connections; unlike the SDK's own, this may be followed by more requests and another close."""
        self.get_http_client()._session.close()

    def log_link(self, job_id: str, task: str) -> Any:
        """Where the file of a log can be had without keys; the SDK has the calls around this one."""
        request = ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id=task)
        call = self._show_training_job_logs_preview_http_info(request)
        call["resource_path"] = call["resource_path"].removesuffix("/preview") + "/url"
        call["query_params"] = [("Content-Type", "application/octet-stream")]
        return self._call_api(**call)

    def projects(self, region: str) -> Any:
        """IAM's answer, with the request the SDK itself would send."""
        url = self._endpoints[0]
        request = IamHelper.get_keystone_list_projects_request(self._config, url, region_id=region)
        signed = self.get_credentials().process_auth_request(request, self.get_http_client()).result()
        return self.get_http_client().do_request_sync(signed)


class _KeepsHeaders(DefaultExceptionHandler):  # type: ignore[misc]
    """Keeps what the SDK drops of a refusal: when to come back, and the server's clock."""

    def handle_exception(self, request: Any, response: Any) -> None:
        try:
            super().handle_exception(request, response)
        except ServiceResponseException as error:
            error.kept_headers = dict(response.headers)
            raise


class _Here(Executor):
    """Signing takes microseconds; it needs no threads of its own."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(function(*arguments, **named))
        except Exception as error:  # noqa: BLE001 - handed over, as an executor does
            done.set_exception(error)
        return done
