from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from support.folder_cloud import digits_spec
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.job_template import JobTemplate
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.templates import JobTemplates


async def test_a_template_is_kept_with_its_locks_and_one_of_another_hand_is_read(tmp_path: Path) -> None:
    with closing(BlockingCalls(1, "disk")) as disk:
        templates = JobTemplates(tmp_path / "templates", disk)
        assert await templates.names() == []
        kept = JobTemplate("BERT, 8 卡", digits_spec(), frozenset({"flavor", "parameters", "inputs"}))
        await templates.save(kept)
        assert await templates.open("BERT, 8 卡") == kept
        place = tmp_path / "templates" / "mine.toml"
        place.write_text('[job]\nname = "x"\n[template]\nlocked = ["resources.flavor", "of.another"]\n', "utf-8")
        assert await templates.names() == ["BERT, 8 卡", "mine"]
        assert (await templates.open("mine")).locked == {"flavor"}
        place.write_text("[job]\nname = ", "utf-8")
        with pytest.raises(InvalidInput, match="not valid TOML"):
            await templates.open("mine")
        await templates.remove("mine")
        with pytest.raises(AppError):
            await templates.open("mine")


@pytest.mark.parametrize("name", ["", " x", "../x", "a/b", "a\\b", ".hidden", "x" * 61, "a\nb", "con:", "x."])
async def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with closing(BlockingCalls(1, "disk")) as disk:
        with pytest.raises(InvalidInput):
            await JobTemplates(tmp_path / "templates", disk).save(JobTemplate(name, digits_spec()))
        assert not list(tmp_path.rglob("*.toml"))
