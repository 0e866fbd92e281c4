"""The form of a job that the service describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Target, as_template, name_stem
from traindeck.domain.storage.objects import ObjectPath


def form_of(document: Mapping[str, Any], profile: Profile) -> JobSpec:
    """As far as it has fields for what the job is."""
    metadata, algorithm, spec = (_part(document, name) for name in ("metadata", "algorithm", "spec"))
    engine, resource = _part(algorithm, "engine"), _part(spec, "resource")
    code, boot = str(algorithm.get("code_dir") or ""), str(algorithm.get("boot_file") or "")
    hours = _part(spec, "auto_stop").get("duration")
    return JobSpec(
        name=name_stem(str(metadata.get("name") or "job")),
        target=Target.LAB if profile.is_lab else Target.MODELARTS,
        description=str(metadata.get("description") or ""),
        code_url=code,
        boot=boot.removeprefix(code).lstrip("/"),
        command=str(algorithm.get("command") or ""),
        engine=str(engine.get("engine_name") or ""),
        engine_version=str(engine.get("engine_version") or ""),
        image=str(engine.get("image_url") or ""),
        flavor=str(resource.get("flavor_id") or ""),
        nodes=int(resource.get("node_count") or 1),
        pool=str(resource.get("pool_id") or ""),
        stop_after=f"{hours}h" if hours else "none",
        inputs=tuple(_channels(algorithm, "inputs")),
        outputs=tuple(_channels(algorithm, "outputs")),
        log_to=_place(_part(spec, "log_export_path").get("obs_url")),
        parameters=tuple((str(one.get("name")), str(one.get("value") or "")) for one in _rows(algorithm, "parameters")),
        environment=tuple((str(name), str(value)) for name, value in _part(algorithm, "environments").items()),
    )


def _channels(algorithm: Mapping[str, Any], kind: str) -> Iterator[Channel]:
    for row in _rows(algorithm, kind):
        place = _place(_part(_part(row, "remote"), "obs").get("obs_url"))
        if place:
            yield Channel(str(row.get("name") or ""), place)


def _place(url: object) -> str:
    try:
        return as_template(str(ObjectPath.parse(str(url)))) if url else ""
    except AppError:
        return ""


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _rows(document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = document.get(name)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
