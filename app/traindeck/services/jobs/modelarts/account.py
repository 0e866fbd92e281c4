"""Asking ModelArts and IAM: in a worker, with one kind of error for everything that goes wrong."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError, KeysRefused, ServiceTrouble, Unexpected
from traindeck.runtime.blocking import BlockingCalls, Cancelled, CancelToken
from traindeck.services.http import bounds
from traindeck.services.http.calls import (
    TRIES,
    AnswerUnusable,
    Refused,
    breakable,
    load,
    nobody_listens,
    retried,
)
from traindeck.services.http.errors import (
    ErrorResponse,
    Service,
    check_usable,
    cut_off,
    far_too_slow,
    host_unknown,
    is_page,
    led_somewhere,
    network_trouble,
    no_answer,
    no_proxy,
    no_tls,
    not_running,
    not_the_service,
    not_understood,
    seconds_until,
    too_slow,
    unusable_certificates,
)
from traindeck.services.http.proxies import proxy_of
from traindeck.services.jobs.modelarts.errors import modelarts_error
from traindeck.services.jobs.modelarts.sdk_models import load_sparingly

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.client import TrainingClient

NO_CONTENT = 204

FindProject = Callable[[], Awaitable[str]]


class RequestRefused(Exception):
    """The service said no; what that means depends on what was asked."""

    def __init__(self, answer: ErrorResponse) -> None:
        super().__init__(answer.code)
        self.answer = answer


def _never_fine(_: ErrorResponse) -> bool:
    return False


class ModelArtsAccount:
    """One account at one endpoint, as the profile has it; made at once, connected when first asked."""

    def __init__(
        self,
        url: str,
        profile: Profile,
        credentials: Credentials,
        calls: BlockingCalls,
        refused: Refused = nobody_listens,
        find_project: FindProject | None = None,
    ) -> None:
        """`find_project` is asked once, before the first request, where the profile does not name it."""
        check_usable(url, credentials)
        self.proxy = proxy_of(profile, credentials)
        self.service = Service(
            urlsplit(url).netloc, profile.is_lab, credentials, self.proxy.place if self.proxy else ""
        )
        self._find_project = None if profile.project_id else find_project
        self._finding = asyncio.Lock()
        self._refused = refused
        self._url = url
        self._credentials = credentials
        self._calls = calls
        self._project_id = profile.project_id if find_project else ""
        self.ca_file = profile.ca_file
        self._making = threading.Lock()
        self._client: TrainingClient | None = None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    async def ask(
        self,
        request: Callable[[TrainingClient], Any],
        *,
        tries: int = TRIES,
        fine: Callable[[ErrorResponse], bool] = _never_fine,
    ) -> Any:
        """The JSON of the answer; None when there is none, or when the refusal is fine too."""

        async def attempt() -> Any:
            try:
                return await self._whole(request)
            except RequestRefused as refusal:
                if fine(refusal.answer):
                    return None
                raise modelarts_error(refusal.answer) from None

        await self.know_project()
        try:
            return await retried(attempt, tries)
        except KeysRefused as error:
            self._refused(error)
            raise

    async def ask_once(self, request: Callable[[TrainingClient], Any]) -> Any:
        """The same for what must never be done twice, once `know_project` is done; raises RequestRefused as it came."""
        try:
            return await self._whole(request)
        except RequestRefused as refusal:
            meaning = modelarts_error(refusal.answer)
            if isinstance(meaning, KeysRefused):
                self._refused(meaning)
            raise

    async def _whole(self, request: Callable[[TrainingClient], Any]) -> Any:
        try:
            async with asyncio.timeout(bounds.ANSWER_S):
                return await self._calls.run(lambda token: self._in_worker(request, token))
        except TimeoutError:
            raise far_too_slow(self.service, f"no whole answer in {bounds.ANSWER_S:.0f} s") from None

    @property
    def project_id(self) -> str:
        """Empty as long as it is not known."""
        return self._project_id

    async def know_project(self) -> None:
        """Everything asked about jobs names the project."""
        async with self._finding:
            if self._find_project is not None:
                self._project_id = await self._find_project()
                self._find_project = None

    def _in_worker(self, request: Callable[[TrainingClient], Any], token: CancelToken) -> Any:
        load_sparingly()
        load("requests", "huaweicloudsdkcore.exceptions.exceptions", "huaweicloudsdkmodelarts.v1.modelarts_client")
        import requests
        from huaweicloudsdkcore.exceptions.exceptions import SdkException, ServiceResponseException

        token.check()
        client = self._connected()
        try:
            with breakable(token):
                answer = request(client)
        except (AppError, Cancelled):
            raise
        except AnswerUnusable as error:
            raise not_understood(ErrorResponse(self.service, 0, message=str(error))) from None
        except ServiceResponseException as error:
            raise RequestRefused(self._refusal(error)) from None
        except (SdkException, requests.RequestException) as error:
            raise self._trouble(error) from None
        except (ValueError, TypeError, AttributeError) as error:
            raise Unexpected(self.service.masked(f"{type(error).__name__}: {error}")) from None
        return self._read(answer)

    def _read(self, answer: Any) -> Any:
        # The SDK's own answers, or those of the library below it.
        status, content = answer.status_code, answer.raw_content if hasattr(answer, "raw_content") else answer.content
        if status >= 300:
            raise led_somewhere(ErrorResponse(self.service, status, message="redirected"))
        if status == NO_CONTENT or not content:
            return None
        try:
            # Not strict: logs have been seen with raw control characters in their JSON.
            return json.loads(content.decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError) as error:
            meaning = not_the_service if is_page("", content) else not_understood
            raise meaning(ErrorResponse(self.service, status, message=str(error))) from None

    def _refusal(self, error: Any) -> ErrorResponse:
        headers = {name.lower(): value for name, value in getattr(error, "kept_headers", {}).items()}
        return ErrorResponse(
            self.service,
            int(error.status_code),
            str(error.error_code or ""),
            str(error.error_msg or ""),
            str(error.request_id or ""),
            seconds_until(headers.get("retry-after", "")),
            headers.get("date", ""),
        )

    def _trouble(self, error: Exception) -> ServiceTrouble:
        """Unreachable when certainly nothing was sent."""
        import requests
        from urllib3 import exceptions as urllib3_errors

        # The SDK keeps only the words of what happened; the kind is in the error it was handling.
        cause = error if isinstance(error, requests.RequestException) else error.__context__
        detail = self.service.masked(f"{type(error).__name__}: {cause or error}")
        if isinstance(cause, requests.exceptions.ReadTimeout):
            return too_slow(self.service, detail)
        reason = next((each.reason for each in getattr(cause, "args", ()) if hasattr(each, "reason")), None)
        if isinstance(reason, urllib3_errors.ProxyError):
            return self._proxy_trouble(reason, detail)
        if isinstance(reason, urllib3_errors.SSLError):
            said = next((each for each in reason.args if isinstance(each, ssl.SSLError)), None)
            return network_trouble(said, self.service) if said else no_tls(self.service, detail)
        is_refused = isinstance(reason, Exception) and isinstance(reason.__cause__, ConnectionRefusedError)
        meanings: tuple[tuple[type[Exception], Callable[[Service, str], ServiceTrouble]], ...] = (
            (urllib3_errors.NameResolutionError, host_unknown),
            (urllib3_errors.NewConnectionError, not_running if is_refused else no_answer),
            (urllib3_errors.ConnectTimeoutError, no_answer),
        )
        return next((meaning for kind, meaning in meanings if isinstance(reason, kind)), cut_off)(self.service, detail)

    def _proxy_trouble(self, error: Any, detail: str) -> ServiceTrouble:
        """The proxy could not be reached, or said no; that of the system has no place known to us."""
        if not self.service.proxy:
            return no_answer(self.service, detail)
        said = error.original_error
        return network_trouble(said, self.service) if "Tunnel" in str(said) else no_proxy(self.service, detail)

    def _check_certificates(self) -> None:
        """A file that is none would look like a service nobody can trust."""
        if not self.ca_file or not self._url.startswith("https:"):
            return
        try:
            ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise unusable_certificates(self.service, self.ca_file, str(error)) from None

    def _connected(self) -> TrainingClient:
        with self._making:
            if self._client is None:
                from traindeck.services.jobs.modelarts.client import TrainingClient

                self._check_certificates()
                project_id = self._project_id or None
                self._client = TrainingClient.connect(
                    self._url, self._credentials, project_id, self.ca_file, self.proxy
                )
                weakref.finalize(self, self._client.close)
            return self._client
