"""Asking OBS: in a worker, as often as it is worth it, with one kind of error for everything that goes wrong."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Signature
from traindeck.domain.errors import AppError, KeysRefused, Unexpected
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls, Cancelled, CancelToken
from traindeck.services.http import bounds
from traindeck.services.http.calls import (
    TRIES,
    AnswerUnusable,
    NotReached,
    PageAnswered,
    Refused,
    breakable,
    load,
    nobody_listens,
    retried,
)
from traindeck.services.http.errors import (
    ErrorResponse,
    cut_off,
    far_too_slow,
    network_trouble,
    not_the_service,
    not_understood,
    seconds_ahead,
    seconds_until,
    unusable_certificates,
)
from traindeck.services.http.proxies import led, proxy_to
from traindeck.services.storage.endpoint import Endpoint, corrected_clock
from traindeck.services.storage.errors import obs_error
from traindeck.services.storage.wire.data_plane import DataPlane, OwnLoop

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.client import StorageClient

Result = TypeVar("Result")


class ObsAccount(Endpoint):
    """One account at one endpoint; made at once, connected when first asked."""

    def __init__(
        self, profile: Profile, credentials: Credentials, calls: BlockingCalls, refused: Refused = nobody_listens
    ) -> None:
        super().__init__(profile, credentials, refused)
        self.clock_ahead_s: float | None = None
        """By how much the service's clock was before ours at its last answer."""
        self.region = profile.region
        self.location = None if self.region == "us-east-1" else self.region
        """The region as a new bucket is told it: S3 knows its first by not being named, and refuses it when it is."""
        self.speaks_obs = not self.path_style and self.dialect is Signature.OBS
        """Requests and documents are those of OBS itself: the SDK takes S3's where the bucket is in the path."""
        self._calls = calls
        self._wire = OwnLoop(profile, credentials)
        self._making = threading.Lock()
        self._client: StorageClient | None = None

    def close(self) -> None:
        self._wire.close()
        if self._client is not None:
            self._client.close_idle()

    async def ask(
        self,
        request: Callable[[StorageClient], Any],
        place: ObjectPath | None,
        *,
        fine: tuple[str, ...] = (),
        tries: int = TRIES,
    ) -> Any:
        """The SDK's answer, of success or with a code that is fine too."""

        is_clock_set = False

        async def attempt() -> Any:
            nonlocal is_clock_set
            # Another request may set the clock before this one is answered.
            signed_ahead_s = self._client.clock_ahead_s if self._client is not None else 0.0
            try:
                async with asyncio.timeout(bounds.ANSWER_S):
                    answer = await self._calls.run(lambda token: self._in_worker(request, token))
            except TimeoutError:
                raise far_too_slow(self.service, f"no whole answer in {bounds.ANSWER_S:.0f} s") from None
            self._compare_clocks(seconds_ahead(dict(answer.header or ()).get("date", "")))
            if answer.status < 300 or answer.errorCode in fine:
                return answer
            refusal = self.refusal(answer)
            ahead_s = corrected_clock(refusal, signed_ahead_s)
            if ahead_s is not None and not is_clock_set:
                self._connected().clock_ahead_s, is_clock_set = ahead_s, True
                return await attempt()
            raise obs_error(refusal, place)

        try:
            return await retried(attempt, tries)
        except AnswerUnusable as error:  # asked again it would be no better
            meaning = not_the_service if isinstance(error, PageAnswered) else not_understood
            raise meaning(ErrorResponse(self.service, 0, message=str(error))) from None
        except KeysRefused as error:
            self._refused(error)
            raise

    async def over_wire(self, work: Callable[[DataPlane], Coroutine[Any, Any, Result]]) -> Result:
        """For what comes by the thousand, without the SDK."""
        try:
            return await self._wire.run(work)
        except KeysRefused as error:
            self._refused(error)
            raise
        finally:
            self._compare_clocks(self._wire.clock_ahead_s)

    def _compare_clocks(self, ahead_s: float | None) -> None:
        if ahead_s is not None:
            self.clock_ahead_s = ahead_s

    async def with_client(self, work: Callable[[StorageClient], Result]) -> Result:
        """For what the SDK does without asking anybody."""
        return await self._calls.run(lambda token: self._in_worker(work, token))

    def body(self, answer: Any) -> Any:
        """What a successful answer holds; the SDK leaves out what it cannot read."""
        if answer.body is None:
            raise not_understood(self.refusal(answer))
        return answer.body

    def refusal(self, answer: Any) -> ErrorResponse:
        header = dict(answer.header or ())
        location = header.get("location", "")
        # Answers to HEAD carry the code in a header, if at all.
        said = answer.errorCode or header.get("error-code", "")
        code = led(answer.status, self.profile.obs_url, location, said)
        away = code != said
        return ErrorResponse(
            self.service,
            answer.status,
            code,
            (away and location) or answer.errorMessage or header.get("error-message", "") or answer.reason or "",
            answer.requestId or "",
            seconds_until(header.get("retry-after", "")),
            header.get("date", ""),
        )

    def _in_worker(self, request: Callable[[StorageClient], Result], token: CancelToken) -> Result:
        load("obs", "traindeck.services.storage.sdk.client")

        token.check()
        client = self._connected()
        try:
            with breakable(token):
                return client.call(lambda: request(client))
        except (AppError, Cancelled, AnswerUnusable):
            raise
        except NotReached as error:
            raise self.not_reached(error) from None
        except OSError as error:
            raise network_trouble(error, self.service) from None
        except Exception as error:  # noqa: BLE001 - the SDK raises bare Exception for a body cut short
            raise self._odd(error) from None

    def _odd(self, error: Exception) -> AppError:
        detail = self.service.masked(f"{type(error).__name__}: {error}")
        if type(error).__module__ == "http.client" or "premature end" in detail:
            return cut_off(self.service, detail)
        return Unexpected(detail)

    def _connected(self) -> StorageClient:
        with self._making:
            if self._client is None:
                from traindeck.services.storage.sdk.client import StorageClient

                proxy = proxy_to(self.profile.obs_url, self.profile, self.credentials)
                self.service = replace(self.service, proxy=proxy.place if proxy else "")
                try:
                    self._client = StorageClient(self.profile, self.credentials, proxy)
                except OSError as error:  # nothing has been asked yet: it is the file that cannot be read
                    raise unusable_certificates(self.service, self.profile.ca_file, str(error)) from None
                weakref.finalize(self, self._client.close_idle)
            return self._client
