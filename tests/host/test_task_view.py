"""What the view of a task shows and says, by its hooks alone."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from PIL.Image import Image
from refusals import refusal
from task_states import BoundState, aggregations, docs_of, new_state, task_state

from lmms_eval_tasks.finished.submit import find_form
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.benchmark.views import NO_CAPTION
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data import made as made_clips
from lmms_eval_tasks.utils.data.clips import PyavFrames, source_of
from lmms_eval_tasks.utils.data.home import media_path

pytestmark = pytest.mark.slow
TASK = "causalvqa_debug_paired"
POINTER = registry().tasks[TASK].pointer


def seen(view: str) -> tuple[BoundState, dict[str, Any]]:
    """The state of a view and its first row, in an evaluation that needs clips."""
    state = task_state(f"{TASK}_{view}" if view else TASK, Evaluation())
    doc = docs_of(state)[0]
    state.doc_to_text(doc, state.kwargs)
    return state, doc


def record_of(state: BoundState, doc: dict[str, Any], answer: str = "A") -> dict[str, Any]:
    record: dict[str, Any] = state.process_results(doc, [answer])["record"]
    return record


def clip_of(state: BoundState, doc: dict[str, Any]) -> Path:
    """The clip by which an answer to an item is kept."""
    (clip,) = state.shown.answered_items(Dataset.from_list([doc]))(0).files
    return clip


def test_the_answer_to_a_view_is_kept_by_the_frame_that_is_shown(world: Path) -> None:
    def kept_by(view: str) -> dict[str, Any]:
        state, doc = seen(view)
        return dict(state.shown.answered_items(Dataset.from_list([doc]))(0).shown)

    assert "frame" not in kept_by("")
    assert kept_by("single_frame")["frame"] == task_state(TASK).kind.frame


def views_made(home: Path) -> list[Path]:
    return list((home / "views").glob("??/[!.]*"))


def test_a_frame_drawn_at_random_is_asked_for_a_guess_where_its_filter_does(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MVP, appendix C.3; the control of its Table 4, and benchmarks without such a filter, ask in the task's words."""
    row = {"question": "Left or right?", "options": ["Left", "Right"], "asked": True}

    def asked(view: str, task: str = "mvp_mini_temporal_reasoning") -> str:
        text: str = task_state(f"{task}_{view}" if view else task).doc_to_text(row)
        return text

    whole, guessed = asked(""), asked("single_frame_random3")
    assert "best guess" in guessed and "Question: Left or right?" in guessed and "(A) Left" in guessed
    assert "best guess" not in whole
    assert {asked(f"single_frame{place}") for place in ("", "_first", "_centre", "_last")} == {whole}
    assert "best guess" not in asked("single_frame_random3", TASK)
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "mcq_letter")
    assert asked("single_frame_random3") == asked("")


ROW = {"item_id": "1", "clip": "1.mp4", "clip_backward": "1_back.mp4", "clip_present": True, "asked": True}


def encodes(task: str, **row: Any) -> tuple[Encode, ...]:
    return new_state(task, Evaluation()).shown.encodes({**ROW, **row})


def test_what_is_encoded_is_the_clip_and_what_is_seen_of_it(home: Path) -> None:
    clip = media_path("causalvqa", ROW)
    for view, seen_of_it in {
        "": "the clip",
        "_video_only": "the clip",
        "_captions": "the clip",
        "_reversed": "its frames, last first",
        "_single_frame": "last",
        "_single_frame_first": "first",
    }.items():
        assert encodes(f"{TASK}{view}") == (Encode(clip, seen_of_it, "frame" not in view),)
        assert encodes(f"{TASK}{view}", asked=False) == (), "the placeholder of a missing clip costs nothing"
    assert encodes(f"{TASK}_blind") == encodes(f"{TASK}_socratic") == ()
    (first,), (second,) = encodes("cast_bench_masked"), encodes("cast_bench_masked", item_id="2")
    assert first.clip == second.clip and first != second, "each mask of a clip is encoded by itself"
    assert [encode.clip.name for encode in encodes("yocausal")] == ["1.mp4", "1_back.mp4"]


def test_a_view_says_and_shows_its_part(world: Path) -> None:
    whole, doc = seen("")
    blind, same = seen("blind")
    assert blind.doc_to_visual(same) == [] and len(whole.doc_to_visual(doc)) == 1
    assert blind.doc_to_text(same) == whole.doc_to_text(doc)
    options, same = seen("video_only")
    text = options.doc_to_text(same)
    assert same["question"] not in text and all(option in text for option in same["options"])
    assert options.doc_to_visual(same) == whole.doc_to_visual(doc)
    record = record_of(options, same)
    assert record["view"] == "video_only" and record["fields"]["prompt"] == read_prompt("mcq_options").signature
    # A run may hold a task and its view.
    assert record_of(whole, doc)["fields"]["prompt"] != record["fields"]["prompt"]


def test_a_single_frame_is_a_picture_and_its_index_is_recorded(own_world: Path) -> None:
    for view, place in (("single_frame", -1), ("single_frame_first", 0), ("single_frame_random3", None)):
        state, doc = seen(view)
        (picture,) = state.doc_to_visual(doc)
        assert isinstance(picture, Image)
        frame = record_of(state, doc)["fields"]["frame"]
        reader = PyavFrames(clip_of(state, doc))
        assert 0 <= frame < reader.count and (place is None or frame == range(reader.count)[place])
        assert (np.asarray(picture) == reader.read([frame])[0]).all()


@pytest.mark.parametrize("view", ["shuffled", "reversed", "single_frame"])
def test_other_orders_are_made_once_and_grading_makes_nothing(
    own_world: Path, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, doc = seen(view)
    first = record_of(state, doc)
    assert first["outcome"] in ("correct", "wrong") and not views_made(own_world)
    if view != "single_frame":
        (made,) = state.doc_to_visual(doc)
        assert Path(made).is_relative_to(own_world / "views") and Path(made) != clip_of(state, doc)
        before = Path(made).stat().st_ino
        assert state.doc_to_visual(doc) == [made] and Path(made).stat().st_ino == before
    for reader in ("FrameStream", "PyavFrames"):
        monkeypatch.setattr(made_clips, reader, lambda *_, **__: pytest.fail("it is decoded again"))
    assert record_of(state, doc) == first


def test_a_store_that_is_full_is_not_filled_again_by_grading(own_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_VIEW_BYTES", "1")
    state, doc = seen("reversed")
    (made,) = state.doc_to_visual(doc)
    Path(made).unlink()  # as where room was needed for another one
    record_of(state, doc)
    assert not Path(made).exists()
    monkeypatch.setenv("LMMS_EVAL_TASKS_VIEW_BYTES", "many")
    assert Evaluation().problems([{**POINTER, "view": "blind"}]) is None
    assert "LMMS_EVAL_TASKS_VIEW_BYTES" in str(Evaluation().problems([{**POINTER, "view": "reversed"}]))


def test_a_model_that_reads_orders_is_shown_the_clip_and_the_order(own_world: Path) -> None:
    for view in ("shuffled", "reversed"):
        state, doc = seen(view)
        state.begin(ModelFacts(SimpleNamespace(reads_orders=True)))
        (shown,) = state.doc_to_visual(doc)
        assert source_of(shown) == (state.shown.clips(doc)[0], view) and not Path(shown).exists()
        assert record_of(state, doc)["outcome"] in ("correct", "wrong")
    assert not (own_world / "views").exists()


def test_clips_are_required_only_where_something_of_them_is_shown(own_world: Path) -> None:
    state, doc = seen("reversed")
    clip = clip_of(state, doc)
    clip.unlink()
    clip.write_bytes(b"no video")
    assert len(state.doc_to_visual(doc)) == 1
    record = record_of(state, doc)
    assert (record["outcome"], record["unscored_reason"]) == ("unscored", "unreadable clip")
    assert record["answered"] is None and str(clip.name) in record["detail"]
    for other in (own_world / "causalvqa" / "videos").rglob("*.mp4"):
        other.unlink()
    for view in ("blind", "socratic"):
        assert all(Evaluation().open_split({**POINTER, "view": view})["asked"])
    for view in ("single_frame", "shuffled", "reversed", "video_only", "captions"):
        with pytest.raises(InputError, match="clips are missing"):
            Evaluation().open_split({**POINTER, "view": view})


def use_captions(monkeypatch: pytest.MonkeyPatch, path: Path, *lines: object) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    monkeypatch.setenv("LMMS_EVAL_TASKS_CAPTIONS", str(path))


def test_a_caption_stands_in_place_of_the_clip(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, doc = seen("")
    for clip, caption in ((doc["clip"], "Two balls {meet}."), ("another.mp4", "A cat.")):
        use_captions(monkeypatch, tmp_path / f"{Path(clip).stem}.jsonl", {"clip": clip, "caption": caption})
        state, same = seen("socratic")
        text, record = state.doc_to_text(same), record_of(state, same)
        assert state.doc_to_visual(same) == []
        if clip == doc["clip"]:
            assert caption in text and whole.doc_to_text(doc) in text and record["outcome"] in ("correct", "wrong")
        else:
            assert NO_CAPTION in text and record["unscored_reason"] == "no caption"


def test_captions_that_cannot_be_used_are_refused_before_the_model_loads(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointer = {**POINTER, "view": "socratic"}
    assert "LMMS_EVAL_TASKS_CAPTIONS" in str(Evaluation().problems([pointer]))
    one = {"clip": "a.mp4", "caption": "x"}
    refused: dict[str, list[object]] = {
        "line 1": ["{"],
        "caption": [{"clip": "a.mp4"}],
        "Expected a text": [{**one, "caption": " "}],
        "Expected each once": [one, {**one, "caption": "y"}],
    }
    for said, lines in refused.items():
        use_captions(monkeypatch, tmp_path / "captions.jsonl", *lines)
        assert said in str(Evaluation().problems([pointer]))
    # A model that looks at nothing needs none.
    assert Evaluation(clips_needed=False).problems([pointer]) is None


def test_the_first_pass_describes_each_clip_once_and_scores_nothing(world: Path) -> None:
    state, doc = seen("captions")
    docs = docs_of(state)
    assert len({row["clip"] for row in docs}) == len(docs) < len(docs_of(task_state(TASK, Evaluation())))
    assert state.doc_to_text(doc) == read_prompt("caption").text and len(state.doc_to_visual(doc)) == 1
    record = record_of(state, doc, "A ball rolls.")
    assert (record["unscored_reason"], record["fields"]["clip"]) == ("only predicted", doc["clip"])


def test_rows_that_are_samples_of_one_item_have_no_error_of_their_own(world: Path) -> None:
    gathered = {}
    for view in ("", "none_of_these", "rotated"):
        state, doc = seen(view)
        gathered[view] = state.process_results(doc, ["A"])["single_accuracy"]
    assert gathered[""] and gathered["none_of_these"] and gathered["rotated"] is None


def test_no_view_writes_a_leaderboard_file() -> None:
    views = [f"{name}_{view}" for name, task in registry().tasks.items() for view in task.kind.views]
    for name in views:
        state = task_state(name)
        assert not state.submits and SUBMISSION_ROWS not in aggregations(state), name
    message = refusal(find_form, "mvp_mini_blind")
    assert message.startswith("mvp_mini_blind has no official submission: it shows a view")
    task = registry().tasks[TASK]
    variant = refusal(TaskState, "variant", {**task.pointer, "view": "sideways"}, task.metrics, Evaluation())
    assert "Expected a view of causalvqa, any of blind" in variant
