"""What is read of scripts that the tests cannot run, and of such as nobody could."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.script_folders import CORPUS, tree_in, tree_of
from support.script_pieces import SECRETS
from traindeck.domain.scripts.arguments import ArgumentKind, ArgumentSource, ScriptArgument, ScriptArguments
from traindeck.services.scripts.arguments import arguments_document, script_arguments

FOLDERS = CORPUS / "arguments"


def read(script: str | bytes, **others: str) -> ScriptArguments:
    files = {"train.py": script, **{name.replace("__", "/").replace("_dot_", "."): one for name, one in others.items()}}
    return script_arguments(tree_of(files, "train.py"))


def told(found: ScriptArguments) -> list[tuple[str, str, object]]:
    return [(one.name, one.kind.value, one.default) for one in found.arguments]


def named(found: ScriptArguments, name: str) -> ScriptArgument:
    one = found.named(name)
    assert one is not None
    return one


def test_a_password_that_is_a_default_is_not_told() -> None:
    password = SECRETS["%PASSWORD%"]
    found = read(
        "import argparse\np = argparse.ArgumentParser()\n"
        f"p.add_argument('--db-password', default='{password}', help='of the database (default %(default)s)')\n"
        "p.add_argument('--data', default='/cache/data')\np.parse_args()\n"
    )
    one = named(found, "db-password")
    assert (one.default_words, one.first_value, one.help) == ("••••••", "", "of the database (default ••••••)")
    assert password not in json.dumps(arguments_document(found))
    assert named(found, "data").default == "/cache/data"


def test_dataclasses_of_a_parser_of_transformers() -> None:
    found = script_arguments(tree_in(FOLDERS, "hf_dataclasses.py"))
    assert told(found) == [
        ("model_name", "text", None),
        ("dropout", "float", 0.1),
        ("freeze", "bool", True),
        ("use_cache", "bool", False),
        ("precision", "text", "fp16"),
        ("layers", "list", [1, 2]),
        ("max_length", "int", None),
        ("schedule", "text", "linear"),
        ("seed", "int", 42),
    ]
    name, schedule = named(found, "model_name"), named(found, "schedule")
    assert (name.is_required, name.help, name.flags) == (True, "which model", ("--model_name", "--model-name"))
    assert schedule.choices == ("linear", "cosine")
    assert named(found, "precision").choices == ("fp16", "fp32")
    assert not found.is_whole  # TrainingArguments has many that are not here


def test_flags_of_tensorflow_1() -> None:
    found = script_arguments(tree_in(FOLDERS, "tf_flags.py"))
    assert told(found) == [("data_url", "text", "./data"), ("max_steps", "int", 1000), ("use_fp16", "bool", False)]
    assert named(found, "max_steps").help == "Number of steps to run."


def test_a_config_of_which_the_script_makes_arguments() -> None:
    found = script_arguments(tree_in(FOLDERS / "zoo", "train.py"))
    assert [one for one in told(found) if one[0] in ("batch_size", "lr", "enable_modelarts", "device_target")] == [
        ("enable_modelarts", "bool", False),
        ("device_target", "text", "Ascend"),
        ("batch_size", "int", 32),
        ("lr", "float", 0.1),
    ]
    device = named(found, "device_target")
    assert (device.choices, device.help) == (("Ascend", "GPU", "CPU"), "Device type")
    assert (device.file, device.line, device.source) == ("default_config.yaml", 3, ArgumentSource.CONFIG)
    assert "anchors" not in {one.name for one in found.arguments}  # a list is no argument there
    assert named(found, "config_path").default == "default_config.yaml"


def test_a_config_that_is_loaded_gives_names_and_defaults() -> None:
    script = """
import argparse, yaml
with open("conf/base.yaml") as file:
    cfg = yaml.safe_load(file)
parser = argparse.ArgumentParser()
for key, value in cfg.items():
    parser.add_argument("--" + key, type=type(value), default=value)
parser.parse_args()
"""
    found = script_arguments(tree_of({"train.py": script, "conf/base.yaml": "lr: 0.5\nepochs: 3\n"}, "train.py"))
    assert told(found)[:2] == [("lr", "float", 0.5), ("epochs", "int", 3)]


def test_a_config_alone_says_what_there_is_but_cannot_be_told() -> None:
    found = script_arguments(
        tree_of(
            {"train.py": "import json\nc = json.load(open('c.json'))", "c.json": '{"lr": 1, "net": {}}'}, "train.py"
        )
    )
    assert told(found) == [("lr", "int", 1)]
    assert list(found.offered) == []


def test_what_no_one_calls_is_found_but_not_sure() -> None:
    script = """
class Model:
    @staticmethod
    def add_model_specific_args(parent_parser):
        parser = parent_parser.add_argument_group("model")
        parser.add_argument("--width", type=int, default=8)
        return parent_parser
"""
    found = read(script)
    assert told(found) == [("width", "int", 8)]
    assert not found.arguments[0].is_sure
    assert not found.is_unknown("anything")


def test_a_parser_that_others_know_too_hides_nothing() -> None:
    found = read("import argparse, deepspeed\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float)\n"
                 "deepspeed.add_config_arguments(p)\np.parse_args()")  # fmt: skip
    assert told(found) == [("lr", "float", None)]
    assert not found.is_unknown("deepspeed_config")


@pytest.mark.parametrize("script", [
    "import sys\nprint 'old'\nparser.add_argument('--lr', type=float)\nparser.add_argument('-e', '--epochs')",
    "def broken(:\n  parser.add_argument('--lr')\nparser.add_argument('--epochs', default=1)",
])  # fmt: skip
def test_of_what_cannot_be_understood_the_names_are_told(script: str) -> None:
    found = read(script)
    assert [(one.name, one.kind, one.is_sure) for one in found.arguments] == [
        ("lr", ArgumentKind.UNKNOWN, False),
        ("epochs", ArgumentKind.UNKNOWN, False),
    ]
    assert not found.is_whole


@pytest.mark.parametrize("content", [
    "# 训练\nimport argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', help='学习率')\n"
    "p.parse_args()".encode("gbk"),
    "# coding: gbk\nimport argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', help='学习率')\n"
    "p.parse_args()".encode("gbk"),
    b"\xef\xbb\xbf" + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', help='学习率')\n"
    "p.parse_args()".encode(),
    "%load_ext x\nimport argparse\n!pip install y\nif 1:\n\tp = argparse.ArgumentParser()\n"
    "        p.add_argument('--lr', help='学习率')\np.parse_args()".encode(),
])  # fmt: skip
def test_however_it_is_written_down(content: bytes) -> None:
    found = read(content)
    assert [(one.name, one.help) for one in found.arguments] == [("lr", "学习率")]


def test_scripts_that_a_shell_file_starts() -> None:
    script = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--{name}', type=int)\np.parse_args()"
    tree = tree_of(
        {"run.sh": "python a.py && torchrun b.py $@", "a.py": script.format(name="a"), "b.py": script.format(name="b")},
        "run.sh",
    )
    assert [(one.name, one.file) for one in script_arguments(tree).arguments] == [("a", "a.py"), ("b", "b.py")]


@pytest.mark.parametrize("line", [
    "python train.py --config conf/a.yaml", "python train.py --config=conf/a.yaml &",
    "CONFIG=conf/a.yaml\npython train.py \\\n  --config $CONFIG", "python train.py -c ${HERE}/conf/a.yaml",
    "cd conf && python ../train.py --config a.yaml",
])  # fmt: skip
def test_a_config_that_a_shell_file_names(line: str) -> None:
    script = """
import argparse, yaml
first = argparse.ArgumentParser()
first.add_argument("--config")
given, _ = first.parse_known_args()
parser = argparse.ArgumentParser(parents=[first], add_help=False)
for key, value in yaml.safe_load(open(given.config)).items():
    parser.add_argument(f"--{key}", type=type(value), default=value)
parser.parse_args()
"""
    files = {"run.sh": line, "train.py": script, "conf/a.yaml": "lr: 0.5\nepochs: 3\n", "conf/b.yaml": "other: 1\n"}
    for others in (True, False):
        found = script_arguments(tree_of(files, "run.sh", others=others))
        assert {("lr", "float", 0.5), ("epochs", "int", 3)} <= set(told(found))
        assert not {"other"} & {one.name for one in found.arguments}
    assert {one.name for one in script_arguments(tree_of(files, "train.py")).arguments} == {"config"}


@pytest.mark.parametrize("made", [
    "from easydict import EasyDict as ed\ncfg = ed({'lr': 0.5, 'net': {'depth': 50}})",
    "from easydict import EasyDict\ncfg = EasyDict()\ncfg.lr = 0.5\ncfg.net = EasyDict(depth=50)",
    "from types import SimpleNamespace as N\ncfg = N(lr=0.5, net=N(depth=50))",
    "import argparse\ncfg = argparse.Namespace(lr=0.5, net=argparse.Namespace(depth=50))",
])  # fmt: skip
def test_tables_with_names(made: str) -> None:
    script = """
import argparse
from src.config import cfg
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=cfg.lr)
parser.add_argument("--depth", type=int, default=cfg.net.depth)
parser.add_argument("--other", type=int, default=cfg.other)
parser.parse_args()
"""
    found = script_arguments(tree_of({"train.py": script, "src/config.py": made}, "train.py"))
    assert told(found) == [("lr", "float", 0.5), ("depth", "int", 50), ("other", "int", None)]
    assert named(found, "other").default_source == "cfg.other"


def test_a_config_of_hydra_that_takes_others_says_that_there_is_more() -> None:
    script = "import hydra\n@hydra.main('.', 'c')\ndef main(cfg):\n    pass\nmain()\n"
    for config, is_whole in (("lr: 1", True), ("defaults: [_self_]\nlr: 1", True), ("defaults:\n- net: a", False)):
        assert script_arguments(tree_of({"train.py": script, "c.yaml": config}, "train.py")).is_whole == is_whole


@pytest.mark.parametrize("told_by", [
    "import hydra\n@hydra.main(config_path='conf', config_name='config')",
    "import hydra\n@hydra.main('conf', 'config.yaml')", "from hydra import main\n@main(version_base=None, "
    "config_path='./conf/', config_name='config')",
])  # fmt: skip
def test_the_config_of_hydra(told_by: str) -> None:
    script = f"{told_by}\ndef train(cfg):\n    pass\ntrain()\n"
    config = "defaults:\n  - _self_\nlr: 0.1\nnet:\n  depth: 3\nname: ${now:%H}\nhydra:\n  run: x\n"
    files = {"train.py": script, "conf/config.yaml": config, "conf/other.yaml": "other: 1\n"}
    for others in (True, False):
        found = script_arguments(tree_of(files, "train.py", others=others))
        assert told(found) == [("lr", "float", 0.1), ("net", "unknown", None), ("name", "text", "${now:%H}")]
        assert (named(found, "net").file, named(found, "net").line) == ("conf/config.yaml", 4)
        assert list(found.offered) == []  # lr=0.2 is taken, --lr=0.2 is an error
        assert not found.takes_others
    del files["conf/config.yaml"]
    assert not script_arguments(tree_of(files, "train.py")).is_whole


def test_defaults_that_only_running_tells_are_told_as_written() -> None:
    found = read("import argparse, os\np = argparse.ArgumentParser()\n"
                 "p.add_argument('--n', type=int, default=os.cpu_count())\n"
                 "p.add_argument('--root', default=os.environ.get('ROOT', '.'))\np.parse_args()")  # fmt: skip
    assert [(one.default, one.default_source) for one in found.arguments] == [
        (None, "os.cpu_count()"),
        (None, "os.environ.get('ROOT', '.')"),
    ]


HUGE = {
    "power": "D = 9 ** 9 ** 9 ** 9",
    "text": "D = 'a' * 10 ** 12",
    "lists in lists": "D = [1] * 100\n" + "D = [D] * 100\n" * 20,
    "doubled": "D = ['a']\n" + "D = [*D, *D]\n" * 60,
    "words doubled": "D = 'a'\n" + "D = f'{D}{D}'\n" * 90,
    "width": "D = '%999999999d' % 1\nE = '{:999999999}'.format(1)",
    "round and round": "def f(p):\n    p.add_argument('--x')\n    f(p)\n    f(p)\nf(p)",
    "nested loops": "for a in range(250):\n for b in range(250):\n  for c in range(250):\n   p.add_argument('--x')",
    "deep": "D = " + "-" * 3000 + "1",
    "sum": "D = " + "1+" * 5000 + "1",
}


@pytest.mark.parametrize("case", HUGE)
def test_no_script_keeps_its_reader_busy(case: str) -> None:
    start, end = (
        "import argparse\np = argparse.ArgumentParser()\n",
        "\np.add_argument('--lr', default=0.1)\np.parse_args()",
    )
    found = read(f"{start}{HUGE[case]}{end}")
    json.dumps(arguments_document(found))
    assert all(len(one.default_words) < 100_000 for one in found.arguments)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_a_fault_of_ours(content: bytes) -> None:
    for name in ("train.py", "run.sh", "c.yaml", "c.json"):
        found = script_arguments(tree_of({name: content, "train.py": content}, name))
        json.dumps(arguments_document(found))


SNIPPETS = [path.read_bytes() for path in sorted(FOLDERS.glob("*.py"))[:12]]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SNIPPETS), st.data())
def test_a_damaged_script_is_read_without_a_fault_of_ours(script: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(script)))
    end = data.draw(st.integers(start, min(start + 60, len(script))))
    filling = data.draw(
        st.sampled_from([b"", b"\n", b"(", b")", b"'", b"*", b"**x", b"lambda: ", b"x", b"\t", b"\xff"])
    )
    json.dumps(arguments_document(read(script[:start] + filling + script[end:])))


def test_what_a_script_would_not_take_is_told() -> None:
    found = script_arguments(tree_in(FOLDERS, "own_types.py"))
    assert named(found, "steps").mistake("10") is None
    assert str(named(found, "steps").mistake("1.5")) == "“1.5” is not a whole number."
    assert str(named(found, "drop").mistake("x")) == "“x” is not a number."
    assert str(named(found, "amp").mistake("maybe")) == "“maybe” is neither true nor false."
    assert "even “false”" in str(named(found, "trap").mistake("false"))
    assert named(found, "trap").mistake("") is None
    assert found.is_unknown("stepz") and not found.is_unknown("step")  # argparse completes what is clear
    plain = script_arguments(tree_in(FOLDERS, "plain.py"))
    assert str(named(plain, "arch").mistake("x")) == "“x” is not one of: resnet18, resnet50, vgg16."
    assert "takes no value" in str(named(plain, "evaluate").mistake("true"))
    assert not script_arguments(tree_in(FOLDERS, "absl_plain.py")).is_unknown("verbosity")


def test_what_is_set_begins_with_what_the_script_takes_anyway() -> None:
    found = script_arguments(tree_in(FOLDERS, "own_types.py"))
    first = {one.name: one.first_value for one in found.arguments}
    assert (first["steps"], first["drop"], first["flip"], first["trap"]) == ("10", "0.1", "true", "")
    assert (first["sizes"], first["plain"]) == ("", "")
    fired = script_arguments(tree_in(FOLDERS, "fire_function.py"))
    amp = named(fired, "amp")
    assert (amp.first_value, amp.values) == ("False", ("True", "False"))
    assert "reads “false” as text" in str(amp.mistake("false"))


def test_the_corpus_is_large_enough() -> None:
    assert len([path for path in Path(FOLDERS).rglob("*") if path.name != "__init__.py" and path.is_file()]) >= 35
