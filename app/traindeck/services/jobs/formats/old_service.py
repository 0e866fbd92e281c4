"""Jobs as the older service had them, which the PyCharm ToolKit submitted: its create request as JSON."""

from __future__ import annotations

from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Scalar, Target, name_stem, wire_value
from traindeck.domain.jobs.parameter_text import exact_scalar
from traindeck.domain.jobs.stop_time import NO_LIMIT
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text

_DATA, _TRAIN = "data_url", "train_url"
_LONGEST_NAME = 40


def is_of_old_service(document: dict[str, Any]) -> bool:
    return isinstance(document.get("config"), dict) or "app_url" in document or "boot_file_url" in document


def from_old_service(document: dict[str, Any]) -> JobSpec:
    """The form; the number of an engine says nothing here, so it is left to be selected."""
    config = document["config"] if isinstance(document.get("config"), dict) else document
    name = str(document.get("job_name") or config.get("job_name") or "")
    code = _place(config.get("app_url"))
    image = str(config.get("user_image_url") or "")
    return JobSpec(
        name=name if len(name) <= _LONGEST_NAME else name_stem(name),
        target=Target.MODELARTS,
        description=str(document.get("job_desc") or ""),
        workspace=str(document.get("workspace_id") or ""),
        code_folder="",
        code_url=code,
        boot=_boot(str(config.get("boot_file_url") or ""), code),
        command=str(config.get("user_command") or ""),
        engine=str(config.get("engine_name") or ""),
        engine_version=str(config.get("engine_version") or ""),
        image=image,
        flavor=_flavor(config),
        nodes=_count(config.get("worker_server_num")),
        pool=str(config.get("pool_id") or ""),
        stop_after=NO_LIMIT,
        inputs=tuple(_inputs(config)),
        outputs=_outputs(config),
        log_to=_place(config.get("log_url")),
        parameters=tuple(_parameters(config)),
    )


def to_old_service(spec: JobSpec) -> dict[str, Any]:
    """The create request of the older service; what it has no place for is left out."""
    inputs, outputs = spec.inputs, [one.place for one in spec.outputs if one.name == _TRAIN]
    config: dict[str, Any] = {
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
        "parameter": [{"label": name, "value": wire_value(value)} for name, value in spec.parameters],
    }
    told = {key: value for key, value in config.items() if value not in ("", [], {})}
    head = {"job_name": spec.name, "job_desc": spec.description, "workspace_id": spec.workspace}
    return {**{key: value for key, value in head.items() if value}, "config": told}


def _place(url: object) -> str:
    written = str(url or "")
    try:
        return str(ObjectPath.parse(written)) if written else ""
    except InvalidInput:
        return written


def _boot(boot: str, code: str) -> str:
    place = _place(boot)
    return place.removeprefix(code.rstrip("/") + "/") if code and place.startswith(code.rstrip("/") + "/") else boot


def _flavor(config: dict[str, Any]) -> str:
    flavor = config.get("flavor")
    return str(flavor.get("code") or "") if isinstance(flavor, dict) else str(config.get("spec_code") or "")


def _count(value: object) -> int:
    written = str(1 if value is None else value)
    if not written.isdecimal():
        raise InvalidInput(
            text("“{key}” has the wrong kind of value.", key="worker_server_num"),
            text("It must be {wanted}.", wanted=text("a whole number")),
        )
    return int(written)


def _inputs(config: dict[str, Any]) -> list[Channel]:
    rows = config.get("data_source")
    urls = [row.get("data_url") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    urls = [config.get("data_url"), *urls] if config.get("data_url") else urls
    places = [_place(url) for url in urls if url]
    return [Channel(_DATA if number == 0 else f"{_DATA}_{number}", place) for number, place in enumerate(places)]


def _outputs(config: dict[str, Any]) -> tuple[Channel, ...]:
    place = _place(config.get("train_url"))
    return (Channel(_TRAIN, place),) if place else ()


def _parameters(config: dict[str, Any]) -> list[tuple[str, Scalar]]:
    rows = config.get("parameter")
    if not isinstance(rows, list):
        return []
    named = [row for row in rows if isinstance(row, dict) and row.get("label")]
    return [(str(row["label"]), exact_scalar(str(row.get("value") or ""))) for row in named]
