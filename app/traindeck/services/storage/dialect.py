"""Which of the three dialects an endpoint is spoken to in."""

from __future__ import annotations

from urllib.parse import urlsplit

from traindeck.domain.accounts.profiles import Profile, Signature
from traindeck.services.http.proxies import is_loopback
from traindeck.services.http.redirects import is_address


def is_path_style(profile: Profile) -> bool:
    """Whether the bucket stands in the path: where asked for, and where no name could hold it."""
    if profile.path_style or is_address(urlsplit(profile.obs_url).hostname or ""):
        return True
    # The Lab knows its buckets by name too, but most systems cannot find names below localhost.
    return is_loopback(profile.obs_url) and profile.signature != Signature.OBS


def dialect_of(profile: Profile, *, path_style: bool) -> Signature:
    """The one to speak where the profile leaves it open: as the SDK chooses."""
    if profile.signature != Signature.AUTO:
        return Signature(profile.signature)
    return Signature.V2 if path_style else Signature.OBS
