"""What keys are good for, asked of the services themselves."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.accounts.keys import Credentials, parse_credentials, too_long
from traindeck.domain.accounts.profiles import Asked, Check, CheckUp, Profile
from traindeck.domain.errors import AppError, KeysRefused, NoRight
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import safely

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining


GOOD_CLOCK_S = 60.0
# Beyond this no request is taken.
BAD_CLOCK_S = 15 * 60.0
TITLES = {
    Asked.CLOCK: text("Clock"),
    Asked.OBS: text("OBS"),
    Asked.PROJECT: text("Project"),
    Asked.MODELARTS: text("ModelArts"),
    Asked.WRITE: text("Write permission"),
}
TRIAL_NAME = ".traindeck-write-check"
_TRIED_BUCKETS = 3


OnCheck = Callable[[CheckUp], None]


async def check_keys(
    profile: Profile, credentials: Credentials, calls: BlockingCalls, found: OnCheck = lambda _: None
) -> CheckUp:
    """Five looks at one account, each at once where it can be; nothing is left behind by any of them.

    `found` is told the state of things as they come.
    """
    with closing(_Round(profile, credentials, calls, found)) as checks:
        return await checks.run()


class _Round:
    """One time through all of them."""

    def __init__(self, profile: Profile, credentials: Credentials, calls: BlockingCalls, found: OnCheck) -> None:
        self._profile = profile
        self._credentials = credentials
        self._calls = calls
        self._found = safely(found)
        # With what it brings along: not for who lists accounts.
        from traindeck.services.storage.sdk.buckets import ObsStorage

        self._storage = ObsStorage(profile, credentials, calls)
        self._training: ModelArtsTraining | None = None
        self._accepted: bool | None = None
        running = text("Checking…")
        self._checks = {asked: Check(title, None, running, None, asked, True) for asked, title in TITLES.items()}

    def close(self) -> None:
        self._storage.close()
        if self._training is not None:
            self._training.close()

    async def run(self) -> CheckUp:
        self._found(self._state())
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look_at_storage())
            group.create_task(self._look_at_training())
        return self._state()

    def _state(self) -> CheckUp:
        return CheckUp(tuple(self._checks.values()), self._accepted, self._credentials.expires)

    def _tell(
        self, asked: Asked, passed: bool | None, fact: Text, hint: Text | None = None, *, again: bool = False
    ) -> None:
        self._checks[asked] = Check(TITLES[asked], passed, fact, hint, asked, may_try_again=again)
        self._found(self._state())

    def _tell_error(self, asked: Asked, error: AppError) -> None:
        """No answer says nothing about the keys."""
        if isinstance(error, KeysRefused):
            self._accepted = False
        is_answer = error.kind != "service"
        self._tell(asked, False if is_answer else None, error.title, error.hint, again=not is_answer)

    def _keys_were_taken(self) -> None:
        if self._accepted is None:
            self._accepted = True

    async def _look_at_storage(self) -> None:
        try:
            places = await self._readable_places()
        except AppError as error:
            self._look_at_clock()
            self._tell_error(Asked.OBS, error)
            self._tell(Asked.WRITE, None, text("Not checked: OBS could not be read."))
            return
        self._look_at_clock()
        await self._look_for_right_to_write(places)

    async def _readable_places(self) -> Sequence[ObjectPath]:
        """Where to try to write; tells what reading showed."""
        if self._profile.work_in:
            place = ObjectPath.parse(self._profile.work_in).as_folder()
            async for _ in self._storage.entries(place):
                break
            self._keys_were_taken()
            self._tell(Asked.OBS, True, text("{place} can be read.", place=str(place)))
            return [place]
        try:
            buckets = await self._storage.buckets()
        except NoRight:
            self._keys_were_taken()
            fact = text("The keys are valid but do not have permission to list buckets.")
            hint = text("If they are restricted to one bucket or folder, enter it under Restrict to.")
            self._tell(Asked.OBS, None, fact, hint)
            return []
        self._keys_were_taken()
        self._tell(Asked.OBS, True, count_text("{count} bucket visible.", "{count} buckets visible.", len(buckets)))
        # Those this endpoint answers for.
        near = [bucket for bucket in buckets if bucket.region in ("", self._profile.region)]
        return [ObjectPath(bucket.name) for bucket in near[:_TRIED_BUCKETS]]

    async def _look_for_right_to_write(self, places: Sequence[ObjectPath]) -> None:
        if not places:
            self._tell(Asked.WRITE, None, text("Not checked: no writable bucket in this region is known."))
            return
        trouble: AppError | None = None
        for place in places:
            try:
                await self._storage.try_to_write(place.join(TRIAL_NAME))
            except AppError as error:
                trouble = trouble or error
                continue
            taken = text("Can write to {place}. The test file was removed.", place=str(place))
            self._tell(Asked.WRITE, True, taken)
            return
        assert trouble is not None
        self._tell_error(Asked.WRITE, trouble)

    def _look_at_clock(self) -> None:
        ahead_s = self._storage.clock_ahead_s
        if ahead_s is None:
            self._tell(Asked.CLOCK, None, text("Not checked: OBS did not report its time."), again=True)
            return
        off_s = abs(ahead_s)
        if off_s <= GOOD_CLOCK_S:
            self._tell(Asked.CLOCK, True, text("Accurate to {seconds} s.", seconds=max(1, round(off_s))))
            return
        hint = text("Turn on automatic time. Requests are rejected from a difference of 15 minutes.")
        minutes = count_text(
            "The clock of this computer is off by {count} minute.",
            "The clock of this computer is off by {count} minutes.",
            max(1, round(off_s / 60)),
        )
        self._tell(Asked.CLOCK, False if off_s >= BAD_CLOCK_S else None, minutes, hint)

    async def _look_at_training(self) -> None:
        if not self._profile.has_training:
            only = text("Not checked: this account has storage only.")
            self._tell(Asked.PROJECT, None, only)
            self._tell(Asked.MODELARTS, None, only)
            return
        from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining, find_project

        profile = self._profile
        if not profile.project_id:
            try:
                profile = replace(profile, project_id=await find_project(profile, self._credentials, self._calls))
            except AppError as error:
                if isinstance(error, NoRight):
                    # The right to look is another one than the right to train.
                    fact = text("The keys do not have permission to look up the project.")
                    hint = text("Enter the project ID in the settings. It is under My Credentials in the console.")
                    self._tell(Asked.PROJECT, None, fact, hint)
                else:
                    self._tell_error(Asked.PROJECT, error)
                self._tell(Asked.MODELARTS, None, text("Not checked: the project is not known."))
                return
            self._keys_were_taken()
            self._tell(Asked.PROJECT, True, text("Detected: {project}.", project=profile.project_id))
        try:
            self._training = ModelArtsTraining(profile, self._credentials, self._calls)
            await self._look_at_modelarts(self._training)
        except AppError as error:
            if self._profile.project_id:
                self._tell_error(Asked.PROJECT, error)
            self._tell_error(Asked.MODELARTS, error)
            return
        if self._profile.project_id:
            self._tell(Asked.PROJECT, True, text("From account settings: {project}.", project=profile.project_id))

    async def _look_at_modelarts(self, training: ModelArtsTraining) -> None:
        passed: bool | None = None
        hint: Text | None = None
        try:
            passed = await training.is_authorised()
        except NoRight:
            # Who may train may not always see this; the offer shows whether ModelArts knows the keys at all.
            fact = count_text(
                "ModelArts accepts the keys ({count} engine). They do not have permission to check "
                "whether it is authorized.",
                "ModelArts accepts the keys ({count} engines). They do not have permission to check "
                "whether it is authorized.",
                len(await training.engines()),
            )
            hint = text("The first job will show it. The account owner can check under Permission Management.")
        else:
            fact = text("ModelArts is authorized for this account.")
            if not passed:
                fact = text("ModelArts is not authorized for this account.")
                hint = text("Open ModelArts in the console once and grant it access under Permission Management.")
        self._keys_were_taken()
        self._tell(Asked.MODELARTS, passed, fact, hint)


MOST_BYTES = 64 * 1024


def read_credentials(path: Path) -> Credentials:
    with local_errors(path), path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:  # something else, and not looked at
        raise too_long(path.name)
    return parse_credentials(_decoded(content), path.name)


def _decoded(content: bytes) -> str:
    """The console writes UTF-8; a spreadsheet program may have written it again in its own way."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("gb18030", "replace")
