"""CaST-Bench's table of models as the paper prints it."""

from __future__ import annotations

from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES
from lmms_eval_tasks.api.page import Layout, LayoutPlace

PRINTED = {
    "accuracy": "qa_accuracy",
    "temporal_recall": "temporal_R@0.5",
    "im_tiou": "IM-tIoU",
    "st_recall": "ST_R@0.1",
    "im_viou": "IM-vIoU",
    "faithful": "faithful",
    "spurious": "spurious",
}
"""Our scores to their names in `published.json`, in the paper's order."""

# A second-hand summary, whose figure of the best model is in the table.
PEOPLE = 'secondary: en.papernotes.org summary of arXiv 2605.23216 ("'

LAYOUTS = (
    Layout(
        "Table 4: answers and their evidence",
        ("cast-bench.github.io index.html first version", PEOPLE),
        [
            LayoutPlace(name.replace("_", " "), "cast_bench", EVIDENCE_SCORES[ours], {"metric": name, "split": "full"})
            for ours, name in PRINTED.items()
        ],
        digits=2,
        note="The paper's own table was not to be had: its figures are those of the project page.",
    ),
)
