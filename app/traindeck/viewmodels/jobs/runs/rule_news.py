"""Tells what the user's rules found in logs, and what was done about it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import InvalidInput
from traindeck.domain.notices.line_rules import RuleAct
from traindeck.domain.notices.run_notices import line_notice
from traindeck.runtime.tasks import TaskScope
from traindeck.services.notices.log_rules import LineFound, LogRules
from traindeck.viewmodels.logs.rule_book import RuleBook
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic


class RuleNews(QObject):
    """The mark of each is the place in the log: one is told of once, also after a restart."""

    file_ready = Signal(str)
    """The file of the rules is there to be edited."""

    def __init__(self, rules: LogRules, journal: Journal, scope: TaskScope) -> None:
        super().__init__()
        self._rules = rules
        self._scope = scope
        self._journal = journal
        self.book = RuleBook(rules, scope)
        self._stops = (rules.found.add(self._on_found), rules.refused.add(self._on_refused))

    def close(self) -> None:
        for stop in self._stops:
            stop()

    def edit(self) -> None:
        """With examples, where there is none yet."""
        self._scope.start("make the file of rules", self._make)

    async def _make(self) -> None:
        await self._rules.disk.run(lambda _: self._rules.file.make())
        self.file_ready.emit(str(self._rules.file.path))

    def _on_found(self, found: LineFound) -> None:
        run = found.run
        place = f"{found.worker} {found.offset}"
        news = line_notice(run, found.rule, place, found.line, is_last=found.is_last_told, trouble=found.trouble)
        self._journal.tell(
            NewsKind.NOTE if found.trouble is None else NewsKind.FAILED,
            news.title,
            news.hint,
            detail=f"{found.worker}, {found.offset:,}",
            name=f"rule {run.id} {found.rule.name}",
            topic=Topic(Subject.LOG, f"{run.id} {found.worker} {found.offset}", run.profile),
            is_quiet=found.rule.act is RuleAct.LABEL,
            notice=SystemNotice.LINE_FOUND,
            mark=news.mark,
        )

    def _on_refused(self, error: InvalidInput) -> None:
        file = Topic(Subject.FILE, str(self._rules.file.path))
        self._journal.tell(NewsKind.FAILED, error.title, error.hint, name="rules", topic=file)
