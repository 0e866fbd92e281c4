"""Finding the Lab of this home, and starting it as a process of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import IO, Any

from traindeck.domain.errors import LocalTrouble, Unreachable
from traindeck.domain.profiles import LAB, Profile, Provider, Signature
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import spoken, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.listeners import Listeners
from traindeck.services.connections import LabAddress

log = logging.getLogger(__name__)

IDLE_EXIT_S = 600
_START_S = 30.0
_LOOK_EVERY_S = 0.05
_STATUS_S = 3.0
_END_S = 8.0
_STARTS = 3
# Loopback is not asked for through anybody's proxy.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class LabLife(Enum):
    """Whose the Lab is that this program starts."""

    OWNED = auto()  # ends with this program
    BACKGROUND = auto()  # ends by itself when nobody needs it


@dataclass(frozen=True, slots=True)
class LabNews:
    """Where the Lab runs, or that it does not."""

    address: LabAddress | None
    owned: bool


class LabLink:
    """The way to the one Lab of a root folder."""

    def __init__(self, root: Path, life: LabLife, calls: BlockingCalls) -> None:
        self._root = root
        self._life = life
        self._calls = calls
        self._process: subprocess.Popen[bytes] | None = None
        self._address: LabAddress | None = None
        self._opening = asyncio.Lock()
        self.news: Listeners[LabNews] = Listeners()

    @property
    def owns_process(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def address(self) -> LabAddress:
        """The running Lab; started first where there is none."""
        async with self._opening:
            found = await self._calls.run(lambda _: self._running())
            for _ in range(_STARTS):
                if found is not None:
                    break
                found = await self._start()
            if found is None:
                raise Unreachable(
                    text("The Lab started but does not answer."),
                    text("Look into “{log}”, end the process that is left over, and try again.", log=self._log_name()),
                )
            if found != self._address:
                self._address = found
                self.news.tell(LabNews(found, self.owns_process))
            return found

    async def close(self, *, keep_running: bool = False) -> None:
        """End our own Lab with its jobs, or leave it to end by itself."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        await self._calls.run(lambda _: _end(process, "detach" if keep_running else "stop"))

    def _running(self) -> LabAddress | None:
        """What `running.json` says, if a Lab of that very instance answers there."""
        where = _json_file(self._root / "running.json")
        if where is None:
            return None
        address = self._address
        try:
            with _opener.open(f"{where['modelarts']}/lab/status", timeout=_STATUS_S) as answer:
                status = json.load(answer)
            if status["instance"] != where["instance"]:
                return None
            if address is not None and address.instance == where["instance"]:
                return address
            return self._read_address(where)
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.info("no Lab where running.json says: %s", error)
            return None

    def _read_address(self, where: dict[str, Any]) -> LabAddress | None:
        content = _json_file(self._root / "accounts.json")
        if content is None:
            return None
        account = content["accounts"][0]
        profile = Profile(
            name=LAB,
            provider=Provider.LAB,
            region=account["region"],
            obs_endpoint=where["obs"],
            modelarts_endpoint=where["modelarts"],
            iam_endpoint=where["iam"],
            project_id=account["project_id"],
            signature=Signature.AUTO,
            path_style=True,
        )
        credentials = Credentials(account["access_key"], Secret(account["secret_key"]))
        return LabAddress(profile, credentials, where["instance"])

    async def _start(self) -> LabAddress | None:
        """A new Lab; None when another program was quicker and its Lab is not ready yet."""
        with tempfile.TemporaryFile() as words:
            process = await self._calls.run(lambda _: _spawn(self._command(), words, self._life))
            log.info("starting the Lab, process %s", process.pid)
            try:
                found = await self._ready(process)
            except BaseException:
                await self._calls.run(lambda _: _end(process, "stop"))
                raise
            if found is not None and process.poll() is None:
                self._process = process if self._life is LabLife.OWNED else None
                return found
            status = await self._calls.run(lambda _: _end(process, "stop"))
            if found is None and status not in (0, None) and not (self._root / "running.json").exists():
                raise _refusal(words, self._log_name())
            return found

    async def _ready(self, process: subprocess.Popen[bytes]) -> LabAddress | None:
        try:
            async with asyncio.timeout(_START_S):
                while True:
                    found = await self._calls.run(lambda _: self._running())
                    if found is not None or process.poll() is not None:
                        return found
                    await asyncio.sleep(_LOOK_EVERY_S)
        except TimeoutError:
            return None

    def _command(self) -> list[str]:
        program = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "traindeck"]
        owner = ["--owner-pipe"] if self._life is LabLife.OWNED else []
        return [
            *program, "--language", spoken(), "lab", "serve", "--root", str(self._root),
            "--idle-exit", str(IDLE_EXIT_S), *owner,
        ]  # fmt: skip

    def _log_name(self) -> str:
        return str(self._root / "lab.log")


def _spawn(command: list[str], words: IO[bytes], life: LabLife) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C in the terminal of a command must not end the Lab under others.
    apart: dict[str, Any] = (
        {"creationflags": 0x00000200 | 0x08000000}  # new process group, no console window
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if life is LabLife.OWNED else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words,
            env=os.environ | {"PYTHONUTF8": "1"},
            **apart,
        )
    except OSError as error:
        raise LocalTrouble(
            text("The Lab could not be started: {problem}.", problem=error.strerror or str(error)),
            text("Check that TrainDeck is installed completely."),
            str(error),
        ) from error


def _end(process: subprocess.Popen[bytes], word: str) -> int | None:
    """Say the word on the owner's pipe and wait; a Lab that does not obey is killed."""
    if process.stdin is not None:
        try:
            process.stdin.write(f"{word}\n".encode())
            process.stdin.close()
        except OSError:
            log.info("the Lab had ended before it was told to")
    if word == "detach":
        return None
    if process.stdin is None and process.poll() is None:
        process.terminate()
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        log.error("the Lab did not end by itself and is killed")
        process.kill()
        return process.wait()


def _refusal(words: IO[bytes], log_name: str) -> LocalTrouble:
    words.seek(0)
    said = words.read().decode(errors="replace").strip()
    return LocalTrouble(
        text("The Lab could not be started."),
        text("{reason}", reason=said) if said else text("“{log}” tells more.", log=log_name),
        said,
    )


def _json_file(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


