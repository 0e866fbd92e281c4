from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.folder_cloud import (
    CPU,
    GPU,
    MIND,
    NPU,
    TORCH,
    TORCH_OLD,
    FolderCloud,
    code_folder,
    digits_spec,
    offline,
)
from support.form_bench import billing_of, form_parts, prepare_data
from support.waiting import until
from traindeck.domain.jobs.checks import CheckFinding, CheckLevel, CheckReport
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    ChannelStyle,
    JobSpec,
    Target,
    Volume,
    VolumeKind,
)
from traindeck.domain.texts import Text
from traindeck.services.jobs.choices import JobChoices
from traindeck.store.offers import OfferStore
from traindeck.store.price_file import PriceFile
from traindeck.viewmodels.jobs.form.form_choices import ChoiceRow, FormChoices
from traindeck.viewmodels.jobs.form.form_draft import FormDraft, Origin, draft_of
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.form_state import FormState
from traindeck.viewmodels.jobs.form.form_values import ROW_FIELDS, rows_of, with_rows
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.live_checks import ChecksState

_SCALARS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)


@asynccontextmanager
async def parts_of(folder: Path, spec: JobSpec | None = None) -> AsyncIterator[tuple[FolderCloud, FormParts]]:
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        prepare_data(cloud)
        prices = billing_of(cloud).table
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code, read_prices=prices)
        parts = form_parts(cloud, form)
        form.start()
        await until(lambda: form.state.offer and not form.state.offer_is_old)
        if spec is not None:
            form.load_spec(spec, code)
            await until(lambda: form.state.boot_files)
        yield cloud, parts


@asynccontextmanager
async def form_of(folder: Path, spec: JobSpec | None = None) -> AsyncIterator[tuple[FolderCloud, JobForm]]:
    async with parts_of(folder, spec) as (cloud, parts):
        yield cloud, parts.form


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), _SCALARS, max_size=5))
def test_what_is_not_touched_keeps_its_kind(values: dict[str, str | int | float | bool]) -> None:
    spec = JobSpec(parameters=tuple(values.items()))
    again = with_rows(spec, "parameters", rows_of(spec, "parameters"), spec)
    assert again == spec
    assert [type(value) for _, value in again.parameters] == [type(value) for _, value in spec.parameters]


def test_the_tables_of_the_form_hold_all_that_is_said_of_a_row() -> None:
    channels = tuple(
        Channel(f"c{access.value}{style.value}", "obs://b/p/", access, style, "/cache/x")
        for access in ChannelAccess
        for style in ChannelStyle
    )
    volumes = tuple(Volume(kind, "a:/", f"/{kind.value}", read_only=kind is VolumeKind.PFS) for kind in VolumeKind)
    spec = JobSpec(inputs=channels, outputs=channels, volumes=volumes, tags=(("team", "v"),), extra=(("/a", "1"),))
    for field in ROW_FIELDS:
        assert with_rows(JobSpec(), field, rows_of(spec, field), spec) == replace(
            JobSpec(), **{field: getattr(spec, field)}
        )


def test_what_is_typed_is_what_the_script_sees() -> None:
    rows = (("lr", "1e-3"), ("n", "32"), ("on", "true"), ("id", "007"), ("half", "0.50"), ("x", "nan"), ("", ""))
    spec = with_rows(JobSpec(), "parameters", rows, JobSpec())
    assert dict(spec.parameters) == {"lr": "1e-3", "n": 32, "on": True, "id": "007", "half": "0.50", "x": "nan"}


async def test_mistakes_are_shown_where_one_has_been_and_all_of_them_after_submit(tmp_path: Path) -> None:
    async with parts_of(tmp_path) as (_, parts):
        form, sending = parts.form, parts.sending
        refused: list[str] = []
        sending.refused.connect(refused.append)
        assert form.state.errors == {}
        form.set_field("name", "not a name")
        assert set(form.state.errors) == {"name"}
        sending.submit()
        assert {"name", "engine", "flavor", "stop_after", "outputs"} <= set(form.state.errors)
        assert refused == ["name"]
        assert sending.state.stage is None


async def test_what_a_file_says_wrong_is_a_mistake_and_what_it_leaves_out_is_none_yet(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec(engine="PyTorsh", flavor="", stop_after="9999h")) as (_, parts):
        assert {"stop_after", "flavor"} <= {error.field for error in parts.form.state.all_errors}
        assert "stop_after" in parts.form.state.errors and "flavor" not in parts.form.state.errors


async def test_five_clicks_make_one_job(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec()) as (cloud, parts):
        form, sending = parts.form, parts.sending
        made: list[Run] = []
        stages: set[str] = set()
        sending.submitted.connect(made.append)
        sending.changed.connect(lambda: stages.add(str(sending.state.stage)))
        await parts.checks.report()
        cloud.jobs.wait = asyncio.Event()
        for _ in range(5):
            sending.submit()
        await until(lambda: any("Submitting" in words for words in stages))
        sending.submit()
        cloud.jobs.wait.set()
        await until(lambda: made)
        sending.submit()  # the second half of a slow double click
        assert str(sending.state.stage) == f"Submitted {made[0].name}"
        await until(lambda: sending.state.stage is None)
        assert len(cloud.jobs.jobs) == len(await cloud.records.all()) == 1
        assert not form.state.is_dirty
        assert Path(made[0].spec.code_folder).is_absolute()
        assert not cloud.reported


async def test_a_refused_submission_gives_the_form_back(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec()) as (cloud, parts):
        await parts.checks.report()
        cloud.storage.trouble = offline()
        parts.sending.submit()
        await until(lambda: cloud.reported)
        await until(lambda: parts.sending.state.stage is None)
        assert cloud.reported[0][0] == "submit the job"
        cloud.storage.trouble = None
        parts.sending.submit()
        await until(lambda: cloud.jobs.jobs)
        await until(lambda: parts.sending.state.stage is None)


async def test_what_is_no_longer_offered_is_marked_and_the_nearest_named(tmp_path: Path) -> None:
    old = TORCH.version.replace("2.1.0", "2.0.1")
    async with form_of(tmp_path, digits_spec(engine_version=old, flavor="modelarts.vm.cpu.8u")) as (_, form):
        form.show_all_mistakes()
        assert set(form.state.errors) == {"engine", "flavor"}
        assert form.state.nearest_engine == TORCH
        assert form.state.nearest_flavor == CPU
        form.take_nearest_engine()
        form.take_nearest_flavor()
        assert (form.state.errors, form.state.nearest_engine, form.state.nearest_flavor) == ({}, None, None)


async def test_a_specification_that_does_not_fit_the_engine_gets_one_that_does(tmp_path: Path) -> None:
    async with form_of(tmp_path, digits_spec(flavor=GPU.id)) as (_, form):
        form.set_field("engine", MIND.name)
        assert form.state.spec.engine_version == MIND.version
        assert form.state.nearest_flavor == NPU


async def test_choosing_an_engine_takes_its_first_version(tmp_path: Path) -> None:
    async with form_of(tmp_path, digits_spec(engine=MIND.name, engine_version=MIND.version)) as (_, form):
        form.set_field("engine", "PyTorch")
        assert form.state.spec.engine_version == TORCH.version
        form.set_field("engine_version", TORCH_OLD.version)
        form.set_field("engine", "PyTorch")
        assert form.state.spec.engine_version == TORCH_OLD.version


async def test_trouble_with_the_offer_is_said_in_the_form_and_can_be_tried_again(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        cloud.jobs.trouble = offline()
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, tmp_path)
        form.start()
        await until(lambda: form.state.offer_trouble is not None)
        assert form.state.offer is None
        form.load_spec(digits_spec(), tmp_path)
        assert form.state.nearest_engine is None, "an offer that is not known refuses nothing"
        cloud.jobs.trouble = None
        form.load_offer()
        await until(lambda: form.state.offer)
        assert form.state.offer_trouble is None


async def test_only_the_last_chosen_profile_fills_the_choices(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await cloud.add_cloud_profile("work")
        cloud.jobs.wait = asyncio.Event()
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, tmp_path)
        form.start()
        form.choose_profile("work")
        assert form.state.spec.target is Target.MODELARTS
        assert "work" in str(form.state.cost) and str(form.state.cost_words) == "cost unknown"
        form.choose_profile("lab")
        cloud.jobs.wait.set()
        await until(lambda: form.state.offer)
        assert (form.state.profile, form.state.spec.target) == ("lab", Target.LAB)
        assert "Free" in str(form.state.cost)


async def test_the_button_says_what_the_job_costs_at_most(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec()) as (cloud, parts):
        form = parts.form
        await cloud.add_cloud_profile("work")
        form.refresh_profiles()
        form.choose_profile("work")
        await until(lambda: form.state.offer and not form.state.offer_is_old)
        assert str(parts.sending.submit_words) == "Submit · cost unknown"
        prices = PriceFile(cloud.paths.prices)
        prices.change(flavors={GPU.id: 2.5}, currency="EUR", limit=None)
        parts.watch(cloud, is_seen=True)
        form.set_field("flavor", GPU.id)
        form.set_field("stop_after", "4h")
        await until(lambda: str(parts.sending.submit_words) == "Submit · at most 10.00 EUR")
        (gpu,) = (row for row in parts.choices.flavors() if row.value == GPU.id)
        assert [str(fact) for fact in gpu.facts][-1] == "per hour: 2.50 EUR"
        form.set_field("stop_after", "none")
        assert str(parts.sending.submit_words) == "Submit · cost unknown"
        form.set_field("stop_after", "4h")
        cloud.paths.prices.write_text("flavors = broken", encoding="utf-8")
        form.load_prices()
        await until(lambda: str(parts.sending.submit_words) == "Submit · cost unknown")
        parts.watch(cloud, is_seen=False)
        form.choose_profile("lab")
        assert str(parts.sending.submit_words) == "Submit to the Lab"


async def test_a_specification_that_is_billed_by_a_code_has_the_price_of_the_code(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec()) as (cloud, parts):
        form = parts.form
        await cloud.add_cloud_profile("work")
        cloud.jobs.offered_flavors = [replace(GPU, billing_code="gpu", billing_units=2), replace(CPU, id="cpu.free")]
        cloud.paths.prices.write_text("[billing_codes]\ngpu = 3\n", encoding="utf-8")
        form.load_prices()
        form.refresh_profiles()
        form.choose_profile("work")
        form.set_field("flavor", GPU.id)
        form.set_field("stop_after", "1h")
        await until(lambda: str(form.state.cost_words) == "at most 6.00 CNY")
        form.set_field("flavor", "cpu.free")
        assert str(form.state.cost_words) == "free"


async def test_the_usual_boot_file_is_found(tmp_path: Path) -> None:
    async with form_of(tmp_path) as (_, form):
        other = code_folder(tmp_path / "other")
        (other / "model.py").write_text("", encoding="utf-8")
        form.choose_code_folder(other)
        await until(lambda: form.state.spec.boot == "train.py")
        assert form.state.boot_files == ("model.py", "train.py")
        assert form.state.spec.code_folder == str(other)
        form.choose_code_folder(tmp_path / "code")
        assert form.state.spec.code_folder == "."


async def test_a_job_file_goes_through_the_form_unchanged(tmp_path: Path) -> None:
    spec = digits_spec(environment=(("A", "1 2"),), ignore=("data/",), priority=2, description="数字")
    async with form_of(tmp_path) as (_, form):
        path = tmp_path / "code" / "job.toml"
        path.write_text(job_file.to_toml(spec), encoding="utf-8")
        form.open_file(path)
        await until(lambda: form.state.file == path)
        assert form.state.spec == spec
        assert not form.state.is_dirty
        form.set_field("nodes", 2)
        assert form.state.is_dirty
        form.save_file(path)
        await until(lambda: not form.state.is_dirty)
        assert job_file.parse(path.read_text(encoding="utf-8")) == replace(spec, nodes=2)


async def test_saved_elsewhere_the_code_is_still_the_same_folder(tmp_path: Path) -> None:
    async with form_of(tmp_path, digits_spec()) as (_, form):
        code = form.state.code_place
        above, aside = tmp_path / "job.toml", tmp_path / "aside" / "job.toml"
        form.save_file(above)
        await until(lambda: form.state.file == above)
        assert form.state.spec.code_folder == "code"
        form.save_file(aside)
        await until(lambda: form.state.file == aside)
        assert form.state.code_place == code
        assert job_file.parse(aside.read_text(encoding="utf-8")).code_folder == str(code)


async def test_a_file_that_is_no_job_file_leaves_the_form_alone(tmp_path: Path) -> None:
    async with form_of(tmp_path, digits_spec()) as (cloud, form):
        for name, content in (("bad.toml", b"[job]\nnam = 'x'\n"), ("binary.toml", b"\xff\xfe"), ("none.toml", None)):
            if content is not None:
                (tmp_path / name).write_bytes(content)
            form.open_file(tmp_path / name)
            await until(lambda: not cloud.scope.is_running("open the job file"))
        with (tmp_path / "endless.toml").open("wb") as file:
            file.truncate(17 << 20)
        form.open_file(tmp_path / "endless.toml")
        await until(lambda: not cloud.scope.is_running("open the job file"))
        assert [name for name, _ in cloud.reported] == ["open the job file"] * 4
        assert "is too large" in cloud.reported[-1][1].sentence()
        assert form.state.spec == digits_spec()


async def test_edit_again_says_what_differs_from_the_run(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec()) as (_, parts):
        form, sending = parts.form, parts.sending
        made: list[Run] = []
        sending.submitted.connect(made.append)
        sending.submit()
        await until(lambda: made)
        form.load_spec(made[0].spec, Path("/"), made[0])
        assert not form.state.changes
        form.set_rows("parameters", (("epochs", "30"), ("lr", "0.1"), ("tag", "7")))
        form.set_field("nodes", 2)
        assert [(one.name, one.before, one.after) for one in form.state.changes] == [
            ("Nodes", "1", "2"),
            ("lr", "0.05", "0.1"),
        ]
        await until(lambda: sending.state.stage is None)
        sending.submit()
        await until(lambda: len(made) == 2)
        assert made[0].spec.parameters == (("epochs", 30), ("lr", 0.05), ("tag", "7"))


def kept(state: FormState) -> tuple[object, ...]:
    parts = (state.spec, state.rows, state.base, state.file, state.origin, state.profile, state.is_dirty, state.changes)
    return (*parts, [type(value) for _, value in state.spec.parameters])


async def test_what_was_typed_is_there_again_at_the_next_start(tmp_path: Path) -> None:
    async with form_of(tmp_path, digits_spec()) as (cloud, form):
        changed: list[int] = []
        form.draft_changed.connect(lambda: changed.append(1))
        form.refresh_profiles()
        form.load_offer()
        await until(lambda: form.state.offer)
        assert not changed, "only what the user has a part in counts"
        made = await cloud.submission.submit(digits_spec(), tmp_path / "code")
        form.load_spec(made.spec, tmp_path, made)
        form.set_rows("parameters", (("epochs", "31"), ("tag", "7"), ("half", ""), ("", "")))
        form.set_rows("environment", (("A", "1"), ("A", "2")))
        form.set_field("name", "not a name")
        assert changed
        again = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, Path("/"))
        again.restore_draft(json.loads(json.dumps(form.draft())))
        again.start()
        assert kept(again.state) == kept(form.state)
        assert again.state.errors == {}, "nobody made a mistake yet"
        await until(lambda: again.state.offer)


def test_a_kept_draft_holds_every_field_of_the_form() -> None:
    whole = JobSpec(
        **{field.name: "word" for field in fields(JobSpec) if type(field.default) is str},
        target=Target.MODELARTS, ignore=("*.ckpt",), silenced_rules=("parse-args",), install_moxing=True, nodes=2,
        priority=3, preemptible=True, log_copy=True, parameters=(("lr", 0.1), ("on", True), ("tag", "7")),
        inputs=(Channel("data", "obs://b/d/", ChannelAccess.ENVIRONMENT, ChannelStyle.OBS, "/data"),),
        outputs=(Channel("out", "obs://b/o/"),), environment=(("A", "1"),), tags=(("team", "cv"),),
        volumes=(Volume(VolumeKind.NFS, "10.0.0.1:/", "/mnt", True),), notify_events=("JobFailed",),
        extra=(("spec.custom", "1"),),
    )  # fmt: skip
    assert not [field.name for field in fields(JobSpec) if getattr(whole, field.name) == field.default]
    origin = Origin(41, whole, "r41", "bundle")
    rows = {name: rows_of(whole, name) for name in ROW_FIELDS}
    draft = FormDraft(whole, rows, Path("/code"), Path("/code/job.toml"), origin, "work", True, "# mine")
    assert draft_of(json.loads(json.dumps(draft.plain()))) == draft


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)))
def test_what_is_no_draft_is_left_alone(junk: object) -> None:
    plain = FormDraft(digits_spec(), dict.fromkeys(ROW_FIELDS, ()), Path("/"), None, None, "lab", False).plain()
    for name in plain:
        draft = draft_of({**plain, name: junk})
        assert draft is None or all(isinstance(value, str) for value in (draft.profile, str(draft.base)))
    assert draft_of(junk) is None


async def test_the_form_never_changes_by_itself_where_the_job_goes(tmp_path: Path) -> None:
    async with parts_of(tmp_path, digits_spec(target=Target.MODELARTS)) as (cloud, parts):
        form = parts.form
        assert (form.state.profile, form.state.spec.target) == ("", Target.MODELARTS), "the Lab is not what was named"
        assert str(form.state.all_errors[0].message) == "Select where the job runs."
        await cloud.add_cloud_profile("work")
        form.refresh_profiles()
        assert form.state.profile == ""
        form.choose_profile("work")
        await cloud.profiles.remove("work")
        form.refresh_profiles()
        assert form.state.profile == "" and "Select where" in str(form.state.all_errors[0].message)
        parts.sending.submit()
        assert not cloud.jobs.jobs and parts.sending.state.stage is None


async def test_a_job_without_a_name_gets_that_of_its_folder(tmp_path: Path) -> None:
    async with form_of(tmp_path) as (_, form):
        form.choose_code_folder(code_folder(tmp_path / "bert tiny"))
        assert form.state.spec.name == "bert-tiny"
        form.choose_code_folder(code_folder(tmp_path / "other"))
        assert form.state.spec.name == "bert-tiny"


async def test_scripts_of_a_folder_that_is_not_meant_any_more_fill_no_field(tmp_path: Path) -> None:
    async with form_of(tmp_path) as (cloud, form):
        form.choose_code_folder(tmp_path / "code")
        form.new()
        await until(lambda: not cloud.scope.is_running("list the boot files"))
        assert form.is_untouched and not form.state.is_dirty


async def test_a_form_nobody_fills_asks_no_service_for_what_is_known(tmp_path: Path) -> None:
    """The lists stand there as they were last, with their age; the first letter typed brings those of now."""
    async with parts_of(tmp_path) as (cloud, _):

        def type_a_name(form: JobForm) -> None:
            form.set_field("name", "x")

        def open_a_list(form: JobForm) -> None:
            nothing: list[ChoiceRow] = []
            FormChoices(form).look_up(lambda _: nothing)("")

        for begin in (type_a_name, open_a_list):
            asked = cloud.jobs.asked_offers
            later = JobChoices(cloud.connections, OfferStore(cloud.paths.offers, cloud.disk))
            form = JobForm(later, cloud.profiles, cloud.disk, cloud.scope, tmp_path)
            form.start()
            await until(lambda form=form: form.state.offer)
            await until(lambda: not cloud.scope.is_running("load engines and specifications"))
            assert form.state.offer_is_old and form.state.offer_trouble is None
            assert cloud.jobs.asked_offers == asked
            begin(form)
            await until(lambda form=form: not form.state.offer_is_old)
            assert cloud.jobs.asked_offers == asked + 1


async def test_it_is_checked_as_long_as_one_of_two_windows_shows_it(tmp_path: Path) -> None:
    """Of another language the new window is there before the old one goes."""
    async with parts_of(tmp_path, digits_spec()) as (_, parts):
        parts.watch("old", is_seen=True)
        parts.watch("new", is_seen=True)
        parts.watch("old", is_seen=False)
        parts.form.set_field("nodes", 2)
        await until(lambda: parts.checks.state.report is not None)
        parts.watch("new", is_seen=False)


async def test_before_anything_was_read_nothing_is_said_to_be_free_or_passed(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, tmp_path)
        parts = form_parts(cloud, form)
        checks = parts.checks
        assert not form.state.profile
        assert str(form.state.cost) == "The cost is known once an account is selected."
        assert str(parts.sending.submit_words) == "Submit · cost unknown"
        assert str(checks.state.head) == "Not checked yet"
        form.choose_profile("lab")
        assert str(form.state.cost) == "Free: runs on this computer"
        assert str(parts.sending.submit_words) == "Submit to the Lab"
    green = CheckFinding("clock", Text("Clock"), CheckLevel.GREEN, Text("The clock is right."))
    known = ChecksState((green,), is_running=True)
    assert str(known.head) == "1 check, checking…"
    assert str(replace(known, is_running=False).head) == "1 check", "the others were not looked at"
    whole = ChecksState((green,), report=CheckReport(digits_spec(), "lab", (green,)))
    assert str(whole.head) == "1 check, all passed"
