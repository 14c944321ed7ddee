"""One run of every benchmark that has a leaderboard, on the sample world: submitted without it, and valid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hook_runs import FILES
from host_run import HostRun, SampleWorld, own_command, run_host
from submission_world import losses

pytestmark = pytest.mark.host

TASKS = "causalvqa_debug_paired,causalvqa_paired,mvp_mini,intphys2_heldout,cast_bench,yocausal"
JOINT = {"causalvqa.jsonl": "causalvqa", "intphys2.jsonl": "intphys2", "mvp_mini.jsonl": "mvp"}
"""The files of the leaderboard that takes several benchmarks."""


@pytest.fixture(scope="module")
def run(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """Every item answered by `replay`: the sample's items with one text each, YoCausal's with losses."""
    import pyarrow.parquet

    lines = []
    said = {"cast_bench": '{"instances": [], "answer_choice": "B"}', "intphys2": "No"}
    for benchmark, split in (
        ("causalvqa", "debug"), ("causalvqa", "test"), ("mvp", "mini"), ("intphys2", "heldout"), ("cast_bench", "test"),
    ):  # fmt: skip
        rows = pyarrow.parquet.read_table(sample_world.home / benchmark / f"{split}.parquet").to_pylist()
        answer = said.get(benchmark, "(B)")
        # Every ninth answer cannot be read.
        lines += [{"id": row["item_id"], "response": answer if index % 9 else "hm"} for index, row in enumerate(rows)]
    rows = pyarrow.parquet.read_table(sample_world.home / "yocausal" / "test.parquet").to_pylist()
    lines += [{"id": row["item_id"], "response": losses(row)} for row in rows]
    responses = tmp_path_factory.mktemp("responses") / "responses.jsonl"
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = tmp_path_factory.mktemp("submitted")
    return run_host(
        "--model", "replay", "--model_args", f"predictions={responses}", "--tasks", TASKS,
        home=sample_world.home, out=out, ranks=2,
    )  # fmt: skip


@pytest.mark.parametrize(("benchmark", "part"), FILES)
def test_a_finished_run_is_submitted_and_valid(
    benchmark: str, part: str, run: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    run.results()
    chosen = ["--part", part] if part else []
    refused = own_command(sample_world.home, "submit", benchmark, run.out, "--out", tmp_path / "file", *chosen)
    assert refused.returncode == 1 and "Expected the official release, but got sample data." in refused.stderr
    assert not (tmp_path / "file").exists()
    done = own_command(
        sample_world.home, "submit", benchmark, run.out, "--out", tmp_path / "file", *chosen, "--allow-unofficial"
    )
    assert done.returncode == 0 and done.stdout.startswith("SAMPLE DATA, not the benchmark"), done.stderr
    assert (tmp_path / "file").read_bytes() == run.submission_file(FILES[benchmark, part]).read_bytes()
    checked = own_command(sample_world.home, "validate", benchmark, tmp_path / "file")
    told = " ".join(checked.stdout.split())
    assert checked.returncode == 0 and "not valid for the leaderboard" in told, checked.stderr
    assert "(SAMPLE DATA, not the benchmark)" in told


@pytest.fixture(scope="module")
def other(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """Another model, which lacks a benchmark of the leaderboard."""
    out = tmp_path_factory.mktemp("other")
    return run_host("--model", "random_answer", "--tasks", "mvp_mini,intphys2_heldout", home=sample_world.home, out=out)


def test_a_leaderboard_gets_the_files_of_each_model(
    run: HostRun, other: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    for made, missing in ((run, set()), (other, {"causalvqa.jsonl"})):
        out = tmp_path / made.out.name
        arguments = ("submit", "physical-reasoning", made.out, "--out", out)
        refused = own_command(sample_world.home, *arguments)
        assert refused.returncode == 1 and not out.exists()
        assert refused.stderr.count("Expected the official release, but got sample data.") == 3 - len(missing)
        done = own_command(sample_world.home, *arguments, "--allow-unofficial")
        assert done.returncode == 0 and "SAMPLE DATA, not the benchmark" in done.stdout, done.stderr
        assert {path.name for path in out.iterdir()} == JOINT.keys() - missing
        for file in out.iterdir():
            assert file.read_bytes() == made.submission_file(FILES[JOINT[file.name], ""]).read_bytes()
            checked = own_command(sample_world.home, "validate", JOINT[file.name], file)
            assert checked.returncode == 0, checked.stderr
        assert ("Run causalvqa_paired with --log_samples" in done.stdout) == bool(missing)


def test_runs_that_share_tasks_or_are_spoilt_are_refused_together(
    run: HostRun, other: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    spoilt, out = tmp_path / "spoilt", tmp_path / "files"
    shutil.copytree(run.out, spoilt)
    (log,) = spoilt.rglob("*_samples_causalvqa_paired.jsonl")
    first, *lines = log.read_text(encoding="utf-8").splitlines()
    record = json.loads(first)
    record["record"]["answered"] = "Z"
    log.write_text("".join(f"{line}\n" for line in [json.dumps(record), *lines[:-1]]), encoding="utf-8")
    arguments = ("submit", "physical-reasoning", spoilt, other.out, "--out", out, "--allow-unofficial")
    refused = own_command(sample_world.home, *arguments)
    assert refused.returncode == 1 and not out.exists()
    for expected in (
        "intphys2, runs: Expected each task in one of them, but got in several intphys2_heldout (",
        "mvp_mini, runs: Expected each task in one of them, but got in several mvp_mini_human_object_interactions (",
        "items: Expected all ",
        "run: Expected it to be whole, but it was cut short with ",
        "answers: Expected options of their items, but got `Z` (",
    ):
        assert expected in refused.stderr, refused.stderr
