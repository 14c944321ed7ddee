"""What of the released evidence is unusual: the seconds of its boxes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmms_eval_tasks.cast_bench.release import is_time

CASES = json.loads((Path(__file__).parents[1] / "utils/answers/evidence/cases/timestamps.json").read_text("utf-8"))


@pytest.mark.parametrize("text", [*CASES["times"], *CASES["others"]], ids=repr)
def test_what_a_careful_reader_takes_for_a_time(text: str) -> None:
    assert is_time(text) == (text in CASES["times"])
