"""Worlds: questions of all the papers about scenes whose truth is computed."""

from lmms_eval_tasks.api import Benchmark, TaskKind
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


BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={
        "perception": TaskKind(
            metrics=metrics.PERCEPTION,
            columns=report.columns("perception"),
            references=report.references("perception"),
            panels=report.panels,
            log_form=SceneLine,
            # Some of its questions are about what comes first.
            views=STILL,
        ),
        "paired": TaskKind(
            metrics=metrics.PAIRED,
            columns=report.columns("paired"),
            references=report.references("paired"),
            panels=report.panels,
            members="wordings",
            log_form=SceneLine,
            views=ANY_ORDER,
        ),
        "minimal": TaskKind(
            metrics=metrics.MINIMAL,
            columns=report.columns("minimal"),
            references=report.references("minimal"),
            panels=report.panels,
            members="clips",
            log_form=SceneLine,
            views=(*ANY_ORDER, "video_only"),
            # Both clips look alike in it, where they start alike.
            frame="first",
        ),
        "counterfactual": TaskKind(
            metrics=metrics.COUNTERFACTUAL,
            extractor=VERDICT_READER,
            columns=report.columns("counterfactual"),
            references=report.references("counterfactual"),
            panels=report.panels,
            members="questions",
            answer_view=report.counterfactual_answer,
            read_settings=hooks.read_counterfactual_settings,
            guesses=_yes_or_no,
            log_form=SceneLine,
            views=ANY_ORDER,
        ),
        "evidence": TaskKind(
            metrics=metrics.EVIDENCE,
            extractor=EVIDENCE_READER,
            columns=report.columns("evidence"),
            references=report.references("evidence"),
            panels=report.panels,
            item_view=report.evidence_item_view,
            answer_view=report.evidence_answer,
            read_settings=hooks.read_evidence_settings,
            guesses=report.evidence_guesses,
            log_form=GroundedLine,
            # In another order times and boxes would be others.
            views=STILL,
        ),
        "possible": TaskKind(
            metrics=metrics.POSSIBLE,
            extractor=PLAUSIBILITY_READER,
            columns=report.columns("possible"),
            references=report.references("possible"),
            panels=report.panels,
            members="clips",
            read_settings=hooks.read_possible_settings,
            guesses=_yes_or_no,
            log_form=SceneLine,
            # In another order nothing is possible.
            views=STILL,
        ),
        "reversal": TaskKind(
            metrics=metrics.REVERSAL,
            columns=report.columns("reversal"),
            references=report.references("reversal"),
            panels=report.panels,
            members="directions",
            log_form=SceneLine,
            # Shuffled, a clip has no direction; reversed, it is the other one of its pair.
            views=STILL,
        ),
    },
    prepare=prepare,
    schema=own_columns,
    cli=app,
    no_submission="Worlds has no leaderboard: everybody can compute its truth.",
)
