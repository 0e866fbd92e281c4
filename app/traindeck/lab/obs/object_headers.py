"""What a request says about an object in its headers, and what an answer says about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime
from urllib.parse import parse_qsl

from traindeck.lab.obs.access import GRANT_HEADERS, Access, blocks, canned_acl, check_public, header_acl
from traindeck.lab.obs.body_streams import IncomingBody
from traindeck.lab.obs.encryption import (
    CUSTOMER_HEADERS,
    SERVICE_HEADERS,
    SOURCE_HEADERS,
    encryption_headers,
    wanted_encryption,
)
from traindeck.lab.obs.errors import InvalidArgument, NotImplementedHere, ObsError
from traindeck.lab.obs.locks import lock_headers, wanted_end_ms
from traindeck.lab.obs.records import (
    DEFAULT_CONTENT_TYPE,
    NO_TRAITS,
    S3_CLASSES,
    STORAGE_CLASSES,
    Attributes,
    BucketInfo,
    ObjectInfo,
    Traits,
    key_bytes,
    now_ms,
    text_bytes,
    whole_number,
)
from traindeck.lab.obs.request import TOKEN, ObsRequest, answer_headers, version_header
from traindeck.lab.obs.settings import check_tags
from traindeck.lab.signing.signatures import Dialect

MAX_METADATA = 8 * 1024
COLD_CLASSES = ("COLD", "DEEP_ARCHIVE")
_TO_S3 = {name: s3 for s3, name in S3_CLASSES.items()}
STORED_HEADERS = ("Cache-Control", "Expires", "Content-Encoding", "Content-Disposition", "Content-Language")
OVERRIDES = {f"response-{name.lower()}": name for name in ("Content-Type", *STORED_HEADERS)}
GRANTS = frozenset(GRANT_HEADERS)
# Whatever a client says about itself or the way a body travels.
OF_EVERY_REQUEST = frozenset(
    {"date", "content-sha256", "security-token", "user-agent", "request-payer", "expected-bucket-owner", "trailer"}
    | {"decoded-content-length", "sdk-checksum-algorithm", "request-id", "te", "persistent-headers"}
)
PUT_HEADERS = (
    OF_EVERY_REQUEST
    | GRANTS
    | {"acl", "storage-class", "forbid-overwrite", "website-redirect-location", "tagging", "expires"}
    | {"checksum-algorithm", "checksum-type"}
    | {"object-lock-mode", "object-lock-retain-until-date"}
    | SERVICE_HEADERS
    | CUSTOMER_HEADERS
)
COPY_HEADERS = (
    PUT_HEADERS
    | SOURCE_HEADERS
    | {"copy-source", "copy-source-range", "metadata-directive", "tagging-directive", "source-expected-bucket-owner"}
    | {f"copy-source-if-{name}" for name in ("match", "none-match", "modified-since", "unmodified-since")}
)
# What is said about an object that is there: how it is encrypted and locked stays.
_STAYS = SERVICE_HEADERS | CUSTOMER_HEADERS | {"object-lock-mode", "object-lock-retain-until-date"}
HEAD_HEADERS = (PUT_HEADERS - _STAYS) | {"metadata-directive"}
# Some clients send it with every deletion. It opens what is locked in a mode that there is not here.
BYPASS = frozenset({"bypass-governance-retention"})
DELETE_HEADERS = OF_EVERY_REQUEST | BYPASS | {"if-match-size", "if-match-last-modified-time"}
# Some clients send the key once more.
COMPLETE_HEADERS = OF_EVERY_REQUEST | CUSTOMER_HEADERS | {"mp-object-size", "forbid-overwrite"}
CREATE_HEADERS = (
    OF_EVERY_REQUEST
    | GRANTS
    | {"bucket-object-lock-enabled"}
    | {"acl", "location", "storage-class", "az-redundancy", "bucket-redundancy", "epid", "object-ownership"}
)


def check_headers(request: ObsRequest, known: frozenset[str]) -> None:
    """Refuse headers that ask for something the Lab would silently not do."""
    for name, value in request.our_headers().items():
        if not name.startswith(("meta-", "checksum-")) and name not in known:
            raise NotImplementedHere(f"the header {request.dialect.value}{name}")
        if name == "storage-class":
            storage_class(value)


def writable(request: ObsRequest, access: Access, known: frozenset[str], *names: str) -> BucketInfo:
    """The bucket, where the request may write its key, and asks for nothing but these parameters and headers."""
    request.only_these(*names)
    key_bytes(request.key)
    check_headers(request, known)
    return access.bucket(request, "PutObject", key=request.key)


def attributes(request: ObsRequest, bucket: BucketInfo) -> Attributes:
    """From the headers of an upload, a copy with new metadata, or the begin of a multipart upload."""
    headers = stored_headers(request)
    # aws-chunked is how the body travelled, not what it is.
    codings = [one.strip() for one in headers.pop("Content-Encoding", "").split(",")]
    if kept := [one for one in codings if one and one != "aws-chunked"]:
        headers["Content-Encoding"] = ", ".join(kept)
    content_type = clean("Content-Type", request.raw.header("content-type") or DEFAULT_CONTENT_TYPE)
    return Attributes(content_type, metadata(request), headers, _traits(request, bucket))


def stored_headers(request: ObsRequest) -> dict[str, str]:
    given = {name: request.raw.header(name.lower()) for name in STORED_HEADERS}
    return {name: clean(name, value) for name, value in given.items() if value is not None}


def metadata(request: ObsRequest) -> Mapping[str, str]:
    given = {name: value for name, value in request.our_headers().items() if name.startswith("meta-")}
    # A field of a form can have any name, and these come back as headers.
    if odd := [name for name in given if not TOKEN.fullmatch(name)]:
        raise InvalidArgument("x-obs-meta", ascii(odd[0]), "The name of metadata is not that of a header.")
    found = {name.removeprefix("meta-"): clean(name, value) for name, value in given.items()}
    if sum(len(name) + len(value.encode("utf-8")) for name, value in found.items()) > MAX_METADATA:
        message = "Your metadata headers exceed the maximum allowed metadata size."
        raise ObsError(400, "MetadataTooLarge", message)
    return found


def storage_class(name: str) -> str:
    found = S3_CLASSES.get(name, name)
    if found not in STORAGE_CLASSES:
        raise ObsError(400, "InvalidStorageClass", "The storage class you specified is not valid.")
    return found


def shown_class(name: str, dialect: Dialect) -> str:
    return _TO_S3.get(name, name) if dialect is Dialect.S3 else name


def owner_of(request: ObsRequest, bucket: BucketInfo) -> str:
    """Who owns what this request makes: the asking account, or for anonymous uploads the bucket's owner."""
    return request.asker or bucket.owner


def acl_text(request: ObsRequest, bucket: BucketInfo) -> str:
    """The ACL an upload asks for; "" for the usual one."""
    owner = owner_of(request, bucket)
    acl = header_acl(request, owner, bucket)
    # What nobody in particular uploads belongs to everybody, as at the service, where the bucket takes that.
    if acl is None and request.account is None and not request.ours("acl") and not blocks(bucket, "BlockPublicAcls"):
        acl = canned_acl("public-read", owner, bucket.owner, of_object=True)
    if acl is None:
        return ""
    check_public(bucket, acl)
    return acl.text()


def _traits(request: ObsRequest, bucket: BucketInfo) -> Traits:
    owner = owner_of(request, bucket)
    days = request.raw.header("x-obs-expires") or ""
    if days and not whole_number(days):
        raise InvalidArgument("x-obs-expires", days)
    redirect = request.ours("website-redirect-location") or ""
    if redirect and not redirect.startswith(("/", "http://", "https://")):
        raise InvalidArgument("website-redirect-location", redirect)
    encryption, customer = wanted_encryption(request, bucket)
    tags = dict(parse_qsl(request.ours("tagging") or "", keep_blank_values=True))
    check_tags(tags, of_object=True)
    traits = Traits(
        owner="" if owner == bucket.owner else owner,
        storage_class=storage_class(request.ours("storage-class") or bucket.storage_class),
        acl=acl_text(request, bucket),
        tags=tags,
        expires_days=days,
        redirect=clean("website-redirect-location", redirect),
        encryption={name: clean(name, value) for name, value in encryption.items()},
        customer=customer,
        locked_until_ms=wanted_end_ms(
            bucket, request.ours("object-lock-mode"), request.ours("object-lock-retain-until-date"), now_ms()
        ),
    )
    return NO_TRAITS if traits == NO_TRAITS else traits


def object_headers(request: ObsRequest, bucket: BucketInfo, info: ObjectInfo) -> dict[str, str]:
    prefix = request.dialect.value
    found = {
        **answer_headers(request),
        "ETag": f'"{info.etag}"',
        "Last-Modified": format_datetime(info.modified, usegmt=True),
        "Content-Type": info.content_type,
        "Accept-Ranges": "bytes",
        **info.headers,
        **{f"{prefix}meta-{name}": value for name, value in info.metadata.items()},
        **version_header(request, bucket, info.version),
        **crc64_header(request, info.crc64),
    }
    if info.traits is not NO_TRAITS:
        found.update(_trait_headers(request, info))
    return found


def written_headers(
    request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, incoming: IncomingBody | None = None
) -> dict[str, str]:
    """What the answer to an upload tells beside the ids."""
    found = {"ETag": f'"{info.etag}"', **version_header(request, bucket, info.version), **_kept_as(request, info)}
    return found | crc64_header(request, info.crc64) | (checksum_headers(incoming) if incoming else {})


def checksum_headers(incoming: IncomingBody) -> dict[str, str]:
    """What was compared, sent back."""
    return {f"x-amz-checksum-{name}": value for name, value in incoming.checksums.items()}


def crc64_header(request: ObsRequest, crc64: str) -> dict[str, str]:
    """Return the CRC-64 of the whole object or part, also for a range of it."""
    return {f"{request.dialect.value}checksum-crc64ecma": crc64} if crc64 else {}


def overrides(request: ObsRequest) -> dict[str, str]:
    found = {header: clean(name, request.query[name]) for name, header in OVERRIDES.items() if name in request.query}
    if found and request.account is None:
        message = "Anonymous requests may not override headers of the answer."
        raise ObsError(400, "ForbidAnonReqOverwriteRespHead", message)
    return found


def clean(name: str, value: str) -> str:
    """A value fit to be sent as a header: a line break in it would begin a header of its own."""
    text_bytes(value, name, "The value is not valid UTF-8.")
    if any(ord(letter) < 32 and letter != "\t" for letter in value) or "\x7f" in value:
        raise InvalidArgument(name, ascii(value), "The value holds control characters.")
    return value


def is_frozen(info: ObjectInfo) -> bool:
    return info.traits.storage_class in COLD_CLASSES and not info.traits.restored_days


def _trait_headers(request: ObsRequest, info: ObjectInfo) -> dict[str, str]:
    prefix, traits = request.dialect.value, info.traits
    told = {
        "uploadId": traits.upload_id,
        "website-redirect-location": traits.redirect,
        "tagging-count": str(len(traits.tags) or ""),
    }
    told |= lock_headers(traits)
    found = {**_kept_as(request, info), **{f"{prefix}{name}": value for name, value in told.items() if value}}
    if traits.is_appendable:
        found["x-obs-object-type"] = "Appendable"
        found["x-obs-next-append-position"] = str(info.size)
    if traits.expires_days:
        found[f"{prefix}expiration"] = f'expiry-date="{_date(info, traits.expires_days)}", rule-id="-"'
    if traits.restored_days:
        found[f"{prefix}restore"] = f'ongoing-request="false", expiry-date="{_date(info, str(traits.restored_days))}"'
    if traits.checksums and (request.raw.header("x-amz-checksum-mode") or "").upper() == "ENABLED":
        found.update({f"x-amz-checksum-{name}": value for name, value in traits.checksums.items()})
        found["x-amz-checksum-type"] = traits.checksum_type or "FULL_OBJECT"
    return found


def _kept_as(request: ObsRequest, info: ObjectInfo) -> dict[str, str]:
    prefix, traits = request.dialect.value, info.traits
    found = encryption_headers(request, traits)
    if traits.storage_class != "STANDARD":
        found[f"{prefix}storage-class"] = shown_class(traits.storage_class, request.dialect)
    return found


def _date(info: ObjectInfo, days: str) -> str:
    return format_datetime(info.modified + timedelta(days=min(int(days), 100_000)), usegmt=True)
