"""Items without options and with several clips, asked of people: they write their answers under three clips."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from browser import Asked, browser
from docs import ROOT
from host_run import own_command

pytestmark = [pytest.mark.host, pytest.mark.browser]

EXAMPLE = ROOT / "examples" / "pendulum_plugin" / "pendulums"
FACTS = {
    "METADATA": "Metadata-Version: 2.1\nName: pendulums\nVersion: 0.1.0\n",
    "entry_points.txt": "[lmms_eval_tasks.benchmarks]\npendulums = pendulums.benchmark:BENCHMARK\n",
}
ALONE = {
    "        )\n    ]  # fmt: skip": "        )[1:]\n    ]  # fmt: skip",
    '    inquiries={"answer": api.Inquiry("choice", ask_people, responses=5)},\n': "",
}
"""Leaves the questions for seconds alone, which people are asked in every usual way."""
TYPED = "document.querySelector('.written').focus()"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example of pendulums is installed and prepared, its items without options alone."""
    found = tmp_path_factory.mktemp("open")
    package, facts = found / "site" / "pendulums", found / "site" / "pendulums-0.1.0.dist-info"
    shutil.copytree(EXAMPLE, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / "benchmark.py").read_text(encoding="utf-8")
    for there, here in ALONE.items():
        assert source.count(there) == 1
        source = source.replace(there, here)
    (package / "benchmark.py").write_text(source, encoding="utf-8")
    facts.mkdir()
    for name, text in FACTS.items():
        (facts / name).write_text(text, encoding="utf-8")
    run(found, "sample", "pendulums", "--out", "sample", "--prepare")
    return found


def run(root: Path, *words: str, status: int = 0) -> str:
    """What one of our commands prints there."""
    more = {"PYTHONPATH": str(root / "site"), "COLUMNS": "200"}
    finished = own_command(root / "home", *words, env=more)
    assert finished.returncode == status, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


def type_answer(driver: Any, page: Asked, text: str) -> None:
    from selenium.webdriver import ActionChains

    page.run(TYPED)
    ActionChains(driver).send_keys(text, "\ue007").perform()


@pytest.mark.nightly
def test_people_write_a_number_under_three_clips(root: Path) -> None:
    plan = ("annotate", "plan", "pendulums", "--out", "plan.csv")
    refused = run(root, *plan, "--attention", "1", status=1)
    assert "Expected --attention 0 of pendulums, whose items offer nothing to choose." in refused
    run(root, *plan, "--responses", "1")
    run(root, "annotate", "page", "plan.csv", "--out", "pages")
    with (root / "plan.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 and {row["attention"] for row in rows} == {""}
    lines = (root / "sample" / "pendulums" / "trios.jsonl").read_text("utf-8").splitlines()
    keys = {trio["trio"]: max(trio["periods"]) for trio in map(json.loads, lines)}
    (root / "answers").mkdir()
    with browser(root / "profile", (1366, 768)) as driver:
        page = Asked(driver, root / "pages" / "a001.html")
        shown = page.run("return [...document.querySelectorAll('figcaption')].map(one => one.textContent)")
        assert shown == ["Clip 1", "Clip 2", "Clip 3"]
        for row in rows:
            type_answer(driver, page, "seven" if row["item"] == "t2" else f"{keys[row['item']]:.2f}")
        (root / "answers" / "a001.json").write_text(page.run("return answersText()"), encoding="utf-8")
        assert page.complaints == []
    collected = run(root, "annotate", "collect", "plan.csv", "answers", "--out", "people.csv")
    assert "1 annotator answered 6 of their 6 items" in collected
    printed = run(root, "humans", "people.csv", "--items", "pendulums:test")
    assert "6 responses of 1 annotators to 6 questions" in printed
    assert "most frequent answer is not the key: 1 questions (16.7%): t2" in printed
    assert "difficulty by these responses: 5 easy, 0 medium, 0 hard, 1 dropped" in printed
