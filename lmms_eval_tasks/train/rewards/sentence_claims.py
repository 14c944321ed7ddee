"""The causal links that one sentence states, and those that it denies."""

from __future__ import annotations

from lmms_eval_tasks.train.rewards.claim import UNKNOWN, Claim
from lmms_eval_tasks.train.rewards.clause import LINKING, Clause, Joint
from lmms_eval_tasks.train.rewards.clause_ends import (
    Ends,
    cleft_ends,
    is_cleft,
    needed_ends,
    parted_ends,
    states_a_link,
)
from lmms_eval_tasks.train.rewards.collector import ClaimCollector
from lmms_eval_tasks.train.rewards.mentions import ABSENT, ActionFinder
from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.train.rewards.words import PRONOUN

RESTATED = 0.35
"""Strength of what the question asks, said again as a statement: it gives no reason."""
UNNAMED = 0.15
"""Strength of "they are independent", which names neither."""
_SHORT = 2
_SUPPOSES = frozenset({"suppose", "supposing", "imagine", "assume", "assuming"})
_PARTICIPLES = frozenset({"having", "being"})
_WITHOUT = frozenset({"without", "absent", "in", "but", "were"})
_REMAINS = frozenset({"stay", "stayed", "remain", "remained", "keep", "kept"})
_NEEDS = frozenset({"need", "needs", "needed", "require", "requires", "required"})
_NOBODY: frozenset[int] = frozenset()


class SentenceReader:
    """Reads the claims of one sentence.

    Args:
        sample: The sample.
        before: The actions that the sentences before it spoke of last, which "this" stands for.
        supposed: What the sentence before it says would not have been.
    """

    def __init__(
        self, sample: RewardSample, finder: ActionFinder, before: frozenset[int], supposed: frozenset[int]
    ) -> None:
        self._collected = ClaimCollector(sample)
        self.latest = _NOBODY
        self._finder = finder
        self._before = before
        self._asked, self._queried = self._collected.asked, sample.queried
        # What the clause at hand may be joined to: the one before, and the one before its causes.
        self._left = _NOBODY
        self._left_clause: Clause | None = None
        self._earlier = _NOBODY
        self._explained = _NOBODY
        self._condition: tuple[frozenset[int], Joint, Clause] | None = None
        self._holding: tuple[frozenset[int], Joint, Clause] | None = None
        self._pending: Clause | None = None
        self._purpose = _NOBODY
        self._contrasted = _NOBODY
        self._supposed = supposed
        self.supposed = _NOBODY

    @property
    def claims(self) -> list[Claim]:
        """What the sentence states and denies, in order."""
        return self._collected.claims

    def read(self, clauses: list[Clause]) -> None:
        """Read all of the sentence."""
        for at, clause in enumerate(clauses):
            self._take(clause, clauses[at + 1 :][:3], clauses[at - 1] if at else None)
            if clause.places:
                self.latest = clause.places
        # "B because of A. This leads to C": what was explained is what is spoken of.
        self.latest = self._explained or self.latest

    def _take(self, clause: Clause, following: list[Clause], previous: Clause | None) -> None:
        joint = clause.joint
        group = self._group(clause)
        if joint in (Joint.CONDITION, Joint.REGARDLESS):
            self._take_condition(clause, group, previous)
        elif joint is Joint.BACKWARD:
            self._take_cause(clause, group, following)
        elif joint is Joint.FORWARD:
            self._take_effect(clause, group, following, previous)
        elif joint is Joint.CONTRAST:
            self._contrast(group)
        elif joint in (Joint.NO_EFFECT, Joint.NO_RELATION):
            self._deny(clause, group, following)
        elif joint is Joint.RELATION:
            self._relate(group, following)
        elif joint is Joint.NOTHING:
            self._nothing_changes(clause, group)
        elif self._condition is not None and self._may_conclude(clause, group):
            self._conclude(clause, group)
        elif ABSENT in group and clause.denies and not clause.supposes:
            self._collected.deny_asked(1.0)
        elif self._pending is not None and group:
            pending, self._pending = self._pending, None
            if pending.joint is Joint.FORWARD:
                self._link(self._left or self._before, group, pending, forward=True)
            else:
                self._link(self._effect(pending), group, pending, forward=False)
        elif group:
            self._take_plain(clause, group)

    def _take_cause(self, clause: Clause, group: frozenset[int], following: list[Clause]) -> None:
        """What stands behind "because", "depends on" or "needs"."""
        if not self._left and states_a_link(clause, following):
            # "It would, since A has nothing to do with B": why the verdict holds.
            self._take_plain(clause, group)
        elif ABSENT in group and clause.lacks:
            # "Since C never does A": the same.
            self._collected.deny_asked(1.0)
        elif self._is_fronted(clause, group, following):
            self._condition = (group, Joint.BACKWARD, clause)
            self._left = group
        elif clause.cue in _PARTICIPLES:
            self._take_plain(clause, group)
        elif ends := self._inner_ends(clause):
            self._collected.add(*ends, holds=not clause.negated)
            self._left, self._left_clause, self._explained = ends[1], clause, _NOBODY
        else:
            self._link(self._effect(clause), group, clause, forward=False)

    def _take_effect(
        self, clause: Clause, group: frozenset[int], following: list[Clause], previous: Clause | None
    ) -> None:
        """What stands behind "leads to" or "so"."""
        must_not = self._left_clause is not None and self._left_clause.must_not and not clause.lacks
        if clause.infers and (must_not or states_a_link(clause, following)):
            # "It guides the saw, so marking it is necessary for sawing": a conclusion, and not an effect.
            self._take_plain(clause, group)
        elif previous is not None and is_cleft(clause, previous):
            self._take_cleft(clause)
        else:
            self._link(self._left or self._before, group, clause, forward=True)

    def _inner_ends(self, clause: Clause) -> Ends | None:
        """Both ends, where one clause has them: "he needs A to B", "thanks to A the other B"."""
        if self._left and Joint.AND not in clause.joints:
            return None
        needed = needed_ends(clause.words, self._finder) if clause.cue in _NEEDS else None
        return needed or parted_ends(clause.words, self._finder)

    def _may_conclude(self, clause: Clause, group: frozenset[int]) -> bool:
        assert self._condition is not None
        if group and group <= self._condition[0]:
            return False
        judges = clause.supposes or clause.denies or clause.keeps
        return judges or bool(group and (Joint.COMMA in clause.joints or clause.joint is Joint.THEN))

    def _contrast(self, group: frozenset[int]) -> None:
        """What is not the cause: "B because of A, not of C", and "A rather than C leads to B"."""
        if self._explained:
            self._collected.add(group, self._explained, holds=False)
        else:
            self._contrasted = group

    def _take_cleft(self, clause: Clause) -> None:
        """ "What caused B was A"."""
        causes, effects = cleft_ends(clause.words, self._finder)
        self._collected.add(causes, effects, holds=not clause.negated)
        self._left, self._left_clause, self._explained = causes or effects, clause, effects

    def _take_plain(self, clause: Clause, group: frozenset[int]) -> None:
        if clause.joints == [Joint.START] and clause.words[0] in _SUPPOSES:
            # "Suppose that A had not been. Then B would not have been."
            self.supposed = group
            return
        if clause.joints == [Joint.START] and clause.words[0] == "to":
            self._purpose = group
            return
        if self._purpose and clause.must:
            # "To do B, A has to be done."
            self._collected.add(group, self._purpose, holds=True)
            self._purpose = _NOBODY
        elif clause.must and (ends := needed_ends(clause.words, self._finder)):
            # "A has to be done to do B."
            self._collected.add(*ends, holds=not clause.denies)
        if self._supposed and clause.supposes and clause.denies and self._holding is None:
            # "Had A not been, B would not have been. Then C would not have been."
            self._collected.add(self._supposed, group, holds=True, verdict=True)
            self._supposed = self.supposed = group
        if self._holding is not None and clause.joint in (Joint.AND, Joint.COMMA):
            self._continue(clause, group)
            return
        when = self._left_clause is not None and self._left_clause.joint is Joint.TIME
        if when and Joint.COMMA in clause.joints and (clause.must or clause.supposes):
            # "When A happens, B has to."
            self._collected.add(self._left, group, holds=not clause.denies)
        together = clause.joints == [Joint.AND] and self._left and not self._explained and not clause.supposes
        if clause.keeps and clause.supposes and self._queried in group:
            self._collected.deny_asked(RESTATED, verdict=True)
        if clause.joint is Joint.TIME and self._left:
            # "B, after A, because of C": what is explained is B.
            return
        self._earlier = _NOBODY if together else self._left
        self._left = self._left | group if together else group
        self._left_clause = clause

    def _continue(self, clause: Clause, group: frozenset[int]) -> None:
        """A further consequence: "had A not been, B would not have been, and C would not have been"."""
        assert self._holding is not None
        judges = clause.denies or clause.keeps or clause.supposes
        model = clause if judges or self._left_clause is None else self._left_clause
        if model.denies and not model.keeps:
            # C may follow from A or from B.
            self._collected.add(self._holding[0], group, holds=True, verdict=True)
            self._collected.add(self._left, group, holds=True, verdict=True)
            self.supposed = group
        else:
            self._consequence(self._holding, model, group)
        self._left = group
        self._left_clause = model

    def _take_condition(self, clause: Clause, group: frozenset[int], previous: Clause | None) -> None:
        comes_after = previous is not None and previous is self._left_clause and self._left not in (_NOBODY, group)
        if previous and comes_after and Joint.AND not in clause.joints and (previous.supposes or previous.places):
            self._consequence((group, clause.joint, clause), previous, self._left)
            return
        self._condition = (group or self._left or self._before, clause.joint, clause)

    def _conclude(self, clause: Clause, group: frozenset[int]) -> None:
        assert self._condition is not None
        self._consequence(self._condition, clause, group)
        if group:
            self._holding, self._condition = self._condition, None
            self._left, self._left_clause, self._explained = group, clause, _NOBODY

    def _consequence(
        self, condition: tuple[frozenset[int], Joint, Clause], clause: Clause, group: frozenset[int]
    ) -> None:
        causes, joint, opening = condition
        if joint is Joint.BACKWARD:
            self._collected.add(causes, group, holds=not opening.negated)
            return
        restated = RESTATED if causes and group and self._collected.is_asked(causes, group) else 1.0
        if joint is Joint.REGARDLESS or (clause.keeps and not clause.denies):
            reasons = joint is Joint.REGARDLESS and not clause.keeps
            self._collected.add(causes, group, holds=False, strength=1.0 if reasons else restated)
        elif clause.denies and clause.supposes:
            self._collected.add(causes, group, holds=True, strength=restated)
            self.supposed = group
        elif clause.denies or not _REMAINS.isdisjoint(clause.words):
            self._collected.add(causes, group, holds=True)
        elif clause.supposes or opening.cue == "with":
            # "He can B without A", "if A had not been, he would B", but "if A happens, B can".
            lacking = opening.lacks or opening.cue in _WITHOUT
            # "Without A the glass would be whole" has nothing of what the glass does.
            if not lacking or self._finder.has_verb(clause.words, group):
                self._collected.add(causes, group, holds=not lacking, strength=restated if lacking else 1.0)

    def _is_fronted(self, clause: Clause, group: frozenset[int], following: list[Clause]) -> bool:
        """Whether a cause stands before its effect: "because A, B"."""
        if clause.joints[0] is not Joint.START and not (Joint.AND in clause.joints or not self._left):
            return False
        if self._left and Joint.AND not in clause.joints:
            return False
        if not (group or clause.mention.says_something):
            return False
        after = next((one for one in following if one.words), None)
        return (
            after is not None and after.joint in (Joint.ASIDE, Joint.COMMA, Joint.THEN) and after.mention.says_something
        )

    def _effect(self, clause: Clause) -> frozenset[int]:
        if Joint.AND in clause.joints and self._explained:
            return self._explained
        return self._left or self._before

    def _link(self, left: frozenset[int], group: frozenset[int], clause: Clause, forward: bool) -> None:
        if not group and clause.negated and not PRONOUN.isdisjoint(clause.words):
            self._collected.deny_other(left, mutual=False)
            return
        if not group:
            # "makes it possible, later on, to …": the other end is still to come.
            self._pending = clause if clause.words == [] or not clause.mention.says_something else None
            return
        self._pending = None
        if forward:
            self._collected.add(left, group, holds=not clause.negated)
            self._collected.add(self._contrasted, group, holds=False)
            self._contrasted = _NOBODY
            self._explained = _NOBODY
        else:
            self._collected.add(group, left, holds=not clause.negated)
            self._explained = left
        self._left, self._left_clause = group, clause

    def _deny(self, clause: Clause, group: frozenset[int], following: list[Clause]) -> None:
        """Links that are said not to be: between the two around the cue, or the two that were named before it."""
        if clause.negated:
            return
        mutual = clause.joint is Joint.NO_RELATION
        left = self._other_end(group, following) if mutual else self._left
        if left and group - left:
            self._collected.add(left, group, holds=False, mutual=mutual)
        elif mutual and len(left) > 1 and not group:
            ordered = sorted(left)
            for at, one in enumerate(ordered):
                self._collected.add(frozenset((one,)), frozenset(ordered[at + 1 :]), holds=False, mutual=True)
        elif (left or group) and not {self._asked, self._queried} <= group:
            self._collected.deny_other(left or group, mutual)
        else:
            # "They are unrelated: A, and B", "it makes no difference to B that A".
            named = group.union(*(one.places for one in following))
            self._collected.deny_asked(1.0 if {self._asked, self._queried} <= named else UNNAMED)
        self._left = group or self._left

    def _other_end(self, group: frozenset[int], following: list[Clause]) -> frozenset[int]:
        """What something is linked to: what stands before it, or behind it in "a link between A and B"."""
        between = group and not self._left and following and following[0].joints == [Joint.AND]
        return following[0].places if between else self._left

    def _relate(self, group: frozenset[int], following: list[Clause]) -> None:
        """Two that are linked: the earlier is the cause."""
        for one in self._other_end(group, following):
            for other in group - {one}:
                self._collected.add((min(one, other),), (max(one, other),), holds=True)
        self._left = group or self._left

    def _nothing_changes(self, clause: Clause, group: frozenset[int]) -> None:
        one = self._left or self._before
        if self._asked is None or self._queried is None or (one and self._asked not in one):
            return
        self._collected.add(frozenset((self._asked,)), frozenset((self._queried,)), holds=False)
        self._left = group or self._left

    def _group(self, clause: Clause) -> frozenset[int]:
        if clause.places:
            return self._other(clause)
        may_refer_back = clause.joint in (Joint.BACKWARD, Joint.CONDITION) or not PRONOUN.isdisjoint(clause.words)
        goes_on = clause.joint is Joint.BACKWARD and Joint.AND in clause.joints and clause.mention.known
        if goes_on and self._finder.shares_word(clause.words, self._left):
            # "A leads to the fall, and because he falls, C."
            return self._left
        stands_in = clause.mention.known and may_refer_back and self._before != self._left
        if stands_in and self._finder.shares_word(clause.words, self._before):
            # "because they are in the filter", of what was spoken of before.
            return self._before
        strange = clause.mention.unknown >= _SHORT and not clause.mention.known
        return frozenset((UNKNOWN,)) if strange else _NOBODY

    def _other(self, clause: Clause) -> frozenset[int]:
        """What a clause names; where that is what it is joined to, the next best, as nothing causes itself."""
        if clause.joint not in LINKING or not self._left or clause.places != self._left or len(self._left) > 1:
            return clause.places
        return self._finder.find(clause.words, self._left).places or clause.places
