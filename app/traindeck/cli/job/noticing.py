"""What a command that follows a run tells without being asked, as the settings have it: hangs, and a webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from traindeck.cli.main import Call
from traindeck.domain.jobs.job import Run
from traindeck.domain.notices.run_notices import RunNotice, card_notice, hang_notice, line_notice, state_notice
from traindeck.domain.settings import NOTICES, WEBHOOK, hang_wait
from traindeck.domain.texts import say
from traindeck.runtime.beside import beside
from traindeck.runtime.clock import utc_now
from traindeck.services.notices.failure_causes import cause_of

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.services.notices.hang_guard import Hang
    from traindeck.services.notices.log_rules import LineFound
    from traindeck.services.notices.unused_cards import CardUnused

_FINISH_S = 5.0


@asynccontextmanager
async def noticing(call: Call, core: RunCore, run: Run) -> AsyncIterator[None]:
    """Each thing once, whether this command tells it, another one, or the window; to be entered before the watching."""
    value = core.book.value
    guard = core.hang_guard(partial(hang_wait, value), only=run.id)
    webhook = core.webhook(value) if value(WEBHOOK) else None

    def tell(notice: RunNotice) -> None:
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

    with ExitStack() as listening:
        for listeners, hear in (
            (guard.suspected, on_hang), (guard.unused, on_unused), (core.rules.found, on_found),
            (core.watch.changed, on_change),
        ):  # fmt: skip
            listening.enter_context(listeners.heard_by(hear))  # type: ignore[arg-type]
        if webhook is None:
            async with beside(guard.run()):
                yield
            return
        call.output.note(say("What happens is sent to the webhook of the settings, too."))
        try:
            async with beside(guard.run()), beside(webhook.run()):
                yield
        finally:
            for ended in failed:
                tell(state_notice(ended, await cause_of(ended, core.explaining.failure)))
            await webhook.flush()
        if not await webhook.finish(_FINISH_S):
            call.output.note(say("A notification was not delivered. It is sent when TrainDeck runs the next time."))
