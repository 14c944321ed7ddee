"""People's answers to CounterVQA's questions, and what they say of links, questions and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Asked, browser
from commands import printed, refusal
from expected import Expected
from sample_runs import at, prepared_sample, write_sample_run

from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import PlannedItem, read_plan, rows_to_ask
from lmms_eval_tasks.countervqa.benchmark import ask_links
from lmms_eval_tasks.countervqa.release import ClipGraph

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hundred_columns")]


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    prepared = prepared_sample(tmp_path_factory)
    with at(prepared):
        yield prepared


Given = dict[str, Any]


def asked(folder: Path, mode: str, answer: Callable[[PlannedItem], Given], *options: object) -> tuple[Path, str]:
    """Plan, have everybody answer, and collect: the table, and what `collect` printed."""
    plan, answers, out = folder / "plan.csv", folder / "answers", folder / "people.csv"
    printed("annotate", "plan", "countervqa", "--mode", mode, "--out", plan, *options)
    read = read_plan(plan)
    answers.mkdir()
    for annotator, rows in read.by_annotator.items():
        given = [{"place": row.place, "seconds": 1.0, **answer(row)} for row in rows]
        file = {"plan": plan_digest(read), "annotator": annotator, "mode": mode, "answers": given}
        (answers / f"{annotator}.json").write_text(json.dumps(file))
    return out, printed("annotate", "collect", plan, answers, "--out", out)


def humans(table: Path, *options: str) -> str:
    return printed("humans", table, "--items", "countervqa:test", *options)


def test_links_are_judged_beside_pairs_without_one(tmp_path: Path, expected: Expected) -> None:
    """Appendix D: what people find valid is the reference of precision, recall, F1 and accuracy."""
    items = {item.item_id: item for item in ask_links(rows_to_ask("countervqa", "test"))}
    graphs = [ClipGraph.model_validate_json(text) for text in {r["graph"] for r in rows_to_ask("countervqa", "test")}]
    assert sum(item.key == "VALID" for item in items.values()) == sum(len(graph.links) for graph in graphs)
    seen: dict[str, str] = {}

    def answer(row: PlannedItem) -> Given:
        if row.attention:
            return {"choice": row.attention}
        key = items[row.item_id].key
        first = key not in seen.values()
        seen.setdefault(row.item_id, key)
        # People do not find one of the links, and find one where there is none: all four scores are two thirds.
        return {"choice": {"VALID": "NOT_VALID", "NOT_VALID": "VALID"}[key] if first else key}

    table, collected = asked(tmp_path, "links", answer, "--sample", 6, "--seed", 1)
    assert sorted(seen.values()) == ["NOT_VALID"] * 3 + ["VALID"] * 3, "both are drawn in equal shares"
    assert "--mode links" in collected.splitlines()[-1]
    expected(humans(table, "--mode", "links"))


def test_difficulty_and_grounding_are_rated_by_two(tmp_path: Path, expected: Expected) -> None:
    """C.3: from 1 to 5, and whether all of it is in the video."""
    level = {row["item_id"]: row["level"] for row in rows_to_ask("countervqa", "test")}
    hard = {"L1": 2, "L2": 4, "L3": 5}

    def answer(row: PlannedItem) -> Given:
        of = level[row.item_id]
        return {"ratings": {"difficulty": str(hard[of]), "grounded": "no" if of == "L3" else "yes"}}

    table, collected = asked(tmp_path, "difficulty", answer)
    assert f"{2 * len(level)} items rated" in collected
    shown = humans(table, "--mode", "difficulty", "--by", "level")
    assert f"{sum(map(hard.__getitem__, level.values())) / len(level):.2f}" in shown
    expected(shown)


def test_the_readability_of_a_runs_answers_is_rated(tmp_path: Path, expected: Expected) -> None:
    """Appendix E: two raters read answers, whatever these say of the outcome."""
    source = write_sample_run(tmp_path / "model", ["countervqa"], lambda task, doc: f"No. Step 1 of {doc['item_id']}.")
    options = ("--run", source, "--sample", 4)
    table, collected = asked(tmp_path, "readability", lambda row: {"ratings": {"readability": "4"}}, *options)
    assert "8 items rated" in collected
    plan = tmp_path / "plan.csv"
    printed("annotate", "page", plan, "--out", tmp_path / "pages", "--run", source, "--clips", "link")
    page = (tmp_path / "pages" / "a001.html").read_text(encoding="utf-8")
    assert all(f"Step 1 of {row.item_id}." in page for row in read_plan(plan).by_annotator["a001"])
    other = write_sample_run(tmp_path / "other", ["countervqa"], lambda task, doc: "Yes.")
    assert "but these differ" in refusal("annotate", "page", plan, "--out", tmp_path, "--run", other)
    expected(humans(table, "--mode", "readability"))


def test_refusals(tmp_path: Path, expected: Expected) -> None:
    plan = ("annotate", "plan", "countervqa", "--out", tmp_path / "plan.csv", "--mode")
    calls = [
        (*plan, "readability"),
        (*plan, "links", "--run", "x"),
        (*plan, "difficulty", "--attention", "1"),
        (*plan, "review"),
        ("humans", tmp_path / "people.csv", "--items", "countervqa:test", "--mode", "difficulty"),
    ]
    item = rows_to_ask("countervqa", "test")[0]["item_id"]
    lines = [f"{item},a1,6,yes", f"{item},a1,1,yes", "nowhere,a2,1,maybe", ",a2,1,yes"]
    (tmp_path / "people.csv").write_text("\n".join(["item_id,annotator,difficulty,grounded", *lines]) + "\n")
    expected("".join(refusal(*words) for words in calls))
    assert not (tmp_path / "plan.csv").exists()


@pytest.mark.browser
def test_pages_of_every_mode_are_answered_by_keys(tmp_path: Path) -> None:
    source = write_sample_run(tmp_path / "model", ["countervqa"], lambda task, doc: "No. First, it stops.")
    keys = {"answer": "n", "links": "y", "difficulty": "4n", "readability": "3"}
    given: dict[str, dict[str, object]] = {
        "answer": {"choice": "NO"},
        "links": {"choice": "VALID"},
        "difficulty": {"ratings": {"difficulty": "4", "grounded": "no"}},
        "readability": {"ratings": {"readability": "3"}},
    }
    with browser(tmp_path / "profile", (1366, 768)) as driver:
        for mode, pressed in keys.items():
            about = ("--run", source) if mode == "readability" else ()
            plan, pages = tmp_path / f"{mode}.csv", tmp_path / mode
            checks = ("--attention", 0, "--responses", 1)
            printed("annotate", "plan", "countervqa", "--mode", mode, "--out", plan, "--sample", 2, *checks, *about)
            printed("annotate", "page", plan, "--out", pages, "--clips", "link", "--no-practice", *about)
            page = Asked(driver, pages / "a001.html")
            page.press(*pressed)
            (first,) = page.file["answers"]
            assert {name: first[name] for name in given[mode]} == given[mode]
            assert page.run("return document.documentElement.scrollWidth <= innerWidth")
            assert page.complaints == []
