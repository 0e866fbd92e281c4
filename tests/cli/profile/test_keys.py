"""Keys come from the environment or lines, and say what is missing without saying what is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindeck.cli import profile
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.errors import InvalidInput

AK, SK = "ACCESSKEY1234567890X", "secret/key+that=nobody.sees"


def test_temporary_keys_are_refused_with_the_way_to_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert profile.from_lines([AK, SK, ""]).token is None
    monkeypatch.setenv("HUAWEICLOUD_SDK_AK", AK)
    monkeypatch.setenv("HUAWEICLOUD_SDK_SK", SK)
    monkeypatch.setenv("HUAWEICLOUD_SDK_SECURITY_TOKEN", " token\n")
    ways: tuple[Callable[[], Credentials], ...] = (
        lambda: profile.from_lines([AK, SK, "token"]),
        profile.from_environment,
    )
    for gathering in ways:
        with pytest.raises(InvalidInput, match="Temporary keys") as caught:
            gathering()
        assert "--profile environment" in caught.value.sentence() and SK not in caught.value.sentence()


@pytest.mark.parametrize("lines", [[], [AK], ["", SK]])
def test_a_missing_line_is_named(lines: list[str]) -> None:
    with pytest.raises(InvalidInput, match="keys are missing"):
        profile.from_lines(lines)


def test_the_environment_serves_machines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="environment variables contain no keys"):
        profile.from_environment()
    monkeypatch.setenv("HUAWEICLOUD_SDK_AK", AK)
    monkeypatch.setenv("HUAWEICLOUD_SDK_SK", SK)
    assert profile.from_environment().secret_key.reveal() == SK
    assert profile.from_environment().token is None
