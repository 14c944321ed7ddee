"""A model that fails over a clip: whether the clip is at fault, and what of the run goes on."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from releases import write_clip

from lmms_eval_tasks.host.asking import unanswered as unreadable_clips
from lmms_eval_tasks.host.asking.stages import AskedModel
from lmms_eval_tasks.host.asking.unanswered import UnreadableClips, find_fault
from lmms_eval_tasks.host.model.readers import OURS, ClipReader
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.data.clips import write_placeholder
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"


def reader(*broken: Path) -> ClipReader:
    """A reader that cannot read some clips."""

    def read(path: Path, frames: int) -> tuple[int, str]:
        if path in broken:
            raise RuntimeError("no decoder for AV1")
        return OURS.read(path, frames)

    return ClipReader("some reader", read)


def test_a_clip_is_at_fault_where_it_ends_too_early_or_the_reader_can_read_others(tmp_path: Path) -> None:
    good, sound = write_clip(tmp_path / "good.mp4"), tmp_path / "sound.mp4"
    write_placeholder(sound)
    for one in (None, OURS, reader(sound), reader(good, sound)):  # the last two read nothing at all
        assert find_fault(good, sound, one) is None
    assert find_fault(good, sound, reader(good)) == (
        f"Expected {good} to be read by some reader, but RuntimeError: no decoder for AV1"
    )
    assert "cannot be decoded" in (find_fault(CLIPS / "damaged_inside.mp4", sound, None) or "")
    assert "it was cut off: it lacks at least 3,14" in (find_fault(CLIPS / "cut_short.mp4", sound, None) or "")
    assert "cannot be opened" in (find_fault(tmp_path / "none.mp4", sound, None) or "")


class Model:
    """Answers with the names of clips, all of a call at once, unless it stumbles over one."""

    def __init__(self, clips: list[Path], stumbles: str = "damaged", says: str | None = None) -> None:
        self.calls: list[list[str]] = []
        self.stumbles, self.says = stumbles, says
        self.task_dict = {"ours": {"test": [{"item_id": clip.stem, "clip": clip} for clip in clips]}}

    def generate_until(self, requests: list[Any]) -> list[str]:
        names = [self.task_dict["ours"]["test"][request.args[-3]]["item_id"] for request in requests]
        self.calls.append(names)
        if self.stumbles in names and self.says:
            return [self.says] * len(names)
        if self.stumbles in names:
            raise ValueError(f"cannot read {self.stumbles}")
        return names


@pytest.fixture
def clips(home: Path, tmp_path: Path) -> list[Path]:
    (home / "some").mkdir(parents=True)
    write_placeholder(home / "some" / "placeholder.mp4")
    shutil.copy(CLIPS / "damaged_inside.mp4", tmp_path / "damaged.mp4")
    return [write_clip(tmp_path / "a.mp4"), tmp_path / "damaged.mp4", write_clip(tmp_path / "b.mp4")]


def ask(model: Model, evaluation: Evaluation, theirs: int = 0) -> list[str]:
    shown = SimpleNamespace(clips=lambda row: (row["clip"],))
    state = SimpleNamespace(name="ours", benchmark=SimpleNamespace(name="some"), shown=shown)
    evaluation.tasks["ours"] = state  # type: ignore[assignment]
    tasks = ["ours"] * 3 + ["theirs"] * theirs
    requests = [
        SimpleNamespace(task_name=task, args=("What?", {}, None, number % 3, "ours", "test"), metadata={})
        for number, task in enumerate(tasks)
    ]
    with AskedModel(model, UnreadableClips(model, evaluation)).lasting():
        answers: list[str] = model.generate_until(requests)
    assert "generate_until" not in vars(model), "the model is left as it was"
    return answers


def test_the_others_are_asked_again_once(clips: list[Path]) -> None:
    model, evaluation = Model(clips), Evaluation()
    assert ask(model, evaluation, theirs=1) == ["a", "", "b", "a"]
    assert model.calls == [["a", "damaged", "b", "a"], ["a", "b", "a"]]
    reason, detail = evaluation.unanswered["ours", "damaged"]
    assert reason is UnscoredReason.UNREADABLE_CLIP and "damaged.mp4" in detail and len(evaluation.unanswered) == 1


def test_what_an_adapter_says_in_place_of_an_answer_is_looked_into(clips: list[Path]) -> None:
    failed = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] module has no attribute read_video"
    model, evaluation = Model(clips, says=failed), Evaluation()
    assert ask(model, evaluation) == ["a", "", "b"] and model.calls[1:] == [["a", "b"]]
    assert evaluation.unanswered["ours", "damaged"][0] is UnscoredReason.UNREADABLE_CLIP
    # One that has each answer from a call of its own is not asked again.
    apart, evaluation = Model(clips, says=failed), Evaluation()
    apart.maybe_forward_with_tool = None  # type: ignore[attr-defined]
    assert ask(apart, evaluation) == [failed, "", failed] and len(apart.calls) == 1
    assert list(evaluation.unanswered) == [("ours", "damaged")]
    outage, evaluation = Model([clips[0], clips[2], clips[0]], "b", says=failed), Evaluation()
    assert ask(outage, evaluation) == [failed] * 3 and len(outage.calls) == 1 and not evaluation.unanswered


def test_a_failure_that_no_clip_explains_is_raised(clips: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = Evaluation()
    whole = [clips[0], clips[2], clips[0]]
    with pytest.raises(ValueError, match="cannot read b"):
        ask(Model(whole, stumbles="b"), evaluation)
    assert not evaluation.unanswered
    # One that goes on without the damaged clip ends the run too.
    with pytest.raises(ValueError, match="cannot read b"):
        ask(Model(clips, stumbles="b"), Evaluation())
    monkeypatch.setattr(unreadable_clips, "find_reader", lambda kind, arguments: reader(*whole))
    assert ask(Model(whole, stumbles="b"), evaluation) == ["", "", ""], "its reader cannot read any of these"
