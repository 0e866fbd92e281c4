"""What the service has to offer and to whom: engines, flavors, pools, quotas, workspaces, and the account itself."""

from typing import Any

from traindeck.lab.training.api.routes import DEFAULT_WORKSPACE, Call, RefusedError, Route, is_whole, list_in
from traindeck.lab.training.catalogue import FLAVOR_TYPES
from traindeck.lab.training.jobs import JOBS

_CATEGORIES = {
    "JobStarted": "The training job has started.",
    "JobCompleted": "The training job has completed.",
    "JobFailed": "The training job has failed.",
    "JobTerminated": "The training job was terminated.",
    "JobRestarted": "The training job was restarted.",
    "JobHanged": "The training job seems to hang.",
    "JobPreempted": "The training job lost its resources to another one.",
}


def _engines(call: Call) -> dict[str, Any]:
    rows = [engine.entry() for engine in call.lab.catalogue.engines]
    return {"total": len(rows), "items": rows}


def _flavors(call: Call) -> dict[str, Any]:
    wanted = _flavor_type(call)
    rows = [flavor.entry() for flavor in call.lab.catalogue.flavors if wanted in ("", flavor.type)]
    return {"total_count": len(rows), "flavors": rows}


def _flavor_type(call: Call) -> str:
    wanted = call.query.get("flavor_type") or ""
    if wanted and wanted not in FLAVOR_TYPES:
        raise RefusedError("0104", f"flavor_type must be one of {', '.join(FLAVOR_TYPES)}")
    return wanted


def _pools(call: Call) -> dict[str, Any]:
    catalogue = call.lab.catalogue
    items = [pool.entry(catalogue.flavors_of(pool.id)) for pool in catalogue.pools]
    return {"apiVersion": "v2", "kind": "PoolList", "items": items}


def _pool_flavor(call: Call) -> dict[str, Any]:
    pool_id, flavor_id = call.query.get("pool_id") or "(none)", call.query.get("flavor_id") or ""
    flavors = call.lab.catalogue.flavors_of(pool_id)
    if not flavors:
        raise RefusedError("2890", f"the resource pool {pool_id} does not exist", status=404)
    flavor = next((flavor for flavor in flavors if flavor_id in ("", flavor.id)), None)
    if flavor is None:
        raise RefusedError("2781", f"the flavor {flavor_id} does not exist")
    return {"cpu_core_num": float(flavor.cpu["core_num"]), "mem_size": float(flavor.memory_gb)}


def _event_categories(call: Call) -> dict[str, Any]:
    _flavor_type(call)
    rows = [{"id": name, "name": name, "description": text, "notification": True} for name, text in _CATEGORIES.items()]
    return {"event-categories": rows}


def _quotas(call: Call) -> dict[str, Any]:
    return {"quotas": [_quota(call)] if (call.query.get("resource") or JOBS) == JOBS else []}


def _quota(call: Call) -> dict[str, Any]:
    records = call.lab.records
    return {"resource": JOBS, "quota": records.quota(call.project_id), "used": records.count(call.project_id)}


def _change_quotas(call: Call) -> dict[str, Any]:
    for row in list_in(call.body, "quotas"):
        if not isinstance(row, dict) or row.get("resource") != JOBS:
            raise RefusedError("0104", f"the Lab has a quota of {JOBS} only")
        if not is_whole(row.get("quota")) or row["quota"] < 0:
            raise RefusedError("2816", "a quota must be a whole number from 0")
        call.lab.records.set_quota(call.project_id, row["quota"])
    return {"user_id": call.body.get("user_id") or call.account.user_id, "quotas": [_quota(call)]}


def _authorizations(call: Call) -> dict[str, Any]:
    row = {
        "user_id": call.account.user_id,
        "user_name": call.account.user_name,
        "type": "agency",
        "content": "modelarts_agency",
        "user_type": "",
        "create_time": 0,
    }
    return {"total_count": 1, "auth": [row]}


def _workspaces(call: Call) -> dict[str, Any]:
    row = {
        "id": DEFAULT_WORKSPACE,
        "name": "default",
        "description": "",
        "owner": call.account.user_name,
        "enterprise_project_id": "0",
        "status": "NORMAL",
        "status_info": "",
        "auth_type": "PUBLIC",
    }
    return {"workspaces": [row], "total_count": 1, "count": 1}


# The part of IAM that clients ask before they train.


def _projects(call: Call) -> dict[str, Any]:
    account = call.account
    project = {
        "id": account.project_id,
        "name": account.region,
        "domain_id": account.domain_id,
        "parent_id": account.domain_id,
        "enabled": True,
        "is_domain": False,
        "description": "",
        "links": {},
    }
    return {"projects": [project] if call.query.get("name") in (None, account.region) else [], "links": {}}


def _domains(call: Call) -> dict[str, Any]:
    account = call.account
    domain = {"id": account.domain_id, "name": account.name, "enabled": True, "description": "", "links": {}}
    return {"domains": [domain], "links": {}}


ROUTES = (
    Route("GET", "/v2/{project_id}/training-job-engines", _engines),
    Route("GET", "/v2/{project_id}/training-job-flavors", _flavors),
    Route("GET", "/v2/{project_id}/training-pool-flavors", _pool_flavor),
    Route("GET", "/v2/{project_id}/training-event-categories", _event_categories),
    Route("GET", "/v2/{project_id}/training-quotas", _quotas),
    Route("PUT", "/v2/{project_id}/training-quotas", _change_quotas),
    Route("GET", "/v2/{project_id}/pools", _pools),
    Route("GET", "/v2/{project_id}/authorizations", _authorizations),
    Route("GET", "/v1/auth-mode", lambda call: {"domain_id": call.account.domain_id, "mode": "default"}),
    Route("GET", "/v1/{project_id}/workspaces", _workspaces),
    Route("GET", "/v3/projects", _projects),
    Route("GET", "/v3/auth/projects", _projects),
    Route("GET", "/v3/auth/domains", _domains),
)
