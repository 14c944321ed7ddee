"""Ranks that would not ask the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from releases import Question, write_causalvqa
from submission_world import prepare_world
from task_states import docs_of, new_state
from thread_ranks import ThreadRanks

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.host.asking import dealing
from lmms_eval_tasks.host.asking.dealing import describe_disagreement, rank_facts, stop_unless_ranks_agree
from lmms_eval_tasks.host.tasks import running as evaluation
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data import home
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.prepare import preparing


@pytest.mark.slow
def test_ranks_that_agree() -> None:
    assert describe_disagreement([{"a": "1"}, {"a": "1"}]) is None
    assert describe_disagreement([{}]) is None


def test_what_differs_is_named_with_its_ranks() -> None:
    one, other = {"t, prompt": "mcq:1", "t, data": "x"}, {"t, prompt": "own:2", "t, data": "x"}
    assert describe_disagreement([one, other, one]) == (
        "The ranks of this run would not ask the same, so their answers cannot be scored together:\n"
        "  t, prompt: mcq:1 on ranks 0, 2; own:2 on rank 1\n"
        "Give all ranks the same data home (LMMS_EVAL_TASKS_HOME), the same settings and the same version."
    )
    assert "  t, data: x on rank 0; not asked on rank 1\n" in str(describe_disagreement([{"t, data": "x"}, {}]))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("agreement")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root / "releases")
    return root / "home"


@pytest.fixture(autouse=True)
def in_world(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(world))


def facts(task: str, clips_needed: bool = False) -> dict[str, str]:
    state = new_state(task, Evaluation(clips_needed))
    state.doc_to_text(docs_of(state)[0], {})
    return rank_facts([state])


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], Any]] = {
    "cast_bench, prompt": lambda patch: patch.setenv("LMMS_EVAL_TASKS_PROMPT", "mcq_letter"),
    "cast_bench, boxes": lambda patch: patch.setenv("LMMS_EVAL_TASKS_BOXES", "yxyx_px"),
    "version of lmms-eval-tasks": lambda patch: patch.setattr("lmms_eval_tasks.__version__", "9.9"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_prompts_settings_and_versions_are_compared(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = facts("cast_bench")
    CHANGES[what](monkeypatch)
    after = facts("cast_bench")
    assert {name for name in before if before[name] != after[name]} == {what}


def test_data_and_clips_are_compared(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(world, tmp_path / "home")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    before = facts("causalvqa_paired", clips_needed=True)
    assert before == facts("causalvqa_paired", clips_needed=True)
    next(clip_path("causalvqa", "test").iterdir()).unlink()
    after = facts("causalvqa_paired", clips_needed=True)
    assert {name for name in before if before[name] != after.get(name)} == {
        "causalvqa_paired, items whose clip is missing",
        "causalvqa_paired, first clip",
    }
    other = [Question("7", "planning", "hard", (1, 2)), Question("8", "descriptive", "easy", (3, 4))]
    with preparing(replace=True):
        prepare(write_causalvqa(tmp_path, "test", other, withheld=True))
    assert facts("causalvqa_paired")["causalvqa_paired, prepared data"] != before["causalvqa_paired, prepared data"]


def test_every_rank_of_a_program_gets_an_ordinary_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    several = ThreadRanks(2, monkeypatch, dealing)
    several.run(lambda rank: stop_unless_ranks_agree([]))
    monkeypatch.setattr(dealing, "rank_facts", lambda states: {"another": "fact"} if several.here else {})

    def refused(rank: int) -> None:
        with pytest.raises(InputError, match=r"another: not asked on rank 0; fact on rank 1"):
            stop_unless_ranks_agree([])

    several.run(refused)


def test_clips_are_looked_for_on_the_first_rank_alone(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(world, tmp_path / "home")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    several, looked = ThreadRanks(3, monkeypatch, evaluation), []
    look = home.absent_clips
    monkeypatch.setattr(evaluation, "absent_clips", lambda *of: looked.append(several.here) or look(*of))
    pointers = [{"benchmark": "causalvqa", "split": "test"}, {"benchmark": "nobody's", "split": "test"}]

    def asked(rank: int) -> list[bool]:
        evaluations[rank].look_for_clips(pointers)
        return list(evaluations[rank].open_split(pointers[0])["asked"])

    evaluations = [Evaluation() for _ in range(3)]
    assert all(map(all, several.run(asked))) and looked == [0]
    next(clip_path("causalvqa", "test").iterdir()).unlink()
    evaluations = [Evaluation() for _ in range(3)]
    assert not any(map(any, several.run(asked))) and looked == [0, 0]
    evaluations = [Evaluation(clips_needed=False) for _ in range(3)]
    assert all(map(all, several.run(asked))) and looked == [0, 0]


def test_a_rank_that_does_not_see_the_clips_disagrees(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(world, tmp_path / "home")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    state = new_state("causalvqa_paired", Evaluation(absent={("causalvqa", "test"): {}}))
    before = rank_facts([state])
    shutil.rmtree(clip_path("causalvqa", "test"))
    after = rank_facts([state])
    assert {name: (before[name], after[name]) for name in before if before[name] != after[name]} == {
        "causalvqa_paired, first clip": ("found", "not found")
    }
