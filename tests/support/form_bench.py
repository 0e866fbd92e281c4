"""The job form with all that watches it, over the small cloud of the panels."""

from __future__ import annotations

from collections.abc import Sequence

from support.folder_cloud import FolderCloud
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.services.jobs.billing import Billing
from traindeck.services.jobs.checks.job_checks import JobChecks
from traindeck.services.jobs.checks.lab_limits import LabPython
from traindeck.services.jobs.checks.service_facts import ServiceFacts
from traindeck.services.jobs.run_code import RunCode
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.price_file import PriceFile
from traindeck.store.templates import TemplateStore
from traindeck.viewmodels.jobs.code_folder import CodeFolder
from traindeck.viewmodels.jobs.earlier_code import EarlierCode
from traindeck.viewmodels.jobs.form_choices import FormChoices
from traindeck.viewmodels.jobs.form_exchange import FormExchange
from traindeck.viewmodels.jobs.form_parts import FormParts
from traindeck.viewmodels.jobs.form_templates import FormTemplates
from traindeck.viewmodels.jobs.form_text import FormText
from traindeck.viewmodels.jobs.job_form import JobForm
from traindeck.viewmodels.jobs.job_sending import JobSending
from traindeck.viewmodels.jobs.live_checks import LiveChecks
from traindeck.viewmodels.jobs.place_notes import PlaceNotes
from traindeck.viewmodels.shell.journal import Journal


def billing_of(cloud: FolderCloud) -> Billing:
    prices = PriceFile(cloud.paths.prices)
    return Billing(cloud.records, cloud.connections, cloud.service, prices, cloud.disk)


async def _python(_: str) -> LabPython:
    return LabPython("/usr/bin/python3", "3.11.2")


def form_parts(
    cloud: FolderCloud, form: JobForm, recent: Sequence[JobSpec] = (), journal: Journal | None = None
) -> FormParts:
    places = PlaceService(cloud.connections, cloud.planes)
    facts = ServiceFacts(cloud.connections, places, cloud.choices, cloud.records)
    templates = TemplateStore(cloud.paths.templates, cloud.disk)
    cost_of, template_of = billing_of(cloud).cost_of, templates.existing
    job_checks = JobChecks(facts, cloud.disk, _python, cost_of=cost_of, template_of=template_of)

    async def load() -> JobChecks:
        return job_checks

    checks = LiveChecks(form, load, cloud.scope)
    written = FormText(form, cloud.disk, cloud.scope)
    return FormParts(
        form,
        PlaceNotes(form, places, cloud.scope),
        FormChoices(form, lambda: recent),
        checks,
        CodeFolder(form, cloud.disk, cloud.scope),
        EarlierCode(form, checks, RunCode(cloud.records, cloud.bundles), cloud.scope),
        written,
        FormExchange(form, written, journal or Journal(), cloud.disk, cloud.scope),
        FormTemplates(form, templates, cloud.scope),
        JobSending(form, written, cloud.submission, checks, cloud.scope),
    )


def prepare_data(cloud: FolderCloud) -> None:
    """What the job of `digits_spec` reads, and a folder for its log."""
    place = cloud.storage.root / "digits" / "data"
    place.mkdir(parents=True, exist_ok=True)
    (place / "images.csv").write_bytes(b"1,2,3\n")
