"""`report --layout paper`: runs, published figures and people where the papers print them."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from commands import printed
from expected import Expected
from made_runs import make_run
from published import causalvqa_patterns, every_record, records
from refusals import refusal
from yocausal_records import logged

from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.report.page import build_sections, write_figures
from lmms_eval_tasks.report.published_tables import AskedPeople, layout_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.manifest import RemovedGroups
from lmms_eval_tasks.utils.people.responses import AskedQuestion, Response
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

MODEL = "GPT-4o"
NEAR = 0.05
"""By as much the paper's own rows of several strata differ from its counts."""


def graded(item: str, group: str, right: bool, view: str = "", **stratum: str) -> Record:
    return Record(item, group, stratum, "A", "A", Outcome.CORRECT if right else Outcome.WRONG, view=view)


def rebuilt(**tasks: Sequence[Record]) -> Run:
    return make_run(tasks, name="rebuilt")


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


def random_pairs(run: Run) -> Run:
    """The run as one of a set whose pairs were drawn at random."""
    records = {
        task: tuple(replace(one, group_id=f"random_0_{one.group_id}") for one in held)
        for task, held in run.records.items()
    }
    return replace(run, records=records, sets=dict.fromkeys(records, DataSet(kind=SetKind.OWN, items=2)))


def titled(tables: Sequence[FittingTable], title: str) -> FittingTable:
    (table,) = [one for one in tables if one.title.startswith(title)]
    return table


def values(table: FittingTable) -> dict[str, list[float | None]]:
    """The numbers of each row, by its last name."""
    names = table.names
    return {
        str(row[names - 1]): [cell.value if isinstance(cell, Number) else None for cell in row[names:]]
        for row in table.rows
    }


def column(table: FittingTable, heading: str) -> dict[str, float]:
    at = table.headings.index(heading) - table.names
    return {row: number for row, numbers in values(table).items() if (number := numbers[at]) is not None}


def outline(tables: Sequence[FittingTable]) -> str:
    """What tables say beside their numbers, for each of which there is `#`: those are compared as data."""
    lines = []
    for table in tables:
        lines += [table.title, *table.warnings, " | ".join(heading.replace("\n", ", ") for heading in table.headings)]
        rows = zip(table.rows, table.texts(), strict=True)
        lines += [
            " | ".join("#" if isinstance(cell, Number) and text else text for cell, text in zip(*row, strict=True))
            for row in rows
        ]
        lines += [table.caption, f"({table.signature})", ""]
    return "\n".join(line.rstrip() for line in lines)


def check_published(tables: Sequence[FittingTable], benchmark: str) -> int:
    """Check that in rows and columns of a published model are its numbers alone; how many they are."""
    known: dict[str, set[float]] = defaultdict(set)
    for row in every_record(benchmark):
        known[row["model"]] |= {value for value in row.values() if isinstance(value, int | float)}
    count = 0
    for table in tables:
        for cells in table.rows:
            of_row = {part for cell in cells[: table.names] for part in str(cell).split(", ")}
            for heading, cell in zip(table.headings, cells, strict=True):
                models = known.keys() & {*of_row, *heading.split("\n")}
                if isinstance(cell, Number) and cell.value is not None and models:
                    assert any(cell.value in known[model] for model in models), (table.title, heading, cells, cell)
                    count += 1
    return count


def answers(view: str = "") -> list[Record]:
    """The answers of a model to CausalVQA's test split, by the counts behind Tables 6 and 12."""
    return [
        graded(f"{kind}{level}{pair}_{version}", f"{kind}{level}{pair}", right, view, type=kind, difficulty=level)
        for (kind, level), pattern in causalvqa_patterns(MODEL).items()
        for pair, members in enumerate(pattern.members())
        for version, right in enumerate(members)
    ]


@pytest.mark.slow  # intervals of every cell
def test_tables_of_causalvqa(expected: Expected) -> None:
    tables = layout_tables([rebuilt(causalvqa_paired=answers())])
    for number, score in (("6", "pair accuracy"), ("12", "single accuracy")):
        table = titled(tables, f"CausalVQA, Table {number}:")
        own, paper = (column(table, f"{name}\n{score}") for name in ("runs\nrebuilt", f"closed\n{MODEL}"))
        assert len(paper) == 22 and {row: own[row] for row in paper} == pytest.approx(paper, abs=NEAR)
        counts = {str(row[1]): row[2] for row in table.rows}
        assert {counts[kind] for kind in ("anticipation", "reasoning", "easy", "all")} == {208, 505, 454, 793}
        # Table 6 and, for the difficulties, the introduction.
        people = column(table, "people\nHuman\nsingle accuracy")
        assert len(people) == 25 and (people["easy"], people["medium"], people["hard"]) == (95.05, 77.32, 60.05)
    # Table 13 mixes pairs and single versions, and says so.
    views = {f"causalvqa_paired_{view}": answers(view) for view in ("blind", "single_frame")}
    tables = [*tables, *layout_tables([rebuilt(**views)])]
    assert check_published(tables, "causalvqa") > 300
    expected(outline(tables))


@pytest.mark.nightly  # draws all figures of a page in each form
def test_figures_of_causalvqa_have_models_and_people_by_type_and_difficulty(tmp_path: Path) -> None:
    run = rebuilt(causalvqa_paired=[one.with_fields(official_correct=one.correct) for one in answers()])
    (_, (section,)) = build_sections([run])
    figures = {panel.title: panel.all_figures for panel in section.panels}
    planning = {one.name: one for one in figures["Models and people by type"]}["planning"]
    rows = planning.table().texts()
    assert rows[0] == ("Human", "people", "83.99") and ("Gemini 2.5 Flash", "published", "75.85") in rows
    assert [row for row in rows if row[0] in ("rebuilt", MODEL)] == [
        ("rebuilt", "1", "64.54 [57.45, 71.28]"), (MODEL, "published", "64.50"),
    ]  # fmt: skip
    (hard,) = [one for one in figures["People by difficulty"] if one.name == "hard"]
    assert [(name, who) for name, who, _ in hard.table().rows] == [("Human", "people"), ("rebuilt", "1")]
    assert write_figures([run], tmp_path) and (tmp_path / "causalvqa_paired.people-by-difficulty.hard.pdf").is_file()
    part = replace(run, limited="--limit 3")
    assert "Models and people by type" not in {panel.title for one in build_sections([part])[1] for panel in one.panels}


def test_a_studys_people_stand_in_tables_6_and_12(expected: Expected) -> None:
    """Two versions of four questions, of which three people answer one each."""
    strata = {"anticipation": "easy", "planning": "hard", "descriptive": "easy", "hypothetical": "medium"}
    asked = {
        (kind, version): AskedQuestion("A", "ABCDE", {"type": kind, "difficulty": level}, item_id=f"{kind}_{version}")
        for kind, level in strata.items()
        for version in "01"
    }
    responses = [
        Response(kind, str(person % 2), f"p{person}", "A" if right else "B", float(right))
        for kind, credits in zip(strata, ((1, 1, 1), (0, 1, 0), (1, 1, 0), (0, 0, 1)), strict=True)
        for person, right in enumerate(credits)
    ]
    people = AskedPeople("people.csv", "causalvqa", "debug", responses, asked)
    answers = [
        graded(f"{kind}_{version}", kind, kind == "planning", type=kind, difficulty=level)
        for kind, level in strata.items()
        for version in "01"
    ]
    run = rebuilt(causalvqa_debug_paired=answers)
    tables = layout_tables([run], people=people)
    for number in ("6", "12"):
        table = titled(tables, f"CausalVQA, Table {number}, of the debug split:")
        found = column(table, "people\npeople.csv\nsingle accuracy")
        assert (found["anticipation, easy"], found["planning"]) == pytest.approx((100, 100 / 3))
        # Three of four types reason: (3 + 1 + 1) of 9 answers.
        assert (found["reasoning"], found["all"]) == pytest.approx((500 / 9, 700 / 12))
        assert found["easy"] == pytest.approx(500 / 6) and "mean over strata" not in found
    refused = refusal(layout_tables, [run], "", people._replace(split="test"))
    expected(outline(tables) + refused)


@pytest.mark.slow  # intervals of thousands of pairs
def test_tables_4_and_5_of_mvp(expected: Expected) -> None:
    mini = [row for row in records("mvp", "MVP paper Table 4") if row["split"] != "full"]
    of_tarsier = {row["category"]: row["value"] for row in reversed(mini) if row["model"] == "Tarsier-34B"}
    tarsier = [of_tarsier[name] for name in ("macro_avg", *SUBSETS)]
    tables = layout_tables([mvp_run({subset: round(10 * of_tarsier[subset]) for subset in SUBSETS})])
    rows = values(titled(tables, "MVP, Table 4:"))
    assert rows["rebuilt"][5:] == pytest.approx(tarsier, abs=0.075), "the macro average is that of rounded scores"
    assert rows["rebuilt"][:5] == [None] * 5 and rows["Tarsier-34B"][5:] == tarsier
    seen = titled(layout_tables([mvp_run(dict.fromkeys(SUBSETS, 1), "single_frame")]), "MVP, Table 4:")
    assert {"Qwen2-VL (7B)", "Qwen2-VL (7B), single frame", "rebuilt, single frame"} <= set(values(seen))
    # Table 5 has runs of the sets that it compares, and Table 4 only those of the whole release.
    whole = mvp_run(dict.fromkeys(SUBSETS, 500))
    first = {f"mvp_mini_{subset}": frozenset(f"{subset}{pair}" for pair in range(250)) for subset in SUBSETS}
    filtered = whole.without(RemovedGroups("frames.jsonl", first))
    drawn = random_pairs(mvp_run(dict.fromkeys(SUBSETS, 700)))
    assert filtered is not None
    compared = layout_tables([whole, filtered, drawn])
    assert list(values(titled(compared, "MVP, Table 5:")).items())[-5:] == [
        ("rebuilt, random pairs", [70.0] * 5),
        ("rebuilt, minimal pairs", [50.0] * 5),
        ("minimal pairs, change", [pytest.approx(-20)] * 5),
        ("rebuilt, filtered", [pytest.approx(100 / 3)] * 5),
        ("filtered, change", [pytest.approx(-50 / 3)] * 5),
    ]
    assert list(values(titled(compared, "MVP, Table 4:")))[-1] == "rebuilt"
    assert check_published([*tables, *compared], "mvp") > 200
    expected(outline([*tables, *compared[1:]]) + titled(compared, "MVP, Table 4:").caption)


@pytest.mark.slow
def test_stages_have_means_over_runs_and_changes_of_the_same_models() -> None:
    def run(name: str, right: int) -> Run:
        return replace(mvp_run(dict.fromkeys(SUBSETS, right)), name=name)

    drawn = [random_pairs(run(name, right)) for name, right in (("one", 600), ("two", 800), ("three", 100))]
    whole = [run(name, right) for name, right in (("one", 500), ("two", 400), ("four", 900))]
    shown = values(titled(layout_tables([*whole, *drawn]), "MVP, Table 5:"))
    # The seven arrows that the paper prints (Table 5); they fit its cells, and give those that it leaves out.
    arrows = [
        number for row, numbers in shown.items() if row.startswith("+") for number in numbers if number and number < 0
    ]
    assert sorted(arrows) == [-22.3, -18.1, -3.5, -3.3, -2.2, -1.5, -0.3]
    first, second, third = (
        [math.nan if number is None else number for number in numbers]
        for row, numbers in shown.items()
        if row[0] in "P+" and "change" not in row
    )
    assert third[1] - second[1] == pytest.approx(-3.5) and first[2] - 22.3 - 0.3 == pytest.approx(third[2])
    assert shown["mean of 3 runs, random pairs"] == [pytest.approx(50)] * 5
    assert shown["mean of 3 runs, minimal pairs"] == [pytest.approx(60)] * 5
    # Of the two models that have runs of both: 45 against 70.
    assert shown["minimal pairs, change"] == [pytest.approx(-25)] * 5


def test_tables_of_other_papers(expected: Expected) -> None:
    # Gemini's cells of H2H are those of 7, 4 and 5 questions.
    counts = {"L1": (4, 7), "L2": (1, 4), "L3": (2, 5)}
    counterfactual = [
        graded(f"{level}{item}", f"{level}{item}", item < right, interaction="H2H", level=level)
        for level, (right, number) in counts.items()
        for item in range(number)
    ]
    grounding = dict.fromkeys(("temporal_recall", "im_tiou", "st_recall", "im_viou"), 0.25) | {"supported": True}
    grounded = [
        graded(str(item), str(item), item < 60).with_fields(grounding=grounding, matching="script")
        for item in range(80)
    ]
    other = [record.with_fields(matching="supplement") for record in grounded]
    directed = [
        replace(graded(f"{subset}{causal}", subset, True, subset=subset), answered="forward")
        .with_fields(vlm_causality=causal)
        for subset in ("general", "physics", "human", "animal")
        for causal in (True, False)
    ]  # fmt: skip
    annotated = [graded(str(item), str(item), item < 6, interaction="H2O", level="L1") for item in range(8)]
    both = rebuilt(countervqa=counterfactual, countervqa_annotated=annotated)
    runs = [
        both,
        rebuilt(cast_bench=grounded),
        make_run({"yocausal": directed}, name="rebuilt", logs={"yocausal": ()}),
    ]
    runs.append(make_run({"cast_bench": other}, name="rebuilt"))
    tables = layout_tables(runs)
    two, four = (values(titled(tables, title)) for title in ("CounterVQA, Table 2:", "CaST-Bench, Table 4:"))
    assert two["rebuilt"][:4] == pytest.approx(two["Gemini-2.5-Pro"][:4], abs=NEAR)
    # One row a model: what it was shown is a column; only runs have the scores of Table 3 by level from their records.
    one, three = (values(titled(tables, f"CounterVQA, Table {number}:")) for number in (1, 3))
    assert one["Qwen-2.5-VL 32B"] == [41.9, 46.7, 3.2, 3.5] and one["rebuilt"][1] == 75.0
    assert three["+ Full CFGPT"] == [72.6, 0.0, 70.1, 71.6, 76.0]
    assert three["+ GRPO (w/o SFT and Distillation)"] == [63.7, -8.9, 58.3, 65.7, 68.0]
    assert [three["rebuilt"][0], *three["rebuilt"][2:]] == pytest.approx([one["rebuilt"][0], *two["rebuilt"][:3]])
    assert four["rebuilt"] == [75.0, 25.0, 25.0, 25.0, 25.0, 75.0, None, 0.0] == four["rebuilt, matching supplement"]
    # Each column is of one definition, and each figure with its set.
    of_full = ("full set", "GPT-5", 46.32, 27.83, 26.61, 16.19, 4.31, None, 12.68, 32.91)
    of_public = ("80 public questions", "InternVL3_5-14B", 58.8, None, 15.7, None, 1.0, 2.5, None, None)
    table = titled(tables, "CaST-Bench, Table 4:")
    plain = [tuple(getattr(cell, "value", cell) or None for cell in row) for row in table.rows]
    assert {of_full, of_public} <= set(plain)
    assert table.headings[7:9] == ("faithful", "faithful, full set's rule")
    sets = [row[0] for row in table.texts()]
    assert sets == sorted(sets, reverse=True) and {row[0] for row in table.texts() if "rebuilt" in row[1]} == {sets[-1]}
    for benchmark in ("cast_bench", "yocausal"):
        of_paper = [one for one in tables if one.title.replace("-", "_").lower().startswith(benchmark)]
        assert check_published(of_paper, benchmark) > 20
    expected(outline(tables))


def test_each_run_of_yocausal_stands_in_the_tables_of_its_prompt(tmp_path: Path, expected: Expected) -> None:
    runs = [logged(tmp_path / name, model, prompt, wins) for name, model, prompt, wins in (
        ("forward", "both", "forward", "++-+"), ("null", "both", "null", "+---"), ("other", "one", "forward", "+++-"),
    )]  # fmt: skip
    runs = [replace(run, label=run.path.parent.name) for run in runs]
    tables = layout_tables(runs)
    shown = {title: list(values(titled(tables, f"YoCausal, {title}:"))) for title in ("Table 4", "Table 5", "Table 7")}
    assert shown["Table 4"][-2:] == shown["Table 5"][-2:] == ["forward", "other"]
    assert shown["Table 7"][-2:] == ["forward, forward prompt", "null, null prompt"]
    four, seven = (values(titled(tables, f"YoCausal, {title}:")) for title in ("Table 4", "Table 7"))
    assert four["HunyuanVideo"][-1] == seven["HunyuanVideo, forward prompt"][0] == 52.05
    assert seven["null, null prompt"] == [25.0, 50.0] and four["forward"] == [None, None, None, 75.0, 75.0]
    assert titled(tables, "YoCausal, Table 5:").headings[1] == "difference\nCCI"
    six = titled(tables, "YoCausal, Table 6:")
    assert six.headings[1:] == ("Kendall tau", "Pearson r", "p")
    assert values(six)["Release date, 13 models"] == [None, 0.5958, 0.0316]
    assert values(six)["LikePhys, 10 models"] == [0.5111, None, 0.0466]
    expected(outline([titled(tables, f"YoCausal, Table {number}:") for number in "47"]))


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("in_sample_home")
def test_nothing_published_stands_in_it_beside_other_data(sample_runs: tuple[Path, Path], expected: Expected) -> None:
    runs = [read_run(folder) for folder in sample_runs]
    whole = replace(runs[0], sets=dict.fromkeys(runs[0].records, DataSet(kind=SetKind.OFFICIAL)))
    mixed = titled(layout_tables([whole, runs[1]], "mvp_mini"), "MVP, Table 4")
    assert runs[1].title not in values(mixed)
    asked = ("report", sample_runs[0], "--layout", "paper", "--task", "mvp_mini", "--format", "json")
    titles = [table["title"] for table in json.loads(printed(*asked))["tables"]]
    refused = refusal(layout_tables, [runs[0]], "yocausal_vlm")
    expected("\n".join([outline(layout_tables(runs)), mixed.caption, *titles, refused]))
