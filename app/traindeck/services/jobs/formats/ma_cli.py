"""The YAML files of `ma-cli ma-job submit`, whose keys are the options of that command.

Options and their meaning: https://support.huaweicloud.com/devtool-modelarts/devtool-modelarts_0322.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.jobs.form.parameter_text import exact_scalar
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Scalar, Target, Volume, VolumeKind, wire_value
from traindeck.domain.texts import Text, text
from traindeck.services.jobs.formats.reading import ReadJob, not_held, told_once
from traindeck.services.jobs.modelarts.request import VOLUME_KEYS

# An option, and the field that holds the same as text.
_PLAIN = {
    "name": "name",
    "description": "description",
    "image-url": "image",
    "working-dir": "working_dir",
    "local-code-dir": "local_code_dir",
    "user-command": "command",
    "pool-id": "pool",
    "train-instance-type": "flavor",
    "log-url": "log_to",
    "code-dir": "code_url",
    "boot-file": "boot",
    "framework-type": "engine",
    "framework-version": "engine_version",
    "workspace-id": "workspace",
}
# An option without a field, and where the request has it.
_EXTRA = {"policy": "/spec/resource/policy", "uid": "/algorithm/engine/run_user"}
_OTHERS = (
    "train-instance-count", "data-url", "input", "output", "env-variables", "parameters", "volumes",
)  # fmt: skip
_DATA = "data_url"
# Of the program and of no job.
_OF_THE_PROGRAM = ("config-file", "debug", "profile", "quiet", "yaml-file")


def from_ma_cli(source: str) -> ReadJob:
    """The form of such a file; raises InvalidInput, with the line where that is known."""
    content = told_once([(str(key).replace("_", "-"), value) for key, value in _content(source).items()])
    left = [key for key in _OF_THE_PROGRAM if key in content]
    content = {key: value for key, value in content.items() if key not in left}
    known = [*_PLAIN, *_EXTRA, *_OTHERS]
    for key in content:
        if key not in known:
            near = nearest(key, known)
            raise InvalidInput(
                text("“{key}” is not an option of ma-cli.", key=key),
                text("Did you mean “{nearest}”?", nearest=near)
                if near
                else text("Known here: {known}.", known=", ".join(known)),
            )
    values: dict[str, Any] = {
        field: _text(content[key], key) for key, field in _PLAIN.items() if _is_told(content, key)
    }
    inputs = [Channel(name, place) for name, place in _rows(content, "input")]
    if _is_told(content, "data-url"):
        inputs.insert(0, Channel(_DATA, _text(content["data-url"], "data-url")))
    spec = JobSpec(
        **values,
        target=Target.MODELARTS,
        code_folder="",
        nodes=_whole(content.get("train-instance-count")),
        inputs=tuple(inputs),
        outputs=tuple(Channel(name, place) for name, place in _rows(content, "output")),
        parameters=tuple((name, _scalar(value)) for name, value in _rows(content, "parameters")),
        environment=tuple(_rows(content, "env-variables")),
        volumes=tuple(_volume(row) for row in _list(content.get("volumes"))),
        extra=tuple((_EXTRA[key], json.dumps(str(content[key]))) for key in _EXTRA if _is_told(content, key)),
    )
    return ReadJob(spec, tuple(not_held(left)))


def to_ma_cli(spec: JobSpec) -> str:
    """Such a file; what it has no key for is left out."""
    from yaml import safe_dump

    extra = dict(spec.extra)
    content: dict[str, Any] = {key: getattr(spec, field) for key, field in _PLAIN.items()}
    content["train-instance-count"] = spec.nodes
    inputs = list(spec.inputs)
    if inputs and inputs[0] == Channel(_DATA, inputs[0].place):
        content["data-url"] = inputs.pop(0).place
    content["input"] = _assignments([(one.name, one.place) for one in inputs])
    content["output"] = _assignments([(one.name, one.place) for one in spec.outputs])
    content["env-variables"] = _assignments(list(spec.environment))
    content["parameters"] = _assignments([(name, wire_value(value)) for name, value in spec.parameters])
    if not any(";" in volume.source + volume.mount for volume in spec.volumes):
        content["volumes"] = [_volume_words(volume) for volume in spec.volumes]
    content |= {key: _told(extra[pointer]) for key, pointer in _EXTRA.items() if pointer in extra}
    told = {key: value for key, value in content.items() if value not in ("", [])}
    return str(safe_dump(told, allow_unicode=True, sort_keys=False, width=1000))


def _assignments(rows: list[tuple[str, str]]) -> list[str]:
    """None of them where a name could not be told from its value."""
    if any(not name or name != name.strip() or "=" in name for name, _ in rows):
        return []
    return [f"{name}={value}" for name, value in rows]


def _told(content: str) -> str:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def _content(source: str) -> Mapping[str, Any]:
    from yaml import BaseLoader, MappingNode, MarkedYAMLError, SequenceNode, YAMLError, compose, load

    try:
        # Every value as it is written: 1e-3 and 007 are what the script sees.
        content = load(source, BaseLoader)
        maps = [compose(source, BaseLoader)]
        while maps:
            node = maps.pop()
            if isinstance(node, MappingNode):
                told_once([(key.value, None) for key, _ in node.value if isinstance(key.value, str)])
                maps += [value for _, value in node.value]
            elif isinstance(node, SequenceNode):
                maps += node.value
    except (YAMLError, RecursionError, ValueError) as error:
        line: object = "?"
        if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
            line = error.problem_mark.line + 1
        raise InvalidInput(
            text("Line {line}: this is not valid YAML.", line=line), text("Check indentation and colons."), str(error)
        ) from error
    if not isinstance(content, dict):
        raise InvalidInput(text("This is not a job of ma-cli."), text("Each line needs the form “option: value”."))
    return content


def _is_told(content: Mapping[str, Any], key: str) -> bool:
    return content.get(key) not in (None, "", [], {})


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise _wrong(key, text("a single value"))
    return value


def _whole(value: object) -> int:
    if value in (None, ""):
        return 1
    try:
        return int(str(value))
    except ValueError:
        raise _wrong("train-instance-count", text("a whole number")) from None


def _list(value: object) -> list[Any]:
    if value in (None, ""):
        return []
    return value if isinstance(value, list) else [value]


def _rows(content: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
    """Of a list of `name=value`, or of a map."""
    found = content.get(key)
    if isinstance(found, dict):
        for name, value in found.items():
            yield str(name), _text(value, key)
        return
    for row in _list(found):
        if isinstance(row, dict):
            yield from ((str(name), _text(value, key)) for name, value in row.items())
            continue
        name, equals, value = _text(row, key).partition("=")
        if not equals or not name.strip():
            raise _wrong(key, text("a list of name=value"))
        yield name.strip(), value


def _scalar(value: str) -> Scalar:
    return exact_scalar(value) if value == value.strip() else value


def _volume(row: object) -> Volume:
    """`local_path=/data;nfs_server_path=192.168.0.10:/;read_only=false`, or the same as a map."""
    if isinstance(row, str):
        pieces = [piece.partition("=") for piece in row.split(";") if piece.strip()]
        facts = {name.strip(): value.strip() for name, _, value in pieces}
    else:
        facts = {str(name): str(value) for name, value in row.items()} if isinstance(row, dict) else {}
    kind = next((one for one, key in VOLUME_KEYS.items() if key in facts), None)
    unknown = set(facts) - {*VOLUME_KEYS.values(), "local_path", "read_only"}
    read_only = facts.get("read_only", "false").lower()
    if kind is None or unknown or read_only not in ("true", "false"):
        raise _wrong(
            "volumes", text("text such as {example}", example="local_path=…;nfs_server_path=…;read_only=false")
        )
    return Volume(VolumeKind(kind), facts[VOLUME_KEYS[kind]], facts.get("local_path", ""), read_only == "true")


def _volume_words(volume: Volume) -> str:
    read_only = "true" if volume.read_only else "false"
    return f"local_path={volume.mount};read_only={read_only};{VOLUME_KEYS[volume.kind]}={volume.source}"


def _wrong(key: str, wanted: Text) -> InvalidInput:
    return InvalidInput(
        text("“{key}” has the wrong kind of value.", key=key), text("It must be {wanted}.", wanted=wanted)
    )
