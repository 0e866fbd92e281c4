"""The Lab beside the window: started with it, and what its coming and going means to the panels."""

from __future__ import annotations

from collections.abc import Callable

from traindeck.assembly.core import Core
from traindeck.assembly.lab_link import LabNews
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.lab.lab_page import START
from traindeck.workspace import Models


def tell_about_lab(core: Core, models: Models, scope: TaskScope) -> Callable[[], None]:
    """Start the Lab beside the window, and say so when it cannot; the answer does it again."""

    async def start() -> None:
        await core.lab.start()
        models.notices.settled(START)

    def try_again() -> None:
        scope.start(START, start, Repeat.REPLACE)

    def noticed(news: LabNews) -> None:
        models.notices.settled(START)
        models.status.lab_stopped(news.address is None)
        models.status.load()
        if news.address is not None and models.accounts.accounts.is_lab:
            _look_again(models)

    models.notices.can_retry(START, try_again)
    core.lab.news.add(noticed)
    return try_again


def _look_again(models: Models) -> None:
    """What could not be read while the Lab was not there."""
    if models.storage.buckets.level(None).trouble is not None:
        models.storage.buckets.refresh()
    if models.jobs.form.state.offer_trouble is not None:
        models.jobs.form.load_offer()
