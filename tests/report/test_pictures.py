"""The pictures in the documentation are drawn by a script, of sample data."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs import pages
from pictures import DOCS, NAMES, SIZE, draw_pictures
from PIL import Image

LARGEST = 300_000


@pytest.mark.browser
def test_the_script_draws_each_picture(written: Path, tmp_path: Path) -> None:
    draw_pictures(written, tmp_path, tmp_path / "profile")
    for name in NAMES:
        with Image.open(tmp_path / name) as picture:
            # More colours than an empty page has.
            assert picture.size[0] == SIZE[0] and len(picture.getcolors(1 << 24)) > 50
        assert (tmp_path / name).stat().st_size < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_small_and_shown(name: str) -> None:
    assert (DOCS / name).stat().st_size < LARGEST
    assert any(f"{name})" in page.read_text(encoding="utf-8") for page in pages())
