"""Encryption as requests ask for it and answers tell it: by the service's keys, or by a key of the customer.

The Lab keeps no keys of its own, so what the service would encrypt with them lies in the Lab's folder as it came; what
comes with a customer's key is encrypted with it. The codes are those of "SSE-C" in the OBS reference and of the error
lists of S3, whose messages they carry.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import uuid
from collections.abc import Mapping
from functools import lru_cache
from xml.etree import ElementTree

from traindeck.lab.obs.errors import InvalidArgument, InvalidRequest, ObsError
from traindeck.lab.obs.records import BucketInfo, Traits
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.sealing import KEY_BYTES, Seal, check_key, lock_for
from traindeck.lab.signing.signatures import Dialect

SSE = "server-side-encryption"
KEY_ID = f"{SSE}-kms-key-id"
_S3_KEY_ID = f"{SSE}-aws-kms-key-id"
_CUSTOMER = f"{SSE}-customer-"
_SOURCE = "copy-source-"
_PARTS_OF_KEY = ("algorithm", "key", "key-md5")
_ALGORITHM = "AES256"
KMS = "kms"
CUSTOMER_HEADERS = frozenset(_CUSTOMER + name for name in _PARTS_OF_KEY)
SOURCE_HEADERS = frozenset(_SOURCE + name for name in CUSTOMER_HEADERS)
SERVICE_HEADERS = frozenset({SSE, KEY_ID, _S3_KEY_ID})
# As a request or a bucket's document spells them, and as they are kept.
_KINDS = {
    Dialect.OBS: {KMS: KMS, _ALGORITHM: _ALGORITHM},
    Dialect.S3: {"aws:kms": KMS, _ALGORITHM: _ALGORITHM},
}
_REFUSED = "Requests specifying Server Side Encryption with Customer provided keys must provide "


def customer_key(request: ObsRequest, *, of_source: bool = False) -> bytes | None:
    """The key that came with a request, and goes with it."""
    prefix = _SOURCE + _CUSTOMER if of_source else _CUSTOMER
    algorithm, encoded, digest = (request.ours(prefix + name) for name in _PARTS_OF_KEY)
    if algorithm is None and encoded is None and digest is None:
        return None
    if not algorithm:
        raise _refused(request, prefix + "algorithm", f"{_REFUSED}a valid encryption algorithm.")
    if algorithm != _ALGORITHM:
        message = "The encryption request you specified is not valid. The valid value is AES256."
        raise ObsError(400, "InvalidEncryptionAlgorithmError", message)
    if not encoded:
        raise _refused(request, prefix + "key", f"{_REFUSED}an appropriate secret key.")
    key = _decoded(encoded)
    if len(key) != KEY_BYTES:
        raise _refused(request, prefix + "key", "The secret key was invalid for the specified algorithm.")
    if not digest:
        raise _refused(request, prefix + "key-MD5", f"{_REFUSED}the client calculated MD5 of the secret key.")
    if _decoded(digest) != hashlib.md5(key, usedforsecurity=False).digest():
        message = "The calculated MD5 hash of the key did not match the hash that was provided."
        raise _refused(request, prefix + "key-MD5", message)
    return key


def wanted_encryption(request: ObsRequest, bucket: BucketInfo) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What is kept of the kind of encryption, else the bucket's usual one, and of a customer's key."""
    kind, key = request.ours(SSE), customer_key(request)
    key_id = request.ours(KEY_ID) or request.ours(_S3_KEY_ID)
    if key and (kind or key_id):
        raise _refused(request, SSE, "Server Side Encryption with Customer provided key is incompatible with others.")
    if key:
        return {}, lock_for(key)
    if kind is None:
        if key_id:
            raise _refused(request, SSE, "The id of a key goes with the kind of encryption that takes one.")
        return _usual(bucket), {}
    found = _KINDS[request.dialect].get(kind)
    if found is None:
        raise _refused(request, SSE, "The encryption method specified is not supported.")
    if found != KMS and key_id:
        raise _refused(request, SSE, "The id of a key goes with the kind of encryption that takes one.")
    return _kept(found, key_id, bucket), {}


def part_seal(request: ObsRequest, traits: Traits) -> Seal | None:
    """For a part of an upload, which goes on with the key it was begun with."""
    key = customer_key(request)
    if key and not traits.customer:
        message = "The multipart upload initiate did not request encryption."
        raise InvalidRequest(f"{message} Please resend the request without sending encryption parameters.")
    if traits.customer and not key:
        message = "The multipart upload initiate requested encryption."
        raise InvalidRequest(f"{message} Subsequent part requests must include the appropriate encryption parameters.")
    check_key(traits.customer, key)
    return Seal(key, traits.customer, is_part=True) if key else None


def body_seal(request: ObsRequest, traits: Traits) -> Seal | None:
    key = customer_key(request) if traits.customer else None
    return Seal(key, traits.customer) if key else None


def reading_key(request: ObsRequest) -> bytes | None:
    # "GetObject" of the S3 reference: this header of a PUT makes a GET a bad request.
    if request.ours(SSE) is not None:
        raise _refused(request, SSE, "The header is not supported for this operation.")
    return customer_key(request)


def encryption_headers(request: ObsRequest, traits: Traits) -> dict[str, str]:
    """What an answer tells; the digest of a key only to who has just sent it."""
    prefix = request.dialect.value
    if traits.customer:
        found = {f"{prefix}{_CUSTOMER}algorithm": _ALGORITHM}
        if digest := request.ours(_CUSTOMER + "key-md5"):
            found[f"{prefix}{_CUSTOMER}key-MD5"] = digest
        return found
    kind = traits.encryption.get(SSE)
    if kind is None:
        return {}
    is_s3 = request.dialect is Dialect.S3
    found = {prefix + SSE: "aws:kms" if is_s3 and kind == KMS else kind}
    if key_id := traits.encryption.get(KEY_ID):
        found[prefix + (_S3_KEY_ID if is_s3 else KEY_ID)] = key_id
    return found


def _usual(bucket: BucketInfo) -> Mapping[str, str]:
    document = bucket.settings.get("encryption")
    if not document:
        return {}
    kind, key_id = _of_document(document)
    return _kept(KMS if kind == "aws:kms" else kind, key_id, bucket)


@lru_cache(maxsize=64)
def _of_document(document: str) -> tuple[str, str]:
    usual = ElementTree.fromstring(f"<a>{document}</a>").find("Rule/ApplyServerSideEncryptionByDefault")
    if usual is None:
        return "", ""
    return (usual.findtext("SSEAlgorithm") or "").strip(), (usual.findtext("KMSMasterKeyID") or "").strip()


def _kept(kind: str, key_id: str | None, bucket: BucketInfo) -> Mapping[str, str]:
    if kind != KMS:
        return {SSE: kind} if kind else {}
    # Without an id it is the default key of the owner, told as region, account and id.
    usual = f"lab:{bucket.owner}:key/{uuid.uuid5(uuid.NAMESPACE_OID, bucket.owner)}"
    return {SSE: kind, KEY_ID: key_id or usual}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _refused(request: ObsRequest, name: str, message: str) -> ObsError:
    # The value may be a key.
    return InvalidArgument(request.dialect.value + name, "", message)
