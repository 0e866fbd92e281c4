"""What is told of files of the code directory that became others."""

from __future__ import annotations

from pathlib import Path

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.form_bench import form_parts
from support.waiting import until
from traindeck.viewmodels.jobs.form.job_form import JobForm


async def test_a_fix_has_the_form_checked_once(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        code = code_folder(tmp_path / "code")
        parts = form_parts(cloud, JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope))
        parts.form.load_spec(digits_spec(), code)
        looks: list[None] = []
        parts.code.looked.connect(lambda: looks.append(None))
        parts.code.watch(True)

        async def looked() -> None:
            """The form may have one look more of its own."""
            looks.clear()
            await until(lambda: looks and not parts.code.state.is_looking)

        await looked()
        (code / "train.py").write_text("print('fixed')\n")
        parts.fixes.changed.emit()
        await looked()
        assert parts.checks.wanted.edition == 1
        (code / "train.py").write_text("print('edited elsewhere')\n")
        parts.code.look()
        await looked()
        assert parts.checks.wanted.edition == 2
        parts.code.watch(False)
