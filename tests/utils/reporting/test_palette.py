"""The hues of runs: told apart by everybody, and seen on a light and on a dark page."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.utils.reporting.drawing import FULLEST
from lmms_eval_tasks.utils.reporting.palette import FURTHER, HUES, INKS, contrast, ink_styles, text_on

GROUNDS = {"light": ("#ffffff", "#f7f7f5"), "dark": ("#1b1f24", "#14171b")}
"""The page's surface and ground."""


@pytest.mark.parametrize("theme", list(GROUNDS))
def test_hues_stand_out_from_the_page_and_their_numbers_are_read(theme: str) -> None:
    for hue in (*HUES, FURTHER):
        colour = getattr(hue, theme)
        # WCAG 2.2: 3 for graphical objects (1.4.11), 4.5 for text (1.4.3).
        assert min(contrast(colour, ground) for ground in GROUNDS[theme]) >= 3, colour
        assert contrast(colour, text_on(colour)) >= 4.5, colour
    # So are numbers on the fullest cell.
    surface, accent, ink = (getattr(INKS[name], theme) for name in ("surface", "accent", "ink"))
    parts = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in (surface, accent)]
    mixed = [round(FULLEST * two + (1 - FULLEST) * one) for one, two in zip(*parts, strict=True)]
    assert contrast("#" + "".join(f"{part:02x}" for part in mixed), ink) >= 4.5


def test_every_number_has_a_hue_and_an_ink_is_known_by_its_colour() -> None:
    assert len(set(HUES)) == len(HUES) and FURTHER not in HUES
    assert len({ink.light for ink in INKS.values()}) == len(INKS)
    styles = ink_styles()
    light, dark = styles.split("@media screen and (prefers-color-scheme: dark)")
    for number, hue in enumerate(HUES, start=1):
        assert f"--run-{number}: {hue.light};" in light and f"--run-{number}: {hue.dark};" in dark
        assert f'[data-run="{number}"] {{ --run: var(--run-{number}); --on-run: var(--on-run-{number}); }}' in styles
        assert INKS[f"run-{number}"] == hue
        assert contrast(INKS[f"on-run-{number}"].light, text_on(hue.light)) < 1.02
