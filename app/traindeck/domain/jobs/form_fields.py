"""Every field of the job form, described once: file, command line, checks and request follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from traindeck.domain.texts import Text, text


class FieldKind(Enum):
    """What a field holds."""

    WORDS = auto()
    TARGET = auto()
    WHOLE = auto()
    YES_NO = auto()
    LIST = auto()
    CHANNELS = auto()
    PARAMETERS = auto()
    PAIRS = auto()
    VOLUMES = auto()


@dataclass(frozen=True, slots=True)
class FormField:
    """One field: `table` and `key` say where it stands in the job file; without a key it is the whole table."""

    name: str
    label: Text
    table: str
    key: str = ""
    kind: FieldKind = FieldKind.WORDS


FIELDS: tuple[FormField, ...] = (
    FormField("name", text("Name"), "job", "name"),
    FormField("target", text("Runs on"), "job", "target", FieldKind.TARGET),
    FormField("description", text("Description"), "job", "description"),
    FormField("workspace", text("Workspace"), "job", "workspace"),
    FormField("experiment", text("Experiment"), "job", "experiment"),
    FormField("experiment_id", text("Experiment ID"), "job", "experiment_id"),
    FormField("code_folder", text("Code directory"), "code", "folder"),
    FormField("code_url", text("Code in OBS"), "code", "url"),
    FormField("boot", text("Boot file"), "code", "boot"),
    FormField("command", text("Start command"), "code", "command"),
    FormField("ignore", text("Excluded from the code"), "code", "ignore", FieldKind.LIST),
    FormField("local_code_dir", text("Code directory in the container"), "code", "local_dir"),
    FormField("working_dir", text("Working directory"), "code", "working_dir"),
    FormField("algorithm_id", text("Algorithm"), "algorithm", "id"),
    FormField("subscription_id", text("Subscription"), "algorithm", "subscription"),
    FormField("item_version_id", text("Version of the subscription"), "algorithm", "version"),
    FormField("engine", text("Engine"), "engine", "name"),
    FormField("engine_version", text("Version"), "engine", "version"),
    FormField("image", text("Custom image"), "engine", "image"),
    FormField("install_moxing", text("Install MoXing"), "engine", "install_moxing", FieldKind.YES_NO),
    FormField("flavor", text("Specification"), "resources", "flavor"),
    FormField("nodes", text("Nodes"), "resources", "nodes", FieldKind.WHOLE),
    FormField("pool", text("Resource pool"), "resources", "pool"),
    FormField("stop_after", text("Stop after"), "resources", "stop_after"),
    FormField("priority", text("Priority"), "resources", "priority", FieldKind.WHOLE),
    FormField("preemptible", text("Preemptible"), "resources", "preemptible", FieldKind.YES_NO),
    FormField("inputs", text("Inputs"), "inputs", kind=FieldKind.CHANNELS),
    FormField("outputs", text("Outputs"), "outputs", kind=FieldKind.CHANNELS),
    FormField("log_to", text("Log folder"), "logs", "to"),
    FormField("parameters", text("Running parameters"), "parameters", kind=FieldKind.PARAMETERS),
    FormField("environment", text("Environment variables"), "environment", kind=FieldKind.PAIRS),
    FormField("checkpoint_folder", text("Checkpoint folder"), "checkpoint", "folder"),
    FormField("checkpoint_pattern", text("Checkpoint files"), "checkpoint", "pattern"),
    FormField("tags", text("Tags"), "tags", kind=FieldKind.PAIRS),
    FormField("volumes", text("Volumes"), "volumes", kind=FieldKind.VOLUMES),
    FormField("notify_topic", text("Notification topic"), "notifications", "topic"),
    FormField("notify_events", text("Notification events"), "notifications", "events", FieldKind.LIST),
    FormField("extra", text("Other settings"), "extra", kind=FieldKind.PAIRS),
)

BY_NAME: Mapping[str, FormField] = {field.name: field for field in FIELDS}


def _tables() -> dict[str, dict[str, FormField]]:
    tables: dict[str, dict[str, FormField]] = {}
    for field in FIELDS:
        tables.setdefault(field.table, {})[field.key] = field
    return tables


TABLES: Mapping[str, Mapping[str, FormField]] = _tables()
"""The tables of the job file in their order, and the fields by their keys; a table that is one field has the key ""."""


def whole_table(table: str) -> FormField | None:
    """The field that a table is as a whole, whose names are the user's own."""
    return TABLES[table].get("")
