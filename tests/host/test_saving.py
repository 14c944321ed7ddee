"""What is saved of a run and said at its end: the run card, files of runs of the same second, the last lines."""

from __future__ import annotations

import json
import resource
from copy import deepcopy
from dataclasses import replace as changed
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest
from logged_runs import TASK as DEBUG
from logged_runs import weak, write_records, write_run
from task_states import task_state

import lmms_eval_tasks
from lmms_eval_tasks.host import saving
from lmms_eval_tasks.host.card_facts import gather
from lmms_eval_tasks.host.model.identity import ModelFacts, Weights, package_version, read_weights, weights_identity
from lmms_eval_tasks.host.replacements import SAVE, replace
from lmms_eval_tasks.host.saving import free_date, saved_results
from lmms_eval_tasks.host.tasks.running import Evaluation, FinishedRun, Results, TaskState
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import (
    FIELDS,
    FRAME_NUMBERS,
    NOT_KNOWN,
    Missing,
    Sections,
    Stage,
    TrainedOn,
    read_run_card,
)
from lmms_eval_tasks.runs.run_files import write_card
from lmms_eval_tasks.runs.scores import scores_of
from lmms_eval_tasks.utils.answers.hooks import OFFICIAL, Prompt, TaskSettings
from lmms_eval_tasks.utils.benchmark.views import Suits, views_for
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.manifest import Manifest, SplitManifest
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

SECRET = "not-for-the-card-0815"
TASK = "task causalvqa_paired"

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def prepared_home(home: Path) -> None:
    """A home with the manifest of a prepared split, which is all of it that a card reads."""
    split = SplitManifest(
        source="hub", source_sha256={"a.zip": "aa"}, revision="main", answers_withheld=True, rows=2,
        data_set=DataSet(kind=SetKind.PART, items=2, of=1586),
        groups=1, clips=1, table_sha256="bb",
    )  # fmt: skip
    manifest = Manifest(tool_version="0.1.0", benchmark="causalvqa", splits={"test": split})
    (home / "causalvqa").mkdir(parents=True)
    (home / "causalvqa" / "manifest.json").write_text(manifest.model_dump_json(), encoding="utf-8")


def saved(**changes: Any) -> dict[str, Any]:
    """What the host saves of a run of one task of ours and one of somebody else's."""
    ours = {
        "dataset_kwargs": {
            "data_files": {"test": str(registry().benchmarks["causalvqa"].folder / "pointers/test.json")}
        },
        "generation_kwargs": {"until": [], "max_new_tokens": 8},
        "lmms_eval_specific_kwargs": {"prompt": "mcq_letter"},
        "repeats": 1,
        "num_fewshot": 0,
    }
    config = {
        "model": "qwen2_5_vl", "model_args": "pretrained=org/name,max_num_frames=16", "model_backend": "some.Class",
        "batch_size": 2, "limit": 8.0, "offset": 0, "use_cache": None, "resolved_cli_args": {"tasks": "causalvqa"},
        "random_seed": 0, "numpy_seed": 1, "torch_seed": 2, "fewshot_seed": 3,
    }  # fmt: skip
    return {
        "configs": {"causalvqa_paired": ours, "theirs": {"dataset_path": "x"}, "odd": "text"},
        "versions": {"causalvqa_paired": "1-A"},
        "n-samples": {"causalvqa_paired": {"effective": 8}},
        "config": {**config, **changes},
        "date": "20261122_000000",
        "total_evaluation_time_seconds": "12.345",
    }


def finished(model: Any = None, **found: Any) -> FinishedRun:
    """A run of the task of ours by a model, its first item asked."""
    run = FinishedRun(Evaluation(), ModelFacts(model, read_weights(model)), **found)
    task_state("causalvqa_paired", run.evaluation)
    return run


def card_of(model: Any = None, **changes: Any) -> Sections:
    return gather(saved(**changes), finished(model))


@pytest.mark.usefixtures("prepared_home")
def test_a_card_is_whole(expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = SimpleNamespace(
        config=SimpleNamespace(_commit_hash="c0ffee"), dtype="torch.bfloat16", num_parameters=lambda: 42
    )
    sizes = {"max_num_frames": 16, "fps": None, "min_pixels": 3136, "max_pixels": 12544}
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    monkeypatch.setattr("sys.argv", ["lmms-eval", "--tasks", "causalvqa", "--gen_kwargs", "a b"])
    card = card_of(SimpleNamespace(**sizes, model=inner, device="cuda:0"))
    assert {"python", "lmms-eval", "torch", "transformers", "accelerate", "decord", "av"} <= {
        name for name, version in card["software"].items() if version
    }
    assert card[TASK]["prompt sha256"] == read_prompt("mcq_letter").sha256
    assert card["hardware"]["device"] == "cuda:0" and card["settings"]["LMMS_EVAL_TASKS_MISSING"] == "skip"
    assert [section for section in card if section.startswith("task ")] == [TASK]
    fixed = {name: card[name] for name in (TASK, "model", "frames", "seeds", "run")}
    known = {name: why for name, why in card[NOT_KNOWN].items() if name.startswith("frames.")}
    expected(json.dumps({**fixed, NOT_KNOWN: known}, indent=1, ensure_ascii=False))


OF_KINDS = ("benchmark", "view", "prompt", "official prompt", "judge", "boxes", "hits", "extractor")
"""What a card says of a task that depends on its kind or its view."""


def test_each_kind_of_task_and_each_view_is_described(expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, package = FinishedRun(Evaluation()), Path(lmms_eval_tasks.__file__).parent
    ours = {name: task for name, task in registry().tasks.items() if package in task.benchmark.folder.parents}
    of_kinds = {(task.benchmark.name, id(task.kind)): name for name, task in ours.items()}
    shown = [(view, f"{name}_{view}".rstrip("_")) for view in views_for(*Suits) for name in of_kinds.values()]
    of_views = {view: name for view, name in shown if registry().find_task(name)}
    configs = {}
    for name in sorted({*of_kinds.values(), *of_views.values()}):
        task_state(name, run.evaluation)
        configs[name] = {"lmms_eval_specific_kwargs": {"prompt": "as the task has it"}}
    lines: list[str] = []
    for judge in ("", "model=j,url=http://host/v1,temperature=0.5"):
        monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", judge)
        card = gather({"configs": configs}, run)
        for name in configs:
            fields = card[f"task {name}"]
            if judge == "" or "judge" in fields:
                why = card[NOT_KNOWN].get(f"task {name}.judge")
                said = {one: fields[one] for one in OF_KINDS if one in fields} | ({"no judge": why} if why else {})
                lines.append(f"{name}: {'; '.join(f'{one}: {value}' for one, value in said.items())}")
    expected("\n".join(lines))


def test_what_cannot_be_found_is_null_with_its_reason() -> None:
    run = FinishedRun(Evaluation())
    pointer = registry().tasks["causalvqa_paired"].pointer
    run.evaluation.add(TaskState("causalvqa_paired", pointer, (), run.evaluation))
    card = gather({"configs": saved()["configs"]}, run)
    reasons = card[NOT_KNOWN]
    assert str(reasons[f"{TASK}.data sha256"]).startswith("InputError: CausalVQA is not prepared")
    assert reasons[f"{TASK}.version"] == "KeyError: 'versions'"
    assert reasons[f"{TASK}.prompt"] == (
        "RuntimeError: Expected the settings of causalvqa_paired to be known, but none of its items was asked."
    )
    assert reasons["seeds.torch"] == "KeyError: 'torch_seed'"
    nulls = {
        f"{section}.{field}" for section, fields in card.items() for field, value in fields.items() if value is None
    }
    assert nulls == reasons.keys()
    assert package_version("lmms-eval-tasks") == lmms_eval_tasks.__version__
    assert package_version("a-package-that-nobody-has") == Missing("no package of that name is installed")


class Hostile:
    """A model that fails wherever it is asked something."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Hostile
        raise RuntimeError(f"no {name} here")


@pytest.mark.usefixtures("prepared_home")
def test_every_fact_has_a_line_and_reasons_of_several_tasks_are_field_by_field() -> None:
    run, lines = finished(), {(field.section, field.name) for field in FIELDS}
    task_state("cast_bench", run.evaluation)
    results = saved()
    card = gather({**results, "configs": {**results["configs"], "cast_bench": {}}}, run)
    kinds = {section: "task " if section.startswith("task ") else section for section in card}
    assert not {
        (section, name) for section, fields in card.items() for name in fields
        if not {(kinds[section], name), (kinds[section], "")} & lines
    }  # fmt: skip
    of_tasks = [name for name in card[NOT_KNOWN] if name.startswith("task ")]
    assert of_tasks[:2] == ["task cast_bench.version", "task cast_bench.data"]
    nothing = gather({"configs": {"causalvqa_paired": {}, "cast_bench": {}}}, run)
    assert list(nothing[NOT_KNOWN])[:3] == [f"{TASK}.version", "task cast_bench.version", "task cast_bench.data"]


@pytest.mark.usefixtures("prepared_home")
def test_a_model_that_fails_when_asked_ends_nothing() -> None:
    run = finished(Hostile())
    assert run.facts.weights == Weights()
    card = gather(saved(), run)
    assert card["model"]["revision"] is None and card["frames"]["frames"] == "16"
    assert card[NOT_KNOWN]["model.precision"] == "the model does not say"
    for prompt_id, is_official in ((OFFICIAL, "yes"), ("cast_bench-other-0a", "no"), ("mcq_letter", "no")):
        settings = TaskSettings(Prompt(prompt_id, "{question} {options}"))
        run.evaluation.tasks["causalvqa_paired"].settle(settings, {})
        assert gather(saved(), run)[TASK]["official prompt"] == is_official


@pytest.mark.usefixtures("prepared_home")
def test_no_key_is_ever_in_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", f"model=j,url=http://me:{SECRET}x@host/v1")
    monkeypatch.setenv("LMMS_EVAL_TASKS_NEW", f"Bearer {SECRET}")
    monkeypatch.setattr("sys.argv", ["lmms-eval", "--model_args", f"base_url=u,api_key={SECRET}z"])
    model = SimpleNamespace(pretrained=f"folder-{SECRET}", num_frame=f"{SECRET}")
    named = saved(model_args=f"api_key={SECRET}z,password=hunter2", model=f"x {SECRET}")
    text = json.dumps(gather(named, finished(model)))
    assert SECRET not in text and "hunter2" not in text
    assert text.count("[hidden]") >= 7


def test_a_checkpoint_has_a_revision_and_what_it_was_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "models--org--name"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123")
    (repository / "snapshots" / "abc123").mkdir(parents=True)
    (repository / "snapshots" / "abc123" / "config.json").write_text("{}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path), raising=False)
    assert card_of(SimpleNamespace())["model"]["revision"] == "abc123"
    assert card_of(model_args="pretrained=org/other,revision=v2")["model"]["revision"] == "v2"
    unknown = card_of(model_args="pretrained=org/other")
    assert unknown[NOT_KNOWN]["model.revision"] == "neither the loaded model nor the hub's cache says it"
    folder = card_of(model_args=f"pretrained={tmp_path}")["model"]
    assert folder["revision"] == f"a folder whose files are {weights_identity(str(tmp_path))}"
    assert "trained on" not in folder
    stage = Stage(method="sft on answers", data={}, items=8, clips=2, rows_sha256="ab" * 32, options={})
    trained = TrainedOn(base="org/name", stages=(stage,), compared_with=("CounterVQA, split test",), tool_version="1")
    trained.write(tmp_path)
    assert card_of(model_args=f"pretrained={tmp_path}")["model"]["trained on"] == trained.summary()
    (tmp_path / "trained_on.json").write_text("{}", encoding="utf-8")
    card = card_of(model_args=f"pretrained={tmp_path}")
    assert card["model"]["trained on"] is None and "cannot be used" in str(card[NOT_KNOWN]["model.trained on"])


@pytest.mark.slow
def test_frames_have_one_name_and_losses_say_how_they_were_measured() -> None:
    for name in FRAME_NUMBERS:
        assert card_of(SimpleNamespace(**{name: 12}), model_args="")["frames"]["frames"] == 12
        assert card_of(SimpleNamespace(), model_args=f"{name}=7")["frames"]["frames"] == "7"
    facts = {"protocol": "paper", "steps": 10, "seed": 0, "tiling": False, "parameters": 3}
    settings = SimpleNamespace(pretrained="org/film", dtype="bfloat16", frames=49, fps=16.0, height=480, width=832)
    card = card_of(SimpleNamespace(engine=SimpleNamespace(facts=facts, settings=settings)), model_args="family=some")
    assert {name: value for name, value in card["denoising"].items() if value is not None} == {
        "protocol": "paper", "steps": 10, "seed": 0, "tiling": "no",
    }  # fmt: skip
    assert (card["model"]["checkpoint"], card["model"]["precision"]) == ("org/film", "bfloat16")
    assert (card["frames"]["frames"], card["frames"]["fps"], card["frames"]["width"]) == (49, 16, 832)


def tracker(folder: Path | None, model: str = "", date: str = "20261122") -> Any:
    """lmms-eval's writer of results."""
    names = SimpleNamespace(model_name_sanitized=model)
    return SimpleNamespace(output_path=folder and str(folder), date_id=date, general_config_tracker=names)


def ours(**results: Any) -> Results:
    """Results as lmms-eval saves them of a run with a task of ours."""
    return Results(results, finished())


def test_the_card_lies_beside_the_results(tmp_path: Path) -> None:
    theirs: dict[str, Any] = {"configs": {"theirs": {}}, "config": {}}
    assert saved_results(tracker(tmp_path / "org", "name"), theirs) is None, "a run without a task of ours has no card"
    with pytest.raises(FileNotFoundError, match=r"there is no .*20261122_results\.json"):
        saved_results(tracker(tmp_path / "org", "name"), ours(**saved()))
    assert not list(tmp_path.iterdir())
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "20261122_results.json").write_text("{}")
    path = saved_results(tracker(tmp_path / "org", "name"), ours(**saved()))
    assert path == tmp_path / "org" / "name" / "20261122_results.json"
    write_card(path, gather(ours(**saved()), finished()))
    assert read_run_card(path.with_name("20261122_run_card.json"))["run"]["date"] == "20261122_000000"
    assert saved_results(tracker(None), ours(**saved())) is None


@pytest.mark.slow  # lmms-eval is imported
def test_runs_of_one_second_are_saved_in_files_of_their_own_and_runs_of_others_are_left_alone(tmp_path: Path) -> None:
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    replace(SAVE)
    for answer in ("A", "B"):
        saver = EvaluationTracker(output_path=str(tmp_path))
        saver.general_config_tracker.model_name = saver.general_config_tracker.model_name_sanitized = ""
        results = ours(configs={}, config={}, versions={})
        saver.save_results_aggregated(results, None, datetime_str="20261231_235959")
        sample = {"arguments": ["?"], "resps": [[answer]], "filtered_resps": [answer], "target": "", "doc": {}}
        saver.save_results_samples("t", [sample])
    names = sorted(path.name for path in tmp_path.iterdir() if "card" not in path.name)
    assert names == [
        "20261231_235959_results.json", "20261231_235959_samples_t.jsonl",
        "20270101_000000_results.json", "20270101_000000_samples_t.jsonl",
    ]  # fmt: skip
    for name, answer in zip(names[1::2], "AB", strict=True):
        (line,) = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert f'"filtered_resps": "{answer}"' in line
    out = tmp_path / "out"

    def date(folder: Path | None, results: Any, model: str = "model") -> str:
        with free_date(tracker(folder, model), results, "20261122_101112") as free:
            if folder:
                (folder / model).mkdir(parents=True, exist_ok=True)
                (folder / model / f"{free}_results.json").write_text("{}")
        return free

    for folder, results in ((None, ours()), (out, ours())):
        assert date(folder, results) == "20261122_101112"
    # One that is just being saved has its date, too.
    with free_date(tracker(out, "model"), ours(), "20261122_101112") as free:
        assert free == "20261122_101113" and date(out, ours()) == "20261122_101114"
    assert date(out, ours(), "other") == date(out, {}) == "20261122_101112"
    assert not list(out.rglob(".*")), "nothing is left"


def test_results_are_written_whole_or_not_at_all(tmp_path: Path, log: list[str]) -> None:
    """On a disk that takes no more than some bytes of a file, as a full one does."""
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    replace(SAVE)
    numbers = {"results": {"a": {"accuracy,none": list(range(2_000))}}, "configs": {}}

    def save(date: str) -> list[Path]:
        tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
        tracker.general_config_tracker.log_experiment_args("model", "", "", "", False)
        tracker.save_results_aggregated(results=dict(numbers), samples={}, datetime_str=date)
        return [path for path in (tmp_path / "out").rglob("*") if path.is_file()]

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        assert save("20261122_101112") == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert any("File too large" in line for line in log)
    (path,) = save("20261122_101113")
    assert json.loads(path.read_text("utf-8"))["results"] == numbers["results"]


@pytest.mark.parametrize(
    ("options", "usage", "said"),
    [
        ({}, None, "none"),
        ({"max_tokens": 20_000}, None, "20,000"),
        ({"max_tokens": 20_000}, {"budget_exceeded": False}, "20,000"),
        ({"max_tokens": 20_000}, {"budget_exceeded": True}, "20,000, spent"),
    ],
)
def test_a_card_says_whether_the_budget_was_spent(options: dict[str, int], usage: Any, said: str) -> None:
    card = gather({**saved(resolved_cli_args=options), "usage": usage}, finished())
    assert {fields["budget of tokens"] for fields in card.values() if "budget of tokens" in fields} == {said}


def test_a_card_says_how_a_run_was_limited_cached_and_named() -> None:
    for limit, said in ((None, "none"), (-1, "none"), (0, 0), (1, 1), (8.0, 8), (0.5, 0.5)):
        assert card_of(limit=limit)["run"]["limit"] == said
    for cache, said in ((None, "none"), ("", "none"), ("folder", "folder")):
        assert card_of(use_cache=cache)["run"]["response cache"] == said
    for number in (None, 0, 3):
        card = gather(saved(), finished(answers_kept=number))
        assert card["run"]["answers kept from before"] == ("none are kept" if number is None else number)
    assert card_of(model_args="path=a,model=b,pretrained=")["model"]["checkpoint"] == "b"
    assert card_of(SimpleNamespace(model_id="c", path="d"), model_args="")["model"]["checkpoint"] == "c"


@pytest.mark.usefixtures("prepared_home")
def test_a_card_has_what_the_tasks_own_answers_cost() -> None:
    spent = {("causalvqa_paired", "seconds"): 1.2345, ("another", "seconds"): 9, ("another", "answers"): 1}
    run = finished(spent=spent, shared={"causalvqa_paired": 2, "another": 3})
    reasons = [None, *map(UnscoredReason, ("failed", "blocked", "budget spent", "no clip"))]
    one = Record("a", "a", {}, "A", None, Outcome.UNSCORED, detail="cut off")
    (state,) = run.evaluation.tasks.values()
    state.records = tuple(changed(one, unscored_reason=reason) for reason in reasons)
    costs = {name: fields for name, fields in gather(saved(), run).items() if name.startswith("cost of ")}
    counted = {"answers shared": 2, "answers cut off": 5, "answers failed": 3}
    assert costs == {"cost of causalvqa_paired": {"seconds": 1.23, **counted}}


def test_loggers_get_a_copy_of_the_numbers_alone() -> None:
    """An evaluation cannot be copied, and a score that is a list cannot be written as a number."""
    scores = {"alias": "a", "accuracy,none": 50.0, "accuracy_stderr,none": "N/A", "record,none": [], "other,none": None}
    results = ours(results={"a": scores}, configs={"a": {"metric_list": [1]}})
    results.run = SimpleNamespace(lock=Lock())  # type: ignore[assignment]
    copied = deepcopy(results)
    assert type(copied) is dict and copied["configs"] == {"a": {"metric_list": [1]}}
    assert copied["results"]["a"] == {name: value for name, value in scores.items() if name != "record,none"}
    copied["results"]["a"]["accuracy,none"] = 0.0
    assert results["results"]["a"] == scores and scores["accuracy,none"] == 50.0


GROUPED = ("mvp_mini_intuitive_physics", "mvp_mini_temporal_reasoning")
STRATUM = {"type": "descriptive", "difficulty": "easy", "source": "clevrer"}


@pytest.mark.slow
def test_the_last_lines_have_a_task_or_group_each_and_say_how_to_look_at_the_run(expected: Any, tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "weak", weak(), (DEBUG, *GROUPED), kind=SetKind.SAMPLE, stratum=STRATUM))
    run.groups["both"] = GROUPED  # type: ignore[index]
    reason = UnscoredReason.NO_KEY
    records = [Record(f"1_{member}", "1", STRATUM, None, "A", Outcome.UNSCORED, reason) for member in range(2)]
    records = [one.with_fields(official_correct=None) for one in records]
    withheld = read_run(write_records(tmp_path / "withheld", {"causalvqa_paired": records}))
    said = [saving.closing_lines(scores_of(run), "my out/first"), saving.closing_lines(scores_of(withheld), "my out")]
    said.append(saving.closing_lines(scores_of(run), "out", logged=False))
    parts = [part.model_copy(update={"scores": []}) for part in scores_of(withheld).parts]
    said.append(saving.closing_lines(scores_of(withheld).model_copy(update={"parts": parts}), "out", note="No judge"))
    single = read_run(write_run(tmp_path / "one", {"1": (True, True)}, (DEBUG,), stratum=STRATUM))
    said.append(saving.closing_lines(scores_of(single), "out"))
    expected("\n".join(line for lines in said for line in lines))
