"""Parts of a run through the real command: merged they are the whole run, in every number and byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest
from host_run import HostRun, SampleWorld, own_command, own_command_alone, run_host

from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.finished.submit import submit
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import Shard
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import SHARD

pytestmark = pytest.mark.host

TASKS = "causalvqa_debug_paired,causalvqa_debug_paired_blind,mvp_mini,countervqa,intphys2_main,yocausal_vlm"
NO_JUDGE = {"LMMS_EVAL_TASKS_JUDGE": "none"}
OF_ITS_TIME = {"config", "date", "start_time", "end_time", "total_evaluation_time_seconds", "throughput"}
"""Fields of a results file that two runs of the same do not share: where its files lie, when it ran, and how fast."""
OF_ITS_CARD = {"date", "command", "wall time in s", "seconds"}


@pytest.fixture(scope="module")
def parts(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> list[HostRun]:
    """Three, of which the second runs on two ranks."""
    out = tmp_path_factory.mktemp("parts")
    return [
        run_host(
            "--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=out / str(part),
            ranks=2 if part == 2 else 1, env={**NO_JUDGE, SHARD: f"{part}/3"},
        )
        for part in (1, 2, 3)
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def world(sample_world: SampleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))


def load(run: HostRun, ending: str) -> dict[str, Any]:
    (path,) = run.out.glob(f"**/*{ending}")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def written(run: HostRun) -> dict[str, bytes]:
    """Sample logs by their tasks, and files for leaderboards."""
    logs = {path.name.partition("_samples_")[2]: path.read_bytes() for path in run.out.glob("**/*_samples_*.jsonl")}
    files = {*run.out.glob("**/submissions/*"), *run.out.glob("**/*_submission.*")}
    return logs | {path.name: path.read_bytes() for path in files}


def different(one: Mapping[str, Any], other: Mapping[str, Any], but: AbstractSet[str]) -> list[str]:
    """The names of what is not the same in both, but for some."""
    names = sorted((one.keys() | other.keys()) - but)
    return [name for name in names if one.get(name) != other.get(name)]


def test_parts_that_are_merged_are_the_whole_run(
    parts: list[HostRun], sample_world: SampleWorld, tmp_path: Path
) -> None:
    home = sample_world.home
    assert [part.status for part in parts] == [0, 0, 0], [part.output for part in parts]
    assert not any((part.out / "submissions").exists() for part in parts)
    whole = run_host("--model", "sample_solver", "--tasks", TASKS, home=home, out=tmp_path / "whole", env=NO_JUDGE)
    done = own_command(home, "merge", *(part.out for part in parts), "--out", tmp_path / "merged")
    assert done.returncode == 0, done.stdout + done.stderr
    merged = HostRun(0, done.stdout, tmp_path / "merged")
    first, second = (json.loads(re.sub(r" at 0x[0-9a-f]+", "", json.dumps(run.results()))) for run in (whole, merged))
    assert different(first, second, but=OF_ITS_TIME) == []
    assert written(whole) == written(merged)
    assert different(load(whole, "_scores.json"), load(merged, "_scores.json"), but={"results"}) == []
    one, other = (load(run, "_run_card.json") for run in (whole, merged))
    assert other.pop("merged")["parts"] == 3
    fields = {name: different(one[name], other[name], but=OF_ITS_CARD) for name in one.keys() - {"throughput"}}
    # As one part ran on two ranks.
    assert {name: found for name, found in fields.items() if found} == {"hardware": ["device"], "run": ["ranks"]}
    items = sum(len(records) for records in read_run(whole.out).records.values())
    assert f"3 parts: {items} items of 9 tasks" in merged.output.splitlines()
    # Other commands take it.
    run = read_run(merged.out)
    assert run.shard is None and not run.limited and len(run.records) == 9
    assert own_command_alone(home, "report", merged.out).returncode == 0
    again = rescore(merged.out, tmp_path / "again")
    assert not again.changes and not any(again.items.values())
    submit("mvp", merged.out, tmp_path / "mvp.jsonl", allow_unofficial=True)
    assert (tmp_path / "mvp.jsonl").read_bytes() == whole.submission_file("mvp_mini_submission.jsonl").read_bytes()


@pytest.mark.nightly
def test_a_share_is_one_of_each_task(sample_world: SampleWorld, tmp_path: Path) -> None:
    tasks = ("causalvqa_debug_paired", "mvp_mini_intuitive_physics")
    asked = "--model", "constant_answer", "--model_args", "response=A", "--tasks", ",".join(tasks)

    def counts(name: str, *more: str, env: Mapping[str, str] | None = None) -> list[int]:
        run = run_host(*asked, *more, home=sample_world.home, out=tmp_path / name, env=env)
        counted = [run.results()["n-samples"][task]["effective"] for task in tasks]
        assert [len(run.samples(task)) for task in tasks] == counted and read_run(run.out).limited
        return counted

    assert counts("share", "--limit", "0.1") == [4, 2], "of 40 and of 12"
    parts = [counts(str(part), "--limit", "0.5", env={SHARD: f"{part}/2"}) for part in (1, 2)]
    assert [sum(of_task) for of_task in zip(*parts, strict=True)] == [20, 6]
    theirs = run_host(
        *asked[:-1], f"{asked[-1]},mmmu_val", "--limit", "0.1", home=sample_world.home, out=tmp_path / "x"
    )
    assert theirs.status == 1 and "--limit 0.1 is a share of each task of lmms-eval-tasks, and one" in theirs.output


def test_what_is_made_of_a_part_says_so(parts: list[HostRun], tmp_path: Path) -> None:
    run = read_run(parts[0].out)
    assert (run.shard, run.limited, run.card["run"]["shard"]) == (Shard(1, 3), "part 1/3", "1/3")
    assert all("part 1/3" in run.apart([task]) for task in run.records)
    assert parts[0].output.count("; SAMPLE DATA, not the benchmark, part 1/3\n") == 10
    with pytest.raises(InputError, match="Remedy: Merge all parts: lmms-eval-tasks merge PART… --out DIR"):
        submit("mvp", parts[0].out, tmp_path / "file", allow_unofficial=True, allow_incomplete=True)
    assert not rescore(parts[0].out, tmp_path / "again").changes and not (tmp_path / "again").exists()
