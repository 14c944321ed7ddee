"""What a run card says, from what the host saves and the model that ran."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from task_states import task_state

import lmms_eval_tasks
from lmms_eval_tasks.host.model.identity import Weights, package_version, read_weights, weights_identity
from lmms_eval_tasks.host.saving import gather, saved_results
from lmms_eval_tasks.host.tasks.running import Evaluation, Results, TaskState
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_card import FRAME_NUMBERS, NOT_KNOWN, Stage, TrainedOn, Unknown, read_run_card
from lmms_eval_tasks.runs.run_files import write_card
from lmms_eval_tasks.utils.answers.hooks import OFFICIAL, Prompt, TaskSettings
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.manifest import Manifest, SplitManifest

FOLDER = Path(lmms_eval_tasks.__file__).parent
SECRET = "not-for-the-card-0815"
TASK = "task causalvqa_paired"

pytestmark = pytest.mark.usefixtures("home")


def prepare(home: Path) -> None:
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
    pointer = FOLDER / "causalvqa" / "pointers" / "test.json"
    ours = {
        "dataset_kwargs": {"data_files": {"test": str(pointer)}},
        "generation_kwargs": {"until": [], "max_new_tokens": 8},
        "lmms_eval_specific_kwargs": {"prompt": "mcq_letter"},
        "repeats": 1,
        "num_fewshot": 0,
    }
    seeds = {f"{name}_seed": index for index, name in enumerate(("random", "numpy", "torch", "fewshot"))}
    config = {
        "model": "qwen2_5_vl", "model_args": "pretrained=org/name,max_num_frames=16", "model_backend": "some.Class",
        "batch_size": 2, "limit": 8.0, "offset": 0, "use_cache": None, "resolved_cli_args": {"tasks": "causalvqa"},
        **seeds,
    }  # fmt: skip
    return {
        "configs": {"causalvqa_paired": ours, "theirs": {"dataset_path": "x"}, "odd": "text"},
        "versions": {"causalvqa_paired": "1-A"},
        "n-samples": {"causalvqa_paired": {"effective": 8}},
        "config": {**config, **changes},
        "date": "20261122_000000",
        "total_evaluation_time_seconds": "12.345",
    }


def evaluation(model: Any = None) -> Evaluation:
    """A run of the task of ours by a model, its first item asked."""
    run = Evaluation(model=model, weights=read_weights(model))
    task_state("causalvqa_paired", run)
    return run


def model(**attributes: Any) -> Any:
    return SimpleNamespace(**attributes)


def test_a_run_is_told_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(home)
    inner = SimpleNamespace(
        config=SimpleNamespace(_commit_hash="c0ffee"), dtype="torch.bfloat16", num_parameters=lambda: 42
    )
    qwen = model(max_num_frames=16, fps=None, min_pixels=3136, max_pixels=12544, model=inner, device="cuda:0")
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    monkeypatch.setattr("sys.argv", ["lmms-eval", "--tasks", "causalvqa", "--gen_kwargs", "a b"])
    card = gather(saved(), evaluation(qwen))
    assert [section for section in card if section.startswith("task ")] == [TASK]
    assert card[TASK] == {
        "version": "1-A", "benchmark": "causalvqa, split test",
        "data": "a part of the official release, 2 of 1,586 items", "data source": "hub",
        "data revision": "main", "data sha256": "bb", "release sha256": '{"a.zip": "aa"}',
        "prepared by": "lmms-eval-tasks 0.1.0", "missing clips": 0, "items": 8, "prompt": "mcq_letter",
        "prompt sha256": read_prompt("mcq_letter").sha256, "official prompt": "no", "extractor": "choice reader 2",
        "generation": '{"max_new_tokens": 8, "until": []}', "repeats": 1, "fewshot examples": 0,
    }  # fmt: skip
    assert card["model"] == {
        "name": "qwen2_5_vl", "class": "some.Class", "arguments": "pretrained=org/name,max_num_frames=16",
        "checkpoint": "org/name", "revision": "c0ffee", "precision": "bfloat16", "parameters": 42,
        "system instruction": "none", "chat template": "the model's own",
    }  # fmt: skip
    assert card["frames"] == {
        "frames": 16, "fps": "not set", "least pixels": 3136, "most pixels": 12544, "height": None, "width": None,
        "pixels of a frame": "3136 to 12544", "reader": None,
    }  # fmt: skip
    assert card["seeds"] == {"random": 0, "numpy": 1, "torch": 2, "fewshot": 3}
    run = card["run"]
    assert run["command"] == "lmms-eval --tasks causalvqa --gen_kwargs 'a b'"
    assert (run["limit"], run["ranks"], run["batch size"], run["wall time in s"]) == (8, 1, 2, 12.3)
    assert card["hardware"]["device"] == "cuda:0"
    assert card["settings"]["LMMS_EVAL_TASKS_MISSING"] == "skip"
    assert card["settings"]["LMMS_EVAL_TASKS_BOXES"] == "not set"
    assert {"python", "lmms-eval", "torch", "transformers", "accelerate", "decord", "av"} <= {
        name for name, version in card["software"].items() if version
    }
    assert card[NOT_KNOWN]["frames.height"] == "no argument or attribute of the model names it"
    assert card[NOT_KNOWN]["frames.reader"] == "how the model reads clips is not known"


def test_what_cannot_be_found_is_null_with_its_reason() -> None:
    run = Evaluation()
    pointer = registry().tasks["causalvqa_paired"].pointer
    run.tasks["causalvqa_paired"] = TaskState("causalvqa_paired", pointer, (), run)
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


class Hostile:
    """A model that fails wherever it is asked something."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Hostile
        raise RuntimeError(f"no {name} here")


def test_a_model_that_fails_when_asked_ends_nothing(home: Path) -> None:
    prepare(home)
    run = evaluation(Hostile())
    assert run.weights == Weights()
    card = gather(saved(), run)
    assert card["model"]["revision"] is None
    assert card[NOT_KNOWN]["model.precision"] == "the model does not say"
    assert card["frames"]["frames"] == "16"


def test_no_key_is_ever_in_a_card(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(home)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", f"model=j,url=http://me:{SECRET}x@host/v1")
    monkeypatch.setenv("LMMS_EVAL_TASKS_NEW", f"Bearer {SECRET}")
    monkeypatch.setattr("sys.argv", ["lmms-eval", "--model_args", f"base_url=u,api_key={SECRET}z"])
    run = evaluation(model(pretrained=f"folder-{SECRET}", num_frame=f"{SECRET}"))
    card = gather(saved(model_args=f"api_key={SECRET}z,password=hunter2", model=f"x {SECRET}"), run)
    text = json.dumps(card)
    assert SECRET not in text and "hunter2" not in text
    assert text.count("[hidden]") >= 7


def test_the_official_text_is_said_to_be(home: Path) -> None:
    prepare(home)
    run = evaluation()
    for prompt_id, is_official in ((OFFICIAL, "yes"), ("cast_bench-other-0a", "no"), ("mcq_letter", "no")):
        run.tasks["causalvqa_paired"].settings = TaskSettings(Prompt(prompt_id, "{question} {options}"))
        assert gather(saved(), run)[TASK]["official prompt"] == is_official


def test_the_revision_of_a_cached_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "models--org--name"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123")
    (repository / "snapshots" / "abc123").mkdir(parents=True)
    (repository / "snapshots" / "abc123" / "config.json").write_text("{}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path), raising=False)
    run = evaluation(model())
    assert gather(saved(), run)["model"]["revision"] == "abc123"
    asked = gather(saved(model_args="pretrained=org/other,revision=v2"), run)
    assert asked["model"]["revision"] == "v2"
    unknown = gather(saved(model_args="pretrained=org/other"), run)
    assert unknown[NOT_KNOWN]["model.revision"] == "neither the loaded model nor the hub's cache says it"
    folder = gather(saved(model_args=f"pretrained={tmp_path}"), run)
    assert folder["model"]["revision"] == f"a folder whose files are {weights_identity(str(tmp_path))}"


def test_weights_that_were_trained_here_say_on_what(tmp_path: Path) -> None:
    asked = saved(model_args=f"pretrained={tmp_path}")
    assert "trained on" not in gather(asked, evaluation())["model"]
    stage = Stage(method="sft on answers", data={}, items=8, clips=2, rows_sha256="ab" * 32, options={})
    trained = TrainedOn(base="org/name", stages=(stage,), compared_with=("CounterVQA, split test",), tool_version="1")
    trained.write(tmp_path)
    assert gather(asked, evaluation())["model"]["trained on"] == trained.summary()
    (tmp_path / "trained_on.json").write_text("{}", encoding="utf-8")
    card = gather(asked, evaluation())
    assert card["model"]["trained on"] is None and "cannot be used" in str(card[NOT_KNOWN]["model.trained on"])


def test_how_losses_were_measured() -> None:
    facts = {"protocol": "paper", "steps": 10, "seed": 0, "tiling": False, "parameters": 3}
    settings = SimpleNamespace(pretrained="org/film", dtype="bfloat16", frames=49, fps=16.0, height=480, width=832)
    run = evaluation(model(engine=SimpleNamespace(facts=facts, settings=settings)))
    card = gather(saved(model_args="family=some"), run)
    assert {name: value for name, value in card["denoising"].items() if value is not None} == {
        "protocol": "paper", "steps": 10, "seed": 0, "tiling": "no",
    }  # fmt: skip
    assert (card["model"]["checkpoint"], card["model"]["precision"]) == ("org/film", "bfloat16")
    assert (card["frames"]["frames"], card["frames"]["fps"], card["frames"]["width"]) == (49, 16, 832)


@pytest.mark.parametrize("name", FRAME_NUMBERS)
def test_frames_have_one_name_whatever_an_adapter_calls_them(name: str) -> None:
    assert gather(saved(model_args=""), evaluation(model(**{name: 12})))["frames"]["frames"] == 12
    assert gather(saved(model_args=f"{name}=7"), evaluation(model()))["frames"]["frames"] == "7"


def test_a_package_under_another_name_is_not_guessed() -> None:
    assert package_version("lmms-eval-tasks") == lmms_eval_tasks.__version__
    with pytest.raises(Unknown, match="no package of that name is installed"):
        package_version("a-package-that-nobody-has")


def tracker(tmp_path: Path, **changes: Any) -> Any:
    sanitized = SimpleNamespace(model_name_sanitized="org__name")
    found = {"output_path": str(tmp_path), "date_id": "20261122", "general_config_tracker": sanitized, **changes}
    return SimpleNamespace(**found)


def known(results: dict[str, Any]) -> Results:
    """Results as lmms-eval saves them of a run with a task of ours."""
    ours = Results(results)
    ours.evaluation = evaluation()
    return ours


def test_the_card_lies_beside_the_results(tmp_path: Path) -> None:
    (tmp_path / "org__name").mkdir()
    (tmp_path / "org__name" / "20261122_results.json").write_text("{}")
    path = saved_results(tracker(tmp_path), known(saved()))
    assert path == tmp_path / "org__name" / "20261122_results.json"
    write_card(path, gather(known(saved()), evaluation()))
    assert read_run_card(path.with_name("20261122_run_card.json"))["run"]["date"] == "20261122_000000"
    assert saved_results(tracker(tmp_path, output_path=None), known(saved())) is None


def test_a_run_without_a_task_of_ours_has_no_card(tmp_path: Path) -> None:
    assert saved_results(tracker(tmp_path), {"configs": {"theirs": {}}, "config": {}}) is None
    assert not list(tmp_path.iterdir())


def test_without_results_there_is_no_card(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no .*20261122_results\.json"):
        saved_results(tracker(tmp_path), known(saved()))
    assert not list(tmp_path.iterdir())
