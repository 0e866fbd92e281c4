"""Which web pages may use a bucket, by the rules its owner stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from xml.etree import ElementTree

from aiohttp import web

from traindeck.lab.obs.answers import empty
from traindeck.lab.obs.documents import Node, child, children
from traindeck.lab.obs.errors import InvalidRequest, NoSuchBucket, ObsError
from traindeck.lab.obs.records import BucketInfo
from traindeck.lab.obs.request import ObsRequest


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a CORS configuration."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...]
    exposed: tuple[str, ...]
    max_age_s: str

    def allows(self, origin: str, method: str, headers: list[str]) -> bool:
        return (
            method in self.methods
            and any(_like(origin, one) for one in self.origins)
            and all(any(_like(header, one.lower()) for one in self.headers) for header in headers)
        )

    def answer(self, origin: str, headers: list[str]) -> dict[str, str]:
        found = {
            "Access-Control-Allow-Origin": "*" if self.origins == ("*",) else origin,
            "Access-Control-Allow-Methods": ", ".join(self.methods),
            "Vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
        }
        if self.exposed:
            found["Access-Control-Expose-Headers"] = ", ".join(self.exposed)
        if headers:
            found["Access-Control-Allow-Headers"] = ", ".join(headers)
        if self.max_age_s:
            found["Access-Control-Max-Age"] = self.max_age_s
        return found


def preflight(request: ObsRequest, bucket: BucketInfo | None) -> web.StreamResponse:
    """The unsigned question of a browser whether it may send what a page wants sent."""
    if bucket is None:
        raise NoSuchBucket(request.bucket)
    origin = request.raw.header("origin")
    method = request.raw.header("access-control-request-method")
    if not origin or not method:
        raise InvalidRequest("Insufficient information. Origin and Access-Control-Request-Method are needed.")
    asked = request.raw.header("access-control-request-headers") or ""
    headers = [one.strip().lower() for one in asked.split(",") if one.strip()]
    rule = _rule(bucket, origin, method, headers)
    if rule is None:
        message = "CORSResponse: This CORS request is not allowed. No rule of the bucket fits it."
        raise ObsError(403, "AccessForbidden", message)
    return empty(request, 200, rule.answer(origin, headers))


def cors_headers(request: ObsRequest, bucket: BucketInfo | None) -> Mapping[str, str]:
    """What an answer to a page's request must carry; nothing where no rule fits."""
    origin = request.raw.header("origin")
    rule = _rule(bucket, origin, request.method, []) if bucket and origin else None
    return rule.answer(origin or "", []) if rule else {}


def _rule(bucket: BucketInfo, origin: str, method: str, headers: list[str]) -> Rule | None:
    rules = _rules(bucket.settings.get("cors", ""))
    return next((rule for rule in rules if rule.allows(origin, method, headers)), None)


@lru_cache(maxsize=64)
def _rules(text: str) -> tuple[Rule, ...]:
    root = ElementTree.fromstring(f"<CORSConfiguration>{text}</CORSConfiguration>")
    return tuple(
        Rule(
            _texts(node, "AllowedOrigin"),
            _texts(node, "AllowedMethod"),
            _texts(node, "AllowedHeader"),
            _texts(node, "ExposeHeader"),
            (child(node, "MaxAgeSeconds") or "").strip(),
        )
        for node in children(root, "CORSRule")
    )


def _texts(node: Node, name: str) -> tuple[str, ...]:
    return tuple((one.text or "").strip() for one in children(node, name))


def _like(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))
