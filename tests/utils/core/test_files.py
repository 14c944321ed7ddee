import threading
from pathlib import Path

import pytest

from lmms_eval_tasks.utils.core.files import replacing, write_file


@pytest.mark.parametrize(
    ("content", "expected"), [("它\r\n\n", "它\r\n\n".encode()), (b"\x00\xff", b"\x00\xff"), ("", b"")]
)
def test_a_file_holds_what_was_written(content: str | bytes, expected: bytes, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for _ in range(2):
        write_file(path, content)
        assert path.read_bytes() == expected
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_file(path, "\ud800")
    with pytest.raises(KeyError), replacing(path) as beside:
        beside.write_text("half")
        raise KeyError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_its_file_kept(tmp_path: Path) -> None:
    release, link = tmp_path / "release", tmp_path / "link"
    release.write_text("theirs")
    link.symlink_to(release)
    write_file(link, "ours")
    assert (release.read_text(), link.read_text(), link.is_symlink()) == ("theirs", "ours", False)


def test_writers_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [str(number) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=write_file, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts and list(tmp_path.iterdir()) == [path]
