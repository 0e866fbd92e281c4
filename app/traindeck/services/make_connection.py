"""Builds what talks to one account."""

from __future__ import annotations

from dataclasses import replace

from traindeck.domain.profiles import Profile
from traindeck.domain.secret import Credentials
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.connections import Connection
from traindeck.services.data_ports import DataPlane
from traindeck.services.storage.obs import ObsStorage
from traindeck.services.training.modelarts import ModelArtsTraining, find_project


async def make_connection(profile: Profile, credentials: Credentials, calls: BlockingCalls) -> Connection:
    """A connection for `profile`; its project is looked up where the profile names none."""
    if not profile.project_id:
        project_id = await find_project(
            profile.iam_url,
            profile.region,
            credentials,
            calls,
            ca_file=profile.ca_file,
            is_lab=profile.is_lab,
        )
        profile = replace(profile, project_id=project_id)

    def make_plane() -> DataPlane:
        from traindeck.services.storage.wire.data_plane import WireDataPlane

        return WireDataPlane(profile, credentials)

    storage, training = ObsStorage(profile, credentials, calls), ModelArtsTraining(profile, credentials, calls)
    return Connection(profile, storage, training, make_plane)
