"""The OBS port byte by byte: what no client library would send, or would hide."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import pytest

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from support.waiting import PATIENT_S
from traindeck.lab.obs.chunk_framing import ChunkDecoder
from traindeck.lab.obs.errors import AccessDenied, IncompleteBody, InvalidRequest
from traindeck.lab.signing.request import ChunkSeed
from traindeck.lab.signing.v4 import signing_key


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as lab:
        yield lab


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/wire", b"").status == 200
    return wire


def test_errors_are_xml_with_ids(wire: Wire) -> None:
    answer = wire.ask("GET", "/wire/none")
    assert answer.status == 404
    assert answer.code == "NoSuchKey"
    assert answer.headers["content-type"] == "application/xml"
    request_id = answer.headers["x-obs-request-id"].encode()
    assert b"<RequestId>" + request_id + b"</RequestId>" in answer.body
    assert b"<Resource>/wire/none</Resource>" in answer.body
    assert answer.headers["x-obs-id-2"]
    head = wire.ask("HEAD", "/wire/none")
    assert (head.status, head.headers["x-obs-error-code"]) == (404, "NoSuchKey")
    s3 = wire.exchange(
        f"GET /wire/none HTTP/1.1\r\nHost: 127.0.0.1:{wire.port}\r\nAuthorization: AWS a:b\r\n"
        f"Date: {format_datetime(datetime.now(UTC), usegmt=True)}\r\nConnection: close\r\n\r\n".encode()
    )
    assert s3.code == "InvalidAccessKeyId"
    assert s3.headers["x-amz-request-id"]


@pytest.mark.parametrize(
    ("method", "target", "headers", "code"),
    [
        ("GET", "/wire/none", {}, "NoSuchKey"),
        ("GET", "/none-such", {}, "NoSuchBucket"),
        ("PUT", "/wire/k?acl=1&policy", {}, "NotImplemented"),
        ("PUT", "/Not_A_Bucket", {}, "InvalidBucketName"),
        ("GET", "/wire/" + "k" * 1025, {}, "KeyTooLongError"),
        ("PUT", "/wire/k", {"x-obs-storage-class": "GOLD"}, "InvalidStorageClass"),
        ("PUT", "/wire/k", {"x-obs-acl": "everybody"}, "InvalidArgument"),
        ("DELETE", "/wire/a%26%3Cb%0A?uploadId=none", {}, "NoSuchUpload"),
        ("PATCH", "/wire/k", {}, "MethodNotAllowed"),
    ],
)
def test_every_error_tells_what_where_and_when(
    wire: Wire, method: str, target: str, headers: dict[str, str], code: str
) -> None:
    answer = wire.ask(method, target, {"Content-Length": "0", **headers})
    root = ElementTree.fromstring(answer.body)
    told = {node.tag: node.text or "" for node in root}
    assert (root.tag, told["Code"]) == ("Error", code)
    assert told["Message"]
    assert told["Resource"] == unquote(target.partition("?")[0])
    assert told["RequestId"] == answer.headers["x-obs-request-id"]
    assert told["HostId"] == answer.headers["x-obs-id-2"]
    assert answer.headers["content-type"] == "application/xml"
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_virtual_host_style(wire: Wire) -> None:
    host = f"wire.localhost:{wire.port}"
    assert wire.put("//a/../b", b"raw", host=host, resource="/wire//a/../b").status == 200
    assert wire.ask("GET", "/wire//a/../b").body == b"raw"
    listing = wire.ask("GET", "/?prefix=/a", host=host, resource="/wire/")
    assert b"<Key>/a/../b</Key>" in listing.body


@pytest.mark.parametrize(
    "header",
    [
        "Host: example.com",
        "Host: 127.0.0.1",
        "Host: 127.0.0.1:1",
        "Host: localhost.example.com:{port}",
        "Host: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}",
        "Host: 127.0.0.1:{port}\r\nOrigin: http://example.com",
        "Host: 127.0.0.1:{port}\r\nOrigin: null",
        "Host: evil@127.0.0.1:{port}",
    ],
)
def test_foreign_hosts_and_origins_are_refused(wire: Wire, header: str) -> None:
    text = f"GET / HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n".replace("{port}", str(wire.port))
    answer = wire.exchange(text.encode())
    assert answer.status == 400 or b"foreign Host or Origin" in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
def test_own_hosts_are_served_and_negotiation_needs_no_signature(wire: Wire, host: str) -> None:
    own = host.replace("{port}", str(wire.port))
    text = f"HEAD /?apiversion HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nConnection: close\r\n\r\n"
    answer = wire.exchange(text.encode(), "HEAD")
    assert (answer.status, answer.headers["x-obs-api"]) == (200, "3.0")
    missing = wire.exchange(text.replace("/?api", "/not-there?api").encode(), "HEAD")
    assert missing.status == 404


def test_anonymous_requests_and_old_dates_are_refused(wire: Wire) -> None:
    bare = f"GET /wire HTTP/1.1\r\nHost: 127.0.0.1:{wire.port}\r\nConnection: close\r\n\r\n"
    assert wire.exchange(bare.encode()).code == "AccessDenied"
    for minutes in (16, -16):
        skewed = wire.ask("GET", "/wire", date=datetime.now(UTC) + timedelta(minutes=minutes))
        assert (skewed.status, skewed.code) == (403, "RequestTimeTooSkewed")


def test_a_refused_upload_is_read_to_its_end(wire: Wire) -> None:
    body = b"x" * (20 << 20)
    head = wire.head("PUT", "/wire/refused", {"Content-Length": str(len(body))}, resource="/other")
    answer = wire.exchange(head + body)
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch")
    assert b"<StringToSign>" in answer.body


def test_continue_comes_only_after_the_signature_is_right(wire: Wire) -> None:
    headers = {"Content-Length": "5", "Expect": "100-continue"}
    with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENT_S) as sock:
        sock.sendall(wire.head("PUT", "/wire/continued", headers))
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"12345")
        assert b"200 OK" in sock.recv(1000)
    refused = wire.exchange(wire.head("PUT", "/wire/continued", headers, resource="/x"))
    assert refused.status == 403
    assert wire.ask("GET", "/wire/continued").body == b"12345"


def test_bodies_cut_short_leave_nothing(wire: Wire, lab: LabProcess) -> None:
    for size, sent in ((1000, 500), (5 << 20, 3 << 20)):
        with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENT_S) as sock:
            sock.sendall(wire.head("PUT", "/wire/cut", {"Content-Length": str(size)}) + b"x" * sent)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        assert wire.ask("HEAD", "/wire/cut").status == 404
    assert "Traceback" not in lab.error_text + (lab.root / "lab.log").read_text("utf-8")


def test_a_large_body_with_a_wrong_digest_leaves_nothing(wire: Wire, lab: LabProcess) -> None:
    body = bytes(range(256)) * (5 << 12)
    bodies = lab.root / "obs" / "bodies"
    before = sum(path.is_file() for path in bodies.rglob("*"))
    for digest, status in ((hashlib.md5(body[:-1]), 400), (hashlib.md5(body), 200)):
        announced = base64.b64encode(digest.digest()).decode()
        answer = wire.put("/wire/digest", body, {"Content-MD5": announced})
        assert answer.status == status, answer.body
    assert wire.ask("GET", "/wire/digest").body == body
    assert sum(path.is_file() for path in bodies.rglob("*")) == before + 1


def test_a_body_that_comes_byte_by_byte_is_the_same_body(wire: Wire) -> None:
    body = bytes(range(256)) * 100
    head = wire.head("PUT", "/wire/bytes", {"Transfer-Encoding": "chunked"})
    assert wire.exchange(head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n").status == 200
    assert wire.ask("GET", "/wire/bytes").body == body


def test_length_is_needed_and_chunked_transfer_is_understood(wire: Wire) -> None:
    assert wire.ask("PUT", "/wire/long").code == "MissingContentLength"
    huge = wire.ask("PUT", "/wire/long", {"Content-Length": str(6 * 1024**3), "Expect": "100-continue"})
    assert (huge.status, huge.code) == (400, "EntityTooLarge")
    head = wire.head("PUT", "/wire/chunks", {"Transfer-Encoding": "chunked"})
    assert wire.exchange(head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").status == 200
    assert wire.ask("GET", "/wire/chunks").body == b"abcde"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("PUT", "/wire/kept?x-image-process=a"),
        ("PUT", "/wire/kept?unheard-of=1"),
        ("PUT", "/wire/kept?length=1&truncate"),
        ("PUT", "/wire/kept?modify&position=0"),
        ("POST", "/wire/kept?name=other&rename"),
        ("DELETE", "/wire/kept?retention"),
        ("DELETE", "/wire/kept?partNumber=1"),
        ("GET", "/wire/kept?torrent"),
        ("PUT", "/wire/kept?legal-hold"),
        ("DELETE", "/wire?object-lock"),
        ("DELETE", "/wire?inventory"),
        ("DELETE", "/wire?logging"),
        ("GET", "/wire?inventory"),
    ],
)
def test_unknown_sub_resources_are_refused(wire: Wire, method: str, target: str) -> None:
    wire.put("/wire/kept", b"kept")
    resource = "/wire/kept" if "unheard" in target or "legal" in target else target
    answer = wire.ask(method, target, {"Content-Length": "0"}, resource=resource)
    assert (answer.status, answer.code) == (501, "NotImplemented")
    assert wire.ask("GET", "/wire/kept").body == b"kept"


@pytest.mark.parametrize(
    "name", ["x-obs-server-side-encryption-context", "x-obs-object-lock-legal-hold", "x-obs-unheard-of"]
)
def test_headers_the_lab_would_not_honour_are_refused(wire: Wire, name: str) -> None:
    assert wire.put("/wire/never", b"x", {name: "kms"}).code == "NotImplemented"
    assert wire.ask("HEAD", "/wire/never").status == 404


def test_overwriting_can_be_forbidden(wire: Wire) -> None:
    wire.put("/wire/once", b"first")
    again = wire.put("/wire/once", b"second", {"x-obs-forbid-overwrite": "true"})
    assert (again.status, again.code) == (409, "ObjectAlreadyExists")
    other = wire.put("/wire/once", b"second", {"If-Match": '"0"'})
    assert other.code == "PreconditionFailed"
    assert wire.ask("GET", "/wire/once").body == b"first"


def test_overrides_cannot_split_the_answer(wire: Wire) -> None:
    wire.put("/wire/split", b"x")
    value = "a\r\nX-Evil: 1"
    target = f"/wire/split?response-content-type={quote(value, safe='')}"
    answer = wire.ask("GET", target, resource=f"/wire/split?response-content-type={value}")
    assert answer.code == "InvalidArgument"
    assert "x-evil" not in answer.headers


def test_broken_requests_get_an_answer(wire: Wire) -> None:
    assert wire.ask("GET", "/wire/%ff").code == "InvalidArgument"
    assert wire.ask("GET", "/wire?max-keys=many", resource="/wire").code == "InvalidArgument"
    assert wire.ask("PATCH", "/wire/kept").code == "MethodNotAllowed"
    document = b"<!DOCTYPE a [<!ENTITY b 'c'>]><Delete><Object><Key>&b;</Key></Object></Delete>"
    digest = base64.b64encode(hashlib.md5(document).digest()).decode()
    headers = {"Content-Length": str(len(document)), "Content-MD5": digest}
    assert wire.exchange(wire.head("POST", "/wire?delete", headers) + document).code == "MalformedXML"
    bare = wire.exchange(wire.head("POST", "/wire?delete", {"Content-Length": "3"}) + b"<a>")
    assert bare.code == "InvalidRequest"


# --- aws-chunked -----------------------------------------------------------------------------------------------------

# The worked example of the published description of chunked uploads.
EXAMPLE_KEY = signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1")
EXAMPLE = ChunkSeed(
    EXAMPLE_KEY,
    "20130524T000000Z",
    "20130524/us-east-1/s3/aws4_request",
    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
)
EXAMPLE_BODY = (
    b"10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"
    + b"a" * 65536
    + b"\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n"
    + b"a" * 1024
    + b"\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"
)


@pytest.mark.parametrize("step", [1, 7, 4096, 10**6])
def test_signed_chunks_are_decoded_however_they_arrive(step: int) -> None:
    decoder = ChunkDecoder(EXAMPLE)
    content = b"".join(
        piece for at in range(0, len(EXAMPLE_BODY), step) for piece in decoder.feed(EXAMPLE_BODY[at : at + step])
    )
    decoder.finish()
    assert content == b"a" * 66560


def test_changed_or_cut_chunks_are_refused() -> None:
    with pytest.raises(AccessDenied):
        ChunkDecoder(EXAMPLE).feed(EXAMPLE_BODY.replace(b"aaaa", b"aaab", 1))
    with pytest.raises(InvalidRequest):
        ChunkDecoder(EXAMPLE).feed(b"3\r\nabc\r\n0\r\n\r\n")
    with pytest.raises(InvalidRequest):
        ChunkDecoder(None).feed(b"not hex\r\n")
    with pytest.raises(InvalidRequest):
        ChunkDecoder(None).feed(b"3\r\nabcd\r\n")
    cut = ChunkDecoder(None)
    cut.feed(b"3\r\nabc\r\n")
    with pytest.raises(IncompleteBody):
        cut.finish()
