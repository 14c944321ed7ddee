"""People's responses and the items that they were asked about, and how people are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected import Expected
from refusals import refusal

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.people.inquiries import AskedItem, Inquiry, Scale
from lmms_eval_tasks.utils.people.responses import (
    AskedQuestion,
    Rating,
    alpha_of,
    read_human_responses,
    read_items,
    score_scale,
)

ASKED = {
    ("q1", "0"): AskedQuestion("A", "ABCDE", {"type": "planning"}),
    ("q1", "1"): AskedQuestion("B", "ABCDE", {"type": "planning"}),
    ("q2", "0"): AskedQuestion(None, "ABCDE", {"type": "planning"}),
}


def write(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["item,version,annotator,choice,correct", *rows]) + "\n", encoding="utf-8")
    return path


def test_credits(tmp_path: Path) -> None:
    path = write(tmp_path, "q1,0,p1,a,", "q1,1,p2,A,0", "q1,0,p3,Unknown,", "q2,0,p1,C,1", "q2,0,p4,C,0")
    found = read_human_responses(path, ASKED)
    assert [(one.choice, one.credit) for one in found] == [
        ("A", 1.0), ("A", 0.0), ("UNKNOWN", 0.5), ("C", 1.0), ("C", 0.0),
    ]  # fmt: skip
    # Without items the column correct decides.
    found = read_human_responses(write(tmp_path, "clip7,,p1,forward,1", "clip7,,p2,unknown,", "clip7,,p3,backward,0"))
    assert [one.credit for one in found] == [1.0, 0.5, 0.0] and {(one.item, one.version) for one in found} == {
        ("clip7", "")
    }


def test_every_problem_is_listed_with_its_row(tmp_path: Path, expected: Expected) -> None:
    many = write(
        tmp_path, "q1,0,p1,A,", "q1,1,p1,B,", "q1,0,p1,A,", "q9,0,p2,A,", "q1,0,p3,F,", "q1,0,p4,A,0", "q2,0,p5,A,",
        "q2,0,p6,A,yes", "q1,0,,A,", "q1,0,p8,,",
    ).read_bytes()  # fmt: skip
    items = "item,version,answer,type\nq,0,A,x\nq,0,B,x\nq,1,A,y\n"
    messages = []
    for content in (many, b"item,version,who\nq1,0,p1\n", b"item,version,annotator,choice,correct\n", b"item,\xff"):
        (tmp_path / "people.csv").write_bytes(content)
        messages.append(refusal(read_human_responses, tmp_path / "people.csv", ASKED))
    for name, content in (("items.csv", items.encode()), ("bad.parquet", b"no")):
        (tmp_path / name).write_bytes(content)
        messages.append(refusal(read_items, tmp_path / name).split(" (Parquet")[0])
    expected("\n".join(messages))


def test_a_written_answer_is_compared_as_a_number_or_a_text(tmp_path: Path) -> None:
    asked = {
        ("n", ""): AskedQuestion("2.50", written=True),
        ("t", ""): AskedQuestion("A RED  LAMP", written=True),
        ("w", ""): AskedQuestion(None, written=True),
    }
    rows = ["n,,p1,2.5,", "n,,p2,2.6,", "n,,p3,two and a half,1", "t,,p1,a red lamp,", "t,,p2,lamp,", "w,,p1,3,1"]
    found = read_human_responses(write(tmp_path, *rows), asked)
    assert [one.credit for one in found] == [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    assert [one.choice for one in found] == ["2.5", "2.6", "TWO AND A HALF", "A RED LAMP", "LAMP", "3.0"]
    with pytest.raises(InputError, match="Expected correct, for the answer to w is not known, but got none"):
        read_human_responses(write(tmp_path, "w,,p1,3,"), asked)


def test_items_from_a_prepared_table(tmp_path: Path) -> None:
    def read(*rows: dict[str, Any], clips: tuple[str, ...] = ()) -> dict[tuple[str, str], AskedQuestion]:
        pq.write_table(pa.Table.from_pylist(list(rows)), tmp_path / "test.parquet")
        return read_items(tmp_path / "test.parquet", clips)

    row = {"item_id": "q_0", "group_id": "q", "version": 0, "answer": "C", "options": ["a", "b", "c"], "type": "plan"}
    assert read(row, {**row, "item_id": "q_1", "version": 1, "answer": None}) == {
        ("q", "0"): AskedQuestion("C", "ABC", {"type": "plan"}, item_id="q_0"),
        ("q", "1"): AskedQuestion(None, "ABC", {"type": "plan"}, item_id="q_1"),
    }
    table = pa.Table.from_pylist([row])
    views = [field.with_type(pa.string_view()) if field.type == pa.string() else field for field in table.schema]
    pq.write_table(table.cast(pa.schema(views)), tmp_path / "views.parquet")
    assert read_items(tmp_path / "views.parquet", ()) == read(row)
    # Members of a group without versions are versions, and columns that tell them apart are no strata.
    rows = [
        {"item_id": f"{group}{place}", "group_id": group, "answer": "A", "kind": group, "place": place}
        for group, places in (("g", "12"), ("h", "1"))
        for place in places
    ]
    asked = read(*rows)
    assert list(asked) == [("g", "g1"), ("g", "g2"), ("h", "")]
    assert [one.strata for one in asked.values()] == [{"kind": "g"}, {"kind": "g"}, {"kind": "h"}]
    # Items without options are written, and their clips are no strata.
    clips = {"clip": "a", "clip_2": "c"}
    written = [{"item_id": item, "group_id": "g", "answer": "3", "options": [], **clips} for item in "12"]
    assert read(*written, clips=("clip", "clip_2"))["g", "2"] == AskedQuestion("3", "", {}, written=True, item_id="2")


SCALE = Scale("hard", "How hard?", {"1": "Easy", "2": "Hard"})


def test_a_scale_has_the_mean_of_its_items_and_one_of_names_the_percent_of_the_first() -> None:
    ratings = [
        Rating(item, who, {"hard": level, "sound": sound})
        for item, who, level, sound in (
            ("q", "p1", "1", "yes"), ("q", "p2", "2", "no"), ("r", "p1", "2", "yes"), ("s", "p1", "1", "yes"),
        )
    ]  # fmt: skip
    sound = Scale("sound", "Is it?", {"yes": "Yes", "no": "No"})
    found = [score_scale(scale, ratings) for scale in (SCALE, sound)]
    assert [one.items for one in found] == [3, 3]
    assert [one.value for one in found] == pytest.approx([4.5 / 3, 250 / 3])
    for one, (least, most) in zip(found, ((1, 2), (0, 100)), strict=True):
        low, high = one.interval
        assert least <= low < one.value < high <= most and one.alpha is not None


def test_what_no_page_could_ask_is_refused_and_a_review_asks_for_another_type_where_there_are_types() -> None:
    wrong: list[dict[str, Any]] = [{"form": "choices"}, {"form": "ratings"}, {"form": "choice", "scales": (SCALE,)}]
    for fields in (*wrong, {"form": "review", "attention": 1}):
        with pytest.raises(ValueError, match="Expected"):
            Inquiry(**fields)
    assert "".join(Inquiry("review", kinds=("planning",)).flags) == "abcdef"
    assert "".join(Inquiry("review").flags) == "abcef"
    assert not Inquiry("choice", kinds=("planning",)).flags


def test_a_version_is_named_by_its_column_or_as_a_member_of_its_group() -> None:
    rows: list[dict[str, Any]] = [{"group_id": group, "item_id": f"i{n}"} for n, group in enumerate((1, 1, 2))]
    assert AskedItem.keys(rows) == [("1", "i0"), ("1", "i1"), ("2", "")]
    assert AskedItem.keys([{**row, "version": n} for n, row in enumerate(rows)]) == [("1", "0"), ("1", "1"), ("2", "2")]
    assert AskedItem.keys([]) == []


@pytest.mark.parametrize(
    ("raters", "alpha"),
    [
        # Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, section D.
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.849),
        # The example of Wikipedia's article on Krippendorff's alpha.
        ((".....34121133.3", "1.213343.......", "..21344.21133.4"), 0.811),
        # Of one value, or without an item that two rated, there is nothing to agree about.
        (("111", "1.1"), None),
        (("12.", "..1"), None),
    ],
)
def test_agreement_of_ratings_is_krippendorffs_alpha_by_interval(raters: tuple[str, ...], alpha: float | None) -> None:
    units = [[float(value) for value in item if value != "."] for item in zip(*raters, strict=True)]
    found = alpha_of(units)
    assert (found if found is None else round(found, 3)) == alpha
