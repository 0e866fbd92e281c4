"""Bodies on their way in: every framing and every checksum of today's clients, right and wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import zlib
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import ObsClient, PutObjectHeader

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire
from traindeck.lab.obs.checksums import ALGORITHMS
from traindeck.lab.signing.request import ChunkSeed
from traindeck.lab.signing.v4 import chunk_signature, trailer_signature

EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/bodies", b"").status == 200
    return wire


def checksum(algorithm: str, data: bytes) -> str:
    digest = ALGORITHMS[algorithm]()
    digest.update(data)
    return base64.b64encode(digest.digest()).decode()


def crc32(data: bytes) -> str:
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


# --- hashes of the whole body ----------------------------------------------------------------------------------------


def test_the_signed_hash_of_the_body_is_compared(wire: Wire) -> None:
    digest = hashlib.sha256(b"content").hexdigest()
    assert wire.v4_put("/bodies/hash", b"content", digest).status == 200
    wrong = wire.v4_put("/bodies/hash", b"changed", digest)
    assert (wrong.status, wrong.code) == (400, "XAmzContentSHA256Mismatch")
    assert wire.ask("GET", "/bodies/hash").body == b"content"
    assert wire.v4_put("/bodies/hash", b"unsigned", "UNSIGNED-PAYLOAD").status == 200
    assert wire.ask("GET", "/bodies/hash").body == b"unsigned"


def test_content_md5_is_compared(wire: Wire) -> None:
    digest = base64.b64encode(hashlib.md5(b"content").digest()).decode()
    assert wire.put("/bodies/md5", b"content", {"Content-MD5": digest}).status == 200
    wrong = wire.put("/bodies/md5", b"changed", {"Content-MD5": digest})
    assert (wrong.status, wrong.code) == (400, "BadDigest")
    broken = wire.put("/bodies/md5", b"content", {"Content-MD5": "abc"})
    assert (broken.status, broken.code) == (400, "InvalidDigest")
    large = b"x" * 3_000_000
    wrong = wire.put("/bodies/md5", large, {"Content-MD5": digest})
    assert (wrong.status, wrong.code) == (400, "BadDigest")
    assert wire.ask("GET", "/bodies/md5").body == b"content"


def test_content_md5_of_parts_and_batches_is_compared(sdk: ObsClient, wire: Wire) -> None:
    upload = sdk.initiateMultipartUpload("bodies", "parts").body.uploadId
    assert sdk.uploadPart("bodies", "parts", 1, upload, b"content", isAttachMd5=True).status == 200
    digest = base64.b64encode(hashlib.md5(b"content").digest()).decode()
    wrong = wire.put(f"/bodies/parts?partNumber=2&uploadId={upload}", b"changed", {"Content-MD5": digest})
    assert (wrong.status, wrong.code) == (400, "BadDigest")
    assert [one.partNumber for one in sdk.listParts("bodies", "parts", upload).body.parts] == [1]
    assert sdk.abortMultipartUpload("bodies", "parts", upload).status == 204
    wire.put("/bodies/kept", b"kept")
    document = b"<Delete><Object><Key>kept</Key></Object></Delete>"
    headers = {"Content-Length": str(len(document)), "Content-MD5": digest}
    wrong = wire.exchange(wire.head("POST", "/bodies?delete", headers) + document)
    assert (wrong.status, wrong.code) == (400, "BadDigest")
    bare = wire.exchange(wire.head("POST", "/bodies?delete", {"Content-Length": str(len(document))}) + document)
    assert (bare.status, bare.code) == (400, "InvalidRequest")
    assert wire.ask("GET", "/bodies/kept").body == b"kept"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_compared_and_returned(s3: Any, bucket: str, algorithm: str) -> None:
    name = f"Checksum{algorithm}"
    value = checksum(algorithm.lower(), b"content")
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"content", **{name: value})
    assert put[name] == value
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (head[name], head["ChecksumType"]) == (value, "FULL_OBJECT")
    assert name not in s3.head_object(Bucket=bucket, Key="k")
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (got["Body"].read(), got[name]) == (b"content", value)
    part = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED", Range="bytes=0-2")
    assert part["Body"].read() == b"con"
    assert name not in part
    copied = s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "k"})
    assert copied["CopyObjectResult"]["ETag"] == put["ETag"]
    assert s3.head_object(Bucket=bucket, Key="copy", ChecksumMode="ENABLED")[name] == value
    with pytest.raises(ClientError) as failed:
        s3.put_object(Bucket=bucket, Key="k", Body=b"changed", **{name: value})
    assert failed.value.response["Error"]["Code"] == "BadDigest"
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"content"


def test_crc64_goes_with_the_object(sdk: ObsClient, bucket: str) -> None:
    assert sdk.putContent(bucket, "k", b"123456789", headers=PutObjectHeader(isAttachCrc64=True)).status == 200
    expected = str(0x995DC9BBDF1939FA)
    assert dict(sdk.getObjectMetadata(bucket, "k").header)["checksum-crc64ecma"] == expected
    assert dict(sdk.getObject(bucket, "k", loadStreamInMemory=True).header)["checksum-crc64ecma"] == expected
    sdk.copyObject(bucket, "k", bucket, "copy")
    assert dict(sdk.getObjectMetadata(bucket, "copy").header)["checksum-crc64ecma"] == expected


# --- aws-chunked -----------------------------------------------------------------------------------------------------


def framed(pieces: list[bytes], trailers: dict[str, str], seed: ChunkSeed | None = None) -> bytes:
    """The framing of a client; with a seed every chunk, and the trailers, are signed."""
    out, previous = b"", seed.signature if seed else ""
    for piece in [*pieces, b""]:
        mark = ""
        if seed:
            previous = chunk_signature(seed, previous, hashlib.sha256(piece).hexdigest())
            mark = f";chunk-signature={previous}"
        out += f"{len(piece):x}{mark}\r\n".encode() + piece + (b"\r\n" if piece else b"")
    lines = "".join(f"{name}:{value}\n" for name, value in trailers.items())
    out += lines.replace("\n", "\r\n").encode()
    if seed and trailers:
        out += f"x-amz-trailer-signature:{trailer_signature(seed, previous, lines.encode())}\r\n".encode()
    return out + b"\r\n"


def put_framed(
    wire: Wire,
    target: str,
    payload: str,
    pieces: list[bytes],
    trailers: dict[str, str],
    *,
    announced: str = "",
    change: tuple[bytes, bytes] = (b"", b""),
) -> Answer:
    headers = {"x-amz-decoded-content-length": announced or str(sum(map(len, pieces)))}
    if trailers:
        headers["x-amz-trailer"] = ",".join(trailers)
    signed = not payload.startswith("STREAMING-UNSIGNED")
    head, seed = wire.v4_head("PUT", target, payload, headers)
    body = framed(pieces, trailers, seed if signed else None).replace(*change, 1)
    unsigned = f"Content-Encoding: gzip,aws-chunked\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return wire.exchange(head[:-2] + unsigned + body)


PAYLOADS = [
    "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
]
LARGE = [b"no%05d\n" % number * 8192 for number in range(40)]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("pieces", [[], [b"hello", b" world"], LARGE], ids=["empty", "small", "large"])
def test_framed_bodies(wire: Wire, payload: str, pieces: list[bytes]) -> None:
    content = b"".join(pieces)
    target = f"/bodies/{payload}-{len(pieces)}"
    trailers = {"x-amz-checksum-crc32": crc32(content)} if payload.endswith("TRAILER") else {}
    stored = put_framed(wire, target, payload, pieces, trailers)
    assert stored.status == 200, stored.body
    if trailers:
        assert stored.headers["x-amz-checksum-crc32"] == crc32(content)
    got = wire.ask("GET", target)
    assert (got.body, got.headers["content-encoding"]) == (content, "gzip")
    assert got.headers["etag"] == f'"{hashlib.md5(content).hexdigest()}"'
    if not pieces:
        return
    other = f"{target}-wrong"
    if trailers:
        wrong = put_framed(wire, other, payload, pieces, {"x-amz-checksum-crc32": crc32(b"other")})
        assert (wrong.status, wrong.code) == (400, "BadDigest")
        missing = put_framed(wire, other, payload, pieces, trailers, change=(b"x-amz-checksum-crc32", b"x-amz-other"))
        assert missing.status in (400, 403)
    changed = put_framed(wire, other, payload, pieces, trailers, change=(pieces[0], pieces[0].swapcase() or b"!"))
    assert pieces[0] == pieces[0].swapcase() or changed.status in (400, 403)
    for announced in (str(len(content) + 1), str(len(content) - 1)):
        short = put_framed(wire, other, payload, pieces, trailers, announced=announced)
        assert (short.status, short.code) == (400, "IncompleteBody")
    assert wire.ask("HEAD", other).status == 404


def other_head(wire: Wire, scheme: str, headers: dict[str, str]) -> bytes:
    """Of a PUT with the OBS signature, with that of version 2, with a link, or with none."""
    if scheme == "OBS":
        return wire.head("PUT", "/bodies/other", headers)
    moment = format_datetime(datetime.now(UTC), usegmt=True)
    target, given = "/bodies/other", {"Date": moment, **headers}
    if scheme == "AWS":
        extra = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()) if name.startswith("x-amz-"))
        digest = hmac.new(wire.lab.secret_key.encode(), f"PUT\n\n\n{moment}\n{extra}{target}".encode(), hashlib.sha1)
        given["Authorization"] = f"AWS {wire.lab.access_key}:{base64.b64encode(digest.digest()).decode()}"
    lines = [f"PUT {target} HTTP/1.1", f"Host: 127.0.0.1:{wire.port}", "Connection: close"]
    return ("\r\n".join([*lines, *(f"{name}: {value}" for name, value in given.items())]) + "\r\n\r\n").encode()


@pytest.mark.parametrize("scheme", ["OBS", "AWS", "nobody"])
@pytest.mark.parametrize("announced", ["encoding", "length", "hash"])
def test_framing_is_never_stored_whatever_the_signature(wire: Wire, scheme: str, announced: str) -> None:
    wire.put("/bodies?acl", b"", {"x-obs-acl": "public-read-write"})
    trailers = {"x-amz-checksum-crc32": crc32(b"content")}
    body = framed([b"content"], trailers)
    headers = {
        "Content-Length": str(len(body)),
        "x-amz-decoded-content-length": "7",
        "x-amz-trailer": "x-amz-checksum-crc32",
        **({"Content-Encoding": "aws-chunked"} if announced == "encoding" else {}),
        **({"x-amz-content-sha256": PAYLOADS[0]} if announced == "hash" else {}),
    }
    stored = wire.exchange(other_head(wire, scheme, headers) + body)
    assert stored.status == 200, stored.body
    got = wire.ask("GET", "/bodies/other")
    assert (got.body, "content-encoding" in got.headers) == (b"content", False)
    wrong = body.replace(b"content", b"changed")
    assert wire.exchange(other_head(wire, scheme, headers) + wrong).code == "BadDigest"
    # Without its length a body in chunks is not taken at all.
    headers.pop("x-amz-decoded-content-length")
    if announced != "length":
        assert wire.exchange(other_head(wire, scheme, headers) + body).status == 411
    assert wire.ask("GET", "/bodies/other").body == b"content"


@pytest.mark.parametrize("scheme", ["OBS", "AWS", "nobody"])
def test_what_no_signature_proves_is_not_believed(wire: Wire, scheme: str) -> None:
    wire.put("/bodies?acl", b"", {"x-obs-acl": "public-read-write"})
    assert wire.put("/bodies/other", b"kept").status == 200
    seed = ChunkSeed(b"key", "20260101T000000Z", "20260101/lab/s3/aws4_request", "0" * 64)
    for payload, body in (
        (PAYLOADS[2], framed([b"content"], {}, seed)),
        ("STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", framed([b"content"], {})),
        (hashlib.sha256(b"other").hexdigest(), b"content"),
        ("nonsense", b"content"),
    ):
        headers = {"Content-Length": str(len(body)), "x-amz-content-sha256": payload}
        answer = wire.exchange(other_head(wire, scheme, {**headers, "x-amz-decoded-content-length": "7"}) + body)
        assert answer.status == 400, (payload, answer.body)
        if payload == hashlib.sha256(b"other").hexdigest():
            assert wire.exchange(other_head(wire, scheme, headers) + body).code == "XAmzContentSHA256Mismatch"
    assert wire.ask("GET", "/bodies/other").body == b"kept"


def test_an_encoding_that_is_only_said_changes_nothing(s3: Any, bucket: str) -> None:
    for coding, kept in (("aws-chunked", None), ("gzip, aws-chunked", "gzip")):
        s3.put_object(Bucket=bucket, Key="k", ContentEncoding=coding)
        assert s3.head_object(Bucket=bucket, Key="k").get("ContentEncoding") == kept


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) & {"crc32", "crc32c", "crc64nvme", "sha1", "sha256"}))
def test_every_checksum_can_trail(wire: Wire, algorithm: str) -> None:
    trailers = {f"x-amz-checksum-{algorithm}": checksum(algorithm, b"content")}
    answer = put_framed(wire, f"/bodies/{algorithm}", PAYLOADS[0], [b"content"], trailers)
    assert answer.status == 200, answer.body
    assert trailers.items() <= answer.headers.items()
    wrong = {f"x-amz-checksum-{algorithm}": checksum(algorithm, b"other")}
    assert put_framed(wire, f"/bodies/{algorithm}", PAYLOADS[0], [b"content"], wrong).code == "BadDigest"


def test_parts_can_be_framed(wire: Wire, sdk: ObsClient) -> None:
    upload = sdk.initiateMultipartUpload("bodies", "framed").body.uploadId
    target = f"/bodies/framed?partNumber=1&uploadId={upload}"
    trailers = {"x-amz-checksum-crc32": crc32(b"content")}
    answer = put_framed(wire, target, PAYLOADS[1], [b"con", b"tent"], trailers)
    assert answer.status == 200, answer.body
    assert answer.headers["etag"] == f'"{hashlib.md5(b"content").hexdigest()}"'
    assert sdk.abortMultipartUpload("bodies", "framed", upload).status == 204


def test_lengths_that_are_none_are_refused(wire: Wire) -> None:
    for announced in ("-1", "many", "9" * 5000, "1.0"):
        answer = put_framed(wire, "/bodies/length", PAYLOADS[0], [b"x"], {}, announced=announced)
        assert answer.status == 400, (announced, answer.body)
    head, _ = wire.v4_head("PUT", "/bodies/length", PAYLOADS[0])
    missing = wire.exchange(head[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n")
    assert (missing.status, missing.code) == (411, "MissingContentLength")
    assert wire.ask("HEAD", "/bodies/length").status == 404
