"""Which addresses are gone to: the proxy that leads to a service, and where an answer may send a signed request.

The proxy is that of the profile, else that of the system; what is signed never leaves the account's own service.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Proxy, parse_proxy, proxy_with_password

MOST_REDIRECTS = 2
LED_AWAY = "LedAway"
"""The code of an answer that would send a request to somebody else, in place of what it says itself."""
LED_NOWHERE = "LedNowhere"
"""Of one that sends it on without saying where."""
LED_ON = "LedOn"
"""Of one that sends it to the very service that was asked, by another address of it or in a circle."""

_NAME_A_PLACE = (301, 302, 303, 307, 308)

# Where a cloud's regions stand side by side: a bucket of another region is sent to from any of them.
_OF_ONE_CLOUD = ("myhuaweicloud.com", "myhuaweicloud.cn", "myhuaweicloud.eu", "amazonaws.com", "amazonaws.com.cn")


def ip_of(url: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None: it has a name for its host."""
    try:
        return ipaddress.ip_address(urlsplit(url).hostname or "")
    except ValueError:
        return None


def is_loopback(url: str) -> bool:
    ip = ip_of(url)
    return ip.is_loopback if ip else urlsplit(url).hostname == "localhost"


def proxy_of(profile: Profile, credentials: Credentials) -> Proxy | None:
    """What the profile names; None: nothing."""
    return parse_proxy(profile.proxy, credentials.proxy_password) if profile.proxy else None


def proxy_to(url: str, profile: Profile, credentials: Credentials) -> Proxy | None:
    """The way to `url`; asks the system, so call it in a worker."""
    if profile.proxy:
        return proxy_of(profile, credentials)
    if is_loopback(url):
        return None
    import urllib.request  # slow to load

    address = urlsplit(url)
    if urllib.request.proxy_bypass(address.hostname or ""):
        return None
    found = urllib.request.getproxies().get(address.scheme, "")
    return proxy_with_password(found) if found else None


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
    if there == host or ip_of(service):
        return there == host
    domain = next((cloud for cloud in _OF_ONE_CLOUD if host.endswith(f".{cloud}")), host)
    return there.endswith(f".{domain}")


def led(status: int, service: str, location: str, code: str = "") -> str:
    """The code of an answer that sends us on, where that tells what is wrong; else its own `code`."""
    if not 300 <= status < 400:
        return code
    if not location:
        return code or (LED_NOWHERE if status in _NAME_A_PLACE else "")
    if not may_follow(service, location):
        return LED_AWAY
    host, there = (urlsplit(address).hostname or "" for address in (service, location))
    return LED_ON if there == host or there.endswith(f".{host}") else code
