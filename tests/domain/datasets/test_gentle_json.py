"""JSON piece by piece is the same JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.datasets import gentle_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 2]))
def test_what_was_written_is_read(found: object, indent: int | None) -> None:
    assert gentle_json.loads(json.dumps(found, indent=indent)) == found
    assert gentle_json.loads(f" \n{json.dumps(found, ensure_ascii=False)}\t") == found
    assert json.loads(gentle_json.dumps(found)) == found
    assert gentle_json.dumps(found) == json.dumps(found, ensure_ascii=False) + "\n"


@given(st.text(st.sampled_from('[]{}",: 1ae\\-\n'), max_size=12))
def test_what_is_no_json_for_others_is_none_here(content: str) -> None:
    try:
        expected = json.loads(content)
    except ValueError:
        with pytest.raises(ValueError):
            gentle_json.loads(content)
    else:
        assert gentle_json.loads(content) == expected


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "", "[1,]", '{"a" 1}', "{1: 2}", "[1] [2]"])
def test_hostile_content_is_refused(content: str) -> None:
    with pytest.raises(ValueError):
        gentle_json.loads(content)
