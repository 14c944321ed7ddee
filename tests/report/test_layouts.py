"""`report --layout paper`: runs, published figures and people where the papers print them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from commands import printed
from expected import Expected
from made_runs import make_run, show
from published import TABLE_6, TABLE_12, causalvqa_patterns, records

from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.report.layouts import layout_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import FittingTable, Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.manifest import RemovedGroups
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

MODEL = "GPT-4o"
NEAR = 0.05
"""By as much the paper's own rows of several strata differ from its counts."""
WIDE = 220


def graded(item: str, group: str, right: bool, view: str = "", **stratum: str) -> Record:
    outcome = Outcome.CORRECT if right else Outcome.WRONG
    return Record(item, group, stratum, "A", "A", outcome, view=view)


def causalvqa_records(view: str = "") -> list[Record]:
    """The answers of a model to the test split, by the counts behind Tables 6 and 12."""
    return [
        graded(f"{kind}{difficulty}{pair}_{version}", f"{kind}{difficulty}{pair}", right, view, type=kind,
               difficulty=difficulty)
        for (kind, difficulty), pattern in causalvqa_patterns(MODEL).items()
        for pair, members in enumerate(pattern.members())
        for version, right in enumerate(members)
    ]  # fmt: skip


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
    return make_run(tasks, {f"mvp_mini{ending}": tuple(tasks)}, name="rebuilt")


def titled(tables: Sequence[FittingTable], title: str) -> FittingTable:
    (table,) = [one for one in tables if one.title.startswith(title)]
    return table


def values(table: FittingTable) -> dict[str, list[float | None]]:
    """The numbers of each row."""
    return {str(row[0]): [cell.value if isinstance(cell, Number) else None for cell in row[1:]] for row in table.rows}


def column(table: FittingTable, heading: str) -> dict[str, float]:
    at = table.headings.index(heading) - 1
    return {row: number for row, numbers in values(table).items() if (number := numbers[at]) is not None}


def in_paper(source: str, model: str) -> dict[str, float]:
    return {
        row["category"] if row["difficulty"] == "all" else f"{row['category']}, {row['difficulty']}": row["value"]
        for row in records("causalvqa", source)
        if row["model"] == model
    }


@pytest.mark.slow  # intervals of every cell
def test_tables_of_causalvqa(expected: Expected) -> None:
    tables = layout_tables([make_run({"causalvqa_paired": causalvqa_records()}, name="rebuilt")])
    for number, source, score in (("6", TABLE_6, "pair accuracy"), ("12", TABLE_12, "single accuracy")):
        table = titled(tables, f"CausalVQA, Table {number}:")
        paper, own = in_paper(source, MODEL), column(table, f"rebuilt\n{score}")
        assert column(table, f"{MODEL}\n{score}") == paper and len(paper) == 22
        # In the paper people's scores of single versions stand in both tables.
        assert column(table, "Human\nsingle accuracy") == in_paper(source, "Human")
        assert {row: own[row] for row in paper} == pytest.approx(paper, abs=NEAR)
    own = column(titled(tables, "CausalVQA, Table 6"), "rebuilt\npair accuracy")
    assert own["mean over strata"] == pytest.approx(43.06, abs=NEAR)
    # Table 13 mixes pairs and single versions, and says so.
    blind = layout_tables([make_run({"causalvqa_paired_blind": causalvqa_records("blind")}, name="rebuilt")])
    for heading in titled(blind, "CausalVQA, Table 13:").headings[1:4]:
        source = "CausalVQA paper Table 13 (blind / last-frame)"
        assert column(blind[0], heading) == in_paper(source, heading.partition("\n")[0])
    expected(show([*tables, *blind], WIDE))


@pytest.mark.slow  # intervals of thousands of pairs
def test_tables_4_and_5_of_mvp(expected: Expected) -> None:
    order = ("macro_avg", *SUBSETS)
    mini = [row for row in records("mvp", "MVP paper Table 4") if row["split"] != "full"]
    tarsier = [
        next(row["value"] for row in mini if (row["model"], row["category"]) == ("Tarsier-34B", name)) for name in order
    ]
    right = {subset: round(10 * value) for subset, value in zip(SUBSETS, tarsier[1:], strict=True)}
    tables = layout_tables([mvp_run(right)])
    rows, steps = values(titled(tables, "MVP, Table 4:")), values(titled(tables, "MVP, Table 5:"))
    assert rows["rebuilt"][5:] == pytest.approx(tarsier, abs=0.075), "the macro average is that of rounded scores"
    assert rows["rebuilt"][:5] == [None] * 5 and rows["Tarsier-34B"][5:] == tarsier
    published = [one for name, row in rows.items() if name != "rebuilt" for one in row if one is not None]
    assert len(published) == 145
    assert steps["Pairing of random videos (same question)"] == [45.4, 36.8, 40.9, 19.7, 84.3]
    assert steps["+ minimally different pairs, change"] == [-18.1, None, -22.3, None, None]
    assert steps["+ remove single-frame-solvable (= final MVP)"] == [25.1, 25.2, 18.3, 15.2, 41.8]
    seen = titled(layout_tables([mvp_run(dict.fromkeys(SUBSETS, 1), "single_frame")]), "MVP, Table 4:")
    assert {"Qwen2-VL (7B)", "Qwen2-VL (7B), single frame", "rebuilt, single frame"} <= set(values(seen))
    # Table 5 has runs of the sets that it compares, and Table 4 only those of the whole release.
    whole = mvp_run(dict.fromkeys(SUBSETS, 500))
    first = {f"mvp_mini_{subset}": frozenset(f"{subset}{pair}" for pair in range(250)) for subset in SUBSETS}
    filtered = whole.without(RemovedGroups("frames.jsonl", first))
    drawn = replace(whole, label="random pairs", sets=dict.fromkeys(whole.records, DataSet(kind=SetKind.OWN, items=2)))
    assert filtered is not None
    compared = layout_tables([whole, filtered, drawn])
    assert list(values(titled(compared, "MVP, Table 5:")).items())[-3:] == [
        ("rebuilt", [50.0] * 5),
        ("rebuilt, filtered", [pytest.approx(100 / 3)] * 5),
        ("random pairs", [50.0] * 5),
    ]
    assert list(values(titled(compared, "MVP, Table 4:")))[-1] == "rebuilt"
    expected(show([*tables, *compared[1:]], WIDE) + titled(compared, "MVP, Table 4:").caption)


def test_tables_of_other_papers(expected: Expected) -> None:
    # Gemini's cells of H2H are those of 7, 4 and 5 questions.
    counts = {"L1": (4, 7), "L2": (1, 4), "L3": (2, 5)}
    counterfactual = [
        graded(f"{level}{item}", f"{level}{item}", item < right, interaction="H2H", level=level)
        for level, (right, number) in counts.items()
        for item in range(number)
    ]
    measures = ("temporal_recall", "im_tiou", "st_recall", "im_viou")
    grounding = {**dict.fromkeys(measures, 0.25), "supported": True}
    grounded = [graded(str(item), str(item), item < 3).with_fields(grounding=grounding) for item in range(4)]
    directed = [
        replace(graded(f"{subset}{causal}", subset, True, subset=subset), answered="forward")
        .with_fields(vlm_causality=causal)
        for subset in ("general", "physics", "human", "animal")
        for causal in (True, False)
    ]  # fmt: skip
    found = {"countervqa": counterfactual, "cast_bench": grounded, "yocausal": directed}
    tables = layout_tables([make_run({task: of_task}, name="rebuilt") for task, of_task in found.items()])
    two, four = (values(titled(tables, title)) for title in ("CounterVQA, Table 2:", "CaST-Bench, Table 4:"))
    assert two["rebuilt"][:4] == pytest.approx(two["Gemini-2.5-Pro"][:4], abs=NEAR)
    assert two["Qwen-3-VL 8B + SFT + RL"][-1] == 72.6
    assert sum(one is not None for name, row in two.items() if name != "rebuilt" for one in row) == 108
    assert four["rebuilt"] == [75.0, 25.0, 25.0, 25.0, 25.0, 75.0, 0.0]
    assert four["Gemini-2.5-Pro"] == [50.34, 23.29, 21.53, 8.14, 2.46, 7.6, 42.26]
    three, five, six = (values(titled(tables, f"YoCausal, Table {number}")) for number in "356")
    assert three["Gemini 3.0 Pro vs GPT-4o"] == [0.6923, 0.0005]
    assert five["AnimateDiff-SD1.5"] == [43.4, 48.61, -5.21, -60.09] and five["rebuilt"] == [100.0, 100.0, 0.0, 0.0]
    assert six["LikePhys, 10 models"] == [0.5111, 0.0466]
    assert [len(rows) for rows in (four, three, five, six)] == [15, 3, 15, 9]
    expected(show(tables, WIDE))


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("in_sample_home")
def test_nothing_published_stands_in_it_beside_other_data(sample_runs: tuple[Path, Path], expected: Expected) -> None:
    runs = [read_run(folder) for folder in sample_runs]
    expected(show(layout_tables(runs), WIDE))
    whole = replace(runs[0], sets=dict.fromkeys(runs[0].records, DataSet(kind=SetKind.OFFICIAL)))
    mixed = titled(layout_tables([whole, runs[1]], "mvp_mini"), "MVP, Table 4")
    assert runs[1].title not in values(mixed)
    assert mixed.caption.endswith(
        f"{runs[1].title}: not of the whole official release, and not shown (SAMPLE DATA, not the benchmark)."
    )
    asked = ("report", sample_runs[0], "--layout", "paper", "--task", "mvp_mini", "--format", "json")
    titles = [table["title"] for table in json.loads(printed(*asked))["tables"]]
    assert titles == ["MVP, Table 4: models by subset", "MVP, Table 5: what pairing and the single-frame filter change"]
    with pytest.raises(InputError, match="Expected a run with scores for a table of its benchmark's paper"):
        layout_tables([runs[0]], "yocausal_vlm")
