"""The study of people: a clip and its reversal are shown one after the other, and which of them is reversed is asked.

Source: paper, section on people: the order is random, *unknown* counts half, about 20% of the answers were that;
RSI 79.08 (Table 4) and CCI 8.67 (Table 5). Which pairs people can tell is not said there: more than half is ours.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.human_study import HumanStudy, credit_of
from lmms_eval_tasks.yocausal import metrics
from lmms_eval_tasks.yocausal.card import SUBSETS
from lmms_eval_tasks.yocausal.hooks import stratum
from lmms_eval_tasks.yocausal.table import CAUSALITY, DISCRIMINABLE


def _has_label(label: bool, record: Record) -> bool:
    return record.fields[CAUSALITY] is label


def _is_labelled(record: Record) -> bool:
    return isinstance(record.fields[CAUSALITY], bool)


_RSI = replace(metrics.RSI, value=credit_of)
STUDY = HumanStudy(
    versions={"forward_first": "SECOND", "reversed_first": "FIRST"},
    choices=("FIRST", "SECOND"),
    metrics=(
        _RSI,
        *_RSI.by("subset", SUBSETS),
        _RSI.within("causal", partial(_has_label, True)),
        _RSI.within("non_causal", partial(_has_label, False)),
        replace(metrics.CCI, value=credit_of, applies=_is_labelled),
    ),
    stratum=stratum,
    columns=(CAUSALITY,),
    label=DISCRIMINABLE,
    question="One of these two clips is played in reverse. Which one?",
    shown={"forward_first": ("clip", "clip_backward"), "reversed_first": ("clip_backward", "clip")},
    replays=3,
)
