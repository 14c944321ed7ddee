"""What the steps of a build decide by rule: annotations, contrasts, questions, frames, and the release."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow.parquet
import pytest
from expected import Expected
from numbered_clips import write_numbered
from refusals import refusal

from lmms_eval_tasks.construct.curation.candidates import find_rule
from lmms_eval_tasks.construct.curation.vectors import as_parquet, exact_units
from lmms_eval_tasks.construct.engine.steps import Asking, Removed
from lmms_eval_tasks.construct.mvp.minimal_pairs import (
    balance_skills,
    find_pairs,
    frame_numbers,
    read_letter,
    single_frame_step,
)
from lmms_eval_tasks.construct.mvp.pipeline import write_release
from lmms_eval_tasks.construct.mvp.questions import meet_contrasts, nearest_codes, objection_to
from lmms_eval_tasks.construct.mvp.rows import (
    AskedClip,
    ContrastedClip,
    MinimalPair,
    MvpBuildConfig,
    PairedClip,
    read_annotations,
)
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.mvp.benchmark import prepare
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import UnreadableReply

LINE = {"id": "1", "clip": "a.mp4", "source": "pt", "category": "temporal_reasoning", "label": "It falls"}


def test_every_problem_of_the_annotations_is_listed(tmp_path: Path, expected: Expected) -> None:
    (tmp_path / "a.mp4").write_bytes(b"clip")
    lines = [
        LINE,
        {**LINE, "id": "1"},
        {**LINE, "id": "2", "category": "cooking"},
        {**LINE, "id": "3", "clip": "../a.mp4"},
        {**LINE, "id": "4", "clip": "b.mp4"},
        {**LINE, "id": "5", "question": "Which?"},
        {**LINE, "id": "6", "label": None, "question": "Which?", "answer": "red", "options": ["blue", "green"]},
        {**LINE, "id": "7", "label": None, "question": "Which?", "answer": "red", "options": ["red", "red"]},
        {**LINE, "id": "8", "colour": "red"},
        {**LINE, "id": "9", "source": " "},
    ]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    expected(refusal(read_annotations, [file, tmp_path / "none.csv"], tmp_path))


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"clip")
    asked = {**LINE, "id": "2", "question": "Which way?", "options": ["left", "right"], "answer": "left"}
    asked.pop("label")
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({**LINE, "skill": "order"}) + "\n" + json.dumps(asked) + "\n", encoding="utf-8")
    table = tmp_path / "table.csv"
    table.write_text(
        "id,clip,source,category,skill,label,question,options,answer\n"
        "1,a.mp4,pt,temporal_reasoning,order,It falls,,,\n"
        '2,a.mp4,pt,temporal_reasoning,,,Which way?,"[""left"", ""right""]",left\n',
        encoding="utf-8",
    )
    read = read_annotations([lines], tmp_path)
    assert read == read_annotations([table], tmp_path)
    assert [(row.skill, row.question, row.answer) for row in read] == [
        ("order", "", "It falls"),
        ("temporal_reasoning", "Which way?", "left"),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_the_most_alike_annotations_are_those_of_a_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_eval_tasks.construct.mvp.questions.ROWS", 3)
    chance = np.random.default_rng(seed)
    # Few directions, so that many products are equal.
    vectors = exact_units(chance.integers(-1, 2, size=(40, 3)) + np.array([2.0, 0.0, 0.0]))
    codes = np.concatenate([np.arange(9), chance.integers(0, 9, size=31)])
    alike = vectors @ vectors.T
    for code, nearest in enumerate(nearest_codes(vectors, codes, 5)):
        products = {other: alike[codes == code][:, codes == other].max() for other in range(9) if other != code}
        assert nearest == sorted(products, key=lambda other: (-products[other], other))[:5]
    assert nearest_codes(exact_units(np.ones((3, 2))), np.zeros(3, dtype=np.int64), 4) == [[]]


def contrasted(name: str, answer: str, *contrasts: str) -> ContrastedClip:
    return ContrastedClip(
        id=name, clip=f"{name}.mp4", source="s", category="temporal_reasoning", skill="k", question="", options=(),
        answer=answer, contrasts=contrasts,
    )  # fmt: skip


def test_a_contrast_holds_both_ways_and_needs_a_clip() -> None:
    rows = [contrasted("a", "left", "right", "up"), contrasted("b", "Right.", "down"), contrasted("c", "still", "up")]
    removed: dict[str, Removed] = {}
    opposed = meet_contrasts.run(rows, removed.__setitem__)
    assert [(row.id, row.answer, row.other) for row in opposed] == [
        ("a/1", "left", "Right."),
        ("b/1", "Right.", "left"),
    ]
    assert {name: one.reason for name, one in removed.items()} == {"c": "no clip shows what excludes it"}


@pytest.mark.parametrize(
    ("question", "first", "second", "objection"),
    [
        ("Which way does it roll?", "to the left", "to the right", ""),
        ("Does it stay or does it fall?", "it falls", "it stays", ""),
        ("Does it roll to the left or to the right?", "To the left.", "To the right.", ""),
        ("In which order?", "first red, then blue", "first blue, then red", ""),
        ("It rolls to the left. Which way does it roll?", "to the left", "to the right", "the question gives"),
        ("First red, then blue. In which order?", "first red, then blue", "first blue, then red", "the question gives"),
        ("Do you know which?", "no, not it", "it", ""),
        ("Which way does it roll?", "to the left", "To the LEFT.", "equal candidates"),
        ("What does it hit?", "a ball", "The ball.", "equal candidates"),
        ("Which way does it roll?", "to the left", "to the right (correct)", "a candidate says which it is"),
        ("?", "to the left", "to the right", "a text that is empty, too long or not printable"),
        ("Which way does it roll?", "to the left", "…", "a text that is empty, too long or not printable"),
        ("Which way does it roll?", "to the left", "", "a text that is empty, too long or not printable"),
        ("Which way does it roll?", "to the left", "to the\nright", "a text that is empty, too long or not printable"),
        ("Which way does it roll?", "to the left", "x" * 401, "a text that is empty, too long or not printable"),
    ],
)
def test_what_rules_object_to(question: str, first: str, second: str, objection: str) -> None:
    for candidates in ((first, second), (second, first)):
        stated = objection_to(question, candidates)
        assert stated.startswith(objection) and bool(stated) == bool(objection)


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("A END", "A"), ("b end.", "B"), ("Answer: B END", "B"), ("<think>A or B END</think>\nB END", "B"),
        ("A", "missing END"), ("The answer is A.", "missing END"), ("C END", "another form"),
        ("UNABLE END", "another form"), ("", "missing END"),
    ],
)  # fmt: skip
def test_a_reply_about_a_frame_is_its_letter_before_the_end(reply: str, read: str) -> None:
    if len(read) == 1:
        assert read_letter(reply) == read
    else:
        with pytest.raises(UnreadableReply, match=f"^{read}"):
            read_letter(reply)


def test_frames_are_spread_over_the_clip() -> None:
    assert frame_numbers(100, 1) == [50]
    assert frame_numbers(100, 4) == [12, 37, 62, 87]
    assert frame_numbers(2, 5) == [0, 1]


def pair(number: int, skill: str, category: str, cosine: float) -> MinimalPair:
    clips = [PairedClip(id=f"{number}{x}", clip=f"s/{number}{x}.mp4", source="s", answer=x) for x in "ab"]
    return MinimalPair(
        id=str(number), category=category, skill=skill, question="Which?", candidates=("b", "a"),
        clips=(clips[0], clips[1]), cosine=cosine,
    )  # fmt: skip


def configured(folder: Path, **options: object) -> MvpBuildConfig:
    values = {"annotations": [folder / "a.csv"], "videos": folder, "embeddings": folder / "v.npy", **options}
    return MvpBuildConfig.model_validate(values)


def asked(name: str, answer: str, **changes: str) -> AskedClip:
    candidates = ("a ball", "a red ball") if "ball" in answer else ("left", "right")
    values = {"source": "s", "category": "temporal_reasoning", "skill": "k", "question": "Which?", **changes}
    return AskedClip(id=name, clip=f"{name}.mp4", candidates=candidates, answer=answer, **values)


def test_pairs_share_all_but_the_answer_and_keep_to_the_rule(tmp_path: Path) -> None:
    rows = [
        asked("a", "left"),
        asked("b", "right"),
        asked("c", "left"),
        asked("d", "right", source="other"),
        asked("e", "left", category="intuitive_physics"),
        asked("f", "a ball"),
        asked("g", "a red ball"),
        asked("h", "right", question="Where?"),
    ]
    vectors = {row.clip: np.array([1.0, place], np.float32) for place, row in enumerate(rows)}
    (tmp_path / "v.parquet").write_bytes(as_parquet(vectors))
    config = configured(tmp_path, embeddings=tmp_path / "v.parquet", rule="not-within")
    removed: dict[str, Removed] = {}
    (mined,) = find_pairs.given(config, find_rule(config.rule)).run(rows, removed.__setitem__)
    assert mined.id == "b+c" and {(one.id, one.answer) for one in mined.clips} == {("b", "right"), ("c", "left")}
    assert sorted(mined.candidates) == ["left", "right"]
    assert {name: one.reason for name, one in removed.items()} == {
        "a": "in no pair: no partner",
        **dict.fromkeys("deh", "in no pair: one answer"),
        **dict.fromkeys("fg", "in no pair: refused"),
    }


class Watchers:
    """Asked in place of models: so many of them are right about so many frames of each clip."""

    def __init__(self, models: int, frames: int) -> None:
        self.models, self.frames = models, frames
        self.asked: Counter[tuple[str, bytes]] = Counter()

    @contextmanager
    def heavy(self) -> Iterator[None]:
        yield

    def ask_text(self, role: str, prompt: str, read: object, images: Sequence[bytes], **material: object) -> str:
        (image,) = images
        seen = list(dict.fromkeys(picture for _, picture in self.asked))
        self.asked[role, image] += 1
        place = seen.index(image) if image in seen else len(seen)
        clip, frame = divmod(place, 3)
        return "AB"[clip] if int(role[-1]) < self.models and frame < self.frames else "BA"[clip]


@pytest.mark.parametrize(("models", "frames", "goes"), [(4, 1, True), (5, 3, True), (3, 3, False), (5, 0, False)])
def test_four_of_five_models_on_three_tenths_of_the_frames_is_the_bound(
    models: int, frames: int, goes: bool, tmp_path: Path
) -> None:
    roles = [f"vision {number}" for number in range(5)]
    # The frames that are chosen of one have other numbers than those of the other.
    clips = [write_numbered(tmp_path / f"{length}.mp4", length) for length in (12, 30)]
    config = configured(tmp_path, single_frame={"roles": roles, "frames": 3})
    members = [PairedClip(id=x, clip=clip.name, source="s", answer=x) for x, clip in zip("ab", clips, strict=True)]
    shown = MinimalPair(
        id="p", category="temporal_reasoning", skill="k", question="Which?", candidates=("a", "b"),
        clips=(members[0], members[1]), cosine=0.5,
    )  # fmt: skip
    watchers = Watchers(models, frames)
    step = single_frame_step(config)
    assert step.roles == tuple(roles) and step.forecast.requests == 30
    if goes:
        with pytest.raises(
            Removed, match=f"^single frames tell both clips: solvable frames: {frames} of 3 and {frames}"
        ):
            step.run(shown, cast(Asking, watchers))
        assert watchers.asked.total() == 30
    else:
        assert step.run(shown, cast(Asking, watchers)) == shown
        assert watchers.asked.total() == 15, "the other clip need not be asked about"


def test_a_clip_that_cannot_be_decoded_goes(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "0a.mp4").write_bytes(b"no video")
    shown = pair(0, "k", "temporal_reasoning", 0.5)
    with pytest.raises(Removed, match="a clip that cannot be decoded"):
        single_frame_step(configured(tmp_path)).run(shown, cast(Asking, Watchers(5, 1)))


def test_skills_take_turns_after_the_filters(tmp_path: Path) -> None:
    pairs = [pair(number, "red" if number < 5 else "blue", "temporal_reasoning", number / 10) for number in range(7)]
    removed: dict[str, Removed] = {}
    balanced = balance_skills.given(configured(tmp_path, total=3)).run(pairs, removed.__setitem__)
    assert [one.id for one in balanced] == ["6", "4", "5"]
    assert set(removed) == {"0", "1", "2", "3"} and {one.reason for one in removed.values()} == {"pairs enough"}
    assert len(balance_skills.given(configured(tmp_path, per_skill=1)).run(pairs, removed.__setitem__)) == 2


def test_a_set_of_two_categories_is_prepared_from_its_own_clips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    categories = ("temporal_reasoning", "intuitive_physics")
    pairs = [pair(number, "k", categories[number % 2], 0.5) for number in range(4)]
    (tmp_path / "videos" / "s").mkdir(parents=True)
    for one in pairs:
        for clip in one.clips:
            (tmp_path / "videos" / clip.clip).write_bytes(b"not looked into")
    release = tmp_path / "release"
    release.mkdir()
    warnings = write_release(pairs, release, configured(tmp_path / "videos", videos=tmp_path / "videos", split="full"))
    assert warnings == [
        "There are no pairs of human_object_interactions and robot_object_interactions: their tasks have no items."
    ]
    assert prepare(source=str(release), split="full")["full"].rows == 8
    table = pyarrow.parquet.read_table(tmp_path / "home" / "mvp" / "full.parquet").to_pylist()
    assert {row["subset"] for row in table} == set(categories)
    assert [row["options"][ord(row["answer"]) - ord("A")] for row in table] == ["a", "b"] * 4
    evaluation = Evaluation(clips_needed=False)
    assert len(evaluation.open_split({"benchmark": "mvp", "split": "full", "subset": categories[0]})) == 4
    with pytest.raises(InputError, match="Expected items of robot_object_interactions in mvp, full, but"):
        evaluation.open_split({"benchmark": "mvp", "split": "full", "subset": "robot_object_interactions"})
