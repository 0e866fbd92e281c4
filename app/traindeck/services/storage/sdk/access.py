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
    NotOffered,
    ServiceTrouble,
    Unexpected,
)
from traindeck.domain.storage.access import Acl, CannedAcl, Exposure, Grant, Grantees, exposure
from traindeck.domain.storage.buckets import BucketContents, NewBucket, StorageClass, name_problem
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, same_policy, template_policy
from traindeck.domain.texts import text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.http.calls import TRIES, NotReached
from traindeck.services.ports import OnBucketProgress
from traindeck.services.storage.emptying import Emptying
from traindeck.services.storage.errors import obs_error
from traindeck.services.storage.sdk.account import ObsAccount

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.client import StorageClient

_NO_POLICY = ("NoSuchBucketPolicy",)
_NO_BLOCK = ("NoSuchPublicAccessBlockConfiguration", "NoSuchPublicAccessBlock")
_NOT_OFFERED = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed")
_GROUPS = {
    Grantees.EVERYONE: "Everyone",
    Grantees.AUTHENTICATED: "AuthenticatedUsers",
    Grantees.LOG_DELIVERY: "LogDelivery",
}


class ObsAccess:
    """Of one account, in the dialect of its profile."""

    def __init__(self, account: ObsAccount) -> None:
        self._account = account

    @property
    def form(self) -> PolicyForm:
        profile = self._account.profile
        return PolicyForm.OBS if profile.is_lab or profile.has_training else PolicyForm.S3

    @property
    def region(self) -> str:
        return self._account.region

    @property
    def grantees(self) -> tuple[Grantees, ...]:
        if self.can_deliver:  # OBS delivers its logs by an agency, and knows no group but everybody
            return (Grantees.EVERYONE, Grantees.ACCOUNT)
        return (Grantees.EVERYONE, Grantees.AUTHENTICATED, Grantees.LOG_DELIVERY, Grantees.ACCOUNT)

    @property
    def can_deliver(self) -> bool:
        return self._account.speaks_obs

    @property
    def storage_classes(self) -> tuple[str, ...]:
        # Elsewhere the class is told with each object.
        return (StorageClass.STANDARD,) if self.form is PolicyForm.S3 else tuple(StorageClass)

    # policy

    async def policy(self, bucket: str) -> str:
        return await self._policy(bucket, TRIES)

    async def _policy(self, bucket: str, tries: int) -> str:
        answer = await self._account.ask(
            lambda client, _: client.getBucketPolicy(bucket),
            ObjectPath(bucket),
            fine=(*_NO_POLICY, *_NOT_OFFERED),
            tries=tries,
        )
        if answer.errorCode in _NO_POLICY:
            return ""
        self._check_offered(answer)
        found: str = answer.body
        return found

    async def set_policy(self, bucket: str, policy: str) -> None:
        before = await self.policy(bucket)
        if same_policy(before, policy):
            return
        if policy.strip():
            await self._account.ask(lambda client, _: client.setBucketPolicy(bucket, policy), ObjectPath(bucket))
        else:
            await self._account.ask(
                lambda client, _: client.deleteBucketPolicy(bucket), ObjectPath(bucket), fine=_NO_POLICY
            )

    # grants

    async def acl(self, place: ObjectPath, version: str = "") -> Acl:
        return await self._acl(place, version, TRIES)

    async def _acl(self, place: ObjectPath, version: str, tries: int) -> Acl:
        def look(client: StorageClient, _: CancelToken) -> Any:
            if place.is_bucket:
                return client.getBucketAcl(place.bucket)
            return client.getObjectAcl(place.bucket, place.key, versionId=version or None)

        answer = await self._account.ask(look, place, fine=_NOT_OFFERED, tries=tries)
        self._check_offered(answer)
        found: Acl = answer.body
        return found

    async def set_acl(self, place: ObjectPath, acl: Acl, version: str = "") -> None:
        before = await self.acl(place, version)
        if not before.is_readable or not acl.is_readable:
            raise NotOffered(
                text("Some grants of “{place}” are written in a way that is not known here.", place=str(place)),
                text("Change them in the console: they would be lost if the list was written from here."),
            )
        if not acl.grants:
            raise InvalidInput(text("The list of grants is empty."), text("Leave at least the one of the owner in it."))
        if not self.can_deliver and any(grant.delivered for grant in acl.grants):
            raise NotOffered(
                text("This way of signing cannot hand grants on to the objects of a bucket."),
                text("Set the signature of the account to “OBS”, or grant it on the objects."),
            )
        await self._account.ask(lambda client, _: self._write(client, place, version, before.owner, acl), place)
        await self._check_taken(place, version, acl)

    async def set_canned_acl(self, place: ObjectPath, canned: CannedAcl, version: str = "") -> None:
        await self.acl(place, version)

        def write(client: StorageClient, _: CancelToken) -> Any:
            if place.is_bucket:
                return client.setBucketAcl(place.bucket, aclControl=canned.value)
            return client.setObjectAcl(place.bucket, place.key, versionId=version or None, aclControl=canned.value)

        await self._account.ask(write, place)

    def _write(self, client: StorageClient, place: ObjectPath, version: str, owner: str, acl: Acl) -> Any:
        from obs.model import ACL, Grantee, Owner
        from obs.model import Grant as SdkGrant

        def grant_of(grant: Grant) -> Any:
            group = _GROUPS.get(grant.kind)
            grantee = Grantee(group=group) if group else Grantee(grantee_id=grant.account)
            delivered = grant.delivered if place.is_bucket and grant.delivered else None
            return SdkGrant(grantee, grant.permission.value, delivered)

        wanted = ACL(Owner(owner_id=owner), [grant_of(grant) for grant in acl.grants], acl.is_delivered)
        if place.is_bucket:
            return client.setBucketAcl(place.bucket, acl=wanted)
        return client.setObjectAcl(place.bucket, place.key, versionId=version or None, acl=wanted)

    async def _check_taken(self, place: ObjectPath, version: str, acl: Acl) -> None:
        """The SDK leaves out silently what the dialect has no word for."""
        now = await self.acl(place, version)
        if set(now.grants) != set(acl.grants):
            raise Conflict(
                text("The grants of “{place}” are not what was sent.", place=str(place)),
                text("Look at them again: the service left some out, or somebody else changed them just now."),
            )

    # both

    async def exposure(self, bucket: str, *, patiently: bool = True) -> Exposure:
        tries = TRIES if patiently else 1
        policy, acl = await gather_or_raise(
            (_if_allowed(self._policy(bucket, tries)), _if_allowed(self._acl(ObjectPath(bucket), "", tries)))
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
                lambda client, _: client.getBucketPublicAccessBlock(bucket),
                ObjectPath(bucket),
                fine=(*_NO_BLOCK, *_NOT_OFFERED),
                tries=tries,
            )
        except AppError:
            return False, False
        block = answer.body if answer.status < 300 else None
        if block is None:
            return False, False
        return bool(block.get("restrictPublicBuckets")), bool(block.get("ignorePublicAcls"))

    # buckets

    async def create(self, wanted: NewBucket) -> None:
        problem = name_problem(wanted.name)
        if problem is not None:
            raise InvalidInput(text("“{name}” cannot be the name of a bucket.", name=wanted.name), problem)
        if wanted.storage_class and wanted.storage_class not in list(StorageClass):
            raise InvalidInput(
                text("There is no storage class “{name}” for buckets.", name=wanted.storage_class),
                text("Known are: {names}.", names=", ".join(self.storage_classes)),
            )
        if wanted.storage_class and wanted.storage_class not in self.storage_classes:
            raise NotOffered(
                text("{host} has no storage class {name} for buckets.", host=self._host, name=wanted.storage_class),
                text("Known are: {names}.", names=", ".join(self.storage_classes)),
            )
        await self._check_free(wanted.name)

        def create(client: StorageClient, _: CancelToken) -> Any:
            from obs.model import CreateBucketHeader

            usual = self.storage_classes[0]
            header = CreateBucketHeader(
                aclControl=wanted.acl.value if wanted.acl else None,
                storageClass=wanted.storage_class if wanted.storage_class != usual else None,
            )
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
        tell = _told_on_this_loop(on_progress)
        return await self._account.over_wire(lambda plane: Emptying(plane, bucket, tell).empty())

    async def remove(self, bucket: str) -> None:
        place, may_be_gone = ObjectPath(bucket), False

        def remove(client: StorageClient, _: CancelToken) -> Any:
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
            answer = await self._account.ask(
                lambda client, _: client.headBucket(name), ObjectPath(name), missing_is_none=True
            )
        except NoRight:
            return  # of somebody else, or ours without the right to look: making it will tell
        if answer is not None:
            raise Conflict(
                text("The bucket “{bucket}” is there already.", bucket=name),
                text("It stays as it is. Choose another name, or change this one in its settings."),
            )

    @property
    def _host(self) -> str:
        return self._account.service.host

    def _check_offered(self, answer: Any) -> None:
        if answer.status < 300 and answer.body is not None:
            return
        if answer.status < 300 and not self._account.is_foreign:
            self._account.body(answer)
        raise NotOffered(
            text("{host} does not have this.", host=self._host),
            text("Rights are set in another way there; ask who runs it."),
            self._account.refusal(answer).detail,
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
            text("The bucket “{bucket}” was made; who gets in could not be confirmed: {trouble}",
                 bucket=bucket, trouble=error.title),
            text("Look at its policy before you rely on it."),
            error.detail,
        )  # fmt: skip
    title = text("The bucket “{bucket}” was made and is private: {trouble}", bucket=bucket, trouble=error.title)
    return type(error)(title, error.hint, error.detail)
