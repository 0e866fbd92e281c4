"""The job form with all that watches it, over the small cloud of the panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from support.folder_cloud import FolderCloud
from traindeck.domain.jobs.availability import sold_out_at
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.services.jobs.billing import Billing
from traindeck.services.jobs.checks.job_checks import JobChecks
from traindeck.services.jobs.checks.lab_limits import LabPython
from traindeck.services.jobs.checks.service_facts import ServiceFacts
from traindeck.services.jobs.run_code import RunCode
from traindeck.services.scripts.fix_files import FixFiles
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.price_file import PriceFile
from traindeck.store.templates import TemplateStore
from traindeck.viewmodels.jobs.form.code_findings import CodeFindings
from traindeck.viewmodels.jobs.form.code_folder import CodeFolder
from traindeck.viewmodels.jobs.form.earlier_code import EarlierCode
from traindeck.viewmodels.jobs.form.form_choices import FormChoices
from traindeck.viewmodels.jobs.form.form_exchange import FormExchange
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.form_replacing import FormReplacing
from traindeck.viewmodels.jobs.form.form_scripts import FormScripts
from traindeck.viewmodels.jobs.form.form_templates import FormTemplates
from traindeck.viewmodels.jobs.form.form_text import FormText
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.job_sending import JobSending
from traindeck.viewmodels.jobs.form.live_checks import LiveChecks
from traindeck.viewmodels.jobs.form.place_notes import PlaceNotes
from traindeck.viewmodels.jobs.form.script_parameters import ScriptParameters
from traindeck.viewmodels.scripts.script_fixes import ScriptFixes
from traindeck.viewmodels.shell.journal import Journal


def billing_of(cloud: FolderCloud) -> Billing:
    prices = PriceFile(cloud.paths.prices)
    return Billing(cloud.records, cloud.connections, cloud.service, prices, cloud.disk)


async def _python(_: str) -> LabPython:
    return LabPython("/usr/bin/python3", "3.11.2")


def form_parts(
    cloud: FolderCloud,
    form: JobForm,
    recent: Sequence[JobSpec] = (),
    journal: Journal | None = None,
    runs: Callable[[], Sequence[Run]] = tuple,
) -> FormParts:
    journal = journal or Journal()
    places = PlaceService(cloud.connections, cloud.planes)
    facts = ServiceFacts(cloud.connections, places, cloud.choices, cloud.records)
    templates = TemplateStore(cloud.paths.templates, cloud.disk)
    cost_of, template_of = billing_of(cloud).cost_of, templates.existing
    job_checks = JobChecks(facts, cloud.disk, _python, cost_of=cost_of, template_of=template_of)

    async def load() -> JobChecks:
        return job_checks

    checks = LiveChecks(form, load, cloud.scope)
    written = FormText(form, cloud.disk, cloud.scope)
    code = CodeFolder(form, cloud.disk, cloud.scope)
    sources = FormScripts(form, cloud.submission, cloud.disk, cloud.paths.script_fixes / "tries")
    fixes = ScriptFixes(sources, FixFiles(cloud.paths.script_fixes), cloud.disk, journal, cloud.scope)
    return FormParts(
        form,
        PlaceNotes(form, places, cloud.scope),
        FormChoices(form, lambda: recent, lambda flavor, profile: sold_out_at(runs(), flavor, profile)),
        checks,
        code,
        ScriptParameters(form, code, cloud.disk, cloud.scope),
        EarlierCode(form, checks, RunCode(cloud.records, cloud.bundles), cloud.scope),
        written,
        FormReplacing(form, written, journal),
        FormExchange(form, written, journal, cloud.disk, cloud.scope),
        FormTemplates(form, templates, cloud.scope),
        JobSending(form, written, cloud.submission, checks, cloud.scope),
        fixes,
        CodeFindings(checks, load, fixes, cloud.disk, cloud.scope),
    )


def prepare_data(cloud: FolderCloud) -> None:
    """What the job of `digits_spec` reads, and a folder for its log."""
    place = cloud.storage.root / "digits" / "data"
    place.mkdir(parents=True, exist_ok=True)
    (place / "images.csv").write_bytes(b"1,2,3\n")
