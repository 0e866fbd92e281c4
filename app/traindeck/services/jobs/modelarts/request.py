"""The request that creates a job, built from the form by the description of its fields."""

from __future__ import annotations

import json
from typing import Any

from traindeck.domain.jobs.form.form_fields import BY_NAME, FIELDS
from traindeck.domain.jobs.form.stop_time import stop_hours
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    ChannelStyle,
    JobSpec,
    Volume,
    VolumeKind,
    wire_value,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.modelarts.pointers import pointer_of, put

# Without it the lines of a script arrive late or never.
USUAL_ENVIRONMENT = {"PYTHONUNBUFFERED": "1"}
ACCESS_WORDS = {ChannelAccess.PARAMETER: "parameter", ChannelAccess.ENVIRONMENT: "env"}
VOLUME_KEYS = {VolumeKind.NFS: "nfs_server_path", VolumeKind.PFS: "pfs_path", VolumeKind.OBS: "obs_path"}
USUAL_WORKSPACE = "0"
IN_IMAGE = "file://"
"""Begins the name of a code directory that the image holds already."""

RequestBody = dict[str, Any]


def job_request(name: str, spec: JobSpec, code: ObjectPath | None) -> RequestBody:
    """The body for a job of this name; the places in `spec` are those of the run, `code` is where its code was put."""
    body: RequestBody = {"kind": "job", "metadata": {"name": name, "workspace_id": USUAL_WORKSPACE}}
    body["algorithm"] = _algorithm(spec, code)
    body["spec"] = _resources(spec)
    if spec.tags:
        body["metadata"]["tags"] = [{"key": key, "value": value} for key, value in spec.tags]
    for field in FIELDS:
        value = getattr(spec, field.name)
        if field.request and value not in (field.default, "") and not _is_left_out(spec, field.name):
            put(body, field.request, list(value) if isinstance(value, tuple) else value)
    put(body, BY_NAME["nodes"].request, spec.nodes)
    for pointer, content in spec.extra:
        put(body, pointer, json.loads(content))
    return body


def _is_left_out(spec: JobSpec, name: str) -> bool:
    """A start command runs in the image alone: with an engine its launcher would run."""
    return bool(spec.command) and name in ("engine", "engine_version")


def _algorithm(spec: JobSpec, code: ObjectPath | None) -> RequestBody:
    algorithm: RequestBody = {}
    if not spec.has_algorithm:
        folder = _code_folder(spec, code)
        if folder:
            algorithm["code_dir"] = folder
        if not spec.command:
            algorithm["boot_file"] = folder + spec.boot.replace("\\", "/").removeprefix("./")
    inputs = [channel for channel in spec.inputs if _is_sent(spec, "inputs", channel)]
    outputs = [channel for channel in spec.outputs if _is_sent(spec, "outputs", channel)]
    addresses = [(channel.name, str(ObjectPath.parse(channel.place))) for channel in (*inputs, *outputs)
                 if channel.style is ChannelStyle.OBS]  # fmt: skip
    values = [*addresses, *((name, wire_value(value)) for name, value in spec.parameters)]
    algorithm["parameters"] = [{"name": name, "value": value} for name, value in values]
    algorithm["inputs"] = [_channel(channel, is_folder=False) for channel in inputs if _is_local(channel)]
    algorithm["outputs"] = [_channel(channel, is_folder=True) for channel in outputs if _is_local(channel)]
    usual = {} if spec.has_algorithm else USUAL_ENVIRONMENT
    algorithm["environments"] = {**usual, **dict(spec.environment)}
    return algorithm


def _code_folder(spec: JobSpec, code: ObjectPath | None) -> str:
    if spec.code_url.startswith(IN_IMAGE):
        return spec.code_url.rstrip("/") + "/"
    place = ObjectPath.parse(spec.code_url) if spec.code_url else code if spec.has_own_code else None
    return place.as_folder().api_form if place is not None else ""


def _is_local(channel: Channel) -> bool:
    return channel.style is ChannelStyle.LOCAL


def _is_sent(spec: JobSpec, kind: str, channel: Channel) -> bool:
    """One without a place is a row that was left empty, unless what it shows is something else than a place."""
    row = pointer_of(("algorithm", kind, channel.name, "remote"))
    return bool(channel.place.strip()) or any(pointer.startswith(row) for pointer, _ in spec.extra)


def _channel(channel: Channel, *, is_folder: bool) -> RequestBody:
    written: RequestBody = {"name": channel.name, "access_method": ACCESS_WORDS[channel.access]}
    if channel.local_dir:
        written["local_dir"] = channel.local_dir
    if channel.place.strip():
        place = ObjectPath.parse(channel.place)
        written["remote"] = {"obs": {"obs_url": (place.as_folder() if is_folder else place).api_form}}
    return written


def _resources(spec: JobSpec) -> RequestBody:
    document: RequestBody = {"resource": {}}
    if spec.pool or spec.priority != BY_NAME["priority"].default:
        document["schedule_policy"] = {"priority": spec.priority}
    if spec.log_to.strip():
        document["log_export_path"] = {"obs_url": ObjectPath.parse(spec.log_to).as_folder().api_form}
    hours = stop_hours(spec.stop_after)
    if hours is not None:
        document["auto_stop"] = {"time_unit": "HOURS", "duration": hours}
    if spec.volumes:
        document["volumes"] = [_volume(volume) for volume in spec.volumes]
    return document


def _volume(volume: Volume) -> RequestBody:
    source = volume.source
    if volume.kind is VolumeKind.OBS:
        source = ObjectPath.parse(source).as_folder().api_form
    written: RequestBody = {VOLUME_KEYS[volume.kind]: source, "local_path": volume.mount}
    if volume.read_only:
        written["read_only"] = True
    return {volume.kind.value: written}
