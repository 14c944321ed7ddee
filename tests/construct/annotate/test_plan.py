"""Who is asked what: the properties of a plan, whatever the questions are, and what its pages hold."""

from __future__ import annotations

import base64
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_clips import number_of, write_numbered
from PIL import Image
from refusals import refusal
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate import annotation_page
from lmms_eval_tasks.construct.annotate.annotation_page import PageTexts, _last_frame
from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import (
    COLUMNS,
    Plan,
    PlannedQuestion,
    Shares,
    annotators_needed,
    as_csv,
    draw_sample,
    make_plan,
    read_plan,
)
from lmms_eval_tasks.construct.cli.annotate import _summary
from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.utils.core.output import make_console
from lmms_eval_tasks.utils.data.home import load_table, read_manifest
from lmms_eval_tasks.utils.people.inquiries import (
    AskedItem,
    Inquiry,
    InquiryForm,
    OfferedChoice,
    Scale,
    TimedDescription,
)


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


def test_the_same_seed_gives_the_same_plan_as_before(expected: Expected) -> None:
    """So that answers to a plan that was made by an earlier version are still answers to it."""
    one, other = ("one_first", "other_first"), ("red", "blue")
    versions = [replace(question, stratum="ab"[place // 2 % 2]) for place, question in enumerate(QUESTIONS)]
    either = [
        PlannedQuestion(f"w{n}", "", f"w{n}", 900 * n, ("A", "B", "C"), one if n % 2 else other) for n in range(4)
    ]
    plans = [
        make_plan("some", "test", draw_sample(versions, 5, 2), Shares(5, 2, 1), 7, "last-frame"),
        make_plan("some", "test", draw_sample(versions, 2, 1), Shares(2, 2, 0, whole_pairs=True)),
        make_plan("some", "test", either, Shares(7, 3, 9), 1),
    ]
    expected("\n".join(map(as_csv, plans)))


@pytest.mark.parametrize(
    ("minutes", "responses", "whole_pairs", "needed"),
    [
        (1, 1, False, 40),
        (1.01, 1, False, 40),
        (0.99, 1, False, 41),
        (40, 1, False, 2),
        (40, 1, True, 1),
        (40, 3, True, 3),
    ],
)
def test_nobody_sees_more_minutes_than_are_given(
    minutes: float, responses: int, whole_pairs: bool, needed: int
) -> None:
    """Of 40 versions of a minute, two of each question."""
    long = [replace(question, milliseconds=60_000) for question in QUESTIONS]
    assert annotators_needed(long, responses, minutes, whole_pairs) == needed


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


def test_an_answer_is_of_fifteen_people_and_a_rating_or_a_review_of_two() -> None:
    """CausalVQA's numbers, which the others take, and those of CounterVQA's appendices C.3 and E."""
    asked = [(mode, inquiry) for one in registry().benchmarks.values() for mode, inquiry in one.inquiries.items()]
    assert {inquiry.responses for mode, inquiry in asked if mode in ("answer", "last-frame")} == {15}
    assert {inquiry.responses for _, inquiry in asked if inquiry.form in ("ratings", "review")} == {2}


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


ITEMS = {
    f"q{number}_0": AskedItem(
        f"q{number}", f"q{number}_0", f"Which way in {number}?", {"0": ("a.mp4", "b.mp4"), "1": ("b.mp4",)},
        (OfferedChoice("A", "A", "left"), OfferedChoice("B", "", "right")), "B", ("Clip 1", "Clip 2"), 1, "Look.",
        "A text.", "planning", (TimedDescription("ball", 1, 62, "It rolls.", {1: (0.0, 0.1, 0.12345678, 1.0)}),),
    )
    for number in range(3)
}  # fmt: skip


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, dict[str, Any], Plan]]:
    """Writes the page of one annotator, who is asked some of the items; its text, what it is about, and the plan."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.mp4").write_bytes(name.encode())

    def write(inquiry: Inquiry, asked: int = 2, attention: int = 0, **options: Any) -> tuple[str, dict[str, Any], Plan]:
        for name, stand_in in (
            ("asked_items", lambda *_: (inquiry, ITEMS)),
            ("clip_path", lambda _, clip: tmp_path / Path(clip).name),
            ("read_manifest", lambda _: read_as_sample()),
        ):
            monkeypatch.setattr(annotation_page, name, stand_in)
        questions = [
            PlannedQuestion(one.item, "0", one.item_id, 1000, ("A", "B"), asked=inquiry.digest(one))
            for one in list(ITEMS.values())[:asked]
        ]
        plan = make_plan("causalvqa", "debug", questions, Shares(1, 1, attention))
        (path,) = annotation_page.write_pages(plan, tmp_path / "pages", **options)
        text = path.read_text(encoding="utf-8")
        about, _ = json.JSONDecoder().raw_decode(text[text.index('{"plan":') :])
        return text, about, plan

    return write


def read_as_sample() -> Any:
    data = SimpleNamespace(is_sample=True)
    return SimpleNamespace(splits={"debug": SimpleNamespace(data_set=data)})


CHOICES = [["A", "A", "left"], ["B", "", "right"]]


def test_a_page_holds_what_is_asked_and_clips_by_names_that_say_nothing(page: Any, tmp_path: Path) -> None:
    inquiry = Inquiry("choice", None)
    text, about, plan = page(inquiry, attention=1, clips=Clips.link)
    items = about.pop("items")
    assert about == {
        "plan": plan_digest(plan), "annotator": "a001", "mode": "answer", "form": "choice", "folder": "clips",
        "flags": [], "kinds": [], "retimed": False, "consent": "", "scales": [],
    }  # fmt: skip
    assert "Your consent" not in text and "Sample data." in text and "Thank you." in text and "YQ==" not in text
    rows = plan.by_annotator["a001"]
    for row, shown in zip(rows, items, strict=True):
        clips = shown.pop("clips")
        if row.attention:
            label = {"A": "A", "B": "right"}[row.attention]
            assert clips == [] and shown == {
                "place": row.place, "choices": CHOICES, "replays": None,
                "question": annotation_page.CHECK.format(label=label),
            }  # fmt: skip
            continue
        assert shown == {
            "place": row.place, "choices": CHOICES, "question": ITEMS[row.item_id].question, "replays": 1,
            "before": "Look.", "text": "A text.",
        }  # fmt: skip
        assert [label for _, label in clips] == ["Clip 1", "Clip 2"]
        assert [(tmp_path / "pages" / "clips" / name).read_bytes() for name, _ in clips] == [b"a", b"b"]
        assert all(re.fullmatch(r"[0-9a-f]{20}\.mp4", name) for name, _ in clips)
    assert sum(bool(row.attention) for row in rows) == 1


def test_a_page_of_its_own_words_holds_its_clips_and_begins_with_practice(page: Any) -> None:
    texts = PageTexts(instructions="Look twice.", consent="I agree.", closing="Go to room 12.")
    text, about, _ = page(Inquiry("choice", None), texts=texts, practice=True)
    assert all(f"<p>{words}</p>" in text for words in ("Look twice.", "I agree.", "Go to room 12."))
    # The first 16 digits of the text's SHA-256.
    assert (
        about["consent"] == texts.consent_digest == "826ff0dab649a97f"
        and about["folder"] == ""
        and "YQ==" in text
        and "Yg==" in text
    )
    first, *others = about["items"]
    assert first["practice"] is True and first["place"] == 0 and first["question"] == "Which way in 2?"
    assert not any("practice" in one for one in others)
    # Who is asked all has none.
    assert len(page(Inquiry("choice", None), asked=3, practice=True)[1]["items"]) == 3


def test_the_key_is_on_a_reviewers_page_alone_and_timed_texts_where_they_are_put_right(page: Any) -> None:
    found: dict[str, set[str]] = {}
    scale = Scale("level", "How hard?", {"1": "easy"})
    for form in get_args(InquiryForm):
        inquiry = Inquiry(form, None, scales=(scale,) if form == "ratings" else (), kinds=("planning",), retimed=True)
        text, about, _ = page(inquiry)
        found[form] = {"key", "kind", "entries"} & set(about["items"][0])
        assert annotation_page.TASKS[form].split(".")[0] in text.replace("&#39;", "'").replace("&#34;", '"')
        assert (about["kinds"], about["retimed"], bool(about["flags"])) == (["planning"], True, form == "review")
        assert about["scales"] == ([["level", "How hard?", [["1", "easy"]]]] if form == "ratings" else [])
    assert found == {
        "choice": set(), "ratings": set(), "review": {"key", "kind"}, "descriptions": {"entries"},
        "revision": {"key", "kind", "entries"},
    }  # fmt: skip
    assert about["items"][0]["entries"] == [
        {"name": "ball", "start": "00:01", "end": "01:02", "text": "It rolls.", "boxes": {"1": [0.0, 0.1, 0.1235, 1.0]}}
    ]


def test_the_last_frame_is_the_clips_last(tmp_path: Path) -> None:
    write_numbered(tmp_path / "a.mp4", 9)
    kind, _, content = _last_frame(tmp_path / "a.mp4").partition(",")
    assert kind == "data:image/png;base64"
    assert number_of(np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))) == 8


@pytest.mark.usefixtures("hundred_columns")
def test_a_summary_counts_those_who_have_nothing_to_do(expected: Expected) -> None:
    questions = [PlannedQuestion(f"q{number}", "0", f"q{number}", 4_000_000, ("A", "B")) for number in range(3)]
    made = make_plan("causalvqa", "debug", questions, Shares(3, 1, 1))
    with (console := make_console()).capture() as caught:
        console.print(_summary(made, 4))
    expected(caught.get())


def test_a_plan_of_other_items_has_no_pages(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    *_, plan = page(Inquiry("choice", None))

    def refused(of: Plan = plan, items: Any = ITEMS, **options: Any) -> str:
        monkeypatch.setattr(annotation_page, "asked_items", lambda *_: (Inquiry("choice", None), items))
        return refusal(annotation_page.write_pages, of, Path("pages"), **options)

    assert refused(only=["a001", "a7", "b"]) == "Expected annotators of the plan, a001, but got a7, b."
    begin, remedy = "Expected every item of the plan in causalvqa, debug, but these are", "what is prepared now."
    assert refused(items={"q0_0": ITEMS["q0_0"]}) == (
        f"{begin} not there, or have no clip: q1_0. Make the plan anew from {remedy}"
    )
    other = {**ITEMS, "q1_0": replace(ITEMS["q1_0"], key="A")}
    assert refused(items=other).endswith(f"these differ: q1_0. Make the plan anew from {remedy}")
    row = replace(plan.rows[0], version="2")
    assert refused(Plan((row, *plan.rows[1:]))) == f"Expected versions of {row.item_id}, 0, 1, in the plan, but got 2."
