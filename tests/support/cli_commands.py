"""Commands as a user types them, in this process or in one of their own, with what they left behind."""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
from botocore.config import Config

import traindeck
from support.waiting import PATIENT_S
from traindeck.__main__ import main
from traindeck.cli import parser
from traindeck.cli.parser_parts import Parser
from traindeck.domain import texts

LIMIT_S = PATIENT_S
_OURS = str(Path(traindeck.__file__).parent)


def is_ours(said: str) -> bool:
    """Whether a traceback of the program itself was printed, not one from the log of a job."""
    return "Traceback" in said and _OURS in said.replace("\\\\", "\\")


class Answer:
    """What a command left behind; kept as bytes, because an encoding is part of what is tested."""

    def __init__(self, arguments: tuple[str, ...], code: int, raw: bytes, said: bytes) -> None:
        self.arguments = arguments
        self.code = code
        self.raw = raw
        self.said = said.decode("utf-8", errors="replace")
        assert not is_ours(self.said), self.said
        assert not is_ours(raw.decode("utf-8", "replace")), raw

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")

    @property
    def document(self) -> Any:
        """The one JSON document that was printed."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.document["error"]
        return error

    def must_be(self, code: int) -> Answer:
        assert self.code == code, f"{self.arguments} ended with {self.code}: {self.said}\n{self.raw!r}"
        return self


Traindeck = Callable[..., Answer]


def typed_commands() -> Iterator[tuple[str, ...]]:
    """All that can be typed, as the words that name each command."""
    return (words for words, of in parsers() if of.commands is None)


def parsers(of: Parser | None = None, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Of each group and each command, with the words that name it."""
    of = of or parser.build()
    of.complete()
    yield words, of
    for name, inner in of.commands.parsers.items() if of.commands else ():
        yield from parsers(inner, (*words, name))


def as_program(
    words: tuple[str, ...],
    folder: Path,
    *,
    given: bytes | None = None,
    environment: dict[str, str] | None = None,
    before: tuple[str, ...] = (),
) -> Answer:
    done = subprocess.run(
        [*before, sys.executable, "-m", "traindeck", *words],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        timeout=LIMIT_S,
        cwd=folder,
        env=os.environ | (environment or {}),
    )
    return Answer(words, done.returncode, done.stdout, done.stderr)


def in_process(
    words: tuple[str, ...], *, given: bytes | None = None, environment: dict[str, str] | None = None
) -> Answer:
    """The same `main` on streams of its own; what it arranges for a whole process is put back."""
    out, said = io.BytesIO(), io.BytesIO()
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment or {}))
        stack.enter_context(_standard_input(given or b""))
        for name, stream in (("stdout", out), ("stderr", said)):
            stack.enter_context(patch.object(sys, name, io.TextIOWrapper(stream, encoding="utf-8")))
        stack.enter_context(_state_of_process_kept())
        stack.enter_context(_given_up_after(LIMIT_S))
        code = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
        return Answer(words, code, out.getvalue(), said.getvalue())


@contextmanager
def _standard_input(given: bytes) -> Iterator[None]:
    """As a file, because some commands read the descriptor itself."""
    before = os.dup(0)
    try:
        with tempfile.TemporaryFile() as file:
            file.write(given)
            file.seek(0)
            os.dup2(file.fileno(), 0)
        with open(0, encoding="utf-8", closefd=False) as stream, patch.object(sys, "stdin", stream):
            yield
    finally:
        os.dup2(before, 0)
        os.close(before)


@contextmanager
def _state_of_process_kept() -> Iterator[None]:
    loggers = [(logger, logger.level, list(logger.handlers)) for logger in map(logging.getLogger, ("", "traindeck"))]
    thresholds = gc.get_threshold()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        for logger, level, handlers in loggers:
            logger.setLevel(level)
            logger.handlers[:] = handlers
        texts.speak(texts.ENGLISH, texts.AS_WRITTEN)


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """What hangs fails its test, not the whole run."""
    if sys.platform == "win32":
        yield
        return

    def give_up(*_: object) -> None:
        raise TimeoutError(f"the command has not ended after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


NAMES = ["数据.txt", "a b.bin", "sub/deep/ü.txt", "sub/two.txt"]


def put_files(folder: Path, content: Mapping[str, bytes]) -> None:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def put_object(traindeck: Traindeck, file: Path, content: bytes, target: str) -> None:
    """A file of the folder one stands in as an object of a new bucket."""
    file.write_bytes(content)
    traindeck("obs", "mb", target.removeprefix("obs://").partition("/")[0]).must_be(0)
    traindeck("obs", "cp", file.name, target).must_be(0)


def make_tree(folder: Path) -> dict[str, bytes]:
    put_files(folder, {name: os.urandom(300) + name.encode() for name in NAMES})
    return tree(folder)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def serving(*options: str) -> Iterator[dict[str, str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "traindeck", "lab", "serve", "--json", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            # One that was told to end is on its way, and a signal would only tear off its last steps.
            if "--root" in options or Path(os.environ["TRAINDECK_HOME"], "lab", "running.json").exists():
                process.terminate()
            assert process.wait(PATIENT_S) == 0


def s3(lab: dict[str, str]) -> Any:
    """Another program's client of this Lab."""
    return boto3.client(
        "s3",
        endpoint_url=lab["obs"],
        aws_access_key_id=lab["access_key"],
        aws_secret_access_key=lab["secret_key"],
        region_name="lab",
        config=Config(s3={"addressing_style": "path"}),
    )


def deny(file: Path, action: str, resource: str) -> None:
    """Write a policy that keeps everybody from this."""
    statement = {"Effect": "Deny", "Principal": {"ID": "*"}, "Action": [action], "Resource": [resource]}
    file.write_text(json.dumps({"Statement": [statement]}), encoding="utf-8")
