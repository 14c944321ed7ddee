"""A run of every benchmark that has a leaderboard, on the sample world: submitted without it, and valid."""

from __future__ import annotations

from pathlib import Path

import pytest
from hook_runs import FILES
from host_run import HostRun, SampleWorld, own_command

pytestmark = pytest.mark.host

JOINT = {"causalvqa.jsonl": "causalvqa", "intphys2.jsonl": "intphys2", "mvp_mini.jsonl": "mvp", "mvp.jsonl": "mvp"}
"""The files of the leaderboard that takes several benchmarks."""
OF_WORDS = [one for one in FILES if one[0] != "yocausal"]


@pytest.mark.parametrize(("benchmark", "part"), OF_WORDS)
def test_a_finished_run_is_submitted_and_valid(
    benchmark: str, part: str, guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    def command(*words: str | Path) -> tuple[int, str, str]:
        done = own_command(sample_world.home, *words)
        return done.returncode, done.stdout, done.stderr

    chosen = [*(["--part", part] if part else []), *(["--split", "mini"] if benchmark == "mvp" else [])]
    arguments = ("submit", benchmark, guessed.out, "--out", tmp_path / "file", *chosen)
    status, _, told = command(*arguments)
    assert status == 1 and "Expected the official release, but got sample data." in told
    assert not (tmp_path / "file").exists()
    status, told, _ = command(*arguments, "--allow-unofficial")
    assert status == 0 and told.startswith("SAMPLE DATA, not the benchmark")
    assert (tmp_path / "file").read_bytes() == guessed.submission_file(FILES[benchmark, part]).read_bytes()
    status, told, _ = command("validate", benchmark, tmp_path / "file")
    told = " ".join(told.split())
    assert status == 0 and "not valid for the leaderboard" in told and "(SAMPLE DATA, not the benchmark)" in told


def test_a_leaderboard_gets_the_files_of_a_model(guessed: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    out = tmp_path / "files"
    arguments = ("submit", "physical-reasoning", guessed.out, "--out", out)
    refused = own_command(sample_world.home, *arguments)
    assert refused.returncode == 1 and not out.exists()
    assert refused.stderr.count("Expected the official release, but got sample data.") == len(JOINT)
    done = own_command(sample_world.home, *arguments, "--allow-unofficial")
    assert done.returncode == 0 and "SAMPLE DATA, not the benchmark" in done.stdout, done.stderr
    assert {path.name for path in out.iterdir()} == JOINT.keys()
    for file, benchmark in JOINT.items():
        checked = own_command(sample_world.home, "validate", benchmark, out / file)
        assert checked.returncode == 0, checked.stderr
    assert (out / "causalvqa.jsonl").read_bytes() == guessed.submission_file(FILES["causalvqa", ""]).read_bytes()
