"""Frames by PyAV, which are decord's to the bit wherever that reads a clip rightly, and clips that can be read."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
from numbered_clips import bars_of, cut_off, lay_on_its_side, number_of, pictures_by, write_numbered
from releases import write_clip
from small_clips import write_noise

from lmms_eval_tasks.cast_bench.release import frame_size
from lmms_eval_tasks.host.model.readers import StandIn
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS
from lmms_eval_tasks.sample.drawn_clips import write_clip as write_film
from lmms_eval_tasks.utils.data import clips
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import (
    FrameOrder,
    FrameStream,
    PyavFrames,
    ReorderedClip,
    clip_seconds,
    is_readable,
    missing_bytes,
    source_of,
    unreadable,
    videos_below,
)
from lmms_eval_tasks.utils.data.made import show_reversed, show_shuffled
from lmms_eval_tasks.utils.data.pictures import planes_of
from lmms_eval_tasks.utils.data.prepare import link
from lmms_eval_tasks.utils.data.release import UnreadableClip, open_release

CLIPS = Path(__file__).parent / "clips"
TIMES = [0, 10, 12, 13, 40, 41, 60, 100, 101, 102, 103, 150, 160, 161, 170, 180, 190, 200, 201, 300]
ORDERS = ([11, 12, 13], [5, 19, 5], [18, 3], [0, 7, 14], [13], [12], [2, 1, 0], [10])


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ("00:00:01.500000000", 1.5),
        ("01:02:03.5\0", 3723.5),
        ("0:59:59", 3599.0),
        ("100:00:00.25", 360_000.25),
        ("1:2:3", 7.0),
        ("", 7.0),
    ],
)
def test_the_length_that_a_stream_of_matroska_states_is_in_hours_minutes_and_seconds(
    stated: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = SimpleNamespace(type="video", metadata={"DURATION": stated}, disposition=0)
    opened: Any = SimpleNamespace(_stream=stream, _container=SimpleNamespace(streams=[stream]))
    monkeypatch.setattr(clips, "since_first_second", lambda container, length: length)
    monkeypatch.setattr(clips, "length_in_seconds", lambda container: 7.0)
    monkeypatch.setattr(clips, "is_cover", lambda stream: False)
    assert FrameStream.stated_seconds(opened) == seconds


def write(count: int = 40, *args: object, **options: object) -> Callable[[Path], Path]:
    return lambda path: write_numbered(path, count, *args, **options)  # type: ignore[arg-type]


TRUSTED = {
    "b-frames.mp4": write(options={"bf": "3"}),
    "no-b-frames.mkv": write(options={"bf": "0"}),
    "variable-rate.mp4": write(20, times=TIMES),
    "odd.mp4": write(20, (81, 49), pixels="yuv444p"),
    "sound.mp4": write(20, sound=True),
    "ten-bit.mp4": write(20, pixels="yuv420p10le"),
    "half-colours.mp4": write(20, pixels="yuv422p"),
    "full-range.mp4": write(20, pixels="yuvj420p"),
    "bt601.mp4": write(20, colours=(5, 1)),
    "bt709.mp4": write(20, colours=(1, 1)),
    "bt709-full.mp4": write(20, colours=(1, 2)),
    "bt2020.mp4": write(20, colours=(9, 1)),
    "mpeg4.avi": write(20, codec="mpeg4"),
    "odd.mkv": write(20, (97, 65), codec="mpeg4"),
    "vp9.webm": write(20, codec="libvpx-vp9"),
    "rgb.mkv": write(20, (96, 64), codec="ffv1", pixels="bgr0"),
}
SURPRISING = {
    "open-groups.mp4": write(options={"x264-params": "open-gop=1", "bf": "3"}),
    "open-groups.mkv": write(options={"x264-params": "open-gop=1", "bf": "3"}),
    "h265.mp4": write(codec="libx265", size=(96, 64), options={"x265-params": "log-level=none"}),
    "mpeg4-b-frames.mp4": write(codec="mpeg4", options={"bf": "2"}),
    "transport.ts": write(),
    "small.mp4": write(20, (16, 16)),
}
"""Clips that decord does not open, or of which it gives other frames than those that are asked for."""


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("clips")
    writers = {**TRUSTED, **SURPRISING}

    def find(name: str) -> Path:
        path = folder / name
        return path if path.is_file() else writers[name](path)

    return find


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TRUSTED, *SURPRISING])
def test_the_frames_that_are_asked_for_are_given_and_are_decords_where_it_is_to_be_trusted(
    name: str, make: Callable[[str], Path]
) -> None:
    clip = make(name)
    reader = PyavFrames(clip)
    every = reader.read(range(reader.count))
    if name != "small.mp4":
        assert [number_of(picture) for picture in every] == list(range(reader.count))
    for order in ORDERS:
        assert np.array_equal(PyavFrames(clip).read(order), every[order])
        assert np.array_equal(reader.read(order), every[order]), order
    if name in TRUSTED:
        assert np.array_equal(every, pictures_by("decord", clip))
    if name in ("h265.mp4", "mpeg4-b-frames.mp4", "transport.ts"):
        asked = [11, 13, 27]
        assert [number_of(picture) for picture in pictures_by("decord", clip, asked)] != asked


@pytest.mark.parametrize("form", ["yuv420p", "yuvj420p", "yuv444p", "rgb24"])
@pytest.mark.parametrize("size", [(32, 16), (31, 16), (32, 15)])
def test_brightness_and_colours_are_planes_of_the_frames_size(size: tuple[int, int], form: str) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=form)
    planes = planes_of(frame)
    assert planes.shape == (3, size[1], size[0])
    if form != "rgb24":
        plane = frame.planes[0]
        stored = np.frombuffer(plane, np.uint8).reshape(size[1], plane.line_size)[:, : size[0]]
        assert np.array_equal(planes[0], stored)
    if form.endswith("420p") and size == (32, 16):
        assert all(np.array_equal(planes[1:, y::2, x::2], planes[1:, ::2, ::2]) for y in (0, 1) for x in (0, 1))


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_phones_clip_is_upright(degrees: int, tmp_path: Path) -> None:
    clip = lay_on_its_side(write_numbered(tmp_path / "phone.mp4", 20, (96, 80)), degrees)
    reader = PyavFrames(clip)
    shown = reader.read(range(20))
    assert shown.shape == (20, 80, 96, 3) if degrees == 180 else (20, 96, 80, 3)
    assert np.array_equal(shown, pictures_by("decord", clip))
    assert np.abs(shown.astype(int) - pictures_by("cv2", clip)).max() <= 3
    assert np.array_equal(reader.read([reader.number_at(0.5)])[0], shown[6])
    with FrameStream(clip) as stream:
        upright = next(stream.frames())
    assert np.abs(upright.to_ndarray(format="rgb24").astype(int) - shown[0]).max() <= 3


def test_a_clip_of_parts_has_the_size_of_its_first_frame(tmp_path: Path) -> None:
    clip = tmp_path / "joined.ts"
    # Two parts of another size, one behind the other, each of which begins at the same time.
    parts = tmp_path / "a.ts", tmp_path / "b.ts"
    for part, size in zip(parts, ((96, 80), (160, 96)), strict=True):
        write_noise(part, size, frames=10)
    clip.write_bytes(b"".join(part.read_bytes() for part in parts))
    reader = PyavFrames(clip)
    every = reader.read(range(20))
    assert reader.count == 20 and every.shape == (20, 80, 96, 3)
    for order in ([15, 3, 16], [19, 0]):
        assert np.array_equal(reader.read(order), every[order])
    assert reader.number_at(0.5) == 5 and reader.number_at(99) == 19


@pytest.mark.parametrize("name", ["variable-rate.mp4", "b-frames.mp4", "h265.mp4", "transport.ts"])
def test_the_frame_at_a_second_is_the_last_that_began(name: str, make: Callable[[str], Path]) -> None:
    clip = make(name)
    begins = [time / 100 for time in TIMES] if name.startswith("variable") else [number * 0.08 for number in range(40)]
    for second in (-1.0, 0.0, 0.11, 0.4, 0.95, 1.0, 1.5, 1.99, 9.0):
        expected = max((number for number, begin in enumerate(begins) if begin <= second + 1e-3), default=0)
        reader = PyavFrames(clip)
        assert reader.number_at(second) == expected
        assert number_of(reader.read([expected])[0]) == expected, second


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts"])
def test_seconds_count_from_where_a_clip_begins(kind: str) -> None:
    clip = Path(__file__).parent / "clips" / f"starts_at_1400_ms.{kind}"
    reader = PyavFrames(clip)
    assert [reader.number_at(second) for second in (0.0, 1.0, 1.9, 9.0)] == [0, 12, 22, 23]
    with FrameStream(clip) as stream:
        assert reader.seconds == clip_seconds(clip) == stream.stated_seconds() == 2.0


@pytest.mark.parametrize("name", ["cover_before_tracks.mp4", "preview_first.mp4", "preview_first.mkv", "frag.mp4"])
def test_the_film_is_read_by_all_readers_and_neither_its_cover_nor_its_preview(name: str) -> None:
    """The film has 60 frames, 30 a second, with the numbers 0 to 59 as bars; a preview has 2."""
    clip, numbers = CLIPS / name, list(range(60))
    reader = PyavFrames(clip)
    assert (reader.count, reader.seconds) == (60, 2.0) and reader.fps == pytest.approx(30, abs=0.5)
    assert [bars_of(picture) for picture in reader.read(numbers)] == numbers
    with FrameStream(clip) as stream:
        assert [bars_of(stream.pixels(frame, "rgb24")) for frame in stream.frames()] == numbers
        assert stream.size == (160, 120) and stream.stated_frames in (0, 60)
    assert clip_seconds(clip) == 2.0 and is_readable(clip, whole=True)
    shown, facts, _ = StandIn()({"video": str(clip), "nframes": 20})
    assert facts["total_num_frames"] == 60
    assert [bars_of(picture.permute(1, 2, 0).numpy()) for picture in shown] == facts["frames_indices"]
    assert frame_size(clip) == {"width": 160, "height": 120}
    if name == "frag.mp4":
        assert [bars_of(picture) for picture in pictures_by("decord", clip)] != numbers, "as the hazard says"
        assert "fragmented MP4" in KNOWN_HAZARDS["decord_other_frames"].effect


def tracks(path: Path, *films: tuple[int, int, bool]) -> Path:
    """A file with tracks of pictures: of each its width, its frames at 10 a second, and whether it is the default."""
    with av.open(str(path), "w") as container:
        streams = []
        for width, _, is_default in films:
            stream = container.add_stream("mpeg4", rate=10)
            stream.width, stream.height, stream.pix_fmt = width, 48, "yuv420p"
            stream.disposition = av.stream.Disposition.default.value if is_default else 0
            streams.append(stream)
        for stream, (width, frames, _) in zip(streams, films, strict=True):
            for _ in range(frames):
                picture = np.zeros((48, width, 3), np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(
    ("films", "width"),
    [
        ([(64, 20, False), (96, 20, True), (128, 30, False)], 96),  # the default one
        ([(64, 20, False), (96, 30, False), (128, 20, False)], 96),  # the longest
        ([(64, 20, True), (96, 30, True)], 96),  # the longest of the default ones
        ([(64, 20, False), (96, 20, False)], 64),  # the first
        ([(64, 1, True), (96, 30, False)], 96),  # a preview is none, though it is marked
    ],
)
def test_of_several_films_one_is_read(films: list[tuple[int, int, bool]], width: int, tmp_path: Path) -> None:
    clip = tracks(tmp_path / "clip.mkv", *films)
    reader = PyavFrames(clip)
    assert reader.read([0]).shape == (1, 48, width, 3)
    assert reader.count == next(frames for own, frames, _ in films if own == width)
    with FrameStream(clip) as stream:
        assert stream.size == (width, 48)


def test_a_cover_alone_is_no_film(tmp_path: Path) -> None:
    """As a piece of music has one."""
    content = (CLIPS / "cover_before_tracks.mp4").read_bytes()
    song = tmp_path / "song.mp4"
    # The film's track is free space now, and the cover is left.
    song.write_bytes(content.replace(b"trak", b"free"))
    for read in (PyavFrames, lambda path: FrameStream(path).__enter__()):
        with pytest.raises(UnreadableClip, match="cannot be opened"):
            read(song)
    assert clip_seconds(song) is None and not is_readable(song)


def test_hidden_files_are_no_videos(tmp_path: Path) -> None:
    """As a Mac leaves them on a disk that others read."""
    kept = [write_clip(tmp_path / name) for name in ("a.mp4", "b.c.MP4", "below/a.mp4")]
    for name in ("._a.mp4", ".hidden/a.mp4", "below/._a.mp4", ".DS_Store"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(kept[0], tmp_path / name)
    assert videos_below(tmp_path) == sorted(kept)
    (tmp_path / "release" / "clips").mkdir(parents=True)
    (tmp_path / "release" / "list.json").write_text("[]")
    (tmp_path / "release" / "clips" / "._a.mp4").write_text("")
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        for name in ("list.json", "clips/._a.mp4"):
            archive.writestr(name, "")
    for source in (tmp_path / "release", tmp_path / "release.zip"):
        with open_release(source, "Test", ["list.json"], [""]) as release:
            assert not release.holds("clips") and release.files("clips") == []


def test_damaged_and_missing_frames_are_not_shown_and_others_are(make: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(UnreadableClip, match="cannot be opened"):
        PyavFrames(tmp_path / "text.mp4")
    for position in (20, -1):
        with pytest.raises(UnreadableClip, match="cannot be decoded"):
            PyavFrames(make("bt601.mp4")).read([position])
    clip = write_numbered(tmp_path / "damaged.mkv", 40, (160, 96), codec="ffv1", options={"g": "1", "slicecrc": "1"})
    content = bytearray(clip.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = bytes(20_000)
    clip.write_bytes(content)
    opened = PyavFrames(clip)
    assert number_of(opened.read([1])[0]) == 1
    with pytest.raises(UnreadableClip):
        opened.read(range(opened.count))
    assert number_of(opened.read([2])[0]) == 2


@pytest.mark.parametrize("name", ["header-first.mp4", "no-b-frames.mkv", "vp9.webm", "mpeg4.avi"])
def test_a_file_that_ends_too_early_is_not_taken_for_a_shorter_clip(
    name: str, make: Callable[[str], Path], tmp_path: Path
) -> None:
    if name.startswith("header"):
        whole, film = tmp_path / "whole.mp4", np.random.default_rng(0).integers(0, 255, (36, 96, 128, 3), np.uint8)
        write_film(whole, film, 8)
    else:
        whole = make(name)
    with av.open(str(whole)) as container:
        begins = [packet.pos for packet in container.demux(video=0) if packet.size]
    assert is_readable(whole) and not missing_bytes(whole)
    clip = tmp_path / name
    # Within a frame, between two of them, and before the last.
    for end in (begins[9] + 5, begins[9], begins[-1]):
        clip.write_bytes(whole.read_bytes()[:end])
        assert not is_readable(clip), end
        with pytest.raises(UnreadableClip, match="cannot be opened"):
            PyavFrames(clip)


FTYP = bytes.fromhex("00000010 66747970 69736f6d 00000000")
EBML = bytes.fromhex("1a45dfa3 84 01020304")
SEGMENT = bytes.fromhex("18538067")
MISSING: dict[str, tuple[bytes, int]] = {
    "boxes": (FTYP + bytes.fromhex("0000000c 6d646174 00000000"), 0),
    "within a box": (FTYP + bytes.fromhex("0000000c 6d646174 00"), 3),
    "within a box's head": (FTYP + bytes.fromhex("0000000c 6d6461"), 1),
    "within a long length": (FTYP + bytes.fromhex("00000001 6d646174 0000000000"), 1),
    "of a long length": (FTYP + bytes.fromhex("00000001 6d646174 0000000000000014 00"), 3),
    "a box to the end": (FTYP + bytes.fromhex("00000000 6d646174 00"), 0),
    "a length that is none": (FTYP + bytes.fromhex("00000007 6d646174 00"), 0),
    "an empty box": (FTYP + bytes.fromhex("00000008 66726565"), 0),
    "elements": (EBML + SEGMENT + bytes.fromhex("83 010203"), 0),
    "within an element": (EBML + SEGMENT + bytes.fromhex("83 01"), 2),
    "within its length": (EBML + SEGMENT + bytes.fromhex("40"), 1),
    "within its name": (EBML + SEGMENT[:2], 1),
    "an unknown length": (EBML + SEGMENT + bytes.fromhex("ff ec 83 01"), 2),
    "a long unknown length": (EBML + SEGMENT + bytes.fromhex("01ffffffffffffff ec 83 010203"), 0),
    "behind the film": (EBML + SEGMENT + bytes.fromhex("83 010203 00 00"), 0),
    "an AVI": (b"RIFF" + (8).to_bytes(4, "little") + b"AVI LIST", 0),
    "within an AVI": (b"RIFF" + (300).to_bytes(4, "little") + b"AVI ", 296),
    "another RIFF": (b"RIFF" + (300).to_bytes(4, "little") + b"WAVE", 0),
    "a stream that says nothing": (bytes.fromhex("47 40 00 10") * 8, 0),
    "nothing": (b"", 0),
}
"""Bytes of a film to how many are missing at its end, at least."""


@pytest.mark.parametrize("case", MISSING)
def test_bytes_that_are_missing_at_the_end_are_counted(case: str, tmp_path: Path) -> None:
    clip = tmp_path / "clip"
    content, missing = MISSING[case]
    clip.write_bytes(content)
    assert missing_bytes(clip) == missing


@pytest.mark.parametrize("order", FrameOrder)
@pytest.mark.parametrize("kind", ["b-frames.mp4", "variable-rate.mp4", "open-groups.mp4", "odd.mp4", "cut", "turned"])
def test_frames_are_those_of_the_made_clip(
    kind: str, order: FrameOrder, make: Callable[[str], Path], tmp_path: Path
) -> None:
    if kind in ("cut", "turned"):
        clip = write_numbered(tmp_path / "clip.mp4", 12)
        clip = cut_off(clip, 4) if kind == "cut" else lay_on_its_side(clip)
    else:
        clip = make(kind)
    show = show_reversed if order is FrameOrder.REVERSED else show_shuffled
    made = show(clip, ClipStore(tmp_path / "made", 1 << 30))
    theirs, ours = PyavFrames(made.path), PyavFrames(ReorderedClip(clip, order))
    assert (ours.count, ours.fps) == (theirs.count, PyavFrames(clip).fps)
    if not kind.startswith("variable"):  # the average hangs on how long the last frame is taken to be shown
        assert ours.fps == pytest.approx(theirs.fps)
    places = sorted({0, ours.count // 3, ours.count - 1})
    pictures = ours.read(places)
    assert np.abs(pictures.astype(int) - theirs.read(places)).mean() < 4, "but for what coding has lost"
    assert np.array_equal(pictures, PyavFrames(clip).read([made.frames[place] for place in places]))
    if kind == "cut":
        assert [number_of(picture) - 4 for picture in pictures] == [made.frames[place] for place in places]


def test_a_clip_and_an_order_are_no_path_and_equal_nothing_else(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    shown = {ReorderedClip(path, order) for path in (clip, tmp_path / "other.mp4") for order in FrameOrder}
    assert len({*shown, str(clip)}) == 5 and not any(Path(one).exists() for one in shown)
    one = ReorderedClip(clip, FrameOrder.SHUFFLED)
    for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert same == one and source_of(same) == (clip, "shuffled")
    assert source_of(str(clip)) == source_of(clip) == (clip, "")
    with pytest.raises(UnreadableClip, match="clip"):
        PyavFrames(one)


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
