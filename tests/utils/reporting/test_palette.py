"""The hues of runs: told apart by everybody, and seen on a light and on a dark page."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from lmms_eval_tasks.utils.reporting.drawing import FULLEST
from lmms_eval_tasks.utils.reporting.palette import FURTHER, HUES, INKS, contrast, ink_styles, linear, text_on

# Machado, Oliveira and Fernandes 2009, table of their supplement: severity 1.0, on linear light.
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson 2020, "A perceptual color space for image processing" (Oklab).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
GROUNDS = {"light": ("#ffffff", "#f7f7f5"), "dark": ("#1b1f24", "#14171b")}
"""The page's surface and ground."""


def seen(colour: str, vision: str) -> np.ndarray:
    light = np.clip(VISIONS[vision] @ np.array(linear(colour)), 0, 1)
    return TO_LAB @ np.cbrt(TO_CONES @ light)


def distance(one: str, two: str, vision: str) -> float:
    return float(np.linalg.norm(seen(one, vision) - seen(two, vision)))


def test_hues_are_told_apart() -> None:
    """A step of 0.02 in Oklab is about what one can just see."""
    for theme, vision in product(GROUNDS, VISIONS):
        colours = [getattr(hue, theme) for hue in HUES]
        nearest = min((distance(one, two, vision), one, two) for one, two in combinations(colours, 2))
        assert nearest[0] > 0.11, (nearest, theme, vision)
    assert distance("#000000", "#ffffff", "usual") == pytest.approx(1, abs=1e-3)
    # A red and a green of one lightness: apart for most people, alike for deuteranopes.
    assert distance("#c0392b", "#5d7a00", "usual") > 0.2 > 0.05 > distance("#c0392b", "#7a6a00", "deuteranopia")


@pytest.mark.parametrize("theme", list(GROUNDS))
def test_hues_stand_out_from_the_page_and_their_numbers_are_read(theme: str) -> None:
    for hue in (*HUES, FURTHER):
        colour = getattr(hue, theme)
        # WCAG 2.2: 3 for graphical objects (1.4.11), 4.5 for text (1.4.3).
        assert min(contrast(colour, ground) for ground in GROUNDS[theme]) >= 3, colour
        assert contrast(colour, text_on(colour)) >= 4.5, colour


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


@pytest.mark.parametrize("theme", list(GROUNDS))
def test_numbers_are_read_on_the_fullest_cell(theme: str) -> None:
    surface, accent, ink = (getattr(INKS[name], theme) for name in ("surface", "accent", "ink"))
    parts = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in (surface, accent)]
    mixed = [round(FULLEST * two + (1 - FULLEST) * one) for one, two in zip(*parts, strict=True)]
    assert contrast("#" + "".join(f"{part:02x}" for part in mixed), ink) >= 4.5
