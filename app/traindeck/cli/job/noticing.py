"""Notifications of a command that follows a run, as set in the settings: hangs, NaN, a webhook."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from traindeck.cli.main import Call
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.notices.run_notices import (
    RunNotice,
    card_notice,
    event_of,
    hang_notice,
    is_news,
    line_notice,
    nan_notice,
    state_notice,
)
from traindeck.domain.settings import EVENTS_KEPT, NOTICES, WEBHOOK, hang_wait
from traindeck.domain.texts import say
from traindeck.runtime.beside import beside
from traindeck.runtime.clock import utc_now
from traindeck.runtime.meeting_place import has_window
from traindeck.services.notices.failure_causes import cause_of

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.services.notices.hang_guard import Hang
    from traindeck.services.notices.log_rules import LineFound
    from traindeck.services.notices.nan_guard import NanFound
    from traindeck.services.notices.unused_cards import CardUnused

log = logging.getLogger(__name__)

_FINISH_S = 5.0


async def _told_before(core: RunCore, run: Run) -> set[str]:
    try:
        return await core.events.marks([f"run {run.id}"])
    except AppError as error:
        log.warning("events cannot be read: %s %s", error, error.detail)
        return set()


@asynccontextmanager
async def noticing(call: Call, core: RunCore, run: Run) -> AsyncIterator[None]:
    """Each thing once, whether this command tells it, another one, or the window; to be entered before the watching."""
    value = core.book.value
    guard = core.hang_guard(partial(hang_wait, value), only=run.id)
    webhook = core.webhook(value) if value(WEBHOOK) else None

    told_before = await _told_before(core, run)
    nan_guard, told = core.nan_guard(run.id), list[RunNotice]()

    def tell(notice: RunNotice) -> None:
        if notice.kind:
            told.append(notice)
        if webhook is not None and notice.kind and value(NOTICES[notice.kind]):
            from traindeck.services.http.webhook import notice_content

            content = notice_content(notice.kind, notice.title, notice.hint, notice.run.id, utc_now())
            webhook.tell(notice.mark, content)

    def say_and_tell(notice: RunNotice) -> None:
        call.output.note(f"{say(notice.title)}. {say(notice.hint)}")
        tell(notice)

    def on_hang(hang: Hang) -> None:
        say_and_tell(hang_notice(hang.run, utc_now() - hang.silent_since, hang.held_bytes, hang.waits))

    def on_unused(found: CardUnused) -> None:
        say_and_tell(card_notice(found.run, found.card, found.minutes, found.waits))

    def on_nan(found: NanFound) -> None:
        notice = nan_notice(found.run, found.bad)
        if is_news(found.run, utc_now()) and notice.mark not in told_before:
            say_and_tell(notice)

    def on_found(found: LineFound) -> None:
        place = f"{found.worker} {found.offset}"
        tell(line_notice(found.run, found.rule, place, found.line, is_last=found.is_last_told, trouble=found.trouble))

    failed: list[Run] = []

    def on_change(changed: Run) -> None:
        if changed.id != run.id:
            return
        if changed.state.is_failure:
            failed[:] = [changed]  # told at the end, when its log was read
        else:
            tell(state_notice(changed))

    if run.state.is_over and is_news(run, utc_now()):
        on_change(run)  # another command may have been the first to see it

    async def tell_last() -> None:
        """What is known at the end only; a window that is open tells the rest itself."""
        await nan_guard.look_at(run.id)
        for ended in failed:
            tell(state_notice(ended, await cause_of(ended, core.explaining.failure)))
        if told and not has_window(core.paths.home):
            events = [event_of(one, utc_now()) for one in told]
            try:
                await core.events.add(events, value(EVENTS_KEPT))
            except AppError as error:
                log.warning("events are not on the disk: %s %s", error, error.detail)

    with ExitStack() as listening:
        for listeners, hear in (
            (guard.suspected, on_hang), (guard.unused, on_unused), (core.rules.found, on_found),
            (core.watch.changed, on_change), (nan_guard.found, on_nan),
        ):  # fmt: skip
            listening.enter_context(listeners.heard_by(hear))  # type: ignore[arg-type]
        if webhook is None:
            try:
                async with beside(guard.run()), beside(nan_guard.run()):
                    yield
            finally:
                await tell_last()
            return
        call.output.note(say("What happens is sent to the webhook of the settings, too."))
        try:
            async with beside(guard.run()), beside(nan_guard.run()), beside(webhook.run()):
                yield
        finally:
            await tell_last()
            await webhook.flush()
        if not await webhook.finish(_FINISH_S):
            call.output.note(say("A notification was not delivered. It is sent when TrainDeck runs the next time."))
