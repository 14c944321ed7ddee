import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lmms_eval_tasks.api.evidence import grade_evidence
from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cast_bench.hooks import evidence_question
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.report.score_tables import columns_of, reference_tables, run_warnings, score_tables, stratum_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.answers.evidence_reading import read_truth
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.references import published_parts
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record, UnscoredReason


def records(task: str, pairs: list[tuple[Outcome, Outcome]], kind: str = "planning") -> tuple[Record, ...]:
    return tuple(
        Record(
            item_id=f"{task}{index}_{member}",
            group_id=f"{task}{index}",
            stratum={"type": kind, "difficulty": "easy" if index % 2 else "hard"},
            expected="A",
            answered=None if outcome is Outcome.UNPARSED else "A",
            outcome=outcome,
            fields={"official_correct": None if outcome is Outcome.UNSCORED else outcome is Outcome.CORRECT},
        )
        for index, pair in enumerate(pairs)
        for member, outcome in enumerate(pair)
    )


RIGHT, WRONG = (Outcome.CORRECT, Outcome.CORRECT), (Outcome.CORRECT, Outcome.WRONG)
LOST, GONE = (Outcome.UNPARSED, Outcome.CORRECT), (Outcome.UNSCORED, Outcome.CORRECT)


def write_run(root: Path, model_args: str = "", **tasks: tuple[Record, ...]) -> Path:
    folder = root / "model"
    folder.mkdir(parents=True)
    results = {
        "configs": {task: {} for task in tasks},
        "group_subtasks": {"both": sorted(tasks), **{task: [] for task in tasks}},
        "versions": {**dict.fromkeys(tasks, "1-A"), "both": "1-A"},
        "config": {"model": "replay", "model_args": model_args},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    for task, found in tasks.items():
        lines = [json.dumps({"record": record.to_json(), "sample_data": 100.0}) for record in found]
        (folder / f"20261121_samples_{task}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def printed(tables: list[Any]) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    for table in tables:
        console.print(table)
    return console.export_text()


def test_a_run_comes_back_as_it_was_logged(tmp_path: Path) -> None:
    one, two = records("one", [RIGHT, WRONG]), records("two", [LOST, GONE])
    run = read_run(write_run(tmp_path, "pretrained=org/some-model,dtype=float16", one=one, two=two))
    assert run.records == {"one": one, "two": two}
    assert run.groups == {"both": ("one", "two")}
    assert run.name == "replay some-model"
    assert run.set_of("one") == DataSet(kind=SetKind.SAMPLE)


def test_a_run_without_a_sample_log_says_how_to_get_one(tmp_path: Path) -> None:
    root = write_run(tmp_path, one=records("one", [RIGHT]))
    (log,) = root.rglob("*_samples_one.jsonl")
    log.unlink()
    with pytest.raises(InputError, match="Expected the sample log of one, but there is none"):
        read_run(root)


def test_other_peoples_tasks_are_left_out(tmp_path: Path) -> None:
    root = write_run(tmp_path, one=records("one", [RIGHT]), theirs=())
    (log,) = root.rglob("*_samples_theirs.jsonl")
    log.write_text('{"doc_id": 0, "acc": 1.0}\n', encoding="utf-8")
    assert list(read_run(root).records) == ["one"]


def test_a_run_of_other_peoples_tasks_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a task of ours, but the run has none"):
        read_run(write_run(tmp_path, theirs=()))


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run: Expected a file"):
        read_run(tmp_path)


def test_scores_of_a_group_are_the_mean_of_its_tasks(tmp_path: Path) -> None:
    run = read_run(
        write_run(tmp_path, one=records("one", [RIGHT] * 3 + [WRONG]), two=records("two", [WRONG, LOST, GONE]))
    )
    (table,) = score_tables([run])
    text = printed([table])
    assert "SAMPLE DATA, not the benchmark" in table.signature and "SAMPLE" not in text
    (row,) = [line for line in text.splitlines() if line.strip().startswith("replay")]
    cells = re.split(r"\s+(?!\[|\S+\])", row.strip())
    # Pairs: 3 of 4 and 0 of 2; items: 7 of 8 and 3 of 5; none and 1 of 6 unparsed, as many unscored.
    assert cells[1].startswith("37.5 [")
    assert cells[2].startswith("73.8 [")
    assert cells[3:] == ["37.5", "8.3", "8.3", "6"]


def test_tables_fit_a_hundred_columns(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, "pretrained=" + "long-" * 30, one=records("one", [RIGHT, WRONG] * 50)))
    lines = printed([*score_tables([run]), *stratum_tables(run, ["type", "difficulty"])]).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.strip().startswith("planning easy") for line in lines)


LIMITED = "pretrained=org/a-model-with-quite-a-long-name-7b-instruct"


@pytest.mark.parametrize("width", [80, 100, 160])
def test_names_of_models_are_whole_unless_a_terminal_is_narrow(width: int, tmp_path: Path) -> None:
    subsets = {f"mvp_mini_{subset}": records("m", [RIGHT, WRONG] * 20, subset) for subset in SUBSETS}
    run = read_run(write_run(tmp_path, LIMITED, **subsets))
    console = Console(width=width, record=True, file=io.StringIO())
    for table in (*score_tables([run]), *reference_tables([run]), *stratum_tables(run, ["type"])):
        console.print(table)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    if width > 80:
        whole = sum("a-model-with-quite-a-long-name-7b-instruct" in line for line in lines)
        assert whole == sum("replay" in line for line in lines) >= 2
    for word in {word for subset in SUBSETS for word in subset.split("_")}:
        assert width == 80 or any(word in line.split() for line in lines)


def test_a_run_with_a_limit_is_marked_and_stands_beside_nothing_published(tmp_path: Path) -> None:
    task = "mvp_mini_intuitive_physics"
    sample = read_run(write_run(tmp_path, "", **{task: records("m", [RIGHT, WRONG] * 20)}))
    whole = replace(sample, sets={task: DataSet(kind=SetKind.OFFICIAL)})
    limited = replace(whole, name="part", limited="--limit 40")
    assert "best published" in printed(reference_tables([whole]))
    assert run_warnings([whole]) == []
    (warning,) = run_warnings([whole, limited])
    assert warning.startswith("A PART OF THE ITEMS: part was run with --limit 40.")
    assert all("; --limit 40; " in table.signature for table in score_tables([whole, limited]))
    lines = printed(reference_tables([whole, limited])).splitlines()
    rows = {name: " ".join(line for line in lines if name in line.split()) for name in ("replay", "part")}
    assert "--limit" not in "".join(lines)
    assert rows["part"].count("above") + rows["part"].count("below") + rows["part"].count("open") < (
        rows["replay"].count("above") + rows["replay"].count("below") + rows["replay"].count("open")
    )


@pytest.mark.parametrize("kind", [kind for kind in SetKind if kind is not SetKind.OFFICIAL])
def test_only_the_official_release_stands_beside_anything_published(tmp_path: Path, kind: SetKind) -> None:
    task = "mvp_mini_intuitive_physics"
    run = read_run(write_run(tmp_path, "", **{task: records("m", [RIGHT, WRONG] * 20)}))
    kinds = (SetKind.OFFICIAL, kind)
    official, other = (replace(run, sets={task: DataSet(kind=one, items=48, of=18_416)}) for one in kinds)
    beside, alone = (printed(reference_tables([one])) for one in (official, other))
    sides = [sum(text.count(word) for word in ("above", "below", "open")) for text in (beside, alone)]
    # Chance stands beside all scores, people and models beside those of the official release.
    assert sides[1] == 2 < sides[0]
    (warning,) = run_warnings([other])
    is_sample = kind is SetKind.SAMPLE
    assert warning.startswith("SAMPLE DATA" if is_sample else "NOT THE OFFICIAL RELEASE: all that was run is ")
    assert run_warnings([official]) == [] and not any(word in alone for word in ("people", "published"))
    assert ("48 of 18,416 items" in warning) == (kind is SetKind.PART)


def test_what_is_so_of_all_runs_is_said_once(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, one=records("one", [RIGHT]), two=records("two", [RIGHT])))
    other = replace(run, name="other")
    said = ["SAMPLE DATA, not the benchmark: made up, so that no score here says anything about a model."]
    assert run_warnings([run, other]) == run_warnings([run]) == said
    whole = DataSet(kind=SetKind.OFFICIAL)
    (partly,) = run_warnings([run, replace(other, sets={**run.sets, "one": whole})], "one")
    assert "replay was asked sample data. Its" in partly
    (partly,) = run_warnings([replace(run, sets={**run.sets, "one": whole})])
    assert "replay was asked sample data (two). Its" in partly


def test_a_run_without_a_readable_response_or_without_keys_says_so(tmp_path: Path) -> None:
    task, mute = "mvp_mini_intuitive_physics", (Outcome.UNPARSED,) * 2
    run = read_run(write_run(tmp_path / "mute", **{task: records("m", [mute] * 20)}))
    assert f"NO RESPONSE COULD BE READ: of replay, {task}. Its scores there count" in run_warnings([run])[1]
    assert not any(mark in printed(reference_tables([run])) for mark in ("above", "below", "open"))
    spoke = read_run(write_run(tmp_path / "spoke", **{task: records("m", [mute] * 20 + [WRONG])}))
    assert len(run_warnings([spoke])) == 1 and "below" in printed(reference_tables([spoke]))
    keyless = [
        replace(one, expected=None, unscored_reason=UnscoredReason.NO_KEY)
        for one in records("c", [(Outcome.UNSCORED,) * 2] * 3)
    ]
    run = read_run(write_run(tmp_path / "withheld", causalvqa_paired=tuple(keyless)))
    asked = "lmms-eval-tasks submit causalvqa OUT --out FILE"
    (warning,) = run_warnings([run])[1:]
    assert warning.startswith("ANSWERS WITHHELD: the leaderboard alone scores causalvqa_paired.") and asked in warning


def test_what_was_never_answered_and_what_was_cut_off_is_said(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "whole", one=records("one", [RIGHT, LOST, RIGHT, RIGHT])))
    before = run_warnings([run])
    first, second, third, fourth, *others = run.records["one"]
    silent = {"outcome": Outcome.UNSCORED, "answered": None}
    changed = (
        replace(first, unscored_reason=UnscoredReason.FAILED, **silent),
        replace(second, unscored_reason=UnscoredReason.BUDGET, **silent),
        replace(third, detail=CUT_OFF),
        replace(fourth, detail=CUT_OFF),
        *others,
    )
    card = {"task one": {"generation": '{"max_new_tokens": 1024}'}}
    assert run_warnings([replace(run, records={"one": changed}, card=card)]) == [
        *before,
        "NO ANSWER to 2 of 8 items in replay (budget spent, failed). They are unscored; the run's command with the same"
        " output path asks them again.",
        "33% cut off at 1,024 tokens: of 6 answers of replay, 2 used all their tokens, and in 1 of these no answer can "
        "be read. Let it write more: --gen_kwargs max_new_tokens=4096.",
    ]


def test_an_unknown_stratum_names_the_known_ones() -> None:
    run = Run(Path("x"), "m", {"one": records("one", [RIGHT])}, {}, {})
    with pytest.raises(InputError, match="Expected strata of one, any of type, difficulty, but got colour"):
        stratum_tables(run, ["colour"])


def test_each_benchmark_says_what_is_shown() -> None:
    headings = {
        task: [column.heading for column in columns_of(task)] for task in ("causalvqa_paired", "mvp_mini", "one")
    }
    assert len({tuple(found) for found in headings.values()}) == 1
    assert [column.heading for column in columns_of("cast_bench")] == [
        "accuracy", "faithful", "IM-tIoU", "IM-vIoU", "matching", "unparsed", "unscored", "questions",
    ]  # fmt: skip


def test_a_run_of_questions_with_evidence(tmp_path: Path) -> None:
    evidence = {"evidence_start_time": "00:00", "evidence_end_time": "00:02", "evidence_instance_id": "p"}
    boxes = {str(second): [0, 0, 100, 100] for second in range(3)}
    truth = read_truth([{**evidence, "bboxes_in_range": boxes}])
    said = {
        **evidence,
        "evidence_rationale": "r",
        "bboxes_in_time_range": {f"00:0{key}": box for key, box in boxes.items()},
    }
    found = []
    for index in range(8):
        question = evidence_question(
            f"q{index}", f"clip{index // 2}", "causal_explanation", "why", "A", truth, asked=index != 7
        )
        instances = [{"instance_name": "p", "evidences": [said]}] if index % 2 else []
        response = json.dumps({"instances": instances, "answer_choice": "A" if index else "(A)"})
        found.append(grade_evidence(question, response))
    run = read_run(write_run(tmp_path, cast_bench=tuple(found)))
    assert "constant_answer  " in printed(score_tables([replace(run, name="constant_answer")])), "no name is folded"
    assert "matching" in printed(score_tables([run])) and " script " in printed(score_tables([run]))
    for tables in (score_tables([run]), stratum_tables(run, ["category", "size"])):
        lines = printed(tables).splitlines()
        assert max(map(len, lines)) <= 100
        (at,) = [at for at, line in enumerate(lines) if line.strip().startswith(("replay", "all"))]
        # Six of seven right; three of seven with evidence; one of the seven asked unparsed, one of eight unscored.
        cells = [cell for cell in lines[at].split()[1:] if cell != "script"]
        assert cells == ["85.7", "42.9", "42.9", "42.9", "14.3", "12.5", "8"]
        assert lines[at + 1].count("[") == 4


def test_a_run_of_graded_answers(tmp_path: Path) -> None:
    found = []
    for index in range(8):
        scores = dict.fromkeys(DIMENSIONS, 10.0 - index) if index < 6 else None
        fields = {"scores": scores}
        outcome = Outcome.WRONG if scores else Outcome.UNSCORED
        stratum = {"category": "causal_explanation"}
        found.append(Record(f"q{index}", f"clip{index // 2}", stratum, "key", "said", outcome, fields=fields))
    run = read_run(write_run(tmp_path, cast_bench_open=tuple(found)))
    assert [column.heading for column in columns_of("cast_bench_open")] == [
        "judge 0-10", "answer", "causal chain", "coverage", "overall", "unparsed", "unscored", "questions",
    ]  # fmt: skip
    for tables in (score_tables([run]), stratum_tables(run, ["category"])):
        lines = printed(tables).splitlines()
        assert max(map(len, lines)) <= 100
        (at,) = [at for at, line in enumerate(lines) if line.strip().startswith(("replay", "all"))]
        # There is room for the intervals of these beside the scores.
        assert lines[at].split()[1:] == ["7.5", "[5.5,", "9.5]", *["7.5"] * 4, "0.0", "25.0", "8"]


def test_a_group_of_several_benchmarks_is_shown_task_by_task(tmp_path: Path) -> None:
    tasks = {"causalvqa_paired": records("c", [RIGHT]), "mvp_mini_intuitive_physics": records("m", [RIGHT])}
    run = read_run(write_run(tmp_path, **tasks))
    assert list(run.groups) == ["both"]
    assert [str(table.title).split()[0] for table in score_tables([run])] == list(tasks)


def test_a_task_of_a_group_is_shown_alone_where_it_is_asked_for(tmp_path: Path) -> None:
    subsets = [f"mvp_mini_{subset}" for subset in SUBSETS[:2]]
    run = read_run(write_run(tmp_path, **dict.fromkeys(subsets, records("m", [RIGHT, WRONG]))))
    alone = replace(run, name="alone", records={subsets[0]: run.records[subsets[0]]}, groups={})
    assert [table.title.split()[0] for table in score_tables([run])] == ["both"]
    (table,) = score_tables([run, alone], subsets[0])
    assert table.title.startswith(subsets[0]) and [row[0] for row in table.rows] == ["replay", "alone"]
    with pytest.raises(InputError, match="any of both, but got yocausal"):
        score_tables([run], "yocausal")


@pytest.mark.parametrize("command", ["report", "board"])
def test_nothing_is_printed_before_a_task_is_refused(command: str, tmp_path: Path) -> None:
    root = write_run(tmp_path, one=records("one", [RIGHT, WRONG]))
    for path in list((root / "model").iterdir()):
        path.with_name(path.name.replace("20261121", "20261122")).write_bytes(path.read_bytes())
    assert "holds 2 runs" in CliRunner().invoke(app, [command, str(root)]).output
    refused = CliRunner().invoke(app, [command, str(root), "--task", "two"])
    assert refused.exit_code == 1 and "any of both, but got two" in refused.stderr
    assert refused.stdout == "" and "holds 2 runs" not in refused.stderr


def test_a_table_says_in_which_units_its_scores_are(tmp_path: Path) -> None:
    task = "mvp_mini_intuitive_physics"
    run = read_run(write_run(tmp_path, **{task: records("m", [RIGHT, WRONG])}))
    units = ", version 1-A; SAMPLE DATA, not the benchmark; scores in percent; pairs: plain numbers; 95% intervals"
    assert all(units in table.signature for table in (*score_tables([run]), *stratum_tables(run, ["type"])))
    assert {"; scores in percent; 95%" in table.signature for table in reference_tables([run])} == {True}


def test_parts_that_some_records_lack_are_shown(tmp_path: Path) -> None:
    right = {"official_correct": True}
    strata = ({"concept": "Gravity-Continuity"}, {"concept": "GravitySupport"}, {})
    found = [
        Record(f"{n}_{m}", str(n), stratum, "A", "A", Outcome.CORRECT, fields=right)
        for n, stratum in enumerate(strata)
        for m in (0, 1)
    ]
    run = read_run(write_run(tmp_path, mvp_mini_intuitive_physics=tuple(found)))
    (table,) = stratum_tables(run, ["concept"])
    assert [row[0] for row in table.rows] == ["Gravity-Continuity", "GravitySupport", "other", "all"]
    published = published_parts(find_benchmark("mvp").folder, [row[0] for row in table.rows])
    assert [(one.model, one.value) for one in published] == [
        ("Gravity-Continuity, LongVU (Qwen2-7B)", 39.1),
        ("Gravity-Support, Tarsier-34B", 35.2),
    ]
