"""`build causalvqa` on the sample world: what is made, what goes and why."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from causalvqa_world import OVERCOME, PLANTED, ClipWorld, write_build_config
from expected import Expected
from judge_server import JudgeServer
from refusals import refusal
from stub_server import material_of, read_request

from lmms_eval_tasks.causalvqa.benchmark import read_items
from lmms_eval_tasks.construct.causalvqa import build
from lmms_eval_tasks.construct.causalvqa.pipeline import write_release
from lmms_eval_tasks.construct.causalvqa.rows import AnnotatedQuestion, PairBuildConfig, QuestionPair
from lmms_eval_tasks.construct.causalvqa.versions import Pictures
from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.steps import Asking, Removed
from lmms_eval_tasks.construct.engine.texts import bare_words
from lmms_eval_tasks.sample.words import reworded
from lmms_eval_tasks.utils.core.fields import read_numbered_options
from lmms_eval_tasks.utils.data.clips import clip_seconds

pytestmark = pytest.mark.slow  # a whole build comes first


@dataclass(frozen=True)
class Built:
    out: Path
    built: BuiltSet
    requests: list[tuple[str, tuple[bytes, ...], str]]
    """The prompt, the pictures and the model of each."""

    def rows(self) -> list[dict[str, str]]:
        with (self.out / "release" / "debug" / "debug_metadata.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def audit(self, step: str) -> dict[str, dict[str, Any]]:
        (path,) = (self.out / "steps").glob(f"[0-9][0-9]_{step.replace(' ', '_')}.jsonl")
        return {row["row"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


@pytest.fixture(scope="module")
def faulty(clip_world: ClipWorld, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A build in which everything goes wrong that is planted, and one prompt in ten at first."""
    folder = tmp_path_factory.mktemp("faulty")
    with JudgeServer(picture_script=clip_world.player(passing=10)) as server:
        paths = {"annotations": str(clip_world.folder / "rows.csv"), "clips": str(clip_world.takes)}
        config = write_build_config(folder / "build.yaml", server.url, **paths, viewer={"timeout": 1.5, "requests": 2})
        built = build(config, folder / "out")
        return Built(folder / "out", built, [(*read_request(body), body["model"]) for body in server.bodies])


def test_every_planted_fault_is_caught_and_named(clip_world: ClipWorld, faulty: Built, expected: Expected) -> None:
    assert set(clip_world.faults.values()) == {*PLANTED, *OVERCOME}
    removed = {
        qid: (step, row["removed"])
        for step in {step for _, _, step, _ in PLANTED.values()}
        for qid, row in faulty.audit(step).items()
        if row["removed"]
    }
    assert removed == {qid: PLANTED[fault][2:] for qid, fault in clip_world.faults.items() if fault in PLANTED}
    # The paper's counts stand beside ours, and nobody reviewed these questions or answered them.
    expected("\n".join([*map(" | ".join, faulty.built.tables[0].rows), *faulty.built.warnings]))


def test_the_release_is_one_that_prepare_reads(clip_world: ClipWorld, faulty: Built) -> None:
    content = (faulty.out / "release" / "debug" / "debug_metadata.csv").read_bytes()
    items, problems = read_items("debug", content)
    assert not problems and not problems.warnings()
    assert len(items) == 2 * len(clip_world.good)
    assert {item["type"] for item in items} == {truth.kind for truth in clip_world.truths}
    keys = set()
    for truth, row in zip(clip_world.good, faulty.rows(), strict=True):
        assert row["qid"].rpartition("-")[0] == truth.qid
        assert (row["question"], row["difficulty"]) == (truth.question, "easy")
        video = faulty.out / "release" / "debug" / "videos" / row["renamed_video"]
        assert clip_seconds(video) == pytest.approx(truth.end - truth.start, abs=0.02)
        # The right option keeps its text, and no distractor does.
        first, second = read_numbered_options(row["choices1"]), read_numbered_options(row["choices2"])
        assert first.pop(row["correct1"]) == second.pop(row["correct2"]) == truth.answer
        assert len(first) == len(second) == 4
        assert {bare_words(text) for text in first.values()}.isdisjoint(bare_words(text) for text in second.values())
        assert sorted(map(reworded, first.values())) == sorted(second.values())
        keys |= {(1, row["correct1"]), (2, row["correct2"])}
    assert len(keys) > 5


def test_what_was_refused_and_why_is_in_what_is_asked_next(clip_world: ClipWorld, faulty: Built) -> None:
    qids = {fault: qid for qid, fault in clip_world.faults.items()}
    truth = next(truth for truth in clip_world.truths if truth.qid == qids["synonym at first"])
    asked = [material_of(text) for text, *_ in faulty.requests if text.startswith("You make the wrong options")]
    again = [given for given in asked if given["question"] == truth.question and given["refused"]]
    first = reworded(truth.answer)
    why = [f"“{truth.answer}” and “{first}” say the same."]
    assert again[0]["refused"] == [{"distractors": [first, *truth.distractors[1:]], "why": why}]
    # Distractors are tried three times, and no more.
    audit = faulty.audit("distractors")[qids["synonym"]]
    assert [one["role"] for one in audit["asked"]] == ["writer", "checker"] * 3
    assert "say the same" in audit["detail"]


def test_who_sees_what(clip_world: ClipWorld, faulty: Built) -> None:
    """Only the viewer sees frames, what follows a clip is described for anticipation alone, and the blind see no text
    on the clip."""
    described = faulty.audit("description")
    for truth in clip_world.truths:
        prompts = [asked["prompt"].partition(":")[0] for asked in described[truth.qid]["asked"]]
        follows = truth.kind == "anticipation" and clip_world.faults.get(truth.qid) != "malformed"
        assert prompts == ["causalvqa_describe", *(["causalvqa_afterwards"] if follows else [])]
    for text, pictures, model in faulty.requests:
        sees = text.startswith(("You describe", "You answer a question about a clip that", "You think of wrong"))
        assert sees == bool(pictures)
        is_blind = text.startswith("You answer a multiple")
        assert model == ("text-only" if is_blind else "m") and not (is_blind and "A table from above" in text)


def test_a_clip_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_text("no video")
    config = PairBuildConfig(annotations=tmp_path, clips=tmp_path, difficulty="easy")
    row = AnnotatedQuestion(id="q", clip="broken.mp4", start=0.0, end=1.0, type="planning", question="?", answer="a")
    with pytest.raises(Removed, match=r"the clip cannot be decoded: broken\.mp4 from 0 to 1 s"):
        Pictures(tmp_path, 2).of(row, Asking(Models(config, tmp_path / "replies")))
    pair = QuestionPair(
        **row.model_dump(), description="", afterwards="", first_answer="", seeds=(), distractors=("b", "c", "d", "e"),
        paraphrases=("f", "g", "h", "i"), orders=((0, 1, 2, 3, 4), (1, 0, 2, 3, 4)),
    )  # fmt: skip
    assert "broken.mp4, 0 to 1 s: Expected" in refusal(write_release, [pair], tmp_path / "release", config)
