"""The colours of figures, and the hue of each run: the same in every badge and figure, so that it means one run."""

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


def ink_styles() -> str:
    """The style sheet that gives every ink as ``--name``, and ``data-run`` its hue, on a light and on a dark page."""
    light, dark = (
        f":root {{ {' '.join(f'--{name}: {getattr(ink, side)};' for name, ink in INKS.items())} }}"
        for side in ("light", "dark")
    )
    numbers = [("[data-run]", ""), *((f'[data-run="{n}"]', str(n)) for n in range(1, len(HUES) + 1))]
    runs = "\n".join(
        f"{at} {{ --run: var(--{ground}); --on-run: var(--{text}); }}"
        for at, (ground, text) in ((at, run_inks(number)) for at, number in numbers)
    )
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n{runs}"


def run_inks(tag: str) -> tuple[str, str]:
    """The names of the inks of a run's hue, and of what is written on it."""
    number = tag if tag.isdecimal() and 1 <= int(tag) <= len(HUES) else "further"
    return f"run-{number}", f"on-run-{number}"


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


def _inks() -> dict[str, Hue]:
    """All inks by name; no two are one colour on a light page, so that there a colour tells its name."""
    hues = {str(place): hue for place, hue in enumerate(HUES, start=1)} | {"further": FURTHER}
    named = dict(_PAGE)
    named |= {f"run-{number}": hue for number, hue in hues.items()}
    named |= {f"on-run-{number}": Hue(text_on(hue.light), text_on(hue.dark)) for number, hue in hues.items()}
    inks: dict[str, Hue] = {}
    used: set[str] = set()
    for name, hue in named.items():
        light, step = hue.light, -1 if hue.light.endswith("f") else 1
        while light in used:
            light = f"#{int(light[1:], 16) + step:06x}"
        used.add(light)
        inks[name] = Hue(light, hue.dark)
    return inks


_PAGE = {
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
}
INKS = _inks()
"""The inks of figures and pages by name. A figure is drawn in those of a light page."""
