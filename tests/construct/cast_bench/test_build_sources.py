"""What a build of CaST-Bench's kind reads: tracks in both forms, edited descriptions, and every fault of them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_clips import write_numbered
from pycocotools import mask as coco
from refusals import refusal

from lmms_eval_tasks.construct.annotate.answer_files import EditedEntry
from lmms_eval_tasks.construct.cast_bench.clip_steps import describe_actions, describe_looks
from lmms_eval_tasks.construct.cast_bench.pipeline import read_sources, source_files, write_release
from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    EvidencePiece,
    InstanceRow,
    QuestionRow,
)
from lmms_eval_tasks.construct.cast_bench.tracks import mask_box, read_tracks, run_lengths
from lmms_eval_tasks.construct.engine.steps import Asking, Models, Removed
from lmms_eval_tasks.utils.core.errors import Problems

WIDTH, HEIGHT, LAST = 160, 120, 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one clip of four seconds and no tracks."""
    (tmp_path / "clips").mkdir()
    (tmp_path / "tracks").mkdir()
    write_numbered(tmp_path / "clips" / "sav_1.mp4", 50, (WIDTH, HEIGHT))
    return tmp_path


def config(folder: Path, **values: Any) -> CastBenchConfig:
    return CastBenchConfig(clips=folder / "clips", tracks=folder / "tracks", **values)


def write_tracks(folder: Path, *instances: Any, stem: str = "sav_1") -> None:
    (folder / "tracks" / f"{stem}.json").write_text(json.dumps({"instances": list(instances)}))


def instance(**changes: Any) -> dict[str, Any]:
    return {"id": "a", "name": "red ball", "boxes": {"0": [1, 2, 30, 40], "3": [5.5, 6.2, 20.1, 30]}, **changes}


def masklets(path: Path, masks: list[list[np.ndarray[Any, Any]]], ids: list[int]) -> None:
    coded = []
    for frame in masks:
        codes = [coco.encode(np.asfortranarray(mask.astype(np.uint8))) for mask in frame]
        coded.append([{**code, "counts": code["counts"].decode()} for code in codes])
    path.write_text(json.dumps({"video_id": "sav_1", "masklet": coded, "masklet_id": ids, "masklet_num": len(ids)}))


def problem(folder: Path, **values: Any) -> str:
    return refusal(read_sources, config(folder, **values))


def test_our_file_of_boxes(folder: Path) -> None:
    write_tracks(folder, instance(), instance(id="b", name=""), instance(id="c", boxes={}))
    (row,) = read_sources(config(folder))
    assert (row.id, row.clip, row.width, row.height, row.last) == ("sav_1", "sav_1.mp4", WIDTH, HEIGHT, LAST)
    first, second, third = row.instances
    assert first.boxes == {0: (1, 2, 30, 40), 3: (5, 6, 21, 30)} and first.source == "a"
    assert (second.name, third.boxes) == ("", {})
    labels = [InstanceRow(id="x", source=row, instance=one, category="toy car").label for one in row.instances]
    assert labels == ["red_ball_a", "toy_car_b", "red_ball_c"]
    assert [path.name for path in source_files(config(folder))] == ["sav_1.mp4", "sav_1.json"]


def test_masklets_of_both_kinds_a_box_a_second(folder: Path) -> None:
    empty = np.zeros((HEIGHT, WIDTH), dtype=bool)
    masks = []
    for number in range(22):  # six a second, so that the last is 3.5 s
        moving = empty.copy()
        moving[10:30, 5 + 2 * number : 25 + 2 * number] = True
        moving[12, 100] = True
        masks.append([moving, empty if number < 12 else ~empty])
    masklets(folder / "tracks" / "sav_1_manual.json", masks, [0, 7])
    masklets(folder / "tracks" / "sav_1_auto.json", [[one] for one, _ in masks], [3])
    (row,) = read_sources(config(folder))
    assert [one.id for one in row.instances] == ["manual_instance_000", "manual_instance_007", "auto_instance_003"]
    assert row.instances[0].boxes == {second: (5 + 12 * second, 10, 101, 30) for second in range(4)}
    assert row.instances[1].boxes == {2: (0, 0, WIDTH, HEIGHT), 3: (0, 0, WIDTH, HEIGHT)}
    (by_hand,) = read_sources(config(folder, masklets="manual"))
    assert len(by_hand.instances) == 2


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.02, 0.5, 1.0]))
def test_boxes_of_masks_are_those_of_cocos_tools(width: int, height: int, seed: int, share: float) -> None:
    mask = np.random.default_rng(seed).random((height, width)) < share
    code = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    left, top, wide, high = coco.toBbox(code)
    box = mask_box(code["counts"].decode(), width, height)
    assert box == ((left, top, left + wide, top + high) if mask.any() else None)


@pytest.mark.parametrize(
    ("text", "lengths"),
    # A character has five bits, the lowest first; from `P` on another one follows. From the fourth number on, what is
    # coded is the difference to the number before the last.
    [("", []), ("5", [5]), ("?", [15]), ("P1", [32]), ("_1", [47]), ("1234", [1, 2, 3, 6]), ("9123N", [9, 1, 2, 4, 0])],
)
def test_run_lengths_by_hand(text: str, lengths: list[int]) -> None:
    assert run_lengths(text) == lengths


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("5O", "a run of negative length"),
        ("@5", "a run of negative length"),
        ("912M", "a run of negative length"),
        ("5P", "characters that are no numbers"),
        ("5 6", "characters that are no numbers"),
        ("P" * 13 + "1", "characters that are no numbers"),
    ],
)
def test_what_is_no_run_length_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{fault}$"):
        run_lengths(text)


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_text_is_run_lengths_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert all(length >= 0 for length in run_lengths(text))


def test_all_faults_of_all_tracks_are_listed(folder: Path, expected: Expected) -> None:
    for stem in ("sav_2", "sav_3", "sav_4", "sav_5"):
        write_numbered(folder / "clips" / f"{stem}.mp4", 50, (WIDTH, HEIGHT))
    boxes = {"0": [1, 2, 3], "1": [5, 5, 5, 9], "2": [0, 0, 161, 9], "9": [1, 1, 2, 2], "0.5": [1, 1, 2, 2], "01": []}
    write_tracks(folder, instance(), instance(boxes=boxes), {"id": "b", "boxes": {"0": "all"}})
    write_tracks(folder, instance(), instance(boxes={"0": [1, 2, 1e400, 4]}), stem="sav_2")
    (folder / "tracks" / "sav_3.json").write_text("[")
    small = np.ones((HEIGHT // 2, WIDTH), dtype=bool)
    masklets(folder / "tracks" / "sav_4_manual.json", [[small]], [0])
    (folder / "tracks" / "sav_5_manual.json").write_text(
        json.dumps({"masklet": [[{"size": [HEIGHT, WIDTH], "counts": "a b"}, {"size": [1, 2], "counts": ""}]] * 2,
                    "masklet_id": [0, 1]})
    )  # fmt: skip
    said = [problem(folder)]
    write_tracks(folder, instance(), instance(boxes=boxes))
    write_tracks(folder, *(instance(id=name) for name in ("", " ", "a b", "a\n")), stem="sav_2")
    expected("\n\n".join([*said, problem(folder)]))


EDGES: list[tuple[list[float], tuple[int, int] | None, tuple[int, int, int, int] | None]] = [
    ([0, 0, 160, 120], (WIDTH, HEIGHT), (0, 0, 160, 120)),
    ([0, 0, 160.1, 120], (WIDTH, HEIGHT), None),
    ([0, 0, 160, 120.1], (WIDTH, HEIGHT), None),
    ([0.9, 0.1, 1.1, 0.2], (WIDTH, HEIGHT), (0, 0, 2, 1)),
    ([-0.1, 0, 1, 1], (WIDTH, HEIGHT), None),
    ([0, -0.1, 1, 1], (WIDTH, HEIGHT), None),
    ([1, 0, 1, 1], (WIDTH, HEIGHT), None),
    ([0, 1, 1, 1], (WIDTH, HEIGHT), None),
    ([0, 0, 1], (WIDTH, HEIGHT), None),
    ([0, 0, 1, 1, 1], (WIDTH, HEIGHT), None),
    # Of a clip that cannot be opened the size is not known.
    ([0, 0, 999_999, 161], None, (0, 0, 999_999, 161)),
    ([0, 0, 1_000_000, 1], None, None),
    ([0, 0, 1, 1_000_000], None, None),
]


@pytest.mark.parametrize(("edges", "frame", "box"), EDGES)
def test_a_box_is_of_whole_pixels_within_the_frame(
    edges: list[float], frame: tuple[int, int] | None, box: tuple[int, int, int, int] | None, folder: Path
) -> None:
    write_tracks(folder, instance(boxes={"0": edges}))
    problems = Problems()
    (read,) = read_tracks([folder / "tracks" / "sav_1.json"], frame, LAST, problems)
    assert (read.boxes.get(0), len(problems)) == (box, int(box is None))


def test_tracks_that_cannot_be_read_are_named_beside_the_faults_of_others(folder: Path, expected: Expected) -> None:
    write_tracks(folder, instance(id="a b"))
    problems = Problems()
    files = [folder / "tracks" / name for name in ("gone_auto.json", "sav_1.json", "gone.json")]
    assert read_tracks(files, (WIDTH, HEIGHT), LAST, problems) == ()
    expected(refusal(problems.raise_if_any, "These cannot be used"))


def test_masks_of_no_size_and_folders_without_clips_are_refused(folder: Path, expected: Expected) -> None:
    """Also of a clip that cannot be opened, whose size is not known."""
    clip, path, said = folder / "clips" / "sav_1.mp4", folder / "tracks" / "sav_1_manual.json", [problem(folder)]
    clip.write_bytes(b"no video")
    for size in ("[1e999, 1]", "[1, 0]", "[-1, -1]"):
        path.write_text(f'{{"masklet": [[{{"size": {size}, "counts": "1"}}]], "masklet_id": [1]}}')
        said.append(problem(folder))
    mask = np.ones((HEIGHT, WIDTH), dtype=bool)
    masklets(path, [[mask, mask, mask]], [3, 4, 3])
    said.append(problem(folder))
    clip.unlink()
    expected("\n\n".join([*said, problem(folder), problem(folder / "elsewhere")]))


def edits(folder: Path, *rows: Any) -> Path:
    path = folder / "edits.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def edited(item: str, annotator: str, *entries: tuple[str, str, str, str]) -> dict[str, Any]:
    """A line as `annotate collect` writes it."""
    made = [EditedEntry(name=name, start=start, end=end, text=text) for name, start, end, text in entries]
    return {"item_id": item, "annotator": annotator, "entries": [entry.model_dump() for entry in made]}


def test_what_people_edited_comes_in_place_of_a_models(folder: Path) -> None:
    write_tracks(folder, instance(), instance(id="b", name=""), instance(id="c", name="blue block"))
    path = edits(
        folder,
        edited("sav_1_1", "a001", ("red_ball", "00:01", "00:03", "Stops."), ("person_b", "00:00", "00:01", "Waits.")),
        edited("sav_1_2", "a002", ("red_ball", "00:00", "00:01", " Rolls. "), ("red_ball", "00:01", "00:03", "Stops.")),
    )  # fmt: skip
    (row,) = read_sources(config(folder, descriptions=path))
    assert {name: [(one.start, one.end, one.text) for one in entries] for name, entries in row.edited.items()} == {
        "a": [(0, 1, "Rolls."), (1, 3, "Stops.")],
        "b": [(0, 1, "Waits.")],
    }
    assert path in source_files(config(folder, descriptions=path))
    asking = Asking(Models(config(folder), folder / "replies"))
    instances = [InstanceRow(id=f"sav_1/{one.id}", source=row, instance=one) for one in row.instances]
    described = describe_actions.given(config=config(folder)).run(instances[0], asking)
    assert described.entries == row.edited["a"] and not asking.asked
    with pytest.raises(KeyError):  # the third was not edited, and there is no model to ask
        describe_actions.given(config=config(folder)).run(instances[2], asking)


def test_whom_people_skipped_is_not_described(folder: Path, expected: Expected) -> None:
    """10.3: who is too small or too blurred is left out, and no model is asked about them."""
    write_tracks(folder, instance(), instance(id="b", name="blue block"))
    line = {**edited("sav_1_1", "a001", ("red_ball", "00:01", "00:03", "Stops.")), "skipped": ["blue_block"]}
    (row,) = read_sources(config(folder, descriptions=edits(folder, line)))
    assert row.edited["b"] == () and len(row.edited["a"]) == 1
    asking = Asking(Models(config(folder), folder / "replies"))
    skipped = InstanceRow(id="sav_1/b", source=row, instance=row.instances[1])
    with pytest.raises(Removed, match="skipped by people: too small or too blurred: blue block"):
        describe_looks.given(config=config(folder)).run(skipped, asking)
    assert not asking.asked
    other = {**edited("sav_1_2", "a001", ("blue_block", "00:01", "00:02", "Rolls.")), "skipped": ["nobody"]}
    expected(problem(folder, descriptions=edits(folder, line, other)))


def test_all_faults_of_edited_descriptions_are_listed(folder: Path, expected: Expected) -> None:
    write_tracks(folder, instance(), instance(id="b", name="red ball"))
    good = ("red_ball_a", "00:00", "00:01", "It rolls.")
    path = edits(
        folder,
        edited("sav_1_1", "a001", good),
        edited("sav_1_1", "a002", good, good),
        edited("sav_9_1", "a001", good),
        edited("sav_1_2", "a001", ("red_ball", "00:00", "00:01", "Which?"), ("red_ball_b", "00:03", "00:02", "No.")),
        edited("sav_1_3", "a001", ("red_ball_b", "00:00", "00:09", "Too long."), ("red_ball_b", "00:00", "00:01", " ")),
        {"item_id": "sav_1_4", "entries": []},
    )  # fmt: skip
    said = problem(folder, descriptions=path)
    path.unlink()
    expected(f"{said}\n\n{problem(folder, descriptions=path)}")


@pytest.mark.parametrize(("spans", "warned"), [([(0, 1)], 0), ([(2, 2)], 1), ([(0, 0), (3, 3)], 0)])
def test_evidence_that_no_answer_can_match_is_warned_of(
    folder: Path, spans: list[tuple[int, int]], warned: int
) -> None:
    write_tracks(folder, instance(boxes={str(second): [0, 0, 9, 9] for second in range(4)}))
    (clip,) = read_sources(config(folder))
    described = InstanceRow(id="sav_1/a", source=clip, instance=clip.instances[0], category="ball")
    row = QuestionRow(
        id="sav_1#1",
        clip=clip.model_copy(update={"described": (described,)}),
        question="Why?",
        type="Why",
        scene="",
        subject="a",
        span=(0, 3),
        answer="So.",
        evidence=tuple(EvidencePiece(instance="a", start=start, end=end, rationale="") for start, end in spans),
        video_distractor="Or so.",
        options={"answer": "So."},
    )
    (folder / "release").mkdir()
    warnings = write_release([row], folder / "release", config(folder))
    assert len(warnings) == warned and all("spans less than 2 seconds" in warning for warning in warnings)
