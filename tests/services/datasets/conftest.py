"""A pool of workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from traindeck.runtime.blocking import BlockingCalls


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(4, "datasets")
    yield calls
    calls.close()
