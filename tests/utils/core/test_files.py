import errno
import hashlib
import os
import shutil
import subprocess
import sys
import time
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
    with pytest.raises(UnicodeEncodeError):
        write_file(path, "\ud800")
    with pytest.raises(KeyError), replacing(path) as beside:
        beside.write_text("half")
        raise KeyError
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


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


def test_a_link_is_replaced_and_its_file_kept(tmp_path: Path) -> None:
    release, link = tmp_path / "release", tmp_path / "link"
    release.write_text("theirs")
    link.symlink_to(release)
    write_file(link, "ours")
    assert (release.read_text(), link.read_text(), link.is_symlink()) == ("theirs", "ours", False)


WRITER = """
import sys
from pathlib import Path
from lmms_eval_tasks.utils.core.files import write_file
for _ in range(20):
    write_file(Path(sys.argv[1]), sys.argv[2] * 200_000)
"""


def test_two_processes_with_one_path_never_leave_a_torn_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    parts = ["a", "bc"]
    whole = {part * 200_000 for part in parts}
    write_file(path, parts[0] * 200_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), part]) for part in parts]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(path.read_text())
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen == whole and list(tmp_path.iterdir()) == [path]


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


def test_a_file_that_changes_has_another_digest(tmp_path: Path) -> None:
    for content in (b"one", b"two", b"one"):
        write_file(tmp_path / "file", content)
        assert file_sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_names_of_releases_that_stay_inside_and_fit_into_a_file_system() -> None:
    for name in ("a.mp4", "pt/a b.mp4", "a..b/c.mp4", "clip:1.mp4", "./a.mp4"):
        assert is_safe(name), name
    outside = ["", ".", "..", "/a", "../a", "a/../../b", "a/..", "C:/a", "c:a", "..\\a"]
    for name in (*outside, "a\0b", "a\nb", "a\x7fb", "a\u2028b", "a\ud800", "n" * 300, "é" * 130, "d/" * 600 + "a"):
        assert not is_safe(name), name
