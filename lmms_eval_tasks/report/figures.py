"""The figures of a report: which there are, what their files are called, and writing them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from itertools import chain, count
from pathlib import Path

from lmms_eval_tasks.report.sections import Section, build_sections
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.reporting.figures import Figure
from lmms_eval_tasks.utils.reporting.figures.files import figure_files
from lmms_eval_tasks.utils.runs.run import Run

LONGEST_NAME = 200
"""Bytes of a file's name without its ending: most file systems take 255."""


def figures_of(sections: Iterable[Section]) -> dict[str, Figure]:
    """The figures of a page's sections, by the names of their files without an ending: task, panel, and run."""
    named: dict[str, Figure] = {}
    for section in sections:
        for panel in section.panels:
            for figure in panel.all_figures:
                parts = re.sub(r"[^\w.-]+", "-", section.name), _slug(panel.title), _slug(figure.name)
                named[_unused(".".join(filter(None, parts)), named)] = figure
    return named


def _slug(text: str) -> str:
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-")


def _unused(name: str, used: Container[str]) -> str:
    """A name, shortened where it is too long, and with a number where it is taken: runs may differ in signs alone."""
    short = name.encode()[:LONGEST_NAME].decode(errors="ignore")
    numbered = (f"{short}-{number}" for number in count(2))
    return next(one for one in chain([short], numbered) if one not in used)


def write_figures(runs: Sequence[Run], folder: Path, only: str = "", progress: Progress = no_progress) -> int:
    """Write every figure of the runs' page as PDF, SVG, PNG and CSV; the same runs and data give the same bytes."""
    figures = figures_of(build_sections(runs, only)[1])
    for done, (stem, figure) in enumerate(figures.items()):
        progress("drawing figures", done, len(figures))
        for form, content in figure_files(figure).items():
            write_file(folder / f"{stem}.{form.value}", content)
    progress("drawing figures", len(figures), len(figures))
    return len(figures)
