"""Who may reach one bucket: read, changed as a draft, and saved after a question."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, Conflict, NoRight, NotFound, NotOffered
from traindeck.domain.storage.access import (
    UNKNOWN,
    Acl,
    Exposure,
    Grant,
    abilities_words,
    exposure,
    grant_problem,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import (
    PolicyForm,
    Template,
    formatted,
    recognised,
    same_policy,
    template_policy,
)
from traindeck.domain.storage.policy_checks import (
    Finding,
    denials_of_owner,
    policy_effects,
    policy_findings,
)
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.tasks import Repeat, TaskScope, gather_or_raise
from traindeck.viewmodels.ports import ConfirmLoss, Loss
from traindeck.viewmodels.storage.bucket_tree import BucketTree, Folder

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connection, Connections
    from traindeck.services.storage.sdk.access import ObsAccess


@dataclass(frozen=True, slots=True)
class AccessState:
    """What the service has, and what is wanted instead."""

    policy: str | None = None
    """None: it may not be read, hence not be replaced; `policy_trouble` says why."""
    acl: Acl | None = None
    policy_trouble: AppError | None = None
    acl_trouble: AppError | None = None
    now: Exposure = UNKNOWN
    draft: str = ""
    grants: Acl | None = None
    findings: tuple[Finding, ...] = ()
    template: Template | None = None
    """Which one the draft is."""

    @property
    def has_changes(self) -> bool:
        return self.changes_policy or self.changes_grants

    @property
    def changes_policy(self) -> bool:
        return self.policy is not None and not same_policy(self.policy, self.draft)

    @property
    def changes_grants(self) -> bool:
        return self.acl is not None and self.grants is not None and not self.acl.is_same(self.grants)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.is_error)


class BucketAccess(QObject):
    """The draft of one bucket."""

    changed = Signal()
    saved = Signal(str)
    """The rights of this bucket are others now."""

    def __init__(self, profile: str, bucket: str, connections: Connections) -> None:
        super().__init__()
        self._profile = profile
        self._connections = connections
        self.bucket = bucket
        self.state = AccessState()
        self.access: ObsAccess | None = None
        """There once it was loaded."""

    async def load(self) -> None:
        access = self.access = (await self._connections.open(self._profile)).access
        place = ObjectPath(self.bucket)
        asked: list[Awaitable[tuple[Any, AppError | None]]] = [
            _readable(access.policy(self.bucket)),
            _readable(access.acl(place)),
            _readable(access.exposure(self.bucket)),
        ]
        (policy, policy_trouble), (acl, acl_trouble), (now, _) = await gather_or_raise(asked)
        if policy_trouble is not None and acl_trouble is not None:
            raise policy_trouble
        draft = _laid_out(policy or "")
        self._become(AccessState(policy, acl, policy_trouble, acl_trouble, now or UNKNOWN, draft, acl))

    @property
    def _form(self) -> PolicyForm:
        return self.access.form if self.access else PolicyForm.OBS

    @property
    def expected(self) -> Exposure:
        """What the draft would come to."""
        state = self.state
        policy = state.draft if state.policy is not None else None
        return exposure(self.bucket, policy, state.grants)

    def choose(self, template: Template) -> None:
        """Private also takes away what the grants give to everybody."""
        grants = self.state.grants
        if template is Template.PRIVATE and grants is not None:
            grants = grants.without_public()
        policy = template_policy(template, self.bucket, self._form)
        self._become(replace(self.state, draft=policy, grants=grants))

    def type_policy(self, policy: str) -> None:
        if policy != self.state.draft:
            self._become(replace(self.state, draft=policy))

    def lay_out(self) -> None:
        """Indent it, where it can be read."""
        self._become(replace(self.state, draft=_laid_out(self.state.draft)))

    def discard(self) -> None:
        self._become(replace(self.state, draft=_laid_out(self.state.policy or ""), grants=self.state.acl))

    def add_grant(self, grant: Grant) -> Text | None:
        """Why it cannot be added; None: it was."""
        grants = self.state.grants
        if grants is None:
            return text("You do not have permission to read the grants, so none can be added.")
        problem = grant_problem(grant, grants.grants)
        if problem is None:
            self._become(replace(self.state, grants=replace(grants, grants=(*grants.grants, grant))))
        return problem

    def remove_grants(self, chosen: list[Grant]) -> None:
        """The owner's own stays: without it the owner could only give it back."""
        grants = self.state.grants
        if grants is not None:
            kept = tuple(grant for grant in grants.grants if grant not in chosen or grants.is_of_owner(grant))
            self._become(replace(self.state, grants=replace(grants, grants=kept)))

    async def save(self, confirm: ConfirmLoss) -> bool:
        """False: the user thought better of it."""
        access, state = (await self._connections.open(self._profile)).access, self.state
        await self._check_same(access, state)
        loss = self._loss(state)
        if loss is not None and not await confirm(loss):
            return False
        try:
            if state.changes_policy:
                await access.set_policy(self.bucket, state.draft.strip())
                self._become(replace(self.state, policy=state.draft.strip()))
            if state.changes_grants and state.grants is not None:
                await access.set_acl(ObjectPath(self.bucket), state.grants)
                self._become(replace(self.state, acl=state.grants))
        finally:
            self.saved.emit(self.bucket)
        await self.load()
        return True

    async def _check_same(self, access: ObsAccess, state: AccessState) -> None:
        """Saving replaces the whole: what somebody else wrote meanwhile would be gone."""
        is_other = False
        if state.changes_policy:
            is_other = not same_policy(await access.policy(self.bucket), state.policy or "")
        if state.changes_grants and state.acl is not None:
            is_other = is_other or not (await access.acl(ObjectPath(self.bucket))).is_same(state.acl)
        if is_other:
            raise Conflict(
                text("The access settings of “{bucket}” were changed by someone else.", bucket=self.bucket),
                text("Nothing was saved. Reload, check the settings, and make your change again."),
            )

    def _loss(self, state: AccessState) -> Loss | None:
        """What has to be said before this is saved."""
        expected, facts = self.expected, []
        opened = expected.anybody - state.now.anybody
        if opened:
            what = abilities_words(opened)
            facts.append(text("Anyone on the internet will be able to {what}, without an account.", what=what))
        facts += [finding.title for finding in self._denials(state)]
        if state.changes_policy and state.policy and recognised(state.policy, self.bucket) is None:
            facts.append(text("The current policy does not match a template and will be replaced."))
        if not facts:
            return None
        question = text("Save the permissions of “{bucket}”?", bucket=self.bucket)
        action = text("Save")
        if opened and state.now.is_public:
            question = text("Make “{bucket}” more public?", bucket=self.bucket)
        elif opened:
            question = text("Make “{bucket}” public?", bucket=self.bucket)
            action = text("Make public")
        return Loss(question, tuple(facts), action)

    def _denials(self, state: AccessState) -> list[Finding]:
        """Those that are new."""
        if not state.changes_policy:
            return []
        before = denials_of_owner(self.bucket, state.policy or "", state.acl)
        return [one for one in denials_of_owner(self.bucket, state.draft, state.acl) if one not in before]

    def _become(self, state: AccessState) -> None:
        findings: tuple[Finding, ...] = ()
        if state.policy is not None:
            findings = policy_findings(state.draft, self.bucket, self._form)
        if not any(finding.is_error for finding in findings):
            findings += policy_effects(self.bucket, state.draft, state.grants)
        template = recognised(state.draft, self.bucket) if state.policy is not None else None
        self.state = replace(state, findings=findings, template=template)
        self.changed.emit()


def _laid_out(policy: str) -> str:
    try:
        return formatted(json.loads(policy))
    except (ValueError, RecursionError):
        return policy


async def _readable(asking: Awaitable[Any]) -> tuple[Any, AppError | None]:
    """What may be read, else why it may not."""
    try:
        return await asking, None
    except (NoRight, NotOffered) as error:
        return None, error


AT_ONCE = 4
FRESH_S = 60.0

log = logging.getLogger(__name__)


class PublicMarks(QObject):
    """Follows the tree: each bucket it shows is looked at, and again when it is read again later."""

    changed = Signal(str)
    """What is known of this bucket changed."""

    def __init__(self, connections: Connections, tree: BucketTree, scope: TaskScope) -> None:
        super().__init__()
        self._connections = connections
        self._tree = tree
        self._scope = scope
        self._known: dict[tuple[str, str], tuple[Exposure, float]] = {}
        self._task = f"who gets in {id(self)}"
        self._waiting: deque[str] = deque()
        self._looking_at: str | None = None
        """The account whose buckets somebody is looking at."""
        tree.emptied.connect(self._on_emptied)
        tree.appended.connect(self._on_listed)
        tree.listed.connect(self._on_listed)

    def of(self, bucket: str) -> Exposure | None:
        """None: nobody has looked yet, or could."""
        known = self._known.get((self._tree.state.profile, bucket))
        return known[0] if known else None

    def words(self, bucket: str) -> str:
        """What everybody can do with it; empty where nobody can, or where it is not known."""
        known = self.of(bucket)
        return say(known.sentence) if known is not None and known.is_public else ""

    def look_again(self, profile: str, bucket: str) -> None:
        """Its rights were changed just now; another account may be shown by then."""
        self._known.pop((profile, bucket), None)
        if profile == self._tree.state.profile:
            self.changed.emit(bucket)
            self._look([bucket])

    def _on_emptied(self) -> None:
        self._waiting.clear()
        self._looking_at = None
        self._scope.cancel(self._task)

    def _on_listed(self, folder: Folder) -> None:
        if folder is None:
            self._look(self._tree.bucket_names())

    def _look(self, buckets: Iterable[str]) -> None:
        profile, now = self._tree.state.profile, time.monotonic()
        for bucket in buckets:
            known = self._known.get((profile, bucket))
            if bucket not in self._waiting and (known is None or now - known[1] > FRESH_S):
                self._waiting.append(bucket)
        if self._waiting and self._looking_at != profile:  # whoever looks takes up what is waiting
            self._looking_at = profile
            # One that was told to end may still be there: it ends first.
            self._scope.start(self._task, partial(self._look_at_all, profile), Repeat.REPLACE)

    async def _look_at_all(self, profile: str) -> None:
        try:
            opened = await self._connections.open(profile)
            while self._waiting:
                await gather_or_raise(self._some(opened, profile) for _ in range(AT_ONCE))
        except AppError as error:
            # The tree says itself what keeps it from the service; here it only means that nothing is known.
            self._waiting.clear()
            log.info("who gets into the buckets of %s: %s", profile, error)
        self._looking_at = None

    async def _some(self, opened: Connection, profile: str) -> None:
        while self._waiting:
            bucket = self._waiting.popleft()
            try:
                found = await opened.access.exposure(bucket, patiently=False)
            except NotFound:  # removed meanwhile
                continue
            before = self._known.get((profile, bucket))
            self._known[profile, bucket] = (found, time.monotonic())
            if before is None or before[0] != found:
                self.changed.emit(bucket)
