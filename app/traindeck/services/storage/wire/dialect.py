"""Which of the three dialects an endpoint is spoken to in."""

from __future__ import annotations

from traindeck.domain.profiles import Profile, Signature


def dialect_of(profile: Profile, *, path_style: bool) -> Signature:
    """The one to speak where the profile leaves it open: as the SDK chooses."""
    if profile.signature is not Signature.AUTO:
        return profile.signature
    return Signature.V2 if path_style else Signature.OBS
