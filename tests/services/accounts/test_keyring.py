"""Secrets go into a real keyring, or nowhere; the gnome-keyring here runs on a bus of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from support.servers.secret_service import SecretService, is_installed
from support.waiting import AT_ONCE_S, PATIENT_S
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import AccessRefused, InvalidInput, KeyringMissing
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.environment import ENVIRONMENT, environment_profile
from traindeck.services.accounts.secrets import (
    CHOICE_VARIABLE,
    MOST_UNITS,
    SERVICE,
    Secrets,
)

KEYS = Credentials("AKEXAMPLE0000000001", Secret("marked-secret-marked"))
OTHER = Credentials("AKEXAMPLE0000000002", Secret("another-secret"))
needs_keyring = pytest.mark.skipif(not is_installed, reason="needs dbus-daemon and gnome-keyring-daemon")


@asynccontextmanager
async def opened() -> AsyncIterator[Secrets]:
    with closing(BlockingCalls(1, "keyring")) as calls:
        yield Secrets(calls)


@needs_keyring
async def test_keys_outlive_the_program(keyring: SecretService) -> None:
    async with opened() as secrets:
        assert await secrets.backend() == "Secret Service"
        await secrets.write("lab at home", KEYS)
    script = (
        "import asyncio\n"
        "from traindeck.runtime.blocking import BlockingCalls\n"
        "from traindeck.services.accounts.secrets import Secrets\n"
        "calls = BlockingCalls(1, 'keyring')\n"
        "found = asyncio.run(Secrets(calls).read('lab at home'))\n"
        "calls.close()\n"
        "print(found.access_key, found.secret_key.reveal() == 'marked-secret-marked')\n"
    )
    other = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENT_S, check=True
    )
    assert other.stdout.split() == [KEYS.access_key, "True"]


@needs_keyring
async def test_each_profile_has_its_own_entry_and_writing_again_replaces_it(keyring: SecretService) -> None:
    async with opened() as secrets:
        await secrets.write("one", KEYS)
        await secrets.write("two", KEYS)
        await secrets.write("one", OTHER)
        assert await secrets.read("one") == OTHER
        assert await secrets.read("two") == KEYS
        await secrets.remove("one")
        assert await secrets.read("one") is None
        assert await secrets.read("two") == KEYS


@needs_keyring
async def test_what_is_not_there_is_none_and_removed_without_complaint(keyring: SecretService) -> None:
    async with opened() as secrets:
        assert await secrets.read("nobody") is None
        await secrets.remove("nobody")


@needs_keyring
async def test_the_secret_is_not_readable_on_disk(keyring: SecretService) -> None:
    async with opened() as secrets:
        await secrets.write("one", KEYS)
    assert keyring.stored, "gnome-keyring has written its file"
    assert KEYS.secret_key.reveal().encode() not in keyring.stored


@needs_keyring
async def test_a_damaged_entry_is_named_without_being_shown(keyring: SecretService) -> None:
    from keyring.backends.SecretService import Keyring

    def spoil() -> None:
        Keyring().set_password(SERVICE, "profile:one", "marked-secret-marked, not JSON")

    await asyncio.to_thread(spoil)
    async with opened() as secrets:
        with pytest.raises(AccessRefused) as caught:
            await secrets.read("one")
    assert "marked-secret" not in f"{caught.value.sentence()} {caught.value.detail}"


@needs_keyring
async def test_a_locked_keyring_nobody_can_open_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SecretService(tmp_path / "keyring", unlocked=False) as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(CHOICE_VARIABLE)
        async with opened() as secrets:
            with pytest.raises(KeyringMissing) as caught:
                await secrets.write("one", KEYS)
    assert "locked" in caught.value.sentence()


@needs_keyring
async def test_a_keyring_that_goes_away_is_an_error_not_a_crash(keyring: SecretService) -> None:
    async with opened() as secrets:
        await secrets.write("one", KEYS)
        keyring.__exit__(None, None, None)
        with pytest.raises(KeyringMissing):
            await secrets.read("one")
        with pytest.raises(KeyringMissing):
            await secrets.backend()


MUTE = """
import time
from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection
bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
connection = open_dbus_connection()
connection.send_and_get_reply(new_method_call(bus, "RequestName", "su", ("org.freedesktop.secrets", 4)))
print("mine", flush=True)
connection.receive()
print("asked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def mute_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A keyring that takes every request and answers none, as one with an open dialog does."""
    command = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as bus:
        assert bus.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.stdout.readline().decode().strip())
        monkeypatch.delenv(CHOICE_VARIABLE)
        with subprocess.Popen([sys.executable, "-c", MUTE], stdout=subprocess.PIPE) as owner:
            try:
                assert owner.stdout is not None
                assert owner.stdout.readline() == b"mine\n"
                yield owner
            finally:
                owner.kill()
                bus.terminate()


@needs_keyring
async def test_an_unanswered_keyring_does_not_keep_the_program(mute_keyring: subprocess.Popen[bytes]) -> None:
    async with opened() as secrets:
        asking = asyncio.ensure_future(secrets.read("one"))
        assert mute_keyring.stdout is not None
        assert await asyncio.to_thread(mute_keyring.stdout.readline) == b"asked\n"
        begin = time.monotonic()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert time.monotonic() - begin < AT_ONCE_S


@pytest.mark.parametrize(
    "choice",
    [
        "keyring.backends.fail.Keyring",
        "keyring.backends.null.Keyring",
        "keyring.backends.chainer.ChainerBackend",
        "keyrings.alt.file.PlaintextKeyring",
        "",
    ],
)
async def test_only_real_keyrings_are_accepted(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE_VARIABLE, choice)
    async with opened() as secrets:
        with pytest.raises(KeyringMissing):
            await secrets.backend()
        with pytest.raises(KeyringMissing) as caught:
            await secrets.write("one", KEYS)
    assert "keyring" in caught.value.sentence()


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="these always have one")
async def test_without_a_keyring_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOICE_VARIABLE)
    monkeypatch.setenv("DISPLAY", ":99")
    async with opened() as secrets:
        with pytest.raises(KeyringMissing, match="no keyring") as caught:
            await secrets.read("one")
    assert "gnome-keyring" in caught.value.sentence()
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    async with opened() as secrets:
        with pytest.raises(KeyringMissing) as caught:
            await secrets.read("one")
    assert "dbus-run-session" in caught.value.sentence()


async def test_tokens_and_what_windows_cannot_hold_are_refused_before_anything_is_written() -> None:
    async with opened() as secrets:
        with pytest.raises(InvalidInput, match="Temporary"):
            await secrets.write("one", Credentials("AK", Secret("SK"), Secret("token")))
        with pytest.raises(InvalidInput, match="too long"):
            await secrets.write("one", Credentials("AK", Secret("x" * MOST_UNITS)))


async def test_session_keys_live_in_memory_and_go_first() -> None:
    async with opened() as secrets:
        secrets.keep("one", KEYS)
        assert await secrets.read("one") == KEYS
        assert secrets.is_kept("one")
        with pytest.raises(KeyringMissing):
            await secrets.read("two")
        await secrets.remove("one")
        assert not secrets.is_kept("one")
        with pytest.raises(KeyringMissing):
            await secrets.remove("one")


async def test_the_keys_in_the_environment_are_there_while_they_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE_VARIABLE, "")
    async with opened() as secrets:
        with pytest.raises(KeyringMissing):
            await secrets.read(ENVIRONMENT)
        assert environment_profile() is None
        monkeypatch.setenv("HUAWEICLOUD_SDK_AK", "ACCESSKEYOFTHEENV")
        with pytest.raises(InvalidInput, match="HUAWEICLOUD_SDK_SK is missing"):
            environment_profile()
        monkeypatch.setenv("HUAWEICLOUD_SDK_SK", " not-a-real-one\n")
        found = await secrets.read(ENVIRONMENT)
        assert found is not None and found.secret_key.reveal() == "not-a-real-one" and found.token is None
        profile = environment_profile()
        assert profile is not None and (profile.name, profile.region) == (ENVIRONMENT, "cn-north-4")
        monkeypatch.setenv("HUAWEICLOUD_SDK_REGION", "cn-east-3")
        monkeypatch.setenv("HUAWEICLOUD_SDK_SECURITY_TOKEN", "token")
        found, profile = await secrets.read(ENVIRONMENT), environment_profile()
        assert found is not None and found.token is not None and profile is not None and profile.region == "cn-east-3"
        monkeypatch.setenv("HUAWEICLOUD_SDK_REGION", "the moon")
        with pytest.raises(InvalidInput, match="moon"):
            environment_profile()


@pytest.mark.skipif(sys.platform != "linux", reason="D-Bus is of Linux desktops")
@pytest.mark.parametrize("authenticates", [False, True])
async def test_a_bus_that_hangs_is_no_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, authenticates: bool
) -> None:
    from traindeck.services.accounts import secret_service

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if authenticates:
            await reader.readuntil(b"\r\n")
            writer.write(b"OK 0123456789abcdef0123456789abcdef\r\n")
        await reader.read()
        writer.close()

    monkeypatch.setattr(secret_service, "ANSWER_S", 0.1)
    monkeypatch.setattr(secret_service, "CONNECT_S", 0.1)
    place = tmp_path / "bus"
    async with await asyncio.start_unix_server(silent, place):
        monkeypatch.delenv(CHOICE_VARIABLE, raising=False)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={place}")
        with pytest.raises(KeyringMissing, match="does not respond") as refused:
            async with opened() as secrets:
                await secrets.backend()
    assert "Install" not in refused.value.sentence()
