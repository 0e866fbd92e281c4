"""A store whose bucket changes its mind about versions agrees with a model of every version, always."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from support.examples import stories
from traindeck.lab.obs.errors import NoSuchKey, NoSuchVersion, ObsError
from traindeck.lab.obs.store import ObjectStore


class VersionsOfObjects(RuleBasedStateMachine):
    """A store whose bucket changes its mind about versions, and every version it should have, the newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.store = ObjectStore(self.root)
        self.store.create_bucket("bkt", "owner")
        self.state = ""
        self.model: dict[str, list[tuple[str, bytes | None]]] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.root)

    @rule(state=st.sampled_from(["Enabled", "Suspended"]))
    def switch(self, state: str) -> None:
        self.store.set_versioning("bkt", state)
        self.state = state

    @rule(key=st.sampled_from("abc"), content=st.binary(max_size=5))
    def put(self, key: str, content: bytes) -> None:
        self._add(key, self.store.put("bkt", key, content).version, content)

    @rule(key=st.sampled_from("abc"))
    def delete(self, key: str) -> None:
        marker = self.store.delete("bkt", key)
        if self.state:
            assert marker is not None
            self._add(key, marker.version, None)
        else:
            self.model.pop(key, None)

    @rule(key=st.sampled_from("abc"), at=st.integers(0, 4))
    def delete_version(self, key: str, at: int) -> None:
        kept = self.model.get(key, [])
        if at < len(kept):
            version, _ = kept.pop(at)
            assert self.store.delete("bkt", key, version or "null") is not None
        else:
            assert self.store.delete("bkt", key, "no-such-version") is None

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = ObjectStore(self.root)

    @invariant()
    def everything_agrees(self) -> None:
        for key in "abc":
            kept = self.model.get(key, [])
            current = kept[0][1] if kept else None
            try:
                assert self._content(key, None) == current
            except NoSuchKey:
                assert current is None
            for version, content in kept:
                try:
                    assert self._content(key, version or "null") == content
                except NoSuchVersion:
                    raise AssertionError((key, version)) from None
                except ObsError as error:
                    assert (error.status, content) == (405, None)
        page = self.store.version_listing("bkt", "", "", "", "", 1000)
        listed = [(one.key, one.info.version, one.is_latest, one.info.is_marker) for one in page.contents]
        assert listed == [
            (key, version, at == 0, content is None)
            for key in sorted(self.model)
            for at, (version, content) in enumerate(self.model[key])
        ]
        files = [path for path in (self.root / "obs" / "bodies").rglob("*") if path.is_file()]
        assert len(files) == sum(content is not None for kept in self.model.values() for _, content in kept)

    def _content(self, key: str, version: str | None) -> bytes:
        _, file = self.store.open("bkt", key, version)
        with file:
            return file.read()

    def _add(self, key: str, version: str, content: bytes | None) -> None:
        kept = self.model.setdefault(key, [])
        if self.state != "Enabled":
            kept[:] = [one for one in kept if one[0]]
        kept.insert(0, (version, content))


def played(examples: int, steps: int) -> None:
    run_state_machine_as_test(VersionsOfObjects, settings=stories(examples, steps))


def test_versions_agree_with_a_model() -> None:
    played(examples=40, steps=30)


@pytest.mark.long
@pytest.mark.parametrize("round_", range(4))
def test_versions_agree_with_a_model_for_long(round_: int) -> None:
    played(examples=250, steps=80)
