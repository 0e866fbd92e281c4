"""Algorithms: the code, the engine and the parameters of a job, kept under an id for jobs to name."""

import json
import sqlite3
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traindeck.lab.accounts import LabAccount
from traindeck.lab.training.api.routes import (
    Page,
    RefusedError,
    checked_description,
    checked_name,
    checked_workspace,
    list_in,
    object_in,
    text_in,
)
from traindeck.lab.training.job_parameters import (
    check_defaults,
    check_names,
    overridden,
    read_parameters,
)
from traindeck.lab.training.job_records import TrainingDatabase, now_ms

SORT_FIELDS = ("create_time", "update_time", "name")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS algorithms (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    create_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (project_id, workspace_id, name)
);
"""
# What a job that names an algorithm takes from it, and may give itself only if it says the same.
_TAKEN_OVER = ("code_dir", "boot_file", "engine", "command")
_REQUIREMENTS = ("flavor_type", "device_distributed_mode", "host_distributed_mode")


@dataclass(frozen=True)
class Algorithm:
    """One algorithm as stored; `document` is what the service answers."""

    id: str
    project_id: str
    workspace_id: str
    name: str
    create_time: int
    update_time: int
    document: dict[str, Any]


class Algorithms:
    """The algorithms of all projects; every change is on disk when a call returns."""

    def __init__(self, database: TrainingDatabase) -> None:
        self._database = database
        database.add_tables(_SCHEMA)

    def create(self, account: LabAccount, body: Mapping[str, Any]) -> Algorithm:
        metadata = object_in(body, "metadata")
        name = checked_name(metadata.get("name"), "the name of an algorithm")
        workspace_id = checked_workspace(metadata.get("workspace_id"))
        now = now_ms()
        head = {
            **metadata,
            "id": str(uuid.uuid4()),
            "workspace_id": workspace_id,
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
            "create_time": now,
            "update_time": now,
        }
        made = Algorithm(head["id"], account.project_id, workspace_id, name, now, now, _checked(body, head))
        try:
            values = (made.id, made.project_id, workspace_id, name, now, now, json.dumps(made.document))
            self._database.write("INSERT INTO algorithms VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        except sqlite3.IntegrityError as error:
            raise _taken(name) from error
        return made

    def algorithm(self, project_id: str, algorithm_id: str) -> Algorithm:
        wanted = (algorithm_id, project_id)
        rows = self._database.rows("SELECT * FROM algorithms WHERE id = ? AND project_id = ?", wanted)
        if not rows:
            raise RefusedError("2755", f"the algorithm {algorithm_id} does not exist")
        return _algorithm(rows[0])

    def listed(self, project_id: str, workspace_id: str, wanted: str, page: Page) -> tuple[int, list[Algorithm]]:
        """Those whose name holds `wanted`."""
        source = "FROM algorithms WHERE project_id = ? AND workspace_id = ? AND instr(name, ?) > 0"
        values = (project_id, workspace_id, wanted)
        total, rows = self._database.page(source, values, page.sql_order, page.limit, page.skip)
        return total, [_algorithm(row) for row in rows]

    def change(self, project_id: str, algorithm_id: str, body: Mapping[str, Any]) -> Algorithm:
        known = self.algorithm(project_id, algorithm_id)
        given = {key: value for key, value in object_in(body, "metadata").items() if value is not None}
        name = checked_name(given.get("name", known.name), "the name of an algorithm")
        now = now_ms()
        head = {**known.document["metadata"], **given, "id": algorithm_id, "name": name, "update_time": now}
        document = _checked({**known.document, **body}, head)
        try:
            self._database.write(
                "UPDATE algorithms SET name = ?, update_time = ?, document = ? WHERE id = ?",
                (name, now, json.dumps(document), algorithm_id),
            )
        except sqlite3.IntegrityError as error:
            raise _taken(name) from error
        return self.algorithm(project_id, algorithm_id)

    def delete(self, project_id: str, algorithm_id: str) -> None:
        """Forget the algorithm; jobs made with it keep what they took from it."""
        self.algorithm(project_id, algorithm_id)
        self._database.write("DELETE FROM algorithms WHERE id = ?", (algorithm_id,))


def in_job(algorithm: Algorithm, given: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm part of a job that names `algorithm`, as a job that brings everything itself would have it."""
    own = algorithm.document["job_config"]
    for key in _TAKEN_OVER:
        if given.get(key) and given[key] != own.get(key):
            raise RefusedError("2814", f"the {key} of the job is not that of the algorithm {algorithm.name}")
    may_add = own.get("parameters_customization") is True
    taken = {key: own[key] for key in _TAKEN_OVER if own.get(key)}
    return {
        **given,
        **taken,
        "name": algorithm.name,
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
    parameters = read_parameters(list_in(config, "parameters"))
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


def _taken(name: str) -> RefusedError:
    return RefusedError("2821", f"an algorithm named {name} exists already")


def _algorithm(row: sqlite3.Row) -> Algorithm:
    return Algorithm(**{**dict(row), "document": json.loads(row["document"])})
