"""What users keep beside their jobs: algorithms for jobs to name, and experiments that gather jobs."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from traindeck.lab.accounts import LabAccount
from traindeck.lab.training.api.routes import (
    MAX_NAME,
    RefusedError,
    checked_description,
    checked_name,
    checked_workspace,
    list_in,
    object_in,
    text_in,
)
from traindeck.lab.training.database import Shelf, now_ms
from traindeck.lab.training.job_parameters import check_defaults, check_names, overridden, read_parameter

# What a job that names an algorithm takes from it, and may give itself only if it says the same.
_TAKEN_OVER = ("code_dir", "boot_file", "engine", "command")
_REQUIREMENTS = ("flavor_type", "device_distributed_mode", "host_distributed_mode")

_JOBS_OF = (
    "SELECT count(*) FROM jobs WHERE project_id = ? AND"
    " json_extract(document, '$.metadata.training_experiment_reference.id') = ?"
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS {table} (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    {kept} TEXT NOT NULL,
    create_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    UNIQUE (project_id, workspace_id, name)
);
"""
_ANSWERED = ("id", "name", "description", "workspace_id", "create_time", "update_time")


class Algorithms(Shelf[dict[str, Any]]):
    """The algorithms of all projects; `document` is what the service answers."""

    SCHEMA = _SCHEMA.format(table="algorithms", kept="document")
    TABLE = "algorithms"
    ARTICLE, TITLE = "an", "algorithm"
    MISSING_CODE = "2755"
    TAKEN_CODE = "2821"

    def create(self, account: LabAccount, body: Mapping[str, Any]) -> dict[str, Any]:
        metadata = object_in(body, "metadata")
        own = {
            "name": checked_name(metadata.get("name"), "the name of an algorithm"),
            "workspace_id": checked_workspace(metadata.get("workspace_id")),
            "id": str(uuid.uuid4()),
        }
        times = dict.fromkeys(("create_time", "update_time"), now_ms())
        head = {
            **metadata,
            **own,
            "ai_project": "default-ai-project",
            "user_name": account.user_name,
            "domain_id": account.domain_id,
            "source": "custom",
            "api_version": "",
            "is_valid": True,
            "state": "",
            "tags": metadata.get("tags") or [],
            "attr_list": None,
            "version_num": 0,
            "size": 0,
            **times,
        }
        document = _checked(body, head)
        self._add(project_id=account.project_id, **own, **times, document=json.dumps(document))
        return document

    def change(self, project_id: str, algorithm_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        known = self.one(project_id, algorithm_id)
        given = {key: value for key, value in object_in(body, "metadata").items() if value is not None}
        name = checked_name(given.get("name", known["name"]), "the name of an algorithm")
        now = now_ms()
        head = {**known["document"]["metadata"], **given, "id": algorithm_id, "name": name, "update_time": now}
        document = _checked({**known["document"], **body}, head)
        self._change(algorithm_id, name=name, update_time=now, document=json.dumps(document))
        return document

    def _read(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "document": json.loads(row["document"])}


def in_job(algorithm: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm part of a job that names `algorithm`, as a job that brings everything itself would have it."""
    own = algorithm["document"]["job_config"]
    for key in _TAKEN_OVER:
        if given.get(key) and given[key] != own.get(key):
            raise RefusedError("2814", f"the {key} of the job is not that of the algorithm {algorithm['name']}")
    may_add = own.get("parameters_customization") is True
    taken = {key: own[key] for key in _TAKEN_OVER if own.get(key)}
    return {
        **given,
        **taken,
        "name": algorithm["name"],
        "parameters": overridden(list_in(own, "parameters"), list_in(given, "parameters"), may_add=may_add),
        "inputs": _channels(list_in(own, "inputs"), list_in(given, "inputs"), "input"),
        "outputs": _channels(list_in(own, "outputs"), list_in(given, "outputs"), "output"),
    }


def _channels(own: list[Any], given: list[Any], kind: str) -> list[dict[str, Any]]:
    """The job's channels in the order of the algorithm's, which say how their folders reach the script."""
    rows = {row.get("name"): row for row in given if isinstance(row, Mapping)}
    if len(rows) != len(given):
        raise RefusedError("2753", f"every {kind} must be an object with a name of its own")
    channels = []
    for channel in own:
        row = rows.pop(channel["name"], None)
        if row is None:
            raise RefusedError("2753", f"the {kind} {channel['name']} of the algorithm is missing")
        channels.append({**row, "access_method": row.get("access_method") or channel.get("access_method")})
    return [*channels, *(dict(row) for row in rows.values())]


def _checked(body: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored: everything that was sent, after a look at what jobs will take from it."""
    description = checked_description(head.get("description"))
    config = dict(object_in(body, "job_config"))
    engine = object_in(config, "engine")
    has_engine = any(text_in(engine, key) for key in ("engine_id", "engine_name", "image_url"))
    if not has_engine:
        raise RefusedError("2780", "the algorithm has no engine")
    if not text_in(config, "code_dir") and not text_in(config, "command"):
        raise RefusedError("2757", "the algorithm has no code directory")
    if not text_in(config, "boot_file") and not text_in(config, "command"):
        raise RefusedError("2758", "the algorithm has no boot file")
    parameters = [read_parameter(row) for row in list_in(config, "parameters")]
    names = [parameter.name for parameter in parameters]
    for kind in ("inputs", "outputs"):
        for row in list_in(config, kind):
            name = row.get("name") if isinstance(row, Mapping) else None
            names.append(checked_name(name, f"the name of each of the {kind}"))
    check_names(names)
    check_defaults(parameters)
    requirements = list_in(body, "resource_requirements")
    for row in requirements:
        if not isinstance(row, Mapping) or row.get("key") not in _REQUIREMENTS:
            raise RefusedError("2788", f"the key of a resource requirement must be one of {', '.join(_REQUIREMENTS)}")
    config.setdefault("parameters_customization", True)
    return {
        "metadata": {**head, "description": description},
        "job_config": config,
        "resource_requirements": requirements,
        "advanced_config": dict(object_in(body, "advanced_config")),
    }


class Experiments(Shelf[dict[str, Any]]):
    """The experiments of all projects."""

    SCHEMA = _SCHEMA.format(table="experiments", kept="description")
    TABLE = "experiments"
    TITLE = "training experiment"
    MISSING_CODE = "2842"
    TAKEN_CODE = "2841"

    def create(self, account: LabAccount, body: Mapping[str, Any]) -> dict[str, Any]:
        metadata = object_in(body, "metadata")
        return self.answer(self._made(account.project_id, checked_workspace(metadata.get("workspace_id")), metadata))

    def of_job(self, project_id: str, workspace_id: str, reference: Mapping[str, Any]) -> dict[str, Any] | None:
        """The experiment a job names, by id, or by a name which is made where it is new."""
        experiment_id, name = text_in(reference, "id"), text_in(reference, "name")
        if experiment_id:
            return self.one(project_id, experiment_id)
        if not name:
            return None
        return self.named(project_id, workspace_id, name) or self._made(project_id, workspace_id, reference)

    def change(self, project_id: str, experiment_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        known = self.one(project_id, experiment_id)
        name, description = known["name"], known["description"]
        if body.get("name") is not None:
            name = checked_experiment_name(body["name"])
        if body.get("description") is not None:
            description = checked_description(body["description"])
        self._change(experiment_id, name=name, description=description, update_time=now_ms())
        return self.answer(self.one(project_id, experiment_id))

    def answer(self, experiment: Mapping[str, Any]) -> dict[str, Any]:
        """The experiment as the service answers it."""
        return {
            "metadata": {name: experiment[name] for name in _ANSWERED},
            "statistic": {
                "job_count": self._database.number(_JOBS_OF, (experiment["project_id"], experiment["id"])),
            },
        }

    def _read(self, row: dict[str, Any]) -> dict[str, Any]:
        return row

    def _made(self, project_id: str, workspace_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        now = now_ms()
        made = {
            "id": str(uuid.uuid4()),
            "project_id": project_id,
            "workspace_id": workspace_id,
            "name": checked_experiment_name(metadata.get("name")),
            "description": checked_description(metadata.get("description")),
            "create_time": now,
            "update_time": now,
        }
        self._add(**made)
        return made


def checked_experiment_name(value: Any) -> str:
    # Unlike the names of jobs, these may be in any language.
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME or not value.isprintable():
        raise RefusedError("0104", f"the name of an experiment must be a text of 1 to {MAX_NAME} characters")
    return value
