"""The visual reward: how well the actions that an answer claims agree with those of the clip.

Source: CounterVQA (arXiv 2511.19923), section 3, rewards that reasoning is grounded in what is seen, and does not say
how it is measured. This measure is ours; docs/training.md says what it does and why.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmms_eval_tasks.train.rewards.claims import denies_all
from lmms_eval_tasks.train.rewards.clause import Clause, Joint
from lmms_eval_tasks.train.rewards.clauses import split_clauses, supposes_otherwise
from lmms_eval_tasks.train.rewards.mentions import ABSENT, ActionFinder, content_stems
from lmms_eval_tasks.train.rewards.reading import read_reasoning
from lmms_eval_tasks.train.rewards.sample import RewardSample

ALLOWED_ASIDES = 1
"""Actions that an answer may name beside those that the question is about, unless it names all of the clip."""
PARTLY = 0.4
"""What words weigh that no action has, among others that some action has; also a word alone."""
SILENCE = 0.02
"""What an answer earns that claims nothing, and so nothing invented."""
COPIED = 3
"""So many sentences that are an action's description word for word are a copy of a list."""


@dataclass(frozen=True)
class ActionGrounding:
    """How the actions that an answer claims agree with those of the clip.

    Attributes:
        seen: Actions of the question's that it names.
        needed: How many the question has.
        invented: Weight of what it claims that the clip does not show, denies that it does, or names without need.
    """

    seen: int
    needed: int
    invented: float

    @property
    def reward(self) -> float:
        """F-score of the named actions and the needed ones, weighted by the share that is not invented."""
        clean = SILENCE / (1 + self.invented)
        if not self.seen:
            return clean
        precision, recall = self.seen / (self.seen + self.invented), self.seen / self.needed
        return (1 - SILENCE) * 2 * precision * recall / (precision + recall) * precision + clean


def visual_reward(response: object, sample: RewardSample) -> float | None:
    """The visual reward of an answer, in [0, 1]; raises nothing, and takes time that is linear in its length.

    Args:
        response: What the model said; anything but text earns 0.
        sample: The question, with the clip's actions.

    Returns:
        The reward; None where the actions of the clip are not known.
    """
    if not sample.actions:
        return None
    if not isinstance(response, str) or not response.strip():
        return 0.0
    return grounding(response, sample).reward


def grounding(response: str, sample: RewardSample) -> ActionGrounding:
    """What an answer claims to be seen, compared with the clip."""
    reasoning = read_reasoning(response)
    finder = ActionFinder(sample, reasoning.labels)
    descriptions = {content_stems(text) for text in sample.actions}
    sentences = [one for one in reasoning.sentences if not one.rstrip("\"') ").endswith("?")]
    copied = [one for one in sentences if content_stems(one) in descriptions]
    if len(copied) >= COPIED and len(copied) > len(sample.relevant):
        sentences = [one for one in sentences if content_stems(one) not in descriptions]
    named: set[int] = set()
    denied: set[int] = set()
    invented: dict[tuple[str, ...], float] = {}
    for sentence in sentences:
        clauses = split_clauses(sentence, finder)
        supposed = supposes_otherwise(clauses) or denies_all(sentence)
        for clause, after in zip(clauses, [*clauses[1:], Clause([Joint.START])], strict=True):
            # "What happens when he never opens it" supposes as well.
            supposes = clause.supposes or (clause.joint is Joint.TIME and clause.lacks)
            _read(clause, after, supposed or supposes, named, denied, invented)
    if sample.absent is not None and ABSENT in named and ABSENT not in denied:
        invented[("absent",)] = 1.0
    present = {place for place in named if place >= 0 and place not in denied}
    contradicted = {place for place in denied if place >= 0}
    needed = set(sample.relevant)
    seen = len(present & needed)
    total = len(needed)
    if sample.absent is not None:
        total += 1
        seen += ABSENT in denied
    # The square: an answer cannot afford to name whatever there is.
    asides = max(0, len(present - needed) - (ALLOWED_ASIDES if len(present) < len(sample.actions) else 0)) ** 2
    return ActionGrounding(seen, total, sum(invented.values()) + len(contradicted) + asides)


def _read(
    clause: Clause,
    after: Clause,
    supposed: bool,
    named: set[int],
    denied: set[int],
    invented: dict[tuple[str, ...], float],
) -> None:
    # What is denied by or before a cue is the link, and not that the action takes place.
    link_denied = any(one.negated or one.joint in (Joint.NO_EFFECT, Joint.NO_RELATION) for one in (clause, after))
    if clause.places:
        if clause.denies and not supposed and not link_denied:
            denied.update(clause.places)
        elif supposed or link_denied:
            named.update(clause.places - {ABSENT})
        else:
            named.update(clause.places)
    elif clause.mention.unknown and not supposed:
        words = content_stems(" ".join(clause.words))
        if clause.mention.unknown > 1 or not clause.mention.known:
            invented[words] = PARTLY if clause.mention.known or clause.mention.unknown == 1 else 1.0
