"""Parameters as people paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.parameter_text import parameters_in, rows_in
from traindeck.domain.jobs.job_spec import wire_value

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
VALUES = st.one_of(
    st.integers(-(2**53), 2**53), st.booleans(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(categories=("Lu", "Ll", "Nd", "Lo")), min_size=1, max_size=8),
)  # fmt: skip
PARAMETERS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("pasted", "found"),
    [
        ("a=1;b=2", (("a", 1), ("b", 2))),
        ("a=1;b=x y;", (("a", 1), ("b", "x y"))),
        (" z=0.1 ;; a=true ;", (("z", 0.1), ("a", True))),
        ("a: 1\r\nb = 'two'\n", (("a", 1), ("b", "two"))),
        ("--lr 0.1 --flag --name=x", (("lr", 0.1), ("flag", True), ("name", "x"))),
        ("python train.py --lr=0.1 --epochs=3", (("lr", 0.1), ("epochs", 3))),
        ("torchrun main.py \\\n --data 'a b' \\\n -j 4 --shift -3", (("data", "a b"), ("j", 4), ("shift", -3))),
        ("python -u train.py --lr 0.1", (("lr", 0.1),)),
        ("CUDA_VISIBLE_DEVICES=0 torchrun --nproc_per_node 8 train.py --lr=0.1 -j 4", (("lr", 0.1), ("j", 4))),
        ("python -m torch.distributed.launch --nproc_per_node=8 main.py --lr 0.1", (("lr", 0.1),)),
        ("python -m pkg.train --lr 0.1 --config cfg.py", (("lr", 0.1), ("config", "cfg.py"))),
        ("bash run.sh --lr 0.1", (("lr", 0.1),)),
        ("--config cfg.py --lr 0.1", (("config", "cfg.py"), ("lr", 0.1))),
        ('{"lr": 0.1, "on": true, "s": "7"}', (("lr", 0.1), ("on", True), ("s", "7"))),
        ('[{"name": "lr", "value": "0.1"}, {"label": "n", "value": "007"}]', (("lr", 0.1), ("n", "007"))),
        ("lr=1e-3;id=007;x=nan", (("lr", "1e-3"), ("id", "007"), ("x", "nan"))),
        ("url=obs://b/k?a=b", (("url", "obs://b/k?a=b"),)),
        ("", ()),
    ],
)
def test_every_usual_spelling_is_understood(pasted: str, found: tuple[tuple[str, object], ...]) -> None:
    assert parameters_in(pasted) == found
    assert [type(value) for _, value in parameters_in(pasted)] == [type(value) for _, value in found]


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("a=1;b", "“b” is not a parameter. Enter it as name=value."),
        ("a=1;a=2", "“a” appears twice"),
        ("lr rate=1", "is not a parameter"),
        ("=1", "is not a parameter"),
        ("--lr 0.1 0.2", "“0.2” is not a parameter. It follows no name"),
        ("--name 'x", "a quotation mark is missing"),
        ('{"a": 1,\n "b": }', "line 2"),
        ('{"a": [1]}', "“a” is not a parameter"),
        ('{"a": NaN}', "not a number"),
        ("[1]", "a name and a value"),
        ('{"a b": 1}', "1 to 64 letters"),
    ],
)
def test_what_is_no_parameter_is_named(pasted: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parameters_in(pasted)
    assert said in refused.value.sentence()


def test_for_a_table_what_is_wrong_is_a_row_to_be_mended() -> None:
    assert rows_in("a: 1\r\nb = 'two'\n\nc") == (("a", "1"), ("b", "two"), ("c", ""))
    assert rows_in("--lr=0.1 --epochs=3") == (("lr", "0.1"), ("epochs", "3"))
    assert rows_in('{"a": }') == (('{"a"', "}"),)


@given(PARAMETERS)
def test_no_spelling_loses_anything(values: dict[str, object]) -> None:
    written = [(name, wire_value(value)) for name, value in values.items()]  # type: ignore[arg-type]
    for pasted in (
        ";".join(f"{name}={value}" for name, value in written) + ";",
        "python x.py " + " ".join(f"--{name}={value}" for name, value in written),
        "\n".join(f"{name} = {value}" for name, value in written) + "\n",
    ):
        assert [(name, wire_value(value)) for name, value in parameters_in(pasted)] == written
