"""The form as text: nothing lost, every mistake named with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.job import JobSpec, Target

words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(words, numbers, st.booleans())


def pairs(values: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.tuples(names, values), max_size=4, unique_by=lambda pair: pair[0]).map(tuple)


specs = st.builds(
    JobSpec, name=words, target=st.sampled_from(Target), description=words, code_folder=words, boot=words,
    command=words, ignore=st.lists(words, max_size=3).map(tuple), engine=words, engine_version=words, image=words,
    flavor=words, nodes=st.integers(1, 64), pool=words, stop_after=words, priority=st.integers(0, 3),
    inputs=pairs(words), outputs=pairs(words), log_to=words, parameters=pairs(scalars), environment=pairs(words),
    checkpoint_folder=words, checkpoint_pattern=words,
)  # fmt: skip


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
        ("outputs.train_url=obs://b-1/o/", "outputs", (("train_url", "obs://b-1/o/"),)),
        ("code.ignore=data/, *.ckpt", "ignore", ("data/", "*.ckpt")),
    ],
)
def test_one_setting_changes_one_thing(setting: str, field: str, value: object) -> None:
    changed = job_file.with_setting(job_file.parse(EXAMPLE), setting)
    assert getattr(changed, field) == value


@pytest.mark.parametrize("setting", ["lr", "=3", "resources.nodez=2", "resources.nodes=two"])
def test_a_setting_that_means_nothing_is_refused(setting: str) -> None:
    with pytest.raises(InvalidInput):
        job_file.with_setting(job_file.parse(EXAMPLE), setting)


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
