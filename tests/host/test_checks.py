"""What is checked before a model is loaded: names, arguments, weights, models and tasks that do not fit."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lmms_eval.models as models
import pytest
from huggingface_hub import errors
from refusals import refusal

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host.checks import (
    describe_absent,
    describe_limited_sample,
    describe_misfit,
    describe_shared_limit,
    describe_unknown,
    describe_unready,
    describe_unsplit,
)
from lmms_eval_tasks.host.manager import VIEW, find_pointers
from lmms_eval_tasks.host.model.identity import (
    HARDWARE,
    SOFTWARE,
    Weights,
    find_arguments,
    get_nested_attr,
    missing_requirements,
    needs_clips,
    own_models,
    read_weights,
    wrap_create,
)
from lmms_eval_tasks.host.ranks import Exchange, RunStopped, stop_if_any
from lmms_eval_tasks.models import CHAT_MODELS, MODELS
from lmms_eval_tasks.models.base import model_name
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_card import Missing
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError

WORDS, LOSSES = frozenset({AnswerForm.WORDS}), frozenset({AnswerForm.LOSSES})
SURPRISE = {"intphys2_surprise", "intphys2_debug_surprise"}
TASKS = {name: frozenset({task.kind.answer_form}) for name, task in registry().tasks.items()}
RESPONSE: Any = SimpleNamespace(headers={}, request=None)


def test_which_models_fit_which_tasks(expected: Any) -> None:
    assert {name for name, forms in TASKS.items() if forms == LOSSES} == {"yocausal"}
    assert {name for name, forms in TASKS.items() if forms == {AnswerForm.CLIP_LOSSES}} == SURPRISE
    for model, misfits in {
        "constant_answer": set(),
        "replay": set(),
        "random_answer": {"yocausal"},
        "sample_solver": {"yocausal"},
        "qwen2_5_vl": {"yocausal", *SURPRISE},
        "video_diffusion": set(TASKS) - {"yocausal", *SURPRISE},
        "no_such_model": set(),
    }.items():
        assert {name for name in TASKS if describe_misfit(model, {name: TASKS[name]})} == misfits
    expected(str(describe_misfit("video_diffusion", {"mvp_mini": WORDS, "yocausal_vlm": WORDS})))


def test_our_models_are_known_by_what_lmms_eval_lists() -> None:
    ours = {*MODELS, *CHAT_MODELS}
    assert set(own_models()) == ours
    assert {model for model in ours if model_name(models.get_model(model)) != model} == set()
    clipless = {"constant_answer", "random_answer", "replay"}
    assert {model for model in (*ours, "qwen2_5_vl", "no_such_model", None) if not needs_clips(model)} == clipless


def test_names_of_no_task_are_shown_the_nearest(expected: Any, tmp_path: Path) -> None:
    known = [*TASKS, "mvp_mini", "mme"]
    own = tmp_path / "own.yaml"
    own.write_text("task: own")
    given = ["mvp_mini", "mvp_*", "mvp_mi?i", "mvp_[f]ull", str(own)]
    assert describe_unknown(given, ["mvp_mini", "mvp_full"], known) is None
    expected(str(describe_unknown(["mvp_mni", "mme", "nothing_like_it", "mvp_minii*"], ["mme"], known)))
    assert "Did you mean causalvqa_debug_paired?" in (describe_unknown(["causalvqa_debug"], [], known) or "")


def test_an_output_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "out", Path("/proc/out")):
        found = describe_unready({"model": "replay", "model_args": "", "output_path": str(path)})
        assert found and found.startswith(f"The output path {path} cannot be written to: ")
    assert describe_unready({"model": "replay", "output_path": str(tmp_path / "new" / "out")}) is None
    assert describe_unready({"model": "replay", "output_path": None}) is None


def test_arguments_that_a_model_does_not_take(expected: Any) -> None:
    said = [
        refusal(models.get_model(model).create_from_arg_string, arguments, {"batch_size": 1, "max_batch_size": 2})
        for model, arguments in (
            ("constant_answer", "respnse=A,loud=true"),
            ("replay", ""),
            ("replay", "out/run"),
            ("sample_solver", "pretrained=x"),
            ("random_answer", "seed=one"),
            ("video_diffusion", "familly=wan2.1-1.3b,zzz=1"),
        )
    ]
    expected("\n\n".join(said))


def test_the_command_line_ends_and_a_program_gets_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        raise RunStopped("no data").for_program()

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
    monkeypatch.setattr(ranks, "current_exchange", lambda: Exchange(0, 2))
    with pytest.raises(SystemExit):
        stop()


def test_weights_that_cannot_be_had_are_named_before_they_are_loaded(
    expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    says: list[Exception] = []

    def ask(url: str) -> None:
        asked.append(url)
        if says:
            raise says[0]

    (tmp_path / "checkpoints" / "step-200").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", ask)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def find(name: str, error: Exception | None = None, model: str = "qwen2_5_vl", **more: str) -> str | None:
        says[:] = [error] if error else []
        return describe_absent(model, {"model" if model == "vllm" else "pretrained": name, **more})

    assert {find(there) for there in ("checkpoints/step-200", str(tmp_path), "own/model")} == {None}
    assert len(asked) == 1 and "/own/model/resolve/" in asked[0]
    missing = errors.RepositoryNotFoundError("404", response=RESPONSE)
    offline = errors.OfflineModeIsEnabled("offline")
    said = [find(wrong) for wrong in (f"{tmp_path}/nope", "checkpoints/run/step-20", "./nope")]
    said += [find("checkpoints/step-20", missing), find("own/nope", missing, model="vllm")]
    said += [find("own/gated", errors.GatedRepoError("403", response=RESPONSE)), find("own/model", offline)]
    said.append(find("own/model", errors.RevisionNotFoundError("404", response=RESPONSE), revision="v9"))
    assert None not in said
    expected("\n\n".join(map(str, said)))
    # Of our own models, too.
    assert find("own/nope", missing, model="shared_prefix") == str(said[4]).replace("vllm", "shared_prefix")
    (tmp_path / "hub" / "models--own--model" / "snapshots").mkdir(parents=True)
    assert find("own/model", offline) is None
    # It is there, and has no such file; somebody else's model; a server's model; none named.
    assert find("own/other", errors.RemoteEntryNotFoundError("404", response=RESPONSE)) is None
    assert find("nope", missing, model="no_such_model") is None
    assert describe_absent("async_openai", {"model": "nope"}) is describe_absent("qwen2_5_vl", {}) is None


def test_what_a_part_a_sample_and_a_share_go_with(monkeypatch: pytest.MonkeyPatch, expected: Any) -> None:
    lines: list[str] = []
    for shard, sample in (("", ""), ("1/2", ""), ("", "40"), ("1/2", "40"), ("x", "")):
        monkeypatch.setenv("LMMS_EVAL_TASKS_SHARD", shard)
        monkeypatch.setenv("LMMS_EVAL_TASKS_SAMPLE", sample)
        for others in ((), ("a",), ("a", "b")):
            lines.append(f"shard {shard}, sample {sample}, others {others}: {describe_unsplit(others)}")
        assert describe_unsplit(("a",), splits=False) is None
    monkeypatch.setenv("LMMS_EVAL_TASKS_SHARD", "")
    for sample in ("", "40"):
        monkeypatch.setenv("LMMS_EVAL_TASKS_SAMPLE", sample)
        for limit, offset in ((None, None), (8, 0), (0, 0), (-1, None), (0.5, 3), (None, 1)):
            found = describe_limited_sample(limit, offset)
            lines.append(f"sample {sample}, limit {limit}, offset {offset}: {found}")
            assert describe_limited_sample(limit, offset, splits=False) is None
    for limit in (None, 0, 0.5, 1, 8):
        lines += [f"limit {limit}, {others} others: {describe_shared_limit(limit, others)}" for others in (0, 1, 2)]
    expected("\n".join(lines))


def test_the_card_has_torch_s_cuda_or_that_it_is_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for version in ("12.8", None):
        monkeypatch.setattr("torch.version.cuda", version)
        found.append(SOFTWARE["CUDA of torch"]())
    assert found[0] == "12.8" and found[1].startswith("none: ")


class Broken:
    @property
    def model(self) -> object:
        raise RuntimeError("not loaded")


def test_an_adapter_is_asked_for_its_weights_where_it_can_answer() -> None:
    config = SimpleNamespace(_commit_hash="c0ffee")
    assert read_weights(SimpleNamespace(_config=config)) == Weights(commit="c0ffee")
    inner = SimpleNamespace(config=config, dtype="torch.float16")
    assert read_weights(SimpleNamespace(model=inner)) == Weights("c0ffee", "float16")
    counted = SimpleNamespace(_model=SimpleNamespace(num_parameters=lambda: 8_292_166_656))
    assert read_weights(counted) == Weights(parameters=8_292_166_656)
    assert read_weights(SimpleNamespace(model=SimpleNamespace(num_parameters=lambda: 0))) == Weights()
    uncounted = SimpleNamespace(model=SimpleNamespace(num_parameters=lambda: 1 // 0))
    assert read_weights(uncounted) == Weights()
    assert read_weights(Broken()) == read_weights(object()) == read_weights(None) == Weights()
    assert get_nested_attr(Broken(), "model", "config") is None


def test_a_model_knows_its_arguments_and_one_that_needs_gpus_in_several_processes_says_what_to_do() -> None:
    class Built:
        @classmethod
        def create(cls, arguments: str, _: object = None) -> object:
            if arguments in ("torchrun", "broken"):
                raise AssertionError({"torchrun": "Unsupported distributed type provided."}.get(arguments, "no file"))
            return cls()

    Built.create = wrap_create(vars(Built)["create"])  # type: ignore[method-assign]
    assert find_arguments(Built.create("pretrained=a,max=2")) == {"pretrained": "a", "max": "2"}
    assert find_arguments(Built()) is None
    with pytest.raises(AssertionError, match="no file"):
        Built.create("broken")
    assert refusal(Built.create, "torchrun").startswith(
        "lmms-eval's Built does not run in several processes without GPU"
    )


def test_packages_that_are_required_and_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    required = ["torch>=2", "not-there-1[all]>1; python_version > '3'", "not-there-2 ; extra == 'dev'", "json>=1", "no"]
    monkeypatch.setattr(metadata, "requires", lambda _: required)
    assert missing_requirements() == ["not-there-1", "no"]
    monkeypatch.setattr(metadata, "requires", lambda _: None)
    assert missing_requirements() == []


def test_hardware_is_named_also_where_the_system_says_little(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["H200", "T4", "H200"]
    for name, value in {
        "is_available": lambda: bool(names),
        "device_count": lambda: len(names),
        "get_device_name": names.__getitem__,
    }.items():
        monkeypatch.setattr(f"torch.cuda.{name}", value)
    files = {
        "version": "NVRM version: NVIDIA UNIX  Kernel Module  550.54\nGCC\n",
        "cpuinfo": "processor\t: 0\nmodel name\t: A CPU\nmodel name\t: another\n",
    }
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: files[path.name])
    asked = ("GPUs", "driver", "CPU")
    assert [HARDWARE[name]() for name in asked] == ["2 × H200, 1 × T4", "NVIDIA UNIX Kernel Module 550.54", "A CPU"]
    files.update(version="", cpuinfo="")
    assert HARDWARE["driver"]() == Missing("the kernel does not say") and HARDWARE["CPU"]() != ""
    names.clear()
    assert [HARDWARE[name]() for name in asked[:2]] == ["none", "none"]
    files["version"] = "NVRM version: 1\n"
    assert HARDWARE["driver"]() == "1"


def test_our_tasks_below_a_tag_a_group_or_alone_are_found_by_their_files() -> None:
    task = registry().find_task("causalvqa_paired")
    assert task is not None
    folder = task.benchmark.folder
    index: dict[str, dict[str, Any]] = {
        "tag": {"type": "tag", "yaml_path": -1, "task": ["group", "theirs", "tag"]},
        "group": {"type": "group", "yaml_path": -1, "task": ["causalvqa_paired", {"task": "inline"}]},
        "causalvqa_paired": {"type": "task", "yaml_path": str(folder / "causalvqa_paired.yaml")},
        "theirs": {"type": "task", "yaml_path": -1},
    }
    for name, pointers in (("tag", [task.pointer]), ("causalvqa_paired", [task.pointer]), ("theirs", []), ("none", [])):
        assert list(find_pointers(index, name)) == pointers
    index["causalvqa_paired"]["view"] = "blind"
    assert list(find_pointers(index, "group")) == [{**task.pointer, VIEW: "blind"}]
