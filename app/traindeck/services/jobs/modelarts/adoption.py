"""A job of the service read back as a form, with nothing lost that a request could hold."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.form_field import FieldKind
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.parameter_text import exact_scalar
from traindeck.domain.jobs.form.stop_time import NO_LIMIT
from traindeck.domain.jobs.job import job_name_of
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    JobSpec,
    Scalar,
    Target,
    Volume,
    VolumeKind,
    as_template,
    name_stem,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.jobs.modelarts.pointers import leaves, take
from traindeck.services.jobs.modelarts.request import (
    ACCESS_WORDS,
    IN_IMAGE,
    USUAL_ENVIRONMENT,
    USUAL_WORKSPACE,
    VOLUME_KEYS,
)

# With tokens that open a running job.
_OPENERS = (
    "/endpoints/jupyter_lab", "/endpoints/tensorboard", "/endpoints/mindstudio_insight", "/endpoints/ssh/task_urls",
)  # fmt: skip
# What the service adds to a job that it has; in a request it is meant.
_OF_THE_SERVICE = (
    "/status", "/metadata/id", "/metadata/uuid", "/metadata/create_time", "/metadata/update_time",
    "/metadata/user_name", "/metadata/user_id", "/metadata/ai_project", "/metadata/annotations/job_template",
    "/metadata/annotations/key_task", "/metadata/annotations/lab~1container-paths",
    "/metadata/annotations/lab~1isolation", "/metadata/training_experiment_reference/description",
    "/algorithm/name", "/algorithm/engine/run_user", "/algorithm/engine/v1_compatible", "/algorithm/engine/usage",
    "/algorithm/engine/support_groups", "/algorithm/engine/tags", "/algorithm/engine/image_info",
    "/algorithm/parameters_customization", "/algorithm/code_tree", "/spec/resource/policy",
    "/spec/resource/flavor_name", "/spec/resource/flavor_detail", "/spec/resource/pool_info", "/spec/is_hosted_log",
)  # fmt: skip
_OF_AN_ALGORITHM = ("/algorithm/code_dir", "/algorithm/boot_file", "/algorithm/command", "/algorithm/engine",
                    "/algorithm/local_code_dir", "/algorithm/working_dir")  # fmt: skip
_USUAL_CONSTRAINT = {
    "type": "String", "editable": True, "required": False, "sensitive": False, "valid_type": "None", "valid_range": [],
}  # fmt: skip
_USUAL_OUTPUT = {"mode": "upload_periodically", "period": 30}
_USUAL_VARIABLES = set(USUAL_ENVIRONMENT.items())
_UNITS = {"HOURS": "h", "DAYS": "d", "MINUTES": "m"}
_LONGEST_NAME = 40
_LOCAL_DIR = re.compile(r"/home/ma-user/modelarts/(inputs|outputs)/.+_\d+")

_Content = dict[str, Any]


def spec_of(document: Mapping[str, Any], target: Target, *, is_import: bool = False) -> JobSpec:
    """The form of a job as the service tells it, or of a request; raises InvalidInput for what is no job.

    `is_import`: the document is a user's file, so that even usual values are meant.
    """
    rest: _Content = copy.deepcopy(dict(document))
    if not isinstance(rest.get("metadata"), dict) or not isinstance(rest.get("algorithm", {}), dict):
        raise _no_job()
    maps_folders = take(rest, "/metadata/annotations/lab~1container-paths") != "false"
    is_told = "status" in rest or "id" in rest["metadata"]
    for pointer in (*_OPENERS, *(_OF_THE_SERVICE if is_told else ())):
        take(rest, pointer)
    values: dict[str, Any] = {"target": target, "name": _stem(str(take(rest, "/metadata/name") or ""))}
    if rest.get("kind") == "job":
        del rest["kind"]
    of_code, left_out = _code(rest, is_told=is_told)
    values |= of_code
    values["tags"] = _tags(rest)
    values["parameters"] = _parameters(rest)
    for kind in ("inputs", "outputs"):
        values[kind] = _channels(rest, kind, keeps_folders=maps_folders, keeps_uploads=is_import)
    values |= {"environment": _environment(rest), "volumes": _volumes(rest), "log_to": _log(rest)}
    values |= {"stop_after": _stop_after(rest), "priority": _priority(rest)}
    values |= _plain(rest, left_out)
    return JobSpec(**values, extra=tuple(leaves(rest)))


def _no_job() -> InvalidInput:
    return InvalidInput(text("This is not a training job."), text("Enter a job or a request of ModelArts as JSON."))


def _stem(name: str) -> str:
    """Without the date and the random part of one of our runs, which the next run has anew."""
    bare = job_name_of(name)
    return bare if len(bare) <= _LONGEST_NAME else name_stem(bare)


def _plain(rest: _Content, left_out: tuple[str, ...]) -> dict[str, Any]:
    """Every field that stands in the request by itself."""
    found: dict[str, Any] = {}
    for field in FIELDS:
        if not field.request or field.name in left_out:
            continue
        value = take(rest, field.request)
        if value is None or value in ("", []):
            continue
        if field.kind is FieldKind.LIST:
            found[field.name] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
        elif field.kind is FieldKind.WHOLE:
            found[field.name] = _whole(value, field.default)
        elif field.kind is FieldKind.YES_NO:
            found[field.name] = str(value).lower() == "true"
        else:
            found[field.name] = str(value)
    if found.get("workspace") == USUAL_WORKSPACE:
        del found["workspace"]
    if found.get("experiment_id"):
        found.pop("experiment", None)  # the service tells both, and takes one
    return found


def _whole(value: object, default: Any) -> int:
    """Numbers come as numbers or as text."""
    try:
        return int(str(value))
    except ValueError:
        return int(default)


def _code(rest: _Content, *, is_told: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Where the code is and what starts it; and the fields that the form would not send beside that."""
    algorithm = _map(rest, "algorithm")
    if algorithm.get("id") or algorithm.get("subscription_id"):
        for pointer in _OF_AN_ALGORITHM if is_told else ():
            take(rest, pointer)
        return {"code_folder": ""}, ("command", "engine", "engine_version", "image", "install_moxing",
                                     "local_code_dir", "working_dir")  # fmt: skip
    if _map(algorithm, "engine").get("engine_name"):
        take(rest, "/algorithm/engine/engine_id")
    values: dict[str, Any] = {"code_folder": ""}
    code = str(take(rest, "/algorithm/code_dir") or "")
    if code:
        values["code_url"] = code if code.startswith(IN_IMAGE) else _spelled(code, is_folder=True)
    if algorithm.get("command"):
        return values, ("engine", "engine_version")
    boot = str(algorithm.get("boot_file") or "")
    inside = _inside(boot, code)
    if inside is not None:
        take(rest, "/algorithm/boot_file")
    return values | {"boot": boot.rpartition("/")[2] if inside is None else inside}, ()


def _inside(boot: str, code: str) -> str | None:
    """The boot file as seen from the code directory; None: it is elsewhere."""
    if code.startswith(IN_IMAGE):
        folder = code.rstrip("/") + "/"
        return boot.removeprefix(folder) if boot.startswith(folder) else None
    try:
        place, file = ObjectPath.parse(code).as_folder(), ObjectPath.parse(boot)
    except InvalidInput:
        return None
    return file.key.removeprefix(place.key) if place.holds(file) and file != place else None


def _spelled(url: str, *, is_folder: bool = False) -> str:
    try:
        place = ObjectPath.parse(url)
    except InvalidInput:
        return url
    return str(place.as_folder() if is_folder else place)


def _tags(rest: _Content) -> tuple[tuple[str, str], ...]:
    found = take(rest, "/metadata/tags")
    rows = found if isinstance(found, list) else []
    return tuple((str(row["key"]), str(row.get("value") or "")) for row in rows if _is_named(row, "key"))


def _is_named(row: object, key: str = "name") -> bool:
    return isinstance(row, dict) and bool(row.get(key))


def _parameters(rest: _Content) -> tuple[tuple[str, Scalar], ...]:
    """Values are texts to the service; one that looks like a number is one, where nothing is lost by it."""
    found: dict[str, Scalar] = {}
    for row in _rows(rest, "parameters"):
        found.setdefault(str(row["name"]), _parameter(row.pop("value", None)))
        if {**_USUAL_CONSTRAINT, **_map(row, "constraint")} == _USUAL_CONSTRAINT:
            row.pop("constraint", None)
    return tuple(found.items())


def _parameter(value: object) -> Scalar:
    if isinstance(value, str):
        return exact_scalar(value)
    if value is None:
        return ""
    return value if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def _channels(rest: _Content, kind: str, *, keeps_folders: bool, keeps_uploads: bool) -> tuple[Channel, ...]:
    found = []
    for row in _rows(rest, kind):
        remote = _map(row, "remote")
        url = str(_map(remote, "obs").pop("obs_url", None) or "")
        word = row.pop("access_method", None) or ACCESS_WORDS[ChannelAccess.PARAMETER]
        access = next((one for one, known in ACCESS_WORDS.items() if known == word), None)
        if access is None:
            row["access_method"], access = word, ChannelAccess.PARAMETER
        folder = str(row.pop("local_dir", None) or "")
        if not keeps_folders or _LOCAL_DIR.fullmatch(folder):
            folder = ""  # the service's own choice
        if not keeps_uploads and kind == "outputs" and {**_USUAL_OUTPUT, **row}.items() >= _USUAL_OUTPUT.items():
            row.pop("mode", None)
            row.pop("period", None)
        place = as_template(_spelled(url)) if url else ""
        found.append(Channel(str(row["name"]), place, access, local_dir=folder))
    return tuple(found)


def _rows(rest: _Content, kind: str) -> list[_Content]:
    rows = _map(rest, "algorithm").get(kind)
    return [row for row in rows if _is_named(row)] if isinstance(rows, list) else []


def _map(document: _Content, name: str) -> _Content:
    """A map inside a map; the service writes an absent one as null, "" or []."""
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _environment(rest: _Content) -> tuple[tuple[str, str], ...]:
    found = take(rest, "/algorithm/environments")
    values = found if isinstance(found, dict) else {}
    algorithm = _map(rest, "algorithm")
    # With an algorithm of the service nothing is added to what is told.
    usual = set() if algorithm.get("id") or algorithm.get("subscription_id") else _USUAL_VARIABLES
    return tuple(
        (name, "" if value is None else str(value)) for name, value in values.items() if (name, value) not in usual
    )


def _volumes(rest: _Content) -> tuple[Volume, ...]:
    """All of them, or none where one is of a kind we do not know: then they stay as they stand."""
    rows = _map(rest, "spec").get("volumes")
    try:
        volumes = tuple(_volume(row) for row in rows) if isinstance(rows, list) else ()
    except (AttributeError, LookupError, TypeError, ValueError):
        return ()
    if volumes:
        take(rest, "/spec/volumes")
    return volumes


def _volume(row: _Content) -> Volume:
    ((word, content),) = ((name, part) for name, part in row.items() if part)
    kind = VolumeKind(word)
    source, mount = str(content[VOLUME_KEYS[kind]]), str(content["local_path"])
    if set(content) - {VOLUME_KEYS[kind], "local_path", "read_only"}:
        raise ValueError(word)
    if kind is VolumeKind.OBS:
        source = _spelled(source, is_folder=True)
    return Volume(kind, source, mount, read_only=bool(content.get("read_only")))


def _log(rest: _Content) -> str:
    url = take(rest, "/spec/log_export_path/obs_url")
    return as_template(_spelled(str(url), is_folder=True)) if url else ""


def _stop_after(rest: _Content) -> str:
    limit = _map(_map(rest, "spec"), "auto_stop")
    unit, duration = str(limit.get("time_unit")), str(limit.get("duration"))
    if not limit or unit not in _UNITS or not duration.isdecimal():
        return NO_LIMIT
    if unit == "HOURS" and set(limit) == {"time_unit", "duration"}:
        take(rest, "/spec/auto_stop")
    return duration + _UNITS[unit]


def _priority(rest: _Content) -> int:
    value = take(rest, "/spec/schedule_policy/priority")
    default = JobSpec().priority
    return default if value is None else _whole(value, default)
