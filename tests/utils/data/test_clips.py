"""Clips of a release: which can be decoded, how they get into the data home, and what is shown in their place."""

from __future__ import annotations

import os
from pathlib import Path

import av
import pytest
from releases import write_clip

from lmms_eval_tasks.utils.data.clips import is_readable, unreadable, write_placeholder
from lmms_eval_tasks.utils.data.prepare import link

CLIPS = Path(__file__).parent / "clips"


def test_a_clip_is_readable_and_what_is_damaged_inside_is_found_by_decoding_to_the_end(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4")
    whole = path.read_bytes()
    assert is_readable(path) and is_readable(path, whole=True)
    steps: list[tuple[str, int, int]] = []
    paths = [tmp_path / "z.mp4", path, tmp_path / "b.mp4"]
    assert unreadable(paths, progress=lambda *step: steps.append(step)) == [paths[0], paths[2]]
    assert steps == [("opening clips", done, 3) for done in (1, 2, 3)]
    for content in (b"", b"not a video", bytes(range(256)) * 64, whole[:-200]):
        path.write_bytes(content)
        assert not is_readable(path)
    damaged = CLIPS / "damaged_inside.mp4"
    assert is_readable(damaged) and not is_readable(damaged, whole=True)
    assert not is_readable(CLIPS / "cut_short.mp4")


def test_placeholder_is_a_black_video_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        write_placeholder(tmp_path / name)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    with av.open(str(tmp_path / "a.mp4")) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 16
    assert all(frame.shape == (224, 224, 3) and frame.max() < 4 for frame in frames)


def test_a_clip_is_linked_where_the_file_system_has_links_and_copied_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError("not supported")

    source, placed = tmp_path / "source.mp4", tmp_path / "clip"
    source.write_bytes(b"clip")
    placed.write_bytes(b"another file in the way")
    for _ in range(2):
        link(source, placed)
        assert placed.readlink() == source
    monkeypatch.setattr(Path, "symlink_to", refuse)
    link(source, tmp_path / "hard")
    assert (tmp_path / "hard").samefile(source) and not (tmp_path / "hard").is_symlink()
    monkeypatch.setattr(os, "link", refuse)
    link(source, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"clip" and not (tmp_path / "copy").samefile(source)
