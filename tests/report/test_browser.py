"""The page as a reader meets it: in a browser, from disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import Page, browser
from sample_runs import write_sample_run
from task_states import docs_of, task_state

from lmms_eval_tasks.report.page import write_page
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

pytestmark = pytest.mark.browser

RIGHT, LEFT, DOWN = "\ue014", "\ue012", "\ue015"
KEYS = (("j", 1), (RIGHT, 2), ("k", 1), (LEFT, 0), (LEFT, 0), (DOWN, 1), ("k", 0))
"""Keys in turn, and the place in the list to which each leads."""
HUES = {"red": 0, "yellow": 50, "green": 118, "cyan": 185, "blue": 228, "pink": 312}
"""Degrees on the colour wheel of the sample world's objects."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(driver: Any, written: Path) -> Page:
    opened = Page(driver, written)
    opened.complaints  # noqa: B018  (what the page before left there)
    return opened


def test_the_page_shows_every_task_without_a_complaint(page: Page) -> None:
    sections = page.run("return [...document.querySelectorAll('main > section')].map(section => section.id)")
    assert sections == [
        "mvp_mini",
        "causalvqa_debug_paired",
        "cast_bench",
        "yocausal",
        "yocausal_vlm",
        "countervqa",
        "items",
    ]
    assert "SAMPLE DATA, not the benchmark" in page.run("return document.querySelector('.caution').textContent")
    for task in sections[:-1]:
        page.choose("#task", task)
        assert page.item
    assert page.complaints == []


def test_tables_keep_their_columns_on_a_narrow_page(page: Page) -> None:
    size = {"width": 500, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        hidden = page.run(
            """return [...document.querySelectorAll('.scroll')].filter(one => one.checkVisibility())
                 .map(one => one.scrollWidth - one.clientWidth)"""
        )
        assert len(hidden) >= 6 and set(hidden) == {0}
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_figures_are_drawn_with_their_numbers_below(page: Page) -> None:
    drawn = page.run(
        """return [...document.querySelectorAll('.figure')].map(one => {
             let [svg, table] = [one.querySelector('svg'), one.querySelector('details table')], box = svg.getBBox();
             return [box.width, box.height, svg.ariaLabel, svg.querySelectorAll('use, path').length, table.rows.length];
           })"""
    )
    assert len(drawn) > 30
    assert all(width > 100 and height > 20 and label and parts and rows for width, height, label, parts, rows in drawn)
    titles = page.run("return [...document.querySelectorAll('#yocausal h3, #cast_bench h3')].map(e => e.textContent)")
    assert {"RSI against CCI", "Accuracy against grounding", "Which direction has the lower loss"} <= set(titles)
    assert page.run("return getComputedStyle(document.querySelector('.figure details')).display") != "none"


def test_a_figure_is_saved_as_it_is_seen_in_light_colours_and_copied_where_it_may_be(page: Page) -> None:
    file = ElementTree.fromstring(page.run("return asFile(document.querySelector('.figure svg'))"))
    assert file.attrib["width"] == "234pt" and "var(" not in ElementTree.tostring(file, encoding="unicode")
    ground = file[0]
    assert ground.tag.endswith("rect") and ground.attrib["height"] + "pt" == file.attrib["height"]
    page.driver.set_script_timeout(30)
    width, height, colours = page.driver.execute_async_script(
        """let done = arguments[0];
           asPicture(document.querySelector('.figure svg')).then(createImageBitmap).then(picture => {
             let canvas = new OffscreenCanvas(picture.width, picture.height), context = canvas.getContext('2d');
             context.drawImage(picture, 0, 0);
             let data = new Uint32Array(context.getImageData(0, 0, picture.width, picture.height).data.buffer);
             done([picture.width, picture.height, new Set(data).size]);
           });"""
    )
    assert width == 975 and height > 100 and colours > 20
    page.run("document.querySelector('.save button:last-child').click()")
    label = page.wait("let b = document.querySelector('.save button:last-child').textContent; return b !== 'Copy' && b")
    assert label in ("Copied", "Not allowed here")
    names = page.run("return [...document.querySelectorAll('.figure')].map(one => one.dataset.name)")
    assert "causalvqa_debug_paired.letters-expected-answered.hasty-2b" in names and len(set(names)) == len(names)
    assert page.complaints == []


def test_a_printed_page_is_whole_and_light(driver: Any, written: Path) -> None:
    page = Page(driver, written)
    paper = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}  # A4 with Chromium's margins
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    try:
        beyond = page.run(
            """return [...document.querySelectorAll('main th, main td, main svg, main h3')].filter(one =>
                 one.checkVisibility() && one.getBoundingClientRect().right > innerWidth).length"""
        )
        shown = page.run(
            """return ['.scores', '.figure svg', '.save', '.figure details', '#items'].map(one =>
                 [...document.querySelectorAll(one)].filter(e => e.checkVisibility()).length)"""
        )
        ink = page.run("return getComputedStyle(document.querySelector('.figure svg')).fill")
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert beyond == 0 and shown[0] >= 5 and shown[1] > 30 and shown[2:] == [0, 0, 0]
    assert ink == "rgb(27, 31, 36)"


def test_a_run_has_one_hue_in_every_figure_and_badge(page: Page) -> None:
    page.choose("#task", "causalvqa_debug_paired")
    hues = page.run(
        """let of = run => [
             ['.run-badge', 'backgroundColor'], ['.mark', 'borderBottomColor'], ['.answer', 'borderTopColor'],
           ].map(([one, where]) => [...document.querySelectorAll(one)].map(e => [e, e.closest('[data-run]')])
             .filter(([, own]) => own && own.dataset.run === run).map(([e]) => getComputedStyle(e)[where]))
             .concat([[...document.querySelectorAll(`use[style^="fill:var(--run-${run},"]`)]
               .map(e => getComputedStyle(e).fill)]);
           return [of('1'), of('2')]"""
    )
    for found in hues:
        assert all(found), [len(one) for one in found]
    (one,), (two,) = ({hue for kind in found for hue in kind} for found in hues)
    assert one != two


def test_filters_narrow_the_list(page: Page, sample_runs: tuple[Path, Path]) -> None:
    records = read_run(sample_runs[0]).records["causalvqa_debug_paired"]
    page.choose("#task", "causalvqa_debug_paired")
    page.choose("[data-outcome='0']", "wrong")
    wrong = [record for record in records if record.outcome is Outcome.WRONG]
    assert page.counted == f"{len(wrong)} of {len(records)} items"
    assert page.item == wrong[0].item_id
    page.choose("[data-stratum=type]", wrong[0].stratum["type"])
    narrowed = [record for record in wrong if record.stratum["type"] == wrong[0].stratum["type"]]
    assert page.counted == f"{len(narrowed)} of {len(records)} items"
    ids = page.run("return [...document.querySelectorAll('.row .id')].map(row => row.textContent)")
    assert ids == [record.item_id for record in narrowed]
    page.choose("[data-outcome='0']", "any")
    page.choose("[data-outcome='1']", "wrong")
    other = {record.item_id: record for record in read_run(sample_runs[1]).records["causalvqa_debug_paired"]}
    again = [r for r in other.values() if r.outcome is Outcome.WRONG and r.stratum["type"] == wrong[0].stratum["type"]]
    assert page.counted == f"{len(again)} of {len(records)} items"


def test_one_run_right_and_another_wrong_is_a_filter(page: Page, sample_runs: tuple[Path, Path]) -> None:
    one, two = (
        {record.item_id: record.outcome for record in read_run(run).records["causalvqa_debug_paired"]}
        for run in sample_runs
    )
    page.choose("#task", "causalvqa_debug_paired")
    page.choose("[data-outcome='0']", "wrong")
    page.choose("[data-outcome='1']", "correct")
    wanted = [item for item in one if (one[item], two[item]) == (Outcome.WRONG, Outcome.CORRECT)]
    assert wanted and page.counted == f"{len(wanted)} of {len(one)} items" and page.item == wanted[0]
    page.choose("[data-outcome='0']", "any")
    page.choose("[data-outcome='1']", "any")
    page.driver.find_element("id", "differ").click()
    assert page.counted == f"{sum(one[item] is not two[item] for item in one)} of {len(one)} items"
    # A run that is not looked at differs from nothing.
    page.driver.find_element("css selector", "#outcomes button[value='1']").click()
    assert page.counted.startswith("0 of ") and page.complaints == []


def at_address(driver: Any, written: Path, address: str) -> Page:
    """The page at an address, in a new document as a link opens it."""
    driver.get("about:blank")

    class Place:
        def as_uri(self) -> str:
            return f"{written.as_uri()}{address}"

    return Page(driver, Place())  # type: ignore[arg-type]


def test_an_address_survives_reload_and_sending(driver: Any, written: Path, sample_runs: tuple[Path, Path]) -> None:
    page = at_address(driver, written, "")
    assert page.run("return location.hash") == "", "a page that was just opened keeps its address"
    page.choose("#task", "causalvqa_debug_paired")
    page.choose("#run", "2 hasty-2b")
    page.choose("[data-outcome='0']", "correct")
    page.choose("[data-outcome='1']", "wrong")
    page.driver.find_element("id", "find").send_keys("ball")
    page.press("j")
    shown = "return [location.hash, document.querySelector('#detail h3').textContent, \
             document.getElementById('count').textContent, document.getElementById('run').value]"
    address, item, counted, run = before = page.run(shown)
    assert address == f"#task=causalvqa_debug_paired&item={item}&runs=2,1&outcome=1:correct,2:wrong&find=ball"
    assert not counted.startswith("0 of") and run == "1"
    driver.refresh()
    page.wait("return performance.getEntriesByName('items-shown').length > 0")
    assert page.run(shown) == before
    assert at_address(driver, written, address).run(shown) == before
    assert page.run("return document.getElementById('items').getBoundingClientRect().top < innerHeight / 2")
    # Where an address changes on a page that is open, the page follows.
    page.run("location.hash = '#task=causalvqa_debug_paired&item=2_0&outcome=1:right'")
    page.wait("return document.querySelector('#detail h3').textContent === '2_0'")
    assert page.run("return document.querySelector('[data-outcome]').selectedOptions[0].textContent") == "correct"
    assert page.complaints == []


def test_an_address_of_another_page_does_no_harm(driver: Any, written: Path) -> None:
    page = at_address(driver, written, "#item=<b>none</b>&runs=1,99&outcome=7:wrong,1:odd&colour=blue&task=no")
    assert page.run("return document.getElementById('unknown').textContent") == "This page has no item <b>none</b>."
    assert page.item and not page.counted.startswith("0 of") and page.complaints == []
    found = at_address(driver, written, "#item=2_0")
    assert found.item == "2_0" and found.run("return document.getElementById('unknown').hidden")


def test_members_of_a_pair_stand_side_by_side_with_their_clips(page: Page) -> None:
    page.choose("#task", "mvp_mini")
    page.wait("return document.querySelectorAll('.member').length === 2")
    clips = page.run(
        """let videos = [...document.querySelectorAll('#detail .look video, .member video')];
           return videos.map(e => e.getAttribute('aria-label'))"""
    )
    assert clips[0] == clips[1] != clips[2] and len(clips) == 3, "the item's clip, and both side by side"
    tops = page.run("return [...document.querySelectorAll('.member')].map(e => e.getBoundingClientRect().top)")
    assert tops[0] == tops[1]
    other = page.run("return document.querySelectorAll('.member > button')[1].title")
    page.run("document.querySelectorAll('.member > button')[1].click()")
    assert page.item == other and page.run("return location.hash").startswith(f"#task=mvp_mini&item={other}&")
    page.choose("#task", "causalvqa_debug_paired")
    # Both versions ask about one clip: it stands there once.
    assert page.run("return document.querySelectorAll('#detail video').length") == 1
    assert page.run("return document.querySelectorAll('.member').length") == 2


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (500, 900)])
def test_items_begin_on_the_first_screen_of_their_section(
    written: Path, tmp_path: Path, width: int, height: int
) -> None:
    with browser(tmp_path / "profile", (width, height)) as driver:
        for address in ("#items", "#task=cast_bench"):
            page = at_address(driver, written, address)
            top, bottom, seen = page.run(
                """let row = document.querySelector('.row').getBoundingClientRect();
                   return [row.top, row.bottom, innerHeight]"""
            )
            assert top > 0 and bottom < seen, (address, top, bottom, seen)


def test_keys_move_through_the_list(page: Page, sample_runs: tuple[Path, Path]) -> None:
    records = read_run(sample_runs[0]).records["causalvqa_debug_paired"]
    ids = [record.item_id for record in records]
    page.choose("#task", "causalvqa_debug_paired")
    assert page.item == ids[0]
    for keys, place in KEYS:
        page.press(keys)
        assert page.item == ids[place]
    failed = [place for place, record in enumerate(records) if record.outcome in (Outcome.WRONG, Outcome.UNPARSED)]
    page.press("f")
    assert page.item == ids[next(place for place in failed if place > 0)]
    page.press("n")
    assert page.item == ids[[place for place in failed if place > 0][1]]
    selected = page.run("return document.querySelector('.row[aria-selected=true] .id').textContent")
    assert selected == page.item
    shown = page.run("return document.querySelector('.keys').textContent")
    assert all(word in shown for word in ("next", "previous", "next failure"))


def test_keys_do_nothing_where_one_writes(page: Page) -> None:
    page.choose("#task", "causalvqa_debug_paired")
    before = page.item
    page.driver.find_element("id", "find").send_keys("jjf")
    assert page.counted.startswith("0 of")
    page.driver.find_element("id", "find").clear()
    page.driver.find_element("id", "find").send_keys(before)
    assert page.item == before


@pytest.mark.parametrize("clips", [Clips.embed, Clips.link])
def test_clips_play(driver: Any, sample_runs: tuple[Path, Path], tmp_path: Path, clips: Clips) -> None:
    path = tmp_path / "report.html"
    write_page([read_run(sample_runs[0])], path, "cast_bench", clips)
    page = Page(driver, path)
    page.run("document.getElementById('items').scrollIntoView()")  # Chromium starts no clip that is out of sight.
    # Not where it is: by the time that a busy machine asks, it may have begun anew.
    page.wait(
        "let p = document.querySelector('#detail video')?.played; return p?.length && p.end(0) - p.start(0) > 0.3"
    )
    assert page.run("return document.querySelector('#detail video').src").split(":")[0] == (
        "blob" if clips is Clips.embed else "file"
    )
    page.press(" ")
    assert page.run("return document.querySelector('#detail video').paused")
    page.run("document.querySelector('#detail video').currentTime = 1.4")
    page.press(".")
    page.wait("let v = document.querySelector('#detail video'); return !v.seeking && v.currentTime === 2")
    assert page.complaints == []


def test_a_missing_clip_is_said(driver: Any, sample_home: Path, sample_runs: tuple[Path, Path], tmp_path: Path) -> None:
    clip = sample_home / "cast_bench" / "videos" / docs_of(task_state("cast_bench"))[0]["clip"]
    away = clip.with_suffix(".away")
    clip.rename(away)
    try:
        write_page([read_run(sample_runs[0])], tmp_path / "report.html", "cast_bench")
    finally:
        away.rename(clip)
    page = Page(driver, tmp_path / "report.html")
    assert "The clip is missing: test/" in page.run("return document.querySelector('#detail .stage').textContent")
    assert page.complaints == []


def test_boxes_sit_on_the_objects(page: Page) -> None:
    """The pixels of the clip as the browser shows it, within each true box and around it."""
    page.choose("#task", "cast_bench")
    checked = 0
    for _ in range(6):
        lanes = page.run("return [...document.querySelectorAll('.lane.true .name')].map(name => name.textContent)")
        page.wait("let v = document.querySelector('#detail video'); return v && v.readyState >= 2")
        for second in (1, 3):
            page.run("let v = document.querySelector('#detail video'); v.pause(); v.currentTime = arguments[0]", second)
            page.wait(
                """let v = document.querySelector('#detail video');
                   return !v.seeking && Math.abs(v.currentTime - arguments[0]) < 0.01
                     && document.querySelector('.lanes .second').textContent.endsWith(` ${arguments[0]}`)""",
                second,
            )
            width, height, pixels, shown, area = page.run(
                """let v = document.querySelector('#detail video'), c = document.createElement('canvas');
                   c.width = v.videoWidth; c.height = v.videoHeight;
                   let x = c.getContext('2d'); x.drawImage(v, 0, 0);
                   let spot = v.getBoundingClientRect();
                   let boxes = [...document.querySelectorAll('.stage g.true')].map(g => {
                     let r = g.querySelector('.over').getBoundingClientRect(), [left, top] = [spot.left, spot.top];
                     return [g.dataset.number, [r.left - left, r.top - top, r.right - left, r.bottom - top]];
                   });
                   let data = [...x.getImageData(0, 0, c.width, c.height).data];
                   return [c.width, c.height, data, boxes, [spot.width, spot.height]]"""
            )
            picture = np.array(pixels, dtype=np.uint8).reshape(height, width, 4)[..., :3]
            for number, box in shown:
                colour = lanes[int(number) - 1].split(" ", 1)[1].split("_")[0]
                scale = np.array([width / area[0], height / area[1]] * 2)
                check_object(picture, np.array(box) * scale, HUES[colour])
                checked += 1
        page.press("j")
    assert checked >= 12


def check_object(picture: np.ndarray, box: np.ndarray, hue: float) -> None:
    """What has the object's colour in the box and near it lies in the box, about its middle, and fills much of it."""
    x1, y1, x2, y2 = (round(float(side)) for side in box)
    margin, blur = 5, 1  # A clip holds colours at half of its size.
    left, top = max(x1 - margin, 0), max(y1 - margin, 0)
    alike = is_hue(picture, hue)[top : y2 + margin, left : x2 + margin]
    rows, columns = np.nonzero(alike)
    rows, columns = rows + top, columns + left
    inside = (abs(rows - (y1 + y2) / 2) <= (y2 - y1) / 2 + blur) & (
        abs(columns - (x1 + x2) / 2) <= (x2 - x1) / 2 + blur
    )
    assert inside.sum() > 0.4 * (x2 - x1) * (y2 - y1), (box, hue)
    assert inside.mean() > 0.9, (box, hue)
    assert abs(columns.mean() - (x1 + x2) / 2) < 1.5 and abs(rows.mean() - (y1 + y2) / 2) < 1.5, (box, hue)


def is_hue(picture: np.ndarray, hue: float) -> np.ndarray:
    import cv2

    colours = cv2.cvtColor(picture, cv2.COLOR_RGB2HSV).astype(float)
    distance = np.abs((2 * colours[..., 0] - hue + 180) % 360 - 180)
    return (distance < 24) & (colours[..., 1] > 90) & (colours[..., 2] > 60)


def test_both_directions_stand_side_by_side(page: Page) -> None:
    for task, asked in (("yocausal", 0), ("yocausal_vlm", 1)):
        page.choose("#task", task)
        captions = page.run("return [...document.querySelectorAll('.clip figcaption')].map(e => e.textContent)")
        assert len(captions) == 2 and captions[0].startswith("forward") and captions[1].startswith("reversed")
        assert sum("not shown to the model" in caption for caption in captions) == asked
        tops = page.run("return [...document.querySelectorAll('.clip')].map(e => e.getBoundingClientRect().top)")
        assert tops[0] == tops[1]


def test_the_graph_of_a_clip_is_drawn_and_its_events_play_it(driver: Any, written: Path) -> None:
    page = at_address(driver, written, "#task=countervqa&rule=path&outcome=1:correct,2:wrong")
    boxes, on_path, claims = page.run(
        """let all = one => [...document.querySelectorAll(one)];
           return [all('.graph .event').map(e => e.querySelector('title').textContent),
             all('.graph .on-path').length, all('.graph .claim').map(e => e.textContent)]"""
    )
    assert len(boxes) == 4 and on_path == 2
    assert claims == ["✓ 1: leads to it: right", "✗ 2: does not lead to it: wrong, a path is missed"]
    lefts = page.run("return [...document.querySelectorAll('.event rect')].map(e => e.getBoundingClientRect().left)")
    assert lefts == sorted(lefts)
    page.wait("return document.querySelector('#detail video').readyState > 0")
    page.run("document.querySelector('#detail video').pause()")
    asked = page.driver.find_element("css selector", ".graph .asked")
    page.run("arguments[0].scrollIntoView({block: 'center'})", asked)
    minutes, seconds = page.run("return arguments[0].querySelector('.when').textContent", asked).split()[0].split(":")
    asked.click()
    start = 60 * int(minutes) + float(seconds)
    page.wait("return document.querySelector('#detail video').currentTime >= arguments[0] - 0.06", start)
    assert page.run("return !document.querySelector('#detail video').paused")
    listed = page.run("return [...document.querySelectorAll('.event-graph li')].map(e => e.textContent)")
    assert sum("on the question's path" in line for line in listed) == 2 and sum("→" in line for line in listed) == 4
    assert page.complaints == []


def test_losses_are_drawn_against_timesteps(page: Page) -> None:
    page.choose("#task", "yocausal")
    drawn = page.run(
        """return [...document.querySelectorAll('.curve-plot')].map(plot => [
             [...plot.querySelectorAll('.curve')].map(e => [e.querySelector('text').textContent,
               e.querySelector('polyline').points.numberOfItems]), plot.querySelectorAll('rect.apart').length])"""
    )
    assert drawn == [[[["forward", 10], ["reversed", 10]], 10]] * 2
    assert page.complaints == []


def test_the_link_of_an_item_is_copied(driver: Any, written: Path) -> None:
    page = at_address(driver, written, "")
    page.choose("#task", "cast_bench")
    item = page.item
    page.driver.find_element("css selector", "#detail .copy").click()
    address = page.wait(
        """return document.querySelector('#detail .address')?.value
             || (document.querySelector('#detail .copy').textContent === 'copied' && location.href)"""
    )
    assert f"#task=cast_bench&item={item}&runs=1,2" in address and page.complaints == []


def test_both_answers_and_the_truth_are_shown(page: Page, sample_runs: tuple[Path, Path]) -> None:
    page.choose("#task", "causalvqa_debug_paired")
    doc = docs_of(task_state("causalvqa_debug_paired"))[0]
    assert page.run("return document.querySelector('.question').textContent") == doc["question"]
    options = page.run(
        "return [...document.querySelectorAll('.options li > span:nth-child(2)')].map(e => e.textContent)"
    )
    assert options == doc["options"]
    assert page.run("return document.querySelector('.options .key .letter').textContent") == doc["answer"]
    for at, run in enumerate(sample_runs):
        record = read_run(run).records["causalvqa_debug_paired"][0]
        answer = page.run("return document.querySelectorAll('.answer')[arguments[0]].textContent", at)
        assert run.name in answer and record.outcome.value in answer
    pair = page.run("return [...document.querySelectorAll('.pair button')].map(e => e.title)")
    assert pair == ["1_0", "1_1"]


HOSTILE = (
    "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>\u2028 \ud800 <!-- {{ 7 * 7 }}"
)


def test_what_a_model_says_is_text(driver: Any, sample_home: Path, tmp_path: Path) -> None:
    run = write_sample_run(
        tmp_path / HOSTILE[9:17], ["causalvqa_debug_paired", "cast_bench"], lambda task, doc: HOSTILE
    )
    write_page([read_run(run)], tmp_path / "report.html")
    page = Page(driver, tmp_path / "report.html")
    said = page.run("return JSON.stringify(document.querySelector('.answer pre').textContent)")
    # A lone surrogate, which no UTF-8 file can hold, is replaced where a saved response is read.
    assert json.loads(said) == HOSTILE.replace("\ud800", "?")
    assert page.run("return window.owned === undefined && document.images.length === 0")
    assert page.complaints == []


def test_nothing_is_wider_than_a_narrow_window(written: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile", (520, 900)) as driver:
        page = Page(driver, written)
        wide = page.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1]


def test_18416_items_are_usable_within_two_seconds(driver: Any, tmp_path: Path) -> None:
    """From navigation to the first row of the list, after a first paint; then a filter without freezing.

    The best of three counts, so that another process at work does not fail it.
    """
    runs = [read_run(large_run(tmp_path / name, seed)) for seed, name in enumerate(("one", "two"))]
    write_page(runs, tmp_path / "report.html")
    opened, painted, filtered = [], [], []
    for _ in range(3):
        page = Page(driver, tmp_path / "report.html")
        assert page.counted == "18,416 of 18,416 items"
        opened.append(page.run("return performance.getEntriesByName('items-shown')[0].startTime"))
        painted.append(page.run("return performance.getEntriesByType('paint')[0]?.startTime ?? null"))
        filtered.append(
            page.run(
                """let start = performance.now(), outcome = document.querySelector('[data-outcome]');
                   outcome.value = 'failure';
                   outcome.dispatchEvent(new Event('change'));
                   return performance.now() - start"""
            )
        )
    assert min(opened) < 2000 and min(filtered) < 500, (opened, filtered)
    assert any(first is not None and first < shown for first, shown in zip(painted, opened, strict=True)), painted
    page.choose("[data-outcome]", "any")
    assert page.run("return document.querySelectorAll('.row').length") < 60
    page.run("document.getElementById('list').scrollTop = 1e9")
    last = "return [...document.querySelectorAll('.row .id')].at(-1).textContent === arguments[0]"
    page.wait(last, "p9207_1")
    page.press("f")
    assert page.complaints == []


def large_run(folder: Path, seed: int) -> Path:
    """A run of as many items as MVP's mini split has, with a prompt and a sentence for each."""
    draw = np.random.default_rng(seed)
    folder.mkdir()
    right = draw.random(18_416) < 0.6
    tasks = {"mvp_mini_intuitive_physics": range(0, 9_000), "mvp_mini_temporal_reasoning": range(9_000, 18_416)}
    results = {
        "configs": {task: {} for task in tasks},
        "group_subtasks": {"mvp_mini": list(tasks)},
        "versions": dict.fromkeys([*tasks, "mvp_mini"], "1-A"),
        "config": {"model": folder.name},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results))
    for task, items in tasks.items():
        lines = []
        for item in items:
            outcome = Outcome.CORRECT if right[item] else Outcome.WRONG
            record = Record(
                f"p{item // 2}_{item % 2}", f"p{item // 2}", {"subset": task[9:], "source": f"s{item % 7}"}, "A",
                "A" if right[item] else "B", outcome,
                fields={"official_answered": "A", "official_correct": bool(right[item])},
            )  # fmt: skip
            said = f"({record.answered}) because of what is seen in the clip at moment {item}."
            asked = f"Question {item // 2}: what does the thing in the clip do next, and where does it go from there?"
            lines.append(
                json.dumps({"record": record.to_json(), "filtered_resps": said, "input": asked + " Options" * 12})
            )
        (folder / f"20261121_samples_{task}.jsonl").write_text("\n".join(lines))
    return folder
