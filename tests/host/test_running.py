"""The state of an evaluation and how it ends: nothing of it is left to the next one, and no failure goes unnoticed."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
from host_run import environment, warm_host
from loguru import logger
from refusals import refusal
from task_states import aggregations, docs_of, new_state, task_state
from warm_host import read_own_tasks

from lmms_eval_tasks.host.card_facts import gather
from lmms_eval_tasks.host.manager import bind_config
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.ranks import LONGEST, RunStopped, describe_exception, end_where_lmms_eval_goes_on
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import LoggedItem
from lmms_eval_tasks.utils.answers.hooks import NO_CLIP
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.tasks import RECORD, SUBMISSION_ROWS
from lmms_eval_tasks.utils.data.sampling import Drawn
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

FIRST, SECOND = "as written", "otherwise"
EVALUATIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    FIRST: (["cast_bench", "causalvqa_debug_paired"], {}),
    SECOND: (
        ["mvp_mini", "yocausal_vlm", "cast_bench"],
        {"LMMS_EVAL_TASKS_PROMPT": "mcq_letter", "LMMS_EVAL_TASKS_BOXES": "yxyx_px"},
    ),
}
"""Name to tasks and environment."""
PAIRED = "causalvqa_debug_paired"


def evaluate(*names: str) -> dict[str, Any]:
    """Evaluations, one after the other: their scores, records, and what the card says of their tasks."""
    from lmms_eval.evaluator import simple_evaluate

    given = {}
    for name in names:
        tasks, environment = EVALUATIONS[name]
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in environment.items():
                patch.setenv(variable, value)
            results = simple_evaluate(
                "constant_answer", model_args="response=(B)", tasks=tasks, log_samples=True, bootstrap_iters=0
            )
        card = gather(results, results.run)
        given[name] = {
            "scores": results["results"],
            "records": {task: [sample["record"] for sample in samples] for task, samples in results["samples"].items()},
            "card": {section: fields for section, fields in card.items() if section.startswith("task ")},
        }
    plain: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return plain


@pytest.mark.host
def test_two_evaluations_in_one_process_give_what_two_processes_give(own_world: Path) -> None:
    # Not in this process, for a fork of one that has threads may wait forever.
    finished = warm_host().run([__file__], own_world.parent, environment(own_world))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    both, *others = json.loads(finished.stdout.splitlines()[-1])
    alone = {**others[0], **others[1]}
    assert both == alone
    # The two are different in all that the state holds.
    first, second = (alone[name] for name in (FIRST, SECOND))
    assert {*first["records"]} & {*second["records"]} == {"cast_bench"}
    boxes = [one["card"]["task cast_bench"]["boxes"] for one in (first, second)]
    prompts = [one["records"]["cast_bench"][0]["fields"]["prompt"].split(":")[0] for one in (first, second)]
    assert boxes == ["xyxy_px", "yxyx_px"] and prompts == ["cast_bench_evidence", "mcq_letter"]


def test_an_item_is_logged_once_and_found_again_with_what_its_submission_needs(world: Path) -> None:
    state = task_state("cast_bench")
    bound, docs = aggregations(state), docs_of(state)
    twice = [state.process_results(doc, ['{"answer_choice": "B"}', "no idea"]) for doc in docs]
    once = [state.process_results(doc, ["A"]) for doc in docs[:2]]
    assert [json.dumps(item).count('"stratum"') for item in (*twice, *once)] == [2] * len(docs) + [1, 1]
    # Of two filters lmms-eval may ask for the records of both before the rows of either.
    for items in (twice, once):
        bound[RECORD]([item[RECORD] for item in items])
    for items, said in ((twice, '{"answer_choice": "B"}'), (once, "A")):
        bound[SUBMISSION_ROWS]([item[SUBMISSION_ROWS] for item in items], None)
        logged = [LoggedItem("", Record.from_json(item[RECORD]), item).graded() for item in items]
        assert list(state.finished or ()) == logged
        assert [(one.record.item_id, one.record.samples) for one in logged] == [
            (doc["item_id"], ()) for doc in docs[: len(items)]
        ]
        assert {one.submission["predict"] for one in logged} == {said}
    bound[RECORD]([item[RECORD] for item in once])
    with pytest.raises(ValueError, match="zip"):
        bound[SUBMISSION_ROWS]([item[SUBMISSION_ROWS] for item in twice], None)


def test_lmms_eval_gets_what_its_standard_errors_need(world: Path) -> None:
    """It takes the values of clustered errors from the key score, and any bare number as a value."""
    state, right = task_state(PAIRED), Record("q1_0", "q1", {}, "A", "A", Outcome.CORRECT)
    twice = replace(right, sample=1, samples=(replace(right, outcome=Outcome.WRONG, sample=2),))
    unasked = replace(right, outcome=Outcome.UNSCORED, unscored_reason=UnscoredReason.NO_CLIP)
    of_sample = replace(right, drawn=Drawn(stratum="all", asked=2, groups=4))
    gathered = [state.gather(one) for one in (right, twice, unasked, of_sample)]
    assert [(one["single_accuracy"], one["unparsed_rate"], one["pair_accuracy"]) for one in gathered] == [
        ({"group_id": "q1", "score": 100.0}, 0.0, None),
        ({"group_id": "q1", "score": 50.0}, {"group_id": "q1", "score": 0.0}, None),
        (None, None, None),
        (None, None, None),
    ]


def test_what_is_chosen_of_a_run_and_known_of_its_model_stays(world: Path) -> None:
    state = new_state("cast_bench")
    facts = ModelFacts(model := object())
    state.begin(facts)
    assert state.model is model and not state.silent and not state.is_heard
    for owner, name in ((state.evaluation, "clips_needed"), (state.evaluation, "tasks"), (facts, "model")):
        with pytest.raises(FrozenInstanceError):
            setattr(owner, name, None)


def test_settings_are_not_known_before_an_item_was_asked(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = new_state("cast_bench")
    (doc, *_) = docs_of(state)
    unknown = "^Expected the settings of cast_bench to be known, but none of its items was asked\\.$"
    with pytest.raises(RuntimeError, match=unknown):
        _ = state.settings
    with pytest.raises(RuntimeError, match=unknown):
        state.process_results(doc, ["B"])
    assert doc["question"] in state.doc_to_text(doc, {"prompt": "mcq_letter"})
    # The host's cache knows a response by its prompt: one to the placeholder must not serve the clip.
    asked, missing = (state.doc_to_text({**doc, "asked": flag}) for flag in (True, False))
    assert missing == f"{NO_CLIP}\n{asked}"
    assert state.settings.prompt.prompt_id == "mcq_letter"
    assert state.process_results(doc, ["B"])["record"]["fields"]["prompt"] == state.settings.signature
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "xywh")
    message = refusal(new_state("cast_bench").doc_to_text, doc)
    assert "Expected boxes to be one of xyxy_px, " in message and ", but got 'xywh'" in message


def test_items_that_cannot_be_asked(own_world: Path) -> None:
    state = new_state(PAIRED)
    (doc, *_) = docs_of(state)
    message = refusal(state.doc_to_text, {**doc, "options": []}, {"prompt": "mcq_letter"})
    assert f"Expected item {doc['item_id']} to have options, which the prompt mcq_letter" in message
    state = task_state(PAIRED)
    doc = docs_of(state)[0]
    record = state.process_results(doc, [Reply(missing=UnscoredReason.NO_CLIP)])["record"]
    assert not state.silent, "nobody asked it in vain"
    assert (record["outcome"], record["unscored_reason"], record["answered"]) == ("unscored", "no clip", None)
    # Records say of which set the rows are that were opened, also where others are prepared meanwhile.
    manifest = own_world / "causalvqa" / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    facts["splits"]["debug"]["data_set"] = {"kind": "sample"}
    manifest.write_text(json.dumps(facts), encoding="utf-8")
    assert state.process_results(doc, ["A"])["record"]["data_set"]["kind"] == "official"


def test_scores_that_a_benchmark_has_not_are_refused(tmp_path: Path) -> None:
    task = registry().tasks["cast_bench"]
    mine = refusal(TaskState, "mine", task.pointer, ["cider"], Evaluation())
    assert mine == "The task mine lists scores that cast_bench lacks: cider."
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


class HubError(Exception):
    """As the hub's own library raises it."""

    __module__ = "huggingface_hub.errors"


@pytest.fixture
def listening() -> Iterator[None]:
    before = set(logger._core.handlers)  # type: ignore[attr-defined]
    end_where_lmms_eval_goes_on()
    yield
    for added in set(logger._core.handlers) - before:  # type: ignore[attr-defined]
        logger.remove(added)


def go_on(module: str, error: Exception, level: str = "error") -> None:
    """Catch an exception in a module of a name, and log that."""

    def fail() -> None:
        raise error

    caught = f"try:\n    fail()\nexcept Exception as error:\n    logger.{level}('It goes on: {{}}', error)\n"
    exec(caught, {"__name__": module, "logger": logger, "fail": fail})


MAIN, TRACKER = "lmms_eval.__main__", "lmms_eval.loggers.evaluation_tracker"


@pytest.mark.usefixtures("listening")
def test_where_lmms_eval_goes_on_the_process_ends_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, level in ((MAIN, "error"), (TRACKER, "warning")):
        with pytest.raises(RunStopped) as ended:
            go_on(module, OSError(5, "Input/output error"), level)
        assert str(ended.value.code) == "\nThe run has failed: OSError: [Errno 5] Input/output error"
    monkeypatch.setattr("sys.argv", ["lmms-eval", f"--output_path={tmp_path}"])
    monkeypatch.setattr("lmms_eval_tasks.utils.core.files.free_space", lambda folder: folder != tmp_path)
    with pytest.raises(RunStopped, match=f"The run has failed: FullDisk: The disk of {tmp_path} is full.* Remedy: "):
        go_on(TRACKER, OSError(28, "No space left on device"), "warning")
    # What is no failure of a run ends nothing.
    go_on("lmms_eval.evaluator", ValueError("a baseline that is not there"))
    go_on(TRACKER, HubError("503"), "warning")
    go_on(MAIN, ValueError("no network for a dashboard"), "info")
    exec("logger.warning('a limit')", {"__name__": MAIN, "logger": logger})


def test_an_exception_is_one_line_that_names_the_cause() -> None:
    from tenacity import retry, stop_after_attempt

    @retry(stop=stop_after_attempt(2))
    def fail() -> None:
        raise ValueError("one\n two " + "x" * LONGEST)

    try:
        fail()
    except Exception as error:
        text = describe_exception(error)
    assert text.startswith("ValueError: one two xxx") and text.endswith("x…") and len(text) < LONGEST + 20


@pytest.mark.host
@pytest.mark.usefixtures("listening", "own_tasks")
def test_a_variant_that_would_fail_stops_the_run_before_a_model_is_loaded(world: Path, tmp_path: Path) -> None:
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    variants = {
        "metric_list: [{metric: cider}]": "lists scores that yocausal lacks: cider.",
        "doc_to_text: !function lmms_eval_tasks.yocausal.hooks.gone": "names a function that cannot be loaded: ",
    }
    folder = registry().benchmarks["yocausal"].folder
    for number, line in enumerate(variants):
        (tmp_path / f"{number}.yaml").write_text(
            f"include: {folder / 'yocausal_vlm.yaml'}\ntask: variant_{number}\ndataset_kwargs:\n  data_files:\n"
            f"    test: {folder / 'pointers' / 'vlm.json'}\n{line}\n"
        )
    (tmp_path / "group.yaml").write_text("group: both_variants\ntask: [variant_0, variant_1]\n")
    manager = TaskManager(include_path=str(tmp_path), model_name="constant_answer")
    for number, why in enumerate(variants.values()):
        assert why in refusal(manager.match_tasks, [f"variant_{number}"])
    assert variants["metric_list: [{metric: cider}]"] in refusal(manager.match_tasks, ["both_variants"])


if __name__ == "__main__":
    read_own_tasks()
    with multiprocessing.get_context("fork").Pool(3, maxtasksperchild=1) as pool:
        print(json.dumps(pool.starmap(evaluate, [(FIRST, SECOND), (FIRST,), (SECOND,)], chunksize=1)))
