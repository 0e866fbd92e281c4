"""What the doctor does with code that is strange, large or full of names, and with what a user has silenced."""

from __future__ import annotations

import ast
import time
from dataclasses import replace

import pytest

from support.script_pieces import pieces
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.scripts.script_job import AcceleratorKind, Framework, ScriptJob
from traindeck.services.scripts.arguments import script_arguments
from traindeck.services.scripts.doctor import examine
from traindeck.services.scripts.reading.values import MOST_LETTERS, UNKNOWN, Begins, binary, method_call
from traindeck.services.scripts.rules.packages import distribution_of, knows_engine
from traindeck.services.scripts.rules.secrets import without_secrets
from traindeck.services.scripts.script_tree import read_scripts

JOB = ScriptJob(flavor_kind=AcceleratorKind.ASCEND, cards=8, reaches_internet=False, has_form=True)


def found(script: str, job: ScriptJob = JOB, version: tuple[int, int] | None = None, /, **others: str) -> list[str]:
    files = {"train.py": script, **others}
    tree = read_scripts(list(files), lambda path: files[path].encode(), "train.py", version)
    return [one.rule for one in examine(tree, job, script_arguments(tree)).findings]


def test_names_that_lead_to_names_are_followed_once() -> None:
    """Each of them is given twice by the one before: 2 to the 40th ways."""
    lines = ["a0 = 'obs://bucket/' + str(1)"]
    lines += [f"a{n} = a{n - 1} + a{n - 1}\nif a{n}: a{n} = a{n - 1} + b{n - 1}\nb{n} = a{n}" for n in range(1, 40)]
    began = time.process_time()
    found("b0 = ''\n" + "\n".join(lines) + "\nif a39: open(a39)\n")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(("count", "rules"), [(100, ["obs-path-opened"]), (101, [])])
def test_a_name_that_is_given_very_many_values_stands_for_none(count: int, rules: list[str]) -> None:
    """Each of them may ask for all the others: three thousand took minutes."""
    assert found("place = 'obs://bucket/a'\n" * count + "open(place)\n") == rules


def test_commands_that_have_a_name_are_looked_for_once() -> None:
    """For each of them the whole file was read again: 4,000 took a minute."""
    began = time.process_time()
    assert found("step = 1\n" + "session.run(step)\n" * 4000) == []
    assert time.process_time() - began < 10


@pytest.mark.parametrize(("listed", "rules"), [("numpy", ["newer-python"]), ("dataclasses", []), ("-r more.txt", [])])
def test_a_module_that_came_later_may_be_installed(listed: str, rules: list[str]) -> None:
    others = {"pip-requirements.txt": f"{listed}\n"}
    assert found("import dataclasses\n", JOB, (3, 6), **others) == rules


@pytest.mark.parametrize(("name", "rules"), [("unlink", []), ("remove", ["newer-python"])])
def test_a_method_of_ones_own_takes_what_it_takes(name: str, rules: list[str]) -> None:
    script = f"class Store:\n    def {name}(self, missing_ok): ...\n\nplace.unlink(missing_ok=True)\n"
    assert found(script, JOB, (3, 7)) == rules


@pytest.mark.parametrize("of", ["%s", "{}"])
def test_of_a_long_text_that_is_known_in_part_only_the_beginning_is_kept(of: str) -> None:
    """Each that is filled in may be as long as is kept of a text: 20,000 of them were 200 MB, copied as often."""
    parts = ["x" * (MOST_LETTERS - 1)] * 100
    words, values = of * 101, [*parts, UNKNOWN]
    found = binary(ast.Mod(), words, tuple(values)) if of == "%s" else method_call(words, "format", values, {})
    assert found == Begins("x" * MOST_LETTERS)


def test_long_lines_are_searched_at_once() -> None:
    began = time.process_time()
    for line in ("0123456789" * 10_000, "a1_" * 30_000, "token" * 20_000, "https://" + "a:" * 20_000):
        without_secrets(line)
    assert time.process_time() - began < 2


def test_a_name_that_is_given_itself_ends() -> None:
    assert found("a = b\nb = a\nx = x + 'y'\nopen(a)\nopen(x)\n") == []


@pytest.mark.parametrize(
    ("script", "others"),
    [
        ("from config import DATA\nopen(DATA)", {"config.py": "DATA = 'obs://b/x'"}),
        ("import config\nopen(config.DATA)", {"config.py": "DATA = 'obs://b/x'"}),
        ("import config as c\nopen(c.ROOT + '/y')", {"config.py": "ROOT = 'obs://b/x'"}),
        ("from config import *\nopen(DATA)", {"config.py": "DATA = 'obs://b/x'"}),
        ("from config import Config\nopen(Config.DATA)", {"config.py": "class Config:\n    DATA = 'obs://b/x'"}),
        ("import config\nopen(config.Config.DATA)", {"config.py": "class Config:\n    DATA = 'obs://b/x'"}),
        ("from conf import paths\nopen(paths.DATA)", {"conf/__init__.py": "", "conf/paths.py": "DATA = 'obs://b/x'"}),
        ("import conf.paths\nopen(conf.paths.DATA)",
         {"conf/__init__.py": "", "conf/paths.py": "DATA = 'obs://b/x'"}),
        ("from conf import DATA\nopen(DATA)",
         {"conf/__init__.py": "from .paths import DATA", "conf/paths.py": "DATA = 'obs://b/x'"}),
        ("from conf.use import go\ngo()",
         {"conf/__init__.py": "", "conf/use.py": "from ..conf.paths import D\ndef go():\n    open(D)",
          "conf/paths.py": "import os\nfrom conf import base\nD = os.path.join(base.ROOT, 'x')",
          "conf/base.py": "ROOT = 'obs://b'"}),
        ("from a import A\nopen(A)", {"a.py": "import b\nA = b.B + '/x'", "b.py": "import a\nB = 'obs://b'"}),
        ("from a import go\ngo('obs://b/x')", {"a.py": "def go(path):\n    open(path)"}),
        ("KINDS = {'data': 'obs://b/x', 'out': len}\nopen(KINDS['data'])", {}),
        ("import pathlib\nopen(str(pathlib.Path('obs://b') / 'x' / name))", {}),
        ("open('%s/%s' % ('obs://b', name))", {}),
        ("open('{}/{}'.format('obs://b', name))", {}),
        ("from config import cfg\nopen(cfg.data.train)",
         {"config.py": "from easydict import EasyDict as ed\ncfg = ed({'data': {'train': 'obs://b/x'}})"}),
        ("from types import SimpleNamespace\ncfg = SimpleNamespace(data='obs://b/x')\nopen(cfg.data)", {}),
    ],
)  # fmt: skip
def test_values_are_followed(script: str, others: dict[str, str]) -> None:
    assert "obs-path-opened" in found(script, JOB, **others)


@pytest.mark.parametrize(
    ("script", "others"),
    [
        ("import config\nimport other\nopen(config.DATA)",
         {"config.py": "DATA = 'obs://b/x'", "other.py": "import config\nconfig.DATA = '/cache/x'"}),
        ("import config\nopen(config.DATA)",
         {"config.py": "DATA = 'obs://b/x'\nglobals().update(read())"}),
        ("try:\n    from config import DATA\nexcept ImportError:\n    DATA = '/cache/x'\nopen(DATA)",
         {"config.py": "DATA = 'obs://b/x'"}),
        ("from a import go\ngo(given)", {"a.py": "def go(path):\n    open(path)\n"
                                                "if __name__ == '__main__':\n    go('obs://b/x')"}),
        ("from config import DATA\nopen(DATA)", {"config.py": "import os\nDATA = os.environ.get('D') or 'obs://b'"}),
        ("PLACES = {'data': 'obs://b/x'}\nPLACES['data'] = '/cache'\nopen(PLACES['data'])", {}),
        ("PLACES = {'data': 'obs://b/x'}\nPLACES.update(read())\nopen(PLACES['data'])", {}),
        ("from config import cfg\ncfg.data = '/cache'\nfrom a import go\ngo()",
         {"config.py": "from easydict import EasyDict as ed\ncfg = ed({'data': 'obs://b/x'})",
          "a.py": "from config import cfg\ndef go():\n    open(cfg.data)"}),
        ("from config import cfg\nfrom a import go\nupdate(cfg)\ngo()",
         {"config.py": "from easydict import EasyDict as ed\ncfg = ed({'data': 'obs://b/x'})\ncfg.update(read())",
          "a.py": "from config import cfg\ndef go():\n    open(cfg.data)"}),
        ("from numpy import DATA\nopen(DATA)", {"config.py": "DATA = 'obs://b/x'"}),
    ],
)  # fmt: skip
def test_values_that_may_be_others_are_not_known(script: str, others: dict[str, str]) -> None:
    assert "obs-path-opened" not in found(script, JOB, **others)


@pytest.mark.parametrize(
    "script",
    [
        "parts = []\nparts.append(1)\nif parts:\n    input()",
        "parts = {}\nparts['a'] = 1\nif parts:\n    input()",
        "parts = []\nfill(parts)\nif parts:\n    input()",
        "import os\nkind = os.environ.get('KIND') or 'train'\nif kind == 'eval':\n    input()",
        "flag = unknown() and 'x'\nif not flag:\n    input()",
    ],
)
def test_what_may_be_done_is_looked_at(script: str) -> None:
    assert "interactive" in found(script)


@pytest.mark.parametrize(
    "script",
    [
        "if unknown() and False:\n    input()",
        "if not (True or unknown()):\n    input()",
        "from config import ASKS\nif ASKS:\n    input()",
        "import config\nif config.KIND in ('ask', 'say'):\n    input()",
    ],
)
def test_what_is_never_done_is_not(script: str) -> None:
    assert "interactive" not in found(script, JOB, **{"config.py": "ASKS = False\nKIND = 'run'"})


USUAL = ScriptJob(
    inputs=(Channel("data_url", ""),), outputs=(Channel("train_url", ""),), reaches_internet=False,
    flavor_kind=AcceleratorKind.ASCEND,
)  # fmt: skip


def test_a_copy_of_an_input_saves_no_result() -> None:
    """Without a job nobody knows where the input lies; that it is one is known."""
    script = """
import argparse
import mindspore as ms
import moxing as mox
parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args = parser.parse_args()
mox.file.copy_parallel(args.data_url, "/cache/data")
saved = ms.train.callback.ModelCheckpoint(prefix="resnet", directory="./ckpt")
"""
    assert "output-lost" in found(script, USUAL)
    assert "output-lost" not in found(f"{script}mox.file.copy_parallel('./ckpt', args.train_url)\n", USUAL)
    assert "unread-output" in found(script.partition("saved =")[0], USUAL)


def test_a_group_of_commands_refuses_what_it_does_not_know() -> None:
    script = "import click\n@click.group()\ndef cli(): ...\n@cli.command()\n@click.option('--lr')\ndef train(lr): ..."
    assert "parse-args" in found(f"{script}\ncli()\n", USUAL)


def test_what_a_default_of_several_arguments_loads_is_known() -> None:
    script = """
from dataclasses import dataclass
from transformers import AutoModel, HfArgumentParser
@dataclass
class ModelArguments:
    name: str = "gpt2"
model_args, rest = HfArgumentParser(ModelArguments).parse_args_into_dataclasses(return_remaining_strings=True)
AutoModel.from_pretrained(model_args.name)
"""
    assert "download" in found(script, USUAL)


def test_deep_code_is_said_to_be_unread_and_the_rest_is_read() -> None:
    assert "interactive" in found("input()\n", helper="x = " + "(" * 60 + "1" + ")" * 60)


def test_a_silenced_rule_is_listed_and_no_longer_counts() -> None:
    piece = next(one for one in pieces("faulty") if one.name == "open_obs")
    job = replace(piece.job, silenced=frozenset({"obs-path-opened"}))
    report = piece.examined(job)
    assert not report.is_red and [one.rule for one in report.silenced] == ["obs-path-opened"]
    assert report.document()["findings"][-1]["silenced"] is True  # type: ignore[index]
    assert piece.examined().is_red


def test_one_place_is_told_once_and_many_places_are_bounded() -> None:
    lines = "import torch\n" + "x = torch.zeros(1).cuda().cuda()\n" * 300
    assert found(lines).count("cuda-on-ascend") == 100


def test_time_ends_the_search_and_is_told() -> None:
    files = {"train.py": b"import a, b, c\ninput()\n", "a.py": b"", "b.py": b"", "c.py": b""}
    ticks = iter(range(0, 1000, 3))
    tree = read_scripts(list(files), files.__getitem__, "train.py")
    report = examine(tree, JOB, script_arguments(tree), clock=lambda: float(next(ticks)))
    told = " ".join(map(str, report.not_read))
    assert "took too long" in told and "files were not checked" in told


@pytest.mark.parametrize(
    ("version", "framework", "number"),
    [
        ("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64", Framework.PYTORCH, (1, 8, 0)),
        ("mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p", Framework.MINDSPORE, (2, 2, 12)),
        ("TF-1.15-python3.7-aarch64", Framework.TENSORFLOW, (1, 15)),
        ("local-python", Framework.UNKNOWN, ()),
    ],
)
def test_an_engine_says_what_it_is(version: str, framework: Framework, number: tuple[int, ...]) -> None:
    job = ScriptJob(engine_version=version)
    assert (job.framework, job.framework_version) == (framework, number)
    assert job.is_ascend == ("aarch64" in version) and knows_engine(version) == (framework is not Framework.UNKNOWN)


@pytest.mark.parametrize(
    ("name", "line"),
    [("cv2", "opencv-python"), ("PIL", "Pillow"), ("sklearn", "scikit-learn"), ("yaml", "PyYAML"), ("timm", "timm"),
     ("some_thing", "some-thing")],
)  # fmt: skip
def test_an_import_has_the_name_that_pip_knows(name: str, line: str) -> None:
    assert distribution_of(name) == line


@pytest.mark.parametrize("line", [
    "tokenizer = 'bert-base-uncased-v2-2019'", "max_tokens = 4096", "password = getpass()",
    "token = os.environ['TOKEN']", "secret_key: <your secret key>", "password = ''",
    "key = 'kP9vX2mQ7rT4wZ8yB3nC6dF1gH5jL0sA2eU4iO7p'",
    "url = 'https://example.org/a@b'", "sk = load('model-2024-05-01.pkl')", "access_key = args.access_key_2",
])  # fmt: skip
def test_what_is_no_secret_is_shown(line: str) -> None:
    assert without_secrets(line) == line


@pytest.mark.parametrize("line", [
    "sk = '{}'", "'secret_key': \"{}\",", "os.environ['SECRET_ACCESS_KEY'] = '{}'", "mox.file.set_auth(ak=a, sk='{}')",
    "API_TOKEN={}", "  auth_token: {}", "wandb.login(key='{}')", "# old password = '{}'",
    "requests.get('https://me:{}@example.org/x')", "--password='{}'",
])  # fmt: skip
def test_a_secret_is_never_shown(line: str) -> None:
    value = "kP9vX2mQ7rT4wZ8yB3nC6dF1g"
    shown = without_secrets(line.format(value))
    assert value not in shown and "••••••" in shown
