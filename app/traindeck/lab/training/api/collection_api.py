"""The operations on what users keep beside their jobs: algorithms, experiments, and the tags of jobs."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from traindeck.lab.training.api.routes import (
    DEFAULT_WORKSPACE,
    Call,
    Page,
    RefusedError,
    Route,
    list_in,
    page_answer,
    read_page,
    whole_in,
)
from traindeck.lab.training.collection import checked_experiment_name
from traindeck.lab.training.database import Where
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_tags import Tag, by_key, merged, read_tag_search, read_tags, without

_SORT_FIELDS = ("create_time", "update_time", "name")
_MOST_TAGS = 1000


def _algorithms(call: Call) -> dict[str, Any]:
    # Unlike jobs and experiments, algorithms are skipped one by one.
    page = read_page(call.query, _SORT_FIELDS, counts_pages=False)
    wanted = ("instr(name, ?) > 0", [call.query.get("searches") or ""])
    total, found = call.lab.algorithms.search([*_here(call), wanted], page)
    return page_answer(page, total, [algorithm["document"] for algorithm in found])


def _experiments(call: Call) -> dict[str, Any]:
    page = read_page(call.query, _SORT_FIELDS, counts_pages=True)
    total, found = call.lab.experiments.search(_here(call), page)
    return page_answer(page, total, [call.lab.experiments.answer(experiment) for experiment in found])


def _here(call: Call) -> Where:
    return [("project_id = ?", [call.project_id]), ("workspace_id = ?", [call.workspace_id])]


def _is_taken(call: Call) -> dict[str, Any]:
    name = checked_experiment_name(call.query.get("experiment_name"))
    return {"is_duplicate": call.lab.experiments.named(call.project_id, call.workspace_id, name) is not None}


def _add_tags(call: Call) -> None:
    tags = read_tags(_tag_rows(call))
    _change_tags(call, lambda old: merged(old, tags))


def _remove_tags(call: Call) -> None:
    rows = _tag_rows(call)
    _change_tags(call, lambda old: without(old, rows))


def _tag_rows(call: Call) -> list[Any]:
    rows = list_in(call.body, "tags")
    if not rows:
        raise RefusedError("0104", "there must be at least one tag")
    return rows


def _change_tags(call: Call, change: Callable[[list[Tag]], list[Tag]]) -> None:
    def changed(job: JobRecord) -> None:
        job.document["metadata"]["tags"] = change(_tags_of(job))

    call.lab.change_job(*call.ids, changed)


def _tags_of(job: JobRecord) -> list[Tag]:
    return job.document["metadata"].get("tags") or []


def _tags(call: Call) -> dict[str, Any]:
    limit = whole_in(call.query, "limit", _MOST_TAGS, 1, _MOST_TAGS)
    skip = whole_in(call.query, "offset", 0, 0, None)
    tags = call.lab.records.tags(call.project_id)
    return {"tags": by_key(tags)[skip : skip + limit]}


def _tagged_jobs(call: Call) -> dict[str, Any]:
    page = read_page(call.query, ("create_time",), counts_pages=False, max_limit=_MOST_TAGS)
    wanted = read_tag_search(call.body, call.project_id)
    total, found = call.lab.records.search(wanted, page, "create_time DESC, id")
    rows = [
        {
            "resource_id": job.id,
            "resource_name": job.name,
            "resource_detail": {},
            "workspace_id": job.workspace_id or DEFAULT_WORKSPACE,
            "tags": _tags_of(job),
        }
        for job in found
    ]
    return {"resources": rows, "total_count": total}


def _count_tagged_jobs(call: Call) -> dict[str, Any]:
    wanted = read_tag_search(call.body, call.project_id)
    return {"total_count": call.lab.records.search(wanted, Page(0, 1, 0), "id")[0]}


_ALGORITHMS = "/v2/{project_id}/algorithms"
_ALGORITHM = _ALGORITHMS + "/{algorithm_id}"
_EXPERIMENTS = "/v2/{project_id}/training-experiments"
_EXPERIMENT = _EXPERIMENTS + "/{experiment_id}"
_TAGGED = "/v2/{project_id}/modelarts-training-job"
ROUTES = (
    Route("POST", _ALGORITHMS, lambda call: call.lab.algorithms.create(call.account, call.body), HTTPStatus.CREATED),
    Route("GET", _ALGORITHMS, _algorithms),
    Route("GET", _ALGORITHM, lambda call: call.lab.algorithms.one(*call.ids)["document"]),
    Route("PUT", _ALGORITHM, lambda call: call.lab.algorithms.change(*call.ids, call.body)),
    Route("DELETE", _ALGORITHM, lambda call: call.lab.algorithms.delete(*call.ids), HTTPStatus.ACCEPTED, ""),
    Route("POST", _EXPERIMENTS, lambda call: call.lab.experiments.create(call.account, call.body), HTTPStatus.CREATED),
    Route("GET", _EXPERIMENTS, _experiments),
    Route("GET", _EXPERIMENT, lambda call: call.lab.experiments.answer(call.lab.experiments.one(*call.ids))),
    Route("PUT", _EXPERIMENT, lambda call: call.lab.experiments.change(*call.ids, call.body)),
    Route("DELETE", _EXPERIMENT, lambda call: call.lab.experiments.delete(*call.ids), HTTPStatus.OK, {}),
    Route("GET", "/v2/{project_id}/training-experiment-names", _is_taken),
    Route("POST", _TAGGED + "/{job_id}/tags/create", _add_tags),
    Route("DELETE", _TAGGED + "/{job_id}/tags/delete", _remove_tags),
    Route("GET", _TAGGED + "/{job_id}/tags", lambda call: {"tags": _tags_of(call.lab.records.one(*call.ids))}),
    Route("GET", _TAGGED + "/tags", _tags),
    Route("POST", _TAGGED + "/resource-instances/filter", _tagged_jobs),
    Route("POST", _TAGGED + "/resource-instances/count", _count_tagged_jobs),
)
