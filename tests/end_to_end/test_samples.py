"""Several samples an item, `lmms-eval -n 4`: what is asked, graded, logged and scored."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host

from lmms_eval_tasks.runs.scores import read_scores, scores_path

pytestmark = pytest.mark.host

SAMPLES = 4
TASK, PAIRED = "mvp_mini_temporal_reasoning", "causalvqa_debug_paired"
GUESSED = ("--model", "random_answer", "--tasks", f"{TASK},{PAIRED}")


@pytest.fixture(scope="module")
def guessed(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_host(*GUESSED, "-n", str(SAMPLES), home=sample_world.home, out=tmp_path_factory.mktemp("guessed"))


def read_log(run: HostRun, task: str) -> list[tuple[str, str, list[str]]]:
    """Group, key and answers of each item, from what the host logged."""
    return [(line["record"]["group_id"], line["target"], line["filtered_resps"]) for line in run.samples_in_order(task)]


@pytest.mark.parametrize("task", [TASK, PAIRED])
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
    assert part.samples == SAMPLES and sum(part.outcomes.values()) == SAMPLES * len(items)
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
    assert len({"".join(sample) for sample in zip(*columns, strict=True)}) == SAMPLES
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

    def printed(*words: str | Path) -> str:
        done = own_command(home, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def alike(run: HostRun) -> None:
        for task in (TASK, PAIRED):
            assert read_log(run, task) == read_log(guessed, task) and run.scores(task) == guessed.scores(task)

    shown = printed("report", guessed.out, "--html", tmp_path / "page.html")
    assert f"{TASK}: over samples" in shown and "majority" in shown
    assert "Several samples an item" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "scores equal" in printed("rescore", guessed.out, "--out", tmp_path / "again")
    written = scores_path(guessed.results_file()).read_bytes()
    assert scores_path(tmp_path / "again" / name).read_bytes() == written
    replay = ("--model", "replay", "--model_args", f"predictions={guessed.out}", *GUESSED[2:], "-n", str(SAMPLES))
    alike(run_host(*replay, home=home, out=tmp_path / "replayed"))
    for part, ranks in ((1, 1), (2, 2)):
        env = {"LMMS_EVAL_TASKS_SHARD": f"{part}/2"}
        run_host(*GUESSED, "-n", str(SAMPLES), home=home, out=tmp_path / f"part{part}", env=env, ranks=ranks)
    printed("merge", tmp_path / "part1", tmp_path / "part2", "--out", tmp_path / "whole")
    alike(HostRun(0, "", tmp_path / "whole"))
    compared = printed("compare", guessed.out, tmp_path / "whole", "--task", TASK)
    assert "samples an item: 4 of run 1, 4 of run 2" in compared and "pair accuracy, any of k" in compared


def test_moved_options_are_scored_beside_the_whole_task(sample_world: SampleWorld, tmp_path: Path) -> None:
    moved, none = (f"{PAIRED}_{view}" for view in ("rotated", "none_of_these"))
    arguments = ("--model", "random_answer", "--tasks", f"{PAIRED},{moved},{none}")
    run = run_host(*arguments, home=sample_world.home, out=tmp_path / "run")
    items: dict[str, list[bool]] = defaultdict(list)
    for line in run.samples(moved):
        assert line["record"]["view"] == "rotated" and line["record"]["fields"]["orders"] == 5
        items[line["record"]["item_id"].partition("#")[0]].append(line["filtered_resps"] == line["target"])
    assert len(items) == 40 and {len(orders) for orders in items.values()} == {5}
    assert run.scores(moved)["single_accuracy"] == 100 * fmean(map(all, items.values()))
    assert run.scores(moved)["single_accuracy_any_of_k"] == 100 * fmean(map(any, items.values()))
    for line in run.samples(none):
        assert f"({line['target']}) None of these" in line["input"], line["input"]
    refused = run_host(*arguments, "-n", "2", home=sample_world.home, out=tmp_path / "refused")
    assert refused.status == 1 and f"Expected one sample an item of {moved}" in refused.output
