"""Commands with a home of their own, the Lab of that home, and a real keyring."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli_commands import LIMIT_S, Answer, Traindeck, serving
from support.servers.secret_service import SecretService, is_installed


@pytest.fixture
def traindeck(tmp_path: Path) -> Traindeck:
    def run(
        *arguments: str | Path,
        given: bytes | None = None,
        environment: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
    ) -> Answer:
        words = tuple(str(argument) for argument in arguments)
        done = subprocess.run(
            [*before, sys.executable, "-m", "traindeck", *words],
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=LIMIT_S,
            cwd=tmp_path,
            env=os.environ | (environment or {}),
        )
        return Answer(words, done)

    return run


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The Lab of this home, as `lab serve --json` announces it."""
    with serving() as facts:
        yield facts


@pytest.fixture
def keyring(tmp_path: Path) -> Iterator[SecretService]:
    """A real keyring; its environment leads commands to it."""
    if not is_installed:
        pytest.skip("gnome-keyring is Linux's")
    with SecretService(tmp_path / "secret-service") as service:
        service.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.SecretService.Keyring"
        yield service
