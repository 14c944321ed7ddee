"""CounterVQA's table of models as the paper prints it: interactions and levels as columns."""

from __future__ import annotations

from functools import partial

from lmms_eval_tasks.api.answers import VERDICT_ACCURACY
from lmms_eval_tasks.api.page import Layout, LayoutPlace
from lmms_eval_tasks.countervqa.metrics import CELLS, in_cell
from lmms_eval_tasks.countervqa.report import AVERAGE, OTHER_RULE, TOTAL

LAYOUTS = (
    Layout(
        "Table 2: models by interaction and level",
        ("CounterVQA paper Table 2",),
        [
            LayoutPlace(
                f"{interaction or TOTAL} {level or AVERAGE}",
                "countervqa",
                VERDICT_ACCURACY,
                {"split": interaction or TOTAL, "level": level.removeprefix("L") if level else "avg"},
                partial(in_cell, interaction, level),
            )
            for interaction, level in CELLS
        ],
        note=OTHER_RULE,
    ),
)
