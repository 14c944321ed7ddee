"""Preparing CausalVQA from its archive."""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from raw_releases import QUESTION, write_metadata, zip_folder
from refusals import refused
from releases import write_clip

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.data.home import benchmark_dir

pytestmark = pytest.mark.usefixtures("home")
refusal = partial(refused, prepare)


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    source = tmp_path / "CausalVQA.zip"
    source.write_bytes(b"<html>access denied</html>")
    assert refusal(source, tmp_path) == (
        "CausalVQA.zip cannot be prepared: Expected a zip archive or a folder, but got a file of 26 bytes that is not "
        "a whole zip archive. Nothing was written.\n"
        "Remedy: download it again."
    )


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    source = tmp_path / "Other.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for name in ("b.txt", "a/x.csv", "a/y.csv"):
            archive.writestr(name, "x")
    assert refusal(source, tmp_path) == (
        "Other.zip is not the CausalVQA release: Expected test/test_metadata.csv or debug/debug_metadata.csv inside, "
        "but found a, b.txt. Nothing was written."
    )


def test_an_archive_whose_members_would_escape(tmp_path: Path) -> None:
    source = zip_folder(write_metadata(tmp_path, "debug", [QUESTION]), tmp_path / "CausalVQA.zip")
    with zipfile.ZipFile(source, "a") as archive:
        for name in ("../evil.mp4", "/etc/evil", "C:/evil", "CausalVQA/../../evil"):
            archive.writestr(name, "x")
        link = zipfile.ZipInfo("CausalVQA/debug/videos/link.mp4")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    inside = "Expected a relative path that stays inside the archive."
    assert refusal(source, tmp_path) == (
        "CausalVQA.zip cannot be prepared: 5 problems, nothing was written.\n"
        f"  member '../evil.mp4': {inside}\n"
        f"  member '/etc/evil': {inside}\n"
        f"  member 'C:/evil': {inside}\n"
        f"  member 'CausalVQA/../../evil': {inside}\n"
        "  member 'CausalVQA/debug/videos/link.mp4': Expected a file, but got a symbolic link."
    )
    assert not benchmark_dir("causalvqa").exists()


def test_an_archive_larger_than_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = zip_folder(write_metadata(tmp_path, "debug", [QUESTION]), tmp_path / "CausalVQA.zip")
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr("lmms_eval_tasks.utils.data.prepare.shutil.disk_usage", lambda path: usage)
    with zipfile.ZipFile(source) as archive:
        size = sum(info.file_size for info in archive.infolist() if info.filename.endswith(".mp4"))
    assert refusal(source, tmp_path) == (
        f"CausalVQA, split debug, cannot be prepared: its clips need {size / 1000:.1f} kB, but ~/home has 10 bytes "
        "free. What was prepared before is untouched.\n"
        "Remedy: free disk space or point LMMS_EVAL_TASKS_HOME elsewhere."
    )


def test_a_corrupt_member_is_an_unreadable_clip(tmp_path: Path) -> None:
    source = zip_folder(write_metadata(tmp_path, "debug", [QUESTION]), tmp_path / "CausalVQA.zip")
    with zipfile.ZipFile(source) as archive:
        (info,) = (info for info in archive.infolist() if info.filename.endswith(".mp4"))
    content = bytearray(source.read_bytes())
    content[info.header_offset + 200] ^= 0xFF
    source.write_bytes(content)
    assert [entry.reason for entry in prepare(source)["debug"].missing] == ["unreadable"]


def test_another_archive_is_a_warning_unless_it_is_sample_data(tmp_path: Path) -> None:
    release = write_metadata(tmp_path, "debug", [QUESTION])
    (release / "SAMPLE.json").write_text('{"sample": true}')
    sample = prepare(zip_folder(release, tmp_path / "CausalVQA.zip"))["debug"]
    (release / "SAMPLE.json").unlink()
    real = prepare(zip_folder(release, tmp_path / "CausalVQA.zip"))["debug"]
    assert (real.data_set.kind, sample.data_set.kind, sample.warnings) == (SetKind.OWN, SetKind.SAMPLE, ())
    digest = real.source_sha256["CausalVQA.zip"]
    assert real.warnings[:3] == (
        "CausalVQA.zip is not the published archive: Expected SHA-256 "
        f"a48684b9ef0b9b824b21225ceac23e92a43ec64cfebead20bf15978a399880c5, but got {digest}.",
        "Expected 200 items, but got 2.",
        "Expected 100 groups, but got 1.",
    )


def stop_after(step: int) -> Callable[[str, int, int], None]:
    def progress(what: str, done: int, total: int) -> None:
        if "placing" in what and done == step:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_build_goes_on(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [{**QUESTION, "qid": name, "renamed_video": f"{name}.mp4"} for name in "abc"]
    release = write_metadata(tmp_path, "debug", questions)
    for name in "bc":
        write_clip(release / "debug" / "videos" / f"{name}.mp4")
    source = zip_folder(release, tmp_path / "CausalVQA.zip")
    with pytest.raises(KeyboardInterrupt):
        prepare(source, stop_after(2))
    building = home / ".causalvqa.building" / "videos" / "debug"
    # Several clips are placed at a time, so the third may have been as well.
    placed = sorted(path.name for path in building.iterdir() if not path.name.startswith("."))
    assert placed[:2] == ["a.mp4", "b.mp4"]
    assert not benchmark_dir("causalvqa").exists()
    (building / "b.mp4").write_bytes(b"x" * (building / "b.mp4").stat().st_size)
    (building / "left_over.mp4").write_bytes(b"x")

    extracted = []
    extract = zipfile.ZipFile.open

    def watched(self: zipfile.ZipFile, name: zipfile.ZipInfo, *rest: object) -> object:
        extracted.append(name.filename if isinstance(name, zipfile.ZipInfo) else name)
        return extract(self, name, *rest)

    monkeypatch.setattr(zipfile.ZipFile, "open", watched)
    assert prepare(source)["debug"].missing == ()
    missing = ["b.mp4"] if "c.mp4" in placed else ["b.mp4", "c.mp4"]
    assert sorted(name for name in extracted if name.endswith(".mp4")) == [
        f"CausalVQA/debug/videos/{name}" for name in missing
    ]
    assert sorted(path.name for path in (benchmark_dir("causalvqa") / "videos" / "debug").iterdir()) == [
        "a.mp4",
        "b.mp4",
        "c.mp4",
    ]
    assert not (home / ".causalvqa.building").exists()
