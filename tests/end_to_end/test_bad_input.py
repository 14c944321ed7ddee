"""What a user sees when something is not as it should be: the whole message, once, and the run's end."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from by_day import first_by_day
from expected import Expected
from host_run import HostRun, SampleWorld, own_command, qwen_arguments, run_host
from model_server import model_server

pytestmark = pytest.mark.host

CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"
TASK = "causalvqa_debug_paired"


def message(run: HostRun, first_words: str) -> str:
    """What the run printed from its message on; the launcher of two ranks adds a report of its own."""
    assert run.status != 0, run.output
    assert run.output.count(first_words) == 1, run.output
    start = run.output.index(first_words)
    # Its lines begin with a letter and the date, as in E0131.
    return re.split(r"\n[EIW]\d{4} ", run.output[start:], maxsplit=1)[0].strip()


def test_runs_that_would_be_lost_stop_before_the_model_loads(
    sample_world: SampleWorld, tmp_path: Path, expected: Expected
) -> None:
    """Without prepared data, without weights, and with options of lmms-eval that do not work with our tasks."""
    prepared = sample_world.home
    shown: list[str] = []
    ineffective = {
        "baseline": "x.jsonl", "num_fewshot": "2", "apply_chat_template": "", "cache_requests": "true",
        "check_integrity": "", "launcher_args": "name=x", "wandb_log_samples": "", "swanlab_log_samples": "",
        "system_instruction": "Be brief.",
    }  # fmt: skip
    words = [word for name, value in ineffective.items() for word in (f"--{name}", value) if word]
    for first_words, home, ranks, options in (
        ("CausalVQA is not prepared", tmp_path / "home", 2, ["--tasks", f"{TASK},mvp_mini,yocausal_vlm"]),
        ("Expected weights for qwen2_5_vl", prepared, 2, ["--tasks", "mvp_mini"]),
        ("--baseline compares", prepared, 1, ["--tasks", "mvp_mini", *words]),
    ):
        model = ("--model", "qwen2_5_vl", "--model_args", "pretrained=checkpoints/nope")
        run = run_host(*model, *options, home=home, out=tmp_path / str(len(shown)), ranks=ranks)
        shown.append(message(run, first_words))
        assert "Traceback" not in run.output.partition(first_words)[0]
    expected(re.sub(r"\(\S+/hub\)", "(HUB)", "\n\n".join(shown)))


def test_power_analysis_lists_the_tasks_of_a_group(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host("--power-analysis", "--tasks", "mvp_mini", home=sample_world.home, out=tmp_path / "out")
    assert run.status == 0 and len(re.findall(r"^  mvp_mini_\w+:\n    Sample size: ", run.output, re.MULTILINE)) == 4


def test_a_clip_that_has_gone_stops_the_run_or_is_skipped_and_asked_once_it_is_back(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(sample_world.home, home, symlinks=True)
    gone = sorted((home / "causalvqa" / "videos" / "debug").iterdir())[0]
    gone.unlink()
    solve = ("--model", "sample_solver", "--tasks", TASK, "--use_cache", str(tmp_path / "cache"))
    said = message(run_host(*solve, home=home, out=tmp_path / "stopped"), "CausalVQA, split debug")
    assert "clips are missing" in said.splitlines()[0] and f"debug/{gone.name}" in said
    assert "LMMS_EVAL_TASKS_MISSING=skip" in said
    run = run_host(*solve, home=home, out=tmp_path / "out", env={"LMMS_EVAL_TASKS_MISSING": "skip"})
    samples, scores = run.samples(TASK), run.scores(TASK)
    unscored = [sample["record"] for sample in samples if sample["record"]["outcome"] == "unscored"]
    assert unscored and all(record["unscored_reason"] == "no clip" for record in unscored)
    assert (scores["pair_accuracy"], scores["pairs_scored"]) == (100, 20 - len(unscored) // 2)
    assert scores["unscored_rate"] == pytest.approx(100 * len(unscored) / len(samples))
    empty = {row["row_id"] for row in run.submission("submissions/causalvqa_debug.jsonl") if not row["model_answer"]}
    assert empty == {record["item_id"] for record in unscored}
    shutil.copy2(sample_world.home / gone.relative_to(home), gone)
    # What was not asked stays unscored, although its clip is there now.
    assert "scores equal" in own_command(home, "rescore", run.out).stdout
    again = run_host(*solve, home=home, out=tmp_path / "again").scores(TASK)
    assert (again["unscored_rate"], again["single_accuracy"]) == (0, 100)


@pytest.fixture
def damaged_home(sample_world: SampleWorld, tmp_path: Path) -> tuple[Path, set[str]]:
    """The prepared sample in which one clip is damaged inside and one lacks its end, and the items that show them."""
    home = tmp_path / "home"
    shutil.copytree(sample_world.home / "causalvqa", home / "causalvqa", symlinks=True)
    rows = pyarrow.parquet.read_table(home / "causalvqa" / "debug.parquet").to_pylist()
    for row, damaged in ((rows[2], "damaged_inside.mp4"), (rows[5], "cut_short.mp4")):
        clip = home / "causalvqa" / "videos" / row["clip"]
        clip.unlink()
        shutil.copy(CLIPS / damaged, clip)
    return home, {row["item_id"] for row in rows if row["clip"] in (rows[2]["clip"], rows[5]["clip"])}


def test_a_clip_that_cannot_be_decoded_costs_its_own_items_alone(
    damaged_home: tuple[Path, set[str]], sample_world: SampleWorld, tmp_path: Path
) -> None:
    home, broken = damaged_home
    kept = {"LMMS_EVAL_TASKS_ANSWERS": str(tmp_path / "kept")}
    solve = ("--model", "sample_solver", "--tasks", TASK)
    run = run_host(*solve, home=home, out=tmp_path / "out", ranks=2, env=kept)
    records = {sample["record"]["item_id"]: sample["record"] for sample in run.samples(TASK)}
    assert {item for item, record in records.items() if record["outcome"] == "unscored"} == broken
    assert {records[item]["unscored_reason"] for item in broken} == {"unreadable clip"}
    details = " ".join(records[item]["detail"] for item in broken)
    assert ".mp4 to be a video, but it cannot be decoded" in details and "but it was cut off" in details
    assert run.score(TASK, "single_accuracy") == 100
    # Once the clips are whole, their items alone are asked.
    again = run_host(*solve, home=sample_world.home, out=tmp_path / "again", ranks=2, env=kept)
    assert f"{len(records) - len(broken)} answers" in again.output.replace(",", "")
    assert again.score(TASK, "unscored_rate") == 0 and again.score(TASK, "single_accuracy") == 100


@pytest.mark.parametrize("model", first_by_day(["qwen2_5_vl", "openai", "async_openai"]))
def test_an_adapter_of_lmms_eval_goes_on_without_a_clip_that_cannot_be_decoded(
    model: str, damaged_home: tuple[Path, set[str]], tiny_qwen: Path, tmp_path: Path
) -> None:
    home, broken = damaged_home
    with model_server(lambda number: ("A", 1)) as server:
        # Of two frames, the first and the last, none is damaged.
        asked = {
            "qwen2_5_vl": [*qwen_arguments(tiny_qwen), "--batch_size", "4"],
            "openai": [word.replace("frames_num=2", "frames_num=16") for word in server.arguments(2)],
            "async_openai": [word.replace("nframes=2", "nframes=16") for word in server.asynchronous(2)],
        }[model]
        run = run_host(
            *asked, "--model", model, "--device", "cpu", "--gen_kwargs", "max_new_tokens=4", "--tasks", TASK,
            "--limit", "8", home=home, out=tmp_path / "out",
        )  # fmt: skip
    records = [sample["record"] for sample in run.samples(TASK)]
    unscored = {record["item_id"] for record in records if record["outcome"] == "unscored"}
    assert unscored == broken & {record["item_id"] for record in records} and 0 < len(unscored) < len(records)
    assert {record["unscored_reason"] for record in records} == {"unreadable clip", None}
    if model != "qwen2_5_vl":
        assert len(server.bodies) == len(records) - len(unscored)


def test_responses_that_are_none_count_as_unparsed(sample_world: SampleWorld, tmp_path: Path) -> None:
    """Of one benchmark there is no response, of the other empty, long and binary ones."""
    said = ["", "   ", "A or B " * 15_000, "\x00\x01\ufffd\x7f" * 1000, "<think>" * 10_000, "{" * 20_000]
    ids = pyarrow.parquet.read_table(sample_world.home / "mvp" / "mini.parquet")["item_id"].to_pylist()
    # The longest take a second each.
    responses = [*said, *[""] * (len(ids) - len(said))]
    lines = [json.dumps({"id": one, "response": text}) + "\n" for one, text in zip(ids, responses, strict=True)]
    (tmp_path / "garbage.jsonl").write_text("".join(lines), encoding="utf-8")
    replay = ("--model", "replay", "--model_args", f"predictions={tmp_path / 'garbage.jsonl'},missing=unparsed")
    run = run_host(*replay, "--tasks", f"{TASK},mvp_mini", home=sample_world.home, out=tmp_path / "out")
    for task in (TASK, "mvp_mini"):
        assert (run.score(task, "unparsed_rate"), run.score(task, "pair_accuracy")) == (100, 0)
    # Nothing that was not said is submitted: neither candidate A nor any other text.
    assert {row["model_answer"] for row in run.submission("mvp_mini_submission.jsonl")} == {""}
