"""The colours of figures, and the hue of each run: the same in every badge and figure, so that it means one run."""

from __future__ import annotations

from typing import NamedTuple


class Hue(NamedTuple):
    """A colour on a light and on a dark page, each as ``#rrggbb``."""

    light: str
    dark: str


INKS = {
    "ink": Hue("#1b1f24", "#e8eaed"),
    "surface": Hue("#ffffff", "#1b1f24"),
    "muted": Hue("#66707b", "#9aa4af"),
    "line": Hue("#e3e5e8", "#2e343b"),
    "faint": Hue("#f0f1f2", "#23282e"),
    "accent": Hue("#2a5bd0", "#84a9ff"),
    "correct": Hue("#2a5bd1", "#84a9ff"),
    "wrong": Hue("#c4533a", "#e98a72"),
    "unparsed": Hue("#c79a2b", "#dfbb5b"),
    "unscored": Hue("#a9b0b7", "#66707b"),
    "half-correct": Hue("#94ade8", "#4f648f"),
    "half-wrong": Hue("#e1a99c", "#82544b"),
    "run-1": Hue("#462dbc", "#8986ed"),
    "run-2": Hue("#aa4306", "#f2a02d"),
    "run-3": Hue("#067969", "#56c6b9"),
    "run-4": Hue("#e046b0", "#e0437f"),
    "run-5": Hue("#26185c", "#6d4ee6"),
    "run-6": Hue("#8f9412", "#ffee69"),
    "run-7": Hue("#4a90ee", "#9ce5fe"),
    "run-8": Hue("#570d08", "#a25511"),
    # Of all runs after those: a hue that came twice would be taken for one run, so their numbers alone tell them apart.
    "run-further": Hue("#66707c", "#9aa4af"),
    "on-run-1": Hue("#fffffe", "#000000"),
    "on-run-2": Hue("#fffffd", "#000000"),
    "on-run-3": Hue("#fffffc", "#000000"),
    "on-run-4": Hue("#000000", "#000000"),
    "on-run-5": Hue("#fffffb", "#ffffff"),
    "on-run-6": Hue("#000001", "#000000"),
    "on-run-7": Hue("#000002", "#000000"),
    "on-run-8": Hue("#fffffa", "#ffffff"),
    "on-run-further": Hue("#fffff9", "#000000"),
}
"""The inks of figures and pages by name. A figure is drawn in those of a light page, of which no two are one colour, so
that there a colour tells its name. A test holds the hues of runs visible on the page's ground, and what is written
on them readable."""
HUES = 8
"""How many runs have hues of their own."""


def ink_styles() -> str:
    """The style sheet that gives every ink as ``--name``, and ``data-run`` its hue, on a light and on a dark page."""
    light, dark = (
        f":root {{ {' '.join(f'--{name}: {getattr(ink, side)};' for name, ink in INKS.items())} }}"
        for side in ("light", "dark")
    )
    numbers = [("[data-run]", ""), *((f'[data-run="{n}"]', str(n)) for n in range(1, HUES + 1))]
    runs = "\n".join(
        f"{at} {{ --run: var(--{ground}); --on-run: var(--{text}); }}"
        for at, (ground, text) in ((at, run_inks(number)) for at, number in numbers)
    )
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n{runs}"


def run_inks(tag: str) -> tuple[str, str]:
    """The names of the inks of a run's hue, and of what is written on it."""
    number = tag if tag.isdecimal() and 1 <= int(tag) <= HUES else "further"
    return f"run-{number}", f"on-run-{number}"
