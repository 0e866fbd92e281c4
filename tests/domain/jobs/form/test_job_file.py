"""The form as text: nothing lost, every mistake named with its line."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_field import FieldKind
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.jobs.job_spec import Channel, ChannelAccess, ChannelStyle, JobSpec, Target, Volume, VolumeKind

words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(words, numbers, st.booleans())


def pairs(values: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.tuples(names, values), max_size=4, unique_by=lambda pair: pair[0]).map(tuple)


places = st.builds(
    Channel, names, words, st.sampled_from(ChannelAccess), st.sampled_from(ChannelStyle), local_dir=words,
)  # fmt: skip
channels = st.lists(places, max_size=4, unique_by=lambda channel: channel.name).map(tuple)
volumes = st.lists(st.builds(Volume, st.sampled_from(VolumeKind), words, words, st.booleans()), max_size=3).map(tuple)
OF_KIND = {
    FieldKind.WORDS: words, FieldKind.TARGET: st.sampled_from(Target), FieldKind.WHOLE: st.integers(-1, 2**40),
    FieldKind.YES_NO: st.booleans(), FieldKind.LIST: st.lists(words, max_size=3).map(tuple),
    FieldKind.CHANNELS: channels, FieldKind.PARAMETERS: pairs(scalars), FieldKind.PAIRS: pairs(words),
    FieldKind.VOLUMES: volumes,
}  # fmt: skip
specs = st.builds(JobSpec, **{field.name: OF_KIND[field.kind] for field in FIELDS})


def test_every_field_of_the_form_is_described_once_and_in_order() -> None:
    assert [field.name for field in FIELDS] == [field.name for field in fields(JobSpec)]


@given(specs)
def test_form_to_text_and_back_loses_nothing(spec: JobSpec) -> None:
    back = job_file.parse(job_file.to_toml(spec))
    assert back == spec
    assert [type(value) for _, value in back.parameters] == [type(value) for _, value in spec.parameters]


EXAMPLE = """\
[job]
name = "bert-tiny"
target = "modelarts"

[resources]
flavor = "modelarts.vm.npu.1"
nodes = 1

[parameters]
batch_size = 32
lr = 0.01
"""


@given(specs, specs)
def test_a_file_that_is_written_again_says_the_new_form(before: JobSpec, after: JobSpec) -> None:
    again = edited("# mine\n" + job_file.to_toml(before), after)
    assert repr(job_file.parse(again)) == repr(after), "in its order, and true is not 1"


def test_comments_stay_where_a_value_changes_and_a_row_moves() -> None:
    source = '# top\n[job]\nname = "a"  # mine\n[parameters]\nlr = 1  # rate\non = true\n'
    spec = job_file.parse(source)
    changed = edited(source, replace(spec, name="b", parameters=(("lr", 1), ("on", 1))))
    assert changed == source.replace('"a"', '"b"').replace("on = true", "on = 1")
    moved = edited(source, replace(spec, parameters=(("on", True), ("lr", 1))))
    assert job_file.parse(moved).parameters == (("on", True), ("lr", 1)) and "# top" in moved and "# mine" in moved


def test_an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() -> None:
    with pytest.raises(InvalidInput) as refused:
        job_file.parse(EXAMPLE.replace("flavor =", "flavour ="))
    said = "Line 6: “[resources] flavour” is not a key of a job file. Did you mean “flavor”?"
    assert refused.value.sentence() == said


def test_an_unknown_table_is_named_with_its_line() -> None:
    with pytest.raises(InvalidInput) as refused:
        job_file.parse(EXAMPLE.replace("[resources]", "[resource]"))
    assert "Line 5" in refused.value.sentence()
    assert "“resources”" in refused.value.sentence()


@pytest.mark.parametrize(
    ("line", "wrong", "wanted"),
    [
        ("nodes = 1", 'nodes = "1"', "a whole number"),
        ("nodes = 1", "nodes = true", "a whole number"),
        ('name = "bert-tiny"', "name = 3", "a string in quotes"),
        ('target = "modelarts"', 'target = "aws"', "“lab”"),
        ("lr = 0.01", "lr = [1]", "a string, a number, true or false"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(line: str, wrong: str, wanted: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        job_file.parse(EXAMPLE.replace(line, wrong))
    assert wanted in refused.value.sentence()
    assert f"Line {EXAMPLE[: EXAMPLE.index(line)].count(chr(10)) + 1}:" in refused.value.sentence()


def test_text_that_is_no_toml_is_refused_with_the_place() -> None:
    with pytest.raises(InvalidInput, match="line 1"):
        job_file.parse("[job\nname = 1")


@pytest.mark.parametrize(
    ("setting", "field", "value"),
    [
        ("lr=0.5", "parameters", (("batch_size", 32), ("lr", 0.5))),
        ("epochs = 3", "parameters", (("batch_size", 32), ("lr", 0.01), ("epochs", 3))),
        ("parameters.lr=1e-3", "parameters", (("batch_size", 32), ("lr", 0.001))),
        ("note=a=b", "parameters", (("batch_size", 32), ("lr", 0.01), ("note", "a=b"))),
        ("resources.nodes=2", "nodes", 2),
        ("job.name=17", "name", "17"),
        ("outputs.train_url=obs://b-1/o/", "outputs", (Channel("train_url", "obs://b-1/o/"),)),
        ("code.ignore=data/, *.ckpt", "ignore", ("data/", "*.ckpt")),
    ],
)
def test_one_setting_changes_one_thing(setting: str, field: str, value: object) -> None:
    changed = job_file.with_setting(job_file.parse(EXAMPLE), setting)
    assert getattr(changed, field) == value


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("lr", "KEY=VALUE"), ("=3", "KEY=VALUE"), ("resources.nodez=2", "“resources.nodes”"),
        ("resource.nodes=2", "“resources.nodes”"), ("resources.nodes=two", "a whole number"),
        ("resources.preemptible=1", "true or false"), ("lr=nan", "a finite number"), ("job.target=lap", "“lab”"),
        ("volumes.x=1", "not a key"), ("Resources.Flavor=x", "“resources.flavor”"),
    ],
)  # fmt: skip
def test_a_setting_that_means_nothing_is_refused(setting: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        job_file.with_setting(job_file.parse(EXAMPLE), setting)
    assert said in refused.value.sentence() and "Line" not in refused.value.sentence()


def test_a_setting_of_an_input_leaves_alone_how_the_script_learns_of_it() -> None:
    spec = job_file.with_setting(job_file.parse(CHANNELS), "inputs.data=obs://b-1/other/")
    whole = Channel("data", "obs://b-1/other/", ChannelAccess.ENVIRONMENT, ChannelStyle.OBS, "/cache/d")
    assert spec.inputs[1] == whole


@pytest.mark.parametrize(
    ("setting", "meant"),
    [("boot=other.py", "code.boot"), ("nodes=2", "resources.nodes"), ("name=x", "job.name or engine.name"),
     ("log_to=obs://b/l/", "logs.to"), ("flavor=f", "resources.flavor")],
)  # fmt: skip
def test_a_key_of_the_form_without_its_table_is_refused(setting: str, meant: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        job_file.with_setting(job_file.parse(EXAMPLE), setting)
    assert meant in caught.value.sentence()


def test_a_parameter_may_be_called_like_a_key_of_the_form() -> None:
    spec = job_file.with_setting(job_file.parse(EXAMPLE), "parameters.nodes=3")
    assert dict(job_file.with_setting(spec, "nodes=4").parameters)["nodes"] == 4


CHANNELS = """\
[inputs]
plain = "obs://b-1/a/"
data = { from = "obs://b-1/d/", as = "environment", style = "obs", local_dir = "/cache/d" }

[outputs]
out = { to = "obs://b-1/o/", as = "environment" }
"""


def test_an_input_is_a_place_or_a_table_that_says_how_the_script_learns_of_it() -> None:
    spec = job_file.parse(CHANNELS)
    whole = Channel("data", "obs://b-1/d/", ChannelAccess.ENVIRONMENT, ChannelStyle.OBS, "/cache/d")
    assert spec.inputs == (Channel("plain", "obs://b-1/a/"), whole)
    assert spec.outputs == (Channel("out", "obs://b-1/o/", ChannelAccess.ENVIRONMENT),)
    assert 'plain = "obs://b-1/a/"' in job_file.to_toml(spec)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("from =", "frm =", "not “frm”"),
        ('"environment", style', '"file", style', "“parameter”, “environment”"),
        ('"obs://b-1/a/"', "3", "an OBS path in quotes"),
    ],
)
def test_a_wrong_input_is_named_with_its_line(before: str, after: str, wanted: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        job_file.parse(CHANNELS.replace(before, after, 1))
    assert "Line " in refused.value.sentence() and "Line ?" not in refused.value.sentence()
    assert wanted in refused.value.sentence()


def test_volumes_tags_and_notifications_have_tables_of_their_own() -> None:
    spec = job_file.parse(
        '[tags]\nteam = "cv"\n[notifications]\ntopic = "urn:smn:x"\nevents = ["JobFailed"]\n'
        '[[volumes]]\nnfs = "10.0.0.1:/"\nmount = "/data"\nread_only = true\n'
        '[[volumes]]\nobs = "obs://b-1/m/"\nmount = "/m"\n'
    )
    assert spec.tags == (("team", "cv"),)
    assert (spec.notify_topic, spec.notify_events) == ("urn:smn:x", ("JobFailed",))
    assert spec.volumes == (
        Volume(VolumeKind.NFS, "10.0.0.1:/", "/data", read_only=True),
        Volume(VolumeKind.OBS, "obs://b-1/m/", "/m"),
    )


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="Line 11"):
        job_file.parse(EXAMPLE.replace("lr = 0.01", f"lr = {value}"))
    # In the form of a run of before it stays what the script saw.
    assert job_file.recall(EXAMPLE.replace("lr = 0.01", f"lr = {value}")).parameters[1] == ("lr", value)
