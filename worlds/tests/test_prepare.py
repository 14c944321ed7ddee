"""Preparing worlds: sets made before, own scenes, and a build that was interrupted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from commands import refusal
from expected import Expected
from small_worlds import Here, plain_clip, rolling

from lmms_eval_tasks.api import InputError, Preparation
from lmms_eval_tasks.api.release import as_lines, load_table
from lmms_eval_worlds import benchmark as module
from lmms_eval_worlds.benchmark import SetSize, prepare
from lmms_eval_worlds.card import CARD, FAMILIES, SPLIT
from lmms_eval_worlds.drafts import SceneDraft, read_drafts, write_drafts
from lmms_eval_worlds.physics import filming
from lmms_eval_worlds.physics.filming import SceneClip
from lmms_eval_worlds.questions.question import Question
from lmms_eval_worlds.release import CLIPS, QUESTIONS, SCENES, digested_questions, faults_of, read_questions
from lmms_eval_worlds.sample import SAMPLE_DATA

pytestmark = pytest.mark.usefixtures("home")


@contextmanager
def at(home: Path) -> Iterator[Path]:
    """Another data home for a while; the folder of the benchmark in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        yield home / CARD.name


def contents(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes, every link with its target."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@cache
def sample_questions() -> list[Question]:
    """Questions about three scenes, as they ship."""
    return read_questions(SAMPLE_DATA)


def write_set(folder: Path) -> Path:
    return Path(shutil.copytree(SAMPLE_DATA, folder))


def test_a_set_made_before_is_prepared_as_it_is_and_again_from_a_data_home(tmp_path: Path, home: Path) -> None:
    first = prepare(Preparation(), source=write_set(tmp_path / "set"))[SPLIT]
    table, folder = load_table("worlds", SPLIT), home / CARD.name
    assert first.rows == len(table) and not first.missing and set(first.source_sha256) == {QUESTIONS, SCENES}
    assert set(table["scene"]) == {one.scene for one in sample_questions()}
    assert all(clip.startswith(f"{SPLIT}/") for clip in table["clip"])
    with at(tmp_path / "other") as other:
        again = prepare(Preparation(), source=folder)[SPLIT]
        assert (other / QUESTIONS).is_file()
    assert (again.table_sha256, again.source_sha256) == (first.table_sha256, first.source_sha256)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["splits"][SPLIT]["table_sha256"] == first.table_sha256


def test_what_is_no_set_or_several_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    source = write_set(tmp_path / "set")
    (source / CLIPS).rename(source / "movies")
    (tmp_path / "empty").mkdir()
    wrong: list[dict[str, Any]] = [
        {"source": source}, {"source": tmp_path / "empty"}, {"source": tmp_path, "seed": 3}, {"size": SetSize.SMALL},
        {"scenes": tmp_path / "none.jsonl"},
    ]  # fmt: skip
    messages = [refusal(prepare, Preparation(), **given) for given in wrong]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    expected("\n".join([*messages, refusal(prepare, Preparation(), seed=1)]))


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("counterfactual", {"intervention": "explode"}),
    ("counterfactual", {"changed": ""}),
    ("counterfactual", {"level": "high"}),
    ("counterfactual", {"about": [[]]}),
    ("perception", {"options": [], "answer": "A"}),
    ("perception", {"options": ["a"], "answer": "A"}),
    ("possible", {"principle": "luck"}),
    ("reversal", {"arrow": "weak"}),
    ("evidence", {"evidence": '[{"a": 1}]'}),
    ("evidence", {"evidence": "{"}),
    ("perception", {"evidence": '[{"a": 1}]'}),
    ("perception", {"answer": "Z"}),
    ("perception", {"clip": "../a.mp4"}),
    ("perception", {"family": "zoo"}),
    ("perception", {"depth": 9}),
    ("perception", {"options": ["a", "a"], "answer": "A"}),
    ("perception", {"question": " "}),
]
"""What a task cannot use."""


def test_everything_wrong_with_questions_is_named_with_its_line(tmp_path: Path, home: Path, expected: Expected) -> None:
    found = []
    for task, changes in WRONG:
        question = next(one for one in sample_questions() if one.task == task)
        assert faults_of(question) == []
        found += [" ".join(fault) for fault in faults_of(question.model_copy(update=changes))]
    expected("\n".join(found))
    path = write_set(tmp_path / "set") / QUESTIONS
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    half = next(number for number, one in enumerate(lines) if one["task"] == "possible")
    lines = [lines[0] | {"wording": "first"}, lines[1] | {"answer": "Z"}, *lines[2:half], *lines[half + 1 :], lines[1]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    expected(refusal(prepare, Preparation(), source=path.parent))
    assert not (home / CARD.name).exists()


@pytest.mark.slow
def test_an_interrupted_build_goes_on_and_gives_the_same(
    drafts: list[SceneDraft], tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes, named = tmp_path / "scenes.jsonl", {one.scene for one in sample_questions()}
    own = [draft for draft in drafts if draft.scene.id in named]
    filmed: list[str] = []
    stops_at = 4

    def make(task: tuple[SceneClip, Path]) -> None:
        if len(filmed) == stops_at:
            raise KeyboardInterrupt
        filmed.append(task[0].name)
        plain_clip(task)

    monkeypatch.setattr(module, "_drafts", lambda *_: own)
    monkeypatch.setattr("lmms_eval_worlds.drafts.known_facts", lambda *_: [])
    monkeypatch.setattr(module, "questions_of_set", lambda *_: sample_questions())
    monkeypatch.setattr(filming, "Workers", lambda processes, renders: nullcontext(Here()))
    monkeypatch.setattr(filming, "make_clip", make)
    with pytest.raises(KeyboardInterrupt):
        prepare(Preparation(), scenes=scenes)
    assert not (home / CARD.name).exists() and len(filmed) == 4
    stops_at = -1
    made = prepare(Preparation(), scenes=scenes)[SPLIT]
    assert len(filmed) == len(set(filmed)) == made.clips and not made.missing
    assert set(filmed) <= {clip.name for draft in own for clip in draft.clips}
    # Nobody expects as many items as the standard set has.
    assert not made.warnings and made.data_set.kind.value == "own" and made.source == str(scenes)
    assert set(made.source_sha256) == {SCENES, "events", QUESTIONS}
    assert ((home / CARD.name) / SCENES).is_file() and not ((home / CARD.name) / "work").exists()
    # What is prepared is taken over: nothing is rendered again.
    again = prepare(Preparation(), scenes=scenes)[SPLIT]
    assert len(filmed) == made.clips and again.table_sha256 == made.table_sha256
    drawn = prepare(Preparation(), seed=3)[SPLIT]
    assert drawn.source == f"seed 3, {len(own)} scenes" and drawn.table_sha256 == made.table_sha256


@pytest.mark.slow
@pytest.mark.usefixtures("one_renderer")
def test_own_scenes_that_are_really_rendered_give_the_same_bytes(tmp_path: Path, expected: Expected) -> None:
    scenes, shown = tmp_path / "scenes.jsonl", rolling().model_copy(update={"family": "chain"})
    scenes.write_text(as_lines([shown.model_dump(mode="json")]), encoding="utf-8")
    write_drafts(read_drafts(scenes, processes=1), scenes)
    made = []
    for name in ("one", "other"):
        with at(tmp_path / name) as folder:
            prepare(Preparation(), scenes=scenes)
            made.append(contents(folder))
            questions = digested_questions(read_questions(folder)).decode()
            lines = {f"{QUESTIONS} but for boxes": questions, SCENES: (folder / SCENES).read_text(encoding="utf-8")}
    expected.digests(lines)
    assert made[0] == made[1]
    assert {"manifest.json", "videos/standard/one.mp4", QUESTIONS, SCENES} <= made[0].keys()


def test_a_seed_and_a_size_or_a_file_of_scenes_decide_what_is_drawn(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: object) -> Any:
        asked.append(given)
        raise InputError("stop")

    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr("lmms_eval_worlds.drafts.read_drafts", stop)
    monkeypatch.setattr(
        "lmms_eval_worlds.drafts.make_drafts",
        lambda scenes, seed, progress, names, folder: stop(scenes, seed, names, folder.name),
    )
    own = tmp_path / "own.jsonl"
    own.write_text("")
    for options in ({"seed": 4}, {"seed": 5, "size": SetSize.SMALL}, {}, {"scenes": own}):
        assert refusal(prepare, Preparation(), **options) == "stop"
    work = module.WORK
    assert asked == [
        (55, 4, FAMILIES, work), (3, 5, FAMILIES, work), (module.STANDARD_SCENES,), (own,),
    ]  # fmt: skip
    # As the option's help has it.
    assert [size.scenes * len(FAMILIES) for size in SetSize] == [36, 660, 2640]
    none = refusal(prepare, Preparation(), scenes=tmp_path / "none")
    assert none == f"Worlds cannot be prepared: Expected a file of scenes, but {tmp_path / 'none'} is none."
