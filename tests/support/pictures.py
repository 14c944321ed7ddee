"""The pictures of the report page that the documentation shows, of made-up answers to sample data.

`make pictures` draws them anew. The browser decides a few pixels, so they are not compared in tests.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from browser import Page, browser
from docs import ROOT
from PIL import Image
from sample_runs import TASKS, at, prepare_sample, sometimes, write_sample_run

from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.runs.folder import read_run

DOCS = ROOT / "docs"
SIZE = (1280, 1160)
ITEM, SECOND = "sav_000002_1", 3.0
NAMES = ("scores.png", "report.png")
"""The top of the page, and an item with its clip."""


def write_runs(folder: Path) -> list[Path]:
    """Runs of two models that are none, one better than the other, on what is prepared."""
    return [
        write_sample_run(folder / name, list(TASKS), sometimes(seed, right))
        for name, seed, right in (("careful-7b", 1, 0.75), ("hasty-2b", 2, 0.45))
    ]


def write_report(runs: Sequence[Path], path: Path) -> Path:
    path.write_text(build_page([read_run(run) for run in runs]), "utf-8")
    return path


def draw_pictures(report: Path, folder: Path, profile: Path) -> None:
    """Draw all pictures of a page into a folder; `profile` is a new folder for the browser."""
    with browser(profile, SIZE) as driver:
        page = Page(driver, report)
        page.run("document.documentElement.style.scrollbarWidth = 'none'")
        save(driver, folder / NAMES[0])
        page.choose("#task", "cast_bench")
        page.run("[...document.querySelectorAll('#list *')].find(e => e.textContent === arguments[0]).click()", ITEM)
        page.wait("return document.querySelector('#detail video')?.readyState > 1")
        page.run("const v = document.querySelector('#detail video'); v.pause(); v.currentTime = arguments[0]", SECOND)
        page.wait(
            "const video = document.querySelector('#detail video'); return !video.seeking && video.readyState > 1"
        )
        # What is drawn again in part may differ by a hair, so everything is drawn anew at once.
        page.run("document.activeElement.blur(); document.body.style.display = 'none'; document.body.offsetHeight")
        page.run("document.body.style.display = ''; document.querySelector('#items').scrollIntoView(); scrollBy(0, 50)")
        page.wait("requestAnimationFrame(() => requestAnimationFrame(() => window.drawn = true)); return window.drawn")
        save(driver, folder / NAMES[1])


def save(driver: Any, path: Path) -> None:
    with Image.open(io.BytesIO(driver.get_screenshot_as_png())) as picture:
        picture.convert("RGB").save(path, optimize=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with at(folder / "home"):
            prepare_sample(folder / "sample")
            report = write_report(write_runs(folder / "runs"), folder / "report.html")
        draw_pictures(report, DOCS, folder / "profile")
    sys.stdout.write(f"{', '.join(NAMES)} are drawn.\n")


if __name__ == "__main__":
    main()
