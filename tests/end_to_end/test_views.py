"""Views through the real command: what a real adapter receives, what the solver can still tell, and what runs say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import datasets
import numpy as np
import pyarrow.parquet
import pytest
from by_day import first_by_day
from host_run import SampleWorld, numbers, own_command, qwen_arguments, run_host
from numpy.typing import NDArray

from lmms_eval_tasks.host.tasks.task_view import FOLDER
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.benchmark.benchmark import Task
from lmms_eval_tasks.utils.benchmark.views import Captioned, Masked, OptionsAlone, SingleFrame, find_view
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.made import MadeClip, show_frame, show_reversed, show_shuffled

pytestmark = pytest.mark.host

NEARLY = 0.3
"""How much further from a frame than the nearest, in mean grey levels, still looks like it."""
CAPTION = "Two things meet and one of them moves on."


def tasks_with_views(home: Path) -> list[Task]:
    """One prepared task of each benchmark that has views."""
    tasks: dict[str, Task] = {}
    for task in registry().tasks.values():
        if task.kind.views and (home / task.benchmark.name / f"{task.split}.parquet").is_file():
            tasks.setdefault(task.benchmark.name, task)
    return list(tasks.values())


@cache
def frames_of(clip: Path) -> NDArray[np.uint8]:
    reader = PyavFrames(clip)
    return reader.read(range(reader.count))


def made_of(home: Path, task: Task, clip: Path) -> MadeClip:
    """What the view of a task makes of a clip, from the store that the run wrote."""
    view, store = find_view(task.view), ClipStore(home / FOLDER, 10**12)
    assert view is not None
    if isinstance(view, SingleFrame):
        return show_frame(clip, view.position or task.kind.frame, store)
    return show_reversed(clip, store) if view.name == "reversed" else show_shuffled(clip, store)


def rows_of(home: Path, task: Task) -> dict[str, dict[str, Any]]:
    """Item to row, as the task asks them."""
    path = home / task.benchmark.name / f"{task.split}.parquet"
    table = datasets.Dataset(pyarrow.parquet.read_table(path))
    return {row["item_id"]: row for row in (task.kind.rows(table) if task.kind.rows else table)}


@pytest.fixture(scope="module")
def captions(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a first pass over the clips of all benchmarks that show captions."""
    tasks = [task for task in tasks_with_views(sample_world.home) if "socratic" in task.kind.views]
    out = tmp_path_factory.mktemp("captions")
    run = run_host(
        "--model", "constant_answer", "--model_args", f"response={CAPTION}",
        "--tasks", ",".join(f"{task.name}_captions" for task in tasks),
        home=sample_world.home, out=out, env={"LMMS_EVAL_TASKS_JUDGE": "none"},
    )  # fmt: skip
    assert run.status == 0 and run.results(), run.output
    return out


def read_received(folder: Path, task: str, document: int) -> tuple[str, list[NDArray[Any]], list[NDArray[Any]]]:
    """Text, pictures and videos that a model received for a document of a task."""
    (file,) = folder.glob(f"{task}.{document}.*.npz")
    with np.load(file) as shown:
        pictures, videos = ([shown[key] for key in shown.files if key.startswith(kind)] for kind in ("image", "video"))
        return str(shown["text"]), pictures, videos


def named_views(home: Path, which: str) -> list[str]:
    """The tasks of `every` view of every benchmark, of those of the `first` benchmark, or of `each` view once, of all
    benchmarks in turn."""
    tasks = tasks_with_views(home)
    views: dict[str, list[Task]] = {}
    for task in tasks[:1] if which == "first" else tasks:
        for view in (*task.kind.views, "single_frame_random3"):
            views.setdefault(view, []).append(task)
    if which == "each":
        views = {view: [having[turn % len(having)]] for turn, (view, having) in enumerate(views.items())}
    return [f"{task.name}_{view}" for view, having in views.items() for task in having]


@pytest.mark.parametrize(
    ("model", "ranks", "which"),
    first_by_day(
        [("qwen_on_cpu_ranks", 1, "each"), ("qwen_on_cpu_ranks", 1, "every"), ("qwen_chat_on_cpu_ranks", 2, "first")]
    ),
)
def test_a_model_receives_what_the_view_shows_and_nothing_else(
    model: str, ranks: int, which: str, captions: Path, tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    """An item of each view in lmms-eval's simple adapter, and two of each in its chat adapter."""
    home, received, different = sample_world.home, tmp_path / "received", 0
    tasks = named_views(home, which)
    env = {
        "LMMS_EVAL_TASKS_JUDGE": "none",
        "LMMS_EVAL_TASKS_CAPTIONS": str(captions),
        "RECEIVED_FOLDER": str(received),
    }
    run = run_host(
        *qwen_arguments(tiny_qwen, model=model), "--limit", str(ranks), "--tasks", ",".join(tasks),
        home=home, out=tmp_path / "out", ranks=ranks, env=env,
    )  # fmt: skip
    assert run.status == 0 and set(tasks) <= run.results()["results"].keys(), run.output
    for name in run.results()["results"]:
        task = registry().find_task(name)
        if task is None:
            continue
        rows, samples = rows_of(home, task), run.samples(name)
        assert len(samples) == ranks
        for sample in samples:
            text, pictures, videos = read_received(received, name, sample["doc_id"])
            view, item = find_view(task.view), sample["record"]["item_id"]
            assert view is not None and sample["record"]["view"] == view.name
            row = rows[view.row_id(item)]
            question = row.get("question")
            if question and not isinstance(view, OptionsAlone):
                assert question in text
            if isinstance(view, Captioned):
                assert CAPTION in text
            expected = (0, 0) if not view.needs_clip else (1, 0) if isinstance(view, SingleFrame) else (0, 1)
            assert (len(pictures), len(videos)) == expected, name
            clip = home / task.benchmark.name / "videos" / row["clip"]
            if isinstance(view, SingleFrame):
                (frame,) = made_of(home, task, clip).frames
                assert frame == sample["record"]["fields"]["frame"]
                assert frame in nearest(pictures[0], clip, range(len(frames_of(clip))))
            elif isinstance(view, Masked):
                # Which pixels are black is checked where masks are made.
                assert videos[0].mean() < frames_of(clip).mean() - 0.3
            elif view.needs_clip:
                order = made_of(home, task, clip).frames if view.is_made else range(len(frames_of(clip)))
                others = range(len(order)) if view.is_made else range(len(order) - 1, -1, -1)
                assert shows_in_order(videos[0], clip, order), (name, item)
                different += not shows_in_order(videos[0], clip, others)
    assert different > len(run.results()["results"]) // 4, "frames differ enough for their order to be seen"


def test_both_members_of_a_pair_cost_one_request_without_their_clip(
    tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    task = "mvp_mini_intuitive_physics_blind"
    arguments = [*qwen_arguments(tiny_qwen, model="qwen_on_cpu_ranks"), "--tasks", task]

    def costs(limit: int, ranks: int) -> list[float]:
        """How many answers were given, kept before and shared, where both members of a pair have the same answer."""
        env = {"LMMS_EVAL_TASKS_ANSWERS": str(tmp_path / "answers")}
        out = tmp_path / f"{limit}"
        run = run_host(*arguments, "--limit", str(limit), home=sample_world.home, out=out, ranks=ranks, env=env)
        said = [sample["filtered_resps"] for sample in run.samples_in_order(task)]
        assert len(said) == limit and said == [said[place // 2 * 2] for place in range(limit)]
        cost = numbers(read_run(out).card[f"cost of {task}"])
        return [cost[name] for name in ("answers", "answers kept", "answers shared")]

    assert costs(3, ranks=2) == [2, 0, 1], "of two pairs, the last without its other member"
    assert costs(4, ranks=1) == [2, 2, 2]


def nearest(picture: NDArray[Any], clip: Path, order: Sequence[int]) -> NDArray[np.intp]:
    """Places in an order of a clip's frames, of those that a received picture looks like.

    Frames are compared at the received size; coding and resizing may make near frames indistinguishable.
    """
    height, width = picture.shape[:2]
    shown = [cv2.resize(frames_of(clip)[number], (width, height), interpolation=cv2.INTER_AREA) for number in order]
    far = np.abs(np.stack(shown).astype(np.float32) - picture).mean(axis=(1, 2, 3))
    return np.flatnonzero(far < far.min() + NEARLY)


def shows_in_order(video: NDArray[Any], clip: Path, order: Sequence[int]) -> bool:
    """Whether a received video has frames of a clip in this order, of which the adapter chose some."""
    last = -1
    for picture in video.transpose(0, 2, 3, 1):
        places = nearest(picture, clip, order)
        later = places[places > last]
        if not later.size:
            return False
        last = int(later[0])
    return True


NOTHING = ("mvp_mini_blind", "mvp_mini_video_only", "intphys2_main_blind", "intphys2_main_single_frame")
"""Views that leave nothing."""


@pytest.mark.nightly
def test_nothing_is_left_without_the_clip_or_the_question_and_the_report_shows_it(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    tasks = ("mvp_mini", "intphys2_main", "mvp_mini_shuffled", "mvp_mini_single_frame", *NOTHING)
    solved = run_host("--model", "sample_solver", "--tasks", ",".join(tasks), home=sample_world.home, out=tmp_path)
    assert {solved.score(task, "pair_accuracy") for task in ("mvp_mini", "intphys2_main")} == {100}
    for view in NOTHING:
        assert (solved.score(view, "pair_accuracy"), solved.score(view, "unparsed_rate")) == (0, 100)
    for view in ("mvp_mini_shuffled", "mvp_mini_single_frame"):
        assert solved.score(view, "single_accuracy") < 75, "motion decides nearly all of these questions"
    shown = own_command(sample_world.home, "report", solved.out)
    assert "mvp_mini: what is left in its views" in shown.stdout and "shuffled" in shown.stdout, shown.stderr
    written = sorted(path.name for path in (solved.out / "submissions").iterdir())
    assert written and not [name for name in written if "blind" in name or "shuffled" in name]
    card = json.loads(next(solved.out.glob("*_run_card.json")).read_text(encoding="utf-8"))
    assert card["task mvp_mini_intuitive_physics_single_frame"]["view"] == "single_frame: one frame, centre"
    assert "view" not in card["task mvp_mini_intuitive_physics"]
    again = own_command(sample_world.home, "rescore", solved.out)
    assert again.returncode == 0 and "equal" in again.stdout, again.stdout + again.stderr
