"""The log preview: the newest bytes, cut between characters, while the file grows."""

from pathlib import Path

from traindeck.lab.training.running.job_log import SERVICE_MARK, add_service_line, tail


def test_there_is_no_log_before_there_is_a_file(tmp_path: Path) -> None:
    assert tail(tmp_path / "none.log", is_growing=True) is None


def test_a_long_log_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    path.write_bytes("汉字".encode() * 100)
    for limit in range(7, 14):
        found = tail(path, is_growing=False, limit=limit)
        assert found is not None
        assert found.content == ("汉字" * 100)[-(limit // 3) :]
        assert (found.current_size, found.full_size) == (limit // 3 * 3, 600)


def test_half_a_character_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    whole = "ok 汉".encode()
    path.write_bytes(whole[:-1])
    growing = tail(path, is_growing=True)
    assert growing is not None
    assert (growing.content, growing.current_size, growing.full_size) == ("ok ", 3, 3)
    over = tail(path, is_growing=False)
    assert over is not None
    assert (over.content, over.full_size) == ("ok \ufffd", 5)
    path.write_bytes(whole)
    assert tail(path, is_growing=True) == tail(path, is_growing=False)


def test_a_tail_of_broken_bytes_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    path.write_bytes(b"\x80" * 50)
    found = tail(path, is_growing=False, limit=20)
    assert found is not None
    assert found.content == "\ufffd" * 20


def test_a_service_line_starts_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    add_service_line(path, "one")
    with path.open("ab") as file:
        file.write(b"no newline")
    add_service_line(path, "two")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [SERVICE_MARK in line for line in lines] == [True, False, True]
    assert lines[2].endswith("two")
