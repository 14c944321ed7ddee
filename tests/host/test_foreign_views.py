"""Views of tasks that are not ours: a configuration with wrapped hooks, and the files that ask for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from numbered_clips import write_numbered
from PIL.Image import Image
from refusals import refusal

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.foreign_views import KEY, WrittenViews, bind_view, write_views
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.benchmark.views import VIEWS


@pytest.fixture
def clip(home: Path, tmp_path: Path) -> Path:
    return write_numbered(tmp_path / "clip.mp4", 12)


QUESTION, NOTICE = "Which way does it roll?", read_prompt("hidden_question").text
ROW = {"video": "clip.mp4", "question": QUESTION, "candidates": ["To the left.", "To the right."]}
TEMPLATE = "Question: {{question}}\n{% for option in candidates %}- {{option}}\n{% endfor %}One word."


def ask(doc: dict[str, Any], settings: Any = None) -> str:
    return f"Question: {doc['question']}\n- " + "\n- ".join(doc["candidates"]) + "\nOne word."


def put(doc: dict[str, Any]) -> list[dict[str, Any]]:
    content = [{"type": "video", "url": doc["video"]}, {"type": "text", "text": ask(doc)}]
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]


def config(view: str, **hooks: Any) -> dict[str, Any]:
    def question(doc: dict[str, Any], settings: object = None) -> Any:
        return doc["question"]

    own = {"doc_to_visual": lambda doc: [doc["video"]], "doc_to_text": question}
    return {"task": "other", "metadata": {"version": 0, KEY: view}, **own, **hooks}


def test_the_visuals_and_messages_of_a_task_are_those_of_its_view(clip: Path) -> None:
    for metadata in (None, {"version": 1}, [{"version": 1}]):
        other = {"task": "other", "metadata": metadata, "doc_to_visual": print}
        assert bind_view(other) is other, "it names no view"
    doc = {**ROW, "video": str(clip)}
    for view in ("blind", "single_frame", "single_frame_first", "shuffled", "reversed"):
        bound = bind_view(config(view, doc_to_messages=put))
        shown = bound["doc_to_visual"](doc)
        if view == "blind":
            assert shown == []
        elif view.startswith("single_frame"):
            assert len(shown) == 1 and isinstance(shown[0], Image)
        else:
            assert len(shown) == 1 and Path(shown[0]).is_file() and shown != [str(clip)]
        assert bound["doc_to_text"](doc) == QUESTION
        system, user = bound["doc_to_messages"](doc)
        kind = {"blind": [], "shuffled": ["video"], "reversed": ["video"]}.get(view, ["image"])
        assert system["content"] == "Be brief." and [part["type"] for part in user["content"]] == [*kind, "text"]


def test_a_caption_stands_in_place_of_the_clip(clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def show_with_settings(doc: dict[str, Any], lmms_eval_specific_kwargs: Any = None) -> list[str]:
        assert lmms_eval_specific_kwargs == {"sub_task": "x"}
        return [doc["video"]]

    assert "LMMS_EVAL_TASKS_CAPTIONS" in refusal(bind_view, config("socratic"))
    captions = tmp_path / "captions.jsonl"
    captions.write_text(json.dumps({"clip": clip.name, "caption": "A number grows."}) + "\n", encoding="utf-8")
    monkeypatch.setenv("LMMS_EVAL_TASKS_CAPTIONS", str(captions))
    bound = bind_view(config("socratic", doc_to_visual=show_with_settings))
    doc, settings = {"video": str(clip), "question": "What?"}, {"sub_task": "x"}
    assert bound["doc_to_visual"](doc, settings) == []
    text = bound["doc_to_text"](doc, settings)
    assert "A number grows." in text and text.endswith("What?")
    template = bind_view(config("socratic", doc_to_text="{{question}} Say it."))["doc_to_text"](doc)
    assert "A number grows." in template and template.endswith("What? Say it.")
    assert "there is none of other.mp4" in refusal(bound["doc_to_text"], {**doc, "video": "other.mp4"}, settings)


@pytest.mark.parametrize("asks", [ask, TEMPLATE])
def test_options_alone_are_asked_about_as_the_task_asks(asks: Any) -> None:
    bound = bind_view(config("video_only", doc_to_text=asks, doc_to_messages=put))
    expected = f"Question: {NOTICE}\n- To the left.\n- To the right.\nOne word."
    assert bound["doc_to_text"](ROW) == expected and bound["doc_to_visual"](ROW) == ["clip.mp4"]
    system, user = bound["doc_to_messages"](ROW)
    assert system["content"] == "Be brief."
    assert user["content"] == [{"type": "video", "url": "clip.mp4"}, {"type": "text", "text": expected}]
    assert ROW["question"] == QUESTION


def test_a_question_that_cannot_be_left_out_stops_the_run() -> None:
    for asks, row, message in (
        (ask, {**ROW, "question": ""}, "a column question, which is to be left out, but one has video, question"),
        (ask, {"video": "clip.mp4", "query": QUESTION}, "a column question, which is to be left out"),
        ("{{query}} {{candidates}}", {**ROW, "query": QUESTION}, "the column question has the whole question"),
        (ask, {**ROW, "candidates": ["Left.", f"{QUESTION} Right."]}, "the column question has the whole question"),
        ("{{question}} Say it.", ROW, "Expected a prompt that shows options"),
        ("question", ROW, "Expected a prompt that shows options"),
    ):
        assert message in refusal(bind_view(config("video_only", doc_to_text=asks))["doc_to_text"], row)
        if callable(asks) and "query" not in row:
            assert message in refusal(bind_view(config("video_only", doc_to_messages=put))["doc_to_messages"], row)


def test_tasks_and_views_that_cannot_be_bound_stop_the_run() -> None:
    for view in ("captions", "masked", "sideways"):  # which need more than hooks
        assert f"any of {VIEWS[0]}" in refusal(bind_view, config(view))
    with pytest.raises(RunStopped, match="by doc_to_visual, but it does not"):
        bind_view(config("blind", doc_to_visual=None))
    frames = bind_view(config("reversed", doc_to_visual=lambda doc: [b"frames"]))
    assert "only those have views, but got bytes" in refusal(frames["doc_to_visual"], {})


def write_tasks(folder: Path, **texts: str) -> str:
    """Files of tasks, groups and tags, each by its name."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(f"{text}\n", encoding="utf-8")
    return str(folder)


@pytest.mark.slow
@pytest.mark.usefixtures("own_tasks")
def test_files_are_written_for_every_view_of_every_task_group_and_tag_or_for_none(tmp_path: Path) -> None:
    out, refused = tmp_path / "views", tmp_path / "refused"
    shows = "dataset_path: json\ndoc_to_visual: !function utils.show"
    inner = "  - group: some_inner\n    task: [some_1]\n  - task: some_2\n    num_fewshot: 0\n"
    folder = write_tasks(
        tmp_path / "tasks",
        some_clip_task=f"task: some_clip_task\n{shows}\nmetadata:\n  version: 3",
        some_text_task="task: some_text_task\ndataset_path: json",
        some_group=f"group: some_group\ngroup_alias: alias\ntask:\n  - some_0\n{inner}"
        "aggregate_metric_list:\n  - metric: acc\n    aggregation: mean",
        twice="group: twice\ntask: [some_0, some_group, gone]\n"
        "aggregate_metric_list:\n  - metric: acc\n    aggregation: mean",
        **{f"some_{number}": f"task: some_{number}\ntag: some_tag\n{shows}" for number in range(3)},
    )
    message = refusal(write_views, ["some_*", "mvp_mini", "no_such_task"], ["blind"], refused, folder)
    for said in ("some_text_task", "doc_to_visual", "no_such_task", "mvp_mini", "its views are there already"):
        assert said in message
    gone = refusal(write_views, ["mvbench_egocentric_navigation"], ["blind"], refused, str(tmp_path / "gone"))
    assert "no folder" in gone and not refused.exists()

    def read(name: str) -> Any:
        return yaml.safe_load((out / f"{name}.yaml").read_text(encoding="utf-8"))

    views = ["blind", "single_frame_random3"]
    names = [f"some_clip_task_{view}" for view in views]
    assert write_views(["some_clip*"], views, out, folder) == WrittenViews(tuple(names), ())
    for name, view in zip(names, views, strict=True):
        assert read(name)["task"] == name and read(name)["metadata"] == {"version": 3, KEY: view}
        assert read(name)["include"] == f"{folder}/some_clip_task.yaml"
    written = write_views(["some_group", "some_tag"], ["blind"], out, folder)
    assert written == WrittenViews(tuple(f"some_{n}_blind" for n in range(3)), ("some_group_blind", "some_tag_blind"))
    # What several groups have is written once, and what nobody has only named.
    assert write_views(["twice"], ["blind"], tmp_path / "again", folder) == WrittenViews(
        tuple(f"some_{n}_blind" for n in range(3)), ("twice_blind", "some_group_blind")
    )
    inner_views = [{"group": "some_inner_blind", "task": ["some_1_blind"]}, {"task": "some_2_blind", "num_fewshot": 0}]
    assert read("some_group_blind") == {
        "include": f"{folder}/some_group.yaml",
        "group": "some_group_blind",
        "group_alias": None,
        "task": ["some_0_blind", *inner_views],
    }
    assert read("some_tag_blind") == {"group": "some_tag_blind", "group_alias": None, "task": list(written.tasks)}
