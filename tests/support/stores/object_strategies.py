"""What random tests of objects choose from."""

from __future__ import annotations

from hypothesis import strategies as st

KEY_LIST = ["a", "a/", "a/b", "a/b/c", "a//b", "A", "b", "..", "ä 学", "z" * 1000, "a!", "100%+", "x\ny"]
# Two of them often, so that something becomes of them.
KEYS = st.one_of(st.sampled_from(["a", "a/b"]), st.sampled_from(KEY_LIST))
CONTENTS = st.one_of(
    st.binary(max_size=60), st.integers(90_000, 700_000).map(lambda size: b"%d" % size * (size // 6 + 1))
)
PREFIXES = st.sampled_from(["", "a", "a/", "a/b", "b", "nothing", "ä"])
DELIMITERS = st.sampled_from(["", "/", "b"])
# A start takes as long as a hundred requests.
SELDOM = st.sampled_from([True, False, False])
METADATA = st.sampled_from(["-", "one", "学习"])
