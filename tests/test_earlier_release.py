"""Runs of the release before this one, 0.1.0 at dc2f8cf: its logs are read, reported, submitted and scored again.

`earlier_release.json` is a run of `replay` on the small world of `submission_world`, made with that release: its
results without the standard errors that are N/A, what is read here of each logged item, and the files that it wrote.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from submission_world import prepare_world

from lmms_eval_tasks.report.tables import score_tables
from lmms_eval_tasks.rescore import rescore
from lmms_eval_tasks.submit import submit
from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.run import read_run
from lmms_eval_tasks.utils.scoring.records import Outcome, UnscoredReason

RUN = json.loads((Path(__file__).parent / "earlier_release.json").read_text(encoding="utf-8"))
FILES = {
    "submissions/causalvqa_test.jsonl": ("causalvqa", {"split": "test"}),
    "submissions/causalvqa_debug.jsonl": ("causalvqa", {"split": "debug"}),
    "mvp_mini_submission.jsonl": ("mvp", {}),
    "submissions/cast_bench_predictions.jsonl": ("cast_bench", {}),
    "submissions/cast_bench_metrics.json": ("cast_bench", {"part": "metrics"}),
    "submissions/yocausal_results.json": ("yocausal", {}),
}
"""What `submit` is asked for each file of the run."""
REGRADED = "cast_bench_open"
"""Its judge grades in other dimensions since version 2, so the run's scores are none of today's."""


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("earlier")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root / "releases")
        yield


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The run's output folder."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "20261122_results.json").write_text(json.dumps(RUN["results"]), encoding="utf-8")
    for task, lines in RUN["logs"].items():
        log = folder / f"20261122_samples_{task}.jsonl"
        log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_unscored_items_have_a_reason_of_the_list(run: Path) -> None:
    reasons: dict[str, dict[str, Any]] = {}
    for task, records in read_run(run).records.items():
        for record in records:
            assert (record.unscored_reason is not None) == (record.outcome is Outcome.UNSCORED)
            assert not {"reason", "answer_reason"} & record.fields.keys()
            if record.unscored_reason or record.detail:
                reasons.setdefault(task, {})[record.item_id] = (record.unscored_reason, record.detail.split(" (")[0])
    no_clip, no_key = (UnscoredReason.NO_CLIP, ""), (UnscoredReason.NO_KEY, "")
    assert reasons == {
        "causalvqa_debug_paired": {"1_0": no_clip},
        "causalvqa_paired": dict.fromkeys(("7_0", "7_1", "8_0", "8_1"), no_key),
        "cast_bench": {"sav_000001_3": no_clip},
        "cast_bench_open": {
            "sav_000001_1": (UnscoredReason.JUDGE_FAILED, "no reply"),
            "sav_000001_2": no_clip,
            "sav_000001_3": (None, "no text"),
        },
        "yocausal": {
            "animal_2": (UnscoredReason.FAILED, "Expected 5 frames or more, but got 3."),
            "general_1": (UnscoredReason.FAILED, "The response is about else, not about this pair."),
            "general_2": (
                None,
                "The response is no denoising losses: run this task with --model video_diffusion; for a model that "
                "answers in words, the task is yocausal_vlm.",
            ),
            "human_1": no_clip,
        },
        "yocausal_vlm": {"general_1_fwd": no_clip, "general_1_bwd": no_clip},
    }


def test_its_records_give_its_scores(run: Path) -> None:
    compared = 0
    for task, records in read_run(run).records.items():
        known = registry().tasks[task]
        saved = RUN["results"]["results"][task]
        for name in known.metrics:
            if name not in ("submission_rows", "sample_data") and task != REGRADED:
                score = known.kind.metric(name).score_records(records)
                assert score == saved.get(f"{name},none"), (task, name)
                compared += score is not None
    assert compared > 90


def test_its_tables_are_printed(run: Path) -> None:
    tables = score_tables([read_run(run)])
    assert {str(table.title).split()[0] for table in tables} == {
        "mvp_mini", *(task for task in RUN["logs"] if not task.startswith("mvp_mini_")),
    }  # fmt: skip
    console = Console(width=100, record=True, file=io.StringIO())
    for table in tables:
        console.print(table)
    rows = [line.split() for line in console.export_text().splitlines() if line.strip().startswith("replay")]
    assert len(rows) == len(tables)


@pytest.mark.parametrize("name", FILES)
def test_its_files_are_written_again(name: str, run: Path, tmp_path: Path) -> None:
    benchmark, chosen = FILES[name]
    with pytest.raises(InputError, match="Expected the official release, but got data that is not known to be"):
        submit(benchmark, run, tmp_path / "file", allow_incomplete=True, **chosen)
    submit(benchmark, run, tmp_path / "file", allow_unofficial=True, allow_incomplete=True, **chosen)
    assert (tmp_path / "file").read_text(encoding="utf-8") == RUN["files"][name]


def test_it_is_scored_as_it_was(run: Path, tmp_path: Path) -> None:
    rescored = rescore(run, tmp_path / "again")
    kept = [change for change in rescored.changes if change.name != REGRADED]
    assert not [change for change in kept if (change.old, change.new) != (None, "N/A")]
    assert rescored.scores > 180
    assert not any(number for task, number in rescored.items.items() if task != REGRADED)
    for name, text in RUN["files"].items():
        assert (tmp_path / "again" / name).read_text(encoding="utf-8") == text, name
