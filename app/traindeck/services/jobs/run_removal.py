"""Letting a run go: what would be deleted, counted before, and what stays."""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.services.accounts.connections import Connections
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.run_notes import RunNotes
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.transfers import Transfers

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

_OWN_CODE = "traindeck/code/"


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """What goes with a run; its outputs and its logs never do."""

    run: Run
    has_job: bool
    """At the service, where it would be deleted too."""
    code: ObjectPath | None = None
    """The folder in OBS that was made for this run alone; None: there is none, or another run uses it."""
    code_files: int = 0
    code_bytes: int = 0
    code_trouble: AppError | None = None
    """Why it is not known what is in that folder."""
    local_files: int = 0
    local_bytes: int = 0
    """Of the frozen code on this computer, unless another run was made of the same."""
    shared_with: int = 0
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BundleUse:
    """Of the frozen code on this computer."""

    shared_with: int
    """So many runs that stay were made of it."""
    files: int = 0
    size_bytes: int = 0


@dataclass(eq=False, slots=True)
class RunRemoval:
    """Looks first, then removes what was seen."""

    records: RunStore
    connections: Connections
    watch: RunWatch
    transfers: Transfers
    bundles: CodeBundles
    notes: RunNotes

    async def look(
        self, run_id: str, together: Set[str] = frozenset(), known: dict[str, BundleUse] | None = None
    ) -> RemovalPlan:
        """Raises Conflict for a run that goes on; `together`: the runs that are to be removed with it.

        `known`: what was found out about the code of those, as many of them may be of the same.
        """
        run = await self.records.existing(run_id)
        is_damaged = run.state is RunState.UNKNOWN and not run.job_id
        if not run.state.is_over and not is_damaged:
            raise Conflict(text("“{name}” has not ended yet.", name=run.name), text("Stop it first, then delete it."))
        if run.gone is not None:
            with suppress(AppError):  # without an answer the last one holds
                run = await self.notes.look_at_job(run)
        known = known if known is not None else {}
        if (use := known.get(run.bundle)) is None:
            use = known[run.bundle] = await self._use(run.bundle, together | {run.id})
        code, trouble = _own_code(run), None
        files = size = 0
        if code is not None:
            try:
                files, size = await self._there(run, code)
            except AppError as error:
                trouble = error
        spec = run.filled_spec
        kept = (*(channel.place for channel in spec.outputs), *((spec.log_to,) if spec.log_to else ()))
        return RemovalPlan(
            run,
            bool(run.job_id) and run.gone is None,
            code,
            files,
            size,
            trouble,
            use.files,
            use.size_bytes,
            use.shared_with,
            tuple(kept),
        )

    async def remove(self, removal: RemovalPlan, *, code: bool) -> None:
        """The job at the service and the record here; with `code`, also the code that is this run's alone.

        The record goes last: what could not be deleted can be tried again.
        """
        run = removal.run
        if removal.has_job:
            connection = await self.connections.open(run.profile)
            await connection.training.delete(run.job_id)
        if code and removal.code is not None and (removal.code_files or removal.code_trouble):
            with suppress(NotFound):  # somebody was quicker
                await self.transfers.move(Order(Kind.REMOVE, run.profile, str(removal.code), ""))
        await self.records.remove(run.id)
        self.watch.forget(run.id)
        if code and run.bundle:
            await self.bundles.drop({run.bundle}, self.records.bundles)

    async def _there(self, run: Run, folder: ObjectPath) -> tuple[int, int]:
        storage = (await self.connections.open(run.profile)).storage
        count = size = 0
        try:
            async for page in storage.entries(folder, recursive=True):
                count += len(page)
                size += sum(entry.size_bytes or 0 for entry in page)
        except NotFound:
            return 0, 0
        return count, size

    async def _use(self, bundle_id: str, gone: Set[str]) -> BundleUse:
        others = set(await self.records.using_bundle(bundle_id)) - gone
        if others or not bundle_id:
            return BundleUse(len(others))
        try:
            bundle = await self.bundles.open(bundle_id)
        except AppError:
            return BundleUse(0)
        return BundleUse(0, len(bundle.files), sum(file.size_bytes for file in bundle.files))


def _own_code(run: Run) -> ObjectPath | None:
    """Where a submission of ours put it, in a folder of the run's own name; anything else is somebody's."""
    if not run.code_url or not run.bundle:
        return None
    try:
        place = ObjectPath.parse(run.code_url)
    except AppError:
        return None
    own = f"{_OWN_CODE}{run.name}/"
    start = place.key.find(own)
    is_own = start == 0 or (start > 0 and place.key[start - 1] == "/")
    return ObjectPath(place.bucket, place.key[: start + len(own)]) if is_own else None
