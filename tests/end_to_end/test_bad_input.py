"""What a user sees when something is not as it should be: the whole message, once, and the run's end."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from expected import Expected
from host_run import HostRun, SampleWorld, qwen_arguments, run_host
from model_server import ModelServer

from lmms_eval_tasks.host.checks import REFUSED
from lmms_eval_tasks.prompting import prompt_ids

pytestmark = pytest.mark.host

CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"


def message(run: HostRun, first_words: str) -> str:
    """What the run printed from its message on; the launcher of two ranks adds a report of its own."""
    assert run.status != 0, run.output
    assert run.output.count(first_words) == 1, run.output
    start = run.output.index(first_words)
    # Its lines begin with a letter and the date, as in E0131.
    return re.split(r"\n[EIW]\d{4} ", run.output[start:], maxsplit=1)[0].strip()


def test_no_data_prepared_stops_before_the_model_loads(tmp_path: Path, expected: Expected) -> None:
    run = run_host(
        "--model", "qwen2_5_vl", "--model_args", "pretrained=a-model-that-would-fail-to-load",
        "--tasks", "causalvqa_paired,mvp_mini,yocausal_vlm", home=tmp_path / "home", out=tmp_path / "out", ranks=2,
    )  # fmt: skip
    before, words, after = run.output.partition("CausalVQA is not prepared")
    assert "a-model-that-would-fail-to-load" not in after and "Traceback" not in before
    expected(message(run, words))


@pytest.mark.parametrize(
    ("ranks", "options", "told"),
    [
        (1, {"--tasks": "mvp_mni,causalvqa_debug"}, "There is no task, group or tag 'mvp_mni'. Did you mean mvp_mini?"),
        (
            2,
            {"--tasks": "causalvqa_debug"},
            "There is no task, group or tag 'causalvqa_debug'. Did you mean causalvqa_",
        ),
        (1, {"--output_path": "/proc/out"}, "The output path /proc/out cannot be written to: "),
        (2, {"--model_args": "pretrained=checkpoints/nope"}, "Expected weights for qwen2_5_vl, but there is no folder"),
    ],
)
def test_a_run_that_would_be_lost_stops_before_weights_are_loaded(
    ranks: int, options: dict[str, str], told: str, sample_world: SampleWorld, tiny_qwen: Path, tmp_path: Path
) -> None:
    weights = f"pretrained={tiny_qwen},device_map=cpu"
    chosen = {"--model": "qwen2_5_vl", "--model_args": weights, "--tasks": "mvp_mini", **options}
    words = [word for option in chosen.items() for word in option]
    run = run_host(*words, home=sample_world.home, out=tmp_path / "out", ranks=ranks)
    assert message(run, told) and run.status == 1 and "Traceback" not in run.output.split(told)[0]
    assert not list((tmp_path / "out").rglob("*_results.json"))


def test_options_that_do_not_work_are_refused_before_the_model_loads(sample_world: SampleWorld, tmp_path: Path) -> None:
    given = {
        "baseline": "x.jsonl", "num_fewshot": "2", "apply_chat_template": "", "cache_requests": "true",
        "check_integrity": "", "launcher_args": "name=x", "wandb_log_samples": "", "swanlab_log_samples": "",
        "system_instruction": "Be brief.",
    }  # fmt: skip
    words = [word for name, value in given.items() for word in (f"--{name}", value) if word]
    run = run_host(
        "--model", "qwen2_5_vl", "--model_args", "pretrained=nowhere", "--tasks", "mvp_mini", *words,
        home=sample_world.home, out=tmp_path / "out",
    )  # fmt: skip
    reasons = message(run, "--baseline compares").splitlines()
    assert [line.split()[0] for line in reasons] == [
        *(f"--{name}" for name in REFUSED), "--system_instruction",
    ] and REFUSED.keys() < given.keys()  # fmt: skip
    tasks = "mvp_mini_intuitive_physics"
    run = run_host("--model", "from_log", "--tasks", tasks, home=sample_world.home, out=tmp_path / "log")
    assert message(run, "--model from_log").endswith("--model replay --model_args predictions=OUT")


def test_power_analysis_lists_the_tasks_of_a_group(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host("--power-analysis", "--tasks", "mvp_mini", home=sample_world.home, out=tmp_path / "out")
    assert run.status == 0 and len(re.findall(r"^  mvp_mini_\w+:\n    Sample size: ", run.output, re.MULTILINE)) == 4


def test_a_clip_that_has_gone_stops_the_run_or_is_skipped_and_asked_once_it_is_back(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    home, task = tmp_path / "home", "causalvqa_debug_paired"
    shutil.copytree(sample_world.home, home, symlinks=True)
    gone = sorted((home / "causalvqa" / "videos" / "debug").iterdir())[0]
    gone.unlink()
    solve = ("--model", "sample_solver", "--tasks", task, "--use_cache", str(tmp_path / "cache"))
    told = message(run_host(*solve, home=home, out=tmp_path / "stopped"), "CausalVQA, split debug")
    assert "clips are missing" in told.splitlines()[0] and f"debug/{gone.name}" in told
    assert "LMMS_EVAL_TASKS_MISSING=skip" in told
    run = run_host(*solve, home=home, out=tmp_path / "out", env={"LMMS_EVAL_TASKS_MISSING": "skip"})
    samples, scores = run.samples(task), run.scores(task)
    unscored = [sample["record"] for sample in samples if sample["record"]["outcome"] == "unscored"]
    assert unscored and all(record["unscored_reason"] == "no clip" for record in unscored)
    assert (scores["pair_accuracy"], scores["pairs_scored"]) == (100, 20 - len(unscored) // 2)
    assert scores["unscored_rate"] == pytest.approx(100 * len(unscored) / len(samples))
    empty = {row["row_id"] for row in run.submission("submissions/causalvqa_debug.jsonl") if not row["model_answer"]}
    assert empty == {record["item_id"] for record in unscored}
    replay = ("--model", "replay", "--model_args", f"predictions={run.out}", "--tasks", task)
    assert run_host(*replay, home=home, out=tmp_path / "replayed").scores(task) == scores
    shutil.copy2(sample_world.home / gone.relative_to(home), gone)
    again = run_host(*solve, home=home, out=tmp_path / "again").scores(task)
    assert (again["unscored_rate"], again["single_accuracy"]) == (0, 100)


def test_ranks_that_differ_end_together(sample_world: SampleWorld, tmp_path: Path) -> None:
    def run(tasks: str, out: str, **second_rank: str) -> HostRun:
        return run_host(
            "--model", "random_answer", "--tasks", tasks, home=sample_world.home, out=tmp_path / out, ranks=2,
            second_rank=second_rank,
        )  # fmt: skip

    empty = tmp_path / "empty"
    lacking = message(run("mvp_mini", "lacking", LMMS_EVAL_TASKS_HOME=str(empty)), "MVP is not prepared")
    assert lacking.startswith(f"MVP is not prepared: there is no {empty}/mvp/manifest.json.\n")
    differing = run("cast_bench", "differing", LMMS_EVAL_TASKS_PROMPT="mcq_letter")
    lines = message(differing, "The ranks of this run would not ask the same").splitlines()
    assert re.fullmatch(r"  cast_bench, prompt: cast_bench_evidence:\w+ on rank 0; mcq_letter:\w+ on rank 1", lines[1])
    assert lines[2].startswith("Give all ranks the same data home")


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


@pytest.mark.parametrize(("ranks", "kept"), [(2, "kept"), (1, "none")])
def test_a_clip_that_cannot_be_decoded_costs_its_own_items_alone(
    ranks: int, kept: str, damaged_home: tuple[Path, set[str]], sample_world: SampleWorld, tmp_path: Path
) -> None:
    (home, broken), task = damaged_home, "causalvqa_debug_paired"
    solve = ("--model", "sample_solver", "--tasks", task)
    env = {"LMMS_EVAL_TASKS_ANSWERS": str(tmp_path / kept) if kept == "kept" else kept}
    run = run_host(*solve, home=home, out=tmp_path / "out", ranks=ranks, env=env)
    records = {sample["record"]["item_id"]: sample["record"] for sample in run.samples(task)}
    assert {item for item, record in records.items() if record["outcome"] == "unscored"} == broken
    assert {records[item]["unscored_reason"] for item in broken} == {"unreadable clip"}
    details = " ".join(records[item]["detail"] for item in broken)
    assert ".mp4 to be a video, but it cannot be decoded" in details and "but it was cut off" in details
    assert run.score(task, "single_accuracy") == 100
    if kept == "kept":  # once the clips are whole, their items alone are asked
        again = run_host(*solve, home=sample_world.home, out=tmp_path / "again", ranks=ranks, env=env)
        assert f"{len(records) - len(broken)} answers" in again.output.replace(",", "")
        assert again.score(task, "unscored_rate") == 0 and again.score(task, "single_accuracy") == 100


@pytest.mark.parametrize("model", ["qwen2_5_vl", "openai", "async_openai"])
def test_an_adapter_of_lmms_eval_goes_on_without_a_clip_that_cannot_be_decoded(
    model: str, damaged_home: tuple[Path, set[str]], tiny_qwen: Path, tmp_path: Path
) -> None:
    (home, broken), task = damaged_home, "causalvqa_debug_paired"
    with ModelServer(lambda number: ("A", 1)) as server:
        # Of two frames, the first and the last, none is damaged.
        asked = [word.replace("max_frames_num=2", "max_frames_num=16") for word in server.arguments()]
        if model == "qwen2_5_vl":
            asked = [*qwen_arguments(tiny_qwen), "--batch_size", "4"]
        elif model == "async_openai":
            asked = [word.replace("max_frames_num=16,num_concurrent=1", "nframes=16,num_cpus=2") for word in asked]
        run = run_host(
            *asked, "--model", model, "--device", "cpu", "--gen_kwargs", "max_new_tokens=4", "--tasks", task,
            "--limit", "8", home=home, out=tmp_path / "out",
        )  # fmt: skip
    records = [sample["record"] for sample in run.samples(task)]
    unscored = {record["item_id"] for record in records if record["outcome"] == "unscored"}
    assert unscored == broken & {record["item_id"] for record in records} and 0 < len(unscored) < len(records)
    assert {record["unscored_reason"] for record in records} == {"unreadable clip", None}
    if model != "qwen2_5_vl":
        assert len(server.bodies) == len(records) - len(unscored)


def test_a_prompt_that_is_not_there_ends_the_run(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "constant_answer", "--tasks", "causalvqa_debug_paired", home=sample_world.home, out=tmp_path,
        env={"LMMS_EVAL_TASKS_PROMPT": "official"},
    )  # fmt: skip
    assert message(run, "Expected a prompt id") == (
        f"Expected a prompt id, one of {', '.join(prompt_ids())}, but got 'official'. CausalVQA's official prompt is "
        "not on this machine. Run `lmms-eval-tasks prompts import causalvqa --from CHECKOUT` with a checkout of "
        "https://github.com/facebookresearch/CausalVQA, or run without it."
    )


def test_responses_of_another_task_stop_the_run_or_count_as_unparsed(
    sample_world: SampleWorld, tmp_path: Path, expected: Expected
) -> None:
    def run(responses: Path, tasks: str, more: str = "", ranks: int = 1) -> HostRun:
        arguments = ["--model", "replay", "--model_args", f"predictions={responses}{more}", "--tasks", tasks]
        out = tmp_path / f"{responses.stem}{ranks}"
        return run_host(*arguments, home=sample_world.home, out=out, ranks=ranks)

    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "of another task", "response": "A"}\n', encoding="utf-8")
    expected(message(run(other, "causalvqa_debug_paired", ranks=2), f"{other} cannot be replayed"))
    # Of one benchmark there is no response, of the other empty, long and binary ones.
    said = ["", "   ", "A or B " * 150_000, "\x00\x01\ufffd\x7f" * 1000, "<think>" * 10_000, "{" * 100_000]
    ids = pyarrow.parquet.read_table(sample_world.home / "mvp" / "mini.parquet")["item_id"].to_pylist()
    lines = [json.dumps({"id": item, "response": said[n % len(said)]}) + "\n" for n, item in enumerate(ids)]
    (tmp_path / "garbage.jsonl").write_text("".join(lines), encoding="utf-8")
    garbage = run(tmp_path / "garbage.jsonl", "causalvqa_debug_paired,mvp_mini", ",missing=unparsed")
    for task in ("causalvqa_debug_paired", "mvp_mini"):
        assert (garbage.score(task, "unparsed_rate"), garbage.score(task, "pair_accuracy")) == (100, 0)
    # Nothing that was not said is submitted: neither candidate A nor any other text.
    assert {row["model_answer"] for row in garbage.submission("mvp_mini_submission.jsonl")} == {""}
