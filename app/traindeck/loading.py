"""What the window is made of is loaded while its frame is in sight already, in steps of a moment each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module

# What they lean on comes with them; where that is much, it has steps of its own before them.
_FOR_RUNS = (
    "ui.kit.tables", "viewmodels.jobs.runs.run_list", "ui.kit.cells",
    "ui.jobs.runs.run_list_view",
)  # fmt: skip
_ROOMS = (
    "ui.kit.dialogs", "viewmodels.accounts.profile_form", "ui.accounts.profile_dialog", "viewmodels.accounts.accounts",
    "viewmodels.jobs.form.job_form", "viewmodels.logs.log_feed", "viewmodels.previews.preview",
    "viewmodels.storage.bucket_tree", "viewmodels.storage.bucket_access", "viewmodels.storage.buckets",
    "viewmodels.storage.moving", "viewmodels.storage.object_browser", "viewmodels.storage.object_sheet",
    "viewmodels.transfers.transfer_list", "viewmodels.transfers.sync_form", "viewmodels.transfers.dragged_files",
    "viewmodels.datasets.mini_form", "viewmodels.scripts.script_fixes", "viewmodels.jobs.form.code_findings",
    "viewmodels.jobs.form.form_choices", "viewmodels.jobs.form.form_exchange", "viewmodels.jobs.form.form_scripts",
    "viewmodels.jobs.form.form_parts", "viewmodels.rooms", "ui.accounts.feature", "ui.jobs.form.fields_page",
    "ui.jobs.form.job_form_view", "ui.jobs.feature", "ui.jobs.runs.compare_feature",
    "ui.jobs.costs.billing_feature", "ui.lab.feature", "ui.previews.lists", "ui.previews.pictures",
    "ui.storage.browser_view", "ui.previews.feature", "ui.shell.settings_feature", "ui.shell.frame_feature",
    "ui.storage.bucket_view", "ui.storage.feature", "ui.transfers.feature", "ui.logs.feature", "ui.datasets.feature",
    "ui.scripts.feature", "ui.shell.events_feature", "ui.shell.problem_report_feature",
    "viewmodels.shell.system_notices", "workspace",
)  # fmt: skip
_SERVICES = (
    "services.accounts.profiles", "services.previews.reading", "services.storage.text_editing",
    "assembly.lab_pythons",
    "services.datasets.datasets", "services.datasets.loaders", "services.jobs.billing", "services.jobs.choices",
    "services.jobs.formats.reading", "services.scripts.fix_files", "services.http.webhook",
    "services.notices.hang_guard", "services.logs.project_copies",
)  # fmt: skip


async def loaded_for_runs() -> None:
    await _loaded("traindeck.assembly.core")
    await _loaded_here(_FOR_RUNS)


async def loaded_for_rooms() -> None:
    from traindeck.services.accounts.connections import ADAPTERS

    await _loaded(*ADAPTERS, *(f"traindeck.{name}" for name in _SERVICES))
    await _loaded_here(_ROOMS)


async def _loaded(*modules: str) -> None:
    """In a worker, so that the frame answers meanwhile; not what has classes of Qt's: it crashed, rarely."""
    await asyncio.get_running_loop().run_in_executor(None, lambda: [import_module(name) for name in modules])


async def _loaded_here(modules: Sequence[str]) -> None:
    """The frame answers between two."""
    for name in modules:
        import_module(f"traindeck.{name}")
        await asyncio.sleep(0)
