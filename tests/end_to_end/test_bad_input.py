"""What a user sees when something is not as it should be: the whole message, once, and the run's end."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from host_run import HostRun, SampleWorld, run_host
from model_server import ModelServer

from lmms_eval_tasks.host.checks import REFUSED
from lmms_eval_tasks.prompting import prompt_ids
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

pytestmark = pytest.mark.host

CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"


def message(run: HostRun, first_words: str) -> str:
    """What the run printed from its message on; the launcher of two ranks adds a report of its own."""
    assert run.status != 0, run.output
    assert run.output.count(first_words) == 1, run.output
    start = run.output.index(first_words)
    # Its lines begin with a letter and the date, as in E0131.
    return re.split(r"\n[EIW]\d{4} ", run.output[start:], maxsplit=1)[0].strip()


@pytest.mark.parametrize("ranks", [1, 2])
def test_no_data_prepared_stops_before_the_model_loads(ranks: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run = run_host(
        "--model", "qwen2_5_vl", "--model_args", "pretrained=a-model-that-would-fail-to-load",
        "--tasks", "causalvqa_paired,mvp_mini", home=home, out=tmp_path / "out", ranks=ranks,
    )  # fmt: skip
    assert message(run, "CausalVQA is not prepared").startswith(
        f"CausalVQA is not prepared: there is no {home}/causalvqa/manifest.json.\n"
        "Run:  lmms-eval-tasks prepare causalvqa --source CausalVQA.zip\n"
        "To try without the data:  lmms-eval-tasks sample --out sample --prepare\n"
        "\n"
        f"MVP is not prepared: there is no {home}/mvp/manifest.json.\n"
        "Run:  lmms-eval-tasks prepare mvp --videos DIR\n"
        "To try without the data:  lmms-eval-tasks sample --out sample --prepare"
    )
    assert "a-model-that-would-fail-to-load" not in run.output.split("CausalVQA is not prepared")[1]
    assert "Traceback" not in run.output.split("CausalVQA is not prepared")[0]


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
    ranks: int, options: dict[str, str], told: str, sample_world: SampleWorld, tmp_path: Path
) -> None:
    weights = f"pretrained={write_tiny_vlm(tmp_path / 'tiny')},device_map=cpu"
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


@pytest.fixture
def home_without_a_clip(sample_world: SampleWorld, tmp_path: Path) -> tuple[Path, str]:
    """A copy of the prepared sample in which one clip has gone since."""
    home = tmp_path / "home"
    shutil.copytree(sample_world.home, home, symlinks=True)
    gone = sorted((home / "causalvqa" / "videos" / "debug").iterdir())[0]
    gone.unlink()
    return home, f"debug/{gone.name}"


def test_a_clip_that_has_gone_stops_the_run(home_without_a_clip: tuple[Path, str], tmp_path: Path) -> None:
    home, clip = home_without_a_clip
    run = run_host("--model", "sample_solver", "--tasks", "causalvqa_debug_paired", home=home, out=tmp_path / "out")
    told = message(run, "CausalVQA, split debug")
    assert "clips are missing" in told.splitlines()[0] and clip in told and "LMMS_EVAL_TASKS_MISSING=skip" in told


def test_a_clip_that_has_gone_can_be_skipped_and_asked_once_it_is_back(
    home_without_a_clip: tuple[Path, str], sample_world: SampleWorld, tmp_path: Path
) -> None:
    home, clip = home_without_a_clip
    solve = ("--model", "sample_solver", "--tasks", "causalvqa_debug_paired", "--use_cache", str(tmp_path / "cache"))
    run = run_host(*solve, home=home, out=tmp_path / "out", env={"LMMS_EVAL_TASKS_MISSING": "skip"})
    samples = run.samples("causalvqa_debug_paired")
    unscored = [sample["record"] for sample in samples if sample["record"]["outcome"] == "unscored"]
    assert unscored and all(record["unscored_reason"] == "no clip" for record in unscored)
    assert run.score("causalvqa_debug_paired", "pair_accuracy") == 100
    assert run.score("causalvqa_debug_paired", "pairs_scored") == 20 - len(unscored) // 2
    assert run.score("causalvqa_debug_paired", "unscored_rate") == pytest.approx(100 * len(unscored) / len(samples))
    empty = {row["row_id"] for row in run.submission("submissions/causalvqa_debug.jsonl") if not row["model_answer"]}
    assert empty == {record["item_id"] for record in unscored}

    replayed = run_host(
        "--model", "replay", "--model_args", f"predictions={run.out}", "--tasks", "causalvqa_debug_paired",
        home=home, out=tmp_path / "replayed",
    )  # fmt: skip
    assert replayed.scores("causalvqa_debug_paired") == run.scores("causalvqa_debug_paired")

    name = Path("causalvqa", "videos", clip)
    shutil.copy2(sample_world.home / name, home / name)
    again = run_host(*solve, home=home, out=tmp_path / "again")
    assert again.score("causalvqa_debug_paired", "unscored_rate") == 0
    assert again.score("causalvqa_debug_paired", "single_accuracy") == 100


def test_a_rank_that_lacks_the_data_says_so(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "random_answer", "--tasks", "mvp_mini", home=sample_world.home, out=tmp_path / "out", ranks=2,
        second_rank={"LMMS_EVAL_TASKS_HOME": f"{tmp_path}/empty"},
    )  # fmt: skip
    assert message(run, "MVP is not prepared").startswith(
        f"MVP is not prepared: there is no {tmp_path}/empty/mvp/manifest.json.\n"
    )


def test_ranks_that_would_ask_differently_end_together(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "random_answer", "--tasks", "cast_bench", home=sample_world.home, out=tmp_path / "out", ranks=2,
        second_rank={"LMMS_EVAL_TASKS_PROMPT": "mcq_letter"},
    )  # fmt: skip
    lines = message(run, "The ranks of this run would not ask the same").splitlines()
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


@pytest.mark.parametrize(("ranks", "kept"), [(1, "kept"), (2, "kept"), (1, "none")])
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
    model: str, damaged_home: tuple[Path, set[str]], tmp_path: Path
) -> None:
    (home, broken), task = damaged_home, "causalvqa_debug_paired"
    sizes = "device_map=cpu,attn_implementation=eager,max_num_frames=4,min_pixels=3136,max_pixels=25088"
    with ModelServer(lambda number: ("A", 1)) as server:
        # Of two frames, the first and the last, none is damaged.
        asked = [word.replace("max_frames_num=2", "max_frames_num=16") for word in server.arguments()]
        if model == "qwen2_5_vl":
            asked = ["--model_args", f"pretrained={write_tiny_vlm(tmp_path / 'tiny')},{sizes}", "--batch_size", "4"]
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


@pytest.mark.parametrize("chosen", ["oficial", "official"])
def test_a_prompt_that_is_not_there_ends_the_run(chosen: str, sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "constant_answer", "--tasks", "causalvqa_debug_paired", home=sample_world.home, out=tmp_path,
        env={"LMMS_EVAL_TASKS_PROMPT": chosen},
    )  # fmt: skip
    known = ", ".join(prompt_ids())
    assert message(run, "Expected a prompt id") == f"Expected a prompt id, one of {known}, but got {chosen!r}." + (
        " CausalVQA's official prompt is not on this machine. Run `lmms-eval-tasks prompts import causalvqa --from "
        "CHECKOUT` with a checkout of https://github.com/facebookresearch/CausalVQA, or run without it."
        if chosen == "official"
        else ""
    )


@pytest.mark.parametrize("ranks", [1, 2])
def test_responses_for_another_task(ranks: int, sample_world: SampleWorld, tmp_path: Path) -> None:
    responses = tmp_path / "other.jsonl"
    responses.write_text('{"id": "of another task", "response": "A"}\n', encoding="utf-8")
    run = run_host(
        "--model", "replay", "--model_args", f"predictions={responses}", "--tasks", "causalvqa_debug_paired",
        home=sample_world.home, out=tmp_path / "out", ranks=ranks,
    )  # fmt: skip
    rows = 40
    told = message(run, f"{responses} cannot be replayed").splitlines()
    assert told[0] == (
        f"{responses} cannot be replayed: {rows} items have no saved response (of causalvqa_debug_paired)."
    )
    assert told[1].endswith(f", … and {rows - 5} more")
    assert told[2] == (
        "Give the responses of the same task and split, or count these as unparsed:  "
        "--model_args predictions=…,missing=unparsed"
    )


def test_missing_responses_can_count_as_unparsed(sample_world: SampleWorld, tmp_path: Path) -> None:
    responses = tmp_path / "other.jsonl"
    responses.write_text('{"id": "of another task", "response": "A"}\n', encoding="utf-8")
    run = run_host(
        "--model", "replay", "--model_args", f"predictions={responses},missing=unparsed",
        "--tasks", "causalvqa_debug_paired", home=sample_world.home, out=tmp_path / "out",
    )  # fmt: skip
    assert run.score("causalvqa_debug_paired", "unparsed_rate") == 100
    assert run.score("causalvqa_debug_paired", "single_accuracy") == 0


def test_empty_long_and_binary_responses_are_counted(sample_world: SampleWorld, tmp_path: Path) -> None:
    garbage = ["", "   ", "A or B " * 150_000, "\x00\x01\ufffd\x7f" * 1000, "<think>" * 10_000, "{" * 100_000]
    ids = [
        sample["record"]["item_id"]
        for task in ("causalvqa_debug_paired", *(f"mvp_mini_{subset}" for subset in SUBSETS))
        for sample in run_ids(sample_world, tmp_path).samples(task)
    ]
    responses = tmp_path / "garbage.jsonl"
    lines = [{"id": item_id, "response": garbage[index % len(garbage)]} for index, item_id in enumerate(ids)]
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = run_host(
        "--model", "replay", "--model_args", f"predictions={responses}",
        "--tasks", "causalvqa_debug_paired,mvp_mini", home=sample_world.home, out=tmp_path / "out",
    )  # fmt: skip
    for task in ("causalvqa_debug_paired", "mvp_mini"):
        assert run.score(task, "unparsed_rate") == 100
        assert run.score(task, "pair_accuracy") == 0
    # Nothing that was not said is submitted: neither candidate A nor any other text.
    assert {row["model_answer"] for row in run.submission("mvp_mini_submission.jsonl")} == {""}


SUBSETS = ("human_object_interactions", "robot_object_interactions", "intuitive_physics", "temporal_reasoning")
_runs: dict[Path, HostRun] = {}


def run_ids(sample_world: SampleWorld, tmp_path: Path) -> HostRun:
    """A run from whose logs the item ids are read."""
    if sample_world.home not in _runs:
        _runs[sample_world.home] = run_host(
            "--model", "constant_answer", "--tasks", "causalvqa_debug_paired,mvp_mini",
            home=sample_world.home, out=tmp_path / "ids",
        )  # fmt: skip
    return _runs[sample_world.home]
