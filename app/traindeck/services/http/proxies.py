"""Which proxy leads to a service (that of the profile, else that of the system), and which addresses need none."""

from __future__ import annotations

import ipaddress
from urllib.parse import unquote, urlsplit

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Proxy, parse_proxy
from traindeck.domain.errors import InvalidInput


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
    return _of_system(found) if found else None


def _of_system(address: str) -> Proxy | None:
    """There a password stands in the address; what is no HTTP proxy is none of ours."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        password = Secret(unquote(parts.password)) if parts.password else None
        without = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return Proxy(*_place(without), unquote(parts.username or ""), password)
    except (ValueError, InvalidInput):
        return None


def _place(address: str) -> tuple[str, int]:
    proxy = parse_proxy(address)
    return proxy.host, proxy.port
