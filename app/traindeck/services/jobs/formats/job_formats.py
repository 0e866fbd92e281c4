"""Reading a job file of any kind, and writing a form as one, with what that kind has no place for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.jobs.form.stop_time import NO_LIMIT
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.secret_names import opens
from traindeck.services.jobs.formats.ma_cli import from_ma_cli, to_ma_cli
from traindeck.services.jobs.formats.old_service import from_old_service, is_of_old_service, to_old_service
from traindeck.services.jobs.formats.reading import ReadJob, json_of
from traindeck.services.jobs.formats.rest import from_rest
from traindeck.services.jobs.modelarts.request import job_request

_WITHOUT_LIMIT = (JobFormat.JSON, JobFormat.TOOLKIT)
"""Their jobs have no limit unless one is given; read back, such a form asks for one."""
_REST_BEGINS = "#| "
"""Before the lines of our own form, in a file whose format has no place for them but takes comments."""


@dataclass(frozen=True, slots=True)
class WrittenJob:
    """A form as text; `lost` are the fields that it does not hold, `masked` the names whose values were left out."""

    content: str
    lost: tuple[Text, ...] = ()
    masked: tuple[str, ...] = ()

    @property
    def omissions(self) -> list[Text]:
        """What is to be said of that."""
        said = []
        if self.lost:
            marks = ", ".join(f"{{field{number}}}" for number in range(len(self.lost)))
            fields = Text(marks, {f"field{number}": label for number, label in enumerate(self.lost)})
            said.append(text("This format does not hold: {fields}.", fields=fields))
        if self.masked:
            said.append(text("Left empty, because they may be keys: {names}.", names=", ".join(self.masked)))
        return said


def read_job(source: str) -> ReadJob:
    """The form in a file of any kind, with what of it does not come along; raises InvalidInput."""
    read = _read(source)
    remarks = list(read.remarks)
    if empty := _empty_keys(read.spec):
        remarks.append(text("Empty in the file, because they may be keys: {names}.", names=", ".join(empty)))
    if not read.spec.stop_after:
        remarks.append(
            text("The file has no stop time. Set resources.stop_after, for example to “4h”, or to “none” for no limit.")
        )
    return replace(read, remarks=tuple(remarks))


def _read(source: str) -> ReadJob:
    source = source.removeprefix("\ufeff")
    if source.lstrip().startswith("{"):
        return _of_json(source)
    if re.search(r"^[ \t]*+\[", source, re.MULTILINE) and re.search(
        r"^[ \t]*+\[++[\w.]++\]++[ \t\r]*+(#.*)?$", source, re.MULTILINE
    ):
        return ReadJob(job_file.parse(source))
    return _of_yaml(source)


def write_job(spec: JobSpec, kind: JobFormat) -> WrittenJob:
    """The form as a file; values that look like keys by their name are left out of it."""
    kept, masked = _without_secrets(spec)
    write = _WRITERS[kind]
    content = write(kept)
    lost = _lost(kept, content)
    if kind in _WITHOUT_LIMIT and kept.stop_after == NO_LIMIT:
        lost = tuple(name for name in lost if name != "stop_after")
    if kind is JobFormat.YAML and lost:
        content, lost = content + _rest(kept, lost), ()
    labels = tuple(field.label for field in FIELDS if field.name in lost)
    return WrittenJob(content, labels, masked)


def _of_json(source: str) -> ReadJob:
    document = json_of(source)
    return from_old_service(document) if is_of_old_service(document) else from_rest(document)


def _of_yaml(source: str) -> ReadJob:
    read = from_ma_cli(source)
    rest = [line.removeprefix(_REST_BEGINS) for line in source.split("\n") if line.startswith(_REST_BEGINS)]
    if not rest:
        return read
    names, own = rest[0].split(), job_file.parse("\n".join(rest[1:]))
    kept = {field.name: getattr(own, field.name) for field in FIELDS if field.name in names}
    return replace(read, spec=replace(read.spec, **kept))


def _rest(spec: JobSpec, names: tuple[str, ...]) -> str:
    """What YAML has no key for, as comments that are read back."""
    own = replace(JobSpec(), **{name: getattr(spec, name) for name in names})
    lines = [" ".join(names), *job_file.to_toml(own).split("\n")]
    return "".join(f"{_REST_BEGINS}{_escaped(line)}\n" for line in lines)


def _escaped(line: str) -> str:
    """What would end a comment of YAML, or may not stand in one, as TOML writes it in strings."""
    return "".join(
        character if character.isprintable() else f"\\U{ord(character):08X}" for character in line.rstrip("\r")
    )


def _lost(spec: JobSpec, content: str) -> tuple[str, ...]:
    back = _read(content).spec
    return tuple(field.name for field in FIELDS if getattr(back, field.name) != getattr(spec, field.name))


def _empty_keys(spec: JobSpec) -> tuple[str, ...]:
    """What has no value where one would be a key: an export left it out."""
    return tuple(name for name, value in (*spec.parameters, *spec.environment) if opens(name) and value == "")


def _without_secrets(spec: JobSpec) -> tuple[JobSpec, tuple[str, ...]]:
    masked = [name for name, value in (*spec.parameters, *spec.environment) if opens(name) and value != ""]
    return replace(
        spec,
        parameters=tuple((name, "" if name in masked else value) for name, value in spec.parameters),
        environment=tuple((name, "" if name in masked else value) for name, value in spec.environment),
    ), tuple(masked)


def _request_text(spec: JobSpec) -> str:
    """The body of a create request, with places and code as the form has them."""
    spec = replace(spec, stop_after=spec.stop_after or NO_LIMIT)
    body = job_request(spec.name, spec.for_run(spec.name), _code(spec))
    return _json(body)


def _code(spec: JobSpec) -> ObjectPath | None:
    """Where the code would be; it is put into a place of its own by a submission alone."""
    places = [spec.log_to, *(channel.place for channel in (*spec.outputs, *spec.inputs))]
    first = next((place for place in places if place), "")
    return ObjectPath(ObjectPath.parse(first).bucket, f"{spec.name}/code/") if first and spec.has_own_code else None


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


_WRITERS: Mapping[JobFormat, Callable[[JobSpec], str]] = {
    JobFormat.TOML: job_file.to_toml,
    JobFormat.YAML: to_ma_cli,
    JobFormat.JSON: _request_text,
    JobFormat.TOOLKIT: lambda spec: _json(to_old_service(spec)),
}
