"""The loopback ports of a Lab, who may come in by them, and why a Lab cannot start."""

from __future__ import annotations

import errno
import re
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from traindeck.lab.files import read_json, write_json


class LabStartError(Exception):
    """Three sentences for the user."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what} {why} {remedy}")
        self.what = what
        self.why = why
        self.remedy = remedy


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


@dataclass(frozen=True, slots=True)
class BoundPorts:
    """Sockets bound but not yet listening."""

    obs: socket.socket
    gateway: socket.socket
    control: socket.socket

    @property
    def obs_url(self) -> str:
        return _url(self.obs)

    @property
    def gateway_url(self) -> str:
        return _url(self.gateway)

    @property
    def control_url(self) -> str:
        return _url(self.control)

    def close(self) -> None:
        self.obs.close()
        self.gateway.close()
        self.control.close()


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
    try:
        content = read_json(path)
    except ValueError:
        return 0, 0
    if not isinstance(content, dict):
        return 0, 0
    obs, gateway = content.get("obs"), content.get("gateway")
    if isinstance(obs, int) and isinstance(gateway, int) and 0 < obs < 65536 and 0 < gateway < 65536:
        return obs, gateway
    return 0, 0


def _url(sock: socket.socket) -> str:
    return f"http://{ADDRESS}:{sock.getsockname()[1]}"


_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]/@?#\s]+)(?::(?P<port>\d{1,5}))?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_VIRTUAL = ".localhost"


@dataclass(frozen=True, slots=True)
class LoopbackHost:
    """A Host header of ours; the bucket is named by `bucket.localhost`."""

    bucket: str | None


def loopback_host(value: str, port: int, *, with_bucket: bool = False) -> LoopbackHost | None:
    """The header taken apart, or None where it names another machine or port."""
    match = _HOST.fullmatch(value.strip())
    if match is None or int(match["port"] or 80) != port:
        return None
    name = match["name"].lower()
    if name in _LOOPBACK:
        return LoopbackHost(None)
    if with_bucket and name.endswith(_VIRTUAL) and len(name) > len(_VIRTUAL):
        return LoopbackHost(name.removesuffix(_VIRTUAL))
    return None


def is_foreign(hosts: Sequence[str], origins: Sequence[str], port: int) -> bool:
    """A page of another site reaches a loopback port under its own name or with its own Origin."""
    if len(hosts) != 1 or loopback_host(hosts[0], port) is None:
        return True
    return any(is_foreign_origin(origin, port) for origin in origins)


def is_foreign_origin(origin: str, port: int) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme != "http" or bool(parts.path) or loopback_host(parts.netloc, port) is None
