"""The solver is right by the pixels alone, and nobody is far above chance without watching.

That it is right on every item of every task is shown through the real command, in end_to_end/test_every_benchmark.py.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from rules import rules_above_chance
from sample_runs import TASKS, at
from task_states import docs_of, task_state

from lmms_eval_tasks.cast_bench.sample import draw_questions
from lmms_eval_tasks.intphys2.sample import QUARTET, join
from lmms_eval_tasks.sample.drawn_clips import FPS, GROUND
from lmms_eval_tasks.sample.scripts import CONDITIONS, draw
from lmms_eval_tasks.sample.solver import CANNOT_TELL, decode, solve, solve_frames
from lmms_eval_tasks.utils.data.clips import write_placeholder

LETTERS = "ABCDEF"
POSSIBLE = "Is what this video shows physically possible?"
SAID = {name: "Yes." if name.endswith("_Possible") else "No." for name in QUARTET}
# The laws of these two are the same in both directions of time.
SYMMETRIC = {"intphys", "inflevel"}


class Item(NamedTuple):
    """A question of the prepared sample with its clip."""

    task: str
    doc: dict[str, Any]
    clip: Path

    @property
    def right(self) -> str:
        return str(self.doc["options"][LETTERS.index(self.doc["answer"])])

    def said(self, clip: Path | None = None, reverse: bool = False) -> str:
        """The solver's letter, also where it is in an answer with evidence."""
        asked, shown = (self.doc["question"], self.doc["options"]), clip or self.clip
        answer = solve_frames(*asked, decode(shown)[::-1]) if reverse else solve(*asked, shown)
        return str(json.loads(answer)["answer_choice"]) if answer.startswith("{") else answer

    def is_right(self, *shown: Any, **how: Any) -> bool:
        return self.said(*shown, **how) == str(self.doc["answer"])


Items = list[Item]


@pytest.fixture(scope="module")
def items(sample_home: Path) -> Items:
    found = []
    with at(sample_home):
        for task in TASKS:
            if task.startswith(("causalvqa", "mvp", "cast_bench")):
                state = task_state(task)
                found += [Item(task, doc, Path(state.doc_to_visual(doc)[0])) for doc in docs_of(state)]
    return found


def of(items: Items, *tasks: str) -> Items:
    return [item for item in items if item.task.startswith(tasks)]


@pytest.mark.slow
def test_every_answer_is_right_in_any_order_of_options_and_by_the_pixels_alone(items: Items, tmp_path: Path) -> None:
    for number, item in enumerate(items[::4]):
        copy = Path(shutil.copy(item.clip, tmp_path / f"{number}.mp4"))
        backwards = item.doc["options"][::-1]
        letter = Item(item.task, {**item.doc, "options": backwards}, copy).said()
        assert item.is_right() and backwards[LETTERS.index(letter)] == item.right


@pytest.mark.slow
def test_what_cannot_be_seen_is_not_guessed(items: Items, tmp_path: Path) -> None:
    for question in ("Why is the sky blue?", "", "Which object sets the brown ball in motion?"):
        for item in (items[0], of(items, "cast_bench")[0]):
            assert solve(question, item.doc["options"], item.clip) == CANNOT_TELL
    write_placeholder(tmp_path / "black.mp4")
    assert solve(POSSIBLE, (), tmp_path / "black.mp4") == CANNOT_TELL
    for item in of(items, "causalvqa", "cast_bench")[::4]:
        assert item.said(tmp_path / "black.mp4") == CANNOT_TELL
        rest = [option for option in item.doc["options"] if option != item.right]
        assert solve(item.doc["question"], rest, item.clip) == CANNOT_TELL
    assert not set(CANNOT_TELL.replace("I ", "").split()) & set(LETTERS)


@pytest.mark.slow
def test_a_reversed_clip_or_a_strangers_is_not_answered_rightly(items: Items) -> None:
    causal = [item for item in of(items, "causalvqa", "cast_bench") if item.doc.get("version", 1) == 1]
    assert not [item for item in causal if item.is_right(reverse=True)]
    strangers = [next(other.clip for other in causal[place:] + causal if other.clip != item.clip)
                 for place, item in enumerate(causal)]  # fmt: skip
    assert sum(map(Item.is_right, causal, strangers)) / len(causal) < 0.2
    pairs: defaultdict[str, Items] = defaultdict(list)
    for item in of(items, "mvp"):
        pairs[item.doc["group_id"]].append(item)
    for one, other in pairs.values():
        assert one.said(other.clip) == other.doc["answer"] != one.doc["answer"]
        assert (one.is_right(reverse=True) and other.is_right(reverse=True)) == (one.doc["source"] in SYMMETRIC)


@pytest.mark.slow
def test_a_covered_body_hides_what_it_proves(items: Items) -> None:
    for item in of(items, "cast_bench"):
        whole, question, options = decode(item.clip), item.doc["question"], list(item.doc["options"])
        for entry in json.loads(item.doc["evidence"]):
            frames = whole.copy()
            start, end = (int(entry[f"evidence_{side}_time"].removeprefix("00:")) for side in ("start", "end"))
            assert list(entry["bboxes_in_range"]) == [str(second) for second in range(start, end + 1)]
            for second, box in entry["bboxes_in_range"].items():
                x1, y1, x2, y2 = json.loads(box)
                assert 0 <= x1 < x2 <= 192 and 0 <= y1 < y2 <= 144
                # What the box holds has the colour by which the instance is called.
                edge = whole[int(second) * FPS, (y1 + y2) // 2, x1 + 3].astype(int)
                assert edge.max() - edge.min() > 60
                frames[max(0, int(second) * FPS - FPS) : int(second) * FPS + FPS, y1:y2, x1:x2] = 16
            assert solve_frames(question, options, frames) == CANNOT_TELL
            unable = json.loads(solve_frames(question, [*options, "Unable to determine"], frames))
            assert unable == {"instances": [], "answer_choice": "ABCDEFG"[len(options)]}


def test_text_alone_is_worth_no_more_than_chance() -> None:
    rows = [row for seed in range(4, 44) for row in draw_questions(seed, 2)[0]]
    asked = [(str(number), row["question"], row["options"].values(), row["answer"]) for number, row in enumerate(rows)]
    assert rules_above_chance(asked) == []


@pytest.mark.slow
@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_is_impossible_shows_in_no_frame_and_at_neither_end(condition: str) -> None:
    for camera in ("Fixed", "Moving"):
        scenes = draw(f"{condition} 0 {camera}", "0")
        films = join(scenes)
        assert {name: solve_frames(POSSIBLE, (), film) for name, film in films.items()} == SAID
        parts = [film[part] for film in films.values() for part in ([0], [len(film) // 2], [-1], slice(FPS))]
        assert {solve_frames(POSSIBLE, (), part) for part in parts} == {CANNOT_TELL}
        possible = {frame.tobytes() for name in ("1_Possible", "2_Possible") for frame in films[name]}
        for number, other in (("1", "2"), ("2", "1")):
            true, false = films[f"{number}_Possible"], films[f"{number}_Impossible"]
            assert true.shape == false.shape and not np.array_equal(true, false)
            assert {frame.tobytes() for frame in false} <= possible
            assert np.array_equal(true[:FPS], false[:FPS])
            ends = [film[-FPS // 2 :] for film in (true, films[f"{other}_Possible"])]
            assert np.array_equal(false[-FPS // 2 :], ends[len(scenes[0].moments) % 2])
        # A clip is joined where nothing but the code tells the scenes apart; between a cut and the next they differ.
        one, two = (scene.film()[:, :GROUND] for scene in scenes)
        for moment in scenes[0].moments:
            cut = round(moment * FPS)
            assert np.array_equal(one[cut - 1 : cut + 1], two[cut - 1 : cut + 1])
            assert not np.array_equal(one[cut:], two[cut:])


@pytest.mark.slow
def test_the_first_seconds_of_a_pair_are_the_same_to_the_bit_as_they_are_coded(sample: Path) -> None:
    """What is made of the one is made of the other, so that half of the clips are right and no pair is."""
    firsts: Counter[bytes] = Counter()
    for clip in (sample / "intphys2" / "IntPhys2" / "Main").glob("*.mp4"):
        firsts[decode(clip)[:FPS].tobytes()] += 1
    assert firsts and set(firsts.values()) == {2}
