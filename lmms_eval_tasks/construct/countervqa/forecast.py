"""A forecast of the requests of a build, before it asks any model."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from statistics import fmean
from typing import Any

from lmms_eval_tasks.construct.countervqa.links import PAIRS_A_REQUEST
from lmms_eval_tasks.construct.countervqa.models import BuildModels
from lmms_eval_tasks.construct.countervqa.rows import PAPER_COUNTS, BuildOptions, shown_take
from lmms_eval_tasks.construct.countervqa.takes import Take
from lmms_eval_tasks.construct.countervqa.verification import PROMPT as SOLVING
from lmms_eval_tasks.construct.engine.command import CHARACTERS_A_TOKEN, StepForecast, estimate_requests
from lmms_eval_tasks.construct.engine.config import RoleSettings
from lmms_eval_tasks.construct.engine.steps import Forecast, make_case
from lmms_eval_tasks.countervqa.release import RULE_LEVELS

PASSING = PAPER_COUNTS["clips that pass the filters"] / PAPER_COUNTS["annotated clips"]
"""Of the clips, by the paper."""
KEPT = PAPER_COUNTS["questions kept"] / PAPER_COUNTS["candidate questions"]
"""Of the questions, by the paper."""
PAIR = 45
"""Characters of a pair in a request to the observer, and of its confidence in the reply."""
REPLY = 600
"""Characters of a reply in words."""


def forecast_build(takes: Sequence[Take], options: BuildOptions, models: BuildModels) -> dict[str, StepForecast]:
    """Estimate the requests to each role from the annotations and the paper's shares."""
    builder, expected = models.builder, dict[str, StepForecast]()
    passing = float(len(takes)) if options.naive else PASSING * len(takes)
    questions = passing * len(set(RULE_LEVELS.values())) * options.candidates
    if builder is not None and options.naive:
        shown = _shown("countervqa_naive", takes, questions_a_level=options.candidates)
        asked = len(set(RULE_LEVELS.values())) * options.candidates
        expected["naive"] = _expected(passing, shown, REPLY * asked, builder)
    if builder is not None and not options.naive and options.links is None:
        pairs = [len(take.actions) * (len(take.actions) - 1) // 2 for take in takes]
        observed = sum(ceil(number / PAIRS_A_REQUEST) for number in pairs)
        tested = sum(ceil(options.pair_share * number) for number in pairs)
        shown = _shown("countervqa_observer", takes, pairs=[])
        at_once = min(float(PAIRS_A_REQUEST), fmean(pairs))
        expected["observer"] = _expected(observed, shown + round(PAIR * at_once), PAIR * at_once, builder)
        for place, role in enumerate(("verifier", "critic", "synthesizer")):
            shown = _shown(f"countervqa_{role}", takes) + place * REPLY
            expected[role] = _expected(tested, shown, REPLY, builder)
    if builder is not None and not options.naive:
        shown = _shown("countervqa_absent", takes)
        expected["absent"] = _expected(passing, shown, REPLY, builder)
    if builder is not None and options.rephrase:
        shown = _shown("countervqa_rephrase", (), question="") + REPLY // 4
        expected["rephrase"] = _expected(questions, shown, REPLY / 4, builder)
    for number, verifier in enumerate(models.verifiers.values(), start=1):
        shown = _shown("countervqa_verification", takes)
        expected[f"verifying model {number}"] = _expected(questions, shown, REPLY / 2, verifier)
    verified = questions * (KEPT if models.verifiers else 1.0)
    for number, solver in enumerate(models.solvers.values(), start=1):
        shown = _shown(SOLVING, (), question="", frames=[]) + REPLY // 4
        expected[f"solving model {number}"] = _expected(verified, shown, REPLY / 2, solver, options.frames)
    return expected


def _shown(prompt_id: str, takes: Sequence[Take], **material: Any) -> int:
    """Characters of a request about a clip, on average."""
    shown = [shown_take(take) for take in takes] or [{}]
    return round(fmean(len(make_case(prompt_id, **one, **material).text) for one in shown))


def _expected(requests: float, characters: int, reply: float, model: RoleSettings, images: int = 0) -> StepForecast:
    """Requests, one a row, of so many characters and images each, and the characters of their replies."""
    tokens = round(reply / CHARACTERS_A_TOKEN)
    return estimate_requests(requests, Forecast(1.0, characters, images=images, reply_tokens=tokens), [model])
