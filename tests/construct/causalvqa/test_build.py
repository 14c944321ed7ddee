"""`build causalvqa`: what becomes of a question when a model fails in each of its roles, and who is shown what."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs import ROOT
from expected import Expected
from numbered_clips import number_of, write_numbered
from PIL import Image
from played import MODEL, Asked, BuildSample, Played, outcome
from refusals import refusal

from lmms_eval_tasks.causalvqa.benchmark import read_items
from lmms_eval_tasks.construct.causalvqa.pipeline import pictures_of, repair, steps_of, write_release
from lmms_eval_tasks.construct.causalvqa.rows import PairBuildConfig, QuestionPair, read_questions
from lmms_eval_tasks.construct.engine.steps import Asking, Models, Removed
from lmms_eval_tasks.construct.engine.texts import bare_words
from lmms_eval_tasks.sample.scripts import reworded
from lmms_eval_tasks.utils.core.forms import read_numbered_options
from lmms_eval_tasks.utils.data.clips import clip_seconds
from lmms_eval_tasks.utils.judge.replies import ServerError

ANSWER, WRONG = "A ball rolls.", ["one cup", "two cups", "three cups", "four cups"]
WORDING = {"similarity": 0, "question": "What comes next?", "answer": ANSWER}
OTHERS = ["1 mug", "2 mugs", "3 mugs", "4 mugs"]


def distractors(first: str) -> dict[str, list[str]]:
    return {"distractors": [first, *WRONG[1:]]}


def paraphrases(first: str) -> dict[str, list[str]]:
    return {"paraphrases": [first, *OTHERS[1:]]}


def guess(right: bool) -> Any:
    """Who answers without the clip, right or wrong."""

    def answer(asked: Asked) -> str:
        letter = next(name for name, text in asked.given["options"].items() if (text == ANSWER) == right)
        return f"It is usual, unlike B. Answer: {letter} END"

    return answer


HONEST: dict[str, Any] = {
    "causalvqa_describe": {"description": "A table."},
    "causalvqa_afterwards": {"description": "It stops."},
    "causalvqa_first_answer": {"answer": "a red ball", "rationale": "It lies on the table."},
    "causalvqa_seeds": {"distractors": WRONG[::-1]},
    "causalvqa_wording": WORDING,
    "causalvqa_meaning": {"same": True, "difference": ""},
    "causalvqa_distractors": {"distractors": WRONG},
    "causalvqa_synonyms": {"same": []},
    "causalvqa_paraphrase": {"paraphrases": OTHERS},
    "causalvqa_paraphrased": {"changed": []},
    "causalvqa_blind": guess(right=False),
}
GUESS = guess(right=True)
FAULTS: dict[str, dict[str, Any]] = {
    "malformed": {"describe": '{"description": "cut off'},
    "refusal": {"first_answer": "I'm sorry, but I cannot help with that."},
    "no server": {"seeds": ServerError("timed out", again=True)},
    "no rationale": {"first_answer": {"answer": "a red ball"}},
    "other form": {"seeds": {"distractors": WRONG[:3]}},
    "leak": {"wording": {**WORDING, "question": "Is it so that a ball rolls next?"}},
    "yes or no": {"wording": {**WORDING, "answer": "Yes."}},
    "marked answer": {"wording": {**WORDING, "answer": "A ball rolls (correct)"}},
    "other question": {"meaning": {"same": False, "difference": ""}},
    "synonym": {"synonyms": {"same": [[2, 1]]}},
    "synonyms": {"synonyms": {"same": [[3, 2], [2, 3]]}},
    "answer": {"distractors": distractors(" A BALL  rolls!")},
    "equal": {"distractors": distractors("Two cups.")},
    "marked": {"distractors": distractors("one cup (wrong)")},
    "lazy": {"paraphrase": paraphrases("ONE cup")},
    "equal later": {"paraphrase": paraphrases(OTHERS[1])},
    "other meaning": {"paraphrased": {"changed": [4, 1, 4]}},
    # What a question names beside its answer must be among the options in the end, too.
    "late leak": {
        "wording": {**WORDING, "question": "Is it that a ball rolls, or one cup?"},
        "distractors": distractors("a jug"),
    },
    "guessed": {"blind": GUESS},
    "no END": {"blind": "Answer: A"},
    # These are put right when they are asked again, or leave the question as it is.
    "none": {},
    "no END at first": {"blind": ["Answer: A", guess(right=False)]},
    "synonym at first": {
        "distractors": [distractors("a rolling ball"), distractors("one cup")],
        "synonyms": [{"same": [[1, 2]]}, {"same": []}],
    },
    "guessed once": {"blind": [GUESS, guess(right=False)]},
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    write_numbered(folder / "a.mp4", 100)
    return folder


def config(folder: Path, **values: Any) -> PairBuildConfig:
    roles = {"default": MODEL, "blind": {**MODEL, "model": "text-only"}}
    return PairBuildConfig.model_validate(
        {"annotations": folder, "clips": folder, "difficulty": "easy", "frames": 2, "roles": roles, **values}
    )


def asked_about(kind: str = "planning", end: float = 2.0) -> QuestionPair:
    question, answer = "so what comes next", "its a ball rolling"
    return QuestionPair(id="q", clip="a.mp4", start=0.0, end=end, type=kind, question=question, answer=answer)


def build_one(clips: Path, folder: Path, row: QuestionPair, **says: Any) -> tuple[list[Any], str, Played]:
    """The pair that one question becomes, why there is none, and what was asked."""
    chosen = config(clips)
    said = HONEST | {f"causalvqa_{name}": one for name, one in says.items()}
    left, removed, played = outcome(steps_of(chosen), [row], chosen, folder, said)
    return left, removed.get("q", "kept"), played


@pytest.mark.slow
def test_every_fault_is_caught_and_named(clips: Path, tmp_path: Path, expected: Expected) -> None:
    lines = []
    for name, says in FAULTS.items():
        left, why, played = build_one(clips, tmp_path / name, asked_about(), **says)
        assert bool(left) == (why == "kept")
        lines.append(f"{name}: {why}; {len(played.asked)} asked")
    expected("\n".join(lines))


def test_what_was_refused_and_why_is_in_what_is_asked_next(clips: Path, tmp_path: Path) -> None:
    _, _, played = build_one(clips, tmp_path, asked_about(), **FAULTS["synonym at first"])
    first, again = played.of("causalvqa_distractors")
    why = [f"“{ANSWER}” and “a rolling ball” say the same."]
    assert first.given["refused"] == []
    assert again.given["refused"] == [{**distractors("a rolling ball"), "why": why}]


REPAIRED = {"question": "What?", "answer": ANSWER, "distractors": WRONG, "paraphrases": OTHERS}
IN_ORDER = (tuple(range(5)),) * 2


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([REPAIRED] * 3, "repair: the repair changes nothing"),
        ([{**REPAIRED, "question": "WHAT?", "distractors": [f"the {text}." for text in WRONG]}] * 3,
         "repair: the repair changes nothing"),
        ([REPAIRED, {**REPAIRED, "question": "What comes next?"}], "kept"),
    ],
)  # fmt: skip
def test_a_repair_that_changes_no_word_is_refused(clips: Path, tmp_path: Path, said: list[Any], why: str) -> None:
    texts = {name: tuple(text) if isinstance(text, list) else text for name, text in REPAIRED.items()}
    flagged = {**texts, "orders": IN_ORDER, "flags": "e", "comments": ("It is unclear.",)}
    row = asked_about().model_copy(update=flagged)
    chosen = config(clips)
    says = {**HONEST, "causalvqa_repair": said}
    left, removed, played = outcome([repair.given(tries=3)], [row], chosen, tmp_path, says)
    assert removed.get("q", "kept").startswith(why)
    assert [one.question for one in left] == ["What comes next?"] * (why == "kept")
    refused, *_ = played.of("causalvqa_repair")[1].given["refused"]
    assert refused["why"] == ["What was flagged is as it was: e."]


def test_who_sees_what(clips: Path, tmp_path: Path) -> None:
    """Only the viewer sees frames, what follows a clip is described for anticipation alone, and the blind see no text
    on the clip."""
    for kind, end in (("planning", 2.0), ("anticipation", 2.0), ("anticipation", 8.0)):
        _, _, played = build_one(clips, tmp_path / f"{kind}{end}", asked_about(kind, end))
        assert len(played.of("causalvqa_afterwards")) == (kind == "anticipation" and end < 8)
        for one in played.asked:
            sees = one.prompt.removeprefix("causalvqa_") in ("describe", "afterwards", "first_answer", "seeds")
            is_blind = one.prompt == "causalvqa_blind"
            assert len(one.pictures) == 2 * sees and one.model == ("text-only" if is_blind else "m")
            assert not is_blind or one.given.keys() == {"question", "options"}
    (wording,) = played.of("causalvqa_wording")
    assert wording.given["model_answer"] == "a red ball", "it shows which words hint at one"


def test_what_follows_a_clip_is_shown_as_long_as_its_prompt_and_the_page_say(clips: Path, tmp_path: Path) -> None:
    _, _, played = build_one(clips, tmp_path, asked_about("anticipation", 2.0))
    (asked,) = played.of("causalvqa_afterwards")
    assert asked.given["clip"] == HONEST["causalvqa_describe"]["description"]
    seconds, rate = asked.given["seconds"], 12.5
    assert f"what the {seconds:g} s after its end show" in (ROOT / "docs/building_causalvqa.md").read_text("utf-8")
    # From the first frame after the clip to the one that is on show when these seconds end.
    numbers = [number_of(np.asarray(Image.open(io.BytesIO(one)))) for one in asked.pictures]
    assert numbers == [2 * rate, math.ceil((2 + seconds) * rate) - 1]


@pytest.mark.slow  # the sample is filmed first
def test_the_release_has_two_versions_of_each_question_and_its_clip(built: BuildSample) -> None:
    one = built("causalvqa")
    folder = one.out / "release" / "debug"
    with (folder / "debug_metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert one.played.player is not None
    truths = {true["question"]: true for true in one.played.player.truth["questions"]}
    with (one.sources / "annotations.csv").open(encoding="utf-8", newline="") as file:
        spans = {line["question"]: line for line in csv.DictReader(file)}
    assert [row["question"] for row in rows] == [text for text, true in truths.items() if not true["guessed"]]
    keys = set()
    for row in rows:
        true = truths[row["question"]]
        span = spans[true["annotated"]]
        assert (row["difficulty"], row["type"]) == ("easy", span["type"])
        seconds = float(span["end"]) - float(span["start"])
        assert clip_seconds(folder / "videos" / row["renamed_video"]) == pytest.approx(seconds, abs=0.02)
        # The right option keeps its text, and no distractor does.
        first, second = read_numbered_options(row["choices1"]), read_numbered_options(row["choices2"])
        assert first.pop(row["correct1"]) == second.pop(row["correct2"]) == true["answer"]
        assert len(first) == len(second) == 4
        assert {bare_words(text) for text in first.values()}.isdisjoint(bare_words(text) for text in second.values())
        assert sorted(map(reworded, first.values())) == sorted(second.values())
        keys |= {(1, row["correct1"]), (2, row["correct2"])}
    assert len(keys) > 5


def test_a_scenario_goes_from_the_annotations_into_the_release_and_its_table(clips: Path, tmp_path: Path) -> None:
    def release_of(**more: str) -> tuple[list[str], list[dict[str, Any]]]:
        folder = tmp_path / f"release{len(more)}"
        folder.mkdir()
        row = {
            "clip": "a.mp4",
            "start": 0,
            "end": 1,
            "type": "planning",
            "question": "What?",
            "answer": "a cat",
            **more,
        }
        annotations = tmp_path / "rows.jsonl"
        annotations.write_text(json.dumps(row))
        (question,) = read_questions(config(clips, annotations=annotations))
        texts = {"distractors": tuple(WRONG), "paraphrases": tuple(OTHERS), "orders": IN_ORDER}
        write_release([question.model_copy(update={**texts, "difficulty": "easy"})], folder, config(clips))
        content = (folder / "debug" / "debug_metadata.csv").read_bytes()
        items, problems = read_items("debug", content)
        assert not problems
        return content.decode().splitlines()[0].split(","), items

    header, items = release_of(scenario="cooking")
    assert header[-1] == "scenario" and {item["scenario"] for item in items} == {"cooking"}
    # The official release has no such column.
    official, items = release_of()
    assert official == header[:-1] and {item["scenario"] for item in items} == {""}


def test_a_clip_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_text("no video")
    row, chosen = asked_about(end=1.0), config(tmp_path)
    with pytest.raises(Removed, match=r"the clip cannot be decoded: a\.mp4 from 0 to 1 s"):
        pictures_of(row, Asking(Models(chosen, tmp_path / "replies")), chosen)
    texts = {"distractors": ("b", "c", "d", "e"), "paraphrases": ("f", "g", "h", "i")}
    pair = row.model_copy(update={**texts, "orders": ((0, 1, 2, 3, 4), (1, 0, 2, 3, 4))})
    assert "a.mp4, 0 to 1 s: Expected" in refusal(write_release, [pair], tmp_path / "release", chosen)
