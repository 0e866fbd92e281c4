"""What is read of a folder of scripts, and what is reached from the file that is started."""

from __future__ import annotations

import pytest

from support.script_folders import tree_of
from traindeck.services.scripts.python_source import SourceFault
from traindeck.services.scripts.script_tree import MOST_FILES, read_scripts

REACHED = {
    "imports, packages and a cycle": (
        {"train.py": "import a\nfrom pkg import b", "a.py": "import train", "pkg/__init__.py": "", "pkg/b.py": ""},
        "train.py",
        ("train.py", "a.py", "pkg/__init__.py", "pkg/b.py"),
    ),
    "relative imports": (
        {"p/run.py": "", "p/q/m.py": "from ..n import x\nfrom . import o", "p/n.py": "", "p/q/o.py": "", "boot.py":
         "import p.q.m"},
        "boot.py",
        ("boot.py", "p/q/m.py", "p/n.py", "p/q/o.py"),
    ),
    "a src layout": (
        {"train.py": "from mylib.nets import Net", "src/mylib/__init__.py": "", "src/mylib/nets.py": "", "x.py": ""},
        "train.py",
        ("train.py", "src/mylib/__init__.py", "src/mylib/nets.py"),
    ),
    "one name in two folders": (
        {"tools/train.py": "import utils", "tools/utils.py": "", "utils.py": "", "src/utils.py": ""},
        "tools/train.py",
        ("tools/train.py", "tools/utils.py"),
    ),
    "folders that the script adds": (
        {"tools/train.py": "import sys, os\nsys.path.append('libs')\n"
         "sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../models'))\nimport nets, losses",
         "tools/libs/nets.py": "", "models/losses.py": ""},
        "tools/train.py",
        ("tools/train.py", "tools/libs/nets.py", "models/losses.py"),
    ),
    "imports in functions and in try": (
        {"train.py": "def f():\n    import a\ntry:\n    import b\nexcept ImportError:\n    b = None", "a.py": "",
         "b.py": ""},
        "train.py",
        ("train.py", "a.py", "b.py"),
    ),
    "a shell file": (
        {"run.sh": "cd src\nexport A=1 && \\\n  torchrun --nproc_per_node=8 train.py --lr 0.1", "src/train.py":
         "import nets", "src/nets.py": "", "other.py": ""},
        "run.sh",
        ("run.sh", "src/train.py", "src/nets.py"),
    ),
    "command lines that are put together": (
        {"boot.py": "import os, subprocess as sp, sys\nfrom pathlib import Path\nhere = Path(__file__).parent\n"
         "sp.run([sys.executable, str(here / 'a.py')] + sys.argv[1:])\ncommand = 'python ' + 'b.py' + ' --lr 0.1'\n"
         "os.system(command)\nos.system(f'bash {here}/c.sh')\nsp.call(['bash', os.path.join(here, 'in', 'd.sh')])",
         "a.py": "", "b.py": "", "c.sh": "", "in/d.sh": "", "e.py": ""},
        "boot.py",
        ("boot.py", "a.py", "b.py", "c.sh", "in/d.sh"),
    ),
    "the folder of a shell file, unquoted": (
        {"scripts/run.sh": "python $(dirname $0)/../src/train.py", "src/train.py": ""},
        "scripts/run.sh",
        ("scripts/run.sh", "src/train.py"),
    ),
    "the folder of a shell file, between backticks": (
        {"scripts/run.sh": "cd `dirname $0`/../src\npython train.py", "src/train.py": ""},
        "scripts/run.sh",
        ("scripts/run.sh", "src/train.py"),
    ),
    "the folder of a shell file, asked for carefully": (
        {"scripts/run.sh": 'HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"\npython "$HERE/src/train.py" $@',
         "src/train.py": ""},
        "scripts/run.sh",
        ("scripts/run.sh", "src/train.py"),
    ),
    "a module started by a shell file in a shell file": (
        {"run.sh": "bash scripts/go.sh", "scripts/go.sh": "python3 -m torch.distributed.launch -m pkg.train",
         "pkg/train.py": ""},
        "run.sh",
        ("run.sh", "scripts/go.sh", "pkg/train.py"),
    ),
    "a script that starts another": (
        {"boot.py": "import os, subprocess, sys\nos.system('python a.py --x 1')\n"
         "subprocess.run([sys.executable, 'b.py'])", "a.py": "", "b.py": "", "c.py": ""},
        "boot.py",
        ("boot.py", "a.py", "b.py"),
    ),
    "the platform's path": (
        {"run.sh": "python /home/ma-user/modelarts/user-job-dir/code/train.py", "train.py": ""},
        "run.sh",
        ("run.sh", "train.py"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REACHED, ids=str)
def test_what_is_reached(case: str) -> None:
    files, boot, reached = REACHED[case]
    assert tree_of(files, boot).reached == reached


UNDERSTOOD = {
    "gbk": ("x = '训练'".encode("gbk"), SourceFault.ENCODING, "GBK"),
    "gbk that says so": ("# coding: gbk\nx = '训练'".encode("gbk"), None, ""),
    "a byte order mark": (b"\xef\xbb\xbfx = 1", None, ""),
    "utf-16": ("x = 1".encode("utf-16"), SourceFault.ENCODING, "UTF-16"),
    "an encoding there is not": (b"# coding: klingon\nx = 1", SourceFault.SYNTAX, ""),
    "tabs and blanks": (b"if 1:\n\tx = 1\n        y = 2\n", SourceFault.SYNTAX, ""),
    "a notebook's commands": (b"# In[1]:\n%matplotlib inline\n!pip install x\nx = 1\n", SourceFault.SYNTAX, ""),
    "newer than the engine": (b"match x:\n    case 1: pass\n", SourceFault.SYNTAX, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDERSTOOD, ids=str)
def test_what_an_engine_cannot_read_is_understood_all_the_same(case: str) -> None:
    content, fault, words = UNDERSTOOD[case]
    found = tree_of({"a.py": content}, "a.py", (3, 7)).files["a.py"]
    assert found.module is not None
    assert found.fault is fault
    assert words in found.words


def test_bounds_leave_out_what_the_boot_file_does_not_need() -> None:
    files = {f"a{number}.py": "" for number in range(MOST_FILES)} | {"z.py": "import zz", "zz.py": ""}
    tree = tree_of(files, "z.py")
    assert len(tree.files) == MOST_FILES
    assert tree.reached == ("z.py", "zz.py")
    assert [str(limit) for limit in tree.limits] == ["2 files were not read: only 2,000 files and 50 MB are."]


def test_time_is_bounded() -> None:
    now = iter(range(100))
    tree = read_scripts(["a.py", "b.py", "c.py"], lambda _: b"x", "a.py", clock=lambda: float(next(now)) * 3)
    assert list(tree.files) == ["a.py"]
    assert [str(limit) for limit in tree.limits] == ["2 files were not read: reading took longer than 5 seconds."]


def test_a_file_that_cannot_be_opened_is_told() -> None:
    def read(path: str) -> bytes:
        if path == "b.py":
            raise PermissionError(13, "Permission denied")
        return b"import b"

    tree = read_scripts(["a.py", "b.py"], read, "a.py")
    assert list(tree.files) == ["a.py"]
    assert [str(limit) for limit in tree.limits] == ["b.py was not read: Permission denied"]
