"""The hue of each run: the same in every badge and figure, so that a number and its colour mean one run everywhere.

An element of a page that belongs to a run has the attribute ``data-run``, the run's number; the style sheet that
`hue_styles` gives sets ``--run`` and ``--on-run`` there. Badges and figures use these two and no colour of their own.
"""

from __future__ import annotations

from typing import NamedTuple


class Hue(NamedTuple):
    """A colour on a light and on a dark page, each as ``#rrggbb``."""

    light: str
    dark: str


HUES = (
    Hue("#462dbc", "#8986ed"),
    Hue("#aa4306", "#f2a02d"),
    Hue("#067969", "#56c6b9"),
    Hue("#e046b0", "#e0437f"),
    Hue("#26185c", "#6d4ee6"),
    Hue("#8f9412", "#ffee69"),
    Hue("#4a90ee", "#9ce5fe"),
    Hue("#570d08", "#a25511"),
)
"""Of the first runs. A test holds them apart for people with any colour vision, and visible on the page's ground."""
FURTHER = Hue("#66707b", "#9aa4af")
"""Of all runs after those: a hue that came twice would be taken for one run, so their numbers alone tell them apart."""
BLACK, WHITE = "#000000", "#ffffff"


def hue_styles() -> str:
    """The style sheet that gives ``data-run`` its colours, on a light and on a dark page."""
    light = _rules([hue.light for hue in HUES], FURTHER.light)
    dark = _rules([hue.dark for hue in HUES], FURTHER.dark)
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _rules(colours: list[str], further: str) -> str:
    named = [("[data-run]", further), *((f'[data-run="{place}"]', one) for place, one in enumerate(colours, start=1))]
    return "\n".join(f"{name} {{ --run: {colour}; --on-run: {text_on(colour)}; }}" for name, colour in named)


def text_on(colour: str) -> str:
    """Black or white, whichever is read better on a colour: their contrast is never below 4.5."""
    return max((BLACK, WHITE), key=lambda text: contrast(text, colour))


def contrast(one: str, two: str) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    darker, lighter = sorted(map(_luminance, (one, two)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def linear(colour: str) -> tuple[float, ...]:
    """Red, green and blue of a colour as shares of light, 0 to 1 (WCAG 2.2, "relative luminance")."""
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
