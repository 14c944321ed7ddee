"""Items without options and with several clips: checked, asked of a model that guesses, and asked of people."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from browser import Asked, browser
from host_run import SCRIPTS, environment, warm_host
from open_benchmark import install_open_benchmark, write_open_release
from warm_commands import run_command

pytestmark = [pytest.mark.host, pytest.mark.browser]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("open")
    install_open_benchmark(found / "site")
    write_open_release(found / "release")
    run(found, "lmms-eval-tasks", "prepare", "lamp_count", "--source", "release")
    return found


def run(root: Path, *words: str, status: int = 0) -> str:
    """What a command prints in a folder in which the benchmark is installed."""
    more = {"PYTHONPATH": str(root / "site"), "COLUMNS": "200"}
    finished = run_command(warm_host(more), SCRIPTS, list(words), root, environment(root / "home", more))
    assert finished.returncode == status, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


def test_all_of_it_is_checked(root: Path) -> None:
    printed = run(root, "lmms-eval-tasks", "check", "lamp_count", "--thorough")
    assert "Nothing here would stop a run." in printed and "lamp_count: 2 example rows" in printed


def test_a_guess_is_a_number_and_three_clips_are_shown(root: Path) -> None:
    run(root, "lmms-eval", "--model", "random_answer", "--tasks", "lamp_count", "--output_path", "out", "--log_samples")
    (results,) = (root / "out").glob("*_results.json")
    scores = json.loads(results.read_text(encoding="utf-8"))["results"]["lamp_count"]
    (log,) = (root / "out").glob("*_samples_lamp_count.jsonl")
    answers = [json.loads(line)["record"]["answered"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert set(answers) <= {"1", "2", "3"} and scores["unparsed_rate,none"] == 0
    right = sum(answer == str(number) for number, answer in enumerate(answers, start=1))
    assert scores["single_accuracy,none"] == 25.0 * right


def test_people_write_a_number_under_three_clips(root: Path) -> None:
    assert "Expected --attention 0 of lamp_count, whose items offer nothing to choose." in run(
        root, "lmms-eval-tasks", "annotate", "plan", "lamp_count", "--out", "none.csv", "--attention", "1", status=1
    )
    run(root, "lmms-eval-tasks", "annotate", "plan", "lamp_count", "--out", "plan.csv", "--responses", "1")
    run(root, "lmms-eval-tasks", "annotate", "page", "plan.csv", "--out", "pages")
    with (root / "plan.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and {row["attention"] for row in rows} == {""}
    (root / "answers").mkdir()
    with browser(root / "profile", (1366, 768)) as driver:
        from selenium.webdriver import ActionChains

        page = Asked(driver, root / "pages" / "a001.html")
        shown = page.run("return [...document.querySelectorAll('figcaption')].map(one => one.textContent)")
        assert shown == ["Clip 1", "Clip 2", "Clip 3"]
        for row in rows:
            page.run("document.querySelector('.written').focus()")
            wrong = row["item"] == "2"
            typed = "seven" if wrong else f"{int(row['item']) + 1}.0"
            ActionChains(driver).send_keys(typed, "\ue007").perform()
        (root / "answers" / "a001.json").write_text(page.run("return answersText()"), encoding="utf-8")
        assert page.complaints == []
    collected = run(root, "lmms-eval-tasks", "annotate", "collect", "plan.csv", "answers", "--out", "people.csv")
    assert "1 annotators answered 4 of their 4 items" in collected
    printed = run(root, "lmms-eval-tasks", "humans", "people.csv", "--items", "lamp_count:test")
    assert "4 responses of 1 annotators to 4 questions" in printed
    assert "most frequent answer is not the key: 1 questions (25.0%): 2" in printed
    assert "difficulty by these responses: 3 easy, 0 medium, 0 hard, 1 dropped" in printed


@pytest.mark.parametrize("mode", ["last-frame", "review"])
def test_the_other_modes_have_pages_too(root: Path, mode: str) -> None:
    run(root, "lmms-eval-tasks", "annotate", "plan", "lamp_count", "--out", f"{mode}.csv", "--mode", mode)
    run(
        root,
        "lmms-eval-tasks",
        "annotate",
        "page",
        f"{mode}.csv",
        "--out",
        f"{mode} pages",
        "--annotator",
        "a001",
        "--no-practice",
    )
    with browser(root / f"{mode} profile", (1366, 768)) as driver:
        page = Asked(driver, root / f"{mode} pages" / "a001.html")
        assert page.run("return document.querySelectorAll('#clips figure').length") == 3
        page.run("document.querySelector('.written').focus()")
        from selenium.webdriver import ActionChains

        ActionChains(driver).send_keys("3", "\ue007").perform()
        if mode == "review":
            assert "the key" in page.run("return document.querySelector('.options').textContent")
        else:
            assert json.loads(page.run("return answersText()"))["answers"][0]["choice"] == "3"
        assert page.complaints == []
