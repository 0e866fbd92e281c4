"""Buckets over the wire: making, finding, describing, removing."""

from __future__ import annotations

from contextlib import suppress

from aiohttp import web

from traindeck.lab.life import Workers
from traindeck.lab.obs.access import header_acl
from traindeck.lab.obs.body_streams import Operations
from traindeck.lab.obs.calls.list_calls import max_keys
from traindeck.lab.obs.documents import child, parsed
from traindeck.lab.obs.errors import BucketAlreadyOwnedByYou, InvalidArgument, NotImplementedHere, ObsError
from traindeck.lab.obs.locks import ENABLED_DOCUMENT, SETTING
from traindeck.lab.obs.object_headers import CREATE_HEADERS, check_headers, shown_class, storage_class
from traindeck.lab.obs.records import ENABLED
from traindeck.lab.obs.request import ObsRequest, document, element, elements, empty, identity, stamp
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.signatures import Dialect

MAX_BUCKETS = 100
_ZONES = "azRedundancy"


class Buckets(Operations):
    """The operations on the service and on a bucket."""

    def __init__(self, store: ObjectStore, workers: Workers, region: str) -> None:
        super().__init__(store, workers)
        self._region = region

    async def list_all(self, request: ObsRequest) -> web.StreamResponse:
        # The later ones are how newer S3 clients ask for pages.
        request.only_these("marker", "max-keys", "max-buckets", "continuation-token", "prefix", "bucket-region")
        owner = request.payer.domain_id
        after = request.query.get("continuation-token", request.query.get("marker", ""))
        prefix = request.query.get("prefix", "")
        found = [one for one in self._store.buckets(owner) if one.name > after and one.name.startswith(prefix)]
        if request.ours("bucket-type") == "POSIX":
            found = []
        name = "max-keys" if "max-keys" in request.query else "max-buckets"
        limit = max_keys(request.query, name) if name in request.query else len(found)
        shown = found[:limit]
        buckets = ""
        for one in shown:
            told = elements(Name=one.name, CreationDate=stamp(one.created_ms), Location=self._region)
            buckets += f"<Bucket>{told}{element('BucketType', 'OBJECT')}</Bucket>"
        content = f"<Owner>{identity(owner, request.dialect)}</Owner><Buckets>{buckets}</Buckets>"
        if len(shown) < len(found):
            last = shown[-1].name if shown else ""
            content += elements(IsTruncated=True, NextMarker=last, ContinuationToken=last)
        return document(request, "ListAllMyBucketsResult", content)

    async def create(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        owner = request.payer.domain_id
        if (request.in_any_dialect("fs-file-interface") or "").lower() == "enabled":
            raise NotImplementedHere("parallel file systems")
        check_headers(request, CREATE_HEADERS)
        _check_ownership(request)
        body = await self._document(request)
        root = parsed(body, "CreateBucketConfiguration") if body.strip() else None
        wanted = root is not None and (child(root, "Location") or child(root, "LocationConstraint"))
        if wanted and wanted != self._region:
            message = f"The Lab has one region, {self._region}; {wanted} is not it."
            raise ObsError(400, "InvalidLocationConstraint", message)
        settings: dict[str, str] = {}
        if storage := request.ours("storage-class") or request.raw.header("x-default-storage-class"):
            settings["storageClass"] = storage_class(storage)
        if zones := request.in_any_dialect("az-redundancy"):
            if zones != "3az":
                raise InvalidArgument("az-redundancy", zones)
            settings[_ZONES] = zones
        versioning = ""
        locking = (request.ours("bucket-object-lock-enabled") or "false").lower()
        if locking not in ("true", "false"):
            raise InvalidArgument("bucket-object-lock-enabled", locking)
        if locking == "true":
            settings[SETTING], versioning = ENABLED_DOCUMENT, ENABLED
        if acl := header_acl(request, owner):
            settings["acl"] = acl.text()
        if self._store.bucket(request.bucket) is None and len(self._store.buckets(owner)) >= MAX_BUCKETS:
            raise ObsError(400, "TooManyBuckets", "You have attempted to create more buckets than allowed.")
        # The same owner asks again: the bucket is there with its first attributes, and that is a success.
        with suppress(BucketAlreadyOwnedByYou):
            await self._workers.run(self._store.create_bucket, request.bucket, owner, settings, versioning)
        return empty(request, 200, {"Location": f"/{request.bucket}"})

    async def head(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        bucket = self._access.bucket(request, "HeadBucket")
        location = "bucket-location" if request.dialect is Dialect.OBS else "bucket-region"
        storage = "x-obs-storage-class" if request.dialect is Dialect.OBS else "x-default-storage-class"
        headers = {f"{request.dialect.value}{location}": self._region, "x-obs-version": "3.0"}
        if zones := bucket.settings.get(_ZONES):
            headers["x-obs-az-redundancy"] = zones
        headers[storage] = shown_class(bucket.storage_class, request.dialect)
        return empty(request, 200, headers)

    async def probe(self, request: ObsRequest) -> web.StreamResponse:
        """The unsigned question which dialect is spoken here."""
        if request.bucket:
            self._store.existing(request.bucket)
        return empty(request, 200, {"x-obs-api": "3.0"})

    async def location(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("location")
        self._access.bucket(request, "GetBucketLocation")
        if request.dialect is Dialect.OBS:
            return document(request, "Location", self._region)
        # The OBS SDK looks for a child of this name, S3 clients read the text of the root: both find it.
        return document(request, "LocationConstraint", self._region + element("LocationConstraint", self._region))

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        self._access.bucket(request, "DeleteBucket")
        await self._workers.run(self._store.delete_bucket, request.bucket)
        return empty(request, 204)

    async def storage_info(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("storageinfo")
        bucket = self._access.bucket(request, "GetBucketStorage")
        size, count = await self._workers.run(self._store.used, bucket.name)
        return document(request, "GetBucketStorageInfoResult", elements(Size=size, ObjectNumber=count))


def _check_ownership(request: ObsRequest) -> None:
    """Whose the objects of a bucket are: here, as by default of old, whoever writes one owns it."""
    wanted = request.ours("object-ownership")
    if wanted in ("BucketOwnerEnforced", "BucketOwnerPreferred"):
        raise NotImplementedHere(f"buckets with the ownership {wanted}")
    if wanted not in (None, "ObjectWriter"):
        raise InvalidArgument("object-ownership", wanted or "")
