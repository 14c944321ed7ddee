"""The state of an evaluation: nothing of it is left to the next one in the same process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from host_run import environment
from releases import Question, write_causalvqa
from submission_world import prepare_world
from task_states import docs_of, new_state, task_state

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.replacements import bind_config
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.hooks import NO_CLIP
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.record import NOT_ASKED

SCRIPT = Path(__file__).parents[1] / "support" / "evaluate_in_turn.py"
FIRST, SECOND = "as written", "otherwise"


def write_predictions(path: Path) -> Path:
    """The true evidence for the questions of CaST-Bench, and (B) for every other item of the first tasks."""
    lines = [{"id": doc["item_id"], "response": "(B)"} for doc in docs_of(task_state("causalvqa_debug_paired"))]
    for doc in docs_of(task_state("cast_bench")):
        grouped: dict[str, list[Any]] = {}
        for entry in json.loads(doc["evidence"]):
            boxes = {f"00:{int(second):02}": box for second, box in entry["bboxes_in_range"].items()}
            grouped.setdefault(entry["evidence_instance_id"], []).append({**entry, "bboxes_in_time_range": boxes})
        instances = [{"instance_name": name, "evidences": evidences} for name, evidences in grouped.items()]
        response = json.dumps({"instances": instances, "answer_choice": "B"})
        lines.append({"id": doc["item_id"], "response": response})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.host
def test_two_evaluations_in_one_process_give_what_two_processes_give(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    predictions = write_predictions(tmp_path / "predictions.jsonl")
    finished = subprocess.run(
        [sys.executable, str(SCRIPT), str(predictions), str(tmp_path)],
        cwd=tmp_path,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    given: dict[str, dict[str, Any]] = {
        name: json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) for name in ("both", FIRST, SECOND)
    }
    alone = {**given[FIRST], **given[SECOND]}
    assert given["both"] == alone
    # The two are different in all that the state holds.
    first, second = (alone[name] for name in (FIRST, SECOND))
    assert {*first["records"]} & {*second["records"]} == {"cast_bench"}
    boxes = [one["card"]["task cast_bench"]["boxes"] for one in (first, second)]
    prompts = [one["records"]["cast_bench"][0]["fields"]["prompt"].split(":")[0] for one in (first, second)]
    im_viou = [one["scores"]["cast_bench"]["im_viou,none"] for one in (first, second)]
    assert boxes == ["xyxy_px", "yxyx_px"] and prompts == ["cast_bench_evidence", "mcq_letter"]
    assert im_viou[0] > im_viou[1] > 0


@pytest.mark.slow
def test_settings_are_not_known_before_an_item_was_asked(home: Path, tmp_path: Path) -> None:
    state = new_state("cast_bench")
    expected = "^Expected the settings of cast_bench to be known, but none of its items was asked\\.$"
    with pytest.raises(RuntimeError, match=expected):
        _ = state.settings
    prepare_world(tmp_path / "releases")
    (doc, *_) = docs_of(state)
    with pytest.raises(RuntimeError, match=expected):
        state.process_results(doc, ["B"])
    assert doc["question"] in state.doc_to_text(doc, {"prompt": "mcq_letter"})
    # The host's cache knows a response by its prompt: one to the placeholder must not serve the clip.
    asked, missing = (state.doc_to_text({**doc, "asked": flag}) for flag in (True, False))
    assert missing == f"{NO_CLIP}\n{asked}"
    assert state.settings.prompt.prompt_id == "mcq_letter"
    assert state.process_results(doc, ["B"])["record"]["fields"]["prompt"] == state.settings.signature


@pytest.mark.slow
def test_an_item_without_options_is_not_asked_to_choose(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    state = new_state("causalvqa_debug_paired")
    (doc, *_) = docs_of(state)
    with pytest.raises(
        RunStopped, match=f"Expected item {doc['item_id']} to have options, which the prompt mcq_letter"
    ):
        state.doc_to_text({**doc, "options": []}, {"prompt": "mcq_letter"})


@pytest.mark.slow
def test_no_answer_is_read_in_the_response_of_an_item_that_was_not_asked(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    state = task_state("causalvqa_debug_paired")
    record = state.process_results(docs_of(state)[0], [NOT_ASKED])["record"]
    assert (record["outcome"], record["unscored_reason"], record["answered"]) == ("unscored", "no clip", None)


@pytest.mark.slow
def test_settings_that_cannot_be_used_end_the_run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_world(tmp_path / "releases")
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "xywh")
    state = new_state("cast_bench")
    with pytest.raises(SystemExit, match=r"Expected boxes to be one of xyxy_px, .*, but got 'xywh'"):
        state.doc_to_text(docs_of(state)[0])


def test_a_score_that_a_benchmark_has_not_is_refused() -> None:
    task = registry().tasks["cast_bench"]
    with pytest.raises(InputError, match=r"^The task mine lists scores that cast_bench lacks: cider\.$"):
        TaskState("mine", task.pointer, ["cider"], Evaluation())


def test_a_score_that_a_groups_tasks_have_not_is_refused(tmp_path: Path) -> None:
    known = "mvp_mini_temporal_reasoning"
    config = {"group": "mine", "task": [known], "aggregate_metric_list": [{"metric": "pair_accuracy"}]}
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    folder = registry().tasks[known].benchmark.folder
    index = {
        "mine": {"type": "group", "task": -1, "yaml_path": str(path)},
        known: {"type": "task", "yaml_path": str(folder / f"{known}.yaml")},
    }
    (bound,) = bind_config("mine", config, index, Evaluation())["aggregate_metric_list"]
    assert callable(bound["aggregation"])
    config["aggregate_metric_list"] = [{"metric": name} for name in ("pair_accuracy", "cider", "bleu")]
    with pytest.raises(RunStopped, match=r"The group mine lists scores that mvp lacks: cider, bleu\.$"):
        bind_config("mine", config, index, Evaluation())


def test_records_say_of_which_set_the_rows_are_that_were_opened(home: Path, tmp_path: Path) -> None:
    prepare(write_causalvqa(tmp_path, "debug", [Question("1", "descriptive", "easy", (1, 2))]))
    task = task_state("causalvqa_debug_paired")
    doc = docs_of(task)[0]
    manifest = home / "causalvqa" / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    facts["splits"]["debug"]["data_set"] = {"kind": "sample"}
    manifest.write_text(json.dumps(facts), encoding="utf-8")
    assert task.process_results(doc, ["A"])["record"]["data_set"]["kind"] == "unknown"
