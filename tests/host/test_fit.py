"""Models and tasks that do not fit, arguments that a model does not take, and how a run ends then."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from submission_world import prepare_world

from lmms_eval_tasks.host import replacements
from lmms_eval_tasks.host.checks import describe_misfit, describe_unknown, describe_unready
from lmms_eval_tasks.host.model.identity import CHAT_MODELS, MODELS, answer_forms, model_name
from lmms_eval_tasks.host.ranks import Exchange, RunStopped, stop_if_any
from lmms_eval_tasks.host.replacements import ordinary_errors
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError

WORDS, LOSSES = frozenset({AnswerForm.WORDS}), frozenset({AnswerForm.LOSSES})
CLIP_LOSSES = frozenset({AnswerForm.CLIP_LOSSES})
SURPRISE = {"intphys2_surprise", "intphys2_debug_surprise"}
TASKS = {name: frozenset({task.kind.answer_form}) for name, task in registry().tasks.items()}


@pytest.fixture(scope="module")
def models() -> Any:
    import lmms_eval.models

    return lmms_eval.models


def test_tasks_say_what_they_take() -> None:
    assert {name for name, forms in TASKS.items() if forms == LOSSES} == {"yocausal"}
    assert {name for name, forms in TASKS.items() if forms == CLIP_LOSSES} == SURPRISE


@pytest.mark.parametrize(
    ("model", "misfits"),
    [
        ("constant_answer", set()),
        ("replay", set()),
        ("random_answer", {"yocausal"}),
        ("sample_solver", {"yocausal"}),
        ("qwen2_5_vl", {"yocausal", *SURPRISE}),
        ("video_diffusion", set(TASKS) - {"yocausal", *SURPRISE}),
        ("no_such_model", set()),
    ],
)
def test_which_models_fit_which_tasks(model: str, misfits: set[str], models: Any) -> None:
    assert {name for name in TASKS if describe_misfit(model, {name: TASKS[name]})} == misfits


def test_a_model_of_losses_is_shown_the_tasks_for_it(models: Any) -> None:
    assert describe_misfit("video_diffusion", {"mvp_mini": WORDS, "yocausal_vlm": WORDS}) == (
        "mvp_mini takes words for an answer, but the model video_diffusion gives clip losses or denoising losses.\n"
        "yocausal_vlm takes words for an answer, but the model video_diffusion gives clip losses or denoising losses.\n"
        "  Tasks of the same benchmark for video_diffusion: yocausal."
    )


def test_somebody_elses_model_can_say_that_it_gives_losses(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval.api.model import lmms

    module = ModuleType("their_denoiser")
    module.Denoiser = type("Denoiser", (lmms,), {"answer_forms": {"denoising losses"}})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_denoiser", module)
    registered = models.MODEL_REGISTRY_V2
    manifest = models.ModelManifest(model_id="their_denoiser", simple_class_path="their_denoiser.Denoiser")
    monkeypatch.setattr(registered, "_manifests", {**registered._manifests, "their_denoiser": manifest})
    names = {**registered._alias_to_model_id, "their_denoiser": "their_denoiser"}
    monkeypatch.setattr(registered, "_alias_to_model_id", names)
    assert describe_misfit("their_denoiser", {"yocausal": LOSSES}) is None
    assert answer_forms(module.Denoiser) == LOSSES  # type: ignore[attr-defined]


def test_names_of_no_task_are_shown_the_nearest(tmp_path: Path) -> None:
    known = [*TASKS, "mvp_mini", "mme"]
    own = tmp_path / "own.yaml"
    own.write_text("task: own")
    given = ["mvp_mini", "mvp_*", "mvp_mi?i", "mvp_[f]ull", str(own)]
    assert describe_unknown(given, ["mvp_mini", "mvp_full"], known) is None
    assert describe_unknown(["mvp_mni", "mme", "nothing_like_it", "mvp_minii*"], ["mme"], known) == (
        "There is no task, group or tag 'mvp_mni'. Did you mean mvp_mini?\n"
        "There is no task, group or tag 'nothing_like_it'.\n"
        "There is no task, group or tag 'mvp_minii*'. Did you mean mvp_mini?\n"
        "All of them: lmms-eval --tasks list"
    )
    assert "Did you mean causalvqa_debug_paired?" in (describe_unknown(["causalvqa_debug"], [], known) or "")


def test_an_output_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "out", Path("/proc/out")):
        found = describe_unready({"model": "replay", "model_args": "", "output_path": str(path)})
        assert found and found.startswith(f"The output path {path} cannot be written to: ")
    assert describe_unready({"model": "replay", "output_path": str(tmp_path / "new" / "out")}) is None
    assert describe_unready({"model": "replay", "output_path": None}) is None


@pytest.mark.slow
def test_a_run_that_does_not_fit_ends_before_the_model_is_made(home: Path, models: Any) -> None:
    from lmms_eval.tasks import TaskManager

    manager = TaskManager(model_name="video_diffusion")
    with pytest.raises(InputError, match=r"^mvp_mini takes words for an answer, but the model video_diffusion gives"):
        manager.match_tasks(["mvp_mini"])


@pytest.mark.slow
def test_a_program_that_passes_a_model_of_words_gets_an_exception(home: Path, models: Any, tmp_path: Path) -> None:
    from lmms_eval.evaluator import simple_evaluate

    prepare_world(tmp_path / "releases")
    with pytest.raises(InputError, match=r"^yocausal takes denoising losses for an answer, but the model RandomAnswer"):
        simple_evaluate("random_answer", tasks=["yocausal"], bootstrap_iters=0)


@pytest.mark.slow
def test_a_program_gets_an_exception_where_data_is_not_prepared(home: Path, models: Any) -> None:
    from lmms_eval.evaluator import simple_evaluate

    with pytest.raises(InputError, match=r"^MVP is not prepared: there is no .*\nRun:  lmms-eval-tasks prepare mvp"):
        simple_evaluate("constant_answer", tasks=["mvp_mini"], bootstrap_iters=0)


ARGUMENTS = [
    (
        "constant_answer",
        "respnse=A,loud=true",
        "constant_answer cannot be run as asked: 2 problems.\n"
        "  respnse: Unknown argument respnse. Did you mean response?\n"
        "  loud: Unknown argument loud. Known are response.",
    ),
    (
        "replay",
        "",
        "replay cannot be run as asked: 1 problem.\n"
        "  predictions: Expected this argument but found none. Remedy: --model_args predictions=…",
    ),
    (
        "replay",
        "out/run",
        "replay cannot be run as asked: 1 problem.\n  --model_args: Expected name=value,name=value but got `out/run`.",
    ),
    (
        "sample_solver",
        "pretrained=x",
        "sample_solver cannot be run as asked: 1 problem.\n  pretrained: Unknown argument pretrained. There are none.",
    ),
    ("random_answer", "seed=one", "Expected seed to be a whole number, but got 'one'."),
]


@pytest.mark.parametrize(("model", "arguments", "message"), ARGUMENTS)
def test_arguments_that_a_model_does_not_take(model: str, arguments: str, message: str, models: Any) -> None:
    with pytest.raises(InputError) as refused:
        models.get_model(model).create_from_arg_string(arguments, {"batch_size": 1, "max_batch_size": 2})
    assert str(refused.value) == message


def test_the_arguments_of_video_diffusion_are_all_of_its_choices(models: Any) -> None:
    with pytest.raises(InputError, match=r"(?s)familly: .*Did you mean family\?.*zzz: Unknown .* tiling"):
        models.get_model("video_diffusion").create_from_arg_string("familly=wan2.1-1.3b,zzz=1")


@pytest.mark.parametrize("model", [*MODELS, *CHAT_MODELS])
def test_our_classes_know_their_names(model: str, models: Any) -> None:
    assert model_name(models.get_model(model)) == model


def test_the_command_line_ends_and_a_program_gets_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        with ordinary_errors():
            raise RunStopped("no data")

    with pytest.raises(InputError, match=r"^no data$"):
        stop()
    with pytest.raises(InputError, match=r"^no data$"):
        stop_if_any("no data")
    stop_if_any(None)
    # As lmms-eval's command line is on the stack: whatever it calls, at any depth.
    names: dict[str, Any] = {"__name__": "lmms_eval.__main__", "ours": SimpleNamespace(stop=stop, if_any=stop_if_any)}
    for call in ("ours.stop()", "ours.if_any('no data')"):
        with pytest.raises(SystemExit) as ended:
            exec(call, names)
        assert ended.value.code == "\nno data"
    # The other ranks wait for one that cannot load its data, and end only when its process does.
    monkeypatch.setattr(replacements, "current_exchange", lambda: Exchange(0, 2))
    with pytest.raises(SystemExit):
        stop()
