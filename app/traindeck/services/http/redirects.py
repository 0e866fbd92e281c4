"""Where an answer may send a signed request: what is signed never leaves the account's own service."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

MOST_REDIRECTS = 2
LED_AWAY = "LedAway"
"""The code of such an answer, in place of what it says itself."""

# Where a cloud's regions stand side by side: a bucket of another region is sent to from any of them.
_OF_ONE_CLOUD = ("myhuaweicloud.com", "myhuaweicloud.cn", "myhuaweicloud.eu", "amazonaws.com", "amazonaws.com.cn")


def may_follow(service: str, location: str) -> bool:
    """Whether `location`, as an answer of the server at `service` names it, is still that service."""
    try:
        ours, theirs = urlsplit(service), urlsplit(location)
        ports = [address.port or (443 if address.scheme == "https" else 80) for address in (ours, theirs)]
    except ValueError:
        return False
    if theirs.scheme not in ("http", "https") or (ours.scheme == "https" and theirs.scheme != "https"):
        return False
    # At another port of the same computer is somebody else.
    if ports[0] != ports[1] and ports != [80, 443]:
        return False
    host, there = (ours.hostname or "").rstrip("."), (theirs.hostname or "").rstrip(".")
    if there == host or is_address(host):
        return there == host
    domain = next((cloud for cloud in _OF_ONE_CLOUD if host.endswith(f".{cloud}")), host)
    return there.endswith(f".{domain}")


def led_away(status: int, service: str, location: str) -> str:
    """The address of somebody else whom an answer wants us to ask; empty: it does not."""
    return location if 300 <= status < 400 and location and not may_follow(service, location) else ""


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
