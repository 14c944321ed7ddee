"""A drawing as an element of a page: smaller, in the page's colours, with tooltips."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from markupsafe import Markup

from lmms_eval_tasks.utils.core.wording import printable
from lmms_eval_tasks.utils.reporting.figures.sheet import SET_KIND
from lmms_eval_tasks.utils.reporting.palette import INKS

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
    """What one artist drew, without the groups around it."""
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
