"""The figures of a report: which there are, what their files are called, and writing them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lmms_eval_tasks.report.sections import Section, build_sections
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.reporting.figures import Figure
from lmms_eval_tasks.utils.reporting.figures.files import figure_files
from lmms_eval_tasks.utils.runs.run import Run


def figures_of(sections: Iterable[Section]) -> dict[str, Figure]:
    """The figures of a page's sections, by the names of their files without an ending: task, panel, and run."""
    named: dict[str, Figure] = {}
    for section in sections:
        for panel in section.panels:
            for figure in panel.all_figures:
                stem = ".".join(filter(None, (section.name, _slug(panel.title), _slug(figure.name))))
                # Two runs whose names differ in signs alone.
                while stem in named:
                    stem += "-2"
                named[stem] = figure
    return named


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def write_figures(runs: Sequence[Run], folder: Path, only: str = "", progress: Progress = no_progress) -> int:
    """Write every figure of the runs' page as PDF, SVG, PNG and CSV; the same runs and data give the same bytes.

    Args:
        runs: The runs.
        folder: Where they go; it is made where it is missing. A file of the same name is replaced, others stay.
        only: The one task or group; all of them if it is empty.
        progress: Called as work goes on.

    Returns:
        How many figures there are.

    Raises:
        InputError: where no run holds `only`.
        OSError: where a file cannot be written.
    """
    figures = figures_of(build_sections(runs, only)[1])
    for done, (stem, figure) in enumerate(figures.items()):
        progress("drawing figures", done, len(figures))
        for form, content in figure_files(figure).items():
            write_file(folder / f"{stem}.{form.value}", content)
    progress("drawing figures", len(figures), len(figures))
    return len(figures)
