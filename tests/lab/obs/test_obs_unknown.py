"""What the Lab does not offer is refused, whatever the method: nothing is taken for a plain PUT or DELETE."""

from __future__ import annotations

import pytest

from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from traindeck.lab.signing.v2 import DISPUTED_NAMES, SIGNED_NAMES

# As clients spell them; the names that are signed are known in lower case only.
SPELLED = {
    name.lower(): name
    for name in (
        *("storageClass", "storagePolicy", "requestPayment", "publicAccessBlock", "bucketStatus", "policyStatus"),
        *("versionId", "uploadId", "partNumber", "CDNNotifyConfiguration", "mirrorBackToSource", "directcoldaccess"),
    )
}
NAMES = sorted(SPELLED.get(name, name) for name in {*SIGNED_NAMES, *DISPUTED_NAMES})
MORE = ["intelligent-tiering", "ownershipControls", "session", "ACL", "Uploads", "unheard-of", "x-foo"]

_CONFIGURED = ("lifecycle", "cors", "website", "encryption", "replication", "publicAccessBlock")
_SHOWN = (
    "logging",
    "notification",
    "requestPayment",
    "versioning",
    "quota",
    "storageClass",
    "storagePolicy",
    "object-lock",
)
OFFERED = {
    *(
        ("/unknown", method, name)
        for method in ("PUT", "GET", "DELETE")
        for name in (*_CONFIGURED, "tagging", "policy")
    ),
    *(("/unknown", method, name) for method in ("PUT", "GET") for name in (*_SHOWN, "acl", "object-lock")),
    *(
        ("/unknown", "GET", name)
        for name in ("policyStatus", "bucketStatus", "location", "storageinfo", "versions", "uploads")
    ),
    ("/unknown", "POST", "delete"),
    *(("/unknown/k", method, "tagging") for method in ("PUT", "GET", "DELETE")),
    *(("/unknown/k", method, "acl") for method in ("PUT", "GET")),
    *(("/unknown/k", method, "versionId") for method in ("GET", "HEAD", "DELETE")),
    *(("/unknown/k", "GET", name) for name in ("attname", "uploadId")),
    *(("/unknown/k", method, name) for method in ("GET", "HEAD") for name in NAMES if name.startswith("response-")),
    *(("/unknown/k", "POST", name) for name in ("append", "restore", "uploads", "uploadId")),
    *(("/unknown/k", "PUT", name) for name in ("metadata", "retention")),
    *(("/unknown/k", method, "partNumber") for method in ("PUT", "GET", "HEAD")),
    ("/unknown/k", "DELETE", "uploadId"),
}


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/unknown", b"").status == 200
    assert wire.put("/unknown/k", b"kept", {"x-obs-meta-a": "1"}).status == 200
    return wire


@pytest.mark.parametrize("method", ["PUT", "GET", "HEAD", "POST", "DELETE"])
@pytest.mark.parametrize("resource", ["/unknown", "/unknown/k"])
def test_everything_else_is_refused(wire: Wire, resource: str, method: str) -> None:
    for name in [*NAMES, *MORE]:
        if (resource, method, name) in OFFERED:
            continue
        target = f"{resource}?{name}"
        signed = target if name.lower() in SIGNED_NAMES else resource
        answer = wire.ask(method, target, {"Content-Length": "0"}, resource=signed)
        assert answer.status == 501, (method, target, answer.body)
        if method != "HEAD":
            assert answer.code == "NotImplemented", target
        else:
            assert answer.headers["x-obs-error-code"] == "NotImplemented"
    kept = wire.ask("GET", "/unknown/k")
    assert (kept.body, kept.headers["x-obs-meta-a"]) == (b"kept", "1")


def test_two_sub_resources_are_one_too_many(wire: Wire) -> None:
    for target in ("/unknown?acl&policy", "/unknown?cors&lifecycle", "/unknown/k?acl&tagging", "/unknown?acl&quota"):
        for method in ("GET", "PUT"):
            answer = wire.ask(method, target, {"Content-Length": "0"})
            assert (answer.status, answer.code) == (501, "NotImplemented")


def test_headers_that_mean_something_elsewhere(wire: Wire) -> None:
    for name in ("x-obs-object-lock-legal-hold", "x-obs-callback", "x-obs-unheard-of", "x-obs-website-something"):
        for headers in ({}, {"x-obs-copy-source": "/unknown/k"}):
            answer = wire.put("/unknown/new", b"", {name: "x", **headers})
            assert (answer.status, answer.code) == (501, "NotImplemented")
    assert wire.ask("HEAD", "/unknown/new").status == 404
