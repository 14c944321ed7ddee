"""`build mvp`: what becomes of two clips when a model fails in each of its roles, and what steps decide by rule."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from expected import Expected
from numbered_clips import write_numbered
from played import MODEL, Asked, BuildSample, outcome
from refusals import refusal

from lmms_eval_tasks.construct.curation.candidates import find_rule
from lmms_eval_tasks.construct.curation.vectors import as_parquet, exact_units
from lmms_eval_tasks.construct.engine.steps import Removed
from lmms_eval_tasks.construct.mvp.pipeline import (
    PIPELINE,
    AnnotatedClip,
    AskedClip,
    MinimalPair,
    MvpBuildConfig,
    PairedClip,
    balance_skills,
    find_pairs,
    frame_numbers,
    meet_contrasts,
    nearest_codes,
    objection_to,
    read_annotations,
    read_letter,
    single_frame_step,
    write_release,
)
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.mvp.benchmark import SUBSETS, prepare
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.judge.replies import ServerError

FIRST, SECOND = "It rolls to the left", "It rolls to the right"
SHARED: dict[str, Any] = {"source": "s", "category": "temporal_reasoning", "skill": "k"}
WRITTEN = {"question": "Which way?", "first": "to the left", "second": "to the right"}
OPEN = {"same_meaning": False, "both_can_hold": False, "gives_away": False}
HONEST: dict[str, Any] = {
    "mvp_contrast": {"contrasts": ["D1"]},
    "mvp_question": WRITTEN,
    "mvp_exclusion": OPEN,
    # Who cannot tell guesses the same of both clips, which have other answers.
    "mvp_single_frame": "A END",
}
FAULTS: dict[str, dict[str, Any]] = {
    "malformed": {"contrast": '{"contrasts": ["D1"'},
    "refusal": {"contrast": "I cannot help with that."},
    "no server": {"contrast": ServerError("timed out", again=False)},
    "not offered": {"contrast": {"contrasts": ["D99"]}},
    "nothing": {"contrast": {"contrasts": []}},
    "equal": {"question": {**WRITTEN, "second": "TO THE LEFT."}},
    "leak": {"question": {**WRITTEN, "question": "To the left. Which way?"}},
    "no question": {"question": {**WRITTEN, "question": "Say what happens."}},
    "synonym": {"exclusion": {**OPEN, "same_meaning": True}},
    "both": {"exclusion": {**OPEN, "both_can_hold": True}},
    "given away": {"exclusion": {**OPEN, "gives_away": True}},
    "missing END": {"single_frame": "A"},
    "equal at first": {"question": [{**WRITTEN, "second": "to the left"}, WRITTEN]},
    "END at last": {"single_frame": ["A", "A END"]},
    "none": {},
}


def configured(folder: Path, **options: object) -> MvpBuildConfig:
    values = {"annotations": [folder / "a.csv"], "videos": folder, "embeddings": folder / "v.parquet", **options}
    return MvpBuildConfig.model_validate({"roles": {"default": MODEL}, **values})


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clips whose chosen frames have other numbers, and their vectors."""
    folder = tmp_path_factory.mktemp("clips")
    vectors = {}
    for name, length in (("a", 12), ("b", 30)):
        write_numbered(folder / f"{name}.mp4", length)
        vectors[f"{name}.mp4"] = np.array([1.0, length], np.float32)
    (folder / "v.parquet").write_bytes(as_parquet(vectors))
    return folder


def test_every_fault_is_caught_and_named(clips: Path, tmp_path: Path, expected: Expected) -> None:
    rows = [
        AnnotatedClip(id=name, clip=f"{name}.mp4", question="", options=(), answer=answer, **SHARED)
        for name, answer in (("a", FIRST), ("b", SECOND))
    ]
    config, lines = configured(clips), []
    for name, says in FAULTS.items():
        said = HONEST | {f"mvp_{prompt}": one for prompt, one in says.items()}
        left, removed, played = outcome(PIPELINE.steps(config), rows, config, tmp_path / name, said)
        for one in played.of("mvp_exclusion"):
            assert one.given.keys() == {"question", "first", "second"}, "which is right is not shown"
        assert bool(left) != bool(removed)
        lines.append(f"{name}: {len(played.asked)} asked; {removed or [one.id for one in left]}")
    expected("\n".join(lines))


@pytest.mark.slow  # the sample is filmed first
def test_the_pairs_of_the_sample_are_found_again(built: BuildSample) -> None:
    def items(folder: Path) -> dict[str, tuple[str, ...]]:
        rows = [row for file in folder.rglob("mini-*.parquet") for row in pyarrow.parquet.read_table(file).to_pylist()]
        return {
            row["video_path"]: (row["question"], row["answer"], *sorted(ast.literal_eval(row["candidates"])))
            for row in rows
        }

    one = built("mvp")
    found = items(one.out / "release")
    assert found == items(one.sources.parent / "snapshot") and len(found) == 32


LINE = {"id": "1", "clip": "a.mp4", "source": "pt", "category": "temporal_reasoning", "label": "It falls"}


def test_every_problem_of_the_annotations_is_listed(tmp_path: Path, expected: Expected) -> None:
    (tmp_path / "a.mp4").write_bytes(b"clip")
    question = {"label": None, "question": "Which?", "answer": "red"}
    changes: list[dict[str, Any]] = [
        {}, {}, {"id": "2", "category": "cooking"}, {"id": "3", "clip": "../a.mp4"}, {"id": "4", "clip": "b.mp4"},
        {"id": "5", "question": "Which?"}, {"id": "6", **question, "options": ["blue", "green"]},
        {"id": "7", **question, "options": ["red", "red"]}, {"id": "8", "colour": "red"}, {"id": "9", "source": " "},
    ]  # fmt: skip
    file = tmp_path / "lines.jsonl"
    file.write_text(as_lines({**LINE, **change} for change in changes), encoding="utf-8")
    expected(refusal(read_annotations, [file, tmp_path / "none.csv"], tmp_path))


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"clip")
    asked = {**LINE, "id": "2", "question": "Which way?", "options": ["left", "right"], "answer": "left"}
    asked.pop("label")
    lines, table = tmp_path / "lines.jsonl", tmp_path / "table.csv"
    lines.write_text(as_lines([{**LINE, "skill": "order"}, asked]), encoding="utf-8")
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
    monkeypatch.setattr("lmms_eval_tasks.construct.mvp.pipeline.ROWS", 3)
    chance = np.random.default_rng(seed)
    # Few directions, so that many products are equal.
    vectors = exact_units(chance.integers(-1, 2, size=(40, 3)) + np.array([2.0, 0.0, 0.0]))
    codes = np.concatenate([np.arange(9), chance.integers(0, 9, size=31)])
    alike = vectors @ vectors.T
    for code, nearest in enumerate(nearest_codes(vectors, codes, 5)):
        products = {other: alike[codes == code][:, codes == other].max() for other in range(9) if other != code}
        assert nearest == sorted(products, key=lambda other: (-products[other], other))[:5]
    assert nearest_codes(exact_units(np.ones((3, 2))), np.zeros(3, dtype=np.int64), 4) == [[]]


def test_a_contrast_holds_both_ways_and_needs_a_clip() -> None:
    said = {"a": ("left", ("right", "up")), "b": ("Right.", ("down",)), "c": ("still", ("up",))}
    rows = [
        AnnotatedClip(id=x, clip=f"{x}.mp4", question="", options=(), answer=answer, others=others, **SHARED)
        for x, (answer, others) in said.items()
    ]
    removed: dict[str, Removed] = {}
    opposed = meet_contrasts.run(rows, removed.__setitem__)
    found = [(row.id, row.answer, row.other) for row in opposed]
    assert found == [("a/1", "left", "Right."), ("b/1", "Right.", "left")]
    assert {name: one.reason for name, one in removed.items()} == {"c": "no clip shows what excludes it"}


def test_questions_of_one_meaning_are_one_and_given_pairs_stay(clips: Path, tmp_path: Path) -> None:
    def line(name: str, clip: str, question: str, answer: str, **more: str) -> AnnotatedClip:
        return AnnotatedClip(
            id=name, clip=f"{clip}.mp4", question=question, options=(), answer=answer, **{**SHARED, **more}
        )

    def left_of(*rows: AnnotatedClip, **options: str) -> tuple[list[MinimalPair], dict[str, str], int]:
        config = configured(clips, **options)
        steps = [one for one in PIPELINE.steps(config) if one.name != "single-frame filter"]
        left, removed, played = outcome(steps, rows, config, tmp_path / str(len(list(tmp_path.iterdir()))), HONEST)
        return list(left), removed, len(played.of("mvp_contrast"))

    rows = (
        line("1", "a", "Which way does the ball roll?", "to the left"),
        line("2", "b", "Which way is the ball rolling?", "to the right"),
    )
    ((pair,), removed, _) = left_of(*rows)
    assert pair.question == "Which way does the ball roll?" and not removed
    assert left_of(*rows, question_encoder="")[0] == []
    opposite = line("2", "b", "Which way does the ball not roll?", "to the right")
    assert left_of(rows[0], opposite)[0] == []
    # A pair of the source is taken as it is, although its answers go with each other by the rules; nothing is chosen.
    given = [one.model_copy(update={"pair": "p"}) for one in rows]
    given[1] = given[1].model_copy(update={"answer": "to the left, and back"})
    ((pair,), removed, contrasts) = left_of(*given)
    assert (pair.id, {one.answer for one in pair.clips}, removed, contrasts) == ("1/1+2/1", {
        "to the left", "to the left, and back"
    }, {}, 0)  # fmt: skip
    # Labels of a given pair need no contrasts either; the question is written.
    labels = (line("1", "a", "", FIRST, pair="p"), line("2", "b", "", SECOND, pair="p"))
    ((pair,), _, contrasts) = left_of(*labels)
    assert (pair.question, contrasts) == (WRITTEN["question"], 0)


def test_what_is_no_pair_of_a_source_is_refused(tmp_path: Path, expected: Expected) -> None:
    for name in "ab":
        (tmp_path / f"{name}.mp4").write_bytes(b"clip")
    asked = {"question": "Which way?", "answer": "left", "label": None, "pair": "p"}
    other = {**asked, "id": "2", "clip": "b.mp4", "answer": "right"}
    changes: list[list[dict[str, Any]]] = [
        [other, {**other, "id": "3"}], [], [{**other, "source": "ssv2"}], [{**other, "question": "Which way not?"}],
        [{**other, "skill": "k", "category": "intuitive_physics"}], [{**other, "clip": "a.mp4", "answer": "Left."}],
    ]  # fmt: skip
    said = []
    for further in changes:
        lines = [{**LINE, **asked}, *({**LINE, **one} for one in further)]
        (tmp_path / "lines.jsonl").write_text(as_lines(lines), encoding="utf-8")
        said.append(refusal(read_annotations, [tmp_path / "lines.jsonl"], tmp_path))
    expected("\n".join(said))


EMPTY, AWAY = "a text that is empty, too long or not printable", "the question gives a candidate away"


@pytest.mark.parametrize(
    ("question", "first", "second", "objection"),
    [
        ("Which way does it roll?", "to the left", "to the right", ""),
        ("Does it stay or does it fall?", "it falls", "it stays", ""),
        ("Does it roll to the left or to the right?", "To the left.", "To the right.", ""),
        ("In which order?", "first red, then blue", "first blue, then red", ""),
        ("It rolls to the left. Which way does it roll?", "to the left", "to the right", AWAY),
        ("First red, then blue. In which order?", "first red, then blue", "first blue, then red", AWAY),
        ("Do you know which?", "no, not it", "it", ""),
        ("Which way does it roll?", "to the left", "To the LEFT.", "equal candidates"),
        ("What does it hit?", "a ball", "The ball.", "equal candidates"),
        ("Which way does it roll?", "to the left", "to the right (correct)", "a candidate says which it is"),
        ("?", "to the left", "to the right", EMPTY),
        ("Which way does it roll?", "to the left", "…", EMPTY),
        ("Which way does it roll?", "to the left", "to the\nright", EMPTY),
        ("Which way does it roll?", "to the left", "x" * 400, ""),
        ("Which way does it roll?", "to the left", "x" * 401, EMPTY),
    ],
)
def test_what_rules_object_to(question: str, first: str, second: str, objection: str) -> None:
    assert {objection_to(question, (first, second)), objection_to(question, (second, first))} == {objection}


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
    assert (frame_numbers(100, 1), frame_numbers(100, 4), frame_numbers(2, 5)) == ([50], [12, 37, 62, 87], [0, 1])


def pair(number: int, skill: str, category: str = "temporal_reasoning", cosine: float = 0.5) -> MinimalPair:
    clips = [PairedClip(id=f"{number}{x}", clip=f"s/{number}{x}.mp4", source="s", answer=x) for x in "ab"]
    return MinimalPair(
        id=str(number), category=category, skill=skill, question="Which?", candidates=("b", "a"),
        clips=(clips[0], clips[1]), cosine=cosine,
    )  # fmt: skip


def test_pairs_share_all_but_the_answer_and_keep_to_the_rule(tmp_path: Path) -> None:
    rows = []
    for x, answer, change in (
        ("a", "left", {}), ("b", "right", {}), ("c", "left", {}), ("d", "right", {"source": "other"}),
        ("e", "left", {"category": "intuitive_physics"}), ("f", "a ball", {}), ("g", "a red ball", {}),
        ("h", "right", {"question": "Where?"}),
    ):  # fmt: skip
        candidates = ("a ball", "a red ball") if "ball" in answer else ("left", "right")
        values = {**SHARED, "question": "Which?", "candidates": candidates, "answer": answer, **change}
        rows.append(AskedClip(id=x, clip=f"{x}.mp4", **values))
    vectors = {row.clip: np.array([1.0, place], np.float32) for place, row in enumerate(rows)}
    (tmp_path / "v.parquet").write_bytes(as_parquet(vectors))
    config = configured(tmp_path, rule="not-entailed")
    removed: dict[str, Removed] = {}
    (mined,) = find_pairs.given(config=config, rule=find_rule(config.rule)).run(rows, removed.__setitem__)
    assert mined.id == "b+c" and {(one.id, one.answer) for one in mined.clips} == {("b", "right"), ("c", "left")}
    assert sorted(mined.candidates) == ["left", "right"]
    assert {name: one.reason for name, one in removed.items()} == {
        "a": "in no pair: no partner",
        **dict.fromkeys("deh", "in no pair: one answer"),
        **dict.fromkeys("fg", "in no pair: refused"),
    }


@pytest.mark.parametrize(
    ("models", "frames", "goes", "asked"), [(4, 1, True, 30), (5, 3, True, 30), (3, 3, False, 15), (5, 0, False, 15)]
)
def test_four_of_five_models_on_three_tenths_of_the_frames_is_the_bound(
    models: int, frames: int, goes: bool, asked: int, clips: Path, tmp_path: Path
) -> None:
    """So many models are right about so many frames; the other clip is not asked about where the first is not told."""
    roles = {f"vision {number}": {**MODEL, "model": str(number)} for number in range(5)}
    config = configured(clips, roles=roles, single_frame={"roles": list(roles), "frames": 3})
    one, other = (PairedClip(id=x, clip=f"{x}.mp4", source="s", answer=x) for x in "ab")
    shown = pair(0, "k").model_copy(update={"candidates": ("a", "b"), "clips": (one, other)})
    seen: dict[tuple[bytes, ...], int] = {}

    def watch(request: Asked) -> str:
        clip, frame = divmod(seen.setdefault(request.pictures, len(seen)), 3)
        return f"{'AB'[clip] if int(request.model) < models and frame < frames else 'BA'[clip]} END"

    step = single_frame_step(config)
    assert step.roles == tuple(roles) and step.forecast.requests == 30  # type: ignore[union-attr]
    left, removed, played = outcome([step], [shown], config, tmp_path, {"mvp_single_frame": watch})
    why = f"single-frame filter: single frames tell both clips: solvable frames: {frames} of 3 and {frames} of 3"
    assert (left, removed, len(played.asked)) == (([], {"0": why}, asked) if goes else ([shown], {}, asked))


def test_a_clip_that_cannot_be_decoded_goes(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "0a.mp4").write_bytes(b"no video")
    config = configured(tmp_path)
    _, removed, _ = outcome([single_frame_step(config)], [pair(0, "k")], config, tmp_path, {})
    assert "a clip that cannot be decoded" in removed["0"]


def test_skills_take_turns_after_the_filters(tmp_path: Path) -> None:
    pairs = [pair(number, "red" if number < 5 else "blue", cosine=number / 10) for number in range(7)]
    removed: dict[str, Removed] = {}
    balanced = balance_skills.given(config=configured(tmp_path, total=3)).run(pairs, removed.__setitem__)
    assert [one.id for one in balanced] == ["6", "4", "5"]
    assert set(removed) == {"0", "1", "2", "3"} and {one.reason for one in removed.values()} == {"pairs enough"}
    assert len(balance_skills.given(config=configured(tmp_path, per_skill=1)).run(pairs, removed.__setitem__)) == 2


def test_a_set_of_two_categories_is_prepared_from_its_own_clips(tmp_path: Path, home: Path) -> None:
    categories = ("temporal_reasoning", "intuitive_physics")
    pairs = [pair(number, "k", categories[number % 2]) for number in range(4)]
    (tmp_path / "videos" / "s").mkdir(parents=True)
    for clip in (clip for one in pairs for clip in one.clips):
        (tmp_path / "videos" / clip.clip).write_bytes(b"not looked into")
    release = tmp_path / "release"
    release.mkdir()
    warnings = write_release(pairs, release, configured(tmp_path / "videos", split="full"))
    assert warnings == [
        "There are no pairs of human_object_interactions and robot_object_interactions: their tasks have no items."
    ]
    assert prepare(Preparation(), source=str(release), split="full")["full"].rows == 8
    table = pyarrow.parquet.read_table(home / "mvp" / "full.parquet").to_pylist()
    assert {row["subset"] for row in table} == set(categories) < set(SUBSETS)
    assert [row["options"][ord(row["answer"]) - ord("A")] for row in table] == ["a", "b"] * 4
    evaluation = Evaluation(clips_needed=False)
    assert len(evaluation.open_split({"benchmark": "mvp", "split": "full", "subset": categories[0]})) == 4
    with pytest.raises(InputError, match="Expected items of robot_object_interactions in mvp, full, but"):
        evaluation.open_split({"benchmark": "mvp", "split": "full", "subset": "robot_object_interactions"})
