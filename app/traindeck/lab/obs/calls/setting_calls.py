"""What is stored with a bucket or an object, over the wire: settings, tags, quota, versioning, policy, ACL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from aiohttp import web

from traindeck.lab.life import Workers
from traindeck.lab.obs.access import Access, object_acl
from traindeck.lab.obs.acl import canned_acl, granted_acl, parsed_acl, stored_acl
from traindeck.lab.obs.answers import answer_headers, document, element, empty
from traindeck.lab.obs.body_streams import Operations, Receiver
from traindeck.lab.obs.errors import (
    AccessDenied,
    InvalidArgument,
    InvalidRequest,
    MalformedXML,
    NoSuchBucket,
    NoSuchKey,
    ObsError,
)
from traindeck.lab.obs.object_headers import GRANTS, check_headers, shown_class, storage_class
from traindeck.lab.obs.policy import checked_policy, policy_of
from traindeck.lab.obs.records import ENABLED, SUSPENDED, BucketInfo, ObjectInfo, whole_number
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.settings import (
    MAX_LIFECYCLE,
    SETTINGS,
    Node,
    Setting,
    child,
    children,
    inner,
    needed,
    parsed,
    parsed_tags,
    tags_xml,
)
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.signatures import Dialect

Call = Callable[[ObsRequest], Awaitable[web.StreamResponse]]
Named = tuple[str, Call]
BucketCall = Callable[[ObsRequest, BucketInfo], Awaitable[web.StreamResponse]]
ObjectCall = Callable[[ObsRequest, BucketInfo, ObjectInfo], Awaitable[web.StreamResponse]]
_ACL_HEADERS = GRANTS | {"acl", "date", "content-sha256", "security-token", "sdk-checksum-algorithm"}


class Settings(Operations):
    """The operations on what is kept beside the objects; `bucket_calls` and `object_calls` say which there are."""

    def __init__(self, store: ObjectStore, access: Access, receiver: Receiver, workers: Workers) -> None:
        super().__init__(store, access, receiver, workers)
        self.bucket_calls: dict[tuple[str, str], Named] = {("PUT", "acl"): ("PutBucketAcl", self._put_bucket_acl)}
        self.object_calls: dict[tuple[str, str], Named] = {("PUT", "acl"): ("PutObjectAcl", self._put_object_acl)}
        classes = ("storageClass", "storagePolicy")
        bucket_calls: tuple[tuple[str, tuple[str, ...], str, BucketCall], ...] = (
            ("GET", ("acl",), "GetBucketAcl", self._get_bucket_acl),
            ("PUT", ("policy",), "PutBucketPolicy", self._put_policy),
            ("GET", ("policy",), "GetBucketPolicy", self._get_policy),
            ("DELETE", ("policy",), "DeleteBucketPolicy", self._forget("policy")),
            ("GET", ("policyStatus",), "GetBucketPolicyPublicStatus", self._policy_status),
            ("GET", ("bucketStatus",), "GetBucketPublicStatus", self._bucket_status),
            ("PUT", ("versioning",), "PutBucketVersioning", self._put_versioning),
            ("GET", ("versioning",), "GetBucketVersioning", self._get_versioning),
            ("PUT", ("quota",), "PutBucketQuota", self._put_quota),
            ("GET", ("quota",), "GetBucketQuota", self._get_quota),
            ("PUT", classes, "PutBucketStoragePolicy", self._put_storage_class),
            ("GET", classes, "GetBucketStoragePolicy", self._get_storage_class),
            ("PUT", ("tagging",), "PutBucketTagging", self._put_bucket_tags),
            ("GET", ("tagging",), "GetBucketTagging", self._get_bucket_tags),
            ("DELETE", ("tagging",), "DeleteBucketTagging", self._forget("tagging")),
        )
        for method, names, action, call in bucket_calls:
            for name in names:
                self.bucket_calls[method, name] = action, self._of_bucket(action, call, *names)
        for setting in SETTINGS.values():
            name, action = setting.name, setting.action
            put, get, forget = self._put_setting(setting), self._get_setting(setting), self._forget(name)
            self.bucket_calls["PUT", name] = f"Put{action}", self._of_bucket(f"Put{action}", put, name)
            self.bucket_calls["GET", name] = f"Get{action}", self._of_bucket(f"Get{action}", get, name)
            if setting.is_removable:
                # The right to change a setting is the right to remove it, but for websites.
                right = f"Delete{action}" if name == "website" else f"Put{action}"
                self.bucket_calls["DELETE", name] = f"Delete{action}", self._of_bucket(right, forget, name)
        object_calls: tuple[tuple[str, str, str, ObjectCall], ...] = (
            ("GET", "acl", "GetObjectAcl", self._get_object_acl),
            ("PUT", "tagging", "PutObjectTagging", self._put_object_tags),
            ("GET", "tagging", "GetObjectTagging", self._get_object_tags),
            ("DELETE", "tagging", "DeleteObjectTagging", self._delete_object_tags),
        )
        for method, name, action, of_object in object_calls:
            self.object_calls[method, name] = action, self._of_object(action, of_object, name)

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

    def _forget(self, name: str) -> BucketCall:
        async def forget(request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
            await self._keep(request, name, "")
            return empty(request, 204)

        return forget

    def _put_setting(self, setting: Setting) -> BucketCall:
        async def put(request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
            body = await self._receiver.document(request, digest_needed=setting.digest_needed)
            if setting.name == "lifecycle" and len(body) > MAX_LIFECYCLE:
                raise MalformedXML("A lifecycle configuration has at most 20 KB.")
            root = parsed(body, setting.root)
            setting.check(root)
            # A document may be empty and yet be set: logging switched off, for example.
            await self._keep(request, setting.name, inner(root) or " ")
            return empty(request, setting.put_status)

        return put

    def _get_setting(self, setting: Setting) -> BucketCall:
        async def get(request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
            kept = bucket.settings.get(setting.name)
            if kept is None and setting.missing:
                raise _not_set(setting.missing, bucket)
            return document(request, setting.root, (kept or setting.usual).strip())

        return get

    async def _put_bucket_acl(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("acl")
        check_headers(request, _ACL_HEADERS)
        bucket = self._access.bucket(request, "PutBucketAcl")
        body = await self._receiver.document(request)
        acl = _wanted_acl(request, body, bucket.owner, bucket.owner, of_object=False)
        await self._keep(request, "acl", acl)
        return empty(request, 200)

    async def _get_bucket_acl(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        acl = stored_acl(bucket.owner, bucket.settings.get("acl", ""))
        return document(request, "AccessControlPolicy", acl.xml(request.dialect, of_object=False))

    async def _put_object_acl(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("acl", "versionId")
        check_headers(request, _ACL_HEADERS)
        bucket, info = await self._object(request, "PutObjectAcl")
        body = await self._receiver.document(request)
        acl = _wanted_acl(request, body, info.traits.owner or bucket.owner, bucket.owner, of_object=True)
        await self._change_traits(request, {"acl": acl})
        return empty(request, 200, _version(request, bucket, info))

    async def _get_object_acl(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        content = object_acl(bucket, info).xml(request.dialect, of_object=True)
        return document(request, "AccessControlPolicy", content, _version(request, bucket, info))

    async def _put_policy(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        text = checked_policy(await self._receiver.document(request), bucket.name)
        blocked = "<BlockPublicPolicy>true</BlockPublicPolicy>" in bucket.settings.get("publicAccessBlock", "")
        if blocked and policy_of(text).is_public:
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
        is_public = stored_acl(bucket.owner, bucket.settings.get("acl", "")).is_public
        is_public = is_public or bool(text and policy_of(text).is_public)
        return document(request, "BucketStatus", element("IsPublic", is_public))

    async def _put_versioning(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        root = parsed(await self._receiver.document(request), "VersioningConfiguration")
        state = needed(root, "Status")
        if state not in (ENABLED, SUSPENDED):
            raise MalformedXML
        await self._workers.run(self._store.set_versioning, bucket.name, state)
        return empty(request, 200)

    async def _get_versioning(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        state = element("Status", bucket.versioning) if bucket.versioning else ""
        return document(request, "VersioningConfiguration", state)

    async def _put_quota(self, request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
        text = needed(parsed(await self._receiver.document(request), "Quota"), "StorageQuota")
        quota = whole_number(text)
        if quota is None:
            raise InvalidArgument("StorageQuota", text)
        await self._keep(request, "quota", str(quota) if quota else "")
        return empty(request, 200)

    async def _get_quota(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        return document(request, "Quota", element("StorageQuota", bucket.settings.get("quota", "0")))

    async def _put_storage_class(self, request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
        root = parsed(await self._receiver.document(request), "StorageClass", "StoragePolicy")
        given = (root.text or "").strip() or needed(root, "DefaultStorageClass")
        await self._keep(request, "storageClass", storage_class(given))
        return empty(request, 200)

    async def _get_storage_class(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        if "storageClass" in request.query:
            return document(request, "StorageClass", bucket.storage_class)
        shown = shown_class(bucket.storage_class, Dialect.S3)
        return document(request, "StoragePolicy", element("DefaultStorageClass", shown))

    async def _put_bucket_tags(self, request: ObsRequest, _: BucketInfo) -> web.StreamResponse:
        body = await self._receiver.document(request, digest_needed=True)
        await self._keep(request, "tagging", tags_xml(parsed_tags(body, of_object=False)))
        return empty(request, 204)

    async def _get_bucket_tags(self, request: ObsRequest, bucket: BucketInfo) -> web.StreamResponse:
        kept = _kept(bucket, "tagging", "NoSuchTagSet")
        return document(request, "Tagging", kept)

    async def _put_object_tags(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        tags = parsed_tags(await self._receiver.document(request, digest_needed=True), of_object=True)
        await self._change_traits(request, {"tags": tags})
        return empty(request, 200, _version(request, bucket, info))

    async def _get_object_tags(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> web.StreamResponse:
        return document(request, "Tagging", tags_xml(info.traits.tags), _version(request, bucket, info))

    async def _delete_object_tags(
        self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo
    ) -> web.StreamResponse:
        await self._change_traits(request, {"tags": {}})
        return empty(request, 204, _version(request, bucket, info))

    async def _object(self, request: ObsRequest, action: str) -> tuple[BucketInfo, ObjectInfo]:
        bucket = self._store.bucket(request.bucket) or self._access.bucket(request, action)
        try:
            info = await self._workers.run(self._store.found, bucket.name, request.key, request.version)
        except NoSuchKey as error:
            raise self._access.missing(request, bucket, error) from error
        if info.is_marker:
            raise ObsError(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        self._access.object(request, bucket, info, action)
        return bucket, info

    async def _change_traits(self, request: ObsRequest, values: Mapping[str, Any]) -> None:
        def changed(info: ObjectInfo) -> ObjectInfo:
            return replace(info, traits=replace(info.traits, **values))

        await self._workers.run(self._store.update, request.bucket, request.key, request.version, changed)

    async def _keep(self, request: ObsRequest, name: str, value: str) -> None:
        await self._workers.run(self._store.set_setting, request.bucket, name, value)


def _wanted_acl(request: ObsRequest, body: bytes, owner: str, bucket_owner: str, *, of_object: bool) -> str:
    canned = request.ours("acl")
    granted = granted_acl(request.our_headers(), owner)
    if sum(bool(one) for one in (canned, granted, body.strip())) != 1:
        raise InvalidRequest("An ACL is given either by one header, by headers of grants, or by a document.")
    if canned:
        return canned_acl(canned, owner, bucket_owner, of_object=of_object).text()
    return (granted or parsed_acl(body, owner)).text()


def _version(request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> dict[str, str]:
    return {f"{request.dialect.value}version-id": info.version or "null"} if bucket.versioning else {}


def _kept(bucket: BucketInfo, name: str, missing: str) -> str:
    if (kept := bucket.settings.get(name)) is None:
        raise _not_set(missing, bucket)
    return kept


def _not_set(code: str, bucket: BucketInfo) -> ObsError:
    return ObsError(404, code, "The bucket has no such configuration.", details={"BucketName": bucket.name})


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
