"""Trouble on request: rules that say which requests go wrong, and how."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import threading
import tomllib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from fnmatch import fnmatchcase
from io import BytesIO
from typing import Any, BinaryIO

from aiohttp import web

from traindeck.lab.fault_kinds import Kind as Kind

log = logging.getLogger(__name__)

# A page as proxies send them; a job that is let wait.
HTML, PENDING = "html", "pending"
_BODIES = {Kind.ERROR: HTML, Kind.SOLD_OUT: PENDING}
# What happens on the wire, whatever the request is; the others are asked for by the operation they concern.
OF_THE_WIRE = frozenset(Kind) - {Kind.SOLD_OUT, Kind.QUOTA, Kind.TIME_LIMIT}


class FaultsError(Exception):
    """A rule that cannot be followed, in words for its author."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule. `count` 0 means always; `skip` lets the first requests pass; `resource` is a pattern of /bucket/key."""

    kind: Kind
    service: str = "*"
    operation: str = "*"
    resource: str = "*"
    count: int = 0
    skip: int = 0
    probability: float = 1.0
    seconds: float = 0.0
    bytes_per_second: int = 0
    status: int = 503
    code: str = ""
    body: str = ""
    after_bytes: int = 0

    def concerns(self, service: str, operation: str, resource: str) -> bool:
        return all(map(fnmatchcase, (service, operation, resource), (self.service, self.operation, self.resource)))

    def shown(self) -> dict[str, object]:
        said = {name: value for name, value in asdict(self).items() if value != _USUAL[name]}
        return {**said, "kind": self.kind.value}


_USUAL = {one.name: one.default for one in fields(Fault)}


class Faults:
    """The rules in force; may be asked by any thread."""

    def __init__(self, rules: Iterable[Fault] = (), seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self.replace(rules, seed)

    def replace(self, rules: Iterable[Fault], seed: int = 0) -> None:
        """Forget all rules and take these; chance begins anew from the seed."""
        taken = list(rules)
        with self._lock:
            self._rules = [_Counted(rule) for rule in taken]
            self._chance = random.Random(seed)
            self._seed = seed
        for call in self._listeners:
            try:
                call()
            except Exception:
                # The rules are in force, and the others have to know.
                log.exception("a change of the fault rules")

    def on_change(self, call: Callable[[], None]) -> None:
        """`call` whenever other rules come into force; it must not wait."""
        self._listeners.append(call)

    def is_in_force(self, fault: Fault) -> bool:
        with self._lock:
            return any(one.rule == fault for one in self._rules)

    def shown(self) -> dict[str, object]:
        with self._lock:
            rules = [{**one.rule.shown(), "fired": one.fired} for one in self._rules]
            return {"seed": self._seed, "faults": rules}

    def drawn(
        self, service: str, operation: str, resource: str = "", kinds: frozenset[Kind] = OF_THE_WIRE
    ) -> Sequence[Fault]:
        """The rules that strike this time."""
        if not self._rules:
            return ()
        with self._lock:
            meant = (one for one in self._rules if one.rule.kind in kinds)
            concerned = [one for one in meant if one.rule.concerns(service, operation, resource)]
            return [one.rule for one in concerned if one.strikes(self._chance)]


@dataclass
class _Counted:
    rule: Fault
    seen: int = 0
    fired: int = 0

    def strikes(self, chance: random.Random) -> bool:
        self.seen += 1
        if self.seen <= self.rule.skip or (self.rule.count and self.fired >= self.rule.count):
            return False
        if self.rule.probability < 1 and chance.random() >= self.rule.probability:
            return False
        self.fired += 1
        return True


def faults_of_toml(text: str) -> tuple[list[Fault], int]:
    """Rules and seed from a file with tables [[fault]]."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FaultsError(f"The rules are not TOML: {error}") from error
    return faults_of(content, "fault")


def faults_of(content: Mapping[str, Any], name: str = "faults") -> tuple[list[Fault], int]:
    unknown = set(content) - {name, "seed"}
    if unknown:
        raise FaultsError(f"There is no such setting: {', '.join(sorted(unknown))}.")
    rows, seed = content.get(name, []), content.get("seed", 0)
    if not isinstance(rows, list) or not isinstance(seed, int):
        raise FaultsError("The rules are a list, and the seed is a number.")
    return [_fault(row) for row in rows], seed


def _fault(row: object) -> Fault:
    if not isinstance(row, dict) or "kind" not in row:
        raise FaultsError("A rule names at least its kind.")
    values = {name: value for name, value in row.items() if name != "kind"}
    for name, value in values.items():
        if name not in _USUAL:
            raise FaultsError(f"A rule has no {name!r}.")
        wanted: type = type(_USUAL[name])
        is_number = wanted is float and isinstance(value, int)
        if isinstance(value, bool) or not (isinstance(value, wanted) or is_number):
            raise FaultsError(f"{name} of a rule must be of the kind {wanted.__name__}.")
        if wanted is not str and not math.isfinite(value):
            raise FaultsError(f"{name} of a rule must be a number.")
        if wanted is not str and value < 0 and name != "seconds":
            raise FaultsError(f"{name} of a rule must not be negative.")
        values[name] = wanted(value)
    try:
        kind = Kind(row["kind"])
    except ValueError as error:
        known = ", ".join(one.value for one in Kind)
        raise FaultsError(f"There is no fault {row['kind']!r}; there are {known}.") from error
    fault = Fault(kind, **values)
    if kind is Kind.ERROR and not 400 <= fault.status <= 599:
        raise FaultsError("The status of an error is between 400 and 599.")
    if fault.body and fault.body != _BODIES.get(kind):
        raise FaultsError("The body of an error may be html, and that of sold-out may be pending.")
    if kind is Kind.BANDWIDTH and not fault.bytes_per_second:
        raise FaultsError("A bandwidth needs bytes_per_second.")
    return fault


_BLOCK = 16 * 1024
_HTML = "<html><head><title>{status} {reason}</title></head><body><h1>{status} {reason}</h1></body></html>"


class LostError(ConnectionResetError):
    """The connection was closed on purpose."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """The faults that struck one request."""

    faults: Sequence[Fault] = ()

    def of(self, kind: Kind) -> Fault | None:
        return next((fault for fault in self.faults if fault.kind is kind), None)

    @property
    def now(self) -> datetime:
        """The time as this request finds it."""
        skew = sum(fault.seconds for fault in self.faults if fault.kind is Kind.CLOCK_SKEW)
        return datetime.now(UTC) + timedelta(seconds=skew)

    @property
    def bytes_per_second(self) -> int:
        fault = self.of(Kind.BANDWIDTH)
        return fault.bytes_per_second if fault else 0

    @property
    def spoils_answers(self) -> bool:
        return any(fault.kind in (Kind.BANDWIDTH, Kind.LOST_ANSWER, Kind.CUT_BODY) for fault in self.faults)

    async def before(self, http: web.BaseRequest) -> None:
        """Wait, or lose the request."""
        for fault in self.faults:
            if fault.kind is Kind.LATENCY:
                await asyncio.sleep(max(0.0, fault.seconds))
        if self.of(Kind.LOST_REQUEST):
            lose(http)

    def html(self) -> web.Response | None:
        """The page of a proxy on the way, where an error rule asks for one."""
        fault = self.of(Kind.ERROR)
        if fault is None or fault.body != HTML:
            return None
        reason = fault.code or "Error"
        text = _HTML.format(status=fault.status, reason=reason)
        return web.Response(status=fault.status, text=text, content_type="text/html")


NO_TROUBLE = Trouble()


def lose(http: web.BaseRequest) -> None:
    """Close the connection at once, without a word."""
    if http.transport:
        http.transport.abort()
    raise LostError


async def paced(pieces: AsyncIterator[bytes], bytes_per_second: int) -> AsyncIterator[bytes]:
    """Hand pieces on no faster than this."""
    loop = asyncio.get_running_loop()
    start, passed = loop.time(), 0
    async for piece in pieces:
        passed += len(piece)
        await asyncio.sleep(max(0.0, start + passed / bytes_per_second - loop.time()))
        yield piece


async def spoiled(http: web.BaseRequest, response: web.StreamResponse, trouble: Trouble) -> web.StreamResponse:
    """Send a ready answer as the faults want it."""
    if trouble.of(Kind.CLOCK_SKEW) and not response.prepared:
        # Clients that were refused set their clock by it.
        response.headers["Date"] = format_datetime(trouble.now, usegmt=True)
    if not trouble.spoils_answers or response.prepared or not isinstance(response, web.Response):
        return response
    data = response.body if isinstance(response.body, bytes) else b""
    streamed = web.StreamResponse(status=response.status, reason=response.reason, headers=response.headers)
    return await send_spoiled(http, streamed, BytesIO(data), 0, len(data), trouble)


async def send_spoiled(
    http: web.BaseRequest, response: web.StreamResponse, file: BinaryIO, first: int, length: int, trouble: Trouble
) -> web.StreamResponse:
    """Send `length` bytes of the file slowly, in part, or not at all."""
    if trouble.of(Kind.LOST_ANSWER):
        lose(http)
    cut = trouble.of(Kind.CUT_BODY)
    if "Content-Length" not in response.headers:
        response.content_length = length
    await response.prepare(http)
    if http.method == "HEAD" or response.status in (204, 304):
        await response.write_eof()
        return response
    wanted = min(length, cut.after_bytes) if cut else length

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, wanted, _BLOCK):
            file.seek(first + at)
            yield file.read(min(_BLOCK, wanted - at))

    sent = paced(pieces(), trouble.bytes_per_second) if trouble.bytes_per_second else pieces()
    async for piece in sent:
        await response.write(piece)
    if wanted < length:
        # Unlike an abort, this lets the bytes before the cut arrive.
        if http.transport:
            http.transport.close()
        raise LostError
    await response.write_eof()
    return response
