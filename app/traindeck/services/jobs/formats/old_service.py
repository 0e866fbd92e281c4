"""Jobs as the older service had them, which the PyCharm ToolKit submitted: its create request as JSON.

What it holds: https://support.huaweicloud.com/api-modelarts/modelarts_03_0045.html
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.parameter_text import exact_scalar
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Target, Volume, VolumeKind, wire_value
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.services.jobs.formats.reading import ReadJob, fitting_name, not_held

_DATA, _TRAIN = "data_url", "train_url"
_Content = dict[str, Any]


def is_of_old_service(document: _Content) -> bool:
    return isinstance(document.get("config"), dict) or "app_url" in document or "boot_file_url" in document


def from_old_service(document: _Content) -> ReadJob:
    """The form; what is taken is taken out of a copy, so that what stays behind can be named."""
    rest: _Content = copy.deepcopy(document)
    config: _Content = rest["config"] if isinstance(rest.get("config"), dict) else rest
    name, remarks = fitting_name(_first(rest, "job_name", "config_name") or _first(config, "job_name", "config_name"))
    code = _place(_told(config, "app_url"))
    image, command = _told(config, "user_image_url"), _told(config, "user_command")
    engine, engine_id = _told(config, "engine_name"), _told(config, "engine_id")
    flavor, flavor_remarks = _flavor(config)
    parameters = _parameters(config)
    is_image = _is_image(image, command, engine)
    spec = JobSpec(
        name=name,
        target=Target.MODELARTS,
        description=_first(rest, "job_desc", "config_desc") or _first(config, "job_desc", "config_desc"),
        workspace=_told(rest, "workspace_id"),
        code_folder="",
        code_url=code,
        boot=_boot(_told(config, "boot_file_url"), code),
        command=command,
        engine=engine,
        engine_version=_told(config, "engine_version"),
        image=image,
        flavor=flavor,
        nodes=_count(config.pop("worker_server_num", None)),
        pool=_told(config, "pool_id"),
        inputs=tuple(_inputs(config)),
        outputs=_outputs(config),
        log_to=_place(_told(config, "log_url")),
        parameters=() if is_image else tuple((label, exact_scalar(value)) for label, value in parameters),
        environment=tuple(parameters) if is_image else (),
        volumes=tuple(_volumes(config)),
    )
    if engine_id and is_image:
        config["engine_id"] = engine_id
    remarks = [*remarks, *flavor_remarks, *not_held(_left(rest))]
    return ReadJob(spec, tuple(remarks), "" if engine or is_image else engine_id)


def to_old_service(spec: JobSpec) -> _Content:
    """The create request of the older service; what it has no place for is left out."""
    inputs, outputs = spec.inputs, [one.place for one in spec.outputs if one.name == _TRAIN]
    rows = [(name, wire_value(value)) for name, value in spec.parameters]
    if _is_image(spec.image, spec.command, spec.engine):
        rows = list(spec.environment)
    config: _Content = {
        "worker_server_num": spec.nodes,
        "app_url": spec.code_url,
        "boot_file_url": f"{spec.code_url.rstrip('/')}/{spec.boot}" if spec.boot else "",
        "user_command": spec.command,
        "user_image_url": spec.image,
        "engine_name": spec.engine,
        "engine_version": spec.engine_version,
        "flavor": {"code": spec.flavor} if spec.flavor else {},
        "pool_id": spec.pool,
        "train_url": outputs[0] if outputs else "",
        "log_url": spec.log_to,
        "data_source": [{"type": "obs", "data_url": one.place} for one in inputs],
        "parameter": [{"label": name, "value": value} for name, value in rows],
        "volumes": [_volume_row(one) for one in spec.volumes if one.kind is VolumeKind.NFS],
    }
    told = {key: value for key, value in config.items() if value not in ("", [], {})}
    head = {"job_name": spec.name, "job_desc": spec.description, "workspace_id": spec.workspace}
    return {**{key: value for key, value in head.items() if value}, "config": told}


def _is_image(image: str, command: str, engine: str) -> bool:
    """An image that starts by itself: what a job of the older service passed to it were variables of the container."""
    return bool(image and command and not engine)


def _left(content: _Content, way: str = "") -> Iterator[str]:
    """The names of what nothing took; a switch that is off says nothing."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _left(value, f"{way}{key}.")
        elif isinstance(value, list):
            rows = {f"{key}[{number}]": row for number, row in enumerate(value)}
            yield from _left(rows, way)
        elif value not in (None, "", False):
            yield f"{way}{key}"


def _told(content: _Content, key: str) -> str:
    """A single value, taken; what is none stays where it is."""
    if isinstance(content.get(key), dict | list):
        return ""
    value = content.pop(key, None)
    return "" if value is None else wire_value(value)


def _first(content: _Content, *keys: str) -> str:
    """Of several keys for one thing the first that is told; another one stays where it is."""
    for key in keys:
        value = _told(content, key)
        if value:
            return value
    return ""


def _place(written: str) -> str:
    try:
        return str(ObjectPath.parse(written)) if written else ""
    except InvalidInput:
        return written


def _boot(boot: str, code: str) -> str:
    place = _place(boot)
    return place.removeprefix(code.rstrip("/") + "/") if code and place.startswith(code.rstrip("/") + "/") else boot


def _flavor(config: _Content) -> tuple[str, list[Text]]:
    """By its code; the number that the older service had for it says nothing here."""
    flavor = config.get("flavor")
    code = _told(flavor, "code") if isinstance(flavor, dict) else ""
    code, number = code or _told(config, "spec_code"), _told(config, "spec_id")
    if code or not number:
        return code, []
    return "", [text("The file has only the ID “{id}” of its specification. Select the specification.", id=number)]


def _count(value: object) -> int:
    written = str(1 if value is None else value)
    if not written.removeprefix("-").isdecimal():
        raise InvalidInput(
            text("“{key}” has the wrong kind of value.", key="worker_server_num"),
            text("It must be {wanted}.", wanted=text("a whole number")),
        )
    return int(written)


def _inputs(config: _Content) -> list[Channel]:
    rows = config.get("data_source")
    places = [_told(config, _DATA), *(_told(row, _DATA) for row in _maps(rows))]
    for row in _maps(rows):
        if row.get("type") == "obs":
            del row["type"]
    places = [_place(place) for place in places if place]
    return [Channel(_DATA if number == 0 else f"{_DATA}_{number}", place) for number, place in enumerate(places)]


def _outputs(config: _Content) -> tuple[Channel, ...]:
    place = _place(_told(config, _TRAIN))
    return (Channel(_TRAIN, place),) if place else ()


def _parameters(config: _Content) -> list[tuple[str, str]]:
    """Those with a name and a single value; the others stay where they are."""
    found = []
    rows = config.get("parameter")
    for row in _maps(rows):
        if row.get("label") and not any(isinstance(row.get(key), dict | list) for key in ("label", "value")):
            found.append((_told(row, "label"), _told(row, "value")))
    return found


def _volumes(config: _Content) -> list[Volume]:
    """Those of the network; a folder of the host is nothing that the newer service mounts."""
    found = []
    share, folder = config.get("nas_share_addr"), config.get("nas_mount_path")
    if isinstance(share, str) and isinstance(folder, str) and config.get("nas_type", "nfs") in ("nfs", "", None):
        for key in ("nas_share_addr", "nas_mount_path", "nas_type"):
            config.pop(key, None)
        if share and folder:
            found.append(Volume(VolumeKind.NFS, share, folder))
    for row in _maps(config.get("volumes")):
        content = row.get("nfs")
        if isinstance(content, dict) and _is_volume(content):
            del row["nfs"]
            read_only = str(content.get("read_only", False)).lower() == "true"
            found.append(Volume(VolumeKind.NFS, content["src_path"], content["dest_path"], read_only))
    return found


def _is_volume(content: _Content) -> bool:
    paths = (content.get("src_path"), content.get("dest_path"))
    return all(isinstance(path, str) and path for path in paths) and not (
        set(content) - {"id", "src_path", "dest_path", "read_only"}
    )


def _volume_row(volume: Volume) -> _Content:
    return {"nfs": {"src_path": volume.source, "dest_path": volume.mount, "read_only": volume.read_only}}


def _maps(rows: object) -> list[_Content]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
