"""What every operation of the service shares: who may call it, its body, its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeGuard

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT, GatewayError

if TYPE_CHECKING:
    from traindeck.lab.training.jobs import JobService

DEFAULT_WORKSPACE = "0"
MAX_NAME = 64
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")
_MAX_DESCRIPTION = 256


class RefusedError(Exception):
    """A request the service refuses, with the status and code it answers."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.code = f"ModelArts.{code}"
        self.message = message


def _typed(parent: Mapping[str, Any], key: str, kind: type, empty: Any, words: str) -> Any:
    value = parent.get(key)
    if value is not None and not isinstance(value, kind):
        raise RefusedError("0104", f"{key} must be {words}")
    return empty if value is None else value


def object_in(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _typed(parent, key, Mapping, {}, "an object")
    return found


def list_in(parent: Mapping[str, Any], key: str) -> list[Any]:
    found: list[Any] = _typed(parent, key, list, [], "a list")
    return found


def text_in(parent: Mapping[str, Any], key: str) -> str:
    return str(_typed(parent, key, str, "", "a text"))


def is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def checked_name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise RefusedError("0104", f"{what} must be 1 to {MAX_NAME} letters, digits, underscores or hyphens")
    return value


def checked_description(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _MAX_DESCRIPTION:
        raise RefusedError("0104", f"the description must be a text of at most {_MAX_DESCRIPTION} characters")
    return value


def checked_workspace(value: Any) -> str:
    if value not in (None, "", DEFAULT_WORKSPACE):
        raise RefusedError("0104", f"the workspace {value} does not exist")
    return DEFAULT_WORKSPACE


MAX_LIMIT = 50


@dataclass(frozen=True)
class Page:
    """One page of a list; `offset` is as the client gave it, `skip` counts records."""

    offset: int
    limit: int
    skip: int
    sort_by: str = "create_time"
    newest_first: bool = True

    @property
    def order(self) -> str:
        return "desc" if self.newest_first else "asc"

    @property
    def sql_order(self) -> str:
        """Rows of the same time or name stand as they were made."""
        return f"{self.sort_by} {self.order}, rowid {self.order}"


def read_page(
    query: Mapping[str, str], sort_fields: tuple[str, ...], *, counts_pages: bool, max_limit: int = MAX_LIMIT
) -> Page:
    """The first of `sort_fields` is the default."""
    limit = whole_in(query, "limit", max_limit, 1, max_limit)
    offset = whole_in(query, "offset", 0, 0, None)
    sort_by = query.get("sort_by") or sort_fields[0]
    order = query.get("order") or "desc"
    if sort_by not in sort_fields:
        raise RefusedError("2790", f"sort_by must be one of {', '.join(sort_fields)}")
    if order not in ("asc", "desc"):
        raise RefusedError("2790", "order must be asc or desc")
    return Page(offset, limit, offset * limit if counts_pages else offset, sort_by, order == "desc")


def whole_in(query: Mapping[str, str], key: str, default: int, low: int, high: int | None) -> int:
    text = query.get(key) or ""
    if not text:
        return default
    # Longer numbers are beyond what the database can count.
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not is_number or int(text) < low or (high is not None and int(text) > high):
        raise RefusedError("2764", f"{key} must be a whole number from {low}" + (f" to {high}" if high else ""))
    return int(text)


class Call:
    """One request as an operation sees it: who asks whom, and for what."""

    def __init__(self, lab: JobService, request: web.Request, content: bytes) -> None:
        self.lab = lab
        self.account = request[ACCOUNT]
        self.project_id = self.account.project_id
        self.path = request.match_info
        self.query = request.query
        self.language = request.headers.get("X-Language")
        self._content = content

    @cached_property
    def body(self) -> Mapping[str, Any]:
        try:
            body = json.loads(self._content, parse_constant=_no_constant)
        except ValueError as error:
            raise RefusedError("2787", "the body is not JSON") from error
        if not isinstance(body, dict):
            raise RefusedError("2787", "the body must be a JSON object")
        return body

    @property
    def ids(self) -> tuple[str, str]:
        """Of the project, and of what in it the operation is about."""
        project_id, wanted_id, *_ = self.path.values()
        return project_id, wanted_id

    @property
    def workspace_id(self) -> str:
        return checked_workspace(self.query.get("workspace_id"))


@dataclass(frozen=True)
class Route:
    """An operation and where it is found; what it gives is the content of the answer, `usual` where it gives None."""

    method: str
    path: str
    operation: Callable[[Call], object]
    status: HTTPStatus | None = None
    usual: object = None


def add(app: web.Application, lab: JobService, routes: Iterable[Route]) -> None:
    for route in routes:
        app.router.add_route(route.method, route.path, partial(_answer, lab, route))


async def _answer(lab: JobService, route: Route, request: web.Request) -> web.Response:
    """Lets in only the account the project belongs to, and gives refusals their form."""
    call = Call(lab, request, await request.read())
    if call.path.get("project_id", call.project_id) != call.project_id:
        message = "The project in the address does not belong to the account that signed."
        raise GatewayError(403, "ModelArts.0210", message)
    try:
        content = await lab.call(route.operation, call)
    except RefusedError as refused:
        raise GatewayError(refused.status, refused.code, refused.message) from refused
    content = route.usual if content is None else content
    if content is None:
        return web.Response(status=route.status or HTTPStatus.NO_CONTENT)
    body = json.dumps(content, allow_nan=False).encode("ascii")
    return web.Response(status=route.status or HTTPStatus.OK, body=body, content_type="application/json")


def page_answer(page: Page, total: int, items: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "total": total,
        "count": len(items),
        "limit": page.limit,
        "offset": page.offset,
        "sort_by": page.sort_by,
        "order": page.order,
        **more,
        "items": items,
    }


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
