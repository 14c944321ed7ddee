"""Figures as files for a paper, and as what a page shows, all of one drawing."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.formats import Document, Format, write_document
from lmms_eval_tasks.utils.reporting.figures.figure import Figure

if TYPE_CHECKING:
    from markupsafe import Markup

    from lmms_eval_tasks.utils.reporting.figures.sheet import Sheet


class FigureFile(str, Enum):
    """A kind of file that a figure is written as."""

    PDF = "pdf"
    SVG = "svg"
    PNG = "png"
    CSV = "csv"


DOTS_PER_INCH = 300
# No file says when it was made or by which version, so that the same figure gives the same bytes.
_UNDATED: dict[FigureFile, dict[str, Any]] = {
    FigureFile.PDF: {"Creator": None, "Producer": None, "CreationDate": None},
    FigureFile.SVG: {"Creator": None, "Date": None},
    FigureFile.PNG: {"Software": None},
}


def figure_files(figure: Figure) -> dict[FigureFile, bytes]:
    """A figure as each kind of file; the same figure gives the same bytes."""
    table = figure.table()
    if figure.warning:
        table.warnings.append(f"{figure.warning}.")
    document = Document("report", lmms_eval_tasks.__version__, [table])
    with _settings():
        sheet = figure.draw()
        drawn = {form: _saved(sheet, form) for form in _UNDATED}
    return {**drawn, FigureFile.CSV: write_document(document, Format.CSV).encode()}


def page_figures(figures: Iterable[Figure]) -> list[Markup]:
    """Figures as the elements that a page shows, in the page's colours, with a tooltip on each mark."""
    from lmms_eval_tasks.utils.reporting.figures.page_svg import page_svg

    with _settings(text_as_text=True):
        drawn = ((figure, figure.draw()) for figure in figures)
        return [
            page_svg(_saved(sheet, FigureFile.SVG), figure.caption, sheet.titles, f"f{place}-")
            for place, (figure, sheet) in enumerate(drawn)
        ]


def _saved(sheet: Sheet, form: FigureFile) -> bytes:
    file = io.BytesIO()
    sheet.finish().savefig(file, format=form.value, dpi=DOTS_PER_INCH, metadata=_UNDATED[form])
    return file.getvalue()


@contextmanager
def _settings(text_as_text: bool = False) -> Iterator[None]:
    """Matplotlib's own settings, whatever a user's are, with fonts embedded and ids that are always the same."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "pdf.fonttype": 42,
                "svg.fonttype": "none" if text_as_text else "path",
                "svg.hashsalt": "lmms_eval_tasks",
            }
        )
        yield
