"""A create request of the service, or a job as it tells one, read as a form; what neither holds is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from traindeck.domain.jobs.job_spec import Target
from traindeck.services.jobs.formats.reading import ReadJob, fitting_name, not_held
from traindeck.services.jobs.modelarts.adoption import spec_of
from traindeck.services.jobs.modelarts.pointers import ROWS

_Content = dict[str, Any]
# What opens a running job is in no form.
_OPENERS = ("jupyter_lab", "tensorboard", "mindstudio_insight")


def from_rest(document: _Content) -> ReadJob:
    """Raises InvalidInput for what is no job."""
    spec = spec_of(document, Target.MODELARTS, is_import=True)
    if not _map(_map(document, "spec"), "auto_stop"):
        spec = replace(spec, stop_after="")  # no one typed that it has no limit
    name = str(_map(document, "metadata").get("name") or "")
    bare, remarks = fitting_name(name)
    return ReadJob(spec, (*(remarks if bare == spec.name else []), *not_held(_left_out(document))))


def _left_out(document: _Content) -> Iterator[str]:
    """Rows that nothing can be known by, and values of a kind that their place does not take."""
    for pointer in ROWS:
        kind = pointer.rpartition("/")[2]
        names = set()
        rows = _map(document, "algorithm").get(kind)
        if rows and not isinstance(rows, list):
            yield f"algorithm.{kind}"
        for number, row in enumerate(_list(rows)):
            name = row.get("name") if isinstance(row, dict) else None
            if not name or (kind == "parameters" and name in names):
                yield f"algorithm.{kind}[{number}]"
            names.add(name)
    for number, row in enumerate(_list(_map(document, "metadata").get("tags"))):
        if not (isinstance(row, dict) and row.get("key")):
            yield f"metadata.tags[{number}]"
    algorithm = _map(document, "algorithm")
    if not isinstance(algorithm.get("environments") or {}, dict):
        yield "algorithm.environments"
    resource = _map(_map(document, "spec"), "resource")
    policy = _map(_map(document, "spec"), "schedule_policy")
    for place, value in (("resource.node_count", resource.get("node_count")),
                         ("schedule_policy.priority", policy.get("priority"))):  # fmt: skip
        if value not in (None, "") and not str(value).isdecimal():
            yield f"spec.{place}"
    yield from (f"endpoints.{name}" for name in _OPENERS if _map(document, "endpoints").get(name))


def _map(document: _Content, name: str) -> _Content:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _list(rows: object) -> list[Any]:
    return rows if isinstance(rows, list) else []
