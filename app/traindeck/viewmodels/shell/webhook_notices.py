"""What the user's own program is told besides the operating system: the same things, once, and in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from traindeck.domain.events import KeptEvent
from traindeck.domain.settings import NOTICES
from traindeck.runtime.tasks import TaskScope
from traindeck.services.http.webhook import Webhook, notice_content
from traindeck.viewmodels.shell.events import Events
from traindeck.viewmodels.shell.journal import SystemNotice
from traindeck.viewmodels.shell.preferences import Preferences

_SENT = {
    SystemNotice.RUN_FINISHED, SystemNotice.RUN_FAILED, SystemNotice.RUN_STOPPED, SystemNotice.RUN_HANGS,
    SystemNotice.RUN_NAN, SystemNotice.LINE_FOUND, SystemNotice.MONEY,
}  # fmt: skip


class WebhookNotices:
    """The events decide what is new, also over a restart."""

    def __init__(self, events: Events, preferences: Preferences, webhook: Webhook, scope: TaskScope) -> None:
        self._events = events
        self._preferences = preferences
        self._webhook = webhook
        events.added.connect(self._on_added)
        scope.start("tell the webhook", webhook.run)

    async def flush(self) -> None:
        """What was told is on the disk when it returns, or cannot be."""
        await self._webhook.flush()

    def close(self) -> None:
        self._events.added.disconnect(self._on_added)

    def _on_added(self, fresh: Sequence[KeptEvent]) -> None:
        kinds = {notice.value for notice in _SENT}
        for event in fresh:
            setting = NOTICES.get(event.notice)
            if event.notice in kinds and setting is not None and self._preferences.value(setting):
                run = event.topic.partition(" ")[0]
                content = notice_content(event.notice, event.title, event.hint, run, event.at)
                self._webhook.tell(event.mark or f"event {event.at.isoformat()} {event.name}", content)
