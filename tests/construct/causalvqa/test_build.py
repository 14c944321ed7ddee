"""`build causalvqa` on the sample world: what is made, what goes and why."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from causalvqa_world import OVERCOME, PLANTED, ClipWorld, ClipWorldPlayer, Truth, write_annotations, write_build_config
from judge_server import JudgeServer
from killed_builds import files_of

from lmms_eval_tasks.causalvqa.benchmark import read_items
from lmms_eval_tasks.construct.causalvqa import build
from lmms_eval_tasks.construct.causalvqa import versions as description
from lmms_eval_tasks.construct.causalvqa.pipeline import write_release
from lmms_eval_tasks.construct.causalvqa.rows import AnnotatedQuestion, PairBuildConfig, QuestionPair
from lmms_eval_tasks.construct.causalvqa.versions import Pictures
from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.steps import Asking, Removed
from lmms_eval_tasks.construct.engine.texts import bare_words
from lmms_eval_tasks.sample.words import reworded
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.fields import read_numbered_options
from lmms_eval_tasks.utils.data.clips import clip_seconds
from lmms_eval_tasks.utils.data.made import part_pictures

pytestmark = pytest.mark.slow  # a whole build comes first


@dataclass(frozen=True)
class Built:
    out: Path
    built: BuiltSet
    server: JudgeServer

    def rows(self) -> list[dict[str, str]]:
        with (self.out / "release" / "debug" / "debug_metadata.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def audit(self, step: str) -> dict[str, dict[str, Any]]:
        (path,) = (self.out / "steps").glob(f"[0-9][0-9]_{step.replace(' ', '_')}.jsonl")
        return {row["row"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}

    def attrition(self) -> dict[str, dict[str, Any]]:
        facts = json.loads((self.out / "attrition.json").read_text(encoding="utf-8"))
        return {step["step"]: step for step in facts["steps"]}


@pytest.fixture(scope="module")
def faulty(clip_world: ClipWorld, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A build in which everything goes wrong that is planted, and one prompt in ten at first."""
    folder = tmp_path_factory.mktemp("faulty")
    with JudgeServer(picture_script=clip_world.player(passing=10)) as server:
        paths = {"annotations": str(clip_world.folder / "rows.csv"), "clips": str(clip_world.takes)}
        config = write_build_config(folder / "build.yaml", server.url, **paths, viewer={"timeout": 1.5, "requests": 3})
        return Built(folder / "out", build(config, folder / "out"), server)


def test_every_planted_fault_is_caught_and_named(clip_world: ClipWorld, faulty: Built) -> None:
    assert set(clip_world.faults.values()) == {*PLANTED, *OVERCOME}
    removed = {}
    for step in {step for step, _ in PLANTED.values()}:
        for qid, row in faulty.audit(step).items():
            if row["removed"]:
                removed[qid] = step, row["removed"]
    assert removed == {qid: PLANTED[fault] for qid, fault in clip_world.faults.items() if fault in PLANTED}
    named = {(step, reason) for step, facts in faulty.attrition().items() for reason in facts["removed"]}
    assert named == set(PLANTED.values())
    printed = [cells[0].strip() for cells in faulty.built.tables[0].rows]
    assert {reason for _, reason in PLANTED.values()} <= set(printed)
    again = {fault for facts in faulty.attrition().values() for fault in facts["asked again"]}
    assert {"missing END", "another form", "refusal"} <= again
    assert not again - {"missing END", "another form", "refusal"}


def test_the_table_has_the_papers_counts_and_says_who_was_not_asked(clip_world: ClipWorld, faulty: Built) -> None:
    rows = {cells[0]: cells for cells in faulty.built.tables[0].rows}
    assert rows["questions by annotators"][1:] == (f"{len(clip_world.truths)}", "", "3,764")
    assert rows["blind filter"][3] == "39% out"
    assert rows["not reviewed"][1:] == (f"{len(faulty.rows())}", "100%", "53% out")
    assert rows["no people asked"][1:] == (f"{len(faulty.rows())}", "100%", "14% out: 793")
    for part in (
        "Nobody reviewed these questions",
        "No people were asked: every question is easy",
        "server gave no reply",
    ):
        assert any(part in warning for warning in faulty.built.warnings)


def test_the_release_is_one_that_prepare_reads(clip_world: ClipWorld, faulty: Built) -> None:
    content = (faulty.out / "release" / "debug" / "debug_metadata.csv").read_bytes()
    items, problems = read_items("debug", content)
    assert not problems and not problems.warnings()
    kept = clip_world.good
    assert len(items) == 2 * len(kept) == 2 * len(faulty.rows())
    assert {item["type"] for item in items} == {truth.kind for truth in clip_world.truths}
    for truth, row in zip(kept, faulty.rows(), strict=True):
        assert row["qid"].rpartition("-")[0] == truth.qid
        assert (row["question"], row["difficulty"]) == (truth.question, "easy")
        assert read_numbered_options(row["choices1"])[row["correct1"]] == truth.answer
        video = faulty.out / "release" / "debug" / "videos" / row["renamed_video"]
        assert clip_seconds(video) == pytest.approx(truth.end - truth.start, abs=0.02)


def test_the_right_option_keeps_its_text_and_no_distractor_does(faulty: Built) -> None:
    orders = set()
    for row in faulty.rows():
        first, second = read_numbered_options(row["choices1"]), read_numbered_options(row["choices2"])
        assert first.pop(row["correct1"]) == second.pop(row["correct2"])
        assert len(first) == len(second) == 4
        assert {bare_words(text) for text in first.values()}.isdisjoint(bare_words(text) for text in second.values())
        assert sorted(map(reworded, first.values())) == sorted(second.values())
        orders |= {(1, row["correct1"]), (2, row["correct2"])}
    assert len(orders) > 5


def test_what_was_refused_and_why_is_in_what_is_asked_next(clip_world: ClipWorld, faulty: Built) -> None:
    (qid,) = (qid for qid, fault in clip_world.faults.items() if fault == "synonym at first")
    truth = next(truth for truth in clip_world.truths if truth.qid == qid)
    asked = [body["messages"][-1]["content"] for body in faulty.server.bodies]
    texts = [content if isinstance(content, str) else content[0]["text"] for content in asked]
    material = [
        json.loads(next(line for line in text.splitlines() if line.startswith("{")))
        for text in texts
        if text.startswith("You make the wrong options") and truth.question in text and '"refused": [{' in text
    ]
    first = reworded(truth.answer)
    assert material[0]["refused"] == [
        {
            "distractors": [first, *truth.distractors[1:]],
            "why": [f"“{truth.answer}” and “{first}” say the same."],
        }
    ]
    # Distractors are tried three times, and no more.
    (qid,) = (qid for qid, fault in clip_world.faults.items() if fault == "synonym")
    audit = faulty.audit("distractors")[qid]
    assert [asked["role"] for asked in audit["asked"]] == ["writer", "checker"] * 3
    assert "say the same" in audit["detail"]


def test_who_sees_what(clip_world: ClipWorld, faulty: Built) -> None:
    """Only the viewer sees frames, what follows a clip is described for anticipation alone, and the blind see no text
    on the clip."""
    described = faulty.audit("description")
    for truth in clip_world.truths:
        prompts = [asked["prompt"].partition(":")[0] for asked in described[truth.qid]["asked"]]
        follows = truth.kind == "anticipation" and clip_world.faults.get(truth.qid) != "malformed"
        assert prompts == ["causalvqa_describe", *(["causalvqa_afterwards"] if follows else [])]
    for body in faulty.server.bodies:
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        sees = text.startswith(("You describe", "You answer a question about a clip that", "You think of wrong"))
        assert sees == (not isinstance(content, str) and len(content) > 1)
        assert body["model"] == ("text-only" if text.startswith("You answer a multiple") else "m")
        if text.startswith("You answer a multiple"):
            assert "A table from above" not in text


def test_a_part_is_decoded_once_for_all_steps(
    clip_world: ClipWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = Counter[tuple[object, ...]]()
    monkeypatch.setattr(
        description, "part_pictures", lambda *part: decoded.update([part]) or part_pictures(*part)
    )  # fmt: skip
    rows = [AnnotatedQuestion(id=one.qid, type=one.kind, **shown(one)) for one in clip_world.truths[:3]]
    pictures, asking = Pictures(clip_world.takes, 2), Asking(models_of(tmp_path))
    for afterwards in (False, True):
        for _ in range(2):
            for row in rows:
                start, end = (row.end, row.end + 3.0) if afterwards else (row.start, row.end)
                expected = part_pictures(clip_world.takes / row.clip, start, end, 2, afterwards)
                assert pictures.of(row, asking, afterwards) == expected
    assert len(decoded) == 6 and set(decoded.values()) == {1}


def test_the_same_build_gives_the_same_bytes_and_asks_nothing(clip_world: ClipWorld, tmp_path: Path) -> None:
    few = clip_world.truths[:6]
    write_annotations(tmp_path / "rows.csv", [truth.annotated for truth in few])
    with JudgeServer(picture_script=ClipWorldPlayer(few, clip_world.takes)) as server:
        config = write_build_config(tmp_path / "build.yaml", server.url, clips=str(clip_world.takes))
        build(config, tmp_path / "one")
        asked, before = server.asked.total(), files_of(tmp_path / "one")
        build(config, tmp_path / "one")
        assert server.asked.total() == asked
        build(config, tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two") == before


def shown(truth: Truth) -> dict[str, Any]:
    return {name: getattr(truth, name) for name in ("clip", "start", "end", "question", "answer")}


def models_of(folder: Path) -> Models:
    """Models that nobody asks."""
    return Models(PairBuildConfig(annotations=folder, clips=folder, difficulty="easy"), folder / "replies")


def test_a_clip_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_text("no video")
    row = AnnotatedQuestion(id="q", clip="broken.mp4", start=0.0, end=1.0, type="planning", question="?", answer="a")
    asking = Asking(models_of(tmp_path))
    with pytest.raises(Removed, match=r"the clip cannot be decoded: broken\.mp4 from 0 to 1 s"):
        Pictures(tmp_path, 2).of(row, asking)
    pair = QuestionPair(
        **row.model_dump(), description="", afterwards="", first_answer="", seeds=(), distractors=("b", "c", "d", "e"),
        paraphrases=("f", "g", "h", "i"), orders=((0, 1, 2, 3, 4), (1, 0, 2, 3, 4)),
    )  # fmt: skip
    config = PairBuildConfig(annotations=tmp_path, clips=tmp_path, difficulty="easy")
    with pytest.raises(InputError, match=r"clips cannot be cut: 1 problem(.|\n)*broken.mp4, 0 to 1 s: Expected"):
        write_release([pair], tmp_path / "release", config)
