"""Worlds: questions of all the papers about scenes whose truth is computed."""

from typing import Any

from lmms_eval_tasks.api import Benchmark, Metric, TaskKind
from lmms_eval_tasks.api.answers import PLAUSIBILITY_READER, VERDICT_READER
from lmms_eval_tasks.api.evidence import EVIDENCE_READER
from lmms_eval_tasks.worlds import hooks, metrics, report
from lmms_eval_tasks.worlds.card import CARD
from lmms_eval_tasks.worlds.cli import app
from lmms_eval_tasks.worlds.log_forms import GroundedLine, SceneLine
from lmms_eval_tasks.worlds.prepare import prepare
from lmms_eval_tasks.worlds.rows import own_columns

STILL = ("blind", "single_frame", "socratic")
"""Views in which every key stays true. Reversed, what falls rises, and what came first comes last."""
ANY_ORDER = ("blind", "single_frame", "shuffled", "socratic")
"""The same where a key says only what happens, in whatever order its frames come."""


def _yes_or_no(row: object) -> tuple[str, ...]:
    return ("Yes", "No")


def _kind(subset: str, scores: tuple[Metric, ...], **rest: Any) -> TaskKind:
    """Return the kind of a subset's task, from its scores, the parts that all tasks share, and the rest."""
    return TaskKind(
        metrics=scores,
        columns=report.columns(subset),
        references=report.references(subset),
        panels=report.panels,
        **{"log_form": SceneLine, **rest},
    )


BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={
        "perception": _kind(
            "perception",
            metrics.PERCEPTION,
            # Some of its questions are about what comes first.
            views=STILL,
        ),
        "paired": _kind(
            "paired",
            metrics.PAIRED,
            members="wordings",
            views=ANY_ORDER,
        ),
        "minimal": _kind(
            "minimal",
            metrics.MINIMAL,
            members="clips",
            views=(*ANY_ORDER, "video_only"),
            # Both clips look alike in it, where they start alike.
            frame="first",
        ),
        "counterfactual": _kind(
            "counterfactual",
            metrics.COUNTERFACTUAL,
            extractor=VERDICT_READER,
            members="questions",
            answer_view=report.counterfactual_answer,
            read_settings=hooks.read_counterfactual_settings,
            guesses=_yes_or_no,
            views=ANY_ORDER,
        ),
        "evidence": _kind(
            "evidence",
            metrics.EVIDENCE,
            extractor=EVIDENCE_READER,
            item_view=report.evidence_item_view,
            answer_view=report.evidence_answer,
            read_settings=hooks.read_evidence_settings,
            guesses=report.evidence_guesses,
            log_form=GroundedLine,
            # In another order times and boxes would be others.
            views=STILL,
        ),
        "possible": _kind(
            "possible",
            metrics.POSSIBLE,
            extractor=PLAUSIBILITY_READER,
            members="clips",
            read_settings=hooks.read_possible_settings,
            guesses=_yes_or_no,
            # In another order nothing is possible.
            views=STILL,
        ),
        "reversal": _kind(
            "reversal",
            metrics.REVERSAL,
            members="directions",
            # Shuffled, a clip has no direction; reversed, it is the other one of its pair.
            views=STILL,
        ),
    },
    prepare=prepare,
    schema=own_columns,
    cli=app,
    no_submission="Worlds has no leaderboard: everybody can compute its truth.",
)
