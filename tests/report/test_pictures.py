"""The pictures in the documentation are drawn by a script, of sample data."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs import pages
from pictures import DOCS, NAMES, SIZE, draw_pictures
from PIL import Image, ImageChops

LARGEST = 300_000


@pytest.mark.browser
def test_the_script_draws_each_picture_and_the_same_twice(written: Path, tmp_path: Path) -> None:
    for number in ("first", "second"):
        (tmp_path / number).mkdir()
        draw_pictures(written, tmp_path / number, tmp_path / f"{number} profile")
    for name in NAMES:
        with Image.open(tmp_path / "first" / name) as one, Image.open(tmp_path / "second" / name) as other:
            assert one.size == other.size and one.size[0] == SIZE[0]
            # The browser rounds a colour one way or the other.
            assert all(most <= 2 for _, most in ImageChops.difference(one, other).getextrema())
            assert len(one.getcolors(1 << 24)) > 50
        assert (tmp_path / "first" / name).stat().st_size < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_small_and_shown(name: str) -> None:
    assert (DOCS / name).stat().st_size < LARGEST
    assert any(f"{name})" in page.read_text(encoding="utf-8") for page in pages())
