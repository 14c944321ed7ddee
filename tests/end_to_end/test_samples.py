"""Several samples an item, `lmms-eval -n 4`: what is asked, kept, graded, logged and scored."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from host_run import HostRun, SampleWorld, kill_host, own_command, run_host, start_host
from kept_answers import kept_answers
from qwen_on_cpu_ranks import ranks_asked

from lmms_eval_tasks.runs.scores import read_scores, scores_path
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

pytestmark = pytest.mark.host

K = 4
TASK = "mvp_mini_temporal_reasoning"
GUESSED = ("--model", "random_answer", "--tasks", f"{TASK},causalvqa_debug_paired")


@pytest.fixture(scope="module")
def guessed(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_host(*GUESSED, "-n", str(K), home=sample_world.home, out=tmp_path_factory.mktemp("guessed"))


def read_log(run: HostRun, task: str) -> list[tuple[str, str, list[str]]]:
    """Group, key and answers of each item, from what the host logged."""
    return [(line["record"]["group_id"], line["target"], line["filtered_resps"]) for line in run.samples_in_order(task)]


@pytest.mark.parametrize("task", [TASK, "causalvqa_debug_paired"])
def test_scores_are_those_of_the_logged_answers(task: str, guessed: HostRun) -> None:
    items = read_log(guessed, task)
    pairs: dict[str, list[list[bool]]] = defaultdict(list)
    voted: dict[str, list[bool]] = defaultdict(list)
    for group, key, answers in items:
        pairs[group].append([answer == key for answer in answers])
        most = max(Counter(answers).values())
        voted[group].append(next(one for one in answers if answers.count(one) == most) == key)
    by_sample = [[all(sample) for sample in zip(*members, strict=True)] for members in pairs.values()]
    expected = {
        "pair_accuracy": fmean(fmean(pair) for pair in by_sample),
        "pair_accuracy_any_of_k": fmean(map(any, by_sample)),
        "pair_accuracy_all_of_k": fmean(map(all, by_sample)),
        "pair_accuracy_majority": fmean(map(all, voted.values())),
        "single_accuracy": fmean(answer == key for _, key, answers in items for answer in answers),
        "self_agreement": fmean(one == two for *_, answers in items for one, two in combinations(answers, 2)),
    }
    scores = guessed.scores(task)
    assert {name: scores[name] for name in expected} == pytest.approx(
        {name: 100 * value for name, value in expected.items()}
    )
    part = read_scores(scores_path(guessed.results_file())).part(task)
    assert part.samples == K and sum(part.outcomes.values()) == K * len(items)
    assert part.score("pair_accuracy").samples_variance and part.score("pair_accuracy").groups == len(pairs)


def test_the_first_sample_is_that_of_a_run_with_one_and_others_differ(
    guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    once = run_host(*GUESSED, home=sample_world.home, out=tmp_path)
    lines = {line["record"]["item_id"]: line for line in once.samples(TASK)}
    columns: list[list[str]] = []
    for line in guessed.samples(TASK):
        first, said = line["record"], line["filtered_resps"]
        assert [one["sample"] for one in (first, *first["samples"])] == [1, 2, 3, 4]
        assert [one["answered"] for one in (first, *first["samples"])] == said
        plain = lines[first["item_id"]]
        alone = {name: value for name, value in first.items() if name not in ("sample", "samples")}
        assert plain["record"] == alone and plain["filtered_resps"] == said[0]
        columns.append(said)
    assert len({"".join(sample) for sample in zip(*columns, strict=True)}) == K
    text = scores_path(once.results_file()).read_text(encoding="utf-8")
    assert "samples" not in text and "variance" not in text and "any_of_k" not in text
    submission = "submissions/mvp_mini_temporal_reasoning_valid.jsonl"
    assert guessed.submission(submission) == once.submission(submission)
    assert "the first sample is in it" in guessed.output and "first sample" not in once.output
    assert "temperature: 0" not in guessed.output, "this model draws by itself"


def test_a_finished_run_is_scored_merged_and_replayed_with_its_samples(
    guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    home, name = sample_world.home, guessed.results_file().name
    shown = own_command(home, "report", guessed.out, "--html", tmp_path / "page.html")
    assert f"{TASK}: over samples" in shown.stdout and "majority" in shown.stdout, shown.stdout + shown.stderr
    assert "Several samples an item" in (tmp_path / "page.html").read_text(encoding="utf-8")
    done = own_command(home, "rescore", guessed.out, "--out", tmp_path / "again")
    assert done.returncode == 0 and "scores equal" in done.stdout, done.stdout + done.stderr
    written = scores_path(guessed.results_file()).read_bytes()
    assert scores_path(tmp_path / "again" / name).read_bytes() == written

    def alike(run: HostRun) -> None:
        for task in GUESSED[-1].split(","):
            assert read_log(run, task) == read_log(guessed, task) and run.scores(task) == guessed.scores(task)

    two = run_host(*GUESSED, "-n", str(K), home=home, out=tmp_path / "two", ranks=2)
    alike(two)
    compared = own_command(home, "compare", guessed.out, two.out, "--task", TASK)
    assert "samples an item: 4 of run 1, 4 of run 2" in compared.stdout, compared.stdout + compared.stderr
    assert "pair accuracy, any of k" in compared.stdout
    replay = ("--model", "replay", "--model_args", f"predictions={guessed.out}", *GUESSED[2:], "-n", str(K))
    alike(run_host(*replay, home=home, out=tmp_path / "replayed"))
    kept = run_host(*GUESSED, "-n", str(K), "--predict_only", home=home, out=tmp_path / "kept")
    done = own_command(home, "rescore", kept.out, "--out", tmp_path / "scored")
    assert done.returncode == 0, done.stdout + done.stderr
    alike(HostRun(0, "", tmp_path / "scored"))
    for part in (1, 2):
        env = {"LMMS_EVAL_TASKS_SHARD": f"{part}/2"}
        run_host(*GUESSED, "-n", str(K), home=home, out=tmp_path / f"part{part}", env=env)
    done = own_command(home, "merge", tmp_path / "part1", tmp_path / "part2", "--out", tmp_path / "whole")
    assert done.returncode == 0, done.stdout + done.stderr
    alike(HostRun(0, "", tmp_path / "whole"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments of a run of lmms-eval's own adapter whose answers are drawn."""
    checkpoint = write_tiny_vlm(tmp_path_factory.mktemp("tiny") / "qwen")
    tiny = "device_map=cpu,attn_implementation=eager,max_num_frames=4,min_pixels=3136,max_pixels=25088"
    return [
        "--model", "qwen_chat_on_cpu_ranks", "--model_args", f"pretrained={checkpoint},{tiny}", "--device", "cpu",
        "--gen_kwargs", "max_new_tokens=6,temperature=1.0,do_sample=true", "--tasks", TASK, "--limit", "6",
        "-n", str(K),
    ]  # fmt: skip


def test_a_killed_run_asks_nothing_twice_and_draws_each_sample_as_one_that_was_not_killed(
    drawn: list[str], sample_world: SampleWorld, tmp_path: Path
) -> None:
    home, out, items = sample_world.home, tmp_path / "killed", 6
    run = start_host(*drawn, home=home, out=out)
    until = time.monotonic() + 240
    try:
        while run.poll() is None and time.monotonic() < until and len(kept_answers(out / "answers")) < 7:
            time.sleep(0.02)
    finally:
        kill_host(run)
    before = kept_answers(out / "answers")
    assert 7 <= len(before) < K * items
    resumed = run_host(*drawn, home=home, out=out, env={"RECEIVED_FOLDER": str(out / "received")}, ranks=2)
    asked = ranks_asked(out / "received")
    assert sum(map(len, asked.values())) == K * items - len(before), "what was kept is not asked again"
    assert f"{len(before)} answers kept from before" in resumed.output
    whole = run_host(*drawn, home=home, out=tmp_path / "whole")
    assert read_log(resumed, TASK) == read_log(whole, TASK), "on two ranks as on one"
    assert resumed.scores(TASK) == whole.scores(TASK)
    assert any(len(set(answers)) == K for *_, answers in read_log(whole, TASK))
    assert "temperature: 0" not in whole.output


def test_moved_options_are_scored_beside_the_whole_task(sample_world: SampleWorld, tmp_path: Path) -> None:
    tasks = ["causalvqa_debug_paired", *(f"causalvqa_debug_paired_{view}" for view in ("rotated", "none_of_these"))]
    arguments = ("--model", "random_answer", "--tasks", ",".join(tasks))
    run = run_host(*arguments, home=sample_world.home, out=tmp_path / "run")
    items: dict[str, list[bool]] = defaultdict(list)
    for line in run.samples(tasks[1]):
        assert line["record"]["view"] == "rotated" and line["record"]["fields"]["orders"] == 5
        items[line["record"]["item_id"].partition("#")[0]].append(line["filtered_resps"] == line["target"])
    assert len(items) == 40 and {len(orders) for orders in items.values()} == {5}
    assert run.scores(tasks[1])["single_accuracy"] == 100 * fmean(map(all, items.values()))
    assert run.scores(tasks[1])["single_accuracy_any_of_k"] == 100 * fmean(map(any, items.values()))
    for line in run.samples(tasks[2]):
        assert f"({line['target']}) None of these" in line["input"], line["input"]
    shown = own_command(sample_world.home, "report", tmp_path / "run")
    assert "causalvqa_debug_paired: what is left in its views" in shown.stdout, shown.stdout + shown.stderr
    assert "over orders of its options" in shown.stdout
    done = own_command(sample_world.home, "rescore", tmp_path / "run")
    assert done.returncode == 0 and "scores equal" in done.stdout, done.stdout + done.stderr
    refused = run_host(*arguments, "-n", "2", home=sample_world.home, out=tmp_path / "refused")
    assert refused.status == 1 and "Expected one sample an item of causalvqa_debug_paired_rotated" in refused.output


def test_equal_samples_are_named_before_they_are_paid_for(sample_world: SampleWorld, tmp_path: Path) -> None:
    arguments = ("--model", "constant_answer", "--tasks", TASK, "-n", "3", "--limit", "2")
    run = run_host(*arguments, home=sample_world.home, out=tmp_path)
    line = f"temperature: 0 in {TASK}: the 3 samples of an item will be equal, and each is paid for."
    assert run.output.index(line) < run.output.index("Running generate_until requests")
    records: list[dict[str, Any]] = [line["record"] for line in run.samples(TASK)]
    assert all(len(record["samples"]) == 2 for record in records), json.dumps(records)
    assert run.scores(TASK)["self_agreement"] == 100
