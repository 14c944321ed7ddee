"""What people are asked: which of a clip and its reversal is reversed, and whether a clip shows cause and effect.

Source: paper, section on people: they see the prompt, which is the clip's caption, then both clips in random order,
each played three times at most; *unknown* counts half, about 20% of the answers were that;
RSI 79.08 (Table 4) and CCI 8.67 (Table 5). Which pairs people can tell is not said there: more than half is ours.
Figure 6b compares the judge's causality labels of 60 clips with people's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import AskedItem, Inquiry, OfferedChoice, Record, Row
from lmms_eval_tasks.api.people import HumanStudy
from lmms_eval_tasks.yocausal import metrics
from lmms_eval_tasks.yocausal.card import SUBSETS
from lmms_eval_tasks.yocausal.table import CAUSALITY, DISCRIMINABLE, stratum


def _has_label(label: bool, record: Record) -> bool:
    return record.fields[CAUSALITY] is label


def _is_labelled(record: Record) -> bool:
    return isinstance(record.fields[CAUSALITY], bool)


STUDY = HumanStudy(
    versions={"forward_first": "SECOND", "reversed_first": "FIRST"},
    choices=("FIRST", "SECOND"),
    metrics=(
        metrics.RSI,
        *metrics.RSI.by("subset", SUBSETS),
        metrics.RSI.within("causal", partial(_has_label, True)),
        metrics.RSI.within("non_causal", partial(_has_label, False)),
        replace(metrics.CCI, applies=_is_labelled),
    ),
    stratum=stratum,
    columns=(CAUSALITY,),
    label=DISCRIMINABLE,
)
REPLAYS = 2
"""After the first play, so that there are three at most."""


def ask_pairs(rows: Sequence[Row]) -> list[AskedItem]:
    """Return the items asking which clip of each pair is reversed, in either order, after its caption was read."""
    choices = tuple(OfferedChoice(choice, "", choice.capitalize()) for choice in STUDY.choices)
    return [
        AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question="One of these two clips is played in reverse. Which one?",
            ways={
                "forward_first": (row["clip"], row["clip_backward"]),
                "reversed_first": (row["clip_backward"], row["clip"]),
            },
            choices=(*choices, OfferedChoice("UNKNOWN", "", "I cannot tell")),
            labels=tuple(choice.text for choice in choices),
            replays=REPLAYS,
            before=row["caption"] or "",
        )
        for row in rows
    ]


def ask_causality(rows: Sequence[Row]) -> list[AskedItem]:
    """Whether the forward clip of each pair that a judge has labelled shows cause and effect; the label is its key."""
    choices = (OfferedChoice(CAUSAL, "Y", "Yes, it does"), OfferedChoice(NOT_CAUSAL, "N", "No, it does not"))
    return [
        AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question="Is there an event in this clip that visibly causes another event in it?",
            ways={"": (row["clip"],)},
            choices=choices,
            key=CAUSAL if row[CAUSALITY] else NOT_CAUSAL,
        )
        for row in rows
        if row[CAUSALITY] is not None
    ]


CAUSAL, NOT_CAUSAL = "CAUSAL", "NOT_CAUSAL"
INQUIRIES = {
    "answer": Inquiry("choice", ask_pairs, responses=15, attention=2),
    "causality": Inquiry(
        "choice",
        ask_causality,
        attention=2,
        positive=CAUSAL,
        paper={"F1": "82.76", "Kendall tau-b": "0.7613"},
    ),
}
