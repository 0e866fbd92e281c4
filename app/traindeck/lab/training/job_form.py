"""Reads the body of a create request and refuses, with the service's codes, what the service would refuse."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.training.api.routes import (
    RefusedError,
    checked_description,
    checked_name,
    checked_workspace,
    is_whole,
    list_in,
    object_in,
    text_in,
)
from traindeck.lab.training.catalogue import OWN_IMAGE, Catalogue, Engine, Flavor
from traindeck.lab.training.job_parameters import check_names, check_values, read_parameter
from traindeck.lab.training.running.job_files import ObsPath, OwnBuckets

ASCEND_ENGINE = "Ascend-Powered-Engine"
# The service starts their scripts by mpirun.
MPI_ENGINES = ("Horovod", "MPI")
USER_HOME = PurePosixPath("/home/ma-user")
MAX_CODE_DEPTH = 32
MAX_CODE_BYTES = 5 * 1024**3

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(r"[A-Za-z0-9][\w.-]*(?::\d+)?(?:/[\w.-]+)*/[\w.-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?", re.ASCII)
_HIGHEST_PRIORITY = 3
_RESERVED_AT_HOME = ("modelarts", "modelarts-dev", "infer")
_VOLUMES = {"nfs": "nfs_server_path", "pfs": "pfs_path", "obs": "obs_path"}
_NO_MOUNTS = (".", "/cache", "/home/ma-user/modelarts")
_MAX_NFS = 8
# Begins the name of a code directory that the image has already.
_IN_IMAGE = "file://"
_FULL_PATHS = ("/", "obs:/", "s3:/")
_MAX_VARIABLES = 100
_MAX_VARIABLE_NAME = 8192
_MAX_VARIABLE_VALUE = 4096


@dataclass(frozen=True)
class Channel:
    """An input or output of a job and how its local folder reaches the script."""

    kind: str
    index: int
    name: str
    path: ObsPath
    by_variable: bool
    local_dir: PurePosixPath | None = None


@dataclass(frozen=True)
class Volume:
    """Storage that a job wants to see as a folder; `place` where it is a folder of OBS."""

    kind: str
    source: str
    mount: PurePosixPath
    read_only: bool
    place: ObsPath | None = None


@dataclass(frozen=True)
class JobForm:
    """A create request that was found good; a job with a command of its own has no boot file, and perhaps no code."""

    name: str
    workspace_id: str
    code: ObsPath | None
    boot_file: PurePosixPath | None
    command: str
    engine: Engine
    flavor: Flavor
    node_count: int
    parameters: tuple[tuple[str, str], ...]
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    environments: Mapping[str, str]
    local_code_dir: PurePosixPath | None
    working_dir: PurePosixPath | None
    log: ObsPath | None
    stop_after_hours: int | None
    volumes: tuple[Volume, ...] = ()
    # As the service of old had it: scripts get the OBS addresses of their channels and carry the files themselves.
    has_obs_urls: bool = False

    @property
    def channels(self) -> tuple[Channel, ...]:
        return self.inputs + self.outputs

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(f"worker-{index}" for index in range(self.node_count))

    @property
    def processes_per_node(self) -> int:
        """One per card where the engine's launcher starts them so."""
        return self.flavor.cards if self.engine.name == ASCEND_ENGINE and not self.command else 1


def read_form(body: Mapping[str, Any], catalogue: Catalogue, buckets: OwnBuckets, code_entries: int) -> JobForm:
    """The form in `body`; raises RefusedError. Asks the buckets for the code, so it may take a moment.

    `code_entries`: how many files and folders the code may have.
    """
    if body.get("kind") != "job":
        raise RefusedError("0104", "kind must be 'job': the Lab runs training jobs only")
    metadata = object_in(body, "metadata")
    algorithm = object_in(body, "algorithm")
    spec = object_in(body, "spec")
    resource = object_in(spec, "resource")

    name = checked_name(metadata.get("name"), "the job name")
    checked_description(metadata.get("description"))
    if not all(isinstance(value, str) for value in object_in(metadata, "annotations").values()):
        raise RefusedError("0104", "all values of annotations must be texts")
    workspace_id = checked_workspace(metadata.get("workspace_id"))

    if object_in(algorithm, "policies").get("auto_search"):
        raise RefusedError("0104", "the Lab does not search for hyper-parameters")
    command = text_in(algorithm, "command")
    engine = _engine(object_in(algorithm, "engine"), command, catalogue)
    is_own_launch = not engine.name
    flavor = _flavor(resource, catalogue)
    if not is_own_launch and flavor.type not in engine.flavor_types:
        raise RefusedError("2840", f"the flavor {flavor.id} does not fit the engine {engine.version}")
    node_count = _node_count(resource, flavor)

    parameters = [read_parameter(row) for row in list_in(algorithm, "parameters")]
    inputs = _channels(list_in(algorithm, "inputs"), "input")
    for channel in inputs:
        _check_bucket(channel.path, f"the input {channel.name}", buckets)
    outputs = _channels(list_in(algorithm, "outputs"), "output")
    check_names([parameter.name for parameter in parameters] + [channel.name for channel in (*inputs, *outputs)])
    check_values(parameters)

    code, boot_file = None, None
    code_url = text_in(algorithm, "code_dir")
    if code_url.startswith(_IN_IMAGE) and text_in(object_in(algorithm, "engine"), "image_url"):
        boot_file = None if is_own_launch else _boot_in_image(text_in(algorithm, "boot_file"), code_url)
    elif not is_own_launch or code_url:
        code, files = _code(code_url, buckets, code_entries)
        boot_file = None if is_own_launch else _boot_file(text_in(algorithm, "boot_file"), code, files)
    check_schedule_policy(object_in(spec, "schedule_policy"))
    log = _log_folder(text_in(object_in(spec, "log_export_path"), "obs_url"), buckets)
    return JobForm(
        name=name,
        workspace_id=workspace_id,
        code=code,
        boot_file=boot_file,
        command=command if is_own_launch else "",
        engine=engine,
        flavor=flavor,
        node_count=node_count,
        parameters=tuple((parameter.name, parameter.value) for parameter in parameters),
        inputs=inputs,
        outputs=outputs,
        environments=_environments(object_in(algorithm, "environments")),
        local_code_dir=_folder_at_home(algorithm, "local_code_dir", "2857"),
        working_dir=_folder(algorithm, "working_dir", "2859"),
        log=log,
        stop_after_hours=_stop_after_hours(object_in(spec, "auto_stop")),
        volumes=_volumes(list_in(spec, "volumes")),
    )


def check_schedule_policy(given: Mapping[str, Any]) -> None:
    priority, preemptible = given.get("priority"), given.get("preemptible")
    if priority is not None and (not is_whole(priority) or not 0 <= priority <= _HIGHEST_PRIORITY):
        raise RefusedError("2816", f"the priority must be a whole number from 0 to {_HIGHEST_PRIORITY}")
    if preemptible is not None and not isinstance(preemptible, bool):
        raise RefusedError("0104", "preemptible must be true or false")


def _engine(given: Mapping[str, Any], command: str, catalogue: Catalogue) -> Engine:
    engine_id, name, version = (text_in(given, key) for key in ("engine_id", "engine_name", "engine_version"))
    image = text_in(given, "image_url")
    if image and not _IMAGE.fullmatch(image):
        raise RefusedError("2810", f"the image {image!r} cannot be found: it must be organisation/image:tag")
    if not (engine_id or name or version):
        if not image or not command:
            raise RefusedError("2806", "a job with its own image needs both the image and the command")
        if "\n" in command or "\r" in command:
            raise RefusedError("0104", "the command must be one line")
        return OWN_IMAGE
    engine = catalogue.engine(engine_id=engine_id, name=name, version=version)
    if engine is None:
        raise RefusedError("2780", f"the engine {engine_id or f'{name} {version}'.strip()} does not exist")
    if engine.discontinued:
        raise RefusedError("2832", f"the engine {engine.version} is too old and was removed; use a newer one")
    return engine


def _flavor(resource: Mapping[str, Any], catalogue: Catalogue) -> Flavor:
    flavor_id, pool_id = text_in(resource, "flavor_id"), text_in(resource, "pool_id")
    if pool_id:
        return _dedicated(flavor_id, pool_id, catalogue)
    if flavor_id.startswith("modelarts.pool."):
        raise RefusedError("2763", f"the flavor {flavor_id} is for dedicated resource pools")
    flavor = catalogue.flavor(flavor_id)
    if flavor is None:
        raise RefusedError("2781", f"the flavor {flavor_id or '(none)'} does not exist")
    return flavor


def _dedicated(flavor_id: str, pool_id: str, catalogue: Catalogue) -> Flavor:
    """A machine of a pool; a job that names none gets the first."""
    flavors = catalogue.flavors_of(pool_id)
    if not flavors:
        raise RefusedError("2890", f"the resource pool {pool_id} does not exist", status=404)
    found = next((flavor for flavor in flavors if flavor_id in ("", flavor.id)), None)
    if found is None:
        raise RefusedError("2763", f"the resource pool {pool_id} has no flavor {flavor_id}")
    return found


def _volumes(rows: list[Any]) -> tuple[Volume, ...]:
    volumes = []
    for row in rows:
        kinds = [kind for kind in _VOLUMES if isinstance(row, Mapping) and row.get(kind)]
        volume = object_in(row, kinds[0]) if len(kinds) == 1 else {}
        source = text_in(volume, _VOLUMES[kinds[0]]) if volume else ""
        if not source:
            raise RefusedError("0104", "every volume needs one of nfs, pfs and obs with its path")
        read_only = volume.get("read_only")
        if read_only is not None and not isinstance(read_only, bool):
            raise RefusedError("0104", "read_only must be true or false")
        place = _obs_path(source, "a volume") if kinds[0] == "obs" else None
        written = text_in(volume, "local_path")
        mount = PurePosixPath(written.rstrip("/"))
        if not written.startswith("/") or ".." in mount.parts or "\0" in written or str(mount) in _NO_MOUNTS:
            raise RefusedError("0104", "every volume needs a local_path that the service does not use itself")
        volumes.append(Volume(kinds[0], source, mount, bool(read_only), place))
    if len({volume.mount for volume in volumes}) < len(volumes):
        raise RefusedError("0104", "every volume needs a local_path of its own")
    if sum(volume.kind == "nfs" for volume in volumes) > _MAX_NFS:
        raise RefusedError("0104", f"there are more than {_MAX_NFS} volumes of the kind nfs")
    return tuple(volumes)


def _node_count(resource: Mapping[str, Any], flavor: Flavor) -> int:
    count = resource.get("node_count", 1)
    if not is_whole(count) or count < 1:
        raise RefusedError("0104", "node_count must be a whole number from 1")
    if count > flavor.max_num:
        raise RefusedError("2793", f"{count} nodes are more than the {flavor.max_num} of the flavor {flavor.id}")
    return count


def _channels(rows: list[Any], kind: str) -> tuple[Channel, ...]:
    channels = []
    for index, row in enumerate(rows):
        name = checked_name(row.get("name") if isinstance(row, Mapping) else None, f"the name of every {kind}")
        method = text_in(row, "access_method") or "parameter"
        if method not in ("parameter", "env"):
            raise RefusedError("2753", f"the access_method of the {kind} {name} must be parameter or env")
        remote = object_in(row, "remote")
        if remote.get("dataset"):
            raise RefusedError("2783", f"the dataset of the {kind} {name} does not exist; the Lab has OBS paths only")
        url = text_in(object_in(remote, "obs"), "obs_url")
        if not url:
            raise RefusedError("2753", f"the {kind} {name} has no remote.obs.obs_url")
        local_dir = _folder(row, "local_dir", "2753")
        channels.append(Channel(kind, index, name, _obs_path(url, f"{kind} {name}"), method == "env", local_dir))
    return tuple(channels)


def _environments(given: Mapping[str, Any]) -> dict[str, str]:
    if len(given) > _MAX_VARIABLES:
        raise RefusedError("0104", f"there are more than {_MAX_VARIABLES} environment variables")
    for name, value in given.items():
        if not _VARIABLE_NAME.fullmatch(name) or len(name) > _MAX_VARIABLE_NAME:
            raise RefusedError("0104", f"{name!r} cannot be the name of an environment variable")
        if not isinstance(value, str) or len(value) > _MAX_VARIABLE_VALUE or "\0" in value:
            raise RefusedError("0104", f"the value of {name} must be a text of up to {_MAX_VARIABLE_VALUE} characters")
    return dict(given)


def _code(url: str, buckets: OwnBuckets, most_entries: int) -> tuple[ObsPath, set[str]]:
    """The code directory and the files in it, named from there."""
    code = _parsed(url, "2802", f"the code directory {url!r} is not an OBS path")
    if code.name in (".", ".."):
        raise RefusedError("2802", f"the code directory {code} has no usable name")
    files: set[str] = set()
    folders: set[str] = set()
    size = 0
    try:
        for info in buckets.under(code):
            key = info.key[len(code.folder) :]
            elements = key.rstrip("/").split("/")
            if len(elements) > MAX_CODE_DEPTH:
                raise RefusedError("2760", f"the code directory is deeper than {MAX_CODE_DEPTH} folders")
            folders.update("/".join(elements[:count]) for count in range(1, len(elements)))
            (folders if key.endswith("/") else files).add("/".join(elements))
            size += info.size
            if len(files) + len(folders) > most_entries:
                raise RefusedError("2759", f"the code directory holds more than {most_entries} files and folders")
            if size > MAX_CODE_BYTES:
                raise RefusedError("2761", "the code directory is larger than 5 GB")
    except ObsError as error:
        raise RefusedError("2757", f"the code directory {code} cannot be read: {error.message}") from error
    if not files:
        raise RefusedError("2757", f"the code directory {code} does not exist or is empty")
    return code, files


def _boot_file(url: str, code: ObsPath, files: set[str]) -> PurePosixPath:
    boot = _parsed(url, "2758", f"the boot file {url!r} is not an OBS path")
    relative = boot.key[len(code.folder) :]
    is_inside = boot.bucket == code.bucket and boot.key.startswith(code.folder)
    if not is_inside or not relative.endswith(".py") or relative not in files:
        raise RefusedError("2758", f"the boot file {boot} must be a .py file inside the code directory {code}")
    return PurePosixPath(relative)


def _boot_in_image(url: str, code_url: str) -> PurePosixPath:
    folder = f"{code_url.rstrip('/')}/"
    path = PurePosixPath(url.removeprefix(_IN_IMAGE))
    if not url.startswith(folder) or path.suffix != ".py" or ".." in path.parts or not path.is_absolute():
        raise RefusedError("2758", f"the boot file {url} must be a .py file inside the code directory {code_url}")
    return path


def _stop_after_hours(given: Mapping[str, Any]) -> int | None:
    if not given:
        return None
    duration = given.get("duration")
    if given.get("time_unit") != "HOURS" or not is_whole(duration) or duration < 1:
        raise RefusedError("0104", "auto_stop takes the time_unit HOURS and a whole duration from 1")
    return duration


def _obs_path(url: str, place: str) -> ObsPath:
    return _parsed(url, "2791", f"the OBS path {url!r} of {place} is not valid")


def _log_folder(url: str, buckets: OwnBuckets) -> ObsPath | None:
    if not url:
        return None
    if not url.startswith(_FULL_PATHS):
        raise RefusedError("2791", f"the OBS path {url!r} of log_export_path must begin with a slash or obs://")
    path = _obs_path(url, "log_export_path")
    _check_bucket(path, "log_export_path", buckets)
    return path


def _check_bucket(path: ObsPath, place: str, buckets: OwnBuckets) -> None:
    if not buckets.has_bucket(path.bucket):
        raise RefusedError("2791", f"the OBS path {path} of {place} is not valid: there is no such bucket")


def _parsed(url: str, code: str, message: str) -> ObsPath:
    try:
        return ObsPath.parse(url)
    except ValueError as error:
        raise RefusedError(code, message) from error


def _folder(algorithm: Mapping[str, Any], key: str, code: str) -> PurePosixPath | None:
    text = text_in(algorithm, key)
    if not text:
        return None
    path = PurePosixPath(text)
    if not path.is_absolute() or ".." in path.parts or "\0" in text:
        raise RefusedError(code, f"{key} must be an absolute path")
    return path


def _folder_at_home(algorithm: Mapping[str, Any], key: str, code: str) -> PurePosixPath | None:
    path = _folder(algorithm, key, code)
    if path is None or path == USER_HOME / "modelarts" / "user-job-dir":
        return path
    is_reserved = any(path.is_relative_to(USER_HOME / name) for name in _RESERVED_AT_HOME)
    if not path.is_relative_to("/home") or path in (PurePosixPath("/home"), USER_HOME) or is_reserved:
        raise RefusedError(code, f"{key} must be below /home, and not a folder the service uses itself")
    return path
