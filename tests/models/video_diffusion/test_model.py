"""The registered model: arguments, kept answers, and what a run does when something is missing."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from expected import Expected
from kept_answers import kept_answers, kept_files, kept_lines
from tiny_models import BUILDERS, tiny_checkpoint

from lmms_eval_tasks.models.video_diffusion.denoising import Engine
from lmms_eval_tasks.models.video_diffusion.model import VideoDiffusion
from lmms_eval_tasks.models.video_diffusion.settings import read_settings
from lmms_eval_tasks.utils.answers.losses import read_denoising
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError

Clips = dict[str, tuple[Path, Path]]
Make = Callable[..., VideoDiffusion]


@pytest.fixture
def make(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Builds the model on a tiny Wan with its answers kept in a folder of the test."""
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")

    def build(**arguments: Any) -> VideoDiffusion:
        chosen = {
            "family": "wan2.1-1.3b",
            "pretrained": str(tiny_checkpoint(checkpoints, "wan2.1-1.3b")),
            "dtype": "float32",
            "cache": str(tmp_path / "cache"),
            **BUILDERS["wan2.1-1.3b"][1],
            **arguments,
        }
        return VideoDiffusion(**chosen)

    return build


def rows(clips: Clips) -> list[dict[str, Any]]:
    return [
        {"item_id": f"{name}-1", "clip": str(forward), "clip_backward": str(backward), "caption": name, "asked": True}
        for name, (forward, backward) in clips.items()
        if name != "tiny"
    ]


def ask(model: VideoDiffusion, table: list[dict[str, Any]], which: list[int] | None = None) -> list[str]:
    model.task_dict = {"yocausal": {"test": table}}

    def visual(doc: dict[str, Any]) -> list[str]:
        return [doc["clip"], doc["clip_backward"]]

    asked = range(len(table)) if which is None else which
    requests = [SimpleNamespace(args=("", {}, visual, index, "yocausal", "test")) for index in asked]
    return [str(answer) for answer in model.generate_until(requests)]


def faults(texts: list[str]) -> list[str | None]:
    """What went wrong of each answer, None where nothing did."""
    answers = [read_denoising(text) for text in texts]
    return [answer.error.kind if answer.error else None for answer in answers if answer is not None]


def test_a_killed_run_goes_on_and_repeats_nothing(make: Make, clips: Clips, monkeypatch: pytest.MonkeyPatch) -> None:
    """And asks again about a pair whose clip had gone."""
    table = rows(clips)
    whole = ask(make(cache="none"), table)
    gone = [{**table[0], "asked": False}, {**table[1], "clip": "gone.mp4"}]
    assert [json.loads(text)["error"]["kind"] for text in ask(make(), gone)] == ["no_clip", "unreadable_clip"]
    measured: list[str] = []
    measure = Engine.measure

    def watched(self: Engine, pair: Any, *more: Any) -> Any:
        measured.append(pair.item_id)
        if len(measured) == 3:
            raise KeyboardInterrupt
        return measure(self, pair, *more)

    monkeypatch.setattr(Engine, "measure", watched)
    with pytest.raises(KeyboardInterrupt):
        ask(make(), table)
    assert ask(make(), table) == whole
    assert measured == ["long-1", "other-1", "short-1", "short-1"]
    model = make()
    monkeypatch.setattr(model.engine.adapter, "encode_text", lambda *args: 1 / 0)
    assert ask(model, table) == whole
    assert len(measured) == 4


def test_kept_answers_are_for_the_same_settings_captions_and_clips(make: Make, clips: Clips, tmp_path: Path) -> None:
    table = rows(clips)[:1]
    before = ask(make(), table)
    assert make().engine.digests == make(batch=1, offload=True).engine.digests
    for other in ({"seed": 1}, {"target": "noise"}, {"prompt": "null"}, {"protocol": "wan_scripts"}):
        assert ask(make(**other), table) != before
    assert ask(make(), [{**table[0], "caption": "another"}]) != before
    forward, backward = tmp_path / "f.mp4", tmp_path / "b.mp4"
    forward.write_bytes(Path(table[0]["clip"]).read_bytes())
    backward.write_bytes(Path(table[0]["clip_backward"]).read_bytes())
    moved = [{**table[0], "clip": str(forward), "clip_backward": str(backward)}]
    assert ask(make(), moved) == before
    forward.write_bytes(clips["other"][0].read_bytes())
    assert ask(make(), moved) != before
    # Answers go by the weights that are in the folder, and the name that they have now.
    model, renamed = make(), make(name="Causal Wan")
    (again,) = (read_denoising(text) for text in ask(renamed, table))
    assert again is not None and again.settings["model"] == "Causal Wan" and renamed.answers_kept == 1
    assert again.settings_digest == renamed.engine.digests[AnswerForm.LOSSES]
    folder = shutil.copytree(model.engine.settings.pretrained, tmp_path / "trained")
    digests = make(pretrained=str(folder)).engine.digests
    (folder / "note.txt").write_text("trained on", encoding="utf-8")
    assert make(pretrained=str(folder)).engine.digests != digests


def test_a_broken_kept_answer_is_measured_again_and_a_cache_that_cannot_be_written_costs_none(
    make: Make, clips: Clips, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = rows(clips)[:1]
    before = ask(make(), table)
    (kept,) = kept_files(tmp_path / "cache")
    kept.write_text("{", encoding="utf-8")
    assert ask(make(), table) == before
    assert [line["answer"] for line in kept_lines(tmp_path / "cache")] == before
    taken = tmp_path / "taken"
    taken.write_text("a file, so no folder can be made in it", encoding="utf-8")
    assert ask(make(cache=str(taken)), table) == before
    assert "the answer about long-1 cannot be kept and would be measured again" in caplog.text


def test_answers_are_kept_by_default(make: Make, clips: Clips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    table = rows(clips)[:1]
    whole = ask(make(cache=None), table)
    assert len(kept_answers(tmp_path / "home" / "answers" / "video_diffusion")) == 1
    model = make(cache=None)
    model.keep_answers_in(tmp_path / "out" / "answers")
    assert ask(model, table) == whole and model.answers_kept == 0
    assert ask(model, table) == whole and model.answers_kept == 1
    assert len(kept_answers(tmp_path / "out" / "answers" / "video_diffusion")) == 1
    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWERS", "none")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "unused"))
    for model in (make(cache=None), make(cache="none")):
        assert ask(model, table) == whole and model.answers_kept is None
    assert not (tmp_path / "unused").exists()
    # The argument goes before the run's folder.
    model = make()
    model.keep_answers_in(tmp_path / "other" / "answers")
    ask(model, table)
    assert len(kept_answers(tmp_path / "cache")) == 1 and not (tmp_path / "other").exists()


def test_a_fault_of_the_set_up_ends_the_run(
    make: Make, clips: Clips, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = [{**row, "item_id": f"{row['item_id']}-{number}"} for number in range(2) for row in rows(clips)]
    model, measured = make(), []
    measure_pair = Engine._measure

    def broken(self: Engine, pair: Any, *more: Any) -> Any:
        measured.append(pair.item_id)
        if len(measured) in (2, 4, 5, 6):
            raise RuntimeError(f"Expected 16 channels for {pair.item_id}, but got {len(measured)}.")
        return measure_pair(self, pair, *more)

    monkeypatch.setattr(Engine, "_measure", broken)
    with pytest.raises(SystemExit) as stopped:
        ask(model, table)
    assert len(measured) == 6, "one pair that was measured in between starts the count anew"
    told = str(stopped.value)
    assert "3 pairs in a row failed in the same way, so the others would too:" in told
    assert "RuntimeError: Expected 16 channels" in told and str(model.engine.settings.pretrained) in told
    assert sum(record.exc_info is not None for record in caplog.records) == 1
    measured.clear()

    def measure(self: Engine, pair: Any, *more: Any) -> Any:
        measured.append(pair.item_id)
        return measure_pair(self, pair, *more)

    monkeypatch.setattr(Engine, "_measure", measure)
    assert faults(ask(make(), table)) == [None] * len(table)
    assert len(measured) == 4


def test_faults_that_differ_or_are_the_clips_end_nothing(
    make: Make, clips: Clips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = [{**row, "clip": str(tmp_path / "gone.mp4")} for row in rows(clips)] * 2
    assert faults(ask(make(), unreadable)) == ["unreadable_clip"] * len(unreadable)
    letters = iter("abcabcabc")
    monkeypatch.setattr(Engine, "_measure", lambda self, *asked: int(next(letters)))
    assert set(faults(ask(make(), rows(clips) * 3))) == {"failed"}


def test_weights_that_are_not_the_familys_have_a_name_of_their_own(tmp_path: Path, expected: Expected) -> None:
    messages = []
    for pretrained, name in (
        (None, "Wan2.1-T2V-1.3B"),
        ("me/wan-causal", "me/wan-causal"),
        ("wan-causal", "wan-causal"),
        ("checkpoint-500", None),
        ("1500", None),
        ("out/final", None),
        ("snapshots/" + "0a" * 20, None),
    ):
        if pretrained and not pretrained.startswith("me/"):
            (tmp_path / pretrained).mkdir(parents=True)
            pretrained = str(tmp_path / pretrained)
        if name is not None:
            assert read_settings("wan2.1-1.3b", {"pretrained": pretrained}).name == name
            continue
        with pytest.raises(InputError) as error:
            read_settings("wan2.1-1.3b", {"pretrained": pretrained})
        messages.append(str(error.value))
        named = {"pretrained": pretrained, "name": "Causal Wan"}
        assert read_settings("wan2.1-1.3b", named).name == "Causal Wan"
    expected("\n".join(messages))


def test_choices_that_cannot_be_used_are_listed_together(
    make: Make, tmp_path: Path, checkpoints: Path, expected: Expected
) -> None:
    (tmp_path / "empty").mkdir()
    other = shutil.copytree(tiny_checkpoint(checkpoints, "animatediff-sd1.5"), tmp_path / "other")
    messages = []
    for arguments in (
        {"family": "sora"},
        {"family": ""},
        {"target": "velocity", "protocol": "own", "seed": -1},
        {"frames": 10, "height": 40},
        {"heigth": 32},
        {"batch": 0},
        {"offload": "disk"},
        {"pretrained": str(tmp_path / "empty"), "name": "x"},
        {"pretrained": str(other), "name": "x"},
    ):
        with pytest.raises(InputError) as stopped:
            make(**arguments)
        messages.append(str(stopped.value).partition("\n  OSError")[0])
    expected("\n".join(messages))


def test_without_diffusers_one_message_says_what_to_install(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lmms_eval_tasks.models.video_diffusion.adapters", raising=False)
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(InputError) as stopped:
        make()
    assert str(stopped.value).strip() == (
        'video_diffusion needs diffusers, which is not installed. Remedy: pip install "lmms-eval-tasks[diffusion]"'
    )
