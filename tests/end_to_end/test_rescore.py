"""A finished run scored again gives its numbers again, to the last digit; a changed scorer is told of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from host_run import HostRun, SampleWorld, own_command, run_host
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.finished.submit import submit
from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import CARD
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.runs.scores import comparable_parts
from lmms_eval_tasks.utils.answers.choice import grade_choice
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, ItemError, WindowRecord
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import home, read_table
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.record import Record

pytestmark = pytest.mark.host


@pytest.fixture(autouse=True)
def world(sample_world: SampleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))
    monkeypatch.setenv("HF_HOME", str(sample_world.home.parent / "hf"))


def call(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["rescore", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copy(run: HostRun, to: Path) -> Path:
    shutil.copytree(run.out, to)
    return to


def log_of(folder: Path, task: str) -> Path:
    (path,) = folder.rglob(f"*_samples_{task}.jsonl")
    return path


def test_every_benchmark_scores_as_it_did_and_the_files_are_the_same(guessed: HostRun, tmp_path: Path) -> None:
    before = files(guessed.out)
    again = tmp_path / "again"
    made = own_command(home(), "rescore", guessed.out, "--out", again)
    assert made.returncode == 0, made.stderr
    # What lmms-eval prints, and every other score.
    numbers = [
        value
        for name, printed in guessed.results()["results"].items()
        for value in {**printed, **{f"{score},none": value for score, value in guessed.scores(name).items()}}.values()
        if value is None or isinstance(value, (int, float))
    ]
    assert made.stdout.splitlines() == [
        f"all {len(numbers)} scores equal",
        f"Written: {again / next(name for name in before if name.endswith('_results.json') and '/' not in name)}",
    ]
    assert files(guessed.out) == before
    written = files(again)
    cards = {name for name in before if name.endswith(CARD)}
    assert len(cards) == 1 and written.keys() == before.keys()
    assert {name for name in before if written[name] != before[name]} == cards
    card, old = read_run(again).card, read_run(guessed.out).card
    assert {**card, "rescored": {}} == {**old, "rescored": {}}
    assert call(guessed.out, "--out", tmp_path / "twice")[0] == 0 and files(tmp_path / "twice") == written
    assert (card["rescored"]["scores"], card["rescored"]["changed scores"]) == (len(numbers), 0)


def test_report_and_compare_have_the_numbers_of_the_results_file(guessed: HostRun, tmp_path: Path) -> None:
    one, two = read_run(guessed.out), read_run(copy(guessed, tmp_path / "copy"))
    seen = 0
    for name, parts in comparable_parts(one).items():
        task = registry().find_task(name)
        assert task is not None
        for metric in task.kind.metrics:
            scores = guessed.scores(name)
            if metric.name not in scores or metric.kind != "mean":
                continue
            found = estimate(metric, list(parts.values()))
            compared = compare_records(parts, comparable_parts(two)[name], [metric]).differences
            # The ranks' items are summed in another order than they are logged in.
            expected = [] if scores[metric.name] is None else [pytest.approx(scores[metric.name], rel=1e-12)]
            assert [one.value for one in (found,) if one] == expected, (name, metric.name)
            assert [(one.first, one.second, one.groups) for one in compared] == [
                (found.value, found.value, found.groups) for found in (found,) if found
            ], (name, metric.name)
            seen += 1
    assert seen > 200


def test_a_variant_of_a_task_is_read_as_what_it_is(sample_world: SampleWorld, tmp_path: Path) -> None:
    """A YAML of one's own with our template, a new name and other settings; also once its files are gone."""
    folder, tasks = find_benchmark("cast_bench").folder, tmp_path / "tasks"
    tasks.mkdir()
    pointer = tasks / "test.json"
    pointer.write_text((folder / "pointers" / "test.json").read_text(encoding="utf-8"), encoding="utf-8")
    data = f"dataset_kwargs:\n  data_files:\n    test: {pointer}\ntest_split: test\n"
    settings = "lmms_eval_specific_kwargs:\n  default:\n    eps_overlap: 1\n    boxes: xyxy_n1000\n"
    yaml = f"include: {folder / '_evidence_template_yaml'}\ntask: my_evidence\n{data}{settings}"
    (tasks / "mine.yaml").write_text(yaml, encoding="utf-8")
    run = run_host(
        "--model", "sample_solver", "--tasks", "cast_bench,my_evidence", "--include_path", str(tasks),
        home=sample_world.home, out=tmp_path / "run",
    )  # fmt: skip
    mine = run.scores("my_evidence")
    assert mine["accuracy"] == 100.0 and mine["faithful"] < run.scores("cast_bench")["faithful"]
    (path,) = run.out.glob("*_scores.json")
    part = json.loads(path.read_text(encoding="utf-8"))["parts"][1]
    assert (part["name"], part["benchmark"]) == ("my_evidence", "cast_bench")
    assert [one["value"] for one in part["scores"] if one["metric"] == "faithful"] == [mine["faithful"]]
    shutil.rmtree(tasks)
    for words in (("rescore", str(run.out)), ("report", str(run.out))):
        done = own_command(sample_world.home, *words)
        assert done.returncode == 0, done.stderr
        assert "my_evidence" in done.stdout or "scores equal" in done.stdout


def test_answers_that_a_run_only_kept_are_scored_submitted_and_replayed(
    guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    tasks = "causalvqa_debug_paired,causalvqa_paired,mvp_mini,cast_bench"
    kept = run_host(
        "--model", "random_answer", "--tasks", tasks, "--predict_only",
        home=sample_world.home, out=tmp_path / "kept", env={"LMMS_EVAL_TASKS_JUDGE": "none"},
    )  # fmt: skip
    assert not (kept.out / "submissions").exists()
    told = CliRunner().invoke(app, ["report", str(kept.out)])
    assert told.exit_code == 0 and "60 items of causalvqa_paired" in told.stdout and "not scored" in told.stdout
    with pytest.raises(InputError, match="holds no scores of"):
        read_run(kept.out)
    status, out, _ = call(kept.out, "--out", tmp_path / "scored")
    assert (status, "scores computed of answers that the run only kept" in out) == (0, True)
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


def test_losses_and_refusals_of_a_diffusion_model(sample_world: SampleWorld, tmp_path: Path) -> None:
    table, _ = read_table(read_card("yocausal"), "test")
    lines = []
    for index, item_id in enumerate(table.column("item_id").to_pylist()):
        loss = Directed(forward=0.1 * (index % 7), backward=0.3)
        measured = {
            "loss": loss,
            "losses": Directed(forward=[[loss.forward]], backward=[[loss.backward]]),
            "timesteps": [100.0],
            "windows": [WindowRecord(start=0, stop=5, borrowed=0, skipped=0, latents=2)],
            "settings": {"model": "Toy", "combine": "latents"},
            "settings_digest": "0" * 16,
        }
        refused = {"error": ItemError(kind="short_clip", message="Too short.")}
        answer = DenoisingResponse(item_id=item_id, **(measured if index % 5 else refused))
        lines.append(json.dumps({"id": item_id, "response": answer.to_json()}) + "\n")
    (tmp_path / "losses.jsonl").write_text("".join(lines), encoding="utf-8")
    run = run_host(
        "--model", "replay", "--model_args", f"predictions={tmp_path / 'losses.jsonl'}", "--tasks", "yocausal",
        home=sample_world.home, out=tmp_path / "out",
    )  # fmt: skip
    assert run.score("yocausal", "rsi") is not None and run.score("yocausal", "unscored_rate") > 0
    rescored = rescore(run.out, tmp_path / "again")
    assert rescored.scores >= 20 and not rescored.changes and not any(rescored.items.values())
    name = str(run.submission_file("submissions/yocausal_results.json").relative_to(run.out))
    assert files(tmp_path / "again")[name] == files(run.out)[name]


def test_what_was_not_asked_stays_unscored(sample_world: SampleWorld, tmp_path: Path) -> None:
    poor = tmp_path / "poor"
    shutil.copytree(sample_world.home, poor, symlinks=True)
    for benchmark, split, row in (("causalvqa", "debug", 0), ("mvp", "mini", 2), ("cast_bench", "test", 1)):
        table, _ = read_table(read_card(benchmark), split)
        (poor / benchmark / "videos" / table.column("clip")[row].as_py()).unlink()
    run = run_host(
        "--model", "sample_solver", "--tasks", "causalvqa_debug_paired,mvp_mini,cast_bench", "--limit", "6",
        home=poor, out=tmp_path / "out", env={"LMMS_EVAL_TASKS_MISSING": "skip"},
    )  # fmt: skip
    unasked = sum(record.correct is None for records in read_run(run.out).records.values() for record in records)
    assert unasked >= 3
    # The clips are there in the other home, and nothing is scored for that.
    rescored = rescore(run.out, tmp_path / "again")
    assert not rescored.changes and not any(rescored.items.values())


def test_a_changed_scorer_is_told_number_by_number(
    guessed: HostRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strict(row: Mapping[str, Any], response: object, **given: Any) -> Record:
        # Only the items of CausalVQA have two versions.
        unread = response == "A" and "version" in row
        return grade_choice(row, "I cannot tell." if unread else response, **given)

    monkeypatch.setattr("lmms_eval_tasks.utils.answers.choice.grade_choice", strict)
    saved = guessed.samples("causalvqa_debug_paired")
    said = sum(sample["filtered_resps"] == "A" for sample in saved)
    status, out, err = call(guessed.out, "--out", tmp_path / "again")
    assert (status, err.count("Traceback")) == (3, 0)
    lines = out.splitlines()
    assert f"causalvqa_debug_paired: {said} of {len(saved)} items are read or graded otherwise." in lines
    (row,) = [line.split() for line in lines if line.split()[1:2] == ["unparsed_rate"] and "debug" in line]
    assert [float(cell) for cell in row[2:]] == [0.0, 100 * said / len(saved)]
    assert not [line for line in lines if line.split()[:1] == ["mvp_mini"]]
    assert max(len(line) for line in lines if not line.startswith("Written: ")) <= 100
    again = read_run(tmp_path / "again")
    assert sum(r.outcome.value == "unparsed" for r in again.records["causalvqa_debug_paired"]) == said
    assert again.card["rescored"]["changed scores"] > 0
    # What was not touched is as it was.
    for task in ("mvp_mini_intuitive_physics", "cast_bench"):
        assert log_of(tmp_path / "again", task).read_bytes() == log_of(guessed.out, task).read_bytes()


def test_boxes_are_read_as_they_were_unless_told_otherwise(
    sample_world: SampleWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_host(
        "--model", "sample_solver", "--tasks", "cast_bench", home=sample_world.home, out=tmp_path / "out",
        env={"LMMS_EVAL_TASKS_BOXES": "xyxy_resized,min_pixels=3136,max_pixels=12544"},
    )  # fmt: skip
    (seen,) = {tuple(record.fields["boxes"]["seen"]) for record in read_run(run.out).records["cast_bench"]}
    assert not rescore(run.out, tmp_path / "one").changes
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "xyxy_px")
    changes = {change.score: change for change in rescore(run.out, tmp_path / "two").changes}
    # The solver writes pixels of the clip.
    assert seen != (0, 0) and changes["im_viou"].new > changes["im_viou"].old


def test_runs_of_versions_without_cards_whose_logs_name_no_prompt(guessed: HostRun, tmp_path: Path) -> None:
    old = copy(guessed, tmp_path / "old")
    (card,) = old.rglob(f"*{CARD}")
    card.unlink()
    assert read_run(old).card == {}
    log = log_of(old, "causalvqa_debug_paired")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["record"]["fields"]["prompt"]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    status, out, _ = call(old, "--out", tmp_path / "again")
    assert (status, out.split()[0]) == (0, "all")
    again = read_run(tmp_path / "again")
    assert list(again.card) == ["rescored"]
    assert {record.fields["prompt"] for record in again.records["causalvqa_debug_paired"]} == {None}
    assert not any(rescore(old, tmp_path / "third").items.values())


def test_without_prepared_data_it_says_what_to_do(
    guessed: HostRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path))
    status, out, err = call(guessed.out)
    assert (status, out) == (1, "")
    for benchmark in ("causalvqa", "mvp", "cast_bench", "yocausal"):
        assert err.count(f"there is no {tmp_path}/{benchmark}/manifest.json.") == 1
    assert err.endswith("Questions, options and keys are not in a sample log, but in the prepared data.\n")


def test_other_data_than_the_runs_is_refused(guessed: HostRun, tmp_path: Path, expected: Expected) -> None:
    one = copy(guessed, tmp_path / "one")
    log = log_of(one, "causalvqa_debug_paired")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines[:2]:
        line["record"]["item_id"] = f"x{line['record']['item_id']}"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    real = log_of(one, "cast_bench")
    real.write_text(real.read_text(encoding="utf-8").replace('"kind": "sample"', '"kind": "unknown"'), encoding="utf-8")
    (results,) = one.glob("*_results.json")
    status, out, err = call(one)
    assert (status, out) == (1, "")
    expected(err.replace(results.name, "RESULTS"))


def test_a_task_of_somebody_else_is_left_out_and_said(guessed: HostRun, tmp_path: Path) -> None:
    one = copy(guessed, tmp_path / "one")
    (path,) = one.glob("*_results.json")
    results = json.loads(path.read_text(encoding="utf-8"))
    for section in ("results", "configs", "versions"):
        results[section]["theirs"] = results[section]["cast_bench"]
    results["configs"]["theirs"] = {"task": "theirs", "process_results": "theirs.grade"}
    results["group_subtasks"]["theirs"] = []
    path.write_text(json.dumps(results), encoding="utf-8")
    log = log_of(one, "cast_bench")
    shutil.copy(log, log.with_name(log.name.replace("cast_bench", "theirs")))
    status, out, _ = call(one, "--out", tmp_path / "again")
    assert status == 0
    assert out.startswith("Note: not scored again, for this package has no such task or group: theirs.\n")
    assert "theirs" not in read_run(tmp_path / "again").records
