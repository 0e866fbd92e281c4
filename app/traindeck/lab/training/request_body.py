"""Takes values out of a request and refuses, with the service's codes, what has the wrong form."""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

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


def object_in(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RefusedError("0104", f"{key} must be an object")
    return value


def list_in(parent: Mapping[str, Any], key: str) -> list[Any]:
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RefusedError("0104", f"{key} must be a list")
    return value


def text_in(parent: Mapping[str, Any], key: str) -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RefusedError("0104", f"{key} must be a text")
    return value


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
