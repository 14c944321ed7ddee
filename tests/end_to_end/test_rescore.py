"""A finished run scored again gives its numbers again, to the last digit, and names what a changed scorer changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import call
from expected import Expected
from host_run import HostRun, SampleWorld, numbers, run_host

from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.finished.submit import submit
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import CARD
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Record

pytestmark = pytest.mark.host

DEBUG = "causalvqa_debug_paired"


@pytest.fixture(autouse=True)
def world(sample_world: SampleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def log_of(folder: Path, task: str) -> Path:
    (path,) = folder.rglob(f"*_samples_{task}.jsonl")
    return path


def change_lines(log: Path, change: Any) -> None:
    """Change the lines of a sample log, each in place."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for place, line in enumerate(lines):
        change(place, line)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_every_benchmark_scores_as_it_did_and_the_files_are_the_same(guessed: HostRun, tmp_path: Path) -> None:
    before, again = files(guessed.out), tmp_path / "again"
    made = call("rescore", guessed.out, "--out", again)
    # What lmms-eval prints, and every other score.
    numbers = [
        value
        for name, printed in guessed.results()["results"].items()
        for value in {**printed, **{f"{score},none": value for score, value in guessed.scores(name).items()}}.values()
        if value is None or isinstance(value, (int, float))
    ]
    assert made.status == 0 and made.out.splitlines() == [
        f"all {len(numbers)} scores equal, with their intervals and counts",
        f"Written: {again / next(name for name in before if name.endswith('_results.json') and '/' not in name)}",
    ]
    assert files(guessed.out) == before
    written = files(again)
    cards = {name for name in before if name.endswith(CARD)}
    assert len(cards) == 1 and written.keys() == before.keys()
    assert {name for name in before if written[name] != before[name]} == cards
    card, old = read_run(again).card, read_run(guessed.out).card
    assert {**card, "rescored": {}} == {**old, "rescored": {}}
    assert (
        call("rescore", guessed.out, "--out", tmp_path / "twice").status == 0 and files(tmp_path / "twice") == written
    )
    assert (card["rescored"]["scores"], card["rescored"]["changed scores"]) == (len(numbers), 0)


def test_answers_that_a_run_only_kept_are_scored_submitted_and_replayed(
    guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    tasks = f"{DEBUG},causalvqa_paired,mvp_mini,cast_bench"
    kept = run_host(
        "--model", "random_answer", "--tasks", tasks, "--predict_only",
        home=sample_world.home, out=tmp_path / "kept", env={"LMMS_EVAL_TASKS_JUDGE": "none"},
    )  # fmt: skip
    assert not (kept.out / "submissions").exists()
    shown = call("report", kept.out)
    assert shown.status == 0 and "60 items of causalvqa_paired" in shown.out and "not scored" in shown.out
    with pytest.raises(InputError, match="holds no scores of"):
        read_run(kept.out)
    made = call("rescore", kept.out, "--out", tmp_path / "scored")
    assert made.status == 0 and "scores computed of answers that the run only kept" in made.out
    (path,) = (tmp_path / "scored").glob("*_results.json")
    scored = json.loads(path.read_text(encoding="utf-8"))["results"]
    assert len(scored) == 8
    for name, scores in scored.items():
        # Its two ranks sum in another order.
        before = {key: value for key, value in guessed.results()["results"][name].items() if isinstance(value, float)}
        assert before and {key: scores[key] for key in before} == pytest.approx(before), name
    assert {*read_run(tmp_path / "scored").records} == {name for name in scored if name != "mvp_mini"}
    for benchmark, file in (("causalvqa", "submissions/causalvqa_test.jsonl"), ("mvp", "mvp_mini_submission.jsonl")):
        submit(benchmark, kept.out, tmp_path / "file", allow_unofficial=True)
        assert (tmp_path / "file").read_bytes() == guessed.submission_file(file).read_bytes(), benchmark
    saved, other = (read_responses(run.out).by_item for run in (kept, guessed))
    assert len(saved) > 90 and {key: other[key] for key in saved} == saved


def test_what_a_changed_scorer_changes_is_named_number_by_number(
    guessed: HostRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Record.of

    def strict(row: Mapping[str, Any], answered: str | None, *given: Any, **named: Any) -> Record:
        # Only the items of CausalVQA have two versions.
        return of(row, None if answered == "A" and "version" in row else answered, *given, **named)

    monkeypatch.setattr(Record, "of", strict)
    saved = guessed.samples(DEBUG)
    said = sum(sample["filtered_resps"] == "A" for sample in saved)
    made = call("rescore", guessed.out, "--out", tmp_path / "again")
    assert made.status == 3
    lines = made.out.splitlines()
    assert f"{DEBUG}: {said} of {len(saved)} items are read or graded otherwise." in lines
    (row,) = [line.split() for line in lines if line.split()[1:2] == ["unparsed_rate"] and "debug" in line]
    assert [float(cell) for cell in row[2:]] == [0.0, 100 * said / len(saved)]
    assert not [line for line in lines if line.split()[:1] == ["mvp_mini"]]
    assert max(len(line) for line in lines if not line.startswith("Written: ")) <= 100
    again = read_run(tmp_path / "again")
    assert sum(record.outcome.value == "unparsed" for record in again.records[DEBUG]) == said
    assert numbers(again.card["rescored"])["changed scores"] > 0
    # What was not touched is as it was.
    for task in ("mvp_mini_intuitive_physics", "cast_bench"):
        assert log_of(tmp_path / "again", task).read_bytes() == log_of(guessed.out, task).read_bytes()


def test_the_numbers_that_the_run_wrote_are_compared_and_not_those_of_todays_code(
    guessed: HostRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    combine = Metric.combine

    def other(metric: Metric, units: Any) -> Any:
        value = combine(metric, units)
        return value / 2 + 1 if metric.name == "pair_accuracy_official" and value is not None else value

    # A score that lmms-eval does not print is computed otherwise than when the run was made.
    monkeypatch.setattr(Metric, "combine", other)
    changes = {(one.name, one.score): (one.old, one.new) for one in rescore(guessed.out, tmp_path / "other").changes}
    old = guessed.scores(DEBUG)["pair_accuracy_official"]
    assert changes[DEBUG, "pair_accuracy_official"] == (old, old / 2 + 1)
    assert {score.partition(",")[0] for _, score in changes} == {"pair_accuracy_official"}


def test_a_number_that_was_planted_and_scores_that_one_of_both_lacks_are_named(
    guessed: HostRun, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(guessed.out, run)
    (path,) = run.glob("*_scores.json")
    file = json.loads(path.read_text(encoding="utf-8"))
    (part,) = (part for part in file["parts"] if part["name"] == DEBUG)
    scores = {score["metric"]: score for score in part["scores"]}
    scores["single_accuracy"]["value"] += 1e-9
    scores["single_accuracy"]["high"] = 99.5
    scores["pairs_scored"]["items"] += 1
    part["outcomes"]["wrong"] += 2
    part["scores"].remove(scores["pair_accuracy_official"])
    part["scores"].append({**scores["pair_accuracy"], "metric": "pair_accuracy_of_old"})
    path.write_text(json.dumps(file), encoding="utf-8")
    made = call("rescore", run)
    assert made.status == 3
    rows = [" ".join(line.split()) for line in made.out.splitlines()]
    assert [row.split()[1:-2] for row in rows if row.startswith(f"{DEBUG} ")] == [
        ["single_accuracy"],
        ["items", "that", "are", "wrong"],
        ["single_accuracy,", "upper", "end"],
        ["pairs_scored,", "items"],
    ]
    text = " ".join(made.out.split())
    official, older = (
        ", ".join([name, *(f"{name}, {what}" for what in ("lower end", "upper end", "groups", "items"))])
        for name in ("pair_accuracy_official", "pair_accuracy_of_old")
    )
    assert f"{DEBUG}: the run lacks {official}" in text and f"{DEBUG}: only the run has {older}" in text
    path.unlink()
    made = call("rescore", run)
    text = " ".join(made.out.split())
    assert made.status == 0 and "scores equal" in text and "intervals" not in text
    assert f"Note: there is no {path.name}: only the scores of {path.name[: -len('scores.json')]}results.json" in text


def test_evidence_is_matched_as_the_run_matched_it(
    sample_world: SampleWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for row in read_table(find_benchmark("cast_bench").card, "test")[0].to_pylist():
        (piece, *_) = json.loads(row["evidence"])
        second, box = next(iter(piece["bboxes_in_range"].items()))
        one = {
            "evidence_start_time": second, "evidence_end_time": second, "bboxes_in_time_range": {second: box},
            "evidence_rationale": "",
        }  # fmt: skip
        answer = {"instances": [{"instance_name": "it", "evidences": [one]}], "answer_choice": row["answer"]}
        said.append({"id": row["item_id"], "response": json.dumps(answer)})
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in said), encoding="utf-8")
    run = run_host(
        "--model", "replay", "--model_args", f"predictions={answers}", "--tasks", "cast_bench,cast_bench_blind",
        home=sample_world.home, out=tmp_path / "run", env={"LMMS_EVAL_TASKS_MATCHING": "supplement"},
    )  # fmt: skip
    # Instances that share one second are matched by this rule alone.
    assert run.score("cast_bench", "im_tiou") > 0
    kept = rescore(run.out, tmp_path / "again")
    assert not kept.changes and not any(kept.items.values())
    monkeypatch.setenv("LMMS_EVAL_TASKS_MATCHING", "script")
    made = call("rescore", run.out, "--out", tmp_path / "script")
    assert made.status == 3
    note = "Note: cast_bench is scored by LMMS_EVAL_TASKS_MATCHING=script: hits"
    assert " ".join(made.out.split()).startswith(note)
    card = read_run(tmp_path / "script").card["task cast_bench"]
    assert json.loads(str(card["hits"]))["eps_overlap"] == 2
    # What the log does not say, and the card does, is not passed over.
    monkeypatch.delenv("LMMS_EVAL_TASKS_MATCHING")
    change_lines(log_of(run.out, "cast_bench_blind"), lambda place, line: line["record"]["fields"].pop("matching"))
    made = call("rescore", run.out)
    assert made.status == 1 and "cast_bench_blind: Expected the settings of the run, but got hits" in made.err


def test_a_run_of_a_version_without_cards_that_has_a_task_of_somebody_else(guessed: HostRun, tmp_path: Path) -> None:
    """And whose logs name no prompt."""
    old = tmp_path / "old"
    shutil.copytree(guessed.out, old)
    (card,) = old.rglob(f"*{CARD}")
    card.unlink()
    change_lines(log_of(old, DEBUG), lambda place, line: line["record"]["fields"].pop("prompt"))
    (path,) = old.glob("*_results.json")
    results = json.loads(path.read_text(encoding="utf-8"))
    for section in ("results", "configs", "versions"):
        results[section]["theirs"] = results[section]["cast_bench"]
    results["configs"]["theirs"] = {"task": "theirs", "process_results": "theirs.grade"}
    results["group_subtasks"]["theirs"] = []
    path.write_text(json.dumps(results), encoding="utf-8")
    log = log_of(old, "cast_bench")
    shutil.copy(log, log.with_name(log.name.replace("cast_bench", "theirs")))
    made = call("rescore", old, "--out", tmp_path / "again")
    note, equal, _ = made.out.splitlines()
    assert note == "Note: not scored again, for this package has no such task or group: theirs."
    assert made.status == 0 and equal.startswith("all ")
    again = read_run(tmp_path / "again")
    assert list(again.card) == ["rescored"] and "theirs" not in again.records
    assert {record.fields["prompt"] for record in again.records[DEBUG]} == {None}


def test_without_the_runs_data_it_says_what_to_do(
    guessed: HostRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    one = tmp_path / "one"
    shutil.copytree(guessed.out, one)

    def rename(place: int, line: dict[str, Any]) -> None:
        line["record"]["item_id"] = "x" * (place < 2) + line["record"]["item_id"]

    change_lines(log_of(one, DEBUG), rename)
    real = log_of(one, "cast_bench")
    real.write_text(real.read_text(encoding="utf-8").replace('"kind": "sample"', '"kind": "unknown"'), encoding="utf-8")
    (results,) = one.glob("*_results.json")
    other = call("rescore", one)
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
    none = call("rescore", one)
    assert [(done.status, done.out) for done in (other, none)] == [(1, "")] * 2
    expected(f"{other.err}\n{none.err}".replace(results.name, "RESULTS"))
