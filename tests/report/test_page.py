"""The page's text, without a browser."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from logged_runs import strong, write_run
from markupsafe import escape
from sample_runs import evidence, write_sample_run
from typer.testing import CliRunner

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.report import page_files as page_clips
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.report.page_items import LONGEST_RESPONSE, as_json
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import APPLIES, DOES_NOT_APPLY, HAZARDS, describe_hazard
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, WindowRecord
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.palette import HUES
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES
from lmms_eval_tasks.utils.scoring.record import NOT_ASKED

pytestmark = pytest.mark.slow  # every page shows the sample, which is filmed first

SAMPLE_NOTE = "SAMPLE DATA, not the benchmark: made up"


def block(page: str, task: str) -> dict[str, Any]:
    """A task's items as the page's script reads them."""
    (found,) = re.findall(rf'<script type="application/json" data-task="{task}">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def listing(page: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="listing">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def test_the_same_runs_give_the_same_bytes(sample_runs: tuple[Path, Path]) -> None:
    first, second = (build_page([read_run(run) for run in sample_runs]) for _ in range(2))
    assert first == second


def test_a_page_asks_for_nothing_from_elsewhere(sample_runs: tuple[Path, Path]) -> None:
    page = build_page([read_run(sample_runs[0])])
    assert re.findall(r"<(?:link|img|iframe|script)[^>]*(?:src|href)=\"(?!data:)", page) == []
    assert set(re.findall(r"https?://[^\s\"'<]+", re.sub(r'<a href="https://[^"]+"', "", page))) <= {
        "http://www.w3.org/2000/svg"
    }
    assert "@import" not in page and not re.search(r"url\((?!#)", page)
    for rule in ("default-src", "base-uri", "form-action"):
        assert f"{rule} 'none'" in page


def test_sample_data_is_marked(sample_runs: tuple[Path, Path], tmp_path: Path) -> None:
    page = build_page([read_run(sample_runs[0])])
    assert page.count(SAMPLE_NOTE) == 1
    # A figure says it where it is saved, and a signature where it is opened.
    shown = re.sub(r'<g class="set-kind">.*?</g>|<ul class="signatures">.*?</ul>', "", page, flags=re.DOTALL)
    assert shown.partition("<script")[0].count("SAMPLE DATA") == 1
    for section in re.findall(r'<section id="(?!items|cards).*?</section>', page, re.DOTALL):
        text = re.sub(r"<[^>]*>", " ", section)
        assert not re.search(r"published|beside people|of people|people,", text), text
    real = build_page([read_run(write_run(tmp_path / "real", strong()))])
    assert SAMPLE_NOTE not in real and "sample data" not in real.lower().split("<script")[0]


def test_a_signature_says_what_scores_stand_on(sample_runs: tuple[Path, Path]) -> None:
    run = replace(read_run(sample_runs[0]), limited="--limit 3")
    page = build_page([run], "cast_bench")
    (signature,) = re.findall(r'<ul class="signatures">\s*<li>.*?</span> (.*?)</li>', page)
    assert signature == (
        "version 1-A; SAMPLE DATA, not the benchmark, --limit 3; 12 items in 10 groups; "
        f"prompt {read_prompt('cast_bench_evidence').signature}; boxes xyxy_px; "
        "95% intervals over groups, 10,000 draws, seed 0"
    )


def test_a_part_of_the_items_stands_beside_nothing_published(sample_runs: tuple[Path, Path]) -> None:
    official = DataSet(kind=SetKind.OFFICIAL)
    whole, other = (replace(run, sets=dict.fromkeys(run.records, official)) for run in map(read_run, sample_runs))
    banner = "A PART OF THE ITEMS: hasty-2b was run with --limit 3."
    both = build_page([whole, replace(other, limited="--limit 3")], "cast_bench")
    assert both.count(banner) == 1
    assert "Not shown, because they are not of the whole official release: run 2 (--limit 3)." in both
    published = re.compile(r'<th scope="row">published</th>')
    assert published.search(both) and banner not in build_page([whole, other], "cast_bench")
    alone = build_page([replace(whole, limited="--limit 3")], "cast_bench")
    assert alone.count("--limit 3. Its scores are of those items alone, and are shown without scores of people") == 1
    assert not published.search(alone.partition("<main>")[2].partition('<section id="items"')[0])


def test_without_prepared_data_the_page_says_so(
    sample_runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "nothing"))
    found = block(build_page([read_run(sample_runs[0])], "cast_bench"), "cast_bench")
    assert found["note"].startswith("Questions and clips are not at hand")
    assert "lmms-eval-tasks prepare cast_bench" in found["note"]
    first = found["items"][0]
    assert found["strings"][first[4]] and first[5] == first[6] == []


def test_a_run_of_real_data_is_not_joined_with_sample_data(sample_home: Path, tmp_path: Path) -> None:
    page = build_page([read_run(write_run(tmp_path / "real", strong()))])
    found = block(page, "causalvqa_debug_paired")
    assert found["note"].endswith("the run is of the official release, 2 of 4 items, sample data is prepared.")
    assert len(found["items"]) == 120 and found["items"][0][9][0][2] == -1


def test_items_that_the_prepared_data_lacks_are_counted(sample_runs: tuple[Path, Path], tmp_path: Path) -> None:
    def rename(line: str) -> str:
        return line.replace('"item_id": "1_0"', '"item_id": "1_7"')

    copy = tmp_path / "copy"
    shutil.copytree(sample_runs[0], copy)
    (log,) = copy.glob("*_samples_causalvqa_debug_paired.jsonl")
    log.write_text(rename(log.read_text(encoding="utf-8")), encoding="utf-8")
    found = block(build_page([read_run(copy)], "causalvqa_debug_paired"), "causalvqa_debug_paired")
    assert found["note"] == "Questions and clips of 1 items are not in the prepared data: 1_7."
    assert [len(item[6]) for item in found["items"][:2]] == [0, 1]
    assert found["strings"][found["items"][0][4]]


def test_graded_answers_show_the_judges_scores(sample_home: Path, tmp_path: Path) -> None:
    run = write_sample_run(tmp_path / "m", ["cast_bench"], lambda task, doc: "It was pushed.")
    (log,), (results,) = run.glob("*_samples_*"), run.glob("*_results.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    judge = {"model": "j", "prompt": "p:1", "consistency_prompt": "c:1"}
    for line in lines:
        scores = dict.fromkeys(DIMENSIONS, 7.0)
        line["record"].update(expected="The red ball hit it.", answered="It was pushed.", outcome="correct")
        line["record"]["fields"] = {"scores": scores, "judge": judge}
    log.with_name("20261121_samples_cast_bench_open.jsonl").write_text("\n".join(map(json.dumps, lines)))
    results.write_text(results.read_text().replace('"cast_bench"', '"cast_bench_open"'))
    page = build_page([read_run(run)])
    found = block(page, "cast_bench_open")
    first = found["items"][0]
    assert first[3] == "The red ball hit it." and first[5] == [] and len(first[6]) == 1
    assert first[9][0][3]["answer conclusion correctness"] == "7 of 10"
    assert "Judge 0-10" in page and "Accuracy against grounding" not in page


def test_an_unscored_item_says_why(sample_home: Path, tmp_path: Path) -> None:
    run = write_sample_run(tmp_path / "m", ["yocausal_vlm", "causalvqa_debug_paired"], lambda task, doc: NOT_ASKED)
    page = build_page([read_run(run)])
    for task in ("yocausal_vlm", "causalvqa_debug_paired"):
        answers = [item[9][0] for item in block(page, task)["items"]]
        assert all(answer[0] == OUTCOMES.index("unscored") and answer[3]["why"] == "no clip" for answer in answers)


def test_losses_that_are_no_numbers_are_shown(sample_home: Path, tmp_path: Path) -> None:
    def answer(task: str, doc: Any) -> str:
        loss = Directed[float](forward=math.nan, backward=1.25)
        losses = Directed[list[list[float]]](forward=[[math.nan]], backward=[[1.25]])
        windows = [WindowRecord(start=0, stop=9, borrowed=0, skipped=0, latents=3)]
        measured = DenoisingResponse(item_id=doc["item_id"], loss=loss, losses=losses, timesteps=[500], windows=windows)
        return measured.to_json()

    page = build_page([read_run(write_sample_run(tmp_path / "m", ["yocausal"], answer))])
    first = block(page, "yocausal")["items"][0]
    assert first[9][0][3] == {"loss forward": "nan", "loss backward": "1.25"}


def test_a_task_of_no_benchmark_of_ours_is_shown(tmp_path: Path) -> None:
    page = build_page([read_run(write_run(tmp_path / "run", strong(), tasks=("somebodys",)))])
    assert "Consistency between members" in page
    assert len(block(page, "somebodys")["items"]) == 120


def test_clips_are_linked_where_they_are_too_many_to_hold(
    sample_runs: tuple[Path, Path], sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read_run(sample_runs[0])
    held = build_page([run], "cast_bench")
    states = {state for _, _, state in listing(held)["clips"]}
    assert states == {"e"} and held.count('<script type="text/plain" id="clip-') == len(listing(held)["clips"])
    monkeypatch.setattr(page_clips, "EMBEDDED_AT_MOST", 1000)
    linked = listing(build_page([run], "cast_bench"))
    assert {state for _, _, state in linked["clips"]} == {"l"}
    assert linked["folders"] == [(sample_home / "cast_bench" / "videos").as_uri()]
    assert listing(build_page([run], "cast_bench", Clips.embed)) == listing(held)


def test_boxes_that_are_no_numbers_are_left_out(sample_home: Path, tmp_path: Path) -> None:
    def answer(task: str, doc: Any) -> str:
        said = evidence(doc, doc["answer"], 0)
        return re.sub(r"\[\d+(, \d+, \d+, \d+\])", r"[1e999\1", said, count=1)

    page = build_page([read_run(write_sample_run(tmp_path / "odd", ["cast_bench"], answer))])
    items = block(page, "cast_bench")["items"]
    boxes = [box for item in items for lane in item[9][0][4] for box in lane[2].values()]
    assert boxes and all(isinstance(side, float | int) and abs(side) < 1e4 for box in boxes for side in box)


def test_a_long_response_is_cut_and_says_so(sample_home: Path, tmp_path: Path) -> None:
    said = "x" * (LONGEST_RESPONSE + 1234)
    run = write_sample_run(tmp_path / "wordy", ["causalvqa_debug_paired"], lambda task, doc: said)
    found = block(build_page([read_run(run)]), "causalvqa_debug_paired")
    text = found["strings"][found["items"][0][9][0][2]]
    assert text.startswith("x" * LONGEST_RESPONSE + "\n… and 1,234 more characters")


def test_names_cannot_write_markup(tmp_path: Path) -> None:
    run = write_run(tmp_path / "<b onload=x>&", strong())
    page = build_page([read_run(run)])
    assert "<b onload" not in page and "&lt;b onload=x&gt;&amp;" in page


def test_known_hazards_stand_at_the_top(tmp_path: Path) -> None:
    name = "first_clip_frames"
    cards = [{HAZARDS: {name: APPLIES}}, {}, {HAZARDS: {name: DOES_NOT_APPLY}}, {HAZARDS: {name: APPLIES}}]
    runs = [replace(read_run(write_run(tmp_path / f"m{n}", strong())), card=card) for n, card in enumerate(cards)]
    (notes,) = re.findall(r"<strong>Known hazard\.</strong> (.*)</p>", build_page(runs))
    assert notes == f"Runs 1, 4, <code>{name}</code>: {escape(describe_hazard(name))}"
    assert "Known hazard." not in build_page(runs[1:3])
    other = "another_hazard"
    page = build_page([replace(runs[0], card={HAZARDS: {name: APPLIES, other: APPLIES}})])
    (folded,) = re.findall(r'<details class="caution" role="note"><summary>(.*?)</details>', page, re.DOTALL)
    assert folded.startswith("<strong>2 known hazards:</strong>") and page.count("Known hazard.") == 2


def test_a_run_card_is_shown_as_it_is(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "m", strong()))
    assert 'id="cards"' not in build_page([run])
    object.__setattr__(run, "card", {"model": {"revision": "<abc>"}, "data": {"rows": 120}})
    page = build_page([run])
    assert "<dt>revision</dt><dd>&lt;abc&gt;</dd>" in page and "<dt>rows</dt><dd>120</dd>" in page


def test_other_line_separators_end_no_line_of_a_log(sample_home: Path, tmp_path: Path) -> None:
    run = write_sample_run(tmp_path / "m", ["causalvqa_debug_paired"], lambda task, doc: "A\u2028\u0085B")
    (log,) = run.glob("*_samples_*")
    lines = [json.dumps(json.loads(line), ensure_ascii=False) for line in log.read_text().split("\n") if line]
    log.write_text("\n".join(lines) + "\n")
    found = block(build_page([read_run(run)]), "causalvqa_debug_paired")
    assert "A\u2028\u0085B" in found["strings"]


@pytest.mark.parametrize("text", ["</script>", "<!--", "a & b", "\u2028\u2029", "\ud800", "\\u003c", "\x00"])
def test_json_in_a_script_element_comes_back_as_it_was(text: str) -> None:
    written = as_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(written)
    written.encode("utf-8")
    assert json.loads(written) == {"text": text}


def test_runs_have_numbers_and_letters_are_the_options_alone(sample_runs: tuple[Path, Path]) -> None:
    page = build_page([read_run(run) for run in sample_runs])
    body = page.partition("<main>")[2].partition('<section id="items"')[0]
    badges = re.findall(r'<span class="run-badge" data-run="([^"]*)">([^<]*)</span>', body)
    assert len(badges) > 10 and {number for number, _ in badges} == {"1", "2"}
    assert all(number == shown for number, shown in badges)
    # Marks of a run are in its hue with its number on them, but for those along a line, which has the number.
    for number in ("1", "2"):
        marks = re.findall(rf'<use [^>]*style="fill:var\(--run-{number},#\w+\)', body)
        written = re.findall(rf"var\(--on-run-{number},#\w+\)[^>]*>(\d+)</text>", body)
        assert len(marks) >= len(written) > 20 and set(written) == {number}
    about = json.loads(re.findall(r'id="about">(.*?)</script>', page)[0])
    assert about["runs"] == [["1", "careful-7b"], ["2", "hasty-2b"]]


def test_more_runs_than_hues_are_told_apart_by_number(tmp_path: Path) -> None:
    runs = [replace(read_run(write_run(tmp_path / str(n), strong())), name=f"m{n}") for n in range(len(HUES) + 1)]
    note = "The first 8 runs have hues of their own; all others are grey, and their numbers tell them apart."
    assert note in build_page(runs) and note not in build_page(runs[:-1])


def test_the_command_writes_a_page(sample_runs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    arguments = ["report", *map(str, sample_runs), "--task", "cast_bench", "--html", str(out), "--clips", "link"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert str(out) in result.stdout.replace("\n", "")
    page = out.read_text(encoding="utf-8")
    assert page == build_page([read_run(run) for run in sample_runs], "cast_bench", Clips.link)
    assert "mvp_mini" not in page


def test_runs_without_the_task_are_not_on_its_page(sample_runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = write_run(tmp_path / "other-model", strong())
    page = build_page([read_run(other), read_run(sample_runs[0])], "cast_bench")
    assert "other-model" not in page and block(page, "cast_bench")["runs"] == [0]


def test_strata_stand_in_the_order_that_the_card_states(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", strong())
    (log,) = run.glob("*_samples_*")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for place, line in enumerate(lines):
        line["record"]["stratum"] = {"difficulty": ("medium", "hard", "new", "easy")[place // 2 % 4]}
    log.write_text("\n".join(map(json.dumps, lines)))
    page = build_page([read_run(run)])
    (plot,) = re.findall(r"<h3>Pair accuracy by difficulty</h3>(.*?)</table>", page, re.DOTALL)
    assert re.findall(r'<tr><th scope="row">(\w+)</th>', plot) == ["easy", "medium", "hard", "new"]


def test_nothing_is_broken_down_where_nothing_is_scored(sample_home: Path, tmp_path: Path) -> None:
    run = write_sample_run(tmp_path / "m", ["causalvqa_debug_paired"], lambda task, doc: NOT_ASKED)
    page = build_page([read_run(run)])
    assert "Pair accuracy by" not in page and "N/A" in page


def test_an_unknown_task_is_refused(sample_runs: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="Expected a task or group of these runs, any of mvp_mini, "):
        build_page([read_run(sample_runs[0])], "mvp_maxi")
