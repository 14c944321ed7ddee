"""Raw releases, folders and archives: what is found in them, and what of them is refused."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from expected import Expected
from refusals import refusal

from lmms_eval_tasks.utils.data.release import (
    LARGEST_METADATA,
    Release,
    UnreadableClip,
    ZippedClip,
    open_release,
    read_metadata,
)

LIST = "list.json"
FILES = {LIST: b"[]", "clips/b.mp4": b"bb", "clips/a.mp4": b"a", "clips/.hidden": b"", "hidden/.x": b"", "empty/": b""}


def write_archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def write_folder(path: Path, members: dict[str, bytes]) -> Path:
    for name, content in members.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            (path / name).mkdir()
        else:
            (path / name).write_bytes(content)
    return path


def opened(source: Path, *roots: str, markers: tuple[str, ...] = (LIST,)) -> str:
    with open_release(source, "Test", markers, roots or ("",)) as release:
        return str(release.read(LIST))


@pytest.mark.parametrize("write", [write_archive, write_folder])
def test_a_folder_and_an_archive_hold_the_same(write: Callable[[Path, dict[str, bytes]], Path], tmp_path: Path) -> None:
    source = write(tmp_path / "source", {f"top/{name}": content for name, content in FILES.items()})
    for markers in ((LIST,), ("clips/",), ("other.json", "clips/")):
        with open_release(source, "Test", markers, ["", "other", "top"]) as release:
            assert release.read(LIST) == b"[]" and release.read("other.json") is None
            assert release.files("clips") == ["clips/a.mp4", "clips/b.mp4"] and release.files("nowhere") == []
            assert [name for name in ("clips", "hidden", "empty", "nowhere") if release.holds(name)] == ["clips"]
            clip = release.clip("clips/b.mp4")
            if isinstance(clip, ZippedClip):
                assert release.clip("clips/c.mp4") is None
                clip.make(tmp_path / "made")
                assert clip.size == 2 and clip.is_made(tmp_path / "made")
                clip = tmp_path / "made"
            assert isinstance(clip, Path) and clip.read_bytes() == b"bb"


def test_what_is_no_release_is_refused(tmp_path: Path, expected: Expected) -> None:
    (tmp_path / "text.zip").write_text("no archive")
    other = write_folder(tmp_path / "other", {"one.json": b"", "two/three.json": b""})
    empty = write_folder(tmp_path / "empty", {"nothing/": b""}) / "nothing"
    reasons = [
        refusal(opened, tmp_path / "nowhere"),
        refusal(opened, tmp_path / "text.zip"),
        refusal(opened, other, markers=(LIST, "clips/")),
        refusal(opened, empty),
    ]
    expected("\n\n".join(reasons))


def test_members_that_are_unsafe_are_refused_all_at_once(tmp_path: Path, expected: Expected) -> None:
    source = tmp_path / "source.zip"
    link = zipfile.ZipInfo("link.mp4")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(source, "w") as archive:
        for name in ("../above.mp4", "/root.mp4", link, LIST, "secret.mp4", "folder/"):
            archive.writestr(name, "")
        for name in (LIST, "folder/"):
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr(name, "")
    content = bytearray(source.read_bytes())
    entry = content.rindex(b"secret.mp4") - 46
    content[entry + 8] |= 1  # the flag of an encrypted member, in the archive's list
    source.write_bytes(content)
    expected(refusal(opened, source))


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_broken_is_named(kind: int, tmp_path: Path) -> None:
    source, members = tmp_path / "source.zip", (LIST, "clip.mp4")
    with zipfile.ZipFile(source, "w", kind) as archive:
        for name in members:
            archive.writestr(name, bytes(range(256)) * 400)
    content = bytearray(source.read_bytes())
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            begin = info.header_offset + 30 + len(info.filename)
            middle = begin + info.compress_size // 2
            content[middle : middle + 30] = b"\xff" * 30
    source.write_bytes(content)
    message = refusal(opened, source)
    assert message.startswith(f"source.zip cannot be prepared: {LIST} cannot be read from it (")
    assert message.endswith("). Nothing was written.\nRemedy: download it again.")
    with zipfile.ZipFile(source) as archive:
        clip = Release(zipfile.Path(archive)).clip("clip.mp4")
        assert isinstance(clip, ZippedClip)
        with pytest.raises(UnreadableClip):
            clip.make(tmp_path / "made")
        assert not clip.is_made(tmp_path / "made")


def test_metadata_has_a_largest_size(tmp_path: Path, expected: Expected) -> None:
    large = tmp_path / LIST
    large.write_bytes(bytes(LARGEST_METADATA))
    assert len(read_metadata(large)) == LARGEST_METADATA
    large.write_bytes(bytes(LARGEST_METADATA + 1))
    source = tmp_path / "source.zip"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(LIST, bytes(LARGEST_METADATA + 1))
    reasons = refusal(read_metadata, large), refusal(opened, source)
    assert reasons[0] == reasons[1]
    expected(reasons[0])
