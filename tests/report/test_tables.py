"""Tables of scores, references, views and strata, the warnings above them, and what of runs is shown as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import call, printed
from expected import Expected
from logged_runs import weak, write_records, write_run
from made_runs import CORRECT, UNPARSED, UNSCORED, WRONG, make_groups, make_run, show
from refusals import refusal
from version_gate import own_benchmarks

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.host.saving import closing_lines
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.page import Section, build_sections
from lmms_eval_tasks.report.score_tables import (
    columns_of,
    reference_tables,
    run_warnings,
    score_tables,
    stratum_tables,
    view_tables,
)
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.scores import comparable_parts, groups_of, references_of, scores_of
from lmms_eval_tasks.utils.benchmark.views import Masked, Rotated, name_view
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.references import published_of_view, published_parts
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record, UnparsedReason, UnscoredReason

BOTH_RIGHT, ONE_WRONG, ONE_UNPARSED, ONE_UNSCORED = (
    (CORRECT, CORRECT),
    (CORRECT, WRONG),
    (UNPARSED, CORRECT),
    (UNSCORED, CORRECT),
)
PHYSICS, TEMPORAL = "mvp_mini_intuitive_physics", "mvp_mini_temporal_reasoning"
SUBSET_TASKS = tuple(f"mvp_mini_{subset}" for subset in SUBSETS)
PAIRS = make_groups([BOTH_RIGHT] * 20 + [ONE_WRONG] * 20)
KINDS = ("cast_bench", "cast_bench_open")
GRADED: dict[str, Any] = {"scores": dict.fromkeys(DIMENSIONS, 5.0)}
FORM = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}
GROUNDING = {
    **dict.fromkeys(("temporal_recall", "tiou_tp_only", "st_recall", "viou_tp_only", "im_tiou", "im_viou"), 0.5),
    "supported": True, "supported_strict": True, "false_positives": 0, "pairs": [],
}  # fmt: skip


def test_scores_of_a_group_are_the_mean_of_its_tasks(expected: Expected) -> None:
    one, two = make_groups([BOTH_RIGHT] * 3 + [ONE_WRONG]), make_groups([ONE_WRONG, ONE_UNPARSED, ONE_UNSCORED])
    run = make_run({"one": one, "two": two}, {"both": ("two", "one")}, SetKind.SAMPLE)
    (table,) = score_tables([run])
    # Pairs: 3 of 4 and 0 of 2; items: 7 of 8 and 3 of 5; none and 1 of 6 unparsed, as many unscored.
    numbers = [round(cell.value or 0, 1) if isinstance(cell, Number) else cell for cell in table.rows[0][1:]]
    assert numbers == [37.5, 73.8, 37.5, 8.3, 8.3, 6]
    expected(show([table]))
    parts = {"one": {"one": tuple(one)}, "two": {"two": tuple(two)}, "both": {"one": tuple(one), "two": tuple(two)}}
    assert comparable_parts(run) == parts
    # The order of the tasks is the host's, so that a mean over them is its number to the last digit.
    assert list(comparable_parts(run)["both"]) == ["two", "one"]


@pytest.mark.parametrize("width", [80, 100])
def test_tables_fit_a_terminal_and_names_are_whole_where_they_can_be(width: int, expected: Expected) -> None:
    records = make_groups([BOTH_RIGHT, ONE_WRONG] * 20, type="planning", difficulty="hard")
    name = "a-model-with-quite-a-long-name-7b"
    run = make_run(dict.fromkeys(SUBSET_TASKS, records), {"mvp_mini": SUBSET_TASKS}, name=name)
    tables = [*score_tables([run]), *reference_tables([run], "mvp_mini"), *stratum_tables(run, ["type"], PHYSICS)]
    text = show(tables, width)
    assert max(map(len, text.splitlines())) <= width
    expected(text)


@pytest.mark.parametrize("kind", SetKind)
def test_only_the_whole_official_release_stands_beside_anything_published(kind: SetKind) -> None:
    run = make_run(
        {PHYSICS: make_groups([BOTH_RIGHT, ONE_WRONG] * 20)}, sets={PHYSICS: DataSet(kind=kind, items=48, of=18_416)}
    )
    (table,) = reference_tables([run, replace(run, name="part", limited="--limit 40")])
    marked = [row[1] for row in table.rows for cell in row if isinstance(cell, Number) and cell.mark is not None]
    # Chance stands beside both scores of any run; people and models beside those of the official release.
    is_official = kind is SetKind.OFFICIAL
    assert (marked.count("replay"), marked.count("part")) == (4 if is_official else 2, 2)
    assert ("best published" in table.headings) is is_official


def test_warnings(expected: Expected) -> None:
    official = make_run({"one": make_groups([BOTH_RIGHT]), PHYSICS: make_groups([BOTH_RIGHT])})
    assert run_warnings([official]) == []

    def of(kind: SetKind, name: str = "other", *tasks: str) -> Run:
        sets = dict.fromkeys(tasks or official.records, DataSet(kind=kind, items=48, of=18_416))
        return replace(official, name=name, sets={**official.sets, **sets})

    mute = make_run({PHYSICS: make_groups([(UNPARSED, UNPARSED)] * 2)})
    keyless = [
        replace(one, expected=None, unscored_reason=UnscoredReason.NO_KEY)
        for one in make_groups([(UNSCORED, UNSCORED)] * 3)
    ]
    first, second, third, fourth, *others = make_groups([BOTH_RIGHT, ONE_UNPARSED, BOTH_RIGHT, BOTH_RIGHT])
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
        [make_run({PHYSICS: [*mute.records[PHYSICS], *make_groups([ONE_WRONG])]})],
        [make_run({"causalvqa_paired": keyless})],
        [make_run({"one": records}, card=card)],
    ]
    expected("\n\n".join("\n".join(run_warnings(runs)) for runs in cases))
    (table,) = reference_tables([mute])
    assert not any(isinstance(cell, Number) and cell.mark for row in table.rows for cell in row)


def test_each_kind_of_task_has_its_columns(expected: Expected, tmp_path: Path) -> None:
    own = [task for name in own_benchmarks() for task in registry().tasks_of(name)]
    tasks = (*reversed(own), "one")
    headings = {", ".join(column.heading for column in columns_of(task)): task for task in tasks}
    expected("\n".join(f"{task}: {columns}" for columns, task in headings.items()))
    # Scores that are no percentages are named.
    shown = " ".join(printed("report", write_run(tmp_path / "run", weak(4), KINDS[1:], **GRADED)).split())
    assert "Scores in percent; judge 0-10, answer, causal chain, coverage, overall: plain numbers. " in shown
    (section,) = build_sections([make_run({"yocausal": ()})])[1]
    assert section.units == "; CCI: in points; pairs: plain numbers"


def test_questions_with_evidence_and_graded_answers(expected: Expected) -> None:
    grounded, judged = [], []
    for index, outcome in enumerate((UNPARSED, CORRECT, CORRECT, CORRECT, CORRECT, CORRECT, CORRECT, UNSCORED)):
        names, stratum = (f"q{index}", f"clip{index // 2}"), {"category": "causal_explanation"}
        of_all = dict.fromkeys(GROUNDING, float(index % 2))
        grounding = None if outcome is UNSCORED else {**GROUNDING, **of_all, "supported": bool(index % 2)}
        fields = {"grounding": grounding, "format": FORM, "matching": "script"}
        reason = UnscoredReason.NO_CLIP if outcome is UNSCORED else None
        answered = "A" if outcome is CORRECT else None
        grounded.append(Record(*names, stratum, "A", answered, outcome, reason, fields=fields))
        scores = dict.fromkeys(DIMENSIONS, 10.0 - index) if index < 6 else None
        judged.append(Record(*names, stratum, "key", "said", WRONG if scores else UNSCORED, fields={"scores": scores}))
    run = make_run({"cast_bench": grounded, "cast_bench_open": judged}, kind=SetKind.SAMPLE)
    tables = score_tables([run])
    # Six of seven right; three of seven with evidence; one of the seven asked unparsed, one of eight unscored.
    shown = [cell.split()[0] for cell in tables[0].texts()[0][1:] if cell != "script"]
    assert shown == ["85.7", "42.9", "42.9", "42.9", "14.3", "12.5", "8"]
    expected(show([*tables, *stratum_tables(run, ["category"])]))


def test_tasks_and_groups_are_shown_alone_where_they_are_asked_for(expected: Expected) -> None:
    pairs = make_groups([BOTH_RIGHT, ONE_WRONG])
    run = make_run(dict.fromkeys(SUBSET_TASKS[:2], pairs), {"both": SUBSET_TASKS[:2]})
    alone = replace(run, name="alone", records={SUBSET_TASKS[0]: run.records[SUBSET_TASKS[0]]}, groups={})
    assert [table.title.split()[0] for table in score_tables([run])] == ["both"]
    (table,) = score_tables([run, alone], SUBSET_TASKS[0])
    assert table.title.startswith(SUBSET_TASKS[0]) and [row[0] for row in table.rows] == ["replay", "alone"]
    assert not list(reference_tables([make_run({"somebodys": pairs})]))
    strata = make_run({"one": make_groups([BOTH_RIGHT], type="planning", difficulty="easy")})
    assert [row[0] for row in stratum_tables(strata, ["type", "difficulty"])[0].rows] == ["planning easy", "all"]
    expected(f"{refusal(score_tables, [run], 'yocausal')}\n{refusal(stratum_tables, strata, ['colour'])}")


@pytest.mark.parametrize("command", ["report", "board"])
def test_nothing_is_printed_before_a_task_is_refused(command: str, tmp_path: Path) -> None:
    run = write_records(tmp_path / "model", {"one": make_groups([BOTH_RIGHT, ONE_WRONG])})
    for path in list(run.iterdir()):
        path.with_name(path.name.replace("20261121", "20261122")).write_bytes(path.read_bytes())
    assert "holds 2 runs" in call(command, run).out
    refused = call(command, run, "--task", "two")
    assert (refused.status, refused.out) == (1, "") and "any of one, but got two" in refused.err
    assert "holds 2 runs" not in refused.err


def test_tables_and_page_compute_a_stratum_from_its_records_alone() -> None:
    # By hand: three of the four pairs on planning are right, two of the three easy ones, one of the three hard ones.
    groups = {
        ("planning", "easy"): [BOTH_RIGHT, BOTH_RIGHT], ("planning", "hard"): [BOTH_RIGHT, ONE_WRONG],
        ("descriptive", "easy"): [ONE_WRONG], ("descriptive", "hard"): [ONE_WRONG],
    }  # fmt: skip
    records = [
        replace(one, group_id=f"{kind} {level} {one.group_id}", item_id=f"{kind} {level} {one.item_id}")
        for (kind, level), outcomes in groups.items()
        for one in make_groups(outcomes, type=kind, difficulty=level)
    ]
    run = make_run({"somebodys": records})
    of_levels = [replace(one, stratum={"difficulty": one.stratum["difficulty"]}) for one in records]
    kinds, levels = {"descriptive": "0.0", "planning": "75.0"}, {"easy": "66.7", "hard": "33.3"}
    for column, scores in (("type", kinds), ("difficulty", levels)):
        (table,) = stratum_tables(run, [column])
        assert {row[0]: row[1].split()[0] for row in table.texts()} == {**scores, "all": "50.0"}

    def shown(run: Run) -> dict[str, dict[str, list[str]]]:
        """The numbers of each row of the page's panels by stratum."""
        (section,) = build_sections([run])[1]
        return {
            panel.title.partition(" by ")[2]: {
                str(row[0]): [cell.value_text for cell in row if isinstance(cell, Number)]
                for figure in panel.all_figures
                for row in figure.table().rows
            }
            for panel in section.panels
            if panel.title.startswith("Pair accuracy by ")
        }

    by_kind, by_level = ({name: [score] for name, score in one.items()} for one in (kinds, levels))
    grid = {"descriptive": ["0.0", "0.0"], "planning": ["100.0", "50.0"]}
    assert shown(run) == {"type and difficulty": grid, "type": by_kind, "difficulty": by_level}
    one_column = make_run({"somebodys": of_levels})
    assert shown(one_column) == {"difficulty and run": by_level, "difficulty": by_level}


def test_parts_that_some_records_lack_are_shown() -> None:
    strata: list[dict[str, str]] = [{"concept": "Gravity-Continuity"}, {"concept": "GravitySupport"}, {}]
    found = [replace(one, stratum=stratum) for one, stratum in zip(make_groups([(CORRECT,)] * 3), strata, strict=True)]
    (table,) = stratum_tables(make_run({PHYSICS: found}), ["concept"])
    assert [row[0] for row in table.rows] == ["Gravity-Continuity", "GravitySupport", "other", "all"]
    published = published_parts(find_benchmark("mvp").folder, [str(row[0]) for row in table.rows])
    assert [(one.model, one.value) for one in published] == [
        ("Gravity-Continuity, LongVU (Qwen2-7B)", 39.1),
        ("Gravity-Support, Tarsier-34B", 35.2),
    ]
    # A group is shown by those of its tasks that have the parts, and says which have none.
    other = make_groups([BOTH_RIGHT])
    run = make_run({SUBSET_TASKS[0]: other, PHYSICS: found}, {"mvp_mini": (SUBSET_TASKS[0], PHYSICS)})
    for only in ("", "mvp_mini"):
        (table,) = stratum_tables(run, ["concept"], only)
        assert table.title.startswith(PHYSICS) and len(table.rows) == 4
        assert table.caption.endswith(f"without concept, and not shown: {SUBSET_TASKS[0]}")
    refused = refusal(stratum_tables, run, ["concept"], SUBSET_TASKS[0])
    assert refused == f"Expected strata of {SUBSET_TASKS[0]}, which has none, but got concept."


@pytest.mark.slow
def test_a_group_over_two_kinds_views_or_benchmarks_is_shown_task_by_task(tmp_path: Path) -> None:
    names = (*KINDS, TEMPORAL, f"{TEMPORAL}_blind")
    run = make_run(dict.fromkeys(names, ()))
    for group in (names[:2], names[2:], names[1:3]):
        assert groups_of(replace(run, groups={"both": group})) == {}
    assert groups_of(replace(run, groups={"both": (TEMPORAL, TEMPORAL)})) == {"both": (TEMPORAL, TEMPORAL)}
    written = write_run(tmp_path / "run", weak(4), KINDS, groups={"both": KINDS}, grounding=None, format=FORM, **GRADED)
    shown = printed("report", written, "--html", tmp_path / "page.html")
    assert [line.split()[0] for line in shown.splitlines() if "(version" in line] == list(KINDS)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [f'<section id="{name}"' in page for name in (*KINDS, "both")] == [1, 1, 0]


def test_a_view_stands_beside_nothing_of_the_whole_items() -> None:
    published_scores = 0
    for name in (*registry().tasks, *registry().groups):
        task = registry().find_members(name)[0]
        whole = references_of(name, name, 80)
        for view in (view for view in task.kind.views if registry().find_members(name_view(name, view))):
            seen = references_of(name_view(name, view), name_view(name, view), 80)
            assert [one.metric for one in seen] == [one.metric for one in whole]
            of_view = published_of_view(task.benchmark.folder, name, view)
            assert all(task.kind.metric(model.score).name == model.score for model in of_view)
            published_scores += len(of_view)
            for one, other in zip(seen, whole, strict=True):
                assert one.people == ()
                assert set(one.published) <= {model for model in of_view if not model.people}
                assert {model.score for model in of_view if model in one.published} <= {one.metric.name}
                assert one.chance == (None if view in (Masked.ending, Rotated.ending) else other.chance)
    assert published_scores > 50


def test_a_view_is_compared_with_the_whole_in_pairs_and_with_what_is_published_of_it(expected: Expected) -> None:
    blind_task = f"{TEMPORAL}_blind"
    # 12 first members and 6 second ones are right.
    blind = make_run({blind_task: make_groups([BOTH_RIGHT] * 6 + [ONE_WRONG] * 6 + [(WRONG, WRONG)] * 28)})
    whole = make_run({TEMPORAL: make_groups([BOTH_RIGHT] * 30 + [ONE_WRONG] * 10)})
    (table,) = tables = view_tables([whole, blind])
    metrics = [one.metric for one in references_of(TEMPORAL, TEMPORAL, 80)]
    compared = compare_records({"": whole.records[TEMPORAL]}, {"": blind.records[blind_task]}, metrics).differences
    for row, difference, scores in zip(table.texts(), compared, [(75.0, 15.0), (87.5, 22.5)], strict=False):
        low, high = difference.interval
        assert (difference.first, difference.second) == pytest.approx(scores)
        assert row[5] == f"{difference.change:+.1f} [{low:+.1f}, {high:+.1f}]"
    # Published scores of the view stand below.
    expected(show(tables))
    # A view of another model, or without the whole task, is in no table.
    other = make_run({blind_task: blind.records[blind_task]}, name="other")
    assert view_tables([whole, other]) == view_tables([blind]) == view_tables([whole]) == []
    assert view_tables([whole, blind], only="mvp_mini") == []
    assert all(len(view_tables([whole, blind], only=name)) == 1 for name in (TEMPORAL, blind_task))
    # Neither the table of references nor the page's figures have the best model or people beside a view.
    best, people = references_of(TEMPORAL, TEMPORAL, 80)[0].best, references_of(TEMPORAL, TEMPORAL, 80)[0].people
    assert best and people
    (of_whole,), (of_blind,) = (reference_tables([make_run({name: PAIRS})]) for name in (TEMPORAL, blind_task))
    assert f"{people[0].percent:.1f} " in str(of_whole.texts()) and best.model in str(of_whole.texts())
    assert best.model not in str(of_blind.texts())


def test_figures_of_a_view_show_what_is_published_of_that_view_alone() -> None:
    def section_of(task: str, view: str = "", **fields: Any) -> Section:
        """The section of a page on one run of a view of a task."""
        name = name_view(task, view)
        records = [replace(record, view=view).with_fields(**fields) for record in PAIRS]
        return build_sections([make_run({name: records})])[1][0]

    figure = section_of(TEMPORAL, "blind").panels[0]
    shown = {row[:2] for (one,) in [figure.all_figures] for row in one.table().texts()}
    published = {model.model for model in published_of_view(find_benchmark("mvp").folder, TEMPORAL, "blind")}
    assert published and {(model, "published") for model in published} <= shown
    best = references_of(TEMPORAL, TEMPORAL, 80)[0].best
    assert best and not {label for label, _ in shown} & {best.model} and "people" not in {kind for _, kind in shown}
    assert figure.note.endswith("A view was shown (blind), so no published score of whole items is shown.")
    # Neither have the panels of a benchmark's own.
    for view, beside in (("", True), ("blind", False)):
        panels = section_of("cast_bench", view, grounding=GROUNDING, format=FORM).panels
        (panel,) = (panel for panel in panels if panel.title == "Accuracy against grounding")
        assert ("published" in {row[1] for row in panel.all_figures[0].table().texts()}) is beside


def test_an_answer_of_cast_bench_counts_by_itself_and_by_its_evidence() -> None:
    kinds = {
        "right, supported": (Outcome.CORRECT, {"supported": True}),
        "right, not supported": (Outcome.CORRECT, {"supported": False}),
        "wrong, supported": (Outcome.WRONG, {"supported": True}),
        "wrong, not supported": (Outcome.WRONG, {"supported": False}),
        "not graded": (Outcome.CORRECT, None),
    }
    records = [
        replace(one, outcome=outcome).with_fields(grounding=grounding and GROUNDING | grounding, format=FORM)
        for number, (outcome, grounding) in enumerate(kinds.values(), 1)
        for one in make_groups([BOTH_RIGHT] * number)
    ]
    panels = build_sections([make_run({"cast_bench": records})])[1][0].panels
    (figure,) = (
        one for panel in panels if panel.title == "Right answer and right evidence" for one in panel.all_figures
    )
    table = figure.table()
    (counts,) = (dict(zip(table.headings[2:], row[2:], strict=True)) for row in table.rows)
    assert counts == {kind: 2 * number for number, kind in enumerate(kinds, 1)}


def test_why_answers_were_not_read_stands_in_the_report_the_last_lines_and_the_file_of_scores() -> None:
    stratum = {"type": "descriptive", "difficulty": "easy", "source": "clevrer"}
    records = [replace(one, stratum=stratum) for one in make_groups([BOTH_RIGHT] * 4)]
    unread: dict[str, Any] = {"outcome": Outcome.UNPARSED, "answered": None}
    reasons = [UnparsedReason.DISAGREES, UnparsedReason.DISAGREES, UnparsedReason.EMPTY]
    for place, (reason, said) in enumerate(zip(reasons, ("B", "A", None), strict=True)):
        fields = {"official_answered": said, "official_correct": said == "A"}
        records[place] = replace(records[place], unparsed_reason=reason, fields=fields, **unread)
    run = make_run({PHYSICS: records})
    counted = "3 of 8 unparsed (letter and text disagree 2, empty 1)"
    (warning,) = run_warnings([run])
    assert warning.endswith(f"{counted}. The official reader reads an option in 2 of these, the right one in 1.")
    scores = scores_of(run)
    assert scores.part(PHYSICS).unparsed == {"letter and text disagree": 2, "empty": 1}
    assert sum(counted in line for line in closing_lines(scores, "out")) == 1
    (part,) = scores_of(make_run({PHYSICS: records[4:]})).parts
    assert "unparsed" not in part.model_dump(exclude_unset=True)
