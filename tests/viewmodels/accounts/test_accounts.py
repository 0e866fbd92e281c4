"""The accounts of the menu: one that is removed is followed by none, not by the Lab."""

from __future__ import annotations

from pathlib import Path

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.form_bench import form_parts
from support.waiting import until
from traindeck.domain.accounts.profiles import LAB, NO_PROFILE
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.texts import Text
from traindeck.viewmodels.accounts.accounts import Accounts, is_kept_here
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.storage.bucket_tree import BucketTree


async def test_after_the_current_one_is_removed_none_is_and_nothing_goes_to_the_lab(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await cloud.add_cloud_profile("work")
        accounts = Accounts(cloud.profiles, cloud.scope)
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, tmp_path)
        told: list[str] = []
        accounts.changed.connect(lambda: told.append(accounts.current))
        accounts.use("work")
        await until(lambda: told == ["work"])
        form.start()
        form.load_spec(digits_spec(target=Target.MODELARTS), code_folder(tmp_path / "code"))
        asked: list[Text] = []
        answers = iter((False, True))

        async def confirm(question: Text, act: Text) -> bool:
            asked.append(question)
            return next(answers)

        accounts.remove_current(confirm)
        await until(lambda: asked)
        assert "“work” with its settings and keys" in str(asked[0])
        assert accounts.current == "work"
        await until(lambda: len(asked) == 2 or accounts.remove_current(confirm))
        await until(lambda: told == ["work", NO_PROFILE])
        assert accounts.names == (LAB,)
        assert not accounts.is_lab
        assert not is_kept_here(accounts.current)

        form.refresh_profiles()
        assert (form.state.profile, form.state.spec.target) == (NO_PROFILE, Target.MODELARTS)
        assert form.state.offer is None
        refused: list[str] = []
        sending = form_parts(cloud, form).sending
        sending.refused.connect(refused.append)
        sending.submit()
        assert refused == ["target"]
        assert await cloud.records.all() == []
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        tree.use_profile(accounts.current)
        await until(lambda: tree.level(None).trouble)
        trouble = tree.level(None).trouble
        assert trouble is not None
        assert "Account menu" in trouble.sentence()
