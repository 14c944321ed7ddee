"""Tables of scores, of references and of strata, and the warnings above them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import call
from expected import Expected
from logged_runs import write_records
from made_runs import C, P, S, W, make_groups, make_run, show

from lmms_eval_tasks.api.evidence import grade_evidence
from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cast_bench.hooks import evidence_question
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.score_tables import columns_of, reference_tables, run_warnings, score_tables, stratum_tables
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.answers.evidence_reading import read_truth
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import FittingTable, Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.references import published_parts
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record, UnscoredReason

RIGHT, WRONG, LOST, GONE = (C, C), (C, W), (P, C), (S, C)
PHYSICS = "mvp_mini_intuitive_physics"
SUBSET_TASKS = tuple(f"mvp_mini_{subset}" for subset in SUBSETS)


def row_of(table: FittingTable, name: str = "replay") -> list[float]:
    """The numbers of a row, rounded as they are shown."""
    (row,) = [row for row in table.rows if row[0] == name]
    return [round(cell.value or 0, 1) if isinstance(cell, Number) else float(cell) for cell in row[1:]]


def test_scores_of_a_group_are_the_mean_of_its_tasks(expected: Expected) -> None:
    one, two = make_groups([RIGHT] * 3 + [WRONG]), make_groups([WRONG, LOST, GONE])
    run = make_run({"one": one, "two": two}, {"both": ("one", "two")}, SetKind.SAMPLE)
    tables = score_tables([run])
    # Pairs: 3 of 4 and 0 of 2; items: 7 of 8 and 3 of 5; none and 1 of 6 unparsed, as many unscored.
    assert row_of(tables[0]) == [37.5, 73.8, 37.5, 8.3, 8.3, 6]
    expected(show(tables))


@pytest.mark.parametrize("width", [80, 100])
def test_tables_fit_a_terminal_and_names_are_whole_where_they_can_be(width: int, expected: Expected) -> None:
    records = make_groups([RIGHT, WRONG] * 20, type="planning", difficulty="hard")
    run = make_run(
        dict.fromkeys(SUBSET_TASKS, records), {"mvp_mini": SUBSET_TASKS}, name="a-model-with-quite-a-long-name-7b"
    )
    tables = [*score_tables([run]), *reference_tables([run], "mvp_mini"), *stratum_tables(run, ["type"], PHYSICS)]
    text = show(tables, width)
    assert max(map(len, text.splitlines())) <= width
    expected(text)


@pytest.mark.parametrize("kind", SetKind)
def test_only_the_whole_official_release_stands_beside_anything_published(kind: SetKind) -> None:
    run = make_run({PHYSICS: make_groups([RIGHT, WRONG] * 20)}, sets={PHYSICS: DataSet(kind=kind, items=48, of=18_416)})
    limited = replace(run, name="part", limited="--limit 40")
    tables = reference_tables([run, limited])
    marked = {
        name: sum(isinstance(cell, Number) and cell.mark is not None for row in tables[0].rows for cell in row
                  if row[1] == name)
        for name in ("replay", "part")
    }  # fmt: skip
    # Chance stands beside both scores of any run; people and models beside those of the official release.
    is_official = kind is SetKind.OFFICIAL
    assert marked == {"replay": 4 if is_official else 2, "part": 2}
    assert ("best published" in tables[0].headings) is is_official


def test_warnings(expected: Expected) -> None:
    official = make_run({"one": make_groups([RIGHT]), PHYSICS: make_groups([RIGHT])})
    assert run_warnings([official]) == []

    def of(kind: SetKind, name: str = "other", *tasks: str) -> Run:
        sets = dict.fromkeys(tasks or official.records, DataSet(kind=kind, items=48, of=18_416))
        return replace(official, name=name, sets={**official.sets, **sets})

    mute = make_run({PHYSICS: make_groups([(P, P)] * 2)})
    keyless = [
        replace(record, expected=None, unscored_reason=UnscoredReason.NO_KEY)
        for record in make_groups([(S, S)] * 3)
    ]  # fmt: skip
    first, second, third, fourth, *others = make_groups([RIGHT, LOST, RIGHT, RIGHT])
    silent: dict[str, Any] = {"outcome": Outcome.UNSCORED, "answered": None}
    records = [
        replace(first, unscored_reason=UnscoredReason.FAILED, **silent),
        replace(second, unscored_reason=UnscoredReason.BUDGET, **silent),
        replace(third, detail=CUT_OFF),
        replace(fourth, detail=CUT_OFF),
        *others,
    ]
    card = {"task one": {"generation": '{"max_new_tokens": 1024}'}}
    cases = [
        *([of(kind)] for kind in SetKind if kind is not SetKind.OFFICIAL),
        [of(SetKind.SAMPLE), of(SetKind.SAMPLE, "second")],
        [of(SetKind.SAMPLE), official],
        [of(SetKind.SAMPLE, "other", "one"), official],
        [replace(official, limited="--limit 40"), official],
        [mute],
        [make_run({PHYSICS: [*mute.records[PHYSICS], *make_groups([WRONG])]})],
        [make_run({"causalvqa_paired": keyless})],
        [make_run({"one": records}, card=card)],
    ]
    expected("\n\n".join("\n".join(run_warnings(runs)) for runs in cases))
    assert not any(isinstance(cell, Number) and cell.mark for row in reference_tables([mute])[0].rows for cell in row)


def test_each_kind_of_task_has_its_columns(expected: Expected) -> None:
    headings = {
        ", ".join(column.heading for column in columns_of(task)): task for task in (*reversed(registry().tasks), "one")
    }
    expected("\n".join(f"{task}: {columns}" for columns, task in headings.items()))


def test_questions_with_evidence_and_graded_answers(expected: Expected) -> None:
    evidence = {"evidence_start_time": "00:00", "evidence_end_time": "00:02", "evidence_instance_id": "p"}
    boxes = {str(second): [0, 0, 100, 100] for second in range(3)}
    truth = read_truth([{**evidence, "bboxes_in_range": boxes}])
    timed = {f"00:0{key}": box for key, box in boxes.items()}
    said = {**evidence, "evidence_rationale": "r", "bboxes_in_time_range": timed}
    grounded, judged = [], []
    for index in range(8):
        names = (f"q{index}", f"clip{index // 2}", "causal_explanation", "why")
        instances = [{"instance_name": "p", "evidences": [said]}] if index % 2 else []
        response = json.dumps({"instances": instances, "answer_choice": "A" if index else "(A)"})
        grounded.append(grade_evidence(evidence_question(*names, "A", truth, asked=index != 7), response))
        scores = dict.fromkeys(DIMENSIONS, 10.0 - index) if index < 6 else None
        outcome, stratum = (W if scores else S), {"category": "causal_explanation"}
        judged.append(Record(*names[:2], stratum, "key", "said", outcome, fields={"scores": scores}))
    run = make_run({"cast_bench": grounded, "cast_bench_open": judged}, kind=SetKind.SAMPLE)
    tables = score_tables([run])
    # Six of seven right; three of seven with evidence; one of the seven asked unparsed, one of eight unscored.
    shown = [cell.split()[0] for cell in tables[0].texts()[0][1:] if cell != "script"]
    assert shown == ["85.7", "42.9", "42.9", "42.9", "14.3", "12.5", "8"]
    text = show([*tables, *stratum_tables(run, ["category"])])
    assert max(map(len, text.splitlines())) <= 100
    expected(text)


def test_tasks_and_groups_are_shown_alone_where_they_are_asked_for() -> None:
    pairs = make_groups([RIGHT, WRONG])
    run = make_run(dict.fromkeys(SUBSET_TASKS[:2], pairs), {"both": SUBSET_TASKS[:2]})
    alone = replace(run, name="alone", records={SUBSET_TASKS[0]: run.records[SUBSET_TASKS[0]]}, groups={})
    assert [table.title.split()[0] for table in score_tables([run])] == ["both"]
    (table,) = score_tables([run, alone], SUBSET_TASKS[0])
    assert table.title.startswith(SUBSET_TASKS[0]) and [row[0] for row in table.rows] == ["replay", "alone"]
    # A group of several benchmarks is shown task by task.
    tasks = ("causalvqa_paired", PHYSICS)
    mixed = make_run(dict.fromkeys(tasks, pairs), {"both": tasks})
    assert [table.title.split()[0] for table in score_tables([mixed])] == [*tasks]
    assert reference_tables([make_run({"somebodys": pairs})]) == []
    with pytest.raises(InputError, match=r"any of both, but got yocausal\.$"):
        score_tables([run], "yocausal")
    strata = make_run({"one": make_groups([RIGHT], type="planning", difficulty="easy")})
    with pytest.raises(InputError, match="Expected strata of one, any of type, difficulty, but got colour"):
        stratum_tables(strata, ["colour"])
    assert [row[0] for row in stratum_tables(strata, ["type", "difficulty"])[0].rows] == ["planning easy", "all"]


@pytest.mark.parametrize("command", ["report", "board"])
def test_nothing_is_printed_before_a_task_is_refused(command: str, tmp_path: Path) -> None:
    run = write_records(tmp_path / "model", {"one": make_groups([RIGHT, WRONG])})
    for path in list(run.iterdir()):
        path.with_name(path.name.replace("20261121", "20261122")).write_bytes(path.read_bytes())
    assert "holds 2 runs" in call(command, run).out
    refused = call(command, run, "--task", "two")
    assert (refused.status, refused.out) == (1, "") and "any of one, but got two" in refused.err
    assert "holds 2 runs" not in refused.err


def test_parts_that_some_records_lack_are_shown() -> None:
    strata = ({"concept": "Gravity-Continuity"}, {"concept": "GravitySupport"}, {})
    found = [
        replace(record, stratum=stratum)
        for record, stratum in zip(make_groups([(C,)] * 3), strata, strict=True)
    ]  # fmt: skip
    (table,) = stratum_tables(make_run({PHYSICS: found}), ["concept"])
    assert [row[0] for row in table.rows] == ["Gravity-Continuity", "GravitySupport", "other", "all"]
    published = published_parts(find_benchmark("mvp").folder, [str(row[0]) for row in table.rows])
    assert [(one.model, one.value) for one in published] == [
        ("Gravity-Continuity, LongVU (Qwen2-7B)", 39.1),
        ("Gravity-Support, Tarsier-34B", 35.2),
    ]
