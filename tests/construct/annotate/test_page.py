"""The page as an annotator meets it: in a browser, from disk, by simulated people whose answers are planned."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Asked, Page, browser
from by_day import first_by_day
from expected import Expected
from refusals import refusal
from selenium.webdriver.support.ui import WebDriverWait
from typer.testing import CliRunner

from lmms_eval_tasks.causalvqa.benchmark import TYPES
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.annotation_page import PageTexts, write_pages
from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import (
    Plan,
    PlannedQuestion,
    Shares,
    as_csv,
    asked_items,
    make_plan,
    planned_questions,
    rows_to_ask,
)
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.utils.answers.evidence_reading import official_seconds
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.home import clip_path

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("sample")]

ENTER, TAB, SPACE, CONTROL = "\ue007", "\ue004", " ", "\ue009"
FAKE_FILE = """window.written = []; window.showSaveFilePicker = async () => ({
  name: 'a001.json', createWritable: async () => ({ write: async (t) => written.push(t), close: async () => {} }) });"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile"), (1366, 768)) as opened:
        yield opened


def questions_of(benchmark: str, split: str, mode: str = "answer", run: Path | None = None) -> list[PlannedQuestion]:
    return planned_questions(benchmark, *asked_items(benchmark, split, mode, run))


def planned(
    benchmark: str, split: str, annotators: int, responses: int, attention: int = 1, mode: str = "answer"
) -> Plan:
    questions = questions_of(benchmark, split, mode)
    whole_pairs = find_benchmark(benchmark).pairs_of_clips
    return make_plan(benchmark, split, questions, Shares(annotators, responses, attention, whole_pairs), mode=mode)


def one_page(folder: Path, benchmark: str, split: str, **options: Any) -> Path:
    plan = planned(benchmark, split, 4, 2)
    return write_pages(plan, folder, only=["a001"], **options)[0]


def run(*arguments: object) -> str:
    """What a command of `annotate` prints."""
    result = CliRunner().invoke(app, ["annotate", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def write_plan(plan: Plan, folder: Path, *options: object) -> Path:
    """The plan's file and its pages, by the command; gives the folder of the pages."""
    (folder / "plan.csv").write_text(as_csv(plan), encoding="utf-8")
    run("page", folder / "plan.csv", "--out", folder / "pages", "--no-practice", *options)
    return folder / "pages"


def save(page: Page, folder: Path, annotator: str = "a001") -> None:
    """Save what somebody answered."""
    (folder / "answers").mkdir(exist_ok=True)
    (folder / "answers" / f"{annotator}.json").write_text(page.run("return answersText()"), encoding="utf-8")


def collect(folder: Path, out: str = "people.csv") -> tuple[str, Any]:
    """What is printed of all answers, and the table or the lines that are made of them."""
    printed = run("collect", folder / "plan.csv", folder / "answers", "--out", folder / out)
    with (folder / out).open(encoding="utf-8") as file:
        return printed, list(csv.DictReader(file)) if out.endswith("csv") else list(map(json.loads, file))


def test_a_page_is_answered_by_keys_and_kept_through_a_reload(driver: Any, tmp_path: Path) -> None:
    path = one_page(tmp_path, "causalvqa", "debug")
    page = Asked(driver, path)
    first = page.question
    page.press(ENTER)
    assert page.question == first, "nobody goes on without an answer"
    page.press("b", ENTER)
    second = page.question
    page.press("3")
    assert second != first
    page = Asked(driver, path)
    assert page.question == second
    assert page.run("return document.querySelector(':checked').value") == "C"
    assert [(given["place"], given["choice"]) for given in page.file["answers"]] == [(1, "B"), (2, "C")]
    # Answers are written to the chosen file as they go, and a browser that keeps nothing says so.
    saved = "return document.getElementById('saved').textContent"
    page.run("Storage.prototype.setItem = () => { throw new Error('full'); }")
    page.press("a")
    assert page.run(saved) == "This browser keeps nothing: save to a file, or download."
    page.run(FAKE_FILE)
    page.run("document.getElementById('save').click()")
    page.press("d")
    page.wait("return written.length > 1")
    assert json.loads(page.run("return written.at(-1)"))["answers"][1]["choice"] == "D"
    page.wait("return document.getElementById('saved').textContent === 'Saved to a001.json.'")
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.run("document.getElementById('download').click()")
    page.wait("return document.getElementById('saved').textContent.startsWith('Downloaded')")
    WebDriverWait(driver, 20).until(lambda _: (tmp_path / "a001-answer.json").is_file())
    assert json.loads((tmp_path / "a001-answer.json").read_text())["answers"] == page.file["answers"]
    assert page.complaints == []


CONSENT = "I am 18 or older & take part of my own will.\n\nI can stop at <any> time."


@pytest.mark.nightly
def test_nobody_is_asked_before_they_agree(driver: Any, tmp_path: Path) -> None:
    # Of a plan of its own: the browser keeps the answers to a plan, also those of another test.
    plan = planned("causalvqa", "debug", 5, 2)
    words = {"consent": CONSENT, "instructions": "Look twice.", "closing": "Bring the file to room 12."}
    (tmp_path / "texts.yaml").write_text(json.dumps(words), encoding="utf-8")
    path = write_plan(plan, tmp_path, "--annotator", "a001", "--texts", tmp_path / "texts.yaml") / "a001.html"
    page = Asked(driver, path, begun=False)
    assert page.screen == "opening"
    shown = page.run("return [...document.querySelectorAll('#opening p')].map(one => one.textContent)")
    assert shown == ["Look twice.", CONSENT]
    page.run("document.getElementById('begin').click()")
    page.press("a", ENTER)
    assert page.screen == "opening" and page.file["answers"] == [], "nothing is asked without a consent"
    page.run("document.getElementById('agree').click(); document.getElementById('begin').click()")
    assert page.screen == "form"
    assert Asked(driver, path, begun=False).screen == "form", "a consent is kept"
    page.press(*(key for _ in plan.by_annotator["a001"] for key in ("a", ENTER)))
    assert page.screen == "closing"
    assert page.run("return document.querySelector('#closing p').textContent") == "Bring the file to room 12."
    page.press_together("\ue008", ENTER)
    assert page.screen == "form", "what was answered can be changed from the end, too"
    save(page, tmp_path)
    printed, _ = collect(tmp_path)
    assert f"agreed to the consent text {PageTexts(consent=CONSENT).consent_digest}: 1 of 1" in printed
    assert page.complaints == []
    write_plan(plan, tmp_path, "--annotator", "a001")
    assert Asked(driver, path, begun=False).screen == "opening", "of a page with other words"


def test_pages_that_cannot_be_made_are_refused(tmp_path: Path, expected: Expected) -> None:
    (tmp_path / "plan.csv").write_text(as_csv(planned("causalvqa", "debug", 4, 2)), encoding="utf-8")
    (tmp_path / "texts.yaml").write_text("consents: yes\nclosing: 3\n", encoding="utf-8")
    command = ["annotate", "page", "plan.csv", "--out", "pages", "--texts", "texts.yaml"]
    words = [str(tmp_path / word) if "." in word or word == "pages" else word for word in command]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1 and not (tmp_path / "pages").exists()
    plan = planned("yocausal", "test", 4, 2)
    otherwise = Plan(tuple(replace(row, version="both_first") for row in plan.rows))
    said = [result.output, refusal(planned, "yocausal", "test", 4, 2, mode="last-frame")]
    expected("\n\n".join([*said, refusal(write_pages, otherwise, tmp_path / "pages")]))
    assert not (tmp_path / "pages").exists()


def test_practice_is_of_a_question_that_is_not_asked_and_counts_nowhere(driver: Any, tmp_path: Path) -> None:
    questions = questions_of("causalvqa", "debug")
    asked = sorted({question.item for question in questions})[:-1]
    plan = make_plan("causalvqa", "debug", [one for one in questions if one.item in asked], Shares(4, 2, 0))
    first, again = (write_pages(plan, tmp_path / name, ["a001"], practice=True)[0] for name in ("one", "two"))
    assert first.read_bytes() == again.read_bytes()
    page = Asked(driver, first)
    texts = {row["question"]: row["group_id"] for row in rows_to_ask("causalvqa", "debug")}
    assert texts[page.question] not in {row.item for row in plan.by_annotator["a001"]}
    assert page.run("return document.getElementById('practice').checkVisibility()")
    assert page.run("return document.getElementById('progress').textContent").startswith("Practice. 0 of ")
    page.press("a", ENTER)
    assert page.file["answers"] == []
    assert not page.run("return document.getElementById('practice').checkVisibility()")
    page.press("b")
    assert [given["place"] for given in page.file["answers"]] == [1]


@pytest.mark.parametrize(
    ("benchmark", "split"), first_by_day([("causalvqa", "debug"), ("mvp", "mini"), ("yocausal", "test")])
)
def test_it_fits_a_laptop_and_names_its_parts(driver: Any, tmp_path: Path, benchmark: str, split: str) -> None:
    page = Asked(driver, one_page(tmp_path, benchmark, split, clips=Clips.link))
    page.wait("return [...document.querySelectorAll('video')].every(video => video.readyState > 1)")
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    unnamed = page.run(
        """return [...document.querySelectorAll('input, textarea, video, button, progress')].filter(one =>
             !one.closest('label')?.textContent.trim() && !one.getAttribute('aria-label') && !one.textContent.trim())
             .map(one => one.outerHTML)"""
    )
    assert unnamed == []
    page.run("document.activeElement.blur()")
    reached = []
    for _ in range(12):
        page.press(TAB)
        reached.append(page.run("return document.activeElement.type || document.activeElement.tagName"))
    assert "radio" in reached or benchmark == "yocausal"
    assert "button" in reached


def test_a_page_gives_nothing_away(tmp_path: Path) -> None:
    plan = planned("yocausal", "test", 4, 2)
    write_pages(plan, tmp_path, clips=Clips.link)
    rows = rows_to_ask("yocausal", "test")
    names = {part for row in rows for part in (row["item_id"], Path(row["clip"]).stem)}
    for path in tmp_path.glob("*.html"):
        about = path.read_text(encoding="utf-8").partition('id="about">')[2].partition("</script>")[0]
        assert '"question"' in about
        assert not [name for name in (*names, "forward", "reversed", "bwd", "fwd") if name in about]
    assert not [path for path in (tmp_path / "clips").iterdir() if "bwd" in path.name or "fwd" in path.name]


def test_the_same_plan_gives_the_same_bytes_also_where_nothing_is_left_to_practise_with(tmp_path: Path) -> None:
    one, other = (one_page(tmp_path / name, "mvp", "mini") for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    plan = planned("cast_bench", "test", 1, 1, 0)
    with_practice, without = (write_pages(plan, tmp_path / str(one), practice=one)[0] for one in (True, False))
    assert with_practice.read_bytes() == without.read_bytes()


def test_the_last_frame_stands_in_place_of_the_clip(driver: Any, tmp_path: Path) -> None:
    plan = planned("causalvqa", "debug", 4, 2, 0, "last-frame")
    page = Asked(driver, write_pages(plan, tmp_path, ["a001"])[0])
    assert page.run("return document.querySelectorAll('video').length") == 0
    page.wait("return document.querySelector('#clips img').naturalWidth > 0")
    first = next(row for row in plan.rows if row.annotator == "a001")
    row = next(row for row in rows_to_ask("causalvqa", "debug") if row["item_id"] == first.item_id)
    frames = PyavFrames(clip_path("causalvqa", row["clip"]))
    last = frames.read([frames.count - 1])[0]
    script = """const [image, canvas] = [document.querySelector('#clips img'), document.createElement('canvas')];
      [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
      const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);
      return [...context.getImageData(0, 0, canvas.width, canvas.height).data].filter((_, at) => at % 4 < 3)"""
    assert page.run(script) == last.reshape(-1).tolist()
    page.press("a")
    assert page.file["mode"] == "last-frame" and page.file["answers"][0]["choice"] == "A"


@pytest.mark.nightly
def test_reviewers_choose_before_they_see_the_key_and_flag_what_is_wrong(driver: Any, tmp_path: Path) -> None:
    """CausalVQA, A.2: watch, choose, then see the key; a new type with flag d, and better times."""
    plan = planned("causalvqa", "debug", 4, 2, 0, "review")
    path = write_plan(plan, tmp_path, "--annotator", "a001") / "a001.html"
    page = Asked(driver, path)
    rows = {row["item_id"]: row for row in rows_to_ask("causalvqa", "debug")}
    shown = plan.by_annotator["a001"]
    flags = "return document.querySelectorAll('input[name=flag], .key').length"
    assert page.run(flags) == 0
    page.press(ENTER)
    assert page.run(flags) == 0, "no key without a choice"
    page.press("c", ENTER)
    assert page.run("return document.querySelector('.key kbd').textContent") == rows[shown[0].item_id]["answer"]
    assert page.run("return document.querySelectorAll('input[type=radio]').length") == 0, "the choice stays"
    page.press("n", "b", "d")
    assert page.run("return document.getElementById('next').disabled"), "the type is wanted"
    of_type = rows[shown[0].item_id]["type"]
    kinds = page.run("return [...document.querySelectorAll('#kind option')].map(one => one.value)")
    assert sorted([*kinds[1:], of_type]) == sorted(TYPES)
    page.choose("#kind", "planning" if of_type != "planning" else "descriptive")
    page.run("document.querySelector('textarea.comment').focus()")
    page.press("no, c is")
    page = Asked(driver, path)
    assert page.run("return document.querySelectorAll('[name=flag]:checked').length") == 2, "kept through a reload"
    page.press_together(CONTROL, ENTER)
    page.press("a", ENTER, "n", ENTER)
    page.press("b", ENTER, "n")
    page.run("document.querySelector('input.end').focus()")
    page.press("x")
    assert page.run("return document.querySelector('.fault').textContent") == "Write times as seconds, such as -1.5."
    page.run("document.querySelector('input.end').select()")
    page.press("1.5")
    page.run("document.querySelector('input.start').focus()")
    page.press("-0.5")
    assert page.complaints == []
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    save(page, tmp_path)
    printed, reviews = collect(tmp_path, "reviews.csv")
    assert "3 reviews of 3 of 20 versions: 1 remove, 1 repair, 1 keep" in printed
    assert [row["item_id"] for row in reviews] == [row.item_id for row in shown[:3]]
    names = ("choice", "flags", "start", "end", "comment", "decision")
    assert [tuple(row[name] for name in names) for row in reviews] == [
        ("C", "bd", "", "", "no, c is", "remove"),
        ("A", "", "", "", "", "keep"),
        ("B", "", "-0.5", "1.5", "", "repair"),
    ]
    assert [row["type"] for row in reviews] == ["planning" if of_type != "planning" else "descriptive", "", ""]
    assert all(float(answer["seconds"]) > 0 for answer in page.file["answers"])


def test_a_plan_of_what_is_asked_otherwise_now_has_no_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no old answer is taken, in a file or in a browser, for one to another question."""
    before = planned("causalvqa", "debug", 4, 2)
    write_pages(before, tmp_path / "pages", only=["a001"], clips=Clips.link)
    rows, digests = rows_to_ask("causalvqa", "debug"), {plan_digest(before)}
    really = [{**row, "question": f"{row['question']} Really?"} for row in rows]
    for asked in (really, [{**row, "options": row["options"][::-1]} for row in rows]):
        monkeypatch.setattr("lmms_eval_tasks.construct.annotate.plan.rows_to_ask", lambda *_, asked=asked: asked)
        after = planned("causalvqa", "debug", 4, 2)
        assert [replace(row, asked="") for row in after.rows] == [replace(row, asked="") for row in before.rows]
        assert plan_digest(after) not in digests
        digests.add(plan_digest(after))
        with pytest.raises(InputError, match="to ask what it asked when the plan was made, but these differ: "):
            write_pages(before, tmp_path / "pages", only=["a001"], clips=Clips.link)


@pytest.mark.nightly
def test_who_is_too_small_is_skipped(driver: Any, tmp_path: Path) -> None:
    """CaST-Bench, 10.3."""
    plan = planned("cast_bench", "test", 2, 1, 0, "edit")
    page = Asked(driver, write_plan(plan, tmp_path, "--annotator", "a001") / "a001.html")
    row = next(r for r in rows_to_ask("cast_bench", "test") if r["item_id"] == plan.by_annotator["a001"][0].item_id)
    names = [entry["evidence_instance_id"] for entry in json.loads(row["evidence"])]
    page.run("document.querySelector('.skipped').click()")
    page.run("document.getElementById('confirmed').click()")
    (given,) = page.file["answers"]
    assert given["skipped"] == [names[0]]
    assert [entry["name"] for entry in given["entries"]] == [name for name in names if name != names[0]]
    assert page.run("return [...document.querySelectorAll('.skipped')].map(one => one.checked)") == [
        name == names[0] for name in names
    ]
    save(page, tmp_path)
    _, (edit,) = collect(tmp_path, "edits.jsonl")
    assert (edit["item_id"], edit["skipped"]) == (row["item_id"], [names[0]])
    assert page.complaints == []


@pytest.mark.nightly
def test_questions_are_revised_or_discarded_with_their_evidence(driver: Any, tmp_path: Path) -> None:
    """CaST-Bench, 10.6."""
    plan = planned("cast_bench", "test", 1, 1, 0, "revise")
    page = Asked(driver, write_plan(plan, tmp_path) / "a001.html")
    rows = {row["item_id"]: row for row in rows_to_ask("cast_bench", "test")}
    shown = [rows[row.item_id] for row in plan.rows[:2]]
    texts = page.run("return [...document.querySelectorAll('#form > .field textarea')].map(one => one.value)")
    assert texts == [shown[0]["question"], *shown[0]["options"], ""]
    keyed = page.run("return [...document.querySelectorAll('#form > .field')].map(one => one.textContent)")
    assert [text for text in keyed if "the key" in text] == [f"{shown[0]['answer']}, the key"]
    field = page.driver.find_element("css selector", "#form > .field textarea")
    field.send_keys(CONTROL + "a", "\ue003")
    page.run("document.getElementById('confirmed').click()")
    assert page.run("return document.getElementById('next').disabled"), "a question without words is none"
    field.send_keys("Why so?")
    page.run("document.getElementById('confirmed').click()")
    page.run("document.getElementById('next').click()")
    page.run("document.getElementById('discard').click()")
    page.run("document.getElementById('confirmed').click()")
    save(page, tmp_path)
    printed, (first, other) = collect(tmp_path, "revised.jsonl")
    assert "2 items edited or found right, 1 discarded" in printed
    assert (first["question"], first["options"], first["discarded"]) == ("Why so?", shown[0]["options"], False)
    assert len(first["entries"]) == len(json.loads(shown[0]["evidence"]))
    assert other["discarded"] and other["item_id"] == shown[1]["item_id"]
    assert page.complaints == []


@pytest.mark.nightly
def test_timed_descriptions_are_edited_beside_the_outlined_clip(driver: Any, tmp_path: Path) -> None:
    plan = planned("cast_bench", "test", 1, 1, 0, "edit")
    path = write_plan(plan, tmp_path) / "a001.html"
    page = Asked(driver, path)
    rows = {row["item_id"]: row for row in rows_to_ask("cast_bench", "test")}
    shown = rows[plan.rows[0].item_id]
    evidence = json.loads(shown["evidence"])
    fields = """return [...document.querySelectorAll('.entry')].map(
      entry => [...entry.querySelectorAll('input[type=text], textarea')].map(field => field.value))"""
    names = ("evidence_instance_id", "evidence_start_time", "evidence_end_time", "evidence_rationale")
    assert page.run(fields) == [[entry[name] for name in names] for entry in evidence]
    page.wait("return document.querySelector('video').readyState > 1")
    page.run("document.querySelectorAll('.show')[0].click()")
    second = official_seconds(evidence[0]["evidence_start_time"])
    left, top, right, bottom = json.loads(evidence[0]["bboxes_in_range"][str(second)])
    outline = page.wait(
        """const [video, box] = [document.querySelector('video'), document.querySelector('#clips rect')];
           if (!box || video.seeking || Math.round(video.currentTime) !== arguments[0]) return null;
           const [area, drawn] = [video.getBoundingClientRect(), box.getBoundingClientRect()];
           return [drawn.left - area.left, drawn.top - area.top, drawn.right - area.left, drawn.bottom - area.top,
             area.width, area.height]""",
        second,
    )
    width, height = shown["width"], shown["height"]
    expected = [left / width, top / height, right / width, bottom / height]
    shares = [place / outline[4 + number % 2] for number, place in enumerate(outline[:4])]
    assert shares == pytest.approx(expected, abs=0.02)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    faulty = page.driver.find_element("css selector", ".entry .end")
    for wrong, fault in (("0:9", "Write times as MM:SS."), ("59:00", "The end is after the clip's.")):
        faulty.find_element("css selector", "input").clear()
        faulty.find_element("css selector", "input").send_keys(wrong)
        assert page.run("return document.querySelector('.fault').textContent") == fault
        page.run("document.getElementById('confirmed').click()")
        assert page.run("return document.getElementById('next').disabled"), "what is wrong is not confirmed"
    faulty.find_element("css selector", "input").clear()
    faulty.find_element("css selector", "input").send_keys("00:04")
    page = Asked(driver, path)
    assert page.run(fields)[0][2] == "00:04", "a draft is kept through a reload"
    page.run("document.getElementById('add').click()")
    page.press(TAB, TAB, TAB, TAB, TAB, "It stops.")
    page.run("document.getElementById('confirmed').click()")
    page.press_together(CONTROL, ENTER)
    page.wait("return document.querySelectorAll('#clips rect').length > 0")
    colours = "return [...document.querySelectorAll('#clips rect')].map(box => box.getAttribute('stroke'))"
    before = page.run(colours)
    page.run("document.querySelectorAll('.remove')[0].click(); document.getElementById('confirmed').click()")
    assert page.run(colours) == [colour for colour in before if colour != "#D55E00"], "the others keep theirs"
    assert page.complaints == []
    save(page, tmp_path)
    _, (first, other) = collect(tmp_path, "edits.jsonl")
    assert first["item_id"] == shown["item_id"] and first["annotator"] == "a001"
    assert first["entries"][0]["end"] == "00:04" and first["entries"][0]["text"] == evidence[0]["evidence_rationale"]
    assert [entry["text"] for entry in first["entries"]][-1] == "It stops."
    assert len(first["entries"]) == len(evidence) + 1
    assert len(other["entries"]) == len(json.loads(rows[other["item_id"]]["evidence"])) - 1


def play(page: Page) -> None:
    """Play the clips of an item to their end."""
    page.run("document.querySelectorAll('video').forEach(video => { video.playbackRate = 16; })")
    page.run("window.ends = 0; document.addEventListener('played', () => { ends += 1; }, { once: true })")
    page.press(SPACE)
    page.wait("return ends === 1")


@pytest.mark.nightly
def test_which_is_reversed_is_shown_three_times_and_no_more(driver: Any, tmp_path: Path) -> None:
    plan = planned("yocausal", "test", 4, 2, attention=0)
    path = write_pages(plan, tmp_path, only=["a001"])[0]
    page = Asked(driver, path)
    # YoCausal: people see the prompt, then both clips.
    captions = {row["item_id"]: row["caption"] for row in rows_to_ask("yocausal", "test")}
    shown = "return [...document.getElementById('clips').children].slice(0, 2).map(one => one.outerHTML)"
    head, clip = page.run(shown)
    assert captions[plan.by_annotator["a001"][0].item_id] in head and "<video" in clip and "<video" not in head
    page.press("1", ENTER)
    assert page.file["answers"] == [], "nobody tells before the clips were shown"
    for left in (2, 1):
        play(page)
        assert page.run("return document.querySelector('.transport span').textContent") == f"{left} more times"
    page = Asked(driver, path)
    play(page)
    assert page.run("return document.getElementById('play').disabled"), "a reload gives no play back"
    page.press("3")
    assert [(one["choice"], one["plays"]) for one in page.file["answers"]] == [("UNKNOWN", 3)]


def test_a_clip_that_was_not_seen_to_its_end_cannot_be_answered_after_a_reload(driver: Any, tmp_path: Path) -> None:
    # Of a plan of its own: the browser keeps the answers to a plan, also those of another test.
    path = write_pages(planned("yocausal", "test", 2, 2, attention=0), tmp_path, only=["a001"])[0]
    page = Asked(driver, path)
    seen = []
    for _ in range(3):
        page.run("document.querySelectorAll('video').forEach((video, at) => { video.playbackRate = at ? 0.1 : 16; })")
        page.press(SPACE)
        page.wait("return document.querySelectorAll('figure')[1].classList.contains('showing')")
        page.press("1")
        page = Asked(driver, path)
        page.press("1")
        seen.append(page.run("return document.querySelector('.transport span').textContent"))
    assert page.file["answers"] == [], "the second clip never played to its end"
    assert seen == ["2 more times", "1 more times", "0 more times"]
    play(page)
    page.press("2")
    assert [(one["choice"], one["plays"]) for one in page.file["answers"]] == [("SECOND", 4)]
    assert page.run("return document.getElementById('play').disabled")
