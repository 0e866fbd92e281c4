"""The Lab as one running program: its root, its ports, its services, from the lock to the orderly end."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from filelock import BaseFileLock, FileLock, Timeout

from traindeck.lab import own_api
from traindeck.lab.accounts import Accounts, AccountsError
from traindeck.lab.connections import Bounds, Connections
from traindeck.lab.faults import Faults, FaultsError, faults_of_toml
from traindeck.lab.files import logging_to, read_json, write_json
from traindeck.lab.gateway import gateway_app
from traindeck.lab.life import Activity, Life
from traindeck.lab.obs.api import ObsApi, obs_server
from traindeck.lab.obs.errors import StorageFull
from traindeck.lab.obs.index import StoreTooNewError
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.own_api import CONTROL, control_app
from traindeck.lab.ports import (
    BoundPorts,
    LabAccountsDamaged,
    LabBusy,
    LabFaultsUnusable,
    LabRootUnusable,
    bind,
    url_of,
)
from traindeck.lab.root_folder import LOCK, RUNNING
from traindeck.lab.training.api import modelarts_api
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.jobs import JobService

FAULTS = "faults.toml"
# Connections of each port: programs that copy small files open some hundred.
MOST_OBS, MOST_GATEWAY, MOST_CONTROL = 512, 128, 16
# How long an answer under way may still take when the Lab ends.
_LAST_ANSWERS_S = 0.5

_log = logging.getLogger(__name__)


@dataclass
class LabOptions:
    """How to run; `announce` gets the addresses and keys once the ports answer."""

    root: Path
    announce: Callable[[dict[str, object]], None]
    port: int = 0
    idle_exit_s: float | None = None
    owner_pipe: bool = False
    faults: Path | None = None
    # Told what is wrong with the user's settings and yet does not keep the Lab from running.
    warn: Callable[[EventText], None] | None = None
    # What runs jobs where `lab.toml` says nothing.
    python: str = ""


def serve(options: LabOptions) -> int:
    """Run until asked to end, or idle for long enough; raises a LabStartError where it cannot start."""
    root = options.root
    with ExitStack() as stack:
        # Keys, bodies, logs and what jobs write are for the owner alone.
        stack.callback(os.umask, os.umask(0o077))
        with _told_as_unusable(root):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Keys of the Lab and data of its user: closed even where the folder was made by somebody with an open mask.
            root.chmod(0o700)
            stack.callback(_locked(root).release)
            stack.enter_context(logging_to(root))
            accounts = Accounts(root)
            faults = _faults(options)
            store = ObjectStore(root)
            stack.callback(store.close)
        ports = bind(root, options.port)
        for port in ports:
            stack.callback(port.close)
        asyncio.run(_serve(options, accounts, store, ports, faults))
    return 0


async def _serve(
    options: LabOptions, accounts: Accounts, store: ObjectStore, ports: BoundPorts, faults: Faults
) -> None:
    activity = Activity()
    service = JobService(options.root, store, accounts, faults=faults, warn=options.warn, python=options.python)
    service.obs_url = obs_url = url_of(ports.obs)
    addresses = {"obs": obs_url, "modelarts": url_of(ports.gateway), "iam": url_of(ports.gateway)}
    facts: dict[str, object] = {
        "pid": os.getpid(),
        "instance": secrets.token_hex(16),
        **addresses,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "token": secrets.token_hex(32),
    }
    life = Life(activity, service.live_jobs, options.idle_exit_s, has_owner=options.owner_pipe)
    app = gateway_app(accounts, activity, faults)
    own_api.add_routes(app, facts, service.live_jobs, life)
    modelarts_api.add_routes(app, service)
    token = secrets.token_urlsafe(32)
    async with AsyncExitStack() as stack:
        api = ObsApi(store, accounts, activity, faults)
        stack.callback(api.close)
        ports_served = _ports_served(api, app, control_app(faults, token))
        for connections, runner in ports_served:
            stack.push_async_callback(runner.cleanup)
            stack.callback(connections.close)
            await runner.setup()
        # The jobs end first: until then they may still read and write the object store.
        stack.push_async_callback(service.stop)
        with _told_as_unusable(options.root):
            await service.start()
        with life.signals():
            for (connections, runner), port in zip(ports_served, ports, strict=True):
                if runner.server:
                    await connections.listen(runner.server, port)
            running = options.root / RUNNING
            control = options.root / CONTROL
            with _told_as_unusable(options.root):
                write_json(control, {"url": url_of(ports.control), "token": token})
                stack.callback(control.unlink, missing_ok=True)
                write_json(running, facts)
            stack.callback(running.unlink, missing_ok=True)
            if options.owner_pipe:
                life.follow_owner()
            _log.info("listening: obs %s, modelarts and iam %s", obs_url, addresses["iam"])
            account = asdict(accounts.first)
            shown = {name: account[name] for name in ("access_key", "secret_key", "project_id", "region")}
            options.announce({**addresses, "apulis": None, **shown})
            await life.wait()
            _log.info("ending")
            await stack.aclose()


def _ports_served(
    api: ObsApi, gateway: web.Application, control: web.Application
) -> list[tuple[Connections, web.BaseRunner]]:
    """What is behind each port, in their order."""
    objects, calls, rules = (Connections(Bounds(most)) for most in (MOST_OBS, MOST_GATEWAY, MOST_CONTROL))
    ends_s = _LAST_ANSWERS_S
    return [
        (objects, web.ServerRunner(obs_server(api, objects), shutdown_timeout=ends_s)),
        (calls, _app_runner(calls, gateway, auto_decompress=False, shutdown_timeout=ends_s)),
        (rules, _app_runner(rules, control)),
    ]


def _app_runner(connections: Connections, app: web.Application, **more: Any) -> web.AppRunner:
    idle_s = connections.bounds.idle_s
    return web.AppRunner(connections.of(app), access_log=None, handle_signals=False, keepalive_timeout=idle_s, **more)


def _faults(options: LabOptions) -> Faults:
    """The rules of the flag, else those of a file in the root."""
    path = options.faults or options.root / FAULTS
    if options.faults is None and not path.exists():
        return Faults()
    try:
        return Faults(*faults_of_toml(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, FaultsError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise LabFaultsUnusable(
            f"The Lab cannot follow the fault rules in {path}.",
            f"{reason.rstrip('.')}.",
            "Correct the file, or start without it.",
        ) from error


def _locked(root: Path) -> BaseFileLock:
    lock = FileLock(root / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        running: Any = None
        with suppress(OSError, ValueError):
            running = read_json(root / RUNNING)
        is_told = isinstance(running, dict)
        raise LabBusy(
            f"A Lab is already running on {root}.",
            f"It answers on {running.get('obs')}." if is_told else "It is just starting or ending.",
            "Use that one, stop it, or start this one on another folder.",
        ) from error
    return lock


@contextmanager
def _told_as_unusable(root: Path) -> Iterator[None]:
    try:
        yield
    except AccountsError as error:
        raise LabAccountsDamaged(
            f"The accounts of the Lab on {root} cannot be read.",
            str(error),
            "Put back a copy of the file: without it the Lab makes new keys, and nobody owns what it holds.",
        ) from error
    except (OSError, StoreTooNewError, StorageFull, sqlite3.DatabaseError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise LabRootUnusable(
            f"The Lab cannot use the folder {root}.",
            f"{reason.rstrip('.')}.",
            "Free the disk or give the right to write there, or start the Lab on another folder.",
        ) from error
