"""One run of every benchmark that has a leaderboard, on the sample world: submitted without it, and valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hook_runs import FILES
from host_run import HostRun, SampleWorld, own_command, run_host
from submission_world import losses

pytestmark = pytest.mark.host

TASKS = "causalvqa_debug_paired,causalvqa_paired,mvp_mini,cast_bench,yocausal"


@pytest.fixture(scope="module")
def run(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """Every item answered by `replay`: the sample's items with one text each, YoCausal's with losses."""
    import pyarrow.parquet

    lines = []
    for benchmark, split in (("causalvqa", "debug"), ("causalvqa", "test"), ("mvp", "mini"), ("cast_bench", "test")):
        rows = pyarrow.parquet.read_table(sample_world.home / benchmark / f"{split}.parquet").to_pylist()
        answer = '{"instances": [], "answer_choice": "B"}' if benchmark == "cast_bench" else "(B)"
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
    assert (tmp_path / "file").read_bytes() == (run.out / FILES[benchmark, part]).read_bytes()
    checked = own_command(sample_world.home, "validate", benchmark, tmp_path / "file")
    told = " ".join(checked.stdout.split())
    assert checked.returncode == 0 and "not valid for the leaderboard" in told, checked.stderr
    assert "(SAMPLE DATA, not the benchmark)" in told
