"""Buckets and who may reach them, over the OBS SDK.

A service that does not know a part of a bucket takes writing it for making the bucket anew, removing it for removing
the bucket, and writing it on an object for emptying the object. So nothing is written here that could not be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    NoRight,
    NotFound,
    NotOffered,
    ServiceTrouble,
    Unexpected,
)
from traindeck.domain.storage.access import Acl, CannedAcl, Exposure, Grantees, exposure
from traindeck.domain.storage.buckets import BucketContents, NewBucket, StorageClass, name_problem
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, same_policy, template_policy
from traindeck.domain.texts import text
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.http.calls import TRIES, NotReached
from traindeck.services.storage.emptying import Emptying, OnBucketProgress
from traindeck.services.storage.errors import NOT_OFFERED, obs_error
from traindeck.services.storage.sdk.account import ObsAccount

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.client import StorageClient

_NO_POLICY = ("NoSuchBucketPolicy",)
_NO_BLOCK = ("NoSuchPublicAccessBlockConfiguration", "NoSuchPublicAccessBlock")
_GROUPS = {
    Grantees.EVERYONE: "Everyone",
    Grantees.AUTHENTICATED: "AuthenticatedUsers",
    Grantees.LOG_DELIVERY: "LogDelivery",
}


class ObsAccess:
    """Who may reach the buckets of one account, in the dialect of its profile. Every method raises AppError."""

    def __init__(self, account: ObsAccount) -> None:
        self._account = account
        self.region = account.region
        profile = account.profile
        self.form = PolicyForm.OBS if profile.is_lab or profile.has_training else PolicyForm.S3
        """How policies are written here."""
        self.can_deliver = account.speaks_obs
        """Whether a grant on a bucket can be handed on to its objects."""
        # OBS delivers its logs by an agency, and knows no group but everybody.
        groups = () if self.can_deliver else (Grantees.AUTHENTICATED, Grantees.LOG_DELIVERY)
        self.grantees = (Grantees.EVERYONE, *groups, Grantees.ACCOUNT)
        """Whom a grant may be for."""
        # Elsewhere the class is told with each object.
        is_obs = self.form is PolicyForm.OBS
        self.storage_classes: tuple[str, ...] = tuple(StorageClass) if is_obs else (StorageClass.STANDARD,)
        """Those a bucket may be made with; the first is the usual one."""

    # policy

    async def policy(self, bucket: str, tries: int = TRIES) -> str:
        """The text as the service keeps it; empty: there is none."""
        answer = await self._account.ask(
            lambda client: client.getBucketPolicy(bucket),
            ObjectPath(bucket),
            fine=(*_NO_POLICY, *NOT_OFFERED),
            tries=tries,
        )
        if answer.errorCode in _NO_POLICY:
            return ""
        self._check_offered(answer)
        found: str = answer.body
        return found

    async def set_policy(self, bucket: str, policy: str) -> None:
        """An empty text removes it."""
        before = await self.policy(bucket)
        if same_policy(before, policy):
            return
        if policy.strip():
            await self._account.ask(lambda client: client.setBucketPolicy(bucket, policy), ObjectPath(bucket))
        else:
            await self._account.ask(
                lambda client: client.deleteBucketPolicy(bucket), ObjectPath(bucket), fine=_NO_POLICY
            )

    # grants

    async def acl(self, place: ObjectPath, tries: int = TRIES) -> Acl:
        def look(client: StorageClient) -> Any:
            if place.is_bucket:
                return client.getBucketAcl(place.bucket)
            return client.getObjectAcl(place.bucket, place.key)

        answer = await self._account.ask(look, place, fine=NOT_OFFERED, tries=tries)
        self._check_offered(answer)
        found: Acl = answer.body
        return found

    async def set_acl(self, place: ObjectPath, acl: Acl) -> None:
        """When it returns the service has shown the same list."""
        before = await self.acl(place)
        if not before.is_readable or not acl.is_readable:
            raise unreadable_grants(place)
        if not acl.grants:
            raise InvalidInput(text("The list of grants is empty."), text("Leave at least the one of the owner in it."))
        if not self.can_deliver and any(grant.delivered for grant in acl.grants):
            raise NotOffered(
                text("This signature cannot apply grants to the objects of a bucket."),
                text("Set the signature of the account to “OBS”, or grant it on the objects."),
            )
        await self._account.ask(lambda client: _write(client, place, acl=_spelled(acl, before.owner, place)), place)
        # The SDK leaves out silently what the dialect has no word for.
        if set((await self.acl(place)).grants) != set(acl.grants):
            raise Conflict(
                text("The grants of “{place}” were not saved as requested.", place=str(place)),
                text("Check them again: the service omitted some, or someone else changed them."),
            )

    async def set_canned_acl(self, place: ObjectPath, canned: CannedAcl) -> None:
        await self.acl(place)
        await self._account.ask(lambda client: _write(client, place, aclControl=canned.value), place)

    # both

    async def exposure(self, bucket: str, *, patiently: bool = True) -> Exposure:
        """What policy and grants come to; what may not be looked at stays unknown."""
        tries = TRIES if patiently else 1
        policy, acl = await gather_or_raise(
            (_if_allowed(self.policy(bucket, tries)), _if_allowed(self.acl(ObjectPath(bucket), tries)))
        )
        found = exposure(bucket, policy, acl)
        if not found.anybody and not found.sometimes:
            return found
        ignores_policy, ignores_acl = await self._blocks(bucket, tries)
        return exposure(bucket, policy, acl, ignores_policy=ignores_policy, ignores_acl=ignores_acl)

    async def _blocks(self, bucket: str, tries: int) -> tuple[bool, bool]:
        """Whether the service ignores what policy and grants say about everybody; who may not look sees none."""
        try:
            answer = await self._account.ask(
                lambda client: client.getBucketPublicAccessBlock(bucket),
                ObjectPath(bucket),
                fine=(*_NO_BLOCK, *NOT_OFFERED),
                tries=tries,
            )
        except AppError:
            return False, False
        block = (answer.body if answer.status < 300 else None) or {}
        return bool(block.get("restrictPublicBuckets")), bool(block.get("ignorePublicAcls"))

    # buckets

    async def create(self, wanted: NewBucket) -> None:
        """Conflict: it is there already, and stays as it was."""
        problem = name_problem(wanted.name)
        if problem is not None:
            raise InvalidInput(text("“{name}” cannot be used as a bucket name.", name=wanted.name), problem)
        name, host = wanted.storage_class, self._account.service.host
        known = text("Available: {names}.", names=", ".join(self.storage_classes))
        if name and name not in list(StorageClass):
            raise InvalidInput(text("There is no storage class “{name}” for buckets.", name=name), known)
        if name and name not in self.storage_classes:
            raise NotOffered(text("{host} has no storage class {name} for buckets.", host=host, name=name), known)
        await self._check_free(wanted.name)

        def create(client: StorageClient) -> Any:
            from obs.model import CreateBucketHeader

            unusual = name if name != self.storage_classes[0] else None
            header = CreateBucketHeader(aclControl=wanted.acl.value if wanted.acl else None, storageClass=unusual)
            return client.createBucket(wanted.name, header=header, location=self._account.location)

        # Its own answer may have been lost, and the second try finds the bucket of the first.
        await self._account.ask(create, ObjectPath(wanted.name), fine=("BucketAlreadyOwnedByYou",))
        policy = template_policy(wanted.template, wanted.name, self.form)
        if policy:
            try:
                await self.set_policy(wanted.name, policy)
            except Unexpected:
                raise
            except AppError as error:
                raise _half_made(error, wanted.name) from error

    async def count(self, bucket: str, on_progress: OnBucketProgress) -> BucketContents:
        tell = _told_on_this_loop(on_progress)
        return await self._account.over_wire(lambda plane: Emptying(plane, bucket, tell).count())

    async def empty(self, bucket: str, on_progress: OnBucketProgress) -> BucketContents:
        """Delete everything in it, with all versions and unfinished uploads; the answer is what went."""
        tell = _told_on_this_loop(on_progress)
        return await self._account.over_wire(lambda plane: Emptying(plane, bucket, tell).empty())

    async def remove(self, bucket: str) -> None:
        """Conflict: it is not empty."""
        place, may_be_gone = ObjectPath(bucket), False

        def remove(client: StorageClient) -> Any:
            nonlocal may_be_gone
            try:
                answer = client.deleteBucket(bucket)
            except NotReached:
                raise
            except Exception:
                may_be_gone = True
                raise
            may_be_gone = may_be_gone or answer.status >= 500
            return answer

        answer = await self._account.ask(remove, place, fine=("NoSuchBucket",))
        if answer.status >= 300 and not may_be_gone:
            raise obs_error(self._account.refusal(answer), place)

    async def _check_free(self, name: str) -> None:
        """Making one's own bucket again is a success that changes nothing; asked for with a class, it is none."""
        try:
            await self._account.ask(lambda client: client.headBucket(name), ObjectPath(name))
        except (NoRight, NotFound):
            return  # it may be of somebody else, or ours without the right to look: making it will tell
        raise Conflict(
            text("The bucket “{bucket}” already exists.", bucket=name),
            text("It was not changed. Enter another name, or change it in its settings."),
        )

    def _check_offered(self, answer: Any) -> None:
        if answer.status < 300 and answer.body is not None:
            return
        if answer.status < 300 and not self._account.is_foreign:
            self._account.body(answer)
        raise NotOffered(
            text("{host} does not support this.", host=self._account.service.host),
            text("Permissions are managed differently there. Ask the operator."),
            self._account.refusal(answer).detail,
        )


def _write(client: StorageClient, place: ObjectPath, **grants: Any) -> Any:
    if place.is_bucket:
        return client.setBucketAcl(place.bucket, **grants)
    return client.setObjectAcl(place.bucket, place.key, **grants)


def _spelled(acl: Acl, owner: str, place: ObjectPath) -> Any:
    """As the SDK has it."""
    from obs.model import ACL, Grant, Grantee, Owner

    grants = []
    for grant in acl.grants:
        group = _GROUPS.get(grant.kind)
        grantee = Grantee(group=group) if group else Grantee(grantee_id=grant.account)
        grants.append(Grant(grantee, grant.permission.value, (place.is_bucket and grant.delivered) or None))
    return ACL(Owner(owner_id=owner), grants, acl.is_delivered)


def unreadable_grants(place: ObjectPath) -> NotOffered:
    return NotOffered(
        text("Some grants of “{place}” are not recognized.", place=str(place)),
        text("Change them in the console. They would be lost if the list were saved here."),
    )


def _told_on_this_loop(on_progress: OnBucketProgress) -> OnBucketProgress:
    """From the loop of the wire: have it told on this one."""
    loop = asyncio.get_running_loop()

    def tell(found: BucketContents) -> None:
        loop.call_soon_threadsafe(on_progress, found)

    return tell


async def _if_allowed(asking: Awaitable[Any]) -> Any:
    """None: these keys may not look, or there is nothing to look at."""
    try:
        return await asking
    except (NoRight, NotOffered):
        return None


def _half_made(error: AppError, bucket: str) -> AppError:
    if isinstance(error, ServiceTrouble):  # the policy may be there, and only the answer got lost
        return ServiceTrouble(
            text("The bucket “{bucket}” was created, but its access could not be confirmed: {trouble}",
                 bucket=bucket, trouble=error.title),
            text("Check its policy before you use it."),
            error.detail,
        )  # fmt: skip
    title = text("The bucket “{bucket}” was created and is private: {trouble}", bucket=bucket, trouble=error.title)
    return type(error)(title, error.hint, error.detail)
