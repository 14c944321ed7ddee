"""Views of tasks that are not ours: a configuration with wrapped hooks, and the files that ask for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from numbered_clips import write_numbered
from PIL.Image import Image

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.foreign_views import KEY, WrittenViews, bind_view, write_views
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.benchmark.benchmark import BLIND
from lmms_eval_tasks.utils.core.errors import InputError


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
    template = bind_view(config("socratic", doc_to_text="{{question}} Say it."))
    assert "A number grows." in template["doc_to_text"](doc) and template["doc_to_text"](doc).endswith("What? Say it.")
    with pytest.raises(RunStopped, match=r"there is none of other\.mp4"):
        bound["doc_to_text"]({"video": "other.mp4", "question": "What?"}, settings)


QUESTION, NOTICE = "Which way does it roll?", read_prompt("hidden_question").text
ROW = {"video": "clip.mp4", "question": QUESTION, "candidates": ["To the left.", "To the right."]}
TEMPLATE = "Question: {{question}}\n{% for option in candidates %}- {{option}}\n{% endfor %}One word."


def ask(doc: dict[str, Any], settings: Any = None) -> str:
    return f"Question: {doc['question']}\n- " + "\n- ".join(doc["candidates"]) + "\nOne word."


def put(doc: dict[str, Any]) -> list[dict[str, Any]]:
    content = [{"type": "video", "url": doc["video"]}, {"type": "text", "text": ask(doc)}]
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]


@pytest.mark.parametrize("asks", [ask, TEMPLATE])
def test_options_alone_are_asked_about_as_the_task_asks(asks: Any) -> None:
    bound = bind_view(config("video_only", doc_to_text=asks, doc_to_messages=put))
    expected = f"Question: {NOTICE}\n- To the left.\n- To the right.\nOne word."
    assert bound["doc_to_text"](ROW) == expected and bound["doc_to_visual"](ROW) == ["clip.mp4"]
    system, user = bound["doc_to_messages"](ROW)
    assert system["content"] == "Be brief."
    assert user["content"] == [{"type": "video", "url": "clip.mp4"}, {"type": "text", "text": expected}]
    assert ROW["question"] == QUESTION


@pytest.mark.parametrize(
    ("asks", "row", "message"),
    [
        (ask, {**ROW, "question": ""}, "a column question, which is to be left out, but one has video, question"),
        (ask, {"video": "clip.mp4", "query": QUESTION}, "a column question, which is to be left out"),
        ("{{query}} {{candidates}}", {**ROW, "query": QUESTION}, "the column question has the whole question"),
        (ask, {**ROW, "candidates": ["Left.", f"{QUESTION} Right."]}, "the column question has the whole question"),
        ("{{question}} Say it.", ROW, "Expected a prompt that shows options"),
        ("question", ROW, "Expected a prompt that shows options"),
    ],
)
def test_a_question_that_cannot_be_left_out_stops_the_run(asks: Any, row: dict[str, Any], message: str) -> None:
    with pytest.raises(RunStopped, match=message):
        bind_view(config("video_only", doc_to_text=asks))["doc_to_text"](row)
    if callable(asks) and "query" not in row:
        with pytest.raises(RunStopped, match=message):
            bind_view(config("video_only", doc_to_messages=put))["doc_to_messages"](row)


@pytest.mark.slow
def test_the_twenty_tasks_of_mvbench_are_asked_without_their_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 1 of MVP's paper, from lmms-eval's own tasks: its files, its hooks and its scoring."""
    from lmms_eval.tasks.mvbench import utils
    from lmms_eval.utils import load_yaml_config

    monkeypatch.setattr(utils, "base_cache_dir", str(tmp_path))
    written = write_views(["mvbench"], ["video_only", "blind"], tmp_path / "views")
    assert written.groups == ("mvbench_video_only", "mvbench_blind") and len(written.tasks) == 40
    group = load_yaml_config(str(tmp_path / "views" / "mvbench_video_only.yaml"), mode="full")
    assert group["group"] == "mvbench_video_only"
    assert group["task"] == [name for name in written.tasks if name.endswith("_video_only")]
    for name in group["task"]:
        task = load_yaml_config(str(tmp_path / "views" / f"{name}.yaml"), mode="full")
        settings = task["lmms_eval_specific_kwargs"]["default"]
        row = {**ROW, "answer": "To the right."}
        bound = bind_view(task)
        text = bound["doc_to_text"](row, settings)
        assert text == task["doc_to_text"](row, settings).replace(QUESTION, NOTICE) and "(B) To the right." in text
        assert bound["doc_to_visual"](row, settings) == task["doc_to_visual"](row, settings)
        assert bound["process_results"](row, ["B"])["mvbench_accuracy"]["score"] == 1


@pytest.mark.parametrize("view", ["captions", "masked", "sideways"])
def test_views_that_need_more_than_hooks_are_refused(view: str) -> None:
    with pytest.raises(RunStopped, match=f"any of {BLIND}"):
        bind_view(config(view))


def test_a_task_without_paths_of_videos_is_refused(clip: Path) -> None:
    with pytest.raises(RunStopped, match="by doc_to_visual, but it does not"):
        bind_view(config("blind", doc_to_visual=None))
    with pytest.raises(RunStopped, match="only those have views, but got bytes"):
        bind_view(config("reversed", doc_to_visual=lambda doc: [b"frames"]))["doc_to_visual"]({})


@pytest.mark.slow
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
    written = write_views(["some_clip*"], ["blind", "single_frame_random3"], out, str(folder))
    assert written == WrittenViews(tuple(names), ())
    for name in names:
        written = yaml.safe_load((out / f"{name}.yaml").read_text(encoding="utf-8"))
        assert written["task"] == name and written["metadata"] == {
            "version": 3,
            KEY: name.removeprefix("some_clip_task_"),
        }
        assert Path(written["include"]) == folder / "some_clip_task.yaml"


def test_a_folder_of_tasks_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder .*gone"):
        write_views(["mvbench_egocentric_navigation"], ["blind"], tmp_path / "views", str(tmp_path / "gone"))
    assert not (tmp_path / "views").exists()


@pytest.mark.slow
def test_groups_and_tags_have_views_too(tmp_path: Path) -> None:
    folder, out = tmp_path / "tasks", tmp_path / "views"
    folder.mkdir()
    for number in range(3):
        (folder / f"some_{number}.yaml").write_text(
            f"task: some_{number}\ndataset_path: json\ntag: some_tag\ndoc_to_visual: !function utils.show\n"
        )
    inner = "  - group: some_inner\n    task: [some_1]\n  - task: some_2\n    num_fewshot: 0\n"
    (folder / "some_group.yaml").write_text(
        f"group: some_group\ngroup_alias: alias\ntask:\n  - some_0\n{inner}"
        "aggregate_metric_list:\n  - metric: acc\n    aggregation: mean\n"
    )
    written = write_views(["some_group", "some_tag"], ["blind"], out, str(folder))
    assert written == WrittenViews(tuple(f"some_{n}_blind" for n in range(3)), ("some_group_blind", "some_tag_blind"))
    group, tag = (yaml.safe_load((out / f"{name}.yaml").read_text(encoding="utf-8")) for name in written.groups)
    assert group == {
        "include": str(folder / "some_group.yaml"),
        "group": "some_group_blind",
        "group_alias": None,
        "task": [
            "some_0_blind",
            {"group": "some_inner_blind", "task": ["some_1_blind"]},
            {"task": "some_2_blind", "num_fewshot": 0},
        ],
    }
    assert tag == {"group": "some_tag_blind", "group_alias": None, "task": list(written.tasks)}
