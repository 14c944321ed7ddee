"""Views of tasks that are not ours: a configuration with wrapped hooks, and the files that ask for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from numbered_clips import write_numbered
from PIL.Image import Image

from lmms_eval_tasks.host.other_views import KEY, OFFERED, bind_view
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.view_files import write_views
from lmms_eval_tasks.utils.core.problems import InputError


@pytest.fixture
def clip(home: Path, tmp_path: Path) -> Path:
    return write_numbered(tmp_path / "clip.mp4", 12)


def show_with_settings(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, Any] | None = None) -> list[str]:
    assert lmms_eval_specific_kwargs == {"sub_task": "x"}
    return [doc["video"]]


def config(view: str, **hooks: Any) -> dict[str, Any]:
    own = {"doc_to_visual": lambda doc: [doc["video"]], "doc_to_text": lambda doc, settings=None: doc["question"]}
    return {"task": "other", "metadata": {"version": 0, KEY: view}, **own, **hooks}


def test_a_task_that_names_no_view_is_left_as_it_is() -> None:
    for metadata in (None, {"version": 1}, [{"version": 1}]):
        other = {"task": "other", "metadata": metadata, "doc_to_visual": print}
        assert bind_view(other) is other


@pytest.mark.parametrize("view", ["blind", "single_frame", "single_frame_first", "shuffled", "reversed"])
def test_the_visuals_of_a_task_are_those_of_its_view(view: str, clip: Path) -> None:
    doc = {"video": str(clip), "question": "What?"}
    bound = bind_view(config(view))
    shown = bound["doc_to_visual"](doc)
    if view == "blind":
        assert shown == []
    elif view.startswith("single_frame"):
        assert len(shown) == 1 and isinstance(shown[0], Image)
    else:
        assert len(shown) == 1 and Path(shown[0]).is_file() and shown != [str(clip)]
    assert bound["doc_to_text"](doc) == "What?"


def test_messages_lose_or_change_their_videos_and_keep_their_words(clip: Path) -> None:
    def messages(doc: dict[str, Any]) -> list[dict[str, Any]]:
        content = [{"type": "video", "url": doc["video"]}, {"type": "text", "text": doc["question"]}]
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]

    doc = {"video": str(clip), "question": "What?"}
    kinds = {
        view: [
            part["type"]
            for part in bind_view(config(view, doc_to_messages=messages))["doc_to_messages"](doc)[1]["content"]
        ]
        for view in ("blind", "single_frame", "reversed")
    }
    assert kinds == {"blind": ["text"], "single_frame": ["image", "text"], "reversed": ["video", "text"]}


def test_a_caption_stands_in_place_of_the_clip(clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunStopped, match="LMMS_EVAL_TASKS_CAPTIONS"):
        bind_view(config("socratic"))
    captions = tmp_path / "captions.jsonl"
    captions.write_text(json.dumps({"clip": clip.name, "caption": "A number grows."}) + "\n", encoding="utf-8")
    monkeypatch.setenv("LMMS_EVAL_TASKS_CAPTIONS", str(captions))
    bound = bind_view(config("socratic", doc_to_visual=show_with_settings))
    doc, settings = {"video": str(clip), "question": "What?"}, {"sub_task": "x"}
    assert bound["doc_to_visual"](doc, settings) == []
    text = bound["doc_to_text"](doc, settings)
    assert "A number grows." in text and text.endswith("What?")
    with pytest.raises(RunStopped, match=r"there is none of other\.mp4"):
        bound["doc_to_text"]({"video": "other.mp4", "question": "What?"}, settings)


@pytest.mark.parametrize("view", ["video_only", "captions", "masked", "sideways"])
def test_views_that_need_more_than_hooks_are_refused(view: str) -> None:
    with pytest.raises(RunStopped, match=f"any of {OFFERED[0]}"):
        bind_view(config(view))


def test_a_task_without_paths_of_videos_is_refused(clip: Path) -> None:
    with pytest.raises(RunStopped, match="by doc_to_visual, but it does not"):
        bind_view(config("blind", doc_to_visual=None))
    with pytest.raises(RunStopped, match="only those have views, but got bytes"):
        bind_view(config("reversed", doc_to_visual=lambda doc: [b"frames"]))["doc_to_visual"]({})


def test_files_are_written_for_every_view_of_every_task_or_for_none(tmp_path: Path) -> None:
    folder, out = tmp_path / "tasks", tmp_path / "views"
    folder.mkdir()
    (folder / "some_clip_task.yaml").write_text(
        "task: some_clip_task\ndataset_path: json\ndoc_to_visual: !function utils.show\nmetadata:\n  version: 3\n"
    )
    (folder / "some_text_task.yaml").write_text("task: some_text_task\ndataset_path: json\n")
    with pytest.raises(InputError) as refused:
        write_views(["some_*", "mvp_mini", "no_such_task"], ["blind"], out, str(folder))
    for expected in ("some_text_task", "doc_to_visual", "no_such_task", "mvp_mini", "its views are there already"):
        assert expected in str(refused.value)
    assert not out.exists()
    names = ["some_clip_task_blind", "some_clip_task_single_frame_random3"]
    assert write_views(["some_clip*"], ["blind", "single_frame_random3"], out, str(folder)) == names
    for name in names:
        written = yaml.safe_load((out / f"{name}.yaml").read_text(encoding="utf-8"))
        assert written["task"] == name and written["metadata"] == {
            "version": 3,
            KEY: name.removeprefix("some_clip_task_"),
        }
        assert Path(written["include"]) == folder / "some_clip_task.yaml"
