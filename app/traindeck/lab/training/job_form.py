"""Reads the body of a create request and refuses, with the service's codes, what the service would refuse."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeGuard

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.obs.store import ObjectInfo
from traindeck.lab.training.catalogue import Catalogue, Engine, Flavor
from traindeck.lab.training.job_files import ObsPath, OwnBuckets

DEFAULT_WORKSPACE = "0"
MAX_CODE_FILES = 1000
MAX_CODE_DEPTH = 32
MAX_CODE_BYTES = 5 * 1024**3

_JOB_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PARAMETER_NAME = _JOB_NAME
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DESCRIPTION = 256
_MAX_VARIABLES = 100
_MAX_VARIABLE_NAME = 8192
_MAX_VARIABLE_VALUE = 4096


class RefusedError(Exception):
    """A request the service refuses, with the status and code it answers."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.code = f"ModelArts.{code}"
        self.message = message


@dataclass(frozen=True)
class Channel:
    """An input or output of a job and how its local folder reaches the script."""

    name: str
    path: ObsPath
    by_variable: bool


@dataclass(frozen=True)
class JobForm:
    """A create request that was found good."""

    name: str
    workspace_id: str
    code: ObsPath
    boot_file: PurePosixPath
    engine: Engine
    flavor: Flavor
    node_count: int
    parameters: tuple[tuple[str, str], ...]
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    environments: Mapping[str, str]
    log: ObsPath | None
    stop_after_hours: int | None

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(f"worker-{index}" for index in range(self.node_count))


def read_form(body: Mapping[str, Any], catalogue: Catalogue, buckets: OwnBuckets) -> JobForm:
    """The form in `body`; raises RefusedError. Asks the buckets for the code, so it may take a moment."""
    if body.get("kind") != "job":
        raise RefusedError("0104", "kind must be 'job': the Lab runs training jobs only")
    metadata = _object(body, "metadata")
    algorithm = _object(body, "algorithm")
    spec = _object(body, "spec")
    resource = _object(spec, "resource")

    name = job_name(metadata.get("name"))
    checked_description(metadata.get("description"))
    _object(metadata, "annotations")
    workspace_id = _text(metadata, "workspace_id") or DEFAULT_WORKSPACE
    if workspace_id != DEFAULT_WORKSPACE:
        raise RefusedError("0104", f"the workspace {workspace_id} does not exist")

    if _text(algorithm, "id") or _text(algorithm, "subscription_id"):
        raise RefusedError("2755", "the algorithm does not exist")
    if _object(algorithm, "policies").get("auto_search"):
        raise RefusedError("0104", "the Lab does not search for hyper-parameters")
    engine = _engine(_object(algorithm, "engine"), _text(algorithm, "command"), catalogue)
    flavor = _flavor(resource, catalogue)
    if flavor.type not in engine.flavor_types:
        raise RefusedError("2840", f"the flavor {flavor.id} does not fit the engine {engine.version}")
    node_count = _node_count(resource, flavor)

    parameters = _parameters(_list(algorithm, "parameters"))
    inputs = _channels(_list(algorithm, "inputs"), "input")
    outputs = _channels(_list(algorithm, "outputs"), "output")
    names = [name for name, _ in parameters] + [channel.name for channel in (*inputs, *outputs)]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise RefusedError("2767", f"the parameter {repeated} is given more than once")

    code, boot_file = _code(algorithm, buckets)
    log_url = _text(_object(spec, "log_export_path"), "obs_url")
    return JobForm(
        name=name,
        workspace_id=workspace_id,
        code=code,
        boot_file=boot_file,
        engine=engine,
        flavor=flavor,
        node_count=node_count,
        parameters=parameters,
        inputs=inputs,
        outputs=outputs,
        environments=_environments(_object(algorithm, "environments")),
        log=_obs_path(log_url, "log_export_path") if log_url else None,
        stop_after_hours=_stop_after_hours(_object(spec, "auto_stop")),
    )


def job_name(value: Any) -> str:
    if not isinstance(value, str) or not _JOB_NAME.fullmatch(value):
        raise RefusedError("0104", "the job name must be 1 to 64 letters, digits, underscores or hyphens")
    return value


def checked_description(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _MAX_DESCRIPTION:
        raise RefusedError("0104", f"the description must be a text of at most {_MAX_DESCRIPTION} characters")
    return value


def _engine(given: Mapping[str, Any], command: str, catalogue: Catalogue) -> Engine:
    engine_id, name, version = (_text(given, key) for key in ("engine_id", "engine_name", "engine_version"))
    image = _text(given, "image_url")
    if image or not (engine_id or name or version):
        if not image or (not command and not name):
            raise RefusedError("2806", "a job with its own image needs both the image and the command")
        raise RefusedError("2810", f"the image {image} cannot be used: the Lab has preset engines only, no containers")
    engine = catalogue.engine(engine_id=engine_id, name=name, version=version)
    if engine is None:
        raise RefusedError("2780", f"the engine {engine_id or f'{name} {version}'.strip()} does not exist")
    return engine


def _flavor(resource: Mapping[str, Any], catalogue: Catalogue) -> Flavor:
    pool_id = _text(resource, "pool_id")
    if pool_id:
        raise RefusedError("2890", f"the resource pool {pool_id} does not exist", status=404)
    flavor_id = _text(resource, "flavor_id")
    flavor = catalogue.flavor(flavor_id)
    if flavor is None:
        raise RefusedError("2781", f"the flavor {flavor_id or '(none)'} does not exist")
    return flavor


def _node_count(resource: Mapping[str, Any], flavor: Flavor) -> int:
    count = resource.get("node_count", 1)
    if not _is_whole(count) or count < 1:
        raise RefusedError("0104", "node_count must be a whole number from 1")
    if count > flavor.max_num:
        raise RefusedError("2793", f"{count} nodes are more than the {flavor.max_num} of the flavor {flavor.id}")
    return count


def _parameters(rows: list[Any]) -> tuple[tuple[str, str], ...]:
    parameters = []
    for row in rows:
        name = _channel_name(row, "parameter")
        _object(row, "constraint")
        value = row.get("value")
        if value is not None and not isinstance(value, str):
            raise RefusedError("2765", f"the value of the parameter {name} must be a text")
        parameters.append((name, value or ""))
    return tuple(parameters)


def _channels(rows: list[Any], kind: str) -> tuple[Channel, ...]:
    channels = []
    for row in rows:
        name = _channel_name(row, kind)
        method = _text(row, "access_method") or "parameter"
        if method not in ("parameter", "env"):
            raise RefusedError("0104", f"the access_method of the {kind} {name} must be parameter or env")
        remote = _object(row, "remote")
        if remote.get("dataset"):
            raise RefusedError("0104", f"the {kind} {name} names a dataset; the Lab has OBS paths only")
        path = _obs_path(_text(_object(remote, "obs"), "obs_url"), f"{kind} {name}")
        channels.append(Channel(name, path, method == "env"))
    return tuple(channels)


def _channel_name(row: Any, kind: str) -> str:
    name = row.get("name") if isinstance(row, Mapping) else None
    if not isinstance(name, str) or not _PARAMETER_NAME.fullmatch(name):
        raise RefusedError("0104", f"the name of every {kind} must be 1 to 64 letters, digits, underscores or hyphens")
    return name


def _environments(given: Mapping[str, Any]) -> dict[str, str]:
    if len(given) > _MAX_VARIABLES:
        raise RefusedError("0104", f"there are more than {_MAX_VARIABLES} environment variables")
    for name, value in given.items():
        if not _VARIABLE_NAME.fullmatch(name) or len(name) > _MAX_VARIABLE_NAME:
            raise RefusedError("0104", f"{name!r} cannot be the name of an environment variable")
        if not isinstance(value, str) or len(value) > _MAX_VARIABLE_VALUE or "\0" in value:
            raise RefusedError("0104", f"the value of {name} must be a text of up to {_MAX_VARIABLE_VALUE} characters")
    return dict(given)


def _code(algorithm: Mapping[str, Any], buckets: OwnBuckets) -> tuple[ObsPath, PurePosixPath]:
    code_url, boot_url = _text(algorithm, "code_dir"), _text(algorithm, "boot_file")
    try:
        code = ObsPath.parse(code_url)
    except ValueError as error:
        raise RefusedError("2757", f"the code directory {code_url!r} is not an OBS path") from error
    if code.name in (".", ".."):
        raise RefusedError("2757", f"the code directory {code} has no usable name")
    files: set[str] = set()
    folders: set[str] = set()
    size = 0
    for info in _listed(buckets, code):
        key = info.key[len(code.folder) :]
        elements = key.rstrip("/").split("/")
        if len(elements) > MAX_CODE_DEPTH:
            raise RefusedError("2760", f"the code directory is deeper than {MAX_CODE_DEPTH} folders")
        folders.update("/".join(elements[:count]) for count in range(1, len(elements)))
        (folders if key.endswith("/") else files).add("/".join(elements))
        size += info.size
        if len(files) + len(folders) > MAX_CODE_FILES:
            raise RefusedError("2759", f"the code directory holds more than {MAX_CODE_FILES} files and folders")
        if size > MAX_CODE_BYTES:
            raise RefusedError("2761", "the code directory is larger than 5 GB")
    if not files:
        raise RefusedError("2757", f"the code directory {code} does not exist or is empty")
    try:
        boot = ObsPath.parse(boot_url)
    except ValueError as error:
        raise RefusedError("2758", f"the boot file {boot_url!r} is not an OBS path") from error
    relative = boot.key[len(code.folder) :]
    is_inside = boot.bucket == code.bucket and boot.key.startswith(code.folder)
    if not is_inside or not relative.endswith(".py") or relative not in files:
        raise RefusedError("2758", f"the boot file {boot} must be a .py file inside the code directory {code}")
    return code, PurePosixPath(relative)


def _listed(buckets: OwnBuckets, code: ObsPath) -> Iterator[ObjectInfo]:
    try:
        yield from buckets.under(code)
    except ObsError as error:
        raise RefusedError("2757", f"the code directory {code} cannot be read: {error.message}") from error


def _stop_after_hours(given: Mapping[str, Any]) -> int | None:
    if not given:
        return None
    duration = given.get("duration")
    if given.get("time_unit") != "HOURS" or not _is_whole(duration) or duration < 1:
        raise RefusedError("0104", "auto_stop takes the time_unit HOURS and a whole duration from 1")
    return duration


def _obs_path(url: str, place: str) -> ObsPath:
    try:
        return ObsPath.parse(url)
    except ValueError as error:
        raise RefusedError("2791", f"the OBS path {url!r} of {place} is not valid") from error


def _object(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RefusedError("0104", f"{key} must be an object")
    return value


def _list(parent: Mapping[str, Any], key: str) -> list[Any]:
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RefusedError("0104", f"{key} must be a list")
    return value


def _text(parent: Mapping[str, Any], key: str) -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RefusedError("0104", f"{key} must be a text")
    return value


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
