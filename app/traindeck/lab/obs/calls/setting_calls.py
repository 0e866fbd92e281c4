"""What is stored with a bucket or an object, over the wire: settings, tags, quota, versioning, policy, ACL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import format_datetime
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any
from xml.etree import ElementTree

from aiohttp import web

from traindeck.lab.life import Workers
from traindeck.lab.obs.access import (
    blocks,
    bucket_acl,
    check_public,
    header_acl,
    object_acl,
    parsed_acl,
    stored_acl,
)
from traindeck.lab.obs.body_streams import Operations
from traindeck.lab.obs.calls.object_attributes import attributes_xml
from traindeck.lab.obs.documents import check_shape, child, children, inner, needed, parsed, texts
from traindeck.lab.obs.encryption import reading_key
from traindeck.lab.obs.errors import AccessDenied, InvalidRequest, MalformedXML, MethodNotAllowed, NoSuchKey, ObsError
from traindeck.lab.obs.locks import SETTING, is_locking, prolonged, read_retention
from traindeck.lab.obs.object_headers import GRANTS, check_headers, shown_class, storage_class
from traindeck.lab.obs.policy import checked_policy, policy_of
from traindeck.lab.obs.records import ENABLED, NULL, SUSPENDED, BucketInfo, ObjectInfo, now_ms
from traindeck.lab.obs.request import ObsRequest, answer_headers, document, element, empty, version_header
from traindeck.lab.obs.sealing import check_key
from traindeck.lab.obs.setting_rules import VERSIONING
from traindeck.lab.obs.settings import MAX_LIFECYCLE, SETTINGS, Setting, tags_of, tags_xml
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.signatures import Dialect

Call = Callable[[ObsRequest], Awaitable[web.StreamResponse]]
Named = tuple[str, Call]
BucketCall = Callable[[ObsRequest, BucketInfo], Awaitable[web.StreamResponse]]
ObjectCall = Callable[[ObsRequest, BucketInfo, ObjectInfo], Awaitable[web.StreamResponse]]
_ACL_HEADERS = GRANTS | {"acl", "date", "content-sha256", "security-token", "sdk-checksum-algorithm"}


class Settings(Operations):
    """The operations on what is kept beside the objects; `bucket_calls` and `object_calls` say which there are."""

    def __init__(self, store: ObjectStore, workers: Workers) -> None:
        super().__init__(store, workers)
        self.bucket_calls: dict[tuple[str, str], Named] = {("PUT", "acl"): ("PutBucketAcl", self._put_acl)}
        self.object_calls: dict[tuple[str, str], Named] = {("PUT", "acl"): ("PutObjectAcl", self._put_acl)}
        classes = ("storageClass", "storagePolicy")
        bucket_calls: tuple[tuple[str, tuple[str, ...], str, BucketCall], ...] = (
            ("GET", ("acl",), "GetBucketAcl", self._get_bucket_acl),
            ("PUT", ("policy",), "PutBucketPolicy", self._put_policy),
            ("GET", ("policy",), "GetBucketPolicy", self._get_policy),
            ("DELETE", ("policy",), "DeleteBucketPolicy", partial(self._forget, "policy")),
            ("GET", ("policyStatus",), "GetBucketPolicyPublicStatus", self._policy_status),
            ("GET", ("bucketStatus",), "GetBucketPublicStatus", self._bucket_status),
            ("PUT", ("versioning",), "PutBucketVersioning", self._put_versioning),
            ("GET", ("versioning",), "GetBucketVersioning", self._get_versioning),
            ("PUT", classes, "PutBucketStoragePolicy", self._put_storage_class),
            ("GET", classes, "GetBucketStoragePolicy", self._get_storage_class),
        )
        for method, names, action, call in bucket_calls:
            for name in names:
                self.bucket_calls[method, name] = action, self._of_bucket(action, call, *names)
        for setting in SETTINGS:
            name = setting.name
            put, get, delete = (f"{verb}{setting.action}" for verb in ("Put", "Get", "Delete"))
            self.bucket_calls["PUT", name] = put, self._of_bucket(put, partial(self._put_setting, setting), name)
            self.bucket_calls["GET", name] = get, self._of_bucket(get, partial(self._get_setting, setting), name)
            if setting.removing:
                right, forget = f"{setting.removing}{setting.action}", partial(self._forget, name)
                self.bucket_calls["DELETE", name] = delete, self._of_bucket(right, forget, name)
        object_calls: tuple[tuple[str, str, str, ObjectCall], ...] = (
            ("GET", "acl", "GetObjectAcl", self._get_object_acl),
            ("PUT", "tagging", "PutObjectTagging", self._put_object_tags),
            ("GET", "tagging", "GetObjectTagging", self._get_object_tags),
            ("DELETE", "tagging", "DeleteObjectTagging", self._delete_object_tags),
            ("PUT", "retention", "PutObjectRetention", self._put_retention),
            ("GET", "attributes", "GetObjectAttributes", self._get_attributes),
        )
        for method, name, action, of_object in object_calls:
            right = "GetObject" if action == "GetObjectAttributes" else action
            self.object_calls[method, name] = action, self._of_object(right, of_object, name)

    async def preflight(self, request: ObsRequest) -> web.StreamResponse:
        """The unsigned question of a browser whether it may send what a page wants sent."""
        bucket = self._store.existing(request.bucket)
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

    def _of_bucket(self, action: str, call: BucketCall, *names: str) -> Call:
        """The call behind the right to the action, with nothing else in the query."""

        async def operation(request: ObsRequest) -> web.StreamResponse:
            request.only_these(*names)
            return await call(request, self._access.bucket(request, action))

        return operation

    def _of_object(self, action: str, call: ObjectCall, name: str) -> Call:
        async def operation(request: ObsRequest) -> web.StreamResponse:
            request.only_these(name, "versionId")
            return await call(request, *await self._object(request, action))

        return operation

    async def _forget(self, name: str, request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
        await self._keep(request, name, "")
        return empty(request, 204)

    async def _put_setting(self, setting: Setting, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        self._check_locking(setting, bucket)
        body = await self._document(request, digest_needed=setting.digest_needed)
        if setting.name == "lifecycle" and len(body) > MAX_LIFECYCLE:
            raise MalformedXML("A lifecycle configuration has at most 20 KB.")
        root = parsed(body, setting.root)
        kept = setting.read(root)
        # A document may be empty and yet be set: logging switched off, for example.
        await self._keep(request, setting.name, (inner(root) or " ") if kept is None else kept)
        return empty(request, setting.put_status)

    async def _get_setting(self, setting: Setting, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        self._check_locking(setting, bucket)
        content = _kept(bucket, setting.name, setting.missing, setting.usual).strip()
        return document(request, setting.root, element(setting.element, content) if setting.element else content)

    def _check_locking(self, setting: Setting, bucket: BucketInfo) -> None:
        if setting.name == SETTING and not is_locking(bucket):
            raise InvalidRequest("Object lock is not enabled for this bucket.")

    async def _put_acl(self, request: ObsRequest) -> web.StreamResponse:
        of_object = bool(request.key)
        request.only_these("acl", *(["versionId"] if of_object else []))
        check_headers(request, _ACL_HEADERS)
        if of_object:
            bucket, info = await self._object(request, "PutObjectAcl")
            acl = await self._wanted_acl(request, info.traits.owner or bucket.owner, bucket)
            return await self._change_traits(request, bucket, info, acl=acl)
        bucket = self._access.bucket(request, "PutBucketAcl")
        await self._keep(request, "acl", await self._wanted_acl(request, bucket.owner, bucket))
        return empty(request, 200)

    async def _get_bucket_acl(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        content = bucket_acl(bucket).xml(request.dialect, of_object=False)
        return document(request, "AccessControlPolicy", content)

    async def _get_object_acl(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        content = object_acl(bucket, info).xml(request.dialect, of_object=True)
        return document(request, "AccessControlPolicy", content, version_header(request, bucket, info.version))

    async def _put_policy(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        text = checked_policy(await self._document(request), bucket.name)
        if blocks(bucket, "BlockPublicPolicy") and policy_of(text).is_public:
            raise AccessDenied("The bucket does not take policies that make it public.")
        await self._keep(request, "policy", text)
        return empty(request, 204)

    async def _get_policy(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        text = _kept(bucket, "policy", "NoSuchBucketPolicy")
        headers = {**answer_headers(request), "Content-Type": "application/json"}
        return web.Response(body=text.encode("utf-8"), headers=headers)

    async def _policy_status(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        text = _kept(bucket, "policy", "NoSuchBucketPolicy")
        return document(request, "PolicyStatus", element("IsPublic", policy_of(text).is_public))

    async def _bucket_status(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        text = bucket.settings.get("policy")
        is_public = bucket_acl(bucket).is_public or bool(text and policy_of(text).is_public)
        return document(request, "BucketStatus", element("IsPublic", is_public))

    async def _put_versioning(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        root = parsed(await self._document(request), "VersioningConfiguration")
        check_shape(root, VERSIONING)
        state = needed(root, "Status")
        if state not in (ENABLED, SUSPENDED):
            raise MalformedXML
        if state == SUSPENDED and is_locking(bucket):
            message = "An Object Lock configuration is present on this bucket, so the versioning state cannot change."
            raise ObsError(409, "InvalidBucketState", message)
        await self._workers.run(self._store.set_versioning, bucket.name, state)
        return empty(request, 200)

    async def _get_versioning(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        state = element("Status", bucket.versioning) if bucket.versioning else ""
        return document(request, "VersioningConfiguration", state)

    async def _put_storage_class(self, request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
        root = parsed(await self._document(request), "StorageClass", "StoragePolicy")
        given = (root.text or "").strip() or needed(root, "DefaultStorageClass")
        await self._keep(request, "storageClass", storage_class(given))
        return empty(request, 200)

    async def _get_storage_class(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        if "storageClass" in request.query:
            return document(request, "StorageClass", bucket.storage_class)
        shown = shown_class(bucket.storage_class, Dialect.S3)
        return document(request, "StoragePolicy", element("DefaultStorageClass", shown))

    async def _put_object_tags(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        root = parsed(await self._document(request, digest_needed=True), "Tagging")
        return await self._change_traits(request, bucket, info, tags=tags_of(root, of_object=True))

    async def _get_object_tags(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        return document(request, "Tagging", tags_xml(info.traits.tags), version_header(request, bucket, info.version))

    async def _delete_object_tags(
        self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo
    ) -> web.StreamResponse:
        return await self._change_traits(request, bucket, info, 204, tags={})

    async def _get_attributes(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        check_key(info.traits.customer, reading_key(request))
        pieces = await self._workers.run(self._store.pieces, info)
        content = attributes_xml(request, info, [size for size, _ in pieces])
        headers = version_header(request, bucket, info.version)
        headers["Last-Modified"] = format_datetime(info.modified, usegmt=True)
        return document(request, "GetObjectAttributesResponse", content, headers)

    async def _put_retention(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        body = await self._document(request)
        if not is_locking(bucket):
            raise InvalidRequest("Object lock is not enabled for the bucket.")
        end_ms = read_retention(parsed(body, "Retention"), now_ms())

        def changed(there: ObjectInfo) -> ObjectInfo:
            return replace(there, traits=replace(there.traits, locked_until_ms=prolonged(there.traits, end_ms)))

        await self._workers.run(self._store.update, request.bucket, request.key, info.version or NULL, changed)
        return empty(request, 200, version_header(request, bucket, info.version))

    async def _object(self, request: ObsRequest, action: str) -> tuple[BucketInfo, ObjectInfo]:
        bucket = self._store.existing(request.bucket)
        try:
            info = await self._workers.run(self._store.found, bucket.name, request.key, request.version)
        except NoSuchKey as error:
            raise self._access.missing(request, bucket, error) from error
        if info.is_marker:
            raise MethodNotAllowed
        self._access.object(request, bucket, info, action)
        return bucket, info

    async def _change_traits(
        self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, status: int = 200, **values: Any
    ) -> web.StreamResponse:
        def changed(there: ObjectInfo) -> ObjectInfo:
            return replace(there, traits=replace(there.traits, **values))

        await self._workers.run(self._store.update, request.bucket, request.key, request.version, changed)
        return empty(request, status, version_header(request, bucket, info.version))

    async def _wanted_acl(self, request: ObsRequest, owner: str, bucket: BucketInfo) -> str:
        body = await self._document(request)
        told = header_acl(request, owner, bucket)
        canned = request.ours("acl")
        if bool(told or canned) == bool(body.strip()):
            raise InvalidRequest("An ACL is given either by one header, by headers of grants, or by a document.")
        if told is None:
            told = stored_acl(owner, "") if canned else parsed_acl(request, body, owner)
        check_public(bucket, told)
        return told.text()

    async def _keep(self, request: ObsRequest, name: str, value: str) -> None:
        await self._workers.run(self._store.set_setting, request.bucket, name, value)


def _kept(bucket: BucketInfo, name: str, missing: str, usual: str = "") -> str:
    kept = bucket.settings.get(name)
    if kept is None and missing:
        details = {"BucketName": bucket.name}
        raise ObsError(404, missing, "The bucket has no such configuration.", details=details)
    return kept or usual


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
            texts(node, "AllowedOrigin"),
            texts(node, "AllowedMethod"),
            texts(node, "AllowedHeader"),
            texts(node, "ExposeHeader"),
            (child(node, "MaxAgeSeconds") or "").strip(),
        )
        for node in children(root, "CORSRule")
    )


def _like(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))
