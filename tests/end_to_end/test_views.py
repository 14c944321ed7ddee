"""Views through the real command: what a real adapter receives, what the solver can still tell, and what runs say."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import datasets
import numpy as np
import pyarrow.parquet
import pytest
from host_run import HostRun, SampleWorld, own_command, qwen_arguments, run_host
from numpy.typing import NDArray

from lmms_eval_tasks.host.tasks.task_view import FOLDER
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.sample.solver import solve_frames
from lmms_eval_tasks.utils.benchmark.benchmark import Shown, Task, find_view
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.made import MadeClip, show_frame, show_reversed, show_shuffled
from lmms_eval_tasks.utils.scoring.orders import whole_id

pytestmark = pytest.mark.host

ITEMS = 2
"""How many items of each task the tiny model is asked."""
NEARLY = 0.3
"""How much further from a frame than the nearest, in mean grey levels, still looks like it."""
CAPTION = "Two things meet, and one of them moves on."


def tasks_with_views(home: Path) -> list[Task]:
    """One prepared task of each benchmark that has views."""
    tasks: dict[str, Task] = {}
    for task in registry().tasks.values():
        if task.kind.views and (home / task.benchmark.name / f"{task.split}.parquet").is_file():
            tasks.setdefault(task.benchmark.name, task)
    return list(tasks.values())


OTHER, OTHER_VIEWS = "somebody_elses_task", ("blind", "single_frame", "reversed", "video_only")
OTHER_OPTIONS = ["The ball.", "The block."]


def other_clips(home: Path) -> list[Path]:
    return sorted((home / "mvp" / "videos").rglob("*.mp4"))[:ITEMS]


def write_other_task(home: Path, folder: Path) -> Path:
    """A task of somebody else's over two of our clips, and the folder of its views' files."""
    rows = "".join(
        json.dumps({"video": str(clip), "question": "What comes first?", "options": OTHER_OPTIONS}) + "\n"
        for clip in other_clips(home)
    )
    (folder / "rows.json").write_text(rows, encoding="utf-8")
    (folder / "hooks.py").write_text(
        "def show(doc):\n    return [doc['video']]\n\n\n"
        "def grade(doc, results):\n    return {'length': len(results[0])}\n",
        encoding="utf-8",
    )
    (folder / f"{OTHER}.yaml").write_text(
        f"task: {OTHER}\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {folder / 'rows.json'}\n"
        "test_split: test\noutput_type: generate_until\ndoc_to_visual: !function hooks.show\n"
        "doc_to_text: '{{question}} {{options | join}}'\ndoc_to_target: ''\nprocess_results: !function hooks.grade\n"
        "metric_list:\n  - metric: length\n    aggregation: mean\n    higher_is_better: true\n",
        encoding="utf-8",
    )
    out = folder / "views"
    written = own_command(
        home, "views", OTHER, "--out", out, "--views", ",".join(OTHER_VIEWS), "--include-path", folder
    )
    assert written.returncode == 0, written.stdout + written.stderr
    return out


@cache
def frames_of(clip: Path) -> NDArray[np.uint8]:
    reader = PyavFrames(clip)
    return reader.read(range(reader.count))


def made_of(home: Path, task: Task, clip: Path) -> MadeClip:
    """What the view of a task makes of a clip, from the store that the run wrote."""
    view, store = find_view(task.view), ClipStore(home / FOLDER, 10**12)
    assert view is not None
    if view.shown is Shown.FRAME:
        return show_frame(clip, view.position or task.kind.frame, store)
    return show_reversed(clip, store) if view.shown is Shown.REVERSED else show_shuffled(clip, store)


def rows_of(home: Path, task: Task) -> dict[str, dict[str, Any]]:
    """Item to row, as the task asks them."""
    path = home / task.benchmark.name / f"{task.split}.parquet"
    table = datasets.Dataset(pyarrow.parquet.read_table(path))
    return {row["item_id"]: row for row in (task.kind.rows(table) if task.kind.rows else table)}


def clip_of(home: Path, task: Task, row: dict[str, Any]) -> Path:
    return home / task.benchmark.name / "videos" / row["clip"]


@pytest.fixture(scope="module")
def captions(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a first pass over the clips of all benchmarks that show captions."""
    tasks = [task for task in tasks_with_views(sample_world.home) if "socratic" in task.kind.views]
    out = tmp_path_factory.mktemp("captions")
    run = run_host(
        "--model", "constant_answer", "--model_args", f"response={CAPTION.replace(',', '')}",
        "--tasks", ",".join(f"{task.name}_captions" for task in tasks),
        home=sample_world.home, out=out, env={"LMMS_EVAL_TASKS_JUDGE": "none"},
    )  # fmt: skip
    assert run.status == 0 and run.results(), run.output
    return out


Ask = Callable[[str, int], tuple[HostRun, Path]]


@pytest.fixture(scope="module")
def asked(sample_world: SampleWorld, captions: Path, tiny_qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Runs of the tiny Qwen2.5-VL over every view of every benchmark, and the folder of what it received."""
    views = write_other_task(sample_world.home, tmp_path_factory.mktemp("other"))
    tasks = [f"{task.name}_{view}" for task in tasks_with_views(sample_world.home) for view in task.kind.views]
    tasks += [f"{task.name}_single_frame_random3" for task in tasks_with_views(sample_world.home)]
    tasks += [path.stem for path in views.glob("*.yaml")]

    @cache
    def run(model: str, ranks: int) -> tuple[HostRun, Path]:
        out = tmp_path_factory.mktemp(f"{model}_{ranks}")
        env = {
            "LMMS_EVAL_TASKS_JUDGE": "none",
            "LMMS_EVAL_TASKS_CAPTIONS": str(captions),
            "RECEIVED_FOLDER": str(out / "received"),
        }
        done = run_host(
            *qwen_arguments(tiny_qwen, model=model), "--limit", str(ITEMS), "--tasks", ",".join(tasks),
            "--include_path", str(views), home=sample_world.home, out=out, ranks=ranks, env=env,
        )  # fmt: skip
        assert done.status == 0 and set(tasks) <= done.results()["results"].keys(), done.output
        return done, out / "received"

    return run


CASES = [("qwen_on_cpu_ranks", 1), ("qwen_chat_on_cpu_ranks", 2)]
"""Each adapter and each number of ranks once."""


@pytest.mark.parametrize(("model", "ranks"), CASES)
def test_a_model_receives_what_the_view_shows_and_nothing_else(
    model: str, ranks: int, asked: Ask, sample_world: SampleWorld
) -> None:
    run, received = asked(model, ranks)
    home, told_apart = sample_world.home, 0
    for name in run.results()["results"]:
        task = registry().find_task(name)
        if task is None:
            continue
        rows, samples = rows_of(home, task), run.samples(name)
        assert len(samples) == ITEMS
        for sample in samples:
            (file,) = received.glob(f"{name}.{sample['doc_id']}.*.npz")
            with np.load(file) as shown:
                text = str(shown["text"])
                pictures = [shown[key] for key in shown.files if key.startswith("image")]
                videos = [shown[key] for key in shown.files if key.startswith("video")]
            view, item = find_view(task.view), sample["record"]["item_id"]
            assert view is not None and sample["record"]["view"] == view.name
            row = rows[whole_id(item)]
            question = row.get("question")
            if question and not view.options_alone:
                assert question in text
            if view.captioned:
                assert CAPTION.replace(",", "") in text
            expected = (0, 0) if not view.needs_clip else (1, 0) if view.shown is Shown.FRAME else (0, 1)
            assert (len(pictures), len(videos)) == expected, name
            clip = clip_of(home, task, row)
            if view.shown is Shown.FRAME:
                (frame,) = made_of(home, task, clip).frames
                assert frame == sample["record"]["fields"]["frame"]
                assert frame in nearest(pictures[0], clip, range(len(frames_of(clip))))
            elif view.shown is Shown.MASKED:
                # Which pixels are black is checked where masks are made.
                assert videos[0].mean() < frames_of(clip).mean() - 0.3
            elif view.needs_clip:
                order = made_of(home, task, clip).frames if view.is_made else range(len(frames_of(clip)))
                others = range(len(order)) if view.is_made else range(len(order) - 1, -1, -1)
                assert shows_in_order(videos[0], clip, order), (name, item)
                told_apart += not shows_in_order(videos[0], clip, others)
    assert told_apart > len(run.results()["results"]) // 4, "frames differ enough for their order to be seen"


@pytest.mark.parametrize(("model", "ranks"), CASES)
def test_a_view_of_somebody_elses_task_is_received_too(
    model: str, ranks: int, asked: Ask, sample_world: SampleWorld
) -> None:
    run, received = asked(model, ranks)
    clips = other_clips(sample_world.home)
    for view in OTHER_VIEWS:
        for place, clip in enumerate(clips):
            (file,) = received.glob(f"{OTHER}_{view}.{place}.*.npz")
            with np.load(file) as shown:
                text = str(shown["text"])
                assert ("What comes first?" in text) == (view != "video_only")
                assert all(option in text for option in OTHER_OPTIONS)
                pictures = [shown[key] for key in shown.files if key.startswith("image")]
                videos = [shown[key] for key in shown.files if key.startswith("video")]
            received_kinds = {"blind": (0, 0), "single_frame": (1, 0), "reversed": (0, 1), "video_only": (0, 1)}
            assert (len(pictures), len(videos)) == received_kinds[view]
            frames = range(len(frames_of(clip)))
            if pictures:
                assert len(frames) // 2 in nearest(pictures[0], clip, frames)
            if videos:
                assert shows_in_order(videos[0], clip, frames[::-1] if view == "reversed" else frames)
        assert f"{OTHER}_{view}" in run.results()["results"]


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


WHOLE = ("causalvqa_debug_paired", "mvp_mini", "intphys2_main")
NOTHING = ("mvp_mini_blind", "mvp_mini_video_only", "intphys2_main_blind", "intphys2_main_single_frame")
"""Views that leave nothing."""
CHANGED = ("causalvqa_debug_paired_single_frame", "mvp_mini_single_frame", "mvp_mini_shuffled", "mvp_mini_reversed")
"""Views that leave something to be seen."""


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    tasks = ",".join((*WHOLE, *CHANGED, *NOTHING))
    out = tmp_path_factory.mktemp("solved")
    return run_host("--model", "sample_solver", "--tasks", tasks, home=sample_world.home, out=out)


def test_the_solver_tells_what_the_frames_that_it_is_shown_tell(solved: HostRun, sample_world: SampleWorld) -> None:
    """Its answers to a view are those to the source's own frames in the view's order, but for what coding changes."""
    for view in CHANGED:
        same, right = [], []
        by_source: dict[str, list[bool]] = {}
        for task in registry().find_members(view):
            rows = rows_of(sample_world.home, task)
            for sample in solved.samples(task.name):
                row = rows[sample["record"]["item_id"]]
                clip = clip_of(sample_world.home, task, row)
                made = made_of(sample_world.home, task, clip)
                alone = solve_frames(row["question"], row["options"], frames_of(clip)[list(made.frames)])
                same.append(sample["filtered_resps"] == alone)
                right.append(alone == row["answer"])
                by_source.setdefault(row.get("source", ""), []).append(alone == row["answer"])
        coding = 100 * same.count(False) / len(same)
        assert coding <= (0 if "single_frame" in view else 5), view
        floor = 100 * sum(right) / len(right)
        assert solved.score(view, "single_accuracy") == pytest.approx(floor, abs=coding + 1e-9)
        assert floor < 75, "motion decides nearly all of these questions"
        if view == "mvp_mini_reversed":
            # A ball that rests on nothing does so backwards too; which of two came first does not.
            assert {all(answers) for answers in by_source.values()} == {True, False}
            assert any(not any(answers) for answers in by_source.values())


def test_nothing_is_left_without_the_clip_or_the_question(solved: HostRun) -> None:
    assert {solved.score(task, "pair_accuracy") for task in WHOLE} == {100}
    for view in NOTHING:
        assert (solved.score(view, "pair_accuracy"), solved.score(view, "unparsed_rate")) == (0, 100)


def test_the_report_sets_a_view_beside_its_parent_and_no_file_is_written_of_one(
    solved: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    shown = own_command(sample_world.home, "report", solved.out)
    assert "mvp_mini: what is left in its views" in shown.stdout, shown.stderr
    assert "shuffled" in shown.stdout
    written = sorted(path.name for path in (solved.out / "submissions").iterdir())
    assert written and not [name for name in written if "blind" in name or "shuffled" in name]
    card = json.loads(next(solved.out.glob("*_run_card.json")).read_text(encoding="utf-8"))
    assert card["task mvp_mini_intuitive_physics_single_frame"]["view"] == "single_frame: one frame, centre"
    assert "view" not in card["task mvp_mini_intuitive_physics"]
    again = own_command(sample_world.home, "rescore", solved.out)
    assert again.returncode == 0 and "equal" in again.stdout, again.stdout + again.stderr


def test_a_host_cache_answers_no_view_from_another(sample_world: SampleWorld, tmp_path: Path) -> None:
    """lmms-eval's own cache knows nothing of clips: it goes by task, index and prompt."""
    cached = ["--model", "sample_solver", "--use_cache", str(tmp_path / "cache"), "--limit", "4"]
    whole = run_host(*cached, "--tasks", "mvp_mini_intuitive_physics", home=sample_world.home, out=tmp_path / "whole")
    blind = run_host(
        *cached, "--tasks", "mvp_mini_intuitive_physics_blind", home=sample_world.home, out=tmp_path / "blind"
    )
    assert whole.score("mvp_mini_intuitive_physics", "pair_accuracy") == 100
    assert blind.score("mvp_mini_intuitive_physics_blind", "unparsed_rate") == 100
