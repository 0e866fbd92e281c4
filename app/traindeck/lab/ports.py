"""The loopback ports of a Lab, who may come in by them, and why a Lab cannot start."""

from __future__ import annotations

import errno
import re
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from traindeck.lab.files import read_json, write_json

if TYPE_CHECKING:  # slow to load, and commands only want the errors
    from aiohttp import web


@dataclass(eq=False)
class LabStartError(Exception):
    """Three sentences for the user."""

    what: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what} {self.why} {self.remedy}"


class LabBusy(LabStartError):
    """Another Lab serves this root."""


class LabAccountsDamaged(LabStartError):
    """The file of accounts is not what the Lab wrote."""


class PortInUse(LabStartError):
    """A port the user named is taken."""


class LabFaultsUnusable(LabStartError):
    """The file of fault rules cannot be read or followed."""


class LabRootUnusable(LabStartError):
    """The folder of the Lab cannot be written, or holds something the Lab did not write."""


ADDRESS = "127.0.0.1"
_TAKEN = {errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL}


class BoundPorts(NamedTuple):
    """Sockets bound but not yet listening."""

    obs: socket.socket
    gateway: socket.socket
    control: socket.socket


def bind(root: Path, port: int) -> BoundPorts:
    """The named port and its neighbour; with 0 those of the last run, or any that are free."""
    if port:
        return _bound_pair(port, port + 1)
    path = root / "ports.json"
    for obs, gateway in (_last(path), (0, 0)):
        try:
            ports = _bound_pair(obs, gateway)
        except PortInUse:
            continue
        write_json(path, {"obs": ports.obs.getsockname()[1], "gateway": ports.gateway.getsockname()[1]})
        return ports
    raise PortInUse("The Lab cannot listen.", "No loopback port is free.", "Close programs that hold many connections.")


def _bound_pair(obs: int, gateway: int) -> BoundPorts:
    with ExitStack() as bound:
        sockets = [bound.enter_context(_bound(port)) for port in (obs, gateway, 0)]
        bound.pop_all()
        return BoundPorts(*sockets)


def _bound(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            # There, reusing an address would let two programs share it.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            # Connections of the last run still fade away on this port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((ADDRESS, port))
        # Two sockets may both bind on some systems; only listening tells which one has the port.
        sock.listen(128)
    except OverflowError as error:
        sock.close()
        raise _in_use(port, "There is no such port.") from error
    except OSError as error:
        sock.close()
        if error.errno in _TAKEN:
            reason = "You may not use it." if error.errno == errno.EACCES else "Another program listens there."
            raise _in_use(port, reason) from error
        raise
    sock.setblocking(False)
    return sock


def _in_use(port: int, reason: str) -> PortInUse:
    return PortInUse(
        f"The Lab cannot listen on port {port} of {ADDRESS}.",
        reason,
        "End that program, or start the Lab with another --port; it needs the port named and the next one.",
    )


def _last(path: Path) -> tuple[int, int]:
    content: object = None
    with suppress(ValueError):
        content = read_json(path)
    found = [content.get(name) for name in ("obs", "gateway")] if isinstance(content, dict) else []
    ports = [port for port in found if isinstance(port, int) and 0 < port < 65536]
    return (ports[0], ports[1]) if len(ports) == 2 else (0, 0)


def url_of(sock: socket.socket) -> str:
    return f"http://{ADDRESS}:{sock.getsockname()[1]}"


_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]/@?#\s]+)(?::(?P<port>\d{1,5}))?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_VIRTUAL = ".localhost"


def loopback_host(value: str, port: int, *, with_bucket: bool = False) -> str | None:
    """None where the Host header names another machine or port, else the bucket of `bucket.localhost`, or ""."""
    match = _HOST.fullmatch(value.strip())
    if match is None or int(match["port"] or 80) != port:
        return None
    name = match["name"].lower()
    if name in _LOOPBACK:
        return ""
    if with_bucket and name.endswith(_VIRTUAL) and len(name) > len(_VIRTUAL):
        return name.removesuffix(_VIRTUAL)
    return None


FOREIGN = "The Lab answers its own computer only: foreign Host or Origin header."


def bound_port(http: web.BaseRequest) -> int:
    name = http.transport.get_extra_info("sockname") if http.transport else None
    return int(name[1]) if name else 0


def is_foreign(http: web.BaseRequest) -> bool:
    """A page of another site reaches a loopback port under its own name or with its own Origin."""
    port, hosts = bound_port(http), http.headers.getall("Host", [])
    if len(hosts) != 1 or loopback_host(hosts[0], port) is None:
        return True
    return any(is_foreign_origin(origin, port) for origin in http.headers.getall("Origin", []))


def is_foreign_origin(origin: str, port: int) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme != "http" or bool(parts.path) or loopback_host(parts.netloc, port) is None
