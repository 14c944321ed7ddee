"""Preparing worlds: sets made before, own scenes, and a build that was interrupted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_facts import made_facts
from releases import write_clip
from sample_runs import at

from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.worlds import benchmark as module
from lmms_eval_tasks.worlds.benchmark import SetSize, prepare, require_engine
from lmms_eval_tasks.worlds.card import CARD, SPLIT
from lmms_eval_tasks.worlds.kept_scenes import DraftTwin, SceneDraft
from lmms_eval_tasks.worlds.physics import filming
from lmms_eval_tasks.worlds.physics.filming import SceneClip, encode_frames
from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.questions.question_set import questions_of_set
from lmms_eval_tasks.worlds.release import CLIPS, QUESTIONS, faults_of, question_lines
from lmms_eval_tasks.worlds.scenes.scene import Facts

pytestmark = pytest.mark.usefixtures("home")


@cache
def chains(number: int) -> list[Facts]:
    """Made-up scenes that go by the name of a family."""
    found = made_facts(number)
    return [one.model_copy(update={"scene": one.scene.model_copy(update={"family": "chain"})}) for one in found]


@cache
def questions_of_chains(number: int) -> list[Question]:
    return questions_of_set(chains(number), 0)


def write_set(folder: Path, number: int = 3) -> Path:
    questions = questions_of_chains(number)
    for name in {question.clip for question in questions}:
        write_clip(folder / CLIPS / name, frames=2)
    (folder / QUESTIONS).write_text(question_lines(questions), encoding="utf-8")
    return folder


def test_a_set_made_before_is_prepared_as_it_is(tmp_path: Path) -> None:
    source = write_set(tmp_path / "set")
    facts = prepare(source=source)[SPLIT]
    table = load_table("worlds", SPLIT)
    assert facts.rows == len(table) and not facts.missing and set(facts.source_sha256) == {QUESTIONS}
    assert set(table["family"]) == {"chain"} and all(clip.startswith(f"{SPLIT}/") for clip in table["clip"])
    before = read_manifest(CARD).splits[SPLIT].table_sha256
    assert prepare(source=source)[SPLIT].table_sha256 == before


def test_what_a_data_home_has_can_be_prepared_in_another(tmp_path: Path) -> None:
    first = prepare(source=write_set(tmp_path / "set"))[SPLIT]
    folder = benchmark_dir("worlds")
    with at(tmp_path / "other"):
        again = prepare(source=folder)[SPLIT]
        assert benchmark_dir("worlds") != folder and (benchmark_dir("worlds") / QUESTIONS).is_file()
    assert again.table_sha256 == first.table_sha256 and again.source_sha256 == first.source_sha256


def test_a_set_without_a_folder_of_clips_is_refused(tmp_path: Path) -> None:
    source = write_set(tmp_path / "set")
    (source / CLIPS).rename(source / "movies")
    with pytest.raises(InputError, match="has no folder clips or videos/standard"):
        prepare(source=source)


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("counterfactual", {"intervention": "explode"}, "intervention: Expected one of remove, freeze, delay"),
        ("counterfactual", {"changed": ""}, "changed: Expected a body"),
        ("counterfactual", {"level": "high"}, "level: Expected one of direct"),
        ("counterfactual", {"about": [[]]}, "about: Expected kind, body and other body"),
        ("perception", {"options": [], "answer": "A"}, "options: Expected two at least"),
        ("possible", {"principle": "luck"}, "principle: Expected one of permanence"),
        ("reversal", {"arrow": "weak"}, "arrow: Expected one of strong, none"),
        ("evidence", {"evidence": '[{"a": 1}]'}, "evidence: Expected instances with boxes"),
    ],
)
def test_what_a_task_cannot_use_is_named(task: str, changes: dict[str, Any], message: str) -> None:
    question = next(one for one in questions_of_chains(12) if one.task == task)
    assert faults_of(question) == []
    faults = [f"{field}: {clause}" for field, clause, _ in faults_of(question.model_copy(update=changes))]
    assert any(fault.startswith(message) for fault in faults), faults


def test_half_a_pair_is_refused(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set") / QUESTIONS
    lines = path.read_text().splitlines()
    half = next(number for number, one in enumerate(lines) if json.loads(one)["task"] == "possible")
    path.write_text("\n".join([*lines[:half], *lines[half + 1 :]]) + "\n")
    with pytest.raises(InputError, match="group_id: Expected two questions in a group, but got 1 in"):
        prepare(source=path.parent)


def test_a_clip_that_lacks_is_listed(tmp_path: Path) -> None:
    source = write_set(tmp_path / "set")
    lost = next((source / CLIPS).iterdir())
    lost.unlink()
    missing = prepare(source=source)[SPLIT].missing
    assert [(one.clip, one.reason) for one in missing] == [(f"{SPLIT}/{lost.name}", "absent")]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("answer", "Z", "answer: Expected one of"),
        ("clip", "../a.mp4", "clip: Expected a path below the folder of clips"),
        ("family", "zoo", "family: Expected one of"),
        ("depth", 9, "depth: Expected one of 0, 1"),
        ("options", ["a", "a"], "options: Expected options that differ"),
        ("evidence", "{", "evidence: Expected"),
        ("question", " ", "question: Expected a text"),
        ("wording", "first", "wording: Expected"),
    ],
)
def test_what_is_wrong_with_a_question_is_named_with_its_line(
    tmp_path: Path, field: str, value: Any, message: str
) -> None:
    path = write_set(tmp_path / "set") / QUESTIONS
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), field: value}), *others]) + "\n")
    with pytest.raises(InputError) as caught:
        prepare(source=path.parent)
    assert message in str(caught.value) and "line 1" in str(caught.value)
    assert not benchmark_dir("worlds").exists()


def test_questions_that_come_twice_or_apart_from_their_group_are_named(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set") / QUESTIONS
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0]]) + "\n")
    with pytest.raises(InputError, match=r"(?s)item_id: Expected each once.*group_id: Expected the questions"):
        prepare(source=path.parent)


def test_nothing_and_two_things_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no .*questions\.jsonl"):
        prepare(source=tmp_path)
    with pytest.raises(InputError, match="Expected one of --seed, --scenes and --source, but got several"):
        prepare(source=tmp_path, seed=3)
    with pytest.raises(InputError, match="Expected --size with --seed alone"):
        prepare(size=SetSize.SMALL)


def test_without_the_engine_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_eval_tasks.worlds.benchmark.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'Remedy: pip install "lmms-eval-tasks\[worlds\]"'):
        require_engine()
    with pytest.raises(InputError, match="MuJoCo, which is not installed"):
        prepare(seed=1)


class Camera:
    """Films a few clips at a call and then stops, as if it were killed, until it may go on."""

    def __init__(self, at_most: int) -> None:
        self.at_most, self.filmed = at_most, list[str]()

    def film(self, clips: Sequence[SceneClip], folder: Path, progress: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for clip in clips:
            if (folder / clip.name).is_file():
                continue
            if len(self.filmed) == self.at_most:
                raise KeyboardInterrupt
            picture = np.zeros((16, 16, 3), np.uint8)
            (folder / clip.name).write_bytes(encode_frames([picture, picture], 12, clip.digest))
            self.filmed.append(clip.name)


def draft_of_facts(facts: Facts) -> SceneDraft:
    twin = DraftTwin(body=facts.twin.scene.body(facts.twin.body)) if facts.twin else None
    return SceneDraft(scene=facts.scene, unsure=[], twin=twin, violations=facts.violations, digest="0")


def test_an_interrupted_build_goes_on_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = chains(3)
    drafts = [draft_of_facts(one) for one in facts]
    monkeypatch.setattr(module, "_drafts", lambda *_: drafts)
    monkeypatch.setattr("lmms_eval_tasks.worlds.facts_and_clips.known_facts", lambda *_: facts)
    camera = Camera(at_most=4)
    monkeypatch.setattr(filming, "film", camera.film)
    with pytest.raises(KeyboardInterrupt):
        prepare(scenes=tmp_path / "scenes.jsonl")
    assert not benchmark_dir("worlds").exists() and len(camera.filmed) == 4
    camera.at_most = 1_000
    made = prepare(scenes=tmp_path / "scenes.jsonl")[SPLIT]
    assert len(camera.filmed) == len(set(camera.filmed)) == made.clips and not made.missing
    # Nobody expects as many items as the standard set has.
    assert not made.warnings and made.data_set.kind is SetKind.OWN
    assert set(made.source_sha256) == {"scenes.jsonl", "events", QUESTIONS}
    assert (benchmark_dir("worlds") / "scenes.jsonl").is_file() and not (benchmark_dir("worlds") / "work").exists()
    assert set(camera.filmed) <= {clip.name for draft in drafts for clip in draft.clips}
    # What is prepared is taken over: nothing is rendered again.
    again = prepare(scenes=tmp_path / "scenes.jsonl")[SPLIT]
    assert len(camera.filmed) == made.clips and again.table_sha256 == made.table_sha256
