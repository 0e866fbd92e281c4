"""The loopback ports of a Lab: those of its services are the same after a restart where they are still free."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.lab_errors import PortInUse
from traindeck.lab.private_files import read_json, write_json

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
