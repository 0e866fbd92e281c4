"""Changes to a job that exists: what may be changed, and when."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traindeck.lab.training.job_form import read_schedule_policy
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.request_body import (
    RefusedError,
    checked_description,
    list_in,
    object_in,
    text_in,
)

_CHANGEABLE = {
    "": ("description", "metadata", "spec", "endpoints"),
    "metadata": ("annotation", "annotations"),
    "spec": ("schedule_policy", "notification"),
    "endpoints": ("ssh",),
}


@dataclass(frozen=True)
class JobChanges:
    """The changes of one request; what is None stays as it is."""

    description: str | None
    annotations: Mapping[str, Any]
    schedule_policy: Mapping[str, Any]
    notification: Mapping[str, Any] | None
    key_pair_names: list[Any] | None

    def apply(self, job: JobRecord) -> None:
        """Change the document of `job`; raises where its phase does not allow it any more."""
        document = job.document
        if self.description is not None:
            document["metadata"]["description"] = self.description
        document["metadata"]["annotations"].update(self.annotations)
        if self.schedule_policy:
            if job.phase not in ("Creating", "Pending"):
                message = f"the training job {job.name} is {job.phase}: it does not wait for resources any more"
                raise RefusedError("2878", message, status=409)
            spec = document["spec"]
            spec["schedule_policy"] = {**(spec.get("schedule_policy") or {}), **self.schedule_policy}
        if self.notification is not None:
            document["spec"]["notification"] = dict(self.notification)
        if self.key_pair_names is not None:
            document["endpoints"]["ssh"] = {"key_pair_names": self.key_pair_names}


def read_changes(body: Mapping[str, Any]) -> JobChanges:
    for place, allowed in _CHANGEABLE.items():
        given = object_in(body, place) if place else body
        unknown = sorted(key for key, value in given.items() if key not in allowed and value is not None)
        if unknown:
            raise RefusedError("0104", f"{', '.join(unknown)} of a job cannot be changed")
    metadata, spec = object_in(body, "metadata"), object_in(body, "spec")
    # The service calls it `annotation` in this operation alone.
    annotations = {**object_in(metadata, "annotations"), **object_in(metadata, "annotation")}
    for key in annotations:
        text_in(annotations, key)
    ssh = object_in(object_in(body, "endpoints"), "ssh")
    description = body.get("description")
    return JobChanges(
        description=None if description is None else checked_description(description),
        annotations=annotations,
        schedule_policy=read_schedule_policy(
            {key: value for key, value in object_in(spec, "schedule_policy").items() if value is not None}
        ),
        notification=None if spec.get("notification") is None else object_in(spec, "notification"),
        key_pair_names=None if not ssh else list_in(ssh, "key_pair_names"),
    )
