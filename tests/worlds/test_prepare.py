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

from lmms_eval_tasks.installed.sets import load_table
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.worlds import prepare as module
from lmms_eval_tasks.worlds.card import CARD, SPLIT
from lmms_eval_tasks.worlds.engine import filming
from lmms_eval_tasks.worlds.engine.clips import SceneClip
from lmms_eval_tasks.worlds.engine.drafts import SceneDraft
from lmms_eval_tasks.worlds.engine.encoding import encode_frames
from lmms_eval_tasks.worlds.engine.facts import Facts
from lmms_eval_tasks.worlds.making_sets import clips_of, require_engine
from lmms_eval_tasks.worlds.prepare import prepare
from lmms_eval_tasks.worlds.questions.drawing import questions_of_set
from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.released import CLIPS, QUESTIONS, question_lines

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
        ("clip", "../a.mp4", "clip: Expected a path below clips"),
        ("family", "zoo", "family: Expected one of"),
        ("depth", 9, "depth: Expected 0 to 5"),
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


def test_without_the_engine_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_eval_tasks.worlds.making_sets.find_spec", lambda name: None)
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


def test_an_interrupted_build_goes_on_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = chains(3)
    drafts = [SceneDraft(scene=one.scene, unsure=[], digest="0") for one in facts]
    monkeypatch.setattr(module, "_drafts", lambda *_: drafts)
    monkeypatch.setattr(module, "known_facts", lambda *_: facts)
    camera = Camera(at_most=4)
    monkeypatch.setattr(filming, "film", camera.film)
    with pytest.raises(KeyboardInterrupt):
        prepare(scenes=tmp_path / "scenes.jsonl")
    assert not benchmark_dir("worlds").exists() and len(camera.filmed) == 4
    camera.at_most = 1_000
    made = prepare(scenes=tmp_path / "scenes.jsonl")[SPLIT]
    assert len(camera.filmed) == len(set(camera.filmed)) == made.clips and not made.missing
    assert set(made.source_sha256) == {"scenes.jsonl", "events", QUESTIONS}
    assert (benchmark_dir("worlds") / "scenes.jsonl").is_file() and not (benchmark_dir("worlds") / "work").exists()
    assert set(camera.filmed) <= set(clips_of(facts))
    # What is prepared is taken over: nothing is rendered again.
    again = prepare(scenes=tmp_path / "scenes.jsonl")[SPLIT]
    assert len(camera.filmed) == made.clips and again.table_sha256 == made.table_sha256
