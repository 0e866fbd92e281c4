"""Freezing code: by content, with ignore rules, within limits."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.code.code_limits import CodeLimits
from traindeck.services.jobs.code.code_manifests import Bundle


@pytest.fixture
def bundles(tmp_path: Path) -> Iterator[CodeBundles]:
    calls = BlockingCalls(2, "disk")
    yield CodeBundles(tmp_path / "bundles", calls)
    calls.close()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "我的 code"
    for name, content in {"train.py": "print(1)", "lib/net.py": "x = 1", "data/big.bin": "0" * 100,
                          ".git/config": "", "lib/__pycache__/net.pyc": "", "out.ckpt": ""}.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


async def freeze(bundles: CodeBundles, folder: Path, boot: str = "train.py", ignore: Sequence[str] = ()) -> Bundle:
    async with bundles.frozen(folder, boot, ignore) as bundle:
        return bundle


def names(bundle: Bundle) -> list[str]:
    return sorted(file.path for file in bundle.files)


async def test_what_runs_is_what_was_there_at_the_click(bundles: CodeBundles, code: Path) -> None:
    bundle = await freeze(bundles, code, "train.py", ["data/", "*.ckpt"])
    (code / "train.py").write_text("print(2)", encoding="utf-8")
    assert names(bundle) == ["lib/net.py", "train.py"]
    assert bundle.folder_name == "我的 code"
    again = await bundles.open(bundle.id)
    assert again == bundle
    frozen = next(file for file in again.files if file.path == "train.py")
    assert bundles.place(frozen).read_text(encoding="utf-8") == "print(1)"


async def test_equal_code_is_one_bundle_and_a_changed_byte_another(
    bundles: CodeBundles, code: Path, tmp_path: Path
) -> None:
    first = await freeze(bundles, code, "train.py", [])
    assert (await freeze(bundles, code, "train.py", [])).id == first.id
    (code / "lib" / "net.py").write_text("x = 2", encoding="utf-8")
    assert (await freeze(bundles, code, "train.py", [])).id != first.id
    assert not list((tmp_path / "bundles").glob(".part-*"))


async def test_ignore_files_count(bundles: CodeBundles, code: Path) -> None:
    (code / ".gitignore").write_text("*.ckpt\n", encoding="utf-8")
    (code / ".traindeckignore").write_text("data/\n!data/keep.txt\n", encoding="utf-8")
    assert names(await freeze(bundles, code, "train.py", [])) == [".gitignore", ".traindeckignore", "lib/net.py",
                                                                 "train.py"]  # fmt: skip


@pytest.mark.parametrize(("boot", "ignore", "error"), [("main.py", [], NotFound), ("train.py", ["*.py"], InvalidInput)])
async def test_a_boot_file_that_would_not_be_there_is_refused(
    bundles: CodeBundles, code: Path, boot: str, ignore: list[str], error: type[Exception]
) -> None:
    with pytest.raises(error, match=boot):
        await freeze(bundles, code, boot, ignore)


async def test_no_folder_is_refused(bundles: CodeBundles, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        await freeze(bundles, tmp_path / "nothing", "train.py", [])


async def test_more_files_than_the_service_takes_are_refused(bundles: CodeBundles, code: Path) -> None:
    for number in range(CodeLimits().entries):
        (code / f"f{number}.txt").touch()
    with pytest.raises(InvalidInput, match="has 1,006 files and folders; the limit is 1,000"):
        await freeze(bundles, code, "train.py", [])


async def test_a_bundle_that_was_deleted_says_so(bundles: CodeBundles) -> None:
    with pytest.raises(NotFound, match="no longer on this computer"):
        await bundles.open("0" * 32)


async def test_links_to_folders_do_not_lead_in_circles(bundles: CodeBundles, code: Path) -> None:
    (code / "loop").symlink_to(code, target_is_directory=True)
    assert "train.py" in names(await freeze(bundles, code, "train.py", ["loop"]))


async def test_a_name_that_is_not_utf_8_is_named_unless_it_is_ignored(bundles: CodeBundles, code: Path) -> None:
    odd = os.fsdecode("训练.txt".encode("gbk"))
    try:
        (code / odd).write_bytes(b"1")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes UTF-8 alone")
    with pytest.raises(InvalidInput, match=r"xc1.*\.txt") as caught:
        await freeze(bundles, code, "train.py", [])
    caught.value.sentence().encode()
    assert "train.py" in names(await freeze(bundles, code, "train.py", ["*.txt"]))
    (code / odd).unlink()
    beside = code.with_name(odd)
    code.rename(beside)
    with pytest.raises(InvalidInput, match="not UTF-8"):
        await freeze(bundles, beside, "train.py", [])
