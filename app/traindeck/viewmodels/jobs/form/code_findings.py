"""What the doctor found in the code of the form: one after the other, with the file that it stands in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.checks import CheckFix
from traindeck.domain.scripts.findings import DoctorReport, ScriptFinding
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form.live_checks import CheckedForm, LiveChecks, LoadChecks
from traindeck.viewmodels.ports import Stateful
from traindeck.viewmodels.scripts.script_fixes import ScriptFixes

if TYPE_CHECKING:
    from traindeck.services.scripts.script_tree import ScriptFile

_READ = "read the findings"
_SHOW = "show a finding"


@dataclass(frozen=True, slots=True)
class FindingsState:
    is_reading: bool = False
    report: DoctorReport | None = None
    """None: nothing was looked at yet, or there is no script."""
    trouble: AppError | None = None
    chosen: ScriptFinding | None = None
    lines: tuple[str, ...] = ()
    """Of the file of the chosen one, without secrets."""

    @property
    def findings(self) -> tuple[ScriptFinding, ...]:
        return self.report.findings if self.report is not None else ()

    @property
    def head(self) -> Text:
        if self.trouble is not None:
            return self.trouble.title
        if self.report is None:
            return text("Reading the scripts…") if self.is_reading else text("The job form has no script to look at.")
        red = sum(one.is_red for one in self.report.findings)
        amber = len(self.report.loud) - red
        silenced = len(self.report.silenced)
        if not (red or amber or silenced):
            return count_text("Nothing found in {count} file.", "Nothing found in {count} files.", self.report.files)
        must = count_text("{count} must be corrected", "{count} must be corrected", red)
        may = count_text("{count} warning", "{count} warnings", amber)
        if not silenced:
            return text("{must}, {may}", must=must, may=may)
        quiet = text("{count} silenced", count=f"{silenced:,}")
        return text("{must}, {may}, {silenced}", must=must, may=may, silenced=quiet)


class CodeFindings(Stateful):
    """Follows the form as long as somebody looks."""

    state: FindingsState

    def __init__(
        self,
        checks: LiveChecks,
        load: LoadChecks,
        fixes: ScriptFixes,
        disk: BlockingCalls,
        scope: TaskScope,
    ) -> None:
        super().__init__()
        self.state = FindingsState()
        self._checks = checks
        self._load = load
        self._fixes = fixes
        self._disk = disk
        self._scope = scope
        self._about: CheckedForm | None = None
        self._is_seen = False
        self._wanted: tuple[str, str, int | None] | None = None
        checks.changed.connect(self._on_checks)

    def watch(self, is_seen: bool) -> None:
        self._is_seen = is_seen
        if is_seen:
            self.look()
        else:
            self._scope.cancel(_READ)
            self._about = None

    def look(self) -> None:
        """All of it anew: files may have changed."""
        self._about = self._checks.wanted
        self._become(is_reading=True)
        self._scope.start(_READ, partial(self._read, self._about), Repeat.REPLACE)

    def choose(self, finding: ScriptFinding | None) -> None:
        if finding is not None and finding != self.state.chosen:
            is_same_file = self.state.chosen is not None and self.state.chosen.file == finding.file
            self._become(chosen=finding, lines=self.state.lines if is_same_file else ())
            if not is_same_file or not self.state.lines:
                self._scope.start(_SHOW, partial(self._show, finding), Repeat.REPLACE)

    def find(self, rule: str, file: str, line: int | None) -> None:
        """Choose the one that a check has told of, as soon as it is known."""
        self._wanted = (rule, file, line)
        self.choose(self._found())

    def _found(self) -> ScriptFinding | None:
        return next((one for one in self.state.findings if (one.rule, one.file, one.line) == self._wanted), None)

    def place(self, finding: ScriptFinding) -> Path:
        """Of its file on this computer."""
        wanted = self._checks.wanted
        frozen = wanted.frozen
        if frozen is not None and finding.file in frozen.places:
            return frozen.places[finding.file]
        return (wanted.base / wanted.spec.code_folder).joinpath(*PurePosixPath(finding.file).parts)

    def fix(self) -> None:
        """Show what would mend the chosen one, as a difference."""
        if self.state.chosen is not None and self.state.chosen.fix:
            self._fixes.ask(self.state.chosen.fix)

    def silence(self) -> None:
        """Tell of this rule no more in this job; or again, where it was silenced."""
        chosen = self.state.chosen
        if chosen is None:
            return
        rules = self._checks.wanted.spec.silenced_rules
        left = tuple(one for one in rules if one != chosen.rule)
        changed = left if chosen.is_silenced else (*left, chosen.rule)
        self._checks.mend(CheckFix(text("Silence “{rule}”", rule=chosen.rule), (("silenced_rules", changed),)))
        self.look()

    def _on_checks(self) -> None:
        if self._is_seen and self._about != self._checks.wanted:
            self.look()

    async def _read(self, about: CheckedForm) -> None:
        try:
            checks = await self._load()
            report = await checks.script_report(about.spec, about.base, about.profile, frozen=about.frozen)
        except AppError as error:
            self._become(is_reading=False, trouble=error, report=None, chosen=None, lines=())
            return
        self._become(is_reading=False, trouble=None, report=report)
        chosen = self._found() or _same(self.state.chosen, report)
        self._wanted = None
        self._become(chosen=chosen, lines=())
        if chosen is not None:
            await self._show(chosen)

    async def _show(self, finding: ScriptFinding) -> None:
        place = self.place(finding)
        try:
            lines = await self._disk.run(lambda _: _lines_of(place, finding.file))
        except AppError:
            lines = ()
        if self.state.chosen == finding or (self.state.chosen is not None and self.state.chosen.file == finding.file):
            self._become(lines=lines)


def _lines_of(place: Path, path: str) -> tuple[str, ...]:
    from traindeck.services.scripts.python_source import MOST_BYTES
    from traindeck.services.scripts.rules.secrets import without_secrets
    from traindeck.services.scripts.script_tree import script_file

    with local_errors(place), place.open("rb") as file:
        read: ScriptFile = script_file(path, file.read(MOST_BYTES))
    lines = read.lines[:-1] if read.lines[-1:] == ("",) else read.lines
    return tuple(without_secrets(line.rstrip("\r")) for line in lines)


def _same(chosen: ScriptFinding | None, report: DoctorReport | None) -> ScriptFinding | None:
    """What was chosen before, though a line or two may have come before it; else the first."""
    found = report.findings if report is not None else ()
    if chosen is not None:
        mine = [one for one in found if (one.rule, one.file) == (chosen.rule, chosen.file)]
        if mine:
            return min(mine, key=lambda one: abs(one.line - chosen.line))
    return found[0] if found else None
