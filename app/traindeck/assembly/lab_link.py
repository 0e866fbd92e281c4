"""Finding the Lab of this home, and starting it as a process of its own."""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import IO, Any

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, Profile, Provider, Signature
from traindeck.domain.errors import AppError, Conflict, LocalTrouble, Unreachable
from traindeck.domain.settings import LAB_IDLE
from traindeck.domain.texts import spoken, text
from traindeck.lab.root_folder import living_lab
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.own_program import harmless_environment, own_program
from traindeck.runtime.tasks import Listeners
from traindeck.services.accounts.connections import LabAddress

log = logging.getLogger(__name__)

_START_S = 120.0  # one that ends before is known at once
_OTHERS_LOOK_S = 3.0
_OTHERS_END_S = 60.0
_LOOK_EVERY_S = 0.05
_END_S = 8.0
_DETAIL_LIMIT = 4000
# They are meant to outlive whoever started them. Of the whole process: one that ended stays a zombie until its parent
# asks, whichever link began it.
_left_alone: set[subprocess.Popen[bytes]] = set()


@atexit.register
def _forget_left_alone() -> None:
    """Python would complain at the end of the program that they still run, which they should."""
    for process in _left_alone:
        process.returncode = 0


class LabLife(Enum):
    """Whose the Lab is that this program starts."""

    OWNED = auto()  # ends with this program
    BACKGROUND = auto()  # ends by itself when nobody needs it


class LabLink:
    """The way to the one Lab of a root folder."""

    def __init__(self, root: Path, life: LabLife, calls: BlockingCalls) -> None:
        self._root = root
        self._log = str(root / "lab.log")
        self._life = life
        self._calls = calls
        self._process: subprocess.Popen[bytes] | None = None
        self._address: LabAddress | None = None
        self._opening = asyncio.Lock()
        self.is_starting = False
        self._is_stopped = False
        self.idle_exit_s = 60 * LAB_IDLE.default
        self.python = ""
        """What runs its jobs, where `lab.toml` says nothing; empty: what is found."""
        self.news: Listeners[LabAddress | None] = Listeners()
        """Where the Lab runs, or that it does not."""

    @property
    def owns_process(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def address(self) -> LabAddress:
        """The running Lab; started first where there is none, unless the user stopped it."""
        async with self._opening:
            found = await self._found()
            if found is None and self._is_stopped:
                raise Unreachable(text("The Lab is stopped."), text("Start it: Account → The Lab… → Start."))
            self._is_stopped = False
            if found is None:
                self.is_starting = True
                try:
                    found = await self._started()
                finally:
                    self.is_starting = False
            if found is None:
                raise Unreachable(
                    text("The Lab started but is not responding."),
                    text("Check “{log}”, end the remaining process, and try again.", log=self._log),
                )
            if found != self._address:
                self._address = found
                self.news.tell(found)
            return found

    async def is_running(self) -> bool:
        """Whether there is one now; none is started."""
        return await self._found() is not None

    async def start(self) -> None:
        """As the user chooses, also after a stop."""
        self._is_stopped = False
        await self.address()

    def stay_stopped(self) -> None:
        """One that runs is used; nobody here starts one until `start`."""
        self._is_stopped = True

    @asynccontextmanager
    async def ended(self, *, stay: bool) -> AsyncIterator[None]:
        """Our own Lab is ended with its jobs, and as long as the block lasts nobody here starts another.

        `stay`: nor does anybody after it, until `start`.
        """
        async with self._opening:
            self._is_stopped = stay
            await self.close()
            self._address = None
            self.news.tell(None)
            yield

    async def close(self, *, keep_running: bool = False) -> None:
        """End our own Lab with its jobs, or leave it to end by itself."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        await self._calls.run(lambda _: _end(process, "detach" if keep_running else "stop"))

    async def _started(self) -> LabAddress | None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _OTHERS_END_S
        while loop.time() < end:
            try:
                found = await self._start()
            except Conflict:
                # Another program was quicker, or its Lab is just ending.
                found = await self._found(_OTHERS_LOOK_S)
            if found is not None:
                return found
        return None

    async def _found(self, within_s: float = 0.0) -> LabAddress | None:
        """The Lab that runs, or one that another program is starting."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within_s
        while True:
            found = await self._calls.run(lambda _: self._running())
            if found is not None or loop.time() >= end:
                return found
            await asyncio.sleep(_LOOK_EVERY_S)

    def _running(self) -> LabAddress | None:
        """The Lab that lives, with the keys of its first account; whether it answers in time is for its callers."""
        _left_alone.difference_update([process for process in tuple(_left_alone) if process.poll() is not None])
        try:
            lab, address = living_lab(self._root), self._address
            if lab is None or (address is not None and address.instance == lab.instance):
                return None if lab is None else address
            account = json.loads((self._root / "accounts.json").read_bytes())["accounts"][0]
            profile = Profile(
                name=LAB,
                provider=Provider.LAB,
                region=account["region"],
                obs_endpoint=lab.obs,
                modelarts_endpoint=lab.modelarts,
                iam_endpoint=lab.iam,
                project_id=account["project_id"],
                signature=Signature.AUTO,
                path_style=True,
            )
            return LabAddress(profile, Credentials(account["access_key"], Secret(account["secret_key"])), lab.instance)
        except (OSError, ValueError, LookupError, TypeError) as error:
            log.info("no Lab that can be used: %s", type(error).__name__)  # the file holds its keys
            return None

    async def _start(self) -> LabAddress | None:
        """A new Lab; raises what it said itself when it could not start, Conflict when there is one already."""
        import tempfile

        with ExitStack() as owned:
            started: list[subprocess.Popen[bytes]] = []

            def spawn(_: CancelToken) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
                # Noted here: whoever is cancelled while the process comes into being is not given it.
                words = owned.enter_context(tempfile.TemporaryFile())
                started.append(_spawn(self._command(), self._root.parent, words, self._life))
                return started[0], words

            try:
                process, words = await self._calls.run(spawn)
                log.info("starting the Lab, process %s", process.pid)
                said = await self._first_words(process)
                found = await self._found() if "obs" in said else None
            except BaseException:
                for begun in started:
                    await self._calls.run(partial(_discard, begun))
                raise
            if found is not None:
                await self._keep(process)
                return found
            await self._calls.run(lambda _: _end(process, "stop"))
            if "obs" in said:
                return None
            raise _refusal(said, words, self._log)

    async def _keep(self, process: subprocess.Popen[bytes]) -> None:
        before, self._process = self._process, None
        if before is not None:  # it died on its own
            await self._calls.run(lambda _: _end(before, "stop"))
        if self._life is LabLife.OWNED:
            self._process = process
        else:
            _left_alone.add(process)

    async def _first_words(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """What a starting Lab prints: its addresses, or why there are none; empty when it says nothing in time."""
        try:
            async with asyncio.timeout(_START_S):
                return await self._calls.run(lambda token: _read_line(process, token))
        except TimeoutError:
            return {}

    def _command(self) -> list[str]:
        python = ["--python", self.python] if self.python else []
        owner = ["--owner-pipe"] if self._life is LabLife.OWNED else []
        return [
            *own_program(), "--language", spoken(), "lab", "serve", "--json", "--root", str(self._root),
            "--idle-exit", str(self.idle_exit_s), *python, *owner,
        ]  # fmt: skip


def _spawn(command: list[str], folder: Path, words: IO[bytes], life: LabLife) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C in the terminal of a command must not end the Lab under others.
    apart: dict[str, Any] = (
        {"creationflags": 0x00000200 | 0x08000000}  # new process group, no console window
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    try:
        return subprocess.Popen(
            command,
            cwd=folder,  # not the user's, which could not be removed while the Lab runs
            stdin=subprocess.PIPE if life is LabLife.OWNED else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=words,
            # The home by its whole name: the Lab keeps it from its jobs, and has another working folder.
            env=harmless_environment() | {"PYTHONUTF8": "1", "TRAINDECK_HOME": str(folder)},
            **apart,
        )
    except OSError as error:
        raise LocalTrouble(
            text("The Lab could not be started: {problem}.", problem=error.strerror or str(error)),
            text("Check that TrainDeck is installed completely."),
            str(error),
        ) from error


def _end(process: subprocess.Popen[bytes], word: str) -> None:
    """Say the word on the owner's pipe and wait; a Lab that does not obey is killed."""
    if process.stdin is not None:
        try:
            process.stdin.write(f"{word}\n".encode())
            process.stdin.close()
        except OSError:
            log.info("the Lab had ended before it was told to")
    if word == "detach":
        _left_alone.add(process)
        return
    if process.stdin is None and process.poll() is None:
        process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        log.error("the Lab did not end by itself and is killed")
        process.kill()
        process.wait()


def _discard(process: subprocess.Popen[bytes], _: CancelToken) -> None:
    """End a Lab that nobody has used yet, without waiting until it listens."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _read_line(process: subprocess.Popen[bytes], token: CancelToken) -> dict[str, Any]:
    """Never kept anywhere: the keys of the Lab are in it."""
    assert process.stdout is not None
    forget = token.on_cancel(process.kill)  # the only way to end this reading
    try:
        with process.stdout as stream:
            line = stream.readline()
    finally:
        forget()
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _refusal(said: dict[str, Any], words: IO[bytes], log_name: str) -> AppError:
    """The Lab's own sentence, once; what it printed besides is for a report."""
    words.seek(0)
    detail = words.read().decode(errors="replace").strip()[-_DETAIL_LIMIT:]
    error = said.get("error")
    if not isinstance(error, dict):
        return LocalTrouble(
            text("The Lab could not be started."), text("For details, see “{log}”.", log=log_name), detail
        )
    kind = Conflict if error.get("kind") == Conflict.kind else LocalTrouble
    reason = f"{error.get('title', '')} {error.get('hint', '')}".strip()
    return kind(
        text("The Lab could not be started."), text("{reason}", reason=reason), str(error.get("detail") or detail)
    )
