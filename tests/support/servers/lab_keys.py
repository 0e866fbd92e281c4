"""The data plane to a Lab whose address and keys are known."""

from __future__ import annotations

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.data_plane import DataPlane


def plane_to(endpoint: str, access_key: str, secret_key: str, region: str) -> DataPlane:
    profile = Profile("lab", Provider.LAB, region, obs_endpoint=endpoint, signature=Signature.OBS)
    return DataPlane(WireAccount(profile, Credentials(access_key, Secret(secret_key))))
