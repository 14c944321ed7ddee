"""`report --layout paper`: runs, published figures and people where the papers print them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from published import TABLE_6, TABLE_12, records
from rebuilt import causalvqa_patterns
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.countervqa.card import CELLS
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.report.layouts import layout_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import FittingTable, Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.manifest import RemovedGroups
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

MODEL, PEOPLE = "GPT-4o", "Human"
NEAR = 0.05
"""By as much the paper's own rows of several strata differ from its counts."""


def run_of(found: Mapping[str, Sequence[Record]], groups: Mapping[str, tuple[str, ...]] | None = None) -> Run:
    own = {task: tuple(of_task) for task, of_task in found.items()}
    sets = dict.fromkeys(found, DataSet(kind=SetKind.OFFICIAL))
    return Run(Path("x_results.json"), "rebuilt", own, groups or {}, {}, sets)


def graded(item: str, group: str, right: bool, view: str = "", **stratum: str) -> Record:
    outcome = Outcome.CORRECT if right else Outcome.WRONG
    return Record(item, group, stratum, "A", "A", outcome, view=view)


def causalvqa_records(view: str = "") -> list[Record]:
    """The answers of a model to the test split, by the counts behind Tables 6 and 12."""
    found = []
    for (kind, difficulty), pattern in causalvqa_patterns(MODEL).items():
        for pair, members in enumerate(pattern.members()):
            group = f"{kind}{difficulty}{pair}"
            for version, right in enumerate(members):
                found.append(graded(f"{group}_{version}", group, right, view, type=kind, difficulty=difficulty))
    return found


def titled(tables: Sequence[FittingTable], title: str) -> FittingTable:
    (table,) = [one for one in tables if one.title.startswith(title)]
    return table


def values(table: FittingTable) -> dict[str, list[float | None]]:
    """The numbers of each row."""
    return {str(row[0]): [cell.value if isinstance(cell, Number) else None for cell in row[1:]] for row in table.rows}


def column(table: FittingTable, heading: str) -> dict[str, float]:
    at = table.headings.index(heading) - 1
    return {row: number for row, numbers in values(table).items() if (number := numbers[at]) is not None}


def printed(source: str, model: str) -> dict[str, float]:
    return {
        row["category"] if row["difficulty"] == "all" else f"{row['category']}, {row['difficulty']}": row["value"]
        for row in records("causalvqa", source)
        if row["model"] == model
    }


def test_tables_6_and_12_of_causalvqa() -> None:
    tables = layout_tables([run_of({"causalvqa_paired": causalvqa_records()})])
    assert len(tables) == 2, "nothing of the debug split, and no run of Table 13's views"
    for number, source, score in (("6", TABLE_6, "pair accuracy"), ("12", TABLE_12, "single accuracy")):
        table = titled(tables, f"CausalVQA, Table {number}:")
        paper, own = printed(source, MODEL), column(table, f"rebuilt\n{score}")
        assert column(table, f"{MODEL}\n{score}") == paper and len(paper) == 22
        # In the paper people's scores of single versions stand in both tables.
        assert column(table, f"{PEOPLE}\nsingle accuracy") == printed(source, PEOPLE)
        assert {row: own[row] for row in paper} == pytest.approx(paper, abs=NEAR)
        more = {"all, easy", "all, medium", "all, hard", *(["mean over strata"] * (number == "6"))}
        assert set(own) - set(paper) == more
    own = column(titled(tables, "CausalVQA, Table 6"), "rebuilt\npair accuracy")
    assert own["mean over strata"] == pytest.approx(43.06, abs=NEAR)


def test_table_13_of_causalvqa_mixes_pairs_and_single_versions_and_says_so() -> None:
    tables = layout_tables([run_of({"causalvqa_paired_blind": causalvqa_records("blind")})])
    table = titled(tables, "CausalVQA, Table 13:")
    assert table.headings[1:] == (
        "Blind Qwen2.5-72B-Instruct\npair accuracy",
        "Single Frame Qwen2.5VL-7B-Instruct\npair accuracy",
        "Single Frame Human\nsingle accuracy",
        "rebuilt, blind\npair accuracy",
    )
    source = "CausalVQA paper Table 13 (blind / last-frame)"
    for heading in table.headings[1:4]:
        assert column(table, heading) == printed(source, heading.partition("\n")[0])


def mvp_run(right: Mapping[str, int], view: str = "") -> Run:
    """A thousand pairs a subset, so many of them right."""
    ending = f"_{view}" if view else ""
    tasks = {
        f"mvp_mini_{subset}{ending}": [
            graded(f"{subset}{pair}_{member}", f"{subset}{pair}", pair < right[subset], view)
            for pair in range(1000)
            for member in "12"
        ]
        for subset in SUBSETS
    }
    return run_of(tasks, {f"mvp_mini{ending}": tuple(tasks)})


def test_tables_4_and_5_of_mvp() -> None:
    table_4, order = records("mvp", "MVP paper Table 4"), ("macro_avg", *SUBSETS)
    mini = [row for row in table_4 if row["split"] != "full"]
    tarsier, people = (
        [next(row["value"] for row in mini if (row["model"], row["category"]) == (model, name)) for name in order]
        for model in ("Tarsier-34B", "Human")
    )
    right = {subset: round(10 * value) for subset, value in zip(SUBSETS, tarsier[1:], strict=True)}
    tables = layout_tables([mvp_run(right)])
    four, five = titled(tables, "MVP, Table 4:"), titled(tables, "MVP, Table 5:")
    assert len(four.headings) == 11 and all(heading.endswith("\npair accuracy") for heading in four.headings[1:])
    rows = values(four)
    assert rows["rebuilt"][5:] == pytest.approx(tarsier, abs=0.075), "the macro average is that of rounded scores"
    assert rows["rebuilt"][:5] == [None] * 5 and rows["Tarsier-34B"][5:] == tarsier
    assert rows["Human"] == [*[None] * 5, *people] and people[0] == 92.9
    published = [one for name, row in rows.items() if name != "rebuilt" for one in row if one is not None]
    assert len(published) == len(table_4) == 145
    steps = values(five)
    assert steps["Pairing of random videos (same question)"] == [45.4, 36.8, 40.9, 19.7, 84.3]
    assert steps["+ minimally different pairs, change"] == [-18.1, None, -22.3, None, None]
    assert steps["+ remove single-frame-solvable (= final MVP)"] == [25.1, 25.2, 18.3, 15.2, 41.8]
    assert list(steps)[-1] == "rebuilt"
    seen = values(titled(layout_tables([mvp_run(dict.fromkeys(SUBSETS, 1), "single_frame")]), "MVP, Table 4:"))
    assert {"Qwen2-VL (7B)", "Qwen2-VL (7B), single frame", "rebuilt, single frame"} <= set(seen)


def test_table_5_of_mvp_has_runs_of_the_sets_that_it_compares() -> None:
    whole = mvp_run(dict.fromkeys(SUBSETS, 500))
    first = {subset: frozenset(f"{subset}{pair}" for pair in range(250)) for subset in SUBSETS}
    removed = RemovedGroups("frames.jsonl", {f"mvp_mini_{subset}": groups for subset, groups in first.items()})
    drawn = replace(whole, label="random pairs", sets=dict.fromkeys(whole.records, DataSet(kind=SetKind.OWN, items=2)))
    tables = layout_tables([whole, whole.without(removed), drawn])
    five, four = (titled(tables, f"MVP, Table {number}:") for number in "54")
    assert list(values(five).items())[-3:] == [
        ("rebuilt", [50.0] * 5),
        ("rebuilt, filtered", [pytest.approx(100 / 3)] * 5),
        ("random pairs", [50.0] * 5),
    ]
    assert "rebuilt, filtered: not of the whole official release (2,000 items left out (frames.jsonl))." in five.caption
    assert list(values(four))[-1] == "rebuilt" and "random pairs: not of the" in four.caption


def test_table_2_of_countervqa() -> None:
    """Gemini's cells of H2H are those of 7, 4 and 5 questions."""
    counts = {"L1": (4, 7), "L2": (1, 4), "L3": (2, 5)}
    found = [
        graded(f"{level}{item}", f"{level}{item}", item < right, interaction="H2H", level=level)
        for level, (right, number) in counts.items()
        for item in range(number)
    ]
    table = titled(layout_tables([run_of({"countervqa": found})]), "CounterVQA, Table 2:")
    rows = values(table)
    assert len(table.headings) == 1 + len(CELLS) and table.headings[1] == "H2H L1\nverdict accuracy"
    assert rows["rebuilt"][:4] == pytest.approx(rows["Gemini-2.5-Pro"][:4], abs=NEAR)
    assert rows["Qwen-3-VL 8B + SFT + RL"][-1] == 72.6
    assert sum(one is not None for name, row in rows.items() if name != "rebuilt" for one in row) == 108


def test_table_4_of_cast_bench() -> None:
    measures = ("temporal_recall", "im_tiou", "st_recall", "im_viou")
    grounding = {**dict.fromkeys(measures, 0.25), "supported": True}
    found = [graded(str(item), str(item), item < 3).with_fields(grounding=grounding) for item in range(4)]
    rows = values(titled(layout_tables([run_of({"cast_bench": found})]), "CaST-Bench, Table 4:"))
    assert rows["rebuilt"] == [75.0, 25.0, 25.0, 25.0, 25.0, 75.0, 0.0]
    assert rows["Gemini-2.5-Pro"] == [50.34, 23.29, 21.53, 8.14, 2.46, 7.6, 42.26]
    assert rows["Human"] == [91.89, *[None] * 6] and len(rows) == 15


def test_tables_3_5_and_6_of_yocausal() -> None:
    pairs = []
    for subset in ("general", "physics", "human", "animal"):
        for causal in (True, False):
            won = replace(graded(f"{subset}{causal}", subset, True, subset=subset), answered="forward")
            pairs.append(won.with_fields(vlm_causality=causal))
    tables = layout_tables([run_of({"yocausal": pairs})])
    assert [table.title.partition(":")[0] for table in tables] == [f"YoCausal, Table {number}" for number in "356"]
    three, five, six = map(values, tables)
    assert three["Gemini 3.0 Pro vs GPT-4o"] == [0.6923, 0.0005]
    assert five["AnimateDiff-SD1.5"] == [43.4, 48.61, -5.21, -60.09] and five["rebuilt"] == [100.0, 100.0, 0.0, 0.0]
    assert six["LikePhys, 10 models"] == [0.5111, 0.0466]
    assert (len(three), len(five), len(six)) == (3, 15, 9)


def test_nothing_published_stands_in_it_beside_other_data(sample_runs: tuple[Path, Path]) -> None:
    runs = [read_run(folder) for folder in sample_runs]
    tables = layout_tables(runs)
    assert [table.title.partition(":")[0] for table in tables] == [
        "CaST-Bench, Table 4",
        "CausalVQA, Table 6, of the debug split",
        "CausalVQA, Table 12, of the debug split",
        "CounterVQA, Table 2",
        "MVP, Table 4",
        "MVP, Table 5",
        "YoCausal, Table 5",
    ]
    assert not any(table.caption for table in tables) and all("SAMPLE DATA" in table.signature for table in tables)
    names = {run.title for run in runs}
    assert all(names == {str(row[0]) for row in table.rows} for table in tables if "CausalVQA" not in table.title)
    # What no run has is left out, such as the columns of the full split.
    assert len(titled(tables, "MVP, Table 4").headings) == 6
    whole = replace(runs[0], sets=dict.fromkeys(runs[0].records, DataSet(kind=SetKind.OFFICIAL)))
    mixed = titled(layout_tables([whole, runs[1]], "mvp_mini"), "MVP, Table 4")
    assert runs[1].title not in values(mixed)
    assert mixed.caption.endswith(
        f"{runs[1].title}: not of the whole official release, and not shown (SAMPLE DATA, not the benchmark)."
    )


def test_the_command_shows_them_and_refuses_runs_without_any(sample_runs: tuple[Path, Path]) -> None:
    asked = ["report", str(sample_runs[0]), "--layout", "paper", "--task", "mvp_mini", "--format", "json"]
    result = CliRunner().invoke(app, asked)
    titles = [table["title"] for table in json.loads(result.stdout)["tables"]]
    assert titles == ["MVP, Table 4: models by subset", "MVP, Table 5: what pairing and the single-frame filter change"]
    with pytest.raises(InputError, match="Expected a run with scores for a table of its benchmark's paper"):
        layout_tables([read_run(sample_runs[0])], "yocausal_vlm")
