"""Rights of a bucket as a draft, marks of public buckets, new buckets, and removals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.folder_access import OWN, OWNER
from support.folder_cloud import FolderCloud, offline
from support.waiting import until
from traindeck.domain.errors import AppError, Conflict, NoRight
from traindeck.domain.storage.access import Ability, Acl, Grant, Grantees, Openness, Permission
from traindeck.domain.storage.buckets import StorageClass
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, Template, template_policy
from traindeck.domain.texts import text
from traindeck.viewmodels.ports import Loss
from traindeck.viewmodels.storage import bucket_access as public_marks
from traindeck.viewmodels.storage.bucket_access import AT_ONCE, BucketAccess, PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.buckets import BucketRemovals, NewBucketForm

EVERYBODY = Grant(Grantees.EVERYONE, Permission.READ)


class Asked:
    """A user who is asked whether he wants to lose something, or to give it away."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.losses: list[Loss] = []
        self.wait: asyncio.Event | None = None

    async def __call__(self, loss: Loss) -> bool:
        self.losses.append(loss)
        if self.wait is not None:
            await self.wait.wait()
        return self.answer

    @property
    def words(self) -> list[str]:
        return [f"{loss.question} {' '.join(map(str, loss.facts))} [{loss.action}]" for loss in self.losses]


def no_right() -> AppError:
    return NoRight(text("The keys {key} do not have permission to do this.", key="AK"), text("Refresh the list."))


def read_policy(template: Template = Template.PUBLIC_READ, bucket: str = "bucket") -> str:
    return template_policy(template, bucket, PolicyForm.OBS)


@asynccontextmanager
async def rights(folder: Path) -> AsyncIterator[tuple[FolderCloud, BucketAccess]]:
    async with FolderCloud(folder) as cloud:
        await cloud.storage.create_bucket("bucket")
        model = BucketAccess("lab", "bucket", cloud.connections)
        await model.load()
        yield cloud, model


async def test_a_template_is_saved_after_a_question_and_private_closes_everything(tmp_path: Path) -> None:
    async with rights(tmp_path) as (cloud, model):
        saved: list[str] = []
        model.saved.connect(saved.append)
        assert model.state.template is Template.PRIVATE and not model.state.has_changes
        model.choose(Template.PUBLIC_READ)
        assert model.state.has_changes and model.expected.anybody == {Ability.READ}
        no, yes = Asked(False), Asked()
        assert not await model.save(no)
        assert cloud.access.policies.get("bucket", "") == ""
        assert no.words == [
            "Make “bucket” public? Anyone on the internet will be able to read objects, without an account. "
            "[Make public]"
        ]
        assert await model.save(yes)
        assert cloud.access.policies["bucket"] == read_policy()
        assert not model.state.has_changes and model.state.now.template is Template.PUBLIC_READ
        assert model.add_grant(EVERYBODY) is None
        assert await model.save(yes)
        assert "Make “bucket” more public?" in yes.words[1]
        model.choose(Template.PRIVATE)
        assert await model.save(yes)
        assert len(yes.losses) == 2, "closing needs no question"
        assert cloud.access.policies["bucket"] == ""
        assert cloud.access.acls[ObjectPath("bucket")] == Acl(OWNER, (OWN,))
        assert model.state.now.openness is Openness.PRIVATE
        assert saved == ["bucket"] * 3


async def test_a_policy_of_ones_own_is_not_replaced_without_a_word(tmp_path: Path) -> None:
    async with rights(tmp_path) as (cloud, model):
        document = json.loads(read_policy())
        document["Statement"][0]["Principal"] = {"ID": ["domain/guest:user/*"]}
        cloud.access.policies["bucket"] = json.dumps(document)
        await model.load()
        assert model.state.template is None and not model.state.has_changes
        assert model.state.draft.startswith("{\n  "), "it is laid out to be read"
        model.choose(Template.PRIVATE)
        user = Asked(False)
        assert not await model.save(user)
        assert "does not match a template" in user.words[0]
        model.discard()
        assert not model.state.has_changes


async def test_what_somebody_else_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    async with rights(tmp_path) as (cloud, model):
        model.choose(Template.PUBLIC_READ)
        cloud.access.policies["bucket"] = read_policy(Template.PUBLIC_READ_WRITE)
        with pytest.raises(Conflict, match="someone else"):
            await model.save(Asked())
        assert cloud.access.policies["bucket"] == read_policy(Template.PUBLIC_READ_WRITE)
        await model.load()
        model.add_grant(EVERYBODY)
        cloud.access.acls[ObjectPath("bucket")] = Acl(
            OWNER, (OWN, Grant(Grantees.ACCOUNT, Permission.READ, "their guest"))
        )
        with pytest.raises(Conflict):
            await model.save(Asked())


async def test_a_policy_that_is_wrong_is_told_while_it_is_typed(tmp_path: Path) -> None:
    async with rights(tmp_path) as (_, model):
        model.type_policy("{")
        assert [one.is_error for one in model.state.findings] == [True]
        model.lay_out()
        assert model.state.draft == "{"
        model.type_policy(json.dumps(json.loads(read_policy())))
        assert [str(one.title) for one in model.state.findings] == ["Anyone on the internet can read objects."]
        model.lay_out()
        assert model.state.draft == read_policy()
        assert model.state.template is Template.PUBLIC_READ


async def test_who_locks_himself_out_is_asked(tmp_path: Path) -> None:
    async with rights(tmp_path) as (_, model):
        document = json.loads(read_policy())
        document["Statement"][0] |= {"Effect": "Deny", "Action": ["*"]}
        model.type_policy(json.dumps(document))
        user = Asked(False)
        assert not await model.save(user)
        assert "denies yourself the permission to change or delete the policy" in user.words[0]


async def test_grants_are_added_and_taken_away_but_not_the_owners(tmp_path: Path) -> None:
    async with rights(tmp_path) as (cloud, model):
        guest = Grant(Grantees.ACCOUNT, Permission.READ, "guest", delivered=True)
        assert model.add_grant(guest) is None
        assert model.add_grant(guest) is not None
        assert model.add_grant(Grant(Grantees.ACCOUNT, Permission.READ)) is not None
        assert await model.save(Asked())
        assert cloud.access.acls[ObjectPath("bucket")].grants == (OWN, guest)
        model.remove_grants([OWN, guest])
        assert model.state.grants is not None and model.state.grants.grants == (OWN,)


async def test_half_of_it_can_be_seen_and_nothing_is_claimed_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rights(tmp_path) as (cloud, model):
        cloud.access.refused["bucket"] = no_right()
        with pytest.raises(NoRight):
            await model.load()

        async def acl(place: ObjectPath, version: str = "") -> Acl:
            return Acl(OWNER, (OWN,))

        monkeypatch.setattr(cloud.access, "acl", acl)
        await model.load()
        assert model.state.policy is None and model.state.policy_trouble is not None
        assert model.state.now.is_public is None
        assert model.state.template is None and not model.state.has_changes
        model.choose(Template.PUBLIC_READ)
        assert not model.state.changes_policy, "what cannot be read cannot be written"


# --- marks -----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def marked(folder: Path, count: int) -> AsyncIterator[tuple[FolderCloud, BucketTree, PublicMarks]]:
    async with FolderCloud(folder) as cloud:
        for number in range(count):
            await cloud.storage.create_bucket(f"b{number:03}")
        cloud.access.policies["b001"] = read_policy(bucket="b001")
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        yield cloud, tree, PublicMarks(cloud.connections, tree, cloud.scope)


async def test_public_buckets_are_found_a_few_at_a_time_and_once(tmp_path: Path) -> None:
    async with marked(tmp_path, 40) as (cloud, tree, marks):
        tree.use_profile("lab")
        assert marks.of("b001") is None
        await until(lambda: all(marks.of(name) is not None for name in tree.bucket_names()) and tree.bucket_names())
        assert [name for name in tree.bucket_names() if marks.words(name)] == ["b001"]
        assert sorted(cloud.access.asked) == [f"b{number:03}" for number in range(40)]
        assert 1 < cloud.access.most_asking <= AT_ONCE
        tree.refresh(None)
        await until(lambda: not tree.level(None).is_loading)
        assert len(cloud.access.asked) == 40
        heard: list[str] = []
        marks.changed.connect(heard.append)
        cloud.access.policies["b001"] = ""
        marks.look_again("lab", "b001")
        assert marks.of("b001") is None, "nothing is claimed until it is known"
        await until(lambda: marks.of("b001") is not None)
        assert not marks.words("b001") and heard == ["b001", "b001"]


async def test_what_may_not_be_looked_at_is_neither_public_nor_private(tmp_path: Path) -> None:
    async with marked(tmp_path, 5) as (cloud, tree, marks):
        cloud.access.trouble = offline()
        tree.use_profile("lab")
        await until(lambda: cloud.access.asked and not cloud.scope.is_running(marks._task))
        assert [marks.of(name) for name in tree.bucket_names()] == [None] * 5
        assert cloud.reported == [], "the tree says itself that nobody answers"
        cloud.access.trouble = None
        tree.refresh(None)
        await until(lambda: marks.words("b001"))


async def test_another_account_is_looked_at_while_the_one_before_still_answers(tmp_path: Path) -> None:
    async with marked(tmp_path, 5) as (cloud, tree, marks):
        await cloud.add_cloud_profile("work")
        cloud.access.wait = asyncio.Event()
        tree.use_profile("lab")
        await until(lambda: cloud.access.asking == AT_ONCE)
        tree.use_profile("work")
        assert marks.of("b001") is None
        cloud.access.wait.set()
        await until(lambda: marks.words("b001") and marks.of("b004") is not None)
        tree.use_profile("lab")
        await until(lambda: marks.words("b001"))


async def test_rights_saved_for_an_account_that_is_no_longer_shown_are_forgotten_there(tmp_path: Path) -> None:
    async with marked(tmp_path, 2) as (cloud, tree, marks):
        await cloud.add_cloud_profile("work")
        tree.use_profile("lab")
        await until(lambda: marks.words("b001"))
        tree.use_profile("work")
        await until(lambda: marks.words("b001") and marks.of("b000") is not None)
        asked = len(cloud.access.asked)
        marks.look_again("lab", "b001")
        assert marks.words("b001"), "of this account nothing has changed"
        tree.use_profile("lab")
        await until(lambda: marks.words("b001"))
        assert cloud.access.asked[asked:] == ["b001"]


async def test_marks_grow_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_marks, "FRESH_S", -1.0)
    async with marked(tmp_path, 2) as (cloud, tree, marks):
        tree.use_profile("lab")
        await until(lambda: marks.words("b001"))
        cloud.access.policies["b000"] = read_policy(bucket="b000")
        tree.refresh(None)
        await until(lambda: marks.words("b000"))


# --- new buckets -----------------------------------------------------------------------------------------------------


async def test_a_bucket_is_made_as_it_was_wanted(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        form, made = NewBucketForm("lab", cloud.connections, cloud.scope), list[Any]()
        form.made.connect(made.append)
        form.start()
        await until(lambda: form.state.region)
        assert form.state.storage_classes == tuple(StorageClass)
        assert not form.state.can_be_made and form.state.problem is None, "nothing typed is not wrong yet"
        form.name("Bad")
        assert form.state.problem is not None and not form.state.can_be_made
        form.submit()
        form.name("my.data")
        assert form.state.problem is None and form.state.note is not None
        form.name("my-data")
        form.choose_class("WARM")
        form.choose_template(Template.PUBLIC_READ)
        form.submit()
        await until(lambda: made)
        (wanted,) = cloud.access.made
        assert (wanted.name, wanted.storage_class, wanted.template) == ("my-data", "WARM", Template.PUBLIC_READ)
        form.submit()
        await until(lambda: form.state.trouble is not None)
        assert "already exists" in str(form.state.trouble) and not form.state.is_busy
        form.name("my-data-2")
        assert form.state.trouble is None
        assert made == ["my-data"] and cloud.reported == []


# --- removals --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def removing(folder: Path) -> AsyncIterator[tuple[FolderCloud, BucketRemovals, list[tuple[str, ...]]]]:
    async with FolderCloud(folder) as cloud:
        for number in range(5):
            cloud.storage.place(ObjectPath("full")).mkdir(parents=True, exist_ok=True)
            cloud.storage.place(ObjectPath("full", f"{number}")).write_bytes(b"12345")
        await cloud.storage.create_bucket("empty")
        removals, news = BucketRemovals(cloud.connections, cloud.scope), list[Any]()
        removals.removed.connect(lambda *told: news.append(("removed", *told)))
        removals.touched.connect(lambda *told: news.append(("touched", *told)))
        yield cloud, removals, news


async def test_a_full_bucket_goes_after_its_name_was_typed(tmp_path: Path) -> None:
    async with removing(tmp_path) as (cloud, removals, news):
        no, yes = Asked(False), Asked()
        removals.remove("lab", ["full"], no)
        await until(lambda: no.losses and not removals.running)
        assert (cloud.storage.root / "full" / "0").exists() and news == []
        (loss,) = no.losses
        assert str(loss.typed) == "full"
        assert "Objects: 5\nTotal 25 B" in [str(fact) for fact in loss.facts]
        shares: list[float | None] = []
        removals.changed.connect(lambda: shares.extend(one.share for one in removals.running))
        removals.remove("lab", ["full", "empty"], yes)
        await until(lambda: len(news) == 2)
        assert sorted(news) == [("removed", "lab", "empty"), ("removed", "lab", "full")]
        assert [loss.typed for loss in yes.losses if "empty bucket" in str(loss.question)] == [None]
        assert not list(cloud.storage.root.iterdir())
        assert {None, 0.2, 1.0} <= set(shares)
        assert removals.running == [] and cloud.reported == []


async def test_a_removal_is_stopped_between_two_objects(tmp_path: Path) -> None:
    async with removing(tmp_path) as (cloud, removals, news):
        cloud.access.step = asyncio.Event()
        cloud.access.step.set()
        removals.remove("lab", ["full"], Asked())
        await until(lambda: removals.running and removals.running[0].gone.count == 1)
        removals.stop(removals.running[0])
        await until(lambda: not removals.running)
        assert len(list((cloud.storage.root / "full").iterdir())) == 4
        assert news == [("touched", "lab", ObjectPath("full"))] and cloud.reported == []


async def test_an_empty_bucket_that_is_none_any_more_stays(tmp_path: Path) -> None:
    async with removing(tmp_path) as (cloud, removals, news):
        user = Asked()
        user.wait = asyncio.Event()
        removals.remove("lab", ["empty"], user)
        await until(lambda: user.losses)
        cloud.storage.place(ObjectPath("empty", "new")).write_bytes(b"x")
        user.wait.set()
        await until(lambda: cloud.reported)
        assert (cloud.storage.root / "empty" / "new").exists() and news == []


async def test_a_dead_network_is_said_once_and_nothing_stays_behind(tmp_path: Path) -> None:
    async with removing(tmp_path) as (cloud, removals, news):
        cloud.access.trouble = offline()
        removals.remove("lab", ["full"], Asked())
        await until(lambda: cloud.reported)
        assert removals.running == [] and news == [] and len(cloud.reported) == 1
