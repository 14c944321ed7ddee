"""Figures as files for a paper, and as what a page shows, all of one drawing."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.output import Document, Format, write_document
from lmms_eval_tasks.utils.core.text import printable
from lmms_eval_tasks.utils.reporting.figure import SET_KIND, Figure
from lmms_eval_tasks.utils.reporting.palette import INKS

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.figure import Sheet


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


_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NAMES = {ink.light: f"var(--{name},{ink.light})" for name, ink in INKS.items()}
_NUMBER = re.compile(r"-?\d+\.\d+")
_ROOT = "fill:{ink};font:7px 'DejaVu Sans',Verdana,sans-serif;stroke-linejoin:round"
_USUAL = {"text-anchor": "start", "font-size": "7px", "fill": _NAMES[INKS["ink"].light], "opacity": "1"}
"""What a text has that does not say otherwise."""


def page_svg(drawn: bytes, caption: str, titles: Mapping[str, Sequence[str]], prefix: str) -> Markup:
    """The element that shows a drawing."""
    root = ElementTree.fromstring(drawn)
    shown = ElementTree.Element(
        "svg",
        {
            "viewBox": root.attrib["viewBox"],
            "role": "img",
            "aria-label": printable(" ".join(caption.split())),
            "style": _ROOT.format(ink=_NAMES[INKS["ink"].light]),
        },
    )
    (figure,) = root.findall(f"{_SVG}g")
    # The first child is the ground, which the page has itself.
    for child in list(figure)[1:]:
        shown.extend(_artist(child, titles, prefix))
    return Markup(ElementTree.tostring(shown, encoding="unicode", short_empty_elements=True))


def _artist(group: ElementTree.Element, titles: Mapping[str, Sequence[str]], prefix: str) -> list[ElementTree.Element]:
    """Return the elements drawn by one artist, without the groups around them."""
    marks = [one for one in group.iter() if one.tag in (f"{_SVG}use", f"{_SVG}path", f"{_SVG}text")]
    defined = [one for defs in group.iter(f"{_SVG}defs") for one in defs]
    seen = [one for one in marks if one not in defined]
    shown = [_element(one, prefix) for one in seen]
    if group.get("id") == SET_KIND:
        shown[0].set("class", SET_KIND)
    for element, title in zip(shown, titles.get(group.get("id", ""), ()), strict=False):
        ElementTree.SubElement(element, "title").text = printable(" ".join(title.split()))
    if not defined:
        return shown
    defs = ElementTree.Element("defs")
    defs.extend(_element(one, prefix) for one in defined)
    return [defs, *shown]


def _element(one: ElementTree.Element, prefix: str) -> ElementTree.Element:
    tag = one.tag.removeprefix(_SVG)
    element = ElementTree.Element(tag)
    for name, value in one.attrib.items():
        if name == "style":
            styles = _styles(value, tag == "text")
            if styles:
                element.set("style", styles)
        elif name == _LINK:
            element.set("href", f"#{prefix}{value[1:]}")
        elif name == "id":
            element.set("id", f"{prefix}{value}")
        elif name != "transform" or "rotate(-0 " not in value:
            element.set(name, _NUMBER.sub(_short, value).replace(" \n", " ").replace(" z", "z").strip())
    element.text = one.text if tag == "text" else None
    return element


def _styles(written: str, of_text: bool) -> str:
    pairs = [part.split(":", 1) for part in written.split(";") if ":" in part]
    styles = {name.strip(): _NAMES.get(value.strip(), value.strip()) for name, value in pairs}
    if of_text:
        styles.pop("font-family", None)
        styles = {name: value for name, value in styles.items() if _USUAL.get(name) != value}
    return ";".join(f"{name}:{value}" for name, value in styles.items())


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
