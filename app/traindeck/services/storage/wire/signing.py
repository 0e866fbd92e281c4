"""Signed headers in the three dialects, made by the SDK's own classes."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import formatdate

from obs import auth, convertor

from traindeck.domain.profiles import Profile, Signature
from traindeck.domain.secret import Credentials
from traindeck.services.storage.wire.dialect import dialect_of


class Signer:
    """Signs the requests of one account; imported in a worker only, for the SDK is slow to load."""

    def __init__(self, profile: Profile, credentials: Credentials, *, path_style: bool) -> None:
        dialect = dialect_of(profile, path_style=path_style)
        self._words = convertor.Adapter(str(dialect))
        self._is_v4 = dialect is Signature.V4
        self._credentials = credentials
        self._region = profile.region
        self._path_style = path_style
        self._auth = auth.Authentication(
            credentials.access_key, credentials.secret_key.reveal(), path_style, self._words, "", False
        )
        self._second = 0
        self._date = ""
        # By how much the service's clock is ahead of ours.
        self.clock_ahead_s = 0.0

    def sign(self, method: str, bucket: str, key: str, query: dict[str, str | None], headers: dict[str, str]) -> None:
        """Complete `headers`: the date, the token, the signature over it all."""
        if self._credentials.token is not None:
            headers[self._words.security_token_header()] = self._credentials.token.reveal()
        now = time.time() + self.clock_ahead_s
        if self._is_v4:
            self._sign_v4(now, method, bucket, key, query, headers)
            return
        if int(now) != self._second:
            self._second = int(now)
            self._date = formatdate(self._second, usegmt=True)
        headers["Date"] = self._date
        headers["Authorization"] = self._auth.doAuth(method, bucket, key, query, headers)["Authorization"]

    def _sign_v4(
        self, now: float, method: str, bucket: str, key: str, query: dict[str, str | None], headers: dict[str, str]
    ) -> None:
        moment = datetime.fromtimestamp(now, UTC)
        stamp = moment.strftime("%Y%m%dT%H%M%SZ")
        # The SDK sends the plain date only, which other services than OBS refuse.
        headers[self._words.date_header()] = stamp
        signer = auth.V4Authentication(
            self._credentials.access_key,
            self._credentials.secret_key.reveal(),
            self._region,
            stamp[:8],
            stamp,
            self._path_style,
            self._words,
        )
        headers["Authorization"] = signer.doAuth(method, bucket, key, query, headers)["Authorization"]
