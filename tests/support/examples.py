"""How many examples a test of any input looks at: the same few in each run, or with `--all` many, and new ones."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

_FEW, _MANY = "few", "many"
_SHARE = 5


def choose(*, is_whole: bool) -> None:
    """Before the tests are collected. No example is judged by how long it took: that is the machine's doing."""
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    settings.register_profile(_MANY, deadline=None, suppress_health_check=slow)
    few = settings.get_profile(_MANY).max_examples // 4
    settings.register_profile(_FEW, settings.get_profile(_MANY), derandomize=True, max_examples=few)
    settings.load_profile(_MANY if is_whole else _FEW)


def some_of(whole: int) -> settings:
    """All of them with `--all`, else a part."""
    is_whole = settings.get_current_profile_name() == _MANY
    return settings(max_examples=whole if is_whole else whole // _SHARE)


def stories(count: int, steps: int, **more: Any) -> settings:
    """So many runs of a state machine, each of so many steps; none is judged by how long it took, or kept."""
    how = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
    return settings(how, max_examples=count, stateful_step_count=steps, **more)
