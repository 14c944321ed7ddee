"""Labels, checked by straight lines in what is drawn, and codes that outlive coding."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lmms_eval_tasks.cast_bench.sample import draw_questions
from lmms_eval_tasks.causalvqa.sample import draw_split
from lmms_eval_tasks.construct.countervqa.checks import check_set
from lmms_eval_tasks.countervqa import sample as countervqa
from lmms_eval_tasks.intphys2 import sample as intphys2
from lmms_eval_tasks.sample.drawn_clips import FPS, HEIGHT, WIDTH, DrawnScene, read_stamp, shows_body, write_clip
from lmms_eval_tasks.sample.scripts import (
    CHAINS,
    DIRECTIONS,
    KINDS,
    LEVELS,
    TABLE_QUESTIONS,
    TOUCH,
    draw,
    meaning,
    read_objects,
    reworded,
    scene_of,
)
from lmms_eval_tasks.sample.solver import decode
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.yocausal import sample as yocausal


def first_on_way(scene: DrawnScene, at: complex, way: complex, *without: str) -> str:
    """The first body that a ball runs into on its way, where the others lie at the end."""
    others = {body.name: body.at(scene.seconds) for body in scene.bodies if body.name not in without}
    for _ in range(200):
        at += way / abs(way)
        for name, place in others.items():
            if abs(place - at) < TOUCH - 1:
                return name
    return ""


def heading(scene: DrawnScene, name: str, second: float) -> tuple[complex, complex]:
    (body,) = (body for body in scene.bodies if body.name == name)
    return body.at(second), body.at(second + 0.1) - body.at(second)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_what_would_be_touched_lies_on_the_way(level: str, seed: int) -> None:
    scenes = {kind: draw(f"{kind} {level}", str(seed))[0] for kind in TABLE_QUESTIONS}
    asked = {kind: scene.questions[0] for kind, scene in scenes.items()}
    named = {kind: read_objects(one.text) for kind, one in asked.items()}
    scene, (mover,) = scenes["anticipation"], named["anticipation"]
    assert first_on_way(scene, *heading(scene, mover, scene.seconds - 0.2), mover) == asked["anticipation"].answer
    scene, (removed, mover) = scenes["counterfactual"], named["counterfactual"]
    assert first_on_way(scene, *heading(scene, mover, 0.0), mover, removed) == asked["counterfactual"].answer
    scene, (mover,) = scenes["hypothetical"], named["hypothetical"]
    (_, way), answer = heading(scene, mover, 0.4), asked["hypothetical"].answer
    assert first_on_way(scene, scene.bodies[0].at(0.0), -way, mover) == answer != scene.bodies[1].name
    scene, (mover,) = scenes["planning"], named["planning"]
    (way,) = (step for name, step in DIRECTIONS.items() if name in asked["planning"].text)
    assert first_on_way(scene, scene.bodies[0].at(scene.seconds), way, mover) == asked["planning"].answer


def test_the_cause_is_next_to_what_starts_to_move() -> None:
    for kind in (*(f"descriptive {level}" for level in LEVELS), "how"):
        (scene,) = draw(kind, "0")
        asked = scene.questions[-1]
        (struck,) = (body for body in scene.bodies if body.name == read_objects(asked.text)[-1])
        start = next(second for second, place in struck.stops[::-1] if place == struck.at(0.0))
        near = {body.name: abs(body.at(start) - struck.at(start)) for body in scene.bodies if body is not struck}
        assert min(near, key=lambda name: near[name]) == asked.answer and near[asked.answer] == pytest.approx(TOUCH)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_scene_is_drawn_anew_from_its_code(kind: str, tmp_path: Path) -> None:
    for scene in draw(kind, "codes"):
        assert scene_of(scene.code) == scene and 8 <= scene.frames <= 8 * FPS
        film = scene.film()
        assert film.shape == (scene.frames, HEIGHT, WIDTH, 3) and np.array_equal(film, scene.film())
        write_clip(tmp_path / "clip.mp4", film)
        frames = decode(tmp_path / "clip.mp4")
        assert [read_stamp(frame) for frame in frames] == [(scene.code, number) for number in range(len(film))]
        if kind in CHAINS:
            numbered = list(enumerate(frames))
            assert all(shows_body(frame, scene, body, n) for n, frame in numbered for body in range(len(scene.bodies)))
            assert not any(shows_body(0 * frame + 16, scene, 0, n) for n, frame in numbered)


def test_pairs_differ_in_their_bodies_alone_and_hardly_in_their_mean_colour() -> None:
    for kind in ("in_or_out", "vanishes_or_not", "falls_or_hovers", "who_hits_whom"):
        one, other = draw(kind, "0")
        assert one.questions[0].text == other.questions[0].text and one.questions[0].answer != other.questions[0].answer
        assert (one.behind, one.before, one.ground) == (other.behind, other.before, other.ground)
        assert {body.name for body in one.bodies} == {body.name for body in other.bodies}
        means = [scene.film().mean(axis=(0, 1, 2)) for scene in (one, other)]
        assert np.abs(means[0] - means[1]).max() < 4


def test_options_hold_the_answer_once_and_are_read_as_they_are_worded() -> None:
    rows, scenes = draw_split(1, "debug", LEVELS, 1)
    assert {row["type"] for row in rows} == set(TABLE_QUESTIONS)
    for row in rows:
        answer = scenes[row["renamed_video"]].questions[-1].answer
        for version in "12":
            written = [option.partition(". ") for option in row[f"choices{version}"].split("|")]
            assert [number for number, _, _ in written] == list("12345")
            options = [option for _, _, option in written]
            right = [number for number, option in enumerate(options, 1) if meaning(option) == meaning(answer)]
            assert right == [int(row[f"correct{version}"])] and len(set(options)) == 5
    assert read_objects("The pink block") == read_objects(reworded("The pink block")) == ["pink block"]
    assert read_objects("It is the red ball, the blue block") == ["red ball", "blue block"]
    assert reworded(reworded("The red ball")) == "The red ball" != reworded("The red ball")
    assert reworded("Neither") == "Neither"


def test_no_two_questions_with_evidence_are_the_same_and_letters_are_as_frequent() -> None:
    rows = draw_questions(4, 6)[0]
    assert len({row["question"] for row in rows}) == len(rows) == 24
    assert Counter(len(row["options"]) for row in rows) == {4: 8, 5: 8, 6: 8}
    for count in (4, 5, 6):
        right = Counter(row["answer"] for row in rows if len(row["options"]) == count)
        assert len(right) == count and max(right.values()) - min(right.values()) <= 1
    for row in rows:
        named = {name for option in row["options"].values() for name in read_objects(option)}
        assert len(set(row["options"].values())) == len(row["options"])
        assert not set(read_objects(row["question"])) & named


def test_questions_of_hits_follow_from_their_graphs_and_every_other_clip_has_balls_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filmed: dict[Path, DrawnScene] = {}
    monkeypatch.setattr(countervqa, "write_clips", lambda scenes, progress: filmed.update(scenes))
    (tmp_path / "build").mkdir()
    countervqa.write_release(tmp_path, 3, {"clips": 12}, no_progress)
    rules = ("adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent")
    assert check_set(tmp_path) == dict.fromkeys(rules, 12)
    takes = json.loads((tmp_path / "build" / "annotations.json").read_text(encoding="utf-8"))
    for take, (path, scene) in zip(takes, filmed.items(), strict=True):
        balls = all(body.name.endswith(" ball") for body in scene.bodies)
        assert (path.stem, take["interaction"] == "H2H") == (take["take_uid"], balls)
        said = [(round(time, 2), f"The {one} hits the {other}.", one) for time, one, other in scene.hits]
        described = take["atomic_descriptions"]
        assert said == [(one["timestamp"], one["text"], one["subject"]) for one in described]
    for line in (tmp_path / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        texts = {one["id"]: one["text"] for one in takes[int(question["id"][:4]) - 1]["atomic_descriptions"]}
        action = question["absent_action"] or texts[question["action"]]
        asked = [part.removeprefix("The ").rstrip(".") for part in (action, texts[question["outcome"]])]
        (one, other), (third, fourth) = (part.split(" hits the ") for part in asked)
        assert question["question"] == (
            f"Suppose that the {one} had not hit the {other}. Would the {third} still have hit the {fourth}?"
        )
        partner = question["partner"]
        pairs = {"path": "disconnected", "adjacent_linked": "adjacent_unlinked"}
        of_partner = {**pairs, **{other: one for one, other in pairs.items()}}.get(question["rule"])
        assert partner == (f"{question['id'][:4]}_{of_partner}" if of_partner else None)


def test_pairs_of_a_subset_take_turns_and_are_films_and_their_reversals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    films: dict[Path, np.ndarray] = {}
    said: list[tuple[str, int, int]] = []
    monkeypatch.setattr(yocausal, "write_clip", films.__setitem__)
    yocausal.write_release(tmp_path, 5, {"pairs": 4}, lambda *step: said.append(step))
    assert said == [("filming clips and their reversals", number, 16) for number in range(1, 17)]
    found: dict[str, list[str]] = {}
    for path in sorted(tmp_path.glob("subset/*/dataset_metadata.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))
        assert [entry["id"] for entry in entries] == [1, 2, 3, 4]
        assert len({entry["dataset_source"] for entry in entries}) == 1
        found[path.parent.name] = [entry["category"] for entry in entries]
        for entry in entries:
            files = (tmp_path / "subset" / entry[f"video_path_{way}"] for way in ("forward", "backward"))
            forward, backward = map(films.pop, files)
            assert np.array_equal(forward[::-1], backward) and not np.array_equal(forward, backward)
            height, width = forward.shape[1:3]
            assert entry["meta"] == {"fps": FPS, "resolution": [width, height], "total_frames": len(forward)}
            assert len(read_objects(entry["prompt"])) == 1 + (entry["category"] == "hit")
            assert entry["vlm_causality"] is entry["human_discriminable"] is (entry["category"] in ("hit", "fall"))
    assert not films and found == {
        "animal": ["fall", "roll"] * 2, "general": ["hit", "pass", "fall", "roll"], "human": ["hit", "pass"] * 2,
        "physics": ["hit", "roll", "fall", "pass"],
    }  # fmt: skip


def test_a_condition_that_comes_round_again_is_of_another_difficulty_and_camera(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    films: dict[Path, str] = {}
    monkeypatch.setattr(intphys2, "draw", lambda kind, seed: [f"{kind} of {seed}"])
    monkeypatch.setattr(intphys2, "join", lambda scenes: {name: f"{scenes[0]} {name}" for name in intphys2.QUARTET})
    monkeypatch.setattr(intphys2, "write_clip", films.__setitem__)
    (tmp_path / intphys2.RELEASE).mkdir()
    said: list[tuple[str, int, int]] = []
    sizes = {"debug_scenes": 2, "main_scenes": 12, "held_out_scenes": 1}
    intphys2.write_release(tmp_path, 5, sizes, lambda *step: said.append(step))
    assert said == [("filming clips", number, 60) for number in range(1, 61)]
    places = {split: tmp_path / intphys2.RELEASE / split for split in ("Debug", "Main", "HeldOut")}
    tables = {split: place / "metadata.csv" for split, place in places.items()}
    tables["HeldOut"] = tmp_path / intphys2.HELD_OUT_TRUTH
    rows = {split: list(csv.DictReader(path.open(encoding="utf-8"))) for split, path in tables.items()}
    assert [len(of_split) for of_split in rows.values()] == [8, 48, 4]
    for split, of_split in rows.items():
        for number, row in enumerate(of_split):
            scene, kind = number // 4 + 1, intphys2.QUARTET[number % 4]
            assert (row["SceneIndex"], row["type"]) == (str(scene), kind)
            shown = films.pop(places[split] / f"{row['filename']}.mp4")
            assert shown.endswith(f" {row['Camera']} of 5/{split}/{scene} {kind}")
            assert shown.startswith(row["condition"])
    assert not films
    by_condition: dict[str, set[tuple[str, str]]] = {}
    for row in rows["Main"]:
        by_condition.setdefault(row["condition"], set()).add((row["Difficulty"], row["Camera"]))
    assert len(by_condition) == 6
    for one, other in by_condition.values():
        assert one[0] != other[0] and one[1] != other[1]
