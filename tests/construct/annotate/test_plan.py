"""Who is asked what: the properties of a plan, whatever the questions are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.plan import (
    COLUMNS,
    PlannedQuestion,
    Shares,
    annotators_needed,
    as_csv,
    make_plan,
    read_plan,
)
from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.utils.data.home import load_table, read_manifest


@st.composite
def settings_of_plans(draw: st.DrawFn) -> tuple[list[PlannedQuestion], int, int, int, int]:
    """Questions with one to three versions, annotators, responses, attention items and a seed."""
    questions = []
    for group in range(draw(st.integers(1, 12))):
        ways = ("one_first", "other_first") if draw(st.booleans()) else ()
        versions = 1 if ways else draw(st.integers(1, 3))
        for version in range(versions):
            name = "" if ways else str(version)
            length = draw(st.integers(0, 90_000))
            questions.append(PlannedQuestion(f"q{group}", name, f"q{group}_{version}", length, ("A", "B"), ways))
    responses = draw(st.integers(1, 4))
    largest = max(Counter(question.item for question in questions).values())
    annotators = responses * largest + draw(st.integers(0, 9))
    return questions, annotators, responses, draw(st.integers(0, 3)), draw(st.integers(0, 99))


@settings(max_examples=40)
@given(settings_of_plans())
def test_every_version_gets_its_responses_and_nobody_sees_two(
    chosen: tuple[list[PlannedQuestion], int, int, int, int],
) -> None:
    questions, annotators, responses, attention, seed = chosen
    plan = make_plan("some", "test", questions, Shares(annotators, responses, attention), seed)
    asked = [row for row in plan.rows if not row.attention]
    assert Counter(row.item_id for row in asked) == {question.item_id: responses for question in questions}
    assert max(Counter((row.annotator, row.item) for row in asked).values()) == 1
    seen = [sum(row.milliseconds for row in rows) for rows in plan.by_annotator.values()]
    seen += [0] * (annotators - len(seen))
    assert max(seen) - min(seen) <= max(question.milliseconds for question in questions)
    for rows in plan.by_annotator.values():
        assert [row.place for row in rows] == list(range(1, len(rows) + 1))
        own = [row for row in rows if not row.attention]
        checks = [row for row in rows if row.attention]
        assert len(checks) == min(attention, len(own)) and not rows[0].attention
        assert all(row.item_id in {one.item_id for one in own} and row.attention in "AB" for row in checks)
    # Ways of showing a question are in equal shares.
    for question in questions:
        shown = Counter(row.version for row in asked if row.item_id == question.item_id)
        if question.ways:
            assert max(shown[way] for way in question.ways) - min(shown[way] for way in question.ways) <= 1
        else:
            assert set(shown) == {question.version}


QUESTIONS = [PlannedQuestion(f"q{n}", str(v), f"q{n}_{v}", 4000 + n, ("A", "B")) for n in range(20) for v in (0, 1)]


def test_a_seed_gives_the_same_bytes_which_are_read_as_they_were_written(tmp_path: Path) -> None:
    plans = [make_plan("some", "test", list(QUESTIONS), Shares(40, 3, 2), seed) for seed in (0, 0, 1)]
    first, again, other = map(as_csv, plans)
    assert first == again != other
    (tmp_path / "plan.csv").write_text(first, encoding="utf-8")
    assert read_plan(tmp_path / "plan.csv") == plans[0]


def test_minutes_decide_how_many_annotators_there_are() -> None:
    long = [replace(question, milliseconds=60_000) for question in QUESTIONS]
    assert annotators_needed(long, 15, 10) == 60  # 40 versions of a minute, 15 times
    assert annotators_needed(long, 15, 60) == 30  # two versions by 15 people each
    message = refusal(make_plan, "some", "test", QUESTIONS, Shares(29))
    assert message.startswith("Expected at least 30 annotators, for nobody sees two versions")


ROW = "some,test,answer,a1,1,q1,0,q1_0,5,A|B,d,"


def test_what_is_no_plan_is_refused(tmp_path: Path, expected: Expected) -> None:
    said = []
    for rows in (
        [ROW.replace("a1,1", "a1,x")],
        [ROW.replace("a1,1", ",1")],
        [ROW, ROW.replace("q1", "q2")],
        [ROW, ROW.replace("a1,1", "a1,01").replace("q1", "q2")],
        [ROW.replace("a1,1", "../a1,1")],
        [ROW, ROW.replace("test", "mini").replace("a1,1", "a1,2").replace("q1", "q2")],
        ["some,test,answer,a1,1,,,q1_0,0,A|B,d,C"],
        [],
    ):
        (tmp_path / "plan.csv").write_text("\n".join([",".join(COLUMNS), *rows]), encoding="utf-8")
        said.append(refusal(read_plan, tmp_path / "plan.csv"))
    expected("\n".join(said))


def test_who_chooses_is_checked_twice_wherever_attention_is() -> None:
    asked = {
        (name, mode): inquiry.attention
        for name, benchmark in registry().benchmarks.items()
        for mode, inquiry in benchmark.inquiries.items()
        if inquiry.form == "choice"
    }
    assert {"countervqa", "yocausal"} <= {name for name, _ in asked} and set(asked.values()) == {2}


def test_the_command_says_what_was_planned_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.chdir(tmp_path)
    inquiries = {mode: find_benchmark("countervqa").inquiry(mode) for mode in ("answer", "readability")}
    offered, written = QUESTIONS[:4], [replace(question, choices=()) for question in QUESTIONS[:4]]
    about = ("--run", "runs/one")
    calls = [
        ("answer", offered, ("--annotators", "6", "--responses", "2")),
        ("answer", offered, ("--sample", "1", "--annotators", "3", "--responses", "1", *about, "--task", "t")),
        ("last-frame", offered, ("--mode", "last-frame", "--responses", "1", "--attention", "0", *about)),
        ("answer", written, ("--attention", "1")),
        ("readability", written, ("--mode", "readability", "--attention", "1")),
    ]
    said = []
    for mode, questions, options in calls:
        for name, value in (
            ("only_split", "debug"),
            ("asked_items", (inquiries.get(mode, inquiries["answer"]), {})),
            ("planned_questions", questions),
        ):
            monkeypatch.setattr(f"lmms_eval_tasks.construct.annotate.plan.{name}", lambda *_, value=value: value)
        said.append(CliRunner().invoke(app, ["annotate", "plan", "causalvqa", "--out", "plan.csv", *options]).output)
    expected("\n".join(said))


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("benchmark", "split", "annotators"),
    [("causalvqa", "debug", 6), ("mvp", "mini", 3), ("cast_bench", "test", 3), ("yocausal", "test", 3)],
)
def test_a_prepared_benchmark_is_planned(tmp_path: Path, benchmark: str, split: str, annotators: int) -> None:
    path = tmp_path / "plan.csv"
    arguments = ["plan", benchmark, "--split", split, "--out", str(path), "--responses", "3"]
    result = CliRunner().invoke(app, ["annotate", *arguments])
    assert result.exit_code == 0, result.output
    plan, rows = read_plan(path), read_manifest(read_card(benchmark)).splits[split].rows
    assert len({row.item_id for row in plan.rows}) == rows
    assert len(plan.by_annotator) == annotators
    assert all(row.milliseconds > 0 for row in plan.rows if not row.attention)
    assert f"{rows} versions, 3 responses to each" in result.output


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("sample")
def test_a_split_is_asked_for_where_there_are_several_and_last_frames_are_shared_out_by_number(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    result = CliRunner().invoke(app, ["annotate", "plan", "mvp", "--out", str(plan)])
    assert result.exit_code == 1 and "Expected --split, one of " in result.output and not plan.exists()
    options = ["--split", "debug", "--mode", "last-frame", "--attention", "0", "--responses", "2", "--annotators", "7"]
    result = CliRunner().invoke(app, ["annotate", "plan", "causalvqa", *options, "--out", str(plan)])
    assert result.exit_code == 0 and "seconds of clips" not in result.output
    counts = [len(rows) for rows in read_plan(plan).by_annotator.values()]
    assert len(counts) == 7 and max(counts) - min(counts) <= 1


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("sample")
def test_one_person_answers_both_clips_of_a_pair(tmp_path: Path) -> None:
    plan, people = tmp_path / "plan.csv", tmp_path / "people.csv"
    options = ["--split", "mini", "--responses", "1", "--attention", "0", "--annotators", "2", "--out", str(plan)]
    assert CliRunner().invoke(app, ["annotate", "plan", "mvp", *options]).exit_code == 0
    keys = {row["item_id"]: row for row in load_table(read_card("mvp"), "mini")}
    lines, wrong = ["item,version,annotator,choice"], set[str]()
    for row in read_plan(plan).rows:
        key = keys[row.item_id]
        # One clip of each subset is answered wrongly, and so one pair.
        choice = key["answer"] if key["subset"] in wrong else {"A": "B", "B": "A"}[key["answer"]]
        wrong.add(key["subset"])
        lines.append(",".join((row.item, row.version, row.annotator, choice)))
    people.write_text("\n".join([*lines, ""]))
    result = CliRunner().invoke(app, ["humans", str(people), "--items", "mvp:mini"])
    assert result.exit_code == 0, result.output
    pairs = {subset: items // 2 for subset, items in Counter(key["subset"] for key in keys.values()).items()}
    rows = {line.split()[0]: line.split() for line in result.output.splitlines() if line.split()}
    for subset, number in pairs.items():
        assert rows[subset][1:3] == [str(number), f"{100 * (number - 1) / number:.2f}"]
    assert rows["mean"][4] == f"{sum(100 * (number - 1) / number for number in pairs.values()) / len(pairs):.2f}"
    assert "difficulty by these responses" not in result.output and "Each pair counts once" in result.output
