"""Parts of a run through the real command: merged they are the whole run, in every number and byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command_alone, qwen_arguments, run_host
from merged_runs import difference, merge_parts, run_parts

from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.finished.submit import submit
from lmms_eval_tasks.host.asking.dealing import deal_rows
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import Shard
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import read_manifest, read_table
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS

pytestmark = pytest.mark.host

TASKS = "causalvqa_debug_paired,causalvqa_debug_paired_blind,mvp_mini,countervqa,intphys2_main,yocausal_vlm"
NO_JUDGE = {"LMMS_EVAL_TASKS_JUDGE": "none"}


@pytest.fixture(scope="module")
def whole(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("whole")
    return run_host("--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=out, env=NO_JUDGE)


@pytest.fixture(scope="module")
def parts(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> list[HostRun]:
    """Three, of which the second runs on two ranks."""
    return run_parts(
        "--model", "sample_solver", "--tasks", TASKS,
        home=sample_world.home, out=tmp_path_factory.mktemp("parts"), ranks={2: 2}, env=NO_JUDGE,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def world(sample_world: SampleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))
    monkeypatch.setenv("HF_HOME", str(sample_world.home.parent / "hf"))


def test_several_tasks_and_a_view(
    whole: HostRun, parts: list[HostRun], sample_world: SampleWorld, tmp_path: Path
) -> None:
    merged = merge_parts(parts, sample_world.home, tmp_path / "merged")
    assert difference(whole, merged) == ["hardware.device", "run.ranks"], "as one part ran on two ranks"
    items = sum(len(records) for records in read_run(whole.out).records.values())
    assert f"3 parts: {items} items of 9 tasks" in merged.output.splitlines()
    # Other commands take it.
    run = read_run(merged.out)
    assert run.shard is None and not run.limited and len(run.records) == 9
    assert own_command_alone(sample_world.home, "report", merged.out).returncode == 0
    again = rescore(merged.out, tmp_path / "again")
    assert not again.changes and not any(again.items.values())
    submit("mvp", merged.out, tmp_path / "mvp.jsonl", allow_unofficial=True)
    assert (tmp_path / "mvp.jsonl").read_bytes() == whole.submission_file("mvp_mini_submission.jsonl").read_bytes()


def test_what_is_made_of_a_part_says_so(parts: list[HostRun], tmp_path: Path) -> None:
    run = read_run(parts[0].out)
    assert (run.shard, run.limited, run.card["run"]["shard"]) == (Shard(1, 3), "part 1/3", "1/3")
    assert all("part 1/3" in run.apart([task]) for task in run.records)
    assert parts[0].output.count("; SAMPLE DATA, not the benchmark, part 1/3\n") == 10
    with pytest.raises(InputError, match="Remedy: Merge all parts: lmms-eval-tasks merge PART… --out DIR"):
        submit("mvp", parts[0].out, tmp_path / "file", allow_unofficial=True, allow_incomplete=True)
    assert not rescore(parts[0].out, tmp_path / "again").changes and not (tmp_path / "again").exists()


def test_parts_get_equal_seconds_of_every_prepared_table() -> None:
    prepared = [(name, split) for name in registry().benchmarks for split in read_manifest(read_card(name)).splits]
    assert len(prepared) > 8
    for benchmark, split in prepared:
        card = read_card(benchmark)
        table, _ = read_table(card, split)
        seconds = table.column(CLIP_SECONDS).to_pylist()
        assert all(length > 0 for length in seconds)
        clips = table.column("clip").to_pylist()
        shares = [0.0] * 2
        for _, length, part in set(zip(clips, seconds, deal_rows(card, table, 2), strict=True)):
            shares[part - 1] += length
        assert max(shares) <= 0.7 * sum(shares), (benchmark, split, shares)


def test_saved_answers_asked_in_parts(whole: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    """With more parts than the first items have groups, so that a part has none of a task, and one has none at all."""
    limited = "--limit", "2", "--model_args", f"predictions={whole.out}", "--tasks", "mvp_mini,intphys2_main"
    found = run_parts("--model", "replay", *limited, home=sample_world.home, out=tmp_path / "parts", of=5)
    one = run_host("--model", "replay", *limited, home=sample_world.home, out=tmp_path / "one")
    counts = [len(part.results()["configs"]) for part in found]
    assert 0 in counts and sum(counts) == 5
    assert "has no item of" in found[counts.index(0)].output
    merged = merge_parts(found, sample_world.home, tmp_path / "merged")
    assert difference(one, merged) == []
    assert merged.results()["n-samples"]["mvp_mini_intuitive_physics"] == {"original": 12, "effective": 2}


def test_a_real_adapter(tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path) -> None:
    tasks = ("--limit", "6", "--tasks", "causalvqa_debug_paired,causalvqa_debug_paired_shuffled")
    arguments = (*qwen_arguments(tiny_qwen), *tasks)
    one = run_host(*arguments, home=sample_world.home, out=tmp_path / "one")
    found = run_parts(*arguments, home=sample_world.home, out=tmp_path / "parts")
    assert difference(one, merge_parts(found, sample_world.home, tmp_path / "merged")) == []


def test_what_cannot_be_cut_is_refused_before_a_model_is_loaded(sample_world: SampleWorld, tmp_path: Path) -> None:
    for shard, tasks, message in (
        ("4/3", "mvp_mini", "Expected LMMS_EVAL_TASKS_SHARD to be i/N"),
        ("1/3", "mvp_mini,mmmu_val", "Expected only tasks of lmms-eval-tasks where LMMS_EVAL_TASKS_SHARD is set"),
    ):
        run = run_host(
            "--model", "sample_solver", "--tasks", tasks,
            home=sample_world.home, out=tmp_path / shard[0], env={"LMMS_EVAL_TASKS_SHARD": shard},
        )  # fmt: skip
        assert run.status == 1 and run.output.count(message) == 1 and "Traceback" not in run.output, run.output


def test_every_task_of_a_benchmark_has_an_item_in_the_same_part(parts: list[HostRun]) -> None:
    held: dict[str, set[int]] = {}
    for number, part in enumerate(parts):
        for task, records in read_run(part.out).records.items():
            known = registry().find_task(task)
            assert known is not None
            for record in records:
                held.setdefault(f"{known.benchmark.name} {known.split} {record.item_id}", set()).add(number)
    assert len(held) > 100 and all(len(numbers) == 1 for numbers in held.values())
