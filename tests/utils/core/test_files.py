import errno
import hashlib
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lmms_eval_tasks.utils.core.files import (
    FullDisk,
    clear_parts,
    file_sha256,
    is_safe,
    name_full_disk,
    replacing,
    write_file,
)


def test_a_file_holds_what_was_written_and_a_failure_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    for content, written in (("它\r\n\n", "它\r\n\n".encode()), (b"\x00\xff", b"\x00\xff"), ("old", b"old")):
        write_file(path, content)
        assert path.read_bytes() == written
        assert file_sha256(path) == hashlib.sha256(written).hexdigest()
    with pytest.raises(UnicodeEncodeError):
        write_file(path, "\ud800")
    with pytest.raises(KeyError), replacing(path) as beside:
        beside.write_text("half")
        raise KeyError
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]
    # A link is replaced, and its file kept.
    link = tmp_path / "link"
    link.symlink_to(path)
    write_file(link, "ours")
    assert (path.read_text(), link.read_text(), link.is_symlink()) == ("old", "ours", False)


def test_a_full_disk_is_named_with_a_folder_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(FullDisk, match=f"^The disk of {tmp_path}/a is full.* Remedy: free"),
        replacing(tmp_path / "a/b"),
    ):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    assert name_full_disk(OSError(errno.ENOSPC, "No space", str(tmp_path / "c/d"))).filename == str(tmp_path / "c")  # type: ignore[attr-defined]
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    free = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free(path)._replace(free="home" not in str(path)))
    assert name_full_disk(full, tmp_path).filename == str(tmp_path / "home")  # type: ignore[attr-defined]
    other = OSError(errno.EACCES, "Permission denied")
    assert name_full_disk(other) is other


def test_two_that_write_one_path_never_leave_a_torn_file(tmp_path: Path) -> None:
    path, whole = tmp_path / "file", {part * 200_000 for part in ("a", "bc")}
    write_file(path, "a" * 200_000)
    with ThreadPoolExecutor(2) as threads:
        writes = [threads.submit(write_file, path, content) for _ in range(20) for content in whole]
        seen = {path.read_text() for _ in range(40)}
    assert not any(write.exception() for write in writes)
    assert seen <= whole and path.read_text() in whole and list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_deleted_after_a_day_and_what_is_written_to_stays(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    killed, alive = folder / ".killed.part", folder / ".alive.part"
    for path in (killed, alive, folder / "film.part"):
        path.write_text("half")
    (folder / ".model.part").mkdir()
    (folder / ".link.part").symlink_to(folder / ".model.part")
    os.utime(killed, (time.time() - 90_000,) * 2)
    write_file(folder / "other", "whole")
    assert not killed.exists() and alive.exists()
    clear_parts(folder, age=0)
    clear_parts(tmp_path / "absent", age=0)
    assert {path.name for path in folder.iterdir()} == {"other", "film.part", ".model.part", ".link.part"}


def test_names_of_releases_that_stay_inside_and_fit_into_a_file_system() -> None:
    for name in ("a.mp4", "pt/a b.mp4", "a..b/c.mp4", "clip:1.mp4", "./a.mp4"):
        assert is_safe(name), name
    outside = ["", ".", "..", "/a", "../a", "a/../../b", "a/..", "C:/a", "c:a", "..\\a"]
    for name in (*outside, "a\0b", "a\nb", "a\x7fb", "a\u2028b", "a\ud800", "n" * 300, "é" * 130, "d/" * 600 + "a"):
        assert not is_safe(name), name
