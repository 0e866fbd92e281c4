"""Scripts that take what the platform passes: arguments, folders, copies."""

from __future__ import annotations

import pytest

from support.fixed_scripts import BOOT, after, applied, fixed, script
from support.script_folders import tree_of
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.services.scripts.fixes.all_fixes import propose, propose_together

KNOWN, URLS, COPIES = "parse-known-args", "data-and-train-url", "copy-lines"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("import argparse\na = argparse.ArgumentParser().parse_args()", ".parse_known_args()[0]"),
        ("import argparse\nprint(vars(p.parse_args(None)))", "vars(p.parse_known_args(None)[0])"),
        ("from opts import parser\na = parser.parse_args(sys.argv[1:])", "parser.parse_known_args(sys.argv[1:])[0]"),
        ("import argparse\na = p.parse_intermixed_args()", "p.parse_known_intermixed_args()[0]"),
        ("from tap import Tap\na = MyParser().parse_args()", "MyParser().parse_args(known_only=True)"),
        (
            "from transformers import HfArgumentParser\nm, t = HfArgumentParser((A, B)).parse_args_into_dataclasses()",
            ".parse_args_into_dataclasses(return_remaining_strings=True)[:-1]",
        ),
        (
            "from absl import app, flags\napp.run(main)",
            "app.run(main, flags_parser=lambda argv: flags.FLAGS(argv, known_only=True))",
        ),
        (
            "import click\n\n\n@click.command()\ndef main(): pass",
            "@click.command(context_settings={'ignore_unknown_options': True, 'allow_extra_args': True})",
        ),
        ("import click\n\n\n@click.command\ndef main(): pass", "'allow_extra_args': True})"),
        (
            "import argparse\nclass P(argparse.ArgumentParser):\n    def go(self):\n        return self.parse_args()",
            "return self.parse_known_args()[0]",
        ),
    ],
)
def test_unknown_arguments_are_taken(before: str, expected: str) -> None:
    found = after(KNOWN, before)
    assert expected in found
    assert after(KNOWN, found) == found


@pytest.mark.parametrize(
    "words",
    [
        "import argparse\na = p.parse_args(['--lr', '1'])",
        "import argparse\na, rest = p.parse_known_args()",
        "def parse_args():\n    return {}\n\n\na = parse_args()",
        "import helpers\na = helpers.parse_args()",
        "import argparse\nclass Options:\n    def parse_args(self): pass\n    def go(self): self.parse_args()",
        "import click\n\n\n@click.command(context_settings=dict(ignore_unknown_options=True))\ndef f(): pass",
        "# parser.parse_args()\nx = 'parser.parse_args()'",
    ],
)
def test_what_takes_them_already_or_parses_something_else_stays(words: str) -> None:
    assert after(KNOWN, words) == script(words)


@pytest.mark.parametrize(
    "words",
    [
        "import fire\nfire.Fire(main)",
        "import optparse\np = optparse.OptionParser()\no, a = p.parse_args()",
        "from absl import app\napp.run(main)",
        "import click\n\n\n@click.command(context_settings={'max_content_width': 99})\ndef f(): pass",
    ],
)
def test_what_cannot_be_turned_is_said_with_its_line(words: str) -> None:
    found = fixed(KNOWN, {BOOT: words})
    assert not found.changes and found.not_fixed and all(one.line for one in found.not_fixed)


def test_an_argument_that_means_the_folder_gets_the_name_beside_its_own() -> None:
    found = after(
        URLS,
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('-d', '--data-dir',\n    default='x')\na = p.parse_args()",
    )
    assert "p.add_argument('-d', '--data-dir', '--data_url',\n    default='x')" in found
    assert 'p.add_argument("--train_url", default="/cache/output" if os.path.isdir("/cache") else "./output")' in found


def test_channels_are_called_as_the_job_calls_them() -> None:
    job = ScriptJob(inputs=(Channel("images", "obs://b/i/"), Channel("labels", "obs://b/l/")), has_form=True)
    found = after(URLS, "import argparse\np = argparse.ArgumentParser()\na = p.parse_args()", job)
    assert '"--images"' in found and '"--labels"' in found and "train_url" not in found


def test_paths_that_are_written_down_become_the_arguments() -> None:
    found = after(
        URLS,
        """
        import argparse, torch
        from torchvision import datasets

        def main():
            parser = argparse.ArgumentParser()
            args = parser.parse_args()
            data = datasets.MNIST("./mnist", train=True)
            torch.save({}, "./out/model.pt")

        def other(args):
            return datasets.ImageFolder(root="x")

        def alone():
            return datasets.ImageFolder("x")
        """,
    )
    assert "datasets.MNIST(args.data_url, train=True)" in found
    assert 'torch.save({}, os.path.join(args.train_url, "model.pt"))' in found
    assert "os.makedirs(args.train_url, exist_ok=True)" in found
    assert "ImageFolder(root=args.data_url)" in found
    assert 'return datasets.ImageFolder("x")' in found, "there it is not known"


def test_a_positional_argument_and_a_path_nobody_knows_are_left_to_the_user() -> None:
    found = fixed(
        URLS, {BOOT: "import argparse\np = argparse.ArgumentParser()\np.add_argument('data')\na = p.parse_args()\n"}
    )
    said = [one.reason.in_english() for one in found.not_fixed]
    assert any("positional" in one for one in said) and any("Nothing reads train_url" in one for one in said)
    assert fixed(URLS, {BOOT: "print('no parser')\n"}).not_fixed


def test_copies_stand_behind_the_arguments_and_around_what_is_started() -> None:
    words = """
        # -*- coding: utf-8 -*-
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--data_url")
        parser.add_argument("--train_url")

        if __name__ == "__main__":
            args, _ = parser.parse_known_args()
            # trains
            train(args)
        """
    found = after(COPIES, words)
    assert found.startswith("# -*- coding: utf-8 -*-\nimport argparse\nimport os\n")
    assert "    try:\n        args, _ = parser.parse_known_args()\n        args.data_url = folder_with_data(" in found
    assert "        # trains\n        train(args)\n    finally:\n        copy_results()\n" in found
    assert after(COPIES, found) == found


def test_what_copies_already_stays() -> None:
    words = "import moxing as mox\nimport argparse\na = argparse.ArgumentParser().parse_args()\n"
    assert after(COPIES, words) == words


def test_several_fixes_are_one_difference_from_the_file_as_it_is() -> None:
    words = "import argparse\np = argparse.ArgumentParser()\nargs = p.parse_args()\n"
    together = propose_together([KNOWN, URLS, COPIES], tree_of({BOOT: words}, BOOT), ScriptJob())
    (change,) = together.changes
    assert change.before == words.encode()
    step = {BOOT: words}
    for fix in (KNOWN, URLS, COPIES):
        step = {
            path: content.decode() if isinstance(content, bytes) else content
            for path, content in applied(step, fixed(fix, step)).items()
        }
    assert change.after is not None and change.after.decode() == step[BOOT]


def test_a_name_that_is_no_fix_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing-like-it"):
        propose("nothing-like-it", tree_of({BOOT: ""}, BOOT), ScriptJob())


@pytest.mark.parametrize(
    "words", ["print 'two'\n", "%matplotlib inline\nimport torch\ntorch.zeros(1).cuda()\n", "def f(:\n"]
)
def test_what_is_no_python_of_today_is_said_and_left(words: str) -> None:
    found = fixed("ascend-pytorch", {BOOT: f"{words}import torch\nx.cuda()\n"})
    assert not found.changes


def test_a_shell_file_leads_to_the_script_that_it_starts() -> None:
    files = {
        "run.sh": "#!/bin/bash\npython src/main.py $@\n",
        "src/main.py": "import argparse, torch\np = argparse.ArgumentParser()\np.add_argument('--data_url')\n"
        "a = p.parse_known_args()[0]\nx.cuda()\n",
    }
    for fix in (COPIES, "ascend-pytorch-transfer"):
        found = propose(fix, tree_of(files, "run.sh"), ScriptJob())
        assert [one.path for one in found.changes] == ["src/main.py"]
    entry = propose("entry-script", tree_of(files, "run.sh"), ScriptJob())
    assert b'SCRIPT = "run.sh"' in (entry.changes[0].after or b"")
