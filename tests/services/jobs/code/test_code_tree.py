"""One look at a folder of code: what goes along, what does not, and why."""

import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.runtime.blocking import BlockingCalls, Cancelled, CancelToken
from traindeck.services.jobs.code import code_tree
from traindeck.services.jobs.code.code_limits import CodeLimits, Limit
from traindeck.services.jobs.code.code_rules import LARGE_BYTES
from traindeck.services.jobs.code.code_tree import CodeTree, EntryKind, scan_code, scanned

needs_rights = pytest.mark.skipif(
    os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0), reason="root reads everything"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "code"


def made(folder: Path, files: Mapping[str, str | int]) -> Path:
    """Each with its content, or so many bytes that take no place."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, int):
            with place.open("wb") as file:
                file.truncate(content)
        else:
            place.write_text(content, encoding="utf-8")
    return folder


def tree_of(folder: Path, *ignore: str) -> CodeTree:
    return scanned(folder, ignore, CancelToken())


def taken(tree: CodeTree) -> list[str]:
    return [entry.path for entry in tree.taken]


def left_out(tree: CodeTree) -> dict[str, str]:
    return {entry.path: str(entry.why_left_out()) for entry in tree.left_out}


def test_what_is_left_out_says_by_which_rule_of_whom(folder: Path) -> None:
    made(folder, {
        "train.py": "1", ".git/config": "", "a.pyc": "", ".gitignore": "# mine\n*.log\nruns/\n", "x.log": "",
        "runs/1/out.txt": "", ".traindeckignore": "notes.md\n", "notes.md": "", "plan.doc": "",
    })  # fmt: skip
    tree = tree_of(folder, "*.doc")
    assert taken(tree) == [".gitignore", ".traindeckignore", "train.py"]
    assert left_out(tree) == {
        ".git/": "“.git/” is never code",
        "a.pyc": "“*.pyc” is never code",
        "notes.md": "“notes.md” in .traindeckignore, line 1",
        "plan.doc": "“*.doc” in “ignore” of the job file",
        "runs/": "“runs/” in .gitignore, line 3",
        "x.log": "“*.log” in .gitignore, line 2",
    }


def test_ignore_files_below_count_where_they_lie_and_the_stronger_one_wins(folder: Path) -> None:
    made(folder, {
        ".gitignore": "*.txt\n/top.md\n", "top.md": "", "lib/top.md": "", "lib/.gitignore": "!keep.txt\n/only.md\n",
        "lib/keep.txt": "", "lib/drop.txt": "", "lib/only.md": "", "lib/deep/only.md": "", "only.md": "",
        "ours/.gitignore": "a.md\n", "ours/.traindeckignore": "!a.md\nb.md\n", "ours/a.md": "", "ours/b.md": "",
    })  # fmt: skip
    assert set(taken(tree_of(folder, "!ours/b.md"))) == {
        ".gitignore", "lib/.gitignore", "lib/deep/only.md", "lib/keep.txt", "lib/top.md", "only.md", "ours/.gitignore",
        "ours/.traindeckignore", "ours/a.md", "ours/b.md",
    }  # fmt: skip


def test_large_weights_and_data_stay_behind_unless_the_job_file_takes_them(folder: Path) -> None:
    made(folder, {"train.py": "1", "weights.ckpt": 50_000_000, "small.ckpt": "1", "Data.CSV": LARGE_BYTES + 1,
                  "edge.npy": LARGE_BYTES, "model.py": LARGE_BYTES + 1})  # fmt: skip
    tree = tree_of(folder)
    assert left_out(tree) == {
        "Data.CSV": "weights or data over 10 MB (*.csv)",
        "weights.ckpt": "weights or data over 10 MB (*.ckpt)",
    }
    assert [entry.path for entry in tree.largest] == ["model.py", "edge.npy", "small.ckpt", "train.py"]
    assert "weights.ckpt" in taken(tree_of(folder, "!weights.ckpt"))


def test_a_link_inside_goes_along_as_its_content_and_others_are_named(folder: Path, tmp_path: Path) -> None:
    made(folder, {"train.py": "1", "lib/net.py": "23", "big/x.ckpt": LARGE_BYTES + 1, "hidden.log": ""})
    made(tmp_path, {"secret.txt": "do not send me", "elsewhere/a.py": ""})
    links = {"same.py": "lib/net.py", "only/a.py": "../lib/net.py", "out.txt": "../secret.txt", "gone.py": "nowhere",
             "abs.txt": str(tmp_path / "secret.txt"), "round": "round", "folder": "lib", "away": "../elsewhere",
             "log.py": "hidden.log", "w.ckpt": "big/x.ckpt", "unseen.pyc": "../secret.txt"}  # fmt: skip
    for name, target in links.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)
    tree = tree_of(folder, "*.log")
    assert taken(tree) == ["lib/net.py", "only/a.py", "same.py", "train.py"]
    assert (tree.total.files, tree.total.folders, tree.total.size_bytes) == (4, 2, 7)
    found = {entry.path: entry for entry in tree.links}
    assert {path: entry.link for path, entry in found.items()} == links
    assert {path for path, entry in found.items() if entry.leads_outside} == {"abs.txt", "away", "out.txt",
                                                                             "unseen.pyc"}  # fmt: skip
    assert found["same.py"].target == "lib/net.py" and found["same.py"].size_bytes == 2
    reasons = left_out(tree)
    assert reasons["out.txt"] == reasons["abs.txt"] == "It is a link that leads out of the code directory."
    assert reasons["gone.py"] == reasons["round"] == "It is a link that leads nowhere."
    assert "link to a folder" in reasons["folder"] and "file that is left out" in reasons["log.py"]
    assert "10 MB" in reasons["w.ckpt"] and "*.pyc" in reasons["unseen.pyc"]
    assert not tree.refused


def test_sums_of_folders_and_the_words_for_the_whole(folder: Path) -> None:
    made(folder, {"train.py": "1", "a/b/c.py": "12", "a/d.py": "123", "e/x.pyc": "1234"})
    tree = tree_of(folder)
    assert {path: (each.files, each.folders, each.size_bytes, each.depth) for path, each in tree.folders.items()} == {
        "": (3, 2, 6, 3), "a/": (2, 1, 5, 3), "a/b/": (1, 0, 2, 3),
    }  # fmt: skip
    assert tree.total.entries == 5 and tree.deepest == "a/b/c.py"
    assert str(tree.summary()) == "3 files, 6 B" and str(tree.summary(1)) == "3 files, 6 B, 1 new"


def test_limits_tell_the_real_count_and_the_folder(folder: Path) -> None:
    made(folder, {f"src/data/n{number}.txt": "12345" for number in range(30)} | {"train.py": "1", "src/a.py": ""})
    tree = tree_of(folder)
    over = tree.over(CodeLimits(entries=10, size_bytes=100, depth=2))
    assert [(each.limit, each.found, each.folder) for each in over] == [
        (Limit.ENTRIES, 34, "src/data/"), (Limit.BYTES, 151, "src/data/"), (Limit.DEPTH, 3, "src/data/n0.txt"),
    ]  # fmt: skip
    assert "has 34 files and folders; the limit is 10. Most are in “src/data/”." in str(over[0].words())
    assert "151 B" in str(over[1].words()) and "3 levels deep" in str(over[2].words())
    assert tree.over(CodeLimits()) == () and tree.over(CodeLimits(entries=34, size_bytes=151, depth=3)) == ()


def test_what_is_beyond_the_list_is_still_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_tree, "MOST_LISTED", 20)
    tree = tree_of(made(folder, {f"f{number // 50}/{number}.txt": "1" for number in range(300)}))
    assert len(tree.entries) == 20 and tree.unlisted == 280
    assert (tree.total.files, tree.total.folders, tree.total.size_bytes) == (300, 6, 300)


def test_what_cannot_be_read_is_refused_and_what_is_no_file_is_named(folder: Path) -> None:
    made(folder, {"train.py": "1"})
    os.mkfifo(folder / "pipe")
    (folder / ".gitignore").symlink_to("pipe")  # whoever opens it waits for good
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "sock"))
        tree = tree_of(folder)
    assert taken(tree) == ["train.py"] and not tree.refused
    assert {entry.path: entry.kind for entry in tree.left_out} == {
        ".gitignore": EntryKind.LINK, "pipe": EntryKind.SPECIAL, "sock": EntryKind.SPECIAL,
    }  # fmt: skip


@needs_rights
def test_a_file_or_folder_without_the_right_to_read_it_is_refused_unless_ignored(folder: Path) -> None:
    made(folder, {"train.py": "1", "mine.key": "1", "shut/a.py": "1"})
    (folder / "mine.key").chmod(0)
    (folder / "shut").chmod(0)
    try:
        tree = tree_of(folder)
        assert {entry.path for entry in tree.refused} == {"mine.key", "shut/"}
        assert not tree_of(folder, "shut/", "*.key").refused
    finally:
        (folder / "shut").chmod(stat.S_IRWXU)


def test_names_that_differ_only_by_case(folder: Path) -> None:
    made(folder, {"Net.py": "1", "net.py": "2", "lib/a.py": "", "Lib/b.py": "", "lib/Ü.py": "", "lib/ü.py": "",
                  "x/a.py": "", "y/A.py": "", "NET.PYC": "", "net.pyc": ""})  # fmt: skip
    if (folder / "net.py").read_text() != "2" or (folder / "Net.py").read_text() == "2":
        pytest.skip("this file system does not tell them apart")
    assert set(tree_of(folder).same_but_case) == {("Net.py", "net.py"), ("Lib/", "lib/"), ("lib/Ü.py", "lib/ü.py")}


def test_lines_nobody_can_match_are_told_and_do_no_harm(folder: Path) -> None:
    slow = "*a" * 12 + "*b"  # by going back and forth this would take years
    made(folder, {".gitignore": f"!\n{slow}\n[z-a]\n*.log\n", "a" * 200: "", "a" * 200 + "b": "", "x.log": ""})
    tree = tree_of(folder, "\\")
    assert taken(tree) == [".gitignore", "a" * 200]
    assert [(rule.pattern, rule.line) for rule in tree.bad_rules] == [("\\", 0), ("!", 1), ("[z-a]", 3)]


def test_what_is_too_long_for_a_name_is_no_folder_and_is_not_told_whole(folder: Path) -> None:
    with pytest.raises(NotFound, match="does not exist") as refused:
        tree_of(folder / ("print('training')\n" * 500))
    assert len(refused.value.sentence()) < 400


def test_no_folder_and_one_whose_name_nobody_could_be_told(folder: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        tree_of(folder)
    with pytest.raises(InvalidInput, match="not UTF-8"):
        tree_of(folder / os.fsdecode(b"\xff"))


@pytest.fixture
def calls() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(1, "disk")
    yield calls
    calls.close()


async def test_it_is_done_in_a_worker_and_ends_when_nobody_waits(folder: Path, calls: BlockingCalls) -> None:
    made(folder, {f"{number}.txt": "" for number in range(600)})
    assert (await scan_code(folder, (), calls)).total.files == 600
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        scanned(folder, (), token)
