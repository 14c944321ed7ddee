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
from submission_world import prepare_world
from task_states import BoundState, aggregations, docs_of, new_state, task_state

from lmms_eval_tasks.finished.submit import find_form
from lmms_eval_tasks.host.tasks import task_view
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.host.tasks.task_view import UNANSWERED, Encode
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data import made as made_clips
from lmms_eval_tasks.utils.data.frames import PyavFrames, source_of
from lmms_eval_tasks.utils.data.home import home as data_home
from lmms_eval_tasks.utils.data.home import media_path

TASK = "causalvqa_debug_paired"


@pytest.fixture
def world(home: Path, tmp_path: Path) -> Path:
    prepare_world(tmp_path / "releases")
    return tmp_path


def seen(view: str, task: str = TASK) -> tuple[BoundState, dict[str, Any]]:
    """The state of a view and its first row, in an evaluation that needs clips."""
    state = task_state(f"{task}_{view}" if view else task, Evaluation())
    doc = docs_of(state)[0]
    state.doc_to_text(doc, state.kwargs)
    return state, doc


@pytest.mark.slow
def test_without_the_clip_the_words_are_the_same(world: Path) -> None:
    whole, doc = seen("")
    blind, same = seen("blind")
    assert blind.doc_to_visual(same) == [] and len(whole.doc_to_visual(doc)) == 1
    assert blind.doc_to_text(same) == whole.doc_to_text(doc)


ROW = {"item_id": "1", "clip": "1.mp4", "clip_backward": "1_back.mp4", "clip_present": True, "asked": True}


def encodes(task: str, **row: Any) -> tuple[Encode, ...]:
    return new_state(task, Evaluation()).shown.encodes({**ROW, **row})


@pytest.mark.parametrize(
    ("view", "seen_of_it", "is_video"),
    [
        ("", "the clip", True),
        ("_video_only", "the clip", True),
        ("_captions", "the clip", True),
        ("_reversed", "its frames, last first", True),
        ("_single_frame", "last", False),
        ("_single_frame_first", "first", False),
    ],
)
def test_what_is_encoded_is_the_clip_and_what_is_seen_of_it(
    view: str, seen_of_it: str, is_video: bool, home: Path
) -> None:
    clip = media_path("causalvqa", ROW)
    assert encodes(f"{TASK}{view}") == (Encode(clip, seen_of_it, is_video),)
    assert encodes(f"{TASK}{view}", asked=False) == (), "the placeholder of a missing clip costs nothing"


@pytest.mark.parametrize("view", ["blind", "socratic"])
def test_where_no_clip_is_shown_nothing_is_encoded(view: str, home: Path) -> None:
    assert encodes(f"{TASK}_{view}") == ()


def test_each_mask_of_a_clip_is_encoded_by_itself(home: Path) -> None:
    (first,), (second,) = encodes("cast_bench_masked"), encodes("cast_bench_masked", item_id="2")
    assert first.clip == second.clip and first != second


def test_clips_that_are_shown_together_are_encoded_together(home: Path) -> None:
    assert [encode.clip.name for encode in encodes("yocausal")] == ["1.mp4", "1_back.mp4"]


@pytest.mark.slow
def test_options_alone_leave_the_question_out_and_the_clip_in(world: Path) -> None:
    whole, doc = seen("")
    state, same = seen("video_only")
    text = state.doc_to_text(same)
    assert same["question"] not in text and all(option in text for option in same["options"])
    assert state.doc_to_visual(same) == whole.doc_to_visual(doc)
    record = state.process_results(same, ["A"])["record"]
    assert record["view"] == "video_only" and record["fields"]["prompt"] == read_prompt("mcq_options").signature
    # A run may hold a task and its view.
    assert whole.process_results(doc, ["A"])["record"]["fields"]["prompt"] != record["fields"]["prompt"]


def clip_of(state: BoundState, doc: dict[str, Any]) -> Path:
    """The clip by which an answer to an item is kept."""
    (clip,) = state.answered_items(Dataset.from_list([doc]))(0).files
    return clip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "place"), [("single_frame", -1), ("single_frame_first", 0), ("single_frame_random3", None)]
)
def test_a_single_frame_is_a_picture_and_its_index_is_recorded(world: Path, view: str, place: int | None) -> None:
    state, doc = seen(view)
    (picture,) = state.doc_to_visual(doc)
    assert isinstance(picture, Image)
    frame = state.process_results(doc, ["A"])["record"]["fields"]["frame"]
    reader = PyavFrames(clip_of(state, doc))
    expected = range(reader.count)[place] if place is not None else frame
    assert frame == expected and 0 <= frame < reader.count
    assert (np.asarray(picture) == reader.read([frame])[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("view", ["shuffled", "reversed"])
def test_other_orders_are_other_clips_that_are_made_once(world: Path, view: str) -> None:
    state, doc = seen(view)
    (made,) = state.doc_to_visual(doc)
    assert Path(made).is_relative_to(data_home() / "views") and Path(made) != clip_of(state, doc)
    before = Path(made).stat().st_ino
    assert state.doc_to_visual(doc) == [made] and Path(made).stat().st_ino == before


@pytest.mark.slow
@pytest.mark.parametrize("view", ["shuffled", "reversed", "single_frame"])
def test_grading_makes_nothing_and_a_clip_is_decoded_once_for_it(
    world: Path, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, doc = seen(view)
    first = state.process_results(doc, ["A"])["record"]
    assert first["outcome"] in ("correct", "wrong")
    assert not list((data_home() / "views").glob("??/[!.]*"))
    for reader in ("FrameStream", "PyavFrames"):
        monkeypatch.setattr(made_clips, reader, lambda *_, **__: pytest.fail("it is decoded again"))
    assert state.process_results(doc, ["A"])["record"] == first


@pytest.mark.slow
def test_a_store_that_is_full_is_not_filled_again_by_grading(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_VIEW_BYTES", "1")
    state, doc = seen("reversed")
    (made,) = state.doc_to_visual(doc)
    Path(made).unlink()  # as where room was needed for another one
    state.process_results(doc, ["A"])
    assert not Path(made).exists()


@pytest.mark.slow
def test_an_item_that_was_answered_is_graded_again_without_its_clip(world: Path) -> None:
    state, doc = seen("shuffled")
    record = state.process_results({**doc, UNANSWERED: None}, ["A"])["record"]
    assert record["outcome"] in ("correct", "wrong") and not (data_home() / "views").exists()


@pytest.mark.slow
def test_a_model_that_reads_orders_is_shown_the_clip_and_the_order(world: Path) -> None:
    for view in ("shuffled", "reversed"):
        state, doc = seen(view)
        state.evaluation.model = SimpleNamespace(reads_orders=True)
        (shown,) = state.doc_to_visual(doc)
        assert source_of(shown) == (state.shown.clips(doc)[0], view) and not Path(shown).exists()
        assert state.process_results(doc, ["A"])["record"]["outcome"] in ("correct", "wrong")
    assert not (data_home() / "views").exists()


@pytest.mark.slow
def test_clips_are_required_only_where_something_of_them_is_shown(world: Path) -> None:
    for clip in (data_home() / "causalvqa" / "videos").rglob("*.mp4"):
        clip.unlink()
    pointer = registry().tasks[TASK].pointer
    for view in ("blind", "socratic"):
        table = Evaluation().open_split({**pointer, "view": view})
        assert all(table["asked"])
    for view in ("single_frame", "shuffled", "reversed", "video_only", "captions"):
        with pytest.raises(InputError, match="clips are missing"):
            Evaluation().open_split({**pointer, "view": view})


@pytest.mark.slow
def test_a_clip_of_which_nothing_can_be_made_is_unscored_and_shown_black(world: Path) -> None:
    clip = next((data_home() / "causalvqa" / "videos").rglob("*.mp4"))
    clip.unlink()
    clip.write_bytes(b"no video")
    state, doc = seen("reversed")
    assert len(state.doc_to_visual(doc)) == 1
    record = state.process_results(doc, ["A"])["record"]
    assert (record["outcome"], record["unscored_reason"]) == ("unscored", "unreadable clip")
    assert record["answered"] is None and str(clip.name) in record["detail"]


def write_captions(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_caption_stands_in_place_of_the_clip(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = docs_of(task_state(TASK, Evaluation()))[0]["clip"]
    file = write_captions(world / "captions.jsonl", {"clip": clip, "caption": "Two balls {meet}."})
    monkeypatch.setenv("LMMS_EVAL_TASKS_CAPTIONS", str(file))
    whole, doc = seen("")
    state, same = seen("socratic")
    assert state.doc_to_visual(same) == []
    assert "Two balls {meet}." in state.doc_to_text(same) and whole.doc_to_text(doc) in state.doc_to_text(same)
    assert state.process_results(same, ["A"])["record"]["outcome"] in ("correct", "wrong")


@pytest.mark.slow
def test_an_item_without_a_caption_is_unscored(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_captions(world / "captions.jsonl", {"clip": "another.mp4", "caption": "A cat."})
    monkeypatch.setenv("LMMS_EVAL_TASKS_CAPTIONS", str(file))
    state, doc = seen("socratic")
    assert task_view.NO_CAPTION in state.doc_to_text(doc)
    assert state.process_results(doc, ["A"])["record"]["unscored_reason"] == "no caption"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["{"], "line 1"),
        ([{"clip": "a.mp4"}], "caption"),
        ([{"clip": "a.mp4", "caption": " "}], "Expected a text"),
        ([{"clip": "a.mp4", "caption": "x"}, {"clip": "a.mp4", "caption": "y"}], "Expected each once"),
    ],
)
def test_captions_that_cannot_be_used_are_refused_before_the_model_loads(
    world: Path, monkeypatch: pytest.MonkeyPatch, lines: list[object], expected: str
) -> None:
    pointer = {**registry().tasks[TASK].pointer, "view": "socratic"}
    assert "LMMS_EVAL_TASKS_CAPTIONS" in str(Evaluation().problems([pointer]))
    monkeypatch.setenv("LMMS_EVAL_TASKS_CAPTIONS", str(write_captions(world / "captions.jsonl", *lines)))
    assert expected in str(Evaluation().problems([pointer]))
    # A model that looks at nothing needs none.
    assert Evaluation(clips_needed=False).problems([pointer]) is None


@pytest.mark.slow
def test_the_first_pass_describes_each_clip_once_and_scores_nothing(world: Path) -> None:
    state, doc = seen("captions")
    docs = docs_of(state)
    assert len({row["clip"] for row in docs}) == len(docs) < len(docs_of(task_state(TASK, Evaluation())))
    assert state.doc_to_text(doc) == read_prompt("caption").text and len(state.doc_to_visual(doc)) == 1
    record = state.process_results(doc, ["A ball rolls."])["record"]
    assert (record["unscored_reason"], record["fields"]["clip"]) == ("only predicted", doc["clip"])


VIEWS = [f"{name}_{view}" for name, task in registry().tasks.items() for view in task.kind.views]


@pytest.mark.parametrize("name", VIEWS)
def test_no_view_writes_a_leaderboard_file(name: str) -> None:
    state = task_state(name)
    assert not state.submits
    assert SUBMISSION_ROWS not in aggregations(state)


def test_submit_refuses_a_view_by_its_name() -> None:
    with pytest.raises(InputError, match="mvp_mini_blind has no official submission: it shows a view"):
        find_form("mvp_mini_blind")


def test_a_pointer_that_names_no_view_is_refused() -> None:
    task = registry().tasks[TASK]
    with pytest.raises(InputError, match="Expected a view of causalvqa, any of blind"):
        TaskState("variant", {**task.pointer, "view": "sideways"}, task.metrics, Evaluation())


@pytest.mark.slow
def test_a_limit_of_bytes_is_a_number(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_VIEW_BYTES", "many")
    pointer = registry().tasks[TASK].pointer
    assert Evaluation().problems([{**pointer, "view": "blind"}]) is None
    assert "LMMS_EVAL_TASKS_VIEW_BYTES" in str(Evaluation().problems([{**pointer, "view": "reversed"}]))
