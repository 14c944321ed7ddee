"""The page's text without a browser, its figures as files, and the attrition of built sets."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import call, printed
from logged_runs import TASK, strong, weak, write_run
from made_runs import CORRECT, WRONG, make_groups, make_run
from markupsafe import escape
from refusals import refusal
from sample_runs import evidence, write_sample_run

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import building
from lmms_eval_tasks.report import page_files
from lmms_eval_tasks.report.page import (
    LONGEST_NAME,
    attrition_panels,
    build_page,
    build_sections,
    figures_of,
    write_figures,
)
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.report.page_items import LONGEST_RESPONSE, as_json
from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.run_card import APPLIES, DOES_NOT_APPLY, HAZARDS, describe_hazard
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, WindowRecord
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.identity import Origin, mark_as_built
from lmms_eval_tasks.utils.data.manifest import ATTRITION, AttritionStep, SetAttrition, write_attrition
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.reporting.drawing import FigureFile, figure_files, page_figures
from lmms_eval_tasks.utils.reporting.figure import DotPlot, Figure
from lmms_eval_tasks.utils.reporting.palette import HUES
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

SAMPLE_NOTE = "SAMPLE DATA, not the benchmark: made up"


def filmed(test: Any) -> Any:
    """A test of pages of the sample, which is filmed first."""
    return pytest.mark.slow(pytest.mark.usefixtures("in_sample_home")(test))


undrawn = pytest.mark.usefixtures("undrawn")


def in_script(page: str, attribute: str) -> Any:
    """The JSON that the page's script reads from an element."""
    (found,) = re.findall(rf'<script type="application/json" {attribute}>(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def block(page: str, task: str) -> dict[str, Any]:
    """A task's items."""
    return dict(in_script(page, f'data-task="{task}"'))


def page_of(*folders: Path, only: str = "") -> str:
    return build_page([read_run(folder) for folder in folders], only)


def log_of(run: Path, task: str = TASK) -> Path:
    return run / f"20261121_samples_{task}.jsonl"


def body_of(page: str) -> str:
    return page.partition("<main>")[2].partition('<section id="items"')[0]


@filmed
def test_the_page_of_sample_data(written: Path) -> None:
    page = written.read_text(encoding="utf-8")
    # It asks for nothing from elsewhere.
    assert re.findall(r"<(?:link|img|iframe|script)[^>]*(?:src|href)=\"(?!data:)", page) == []
    assert set(re.findall(r"https?://[^\s\"'<]+", re.sub(r'<a href="https://[^"]+"', "", page))) <= {
        "http://www.w3.org/2000/svg"
    }
    assert "@import" not in page and not re.search(r"url\((?!#)", page)
    assert all(f"{rule} 'none'" in page for rule in ("default-src", "base-uri", "form-action"))
    # It says once what it is of; a figure says it where it is saved, and a signature where it is opened.
    assert page.count(SAMPLE_NOTE) == 1
    shown = re.sub(r'<g class="set-kind">.*?</g>|<ul class="signatures">.*?</ul>', "", page, flags=re.DOTALL)
    assert shown.partition("<script")[0].count("SAMPLE DATA") == 1
    for section in re.findall(r'<section id="(?!items|cards).*?</section>', page, re.DOTALL):
        text = re.sub(r"<[^>]*>", " ", section)
        assert not re.search(r"published|beside people|of people|people,", text), text
    # Runs have numbers; their marks have their hue with the number on them, but for those along a line.
    assert in_script(page, 'id="about"')["runs"] == [["1", "careful-7b"], ["2", "hasty-2b"]]
    body = body_of(page)
    badges = re.findall(r'<span class="run-badge" data-run="([^"]*)">([^<]*)</span>', body)
    assert len(badges) > 10 and {number for number, _ in badges} == {"1", "2"}
    assert all(number == shown for number, shown in badges)
    for number in ("1", "2"):
        marks = re.findall(rf'<use [^>]*style="fill:var\(--run-{number},#\w+\)', body)
        numbers = re.findall(rf"var\(--on-run-{number},#\w+\)[^>]*>(\d+)</text>", body)
        assert len(marks) >= len(numbers) > 20 and set(numbers) == {number}


@filmed
@undrawn
def test_what_scores_stand_on_and_beside(sample_runs: tuple[Path, Path]) -> None:
    official = DataSet(kind=SetKind.OFFICIAL)
    runs = list(map(read_run, sample_runs))
    page = build_page([replace(runs[0], limited="--limit 3")], "cast_bench")
    (signature,) = re.findall(r'<ul class="signatures">\s*<li>.*?</span> (.*?)</li>', page)
    assert signature == (
        "version 1-A; SAMPLE DATA, not the benchmark, --limit 3; 8 items in 6 groups; "
        f"prompt {read_prompt('cast_bench_evidence').signature}; boxes xyxy_px; "
        "95% intervals over groups, 10,000 draws, seed 0"
    )
    whole, other = (replace(run, sets=dict.fromkeys(run.records, official)) for run in runs)
    banner = "A PART OF THE ITEMS: hasty-2b was run with --limit 3."
    both = build_page([whole, replace(other, limited="--limit 3")], "cast_bench")
    assert both.count(banner) == 1
    assert "Not shown, because they are not of the whole official release: run 2 (--limit 3)." in both
    published = re.compile(r'<th scope="row">published</th>')
    assert published.search(both) and banner not in build_page([whole, other], "cast_bench")
    alone = build_page([replace(whole, limited="--limit 3")], "cast_bench")
    assert alone.count("--limit 3. Its scores are of those items alone, and are shown without scores of people") == 1
    assert not published.search(body_of(alone))


@filmed
@undrawn
def test_items_stand_with_what_is_prepared_of_them(
    sample_runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(sample_runs[0], tmp_path / "copy"))
    log_of(copy).write_text(log_of(copy).read_text("utf-8").replace('"item_id": "1_0"', '"item_id": "1_7"'))
    found = block(page_of(copy, only=TASK), TASK)
    assert found["note"] == "Questions and clips of 1 items are not in the prepared data: 1_7."
    assert [len(item[6]) for item in found["items"][:2]] == [0, 1]
    assert found["strings"][found["items"][0][4]]
    # A run of real data is not joined with sample data.
    real = page_of(write_run(tmp_path / "real", strong()))
    assert SAMPLE_NOTE not in real and "sample data" not in real.lower().split("<script")[0]
    found = block(real, TASK)
    assert found["note"].endswith("the run is of the official release, 2 of 4 items, sample data is prepared.")
    assert len(found["items"]) == 120 and found["items"][0][9][0][2] == -1
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "nothing"))
    found = block(page_of(sample_runs[0], only="cast_bench"), "cast_bench")
    assert found["note"].startswith("Questions and clips are not at hand")
    assert "lmms-eval-tasks prepare cast_bench" in found["note"]
    first = found["items"][0]
    assert found["strings"][first[4]] and first[5] == first[6] == []


@filmed
@undrawn
def test_graded_answers_show_the_judges_scores(tmp_path: Path) -> None:
    run = write_sample_run(tmp_path / "m", ["cast_bench"], lambda task, doc: "It was pushed.")
    log, results = log_of(run, "cast_bench"), run / "20261121_results.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    judge = {"model": "j", "prompt": "p:1", "consistency_prompt": "c:1"}
    for line in lines:
        line["record"].update(expected="The red ball hit it.", answered="It was pushed.", outcome="correct")
        line["record"]["fields"] = {"scores": dict.fromkeys(DIMENSIONS, 7.0), "judge": judge}
    log_of(run, "cast_bench_open").write_text("\n".join(map(json.dumps, lines)))
    results.write_text(results.read_text().replace('"cast_bench"', '"cast_bench_open"'))
    page = page_of(run)
    first = block(page, "cast_bench_open")["items"][0]
    assert first[3] == "The red ball hit it." and first[5] == [] and len(first[6]) == 1
    assert first[9][0][3]["answer conclusion correctness"] == "7 of 10"
    assert "Judge 0-10" in page and "Accuracy against grounding" not in page


@filmed
@undrawn
def test_odd_answers_are_shown(tmp_path: Path) -> None:
    def lose(task: str, doc: Any) -> str:
        loss = Directed[float](forward=math.nan, backward=1.25)
        losses = Directed[list[list[float]]](forward=[[math.nan]], backward=[[1.25]])
        windows = [WindowRecord(start=0, stop=9, borrowed=0, skipped=0, latents=3)]
        measured = DenoisingResponse(item_id=doc["item_id"], loss=loss, losses=losses, timesteps=[500], windows=windows)
        return measured.to_json()

    def draw(task: str, doc: Any) -> str:
        return re.sub(r"\[\d+(, \d+, \d+, \d+\])", r"[1e999\1", evidence(doc, doc["answer"], 0), count=1)

    def write(name: str, answer: Any, *tasks: str) -> Path:
        return write_sample_run(tmp_path / name, list(tasks), answer)

    # What could not be scored says why, and nothing is broken down where nothing is scored.
    page = page_of(write("mute", lambda task, doc: Reply(missing=UnscoredReason.NO_CLIP), "yocausal_vlm", TASK))
    for task in ("yocausal_vlm", TASK):
        answers = [item[9][0] for item in block(page, task)["items"]]
        assert all(answer[0] == OUTCOMES.index("unscored") and answer[3]["why"] == "no clip" for answer in answers)
    assert "Pair accuracy by" not in page and "N/A" in page
    # Losses and boxes that are no numbers.
    first = block(page_of(write("lost", lose, "yocausal")), "yocausal")["items"][0]
    assert first[9][0][3] == {"loss forward": "nan", "loss backward": "1.25"}
    items = block(page_of(write("odd", draw, "cast_bench")), "cast_bench")["items"]
    boxes = [box for item in items for lane in item[9][0][4] for box in lane[2].values()]
    assert boxes and all(isinstance(side, float | int) and abs(side) < 1e4 for box in boxes for side in box)
    # A long response is cut and says so; other separators of lines end no line of a log.
    found = block(page_of(write("wordy", lambda task, doc: "x" * (LONGEST_RESPONSE + 1234), TASK)), TASK)
    text = found["strings"][found["items"][0][9][0][2]]
    assert text.startswith("x" * LONGEST_RESPONSE + "\n… and 1,234 more characters")
    run = write("lines", lambda task, doc: "A\u2028\u0085B", TASK)
    lines = [json.dumps(json.loads(line), ensure_ascii=False) for line in log_of(run).read_text().split("\n") if line]
    log_of(run).write_text("\n".join(lines) + "\n")
    assert "A\u2028\u0085B" in block(page_of(run), TASK)["strings"]


@filmed
@undrawn
def test_clips_are_linked_where_they_are_too_many_to_hold(
    sample_runs: tuple[Path, Path], sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read_run(sample_runs[0])
    held = build_page([run], "cast_bench")
    clips = in_script(held, 'id="listing"')["clips"]
    assert {state for _, _, state in clips} == {"e"}
    assert held.count('<script type="text/plain" id="clip-') == len(clips)
    monkeypatch.setattr(page_files, "EMBEDDED_AT_MOST", 1000)
    linked = in_script(build_page([run], "cast_bench"), 'id="listing"')
    assert {state for _, _, state in linked["clips"]} == {"l"}
    assert linked["folders"] == [(sample_home / "cast_bench" / "videos").as_uri()]
    assert build_page([run], "cast_bench", Clips.embed) == held


@filmed
@undrawn
def test_the_command_writes_the_page_of_a_task(sample_runs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    asked = ("--task", "cast_bench", "--out", out, "--clips", "link")
    assert str(out) in printed("page", *sample_runs, *asked).replace("\n", "")
    page = out.read_text(encoding="utf-8")
    runs = list(map(read_run, sample_runs))
    assert page == build_page(runs, "cast_bench", Clips.link)
    assert "mvp_mini" not in page
    # Runs without the task are not on its page.
    other = read_run(write_run(tmp_path / "other-model", strong()))
    page = build_page([other, runs[0]], "cast_bench")
    assert "other-model" not in page and block(page, "cast_bench")["runs"] == [0]
    assert "Expected a task or group of these runs, any of mvp_mini, " in refusal(build_page, [runs[0]], "mvp_maxi")


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """A run whose set is not prepared, with a name that would be markup."""
    return read_run(write_run(tmp_path / "<b onload=x>&", strong(12)))


@pytest.mark.slow
@undrawn
def test_names_cards_hazards_and_strata_of_runs(run: Run, tmp_path: Path) -> None:
    page = build_page([run])
    assert "<b onload" not in page and "&lt;b onload=x&gt;&amp;" in page and 'id="cards"' not in page
    page = build_page([replace(run, card={"model": {"revision": "<abc>"}, "data": {"rows": 120}})])
    assert "<dt>revision</dt><dd>&lt;abc&gt;</dd>" in page and "<dt>rows</dt><dd>120</dd>" in page
    # A task of no benchmark of ours is shown.
    page = page_of(write_run(tmp_path / "run", strong(12), tasks=("somebodys",)))
    assert "Consistency between members" in page and len(block(page, "somebodys")["items"]) == 24
    # Known hazards stand at the top.
    name = "first_clip_frames"
    cards: list[Any] = [{HAZARDS: {name: APPLIES}}, {}, {HAZARDS: {name: DOES_NOT_APPLY}}, {HAZARDS: {name: APPLIES}}]
    runs = [replace(run, label=f"m{place}", card=card) for place, card in enumerate(cards)]
    (notes,) = re.findall(r"<strong>Known hazard\.</strong> (.*)</p>", build_page(runs))
    assert notes == f"Runs 1, 4, <code>{name}</code>: {escape(describe_hazard(name))}"
    assert "Known hazard." not in build_page(runs[1:3])
    page = build_page([replace(run, card={HAZARDS: {name: APPLIES, "another_hazard": APPLIES}})])
    (folded,) = re.findall(r'<details class="caution" role="note"><summary>(.*?)</details>', page, re.DOTALL)
    assert folded.startswith("<strong>2 known hazards:</strong>") and page.count("Known hazard.") == 2
    # More runs than hues are told apart by number.
    runs = [replace(run, name=f"m{number}") for number in range(HUES + 1)]
    note = "The first 8 runs have hues of their own; all others are grey, and their numbers tell them apart."
    assert note in build_page(runs) and note not in build_page(runs[:-1])
    # Strata stand in the order that the card of the benchmark states.
    levels = ("medium", "hard", "new", "easy")
    records = tuple(
        replace(record, stratum={"difficulty": levels[place // 2 % 4]})
        for place, record in enumerate(run.records[TASK])
    )
    page = build_page([replace(run, records={TASK: records})])
    (plot,) = re.findall(r"<h3>Pair accuracy by difficulty</h3>(.*?)</table>", page, re.DOTALL)
    assert re.findall(r'<tr><th scope="row">(\w+)</th>', plot) == ["easy", "medium", "hard", "new"]


def test_json_in_a_script_element_comes_back_as_it_was() -> None:
    for text in ("</script>", "<!--", "a & b", "\u2028\u2029", "\ud800", "\\u003c", "\x00"):
        written = as_json({"text": text})
        assert not set("<>&\u2028\u2029") & set(written)
        written.encode("utf-8")
        assert json.loads(written) == {"text": text}


LETTERS = f"{TASK}.letters-expected-answered"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    root = tmp_path_factory.mktemp("runs")
    return [read_run(write_run(root / name, of(20))) for name, of in (("Ours-7B", strong), ("theirs", weak))]


def figures(runs: list[Run]) -> dict[str, Figure]:
    return dict(figures_of(build_sections(runs, TASK)[1]))


@pytest.mark.nightly  # many files are drawn
def test_every_figure_is_written_in_each_form_with_the_numbers_of_the_table(runs: list[Run], tmp_path: Path) -> None:
    out = tmp_path / "figures"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    words = ("page", *(run.path.parent for run in runs), "--figures")
    done = call(*words, out, "--task", TASK)
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    stems = {name.rpartition(".")[0] for name in files} - {"mine"}
    assert {f"{TASK}.pair-accuracy", f"{LETTERS}.replay-ours-7b", f"{LETTERS}.replay-theirs"} <= stems
    forms = ("pdf", "svg", "png", "csv")
    assert files.keys() == {f"{stem}.{ending}" for stem in stems for ending in forms} | {"mine.txt"}
    assert f"Figures: {len(stems)}, as PDF, SVG, PNG and CSV, in {out}" in done.out.replace("\n", "")
    (table,) = score_tables(runs, TASK)
    for heading, stem in (("pair accuracy", "pair-accuracy"), ("single accuracy", "single-accuracy")):
        with (out / f"{TASK}.{stem}.csv").open() as file:
            found = {row["row"]: row for row in csv.DictReader(file)}
        for number, row in enumerate(table.rows, start=1):
            score = row[table.headings.index(heading)]
            assert isinstance(score, Number)
            written = [float(found[f"{row[0]} / {number}"][name]) for name in ("value", "low", "high", "n")]
            assert written == [score.value, score.low, score.high, score.n]
    # The same names and files again, over those that are there.
    write_figures(runs, out, TASK)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files
    refused = call(*words, out / "mine.txt")
    assert (refused.status, refused.out) == (2, "") and "'--figures'" in refused.err


def of_set(runs: list[Run], data: DataSet) -> list[Run]:
    """The runs, of two types of question, of a set."""
    made = []
    for run, name in zip(runs, ("ours", "theirs"), strict=True):
        records = tuple(
            replace(record, stratum={"type": "causal" if place % 4 < 2 else "descriptive"})
            for place, record in enumerate(run.records[TASK])
        )
        made.append(replace(run, label=name, records={TASK: records}, sets={TASK: data}))
    return made


@pytest.mark.slow
def test_a_figure_names_its_runs_and_says_what_its_scores_are_not_of(runs: list[Run]) -> None:
    found = figures(of_set(runs, DataSet(kind=SetKind.SAMPLE, items=8)))
    by_stratum = found[f"{TASK}.pair-accuracy-by-type"]
    assert by_stratum.run_names == {"1": "ours", "2": "theirs"}
    assert {row[1] for row in by_stratum.table().rows} == {"1 ours", "2 theirs"}
    assert found[f"{TASK}.pair-accuracy-by-type-and-run"].table().headings == ("", "1 ours", "2 theirs")
    assert {figure.warning for figure in found.values()} == {"SAMPLE DATA, not the benchmark"}
    assert "SAMPLE DATA, not the benchmark." in figure_files(by_stratum)[FigureFile.CSV].decode()
    drawn = str(page_figures([by_stratum])[0])
    assert all(f">{text}</text>" in drawn for text in ("ours", "theirs", "chance", by_stratum.warning))
    whole = of_set(runs, DataSet(kind=SetKind.OFFICIAL, items=8, of=8))
    assert not any(figure.warning for figure in figures(whole).values())
    found = figures([whole[0], replace(whole[1], limited="--limit 3")])
    assert found[f"{TASK}.pair-accuracy-by-type"].warning == "run 2: --limit 3"
    assert [found[f"{LETTERS}.{name}"].warning for name in ("ours", "theirs")] == ["", "--limit 3"]
    # Every figure has a file name of its own, whatever its run is called.
    names = "a b", "a+b", "A_b", "../模型 7B", "\ud800", "x" * 300
    found = figures([replace(runs[0], name=name) for name in names])
    endings = [stem.removeprefix(LETTERS) for stem in found if stem.startswith(LETTERS)]
    assert endings[:-1] == [".a-b", ".a-b-2", ".a-b-3", ".模型-7b", ""]
    assert max(map(len, found)) == LONGEST_NAME
    assert isinstance(found[f"{TASK}.pair-accuracy"], DotPlot)


def prepare(source: Path) -> None:
    """Prepare a set of one pair, as a benchmark does, from a folder."""
    strata = {"type": "planning", "difficulty": "hard"}
    row = {"group_id": "1", "question": "q", "options": ["a", "b"], "answer": "A", "clip": "debug/c", **strata}
    rows = [{"item_id": f"1_{n}", **row} for n in (0, 1)]
    with building("causalvqa", Preparation()) as build:
        columns = dict.fromkeys(strata, "string")
        build.add_split("debug", rows, columns, {"debug/c": None}, Origin(str(source)))


def test_a_built_set_shows_what_each_step_left_and_a_broken_file_is_refused(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "release"
    source.mkdir()
    steps = (
        AttritionStep(step="described", came=10, left=8, removed={"no reply": 2}),
        AttritionStep(step="questions", came=8, left=24),
        AttritionStep(step="blind check", came=24, left=6, removed={"answered without a look": 18}),
    )
    write_attrition(SetAttrition(start="clips", rows=10, steps=steps), source)
    run = make_run({TASK: make_groups([(CORRECT, WRONG)] * 4)}, kind=SetKind.OWN)
    prepare(source)
    assert attrition_panels([TASK], [run]) == [], "a set without the mark of a build is not taken for one"
    mark_as_built(source)
    prepare(source)
    [panel] = attrition_panels([TASK, TASK], [run])
    assert panel.table is not None and panel.table.rows == [
        ("clips", 10, ""),
        ("described", 8, "80%"),
        ("– no reply", -2, ""),
        ("questions", 24, "from 8"),
        ("blind check", 6, "25%"),
        ("– answered without a look", -18, ""),
    ]
    official = replace(run, sets={TASK: DataSet(kind=SetKind.OFFICIAL)})
    assert attrition_panels([TASK], [official]) == [], "the run is of another set"
    for text in ("{", "[]", '{"start": "clips", "rows": -1, "steps": []}', "\\xff"):
        (source / ATTRITION).write_text(text, encoding="utf-8")
        said = refusal(prepare, source)
        assert "attrition.json cannot be read as the steps of a build" in said
        assert "Remedy: build the set again, or delete the file." in said
