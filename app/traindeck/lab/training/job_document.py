"""The job object of the service: the request as sent, completed with what the service adds."""

import copy
from collections.abc import Mapping
from typing import Any

from traindeck.lab.accounts import LabAccount
from traindeck.lab.training.api.routes import list_in
from traindeck.lab.training.database import now_ms
from traindeck.lab.training.job_form import JobForm
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_tags import merged, read_tags
from traindeck.lab.training.running.worker_places import Sandbox

_PARAMETER_CONSTRAINT = {
    "type": "String",
    "editable": True,
    "required": False,
    "sensitive": False,
    "valid_type": "None",
    "valid_range": [],
}


def completed(
    body: Mapping[str, Any],
    form: JobForm,
    sandbox: Sandbox,
    account: LabAccount,
    create_time: int,
    isolation: str,
    experiment: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What is stored of a job: every field of the request, known or not, and the defaults."""
    document: dict[str, Any] = copy.deepcopy(dict(body))
    metadata = document["metadata"]
    metadata.update(
        id=sandbox.job_id,
        description=metadata.get("description") or "",
        create_time=create_time,
        workspace_id=form.workspace_id,
        ai_project="default-ai-project",
        user_name=account.user_name,
        annotations={
            "job_template": "Template DL",
            "key_task": "worker",
            **(metadata.get("annotations") or {}),
            # Not the service's: whether the job sees its folders under the names the service gives them.
            "lab/container-paths": "true" if sandbox.is_mapped else "false",
            # Whether it is kept apart from the rest of this computer: full, partial or none.
            "lab/isolation": isolation,
        },
    )
    metadata["tags"] = merged([], read_tags(list_in(metadata, "tags")))
    if experiment is not None:
        metadata["training_experiment_reference"] = {key: experiment[key] for key in ("id", "name")}
    places = sandbox.worker(form.tasks[0])
    algorithm = document["algorithm"]
    algorithm["engine"] = {**algorithm["engine"], **(form.engine.in_job() if form.engine.name else {})}
    algorithm["environments"] = algorithm.get("environments") or {}
    algorithm["policies"] = algorithm.get("policies") or {}
    algorithm["parameters"] = [_parameter(row) for row in algorithm.get("parameters") or []]
    usual = {"inputs": {}, "outputs": {"mode": "upload_periodically", "period": 30}}
    for kind, channels in (("inputs", form.inputs), ("outputs", form.outputs)):
        algorithm[kind] = [
            {
                **usual[kind],
                **row,
                "local_dir": places.seen(places.of(channel)),
                "access_method": row.get("access_method") or "parameter",
            }
            for row, channel in zip(algorithm.get(kind) or [], channels, strict=True)
        ]
    spec = document["spec"]
    spec["resource"] = {
        "policy": "regular",
        **spec["resource"],
        "node_count": form.node_count,
        "flavor_name": form.flavor.name,
        "flavor_detail": form.flavor.in_job(),
    }
    spec["is_hosted_log"] = True
    document["endpoints"] = document.get("endpoints") or {}
    return document


def with_status(job: JobRecord) -> dict[str, Any]:
    """The job object as the service would answer now."""
    document = copy.deepcopy(job.document)
    end = job.end_time or now_ms()
    status: dict[str, Any] = {
        "phase": job.phase,
        "secondary_phase": job.secondary_phase,
        "duration": max(0, end - job.start_time) if job.start_time else 0,
        "start_time": job.start_time,
        "node_count_metrics": [[job.start_time, len(job.tasks)]] if job.start_time else None,
        "tasks": list(job.tasks),
    }
    if job.task_statuses:
        status["task_statuses"] = list(job.task_statuses)
    if job.start_time:
        record: dict[str, Any] = {"start_at": job.start_time // 1000, "start_type": "init_or_rescheduled"}
        if job.end_time:
            record["end_at"] = job.end_time // 1000
            record["end_reason"] = job.secondary_phase
        status["running_records"] = [record]
    return {"kind": document.pop("kind"), "metadata": document.pop("metadata"), "status": status, **document}


def _parameter(row: Mapping[str, Any]) -> dict[str, Any]:
    defaults: dict[str, Any] = {"value": "", "description": "", "i18n_description": None}
    given = {key: value for key, value in row.items() if value is not None}
    return {**defaults, **given, "constraint": {**_PARAMETER_CONSTRAINT, **(row.get("constraint") or {})}}
