"""Commands with a home of their own, the Lab of that home, and a real keyring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli_commands import Answer, Traindeck, as_program, in_process, serving
from support.servers.lent_lab import LentLab
from support.servers.secret_service import SecretService, is_installed


@pytest.fixture
def traindeck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Traindeck:
    """Commands in this very process; a Lab that serves, and what must begin inside another program, in their own."""
    monkeypatch.chdir(tmp_path)

    def run(
        *arguments: str | Path,
        given: bytes | None = None,
        environment: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
    ) -> Answer:
        words = tuple(str(argument) for argument in arguments)
        if before or words[:2] == ("lab", "serve"):
            return as_program(words, tmp_path, given=given, environment=environment, before=before)
        return in_process(words, given=given, environment=environment)

    return run


@pytest.fixture
def program(tmp_path: Path) -> Traindeck:
    """Every command a process of its own, as a shell starts it."""

    def run(*arguments: str | Path, given: bytes | None = None, environment: dict[str, str] | None = None) -> Answer:
        return as_program(tuple(map(str, arguments)), tmp_path, given=given, environment=environment)

    return run


@pytest.fixture(scope="session")
def lent_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentLab]:
    lab = LentLab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


@pytest.fixture
def lab(lent_lab: LentLab, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The Lab of this home, as `lab serve --json` announces it; only its folder is elsewhere."""
    with lent_lab.to(tmp_path / "home") as facts:
        yield facts


@pytest.fixture
def own_lab(tmp_path: Path) -> Iterator[dict[str, str]]:
    """One in the folder of this home, for who looks or writes there, or ends it."""
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
