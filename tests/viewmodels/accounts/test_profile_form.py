"""The form for a new account, against the real profile desk on real files."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import planted
from support.memory_secrets import MemorySecrets
from support.qt_support import until
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import KeyringMissing, Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.connections import Connection, Connections, LabAddress
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.http import calls as retrying
from traindeck.store.settings import ProfileStore, SettingsFile
from traindeck.viewmodels.accounts.profile_form import ProfileForm, validate

ADDRESSES = ("obs_endpoint", "modelarts_endpoint", "iam_endpoint")
AK, SK = "AKIAEXAMPLE123456789", planted.SECRET_KEY


@pytest.fixture
def unused_port() -> int:
    """A port nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Bench:
    form: ProfileForm
    secrets: MemorySecrets
    service: ProfileService
    nowhere: str

    def fill(self, **changes: str) -> None:
        usual = {"name": "campus", "access_key": AK, "secret_key": SK, **dict.fromkeys(ADDRESSES, self.nowhere)}
        for name, value in {**usual, **changes}.items():
            self.form.set(name, value)

    async def submitted(self) -> None:
        self.form.submit()
        await until(lambda: not self.form.state.busy)


Opened = Callable[[], AbstractAsyncContextManager[Bench]]


@pytest.fixture
def bench(tmp_path: Path, unused_port: int, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Bench]:
        async def no_lab() -> LabAddress:
            raise AssertionError("the Lab has nothing to do with this")

        def no_network(profile: Profile, credentials: Credentials) -> Connection:
            raise Unreachable(text("No answer from {host}.", host=profile.obs_url), text("Look at the network."))

        disk = BlockingCalls(1, "disk")
        shelf = ProfileStore(SettingsFile(tmp_path / "settings.json"), disk)
        secrets = MemorySecrets(disk)
        service = ProfileService(shelf, secrets, Connections(shelf, secrets, no_lab, no_network), disk)
        async with TaskScope(lambda name, error: pytest.fail(f"{name}: {error}")) as scope:
            yield Bench(ProfileForm(service, scope), secrets, service, f"http://127.0.0.1:{unused_port}")
        disk.close()

    return opened


async def test_keys_are_kept_used_and_checked(bench: Opened, tmp_path: Path) -> None:
    async with bench() as at:
        added: list[str] = []
        at.form.added.connect(added.append)
        at.fill(access_key=f"  {AK}\n", secret_key=f"\t{SK} \r\n", name=" campus ")
        await at.submitted()
        assert at.secrets.drawer["campus"].access_key == AK
        assert at.secrets.drawer["campus"].secret_key.reveal() == SK
        assert at.service.current != "campus", "nobody has said yet that its keys are good"
        at.form.use_anyway()
        await until(lambda: not at.form.state.busy)
        assert at.service.current == "campus"
        assert added == ["campus", "campus"]
        assert at.form.state.check_up is not None
        assert {check.passed for check in at.form.state.check_up.checks} == {None}  # nobody answers
        assert SK not in (tmp_path / "settings.json").read_text(encoding="utf-8")
        assert SK not in repr(at.form.state)


async def test_a_second_try_with_better_keys_is_no_conflict(
    bench: Opened,
) -> None:
    async with bench() as at:
        at.fill()
        await at.submitted()
        at.form.set("secret_key", "another" + SK)
        await at.submitted()
        assert at.form.state.error is None
        assert at.secrets.drawer["campus"].secret_key.reveal() == "another" + SK


async def test_the_name_of_an_account_that_exists_is_refused(
    bench: Opened,
) -> None:
    async with bench() as at:
        at.fill()
        await at.submitted()
        other = ProfileForm(at.service, at.form._scope)
        at = Bench(other, at.secrets, at.service, at.nowhere)
        at.fill(secret_key="x" * 40)
        await at.submitted()
        assert "already" in str(other.state.error.title)
        assert at.secrets.drawer["campus"].secret_key.reveal() == SK


async def test_without_a_keyring_nothing_is_kept_anywhere(bench: Opened, tmp_path: Path) -> None:
    async with bench() as at:
        at.secrets.locked = KeyringMissing(text("No keyring."), text("Install gnome-keyring."))
        at.fill()
        await at.submitted()
        assert str(at.form.state.keyring_trouble.hint) == "Install gnome-keyring."
        assert not at.form.state.saved
        assert at.form.state.has_no_keyring
        assert not (tmp_path / "settings.json").exists()


async def test_without_a_keyring_keys_can_be_kept_for_the_session(bench: Opened, tmp_path: Path) -> None:
    async with bench() as at:
        at.secrets.locked = KeyringMissing(text("No keyring."), text("Install gnome-keyring."))
        at.fill()
        await at.submitted()
        at.form.keep_for_session()
        await until(lambda: at.form.state.saved and not at.form.state.busy)
        assert at.secrets.drawer == {}
        assert at.form.state.is_session_only
        assert SK not in (tmp_path / "settings.json").read_text(encoding="utf-8")


async def test_a_form_with_mistakes_is_not_sent(bench: Opened) -> None:
    async with bench() as at:
        at.form.set("name", "mit Leerzeichen drin")
        at.form.submit()
        assert set(at.form.state.errors) == {"name", "access_key", "secret_key"}
        at.form.set("name", "good")
        assert "name" not in at.form.state.errors
        assert at.secrets.drawer == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Lab"),
        ("name", "a" * 41),
        ("region", "Beijing four"),
        ("access_key", "has blank"),
        ("secret_key", "全角"),
        ("obs_endpoint", "obs.example.com"),
        ("obs_endpoint", "https://user:word@obs.example.com"),
        ("modelarts_endpoint", "https://user@obs.example.com"),
        ("iam_endpoint", "https://obs.example.com?a=b"),
    ],
)
async def test_each_field_says_what_is_wrong(bench: Opened, field: str, value: str) -> None:
    async with bench() as at:
        at.fill(**{field: value})
        assert list(validate(at.form.state.fields)) == [field]


async def test_the_consoles_file_fills_both_keys(bench: Opened, tmp_path: Path) -> None:
    path = tmp_path / "credentials.csv"
    path.write_bytes(f"User Name,Access Key Id,Secret Access Key\r\n学员,{AK},{SK}\r\n".encode("gb18030"))
    async with bench() as at:
        at.form.load(path)
        await until(lambda: not at.form.state.busy)
        assert at.form.state.fields.access_key == AK
        assert at.form.state.fields.secret_key.reveal() == SK


async def test_another_file_is_said_to_be_none_and_changes_nothing(bench: Opened, tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    async with bench() as at:
        at.fill()
        at.form.load(path)
        await until(lambda: not at.form.state.busy)
        assert "no access key" in str(at.form.state.error.title)
        assert at.form.state.fields.access_key == AK


async def test_swapped_keys_are_said_at_the_field_and_kept_nowhere(bench: Opened) -> None:
    async with bench() as at:
        at.fill(access_key=SK, secret_key=AK)
        at.form.submit()
        assert set(at.form.state.errors) == {"access_key"}
        assert "swapped" in str(at.form.state.errors["access_key"])
        assert not at.form.state.busy
