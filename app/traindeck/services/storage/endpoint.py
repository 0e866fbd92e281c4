"""Where an account's object storage is, and which of the three dialects it is spoken to in."""

from __future__ import annotations

from urllib.parse import urlsplit

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Signature
from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.http.calls import NotReached, Refused, nobody_listens
from traindeck.services.http.errors import (
    ErrorResponse,
    Service,
    check_usable,
    network_trouble,
    no_answer,
    seconds_ahead,
)
from traindeck.services.http.proxies import ip_of, is_loopback, proxy_of


def is_path_style(profile: Profile) -> bool:
    """Whether the bucket stands in the path: where asked for, and where no name could hold it."""
    if profile.path_style or ip_of(profile.obs_url):
        return True
    # The Lab knows its buckets by name too, but most systems cannot find names below localhost.
    return is_loopback(profile.obs_url) and profile.signature != Signature.OBS


def dialect_of(profile: Profile, *, path_style: bool) -> Signature:
    """The one to speak where the profile leaves it open: as the SDK chooses."""
    if profile.signature != Signature.AUTO:
        return Signature(profile.signature)
    return Signature.V2 if path_style else Signature.OBS


# The service allows 15 minutes; less than this is no reason to sign again.
_SKEW_S = 60.0
_REFUSED_SKEW_S = 600.0


def corrected_clock(refusal: ErrorResponse, ahead_s: float) -> float | None:
    """By how much the service's clock is before ours, if that explains a refusal and is more than was known."""
    if refusal.code not in ("RequestTimeTooSkewed", ""):
        return None
    found = seconds_ahead(refusal.date)
    # An answer without a code may have many reasons; only a clock far away is one.
    least_s = _SKEW_S if refusal.code else _REFUSED_SKEW_S
    return None if found is None or abs(found - ahead_s) < least_s else found


class Endpoint:
    """One account's object storage, for those who ask it in one way or another; `refused` hears of refused keys."""

    def __init__(self, profile: Profile, credentials: Credentials, refused: Refused = nobody_listens) -> None:
        check_usable(profile.obs_url, credentials)
        proxy_of(profile, credentials)  # an address that is none is said before anything is asked
        self.profile = profile
        self.credentials = credentials
        self.service = Service(urlsplit(profile.obs_url).netloc, profile.is_lab, credentials)
        self.is_foreign = profile.signature == Signature.V4
        """Somebody else's store, which knows no more than S3."""
        self.path_style = is_path_style(profile)
        self.dialect = dialect_of(profile, path_style=self.path_style)
        self.work_in = ObjectPath.parse(profile.work_in).as_folder() if profile.work_in else None
        self._refused = refused

    def not_reached(self, error: NotReached) -> ServiceTrouble:
        if isinstance(error.cause, TimeoutError):
            return no_answer(self.service, self.service.masked(str(error.cause)))
        return network_trouble(error.cause, self.service)
