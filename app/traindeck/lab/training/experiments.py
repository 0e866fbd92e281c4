"""Training experiments: names under which jobs are gathered."""

import sqlite3
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traindeck.lab.training.api.routes import (
    MAX_NAME,
    Page,
    RefusedError,
    checked_description,
    checked_workspace,
    object_in,
    text_in,
)
from traindeck.lab.training.job_records import TrainingDatabase, now_ms

SORT_FIELDS = ("create_time", "update_time", "name")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS experiments (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    create_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    UNIQUE (project_id, workspace_id, name)
);
"""
_JOBS_OF = (
    "SELECT count(*) FROM jobs WHERE project_id = ? AND"
    " json_extract(document, '$.metadata.training_experiment_reference.id') = ?"
)


@dataclass(frozen=True)
class Experiment:
    """One experiment as stored."""

    id: str
    project_id: str
    workspace_id: str
    name: str
    description: str
    create_time: int
    update_time: int


class Experiments:
    """The experiments of all projects; every change is on disk when a call returns."""

    def __init__(self, database: TrainingDatabase) -> None:
        self._database = database
        database.add_tables(_SCHEMA)

    def create(self, project_id: str, body: Mapping[str, Any]) -> Experiment:
        metadata = object_in(body, "metadata")
        workspace_id = checked_workspace(metadata.get("workspace_id"))
        return self._add(project_id, workspace_id, metadata)

    def of_job(self, project_id: str, workspace_id: str, reference: Mapping[str, Any]) -> Experiment | None:
        """The experiment a job names, by id, or by a name which is made where it is new."""
        experiment_id, name = text_in(reference, "id"), text_in(reference, "name")
        if experiment_id:
            return self.experiment(project_id, experiment_id)
        if not name:
            return None
        return self._named(project_id, workspace_id, name) or self._add(project_id, workspace_id, reference)

    def experiment(self, project_id: str, experiment_id: str) -> Experiment:
        wanted = (experiment_id, project_id)
        rows = self._database.rows("SELECT * FROM experiments WHERE id = ? AND project_id = ?", wanted)
        if not rows:
            raise RefusedError("2842", f"the training experiment {experiment_id} does not exist")
        return _experiment(rows[0])

    def listed(self, project_id: str, workspace_id: str, page: Page) -> tuple[int, list[Experiment]]:
        source = "FROM experiments WHERE project_id = ? AND workspace_id = ?"
        total, rows = self._database.page(source, (project_id, workspace_id), page.sql_order, page.limit, page.skip)
        return total, [_experiment(row) for row in rows]

    def change(self, project_id: str, experiment_id: str, body: Mapping[str, Any]) -> Experiment:
        known = self.experiment(project_id, experiment_id)
        name = known.name if body.get("name") is None else checked_experiment_name(body["name"])
        given = body.get("description")
        description = known.description if given is None else checked_description(given)
        try:
            self._database.write(
                "UPDATE experiments SET name = ?, description = ?, update_time = ? WHERE id = ?",
                (name, description, now_ms(), experiment_id),
            )
        except sqlite3.IntegrityError as error:
            raise _taken(name) from error
        return self.experiment(project_id, experiment_id)

    def delete(self, project_id: str, experiment_id: str) -> None:
        """Forget the experiment; its jobs stay."""
        self.experiment(project_id, experiment_id)
        self._database.write("DELETE FROM experiments WHERE id = ?", (experiment_id,))

    def is_taken(self, project_id: str, workspace_id: str, name: str) -> bool:
        return self._named(project_id, workspace_id, checked_experiment_name(name)) is not None

    def answer(self, experiment: Experiment) -> dict[str, Any]:
        """The experiment as the service answers it."""
        return {
            "metadata": {
                "id": experiment.id,
                "name": experiment.name,
                "description": experiment.description,
                "workspace_id": experiment.workspace_id,
                "create_time": experiment.create_time,
                "update_time": experiment.update_time,
            },
            "statistic": {"job_count": self._database.number(_JOBS_OF, (experiment.project_id, experiment.id))},
        }

    def _named(self, project_id: str, workspace_id: str, name: str) -> Experiment | None:
        wanted = (project_id, workspace_id, name)
        rows = self._database.rows(
            "SELECT * FROM experiments WHERE project_id = ? AND workspace_id = ? AND name = ?", wanted
        )
        return _experiment(rows[0]) if rows else None

    def _add(self, project_id: str, workspace_id: str, metadata: Mapping[str, Any]) -> Experiment:
        name = checked_experiment_name(metadata.get("name"))
        description = checked_description(metadata.get("description"))
        now = now_ms()
        made = Experiment(str(uuid.uuid4()), project_id, workspace_id, name, description, now, now)
        try:
            values = (made.id, project_id, workspace_id, name, description, now, now)
            self._database.write("INSERT INTO experiments VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        except sqlite3.IntegrityError as error:
            raise _taken(name) from error
        return made


def checked_experiment_name(value: Any) -> str:
    # Unlike the names of jobs, these may be in any language.
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME or not value.isprintable():
        raise RefusedError("0104", f"the name of an experiment must be a text of 1 to {MAX_NAME} characters")
    return value


def _taken(name: str) -> RefusedError:
    return RefusedError("2841", f"a training experiment named {name} exists already")


def _experiment(row: sqlite3.Row) -> Experiment:
    return Experiment(**dict(row))
