"""Why a Lab cannot start: what happened, why, and what to do."""

from __future__ import annotations


class LabStartError(Exception):
    """Three sentences for the user."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what} {why} {remedy}")
        self.what = what
        self.why = why
        self.remedy = remedy


class LabBusy(LabStartError):
    """Another Lab serves this root."""


class LabAccountsDamaged(LabStartError):
    """The file of accounts is not what the Lab wrote."""


class PortInUse(LabStartError):
    """A port the user named is taken."""


class LabFaultsUnusable(LabStartError):
    """The file of fault rules cannot be read or followed."""


class LabRootUnusable(LabStartError):
    """The folder of the Lab cannot be written, or holds something the Lab did not write."""
