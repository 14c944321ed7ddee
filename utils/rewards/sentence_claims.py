"""The causal links that one sentence states, and those that it denies."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_eval_tasks.utils.rewards.claim import UNKNOWN, Claim
from lmms_eval_tasks.utils.rewards.clauses import Clause, Joint
from lmms_eval_tasks.utils.rewards.mentions import ABSENT, ActionFinder
from lmms_eval_tasks.utils.rewards.sample import RewardSample
from lmms_eval_tasks.utils.rewards.words import MUST, PRONOUN

RESTATED = 0.35
"""Strength of what the question asks, said again as a statement: it gives no reason."""
UNNAMED = 0.15
"""Strength of "they are independent", which names neither."""
_SHORT = 2
_MOST, _TRIES = 40, 6
"""Words of a clause in which the start of its effect is looked for, and how many such starts are tried."""
_OPENS_SUBJECT = frozenset({"the", "a", "he", "she", "it", "they", "this", "his", "her", "their"})
_LINKING = {Joint.FORWARD, Joint.BACKWARD, Joint.NO_EFFECT, Joint.NO_RELATION}
_IS = frozenset({"is", "was", "are", "were"})
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
        self.claims: list[Claim] = []
        self.latest = _NOBODY
        self._sample = sample
        self._finder = finder
        self._before = before
        self._asked = -1 if sample.absent is not None else sample.intervened
        # What the clause at hand may be joined to: the one before, and the one before its causes.
        self._left = _NOBODY
        self._left_clause: Clause | None = None
        self._explained = _NOBODY
        self._condition: tuple[frozenset[int], Joint, Clause] | None = None
        self._holding: tuple[frozenset[int], Joint, Clause] | None = None
        self._pending: Clause | None = None
        self._purpose = _NOBODY
        self._supposed = supposed
        self.supposed = _NOBODY

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
        elif joint is Joint.BACKWARD and self._states_a_link(clause, following):
            # "It would, since A has nothing to do with B": why the verdict holds.
            self._take_plain(clause, group)
        elif joint is Joint.BACKWARD and self._is_fronted(clause, following):
            self._condition = (group, Joint.BACKWARD, clause)
            self._left = group
        elif joint is Joint.BACKWARD and (halves := self._halves(clause)):
            self._emit(halves[0], halves[1], holds=not clause.negated)
            self._left, self._left_clause, self._explained = halves[1], clause, _NOBODY
        elif joint is Joint.FORWARD and clause.infers and self._states_a_link(clause, following):
            # "It guides the saw, so marking it is necessary for sawing": a conclusion, and not an effect.
            self._take_plain(clause, group)
        elif joint is Joint.FORWARD and previous is not None and self._is_cleft(clause, previous):
            self._take_cleft(clause)
        elif joint is Joint.FORWARD:
            self._link(self._source(), group, clause, forward=True)
        elif joint is Joint.BACKWARD:
            self._link(self._effect(clause), group, clause, forward=False)
        elif joint in (Joint.NO_EFFECT, Joint.NO_RELATION):
            self._deny(clause, group)
        elif joint is Joint.NOTHING:
            self._nothing_changes(clause, group)
        elif self._condition is not None and self._may_conclude(clause, group):
            self._conclude(clause, group)
        elif ABSENT in group and clause.denies and not clause.supposes:
            self._deny_asked(1.0)
        elif self._pending is not None and group:
            pending, self._pending = self._pending, None
            forward = pending.joint is Joint.FORWARD
            self._link(self._source() if forward else self._effect(pending), group, pending, forward=forward)
        elif group:
            self._take_plain(clause, group)

    def _may_conclude(self, clause: Clause, group: frozenset[int]) -> bool:
        assert self._condition is not None
        if group and group <= self._condition[0]:
            return False
        told = clause.supposes or clause.denies or clause.keeps
        return told or bool(group and (Joint.COMMA in clause.joints or clause.joint is Joint.THEN))

    @staticmethod
    def _states_a_link(clause: Clause, following: list[Clause]) -> bool:
        links = bool(following) and set(following[0].joints) <= _LINKING
        return links and bool(clause.places)

    @staticmethod
    def _is_cleft(clause: Clause, previous: Clause) -> bool:
        names = clause.names_cause and not previous.mention.says_something and not _IS.isdisjoint(clause.words)
        return names or previous.words == ["what"]

    def _take_cleft(self, clause: Clause) -> None:
        """ "What caused B was A"."""
        at = next((at for at, word in enumerate(clause.words) if word in _IS), len(clause.words))
        effects, causes = self._finder.find(clause.words[:at]).places, self._finder.find(clause.words[at + 1 :]).places
        self._emit(causes, effects, holds=not clause.negated)
        self._left, self._left_clause, self._explained = causes or effects, clause, effects

    def _take_need(self, clause: Clause) -> None:
        """ "A has to be done to do B"."""
        must = next(at for at, word in enumerate(clause.words) if word in MUST)
        for at in range(len(clause.words) - 1, must + 1, -1):
            if clause.words[at] == "to":
                needed, purpose = (self._finder.find(part).places for part in (clause.words[:at], clause.words[at:]))
                if needed and purpose and needed.isdisjoint(purpose):
                    self._emit(needed, purpose, holds=not clause.denies)
                return

    def _take_plain(self, clause: Clause, group: frozenset[int]) -> None:
        if clause.joints == [Joint.START] and clause.words[0] == "to":
            self._purpose = group
            return
        if self._purpose and clause.must:
            # "To do B, A has to be done."
            self._emit(group, self._purpose, holds=True)
            self._purpose = _NOBODY
        elif clause.must:
            self._take_need(clause)
        if self._supposed and clause.supposes and clause.denies and self._holding is None:
            # "Had A not been, B would not have been. Then C would not have been."
            self._emit(self._supposed, group, holds=True, verdict=True)
            self._supposed = self.supposed = group
        if self._holding is not None and clause.joint in (Joint.AND, Joint.COMMA):
            self._continue(clause, group)
            return
        together = clause.joints == [Joint.AND] and self._left and not self._explained and not clause.supposes
        if clause.keeps and clause.supposes and self._sample.queried in group and self._asked is not None:
            self.claims.append(Claim(self._asked, self._sample.queried or 0, False, RESTATED, verdict=True))
        if clause.joint is Joint.TIME and self._left:
            # "B, after A, because of C": what is explained is B.
            return
        self._left = self._left | group if together else group
        self._left_clause = clause

    def _continue(self, clause: Clause, group: frozenset[int]) -> None:
        """A further consequence: "had A not been, B would not have been, and C would not have been"."""
        assert self._holding is not None
        told = clause.denies or clause.keeps or clause.supposes
        model = clause if told or self._left_clause is None else self._left_clause
        if model.denies and not model.keeps:
            # C may follow from A or from B.
            self._emit(self._holding[0], group, holds=True, verdict=True)
            self._emit(self._left, group, holds=True, verdict=True)
            self.supposed = group
        else:
            self._consequence(self._holding, model, group)
        self._left = group
        self._left_clause = model

    def _take_condition(self, clause: Clause, group: frozenset[int], previous: Clause | None) -> None:
        follows = previous is not None and self._left and self._left_clause is previous
        comes_after = follows and (self._left_clause is None or self._left_clause.supposes or self._is_known(previous))
        if comes_after and Joint.AND not in clause.joints and self._left_clause is not None:
            self._consequence((group, clause.joint, clause), self._left_clause, self._left)
            return
        self._condition = (group or self._left or self._before, clause.joint, clause)

    @staticmethod
    def _is_known(previous: Clause | None) -> bool:
        return previous is not None and bool(previous.places)

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
            self._emit(causes, group, holds=not opening.negated)
            return
        restated = RESTATED if causes and group and self._is_asked(causes, group) else 1.0
        if joint is Joint.REGARDLESS or (clause.keeps and not clause.denies):
            self._emit(causes, group, holds=False, strength=1.0 if joint is Joint.REGARDLESS and not clause.keeps
                       else restated)  # fmt: skip
        elif clause.denies and clause.supposes:
            self._emit(causes, group, holds=True, strength=restated)
            self.supposed = group
        elif clause.denies or (not opening.denies and "without" not in opening.words and clause.supposes):
            self._emit(causes, group, holds=True)

    def _is_asked(self, causes: frozenset[int], effects: frozenset[int]) -> bool:
        return self._asked in causes and self._sample.queried in effects

    def _is_fronted(self, clause: Clause, following: list[Clause]) -> bool:
        """Whether a cause stands before its effect: "because A, B"."""
        if clause.joints[0] is not Joint.START and not (Joint.AND in clause.joints or self._left_is_empty()):
            return False
        if self._left and Joint.AND not in clause.joints:
            return False
        if not clause.mention.says_something:
            return False
        after = next((one for one in following if one.words), None)
        return (
            after is not None and after.joint in (Joint.ASIDE, Joint.COMMA, Joint.THEN) and after.mention.says_something
        )

    def _halves(self, clause: Clause) -> tuple[frozenset[int], frozenset[int]] | None:
        """The cause and its effect where nothing parts them: "thanks to the pass the forward scores"."""
        if self._left and Joint.AND not in clause.joints:
            return None
        starts = [at for at, word in enumerate(clause.words[:_MOST]) if word in _OPENS_SUBJECT and at > 0][:_TRIES]
        for at in starts:
            first, second = self._finder.find(clause.words[:at]).places, self._finder.find(clause.words[at:]).places
            if first and second and first.isdisjoint(second):
                return first, second
        return None

    def _left_is_empty(self) -> bool:
        return not self._left

    def _source(self) -> frozenset[int]:
        return self._left or self._before

    def _effect(self, clause: Clause) -> frozenset[int]:
        if Joint.AND in clause.joints and self._explained:
            return self._explained
        return self._left or self._before

    def _link(self, left: frozenset[int], group: frozenset[int], clause: Clause, forward: bool) -> None:
        if not group and clause.negated and not PRONOUN.isdisjoint(clause.words):
            self._deny_other(left, mutual=False)
            return
        if not group:
            # "makes it possible, later on, to …": the other end is still to come.
            self._pending = clause if clause.words == [] or not clause.mention.says_something else None
            return
        self._pending = None
        if forward:
            self._emit(left, group, holds=not clause.negated)
            self._explained = _NOBODY
        else:
            self._emit(group, left, holds=not clause.negated)
            self._explained = left
        self._left, self._left_clause = group, clause

    def _deny(self, clause: Clause, group: frozenset[int]) -> None:
        """Links that are said not to be: between the two around the cue, or the two that were named before it."""
        if clause.negated:
            return
        mutual = clause.joint is Joint.NO_RELATION
        left = self._left
        if left and group:
            self._emit(left, group, holds=False, mutual=mutual)
        elif mutual and len(left) > 1 and not group:
            ordered = sorted(left)
            for at, one in enumerate(ordered):
                self._emit(frozenset((one,)), frozenset(ordered[at + 1 :]), holds=False, mutual=True)
        elif left or group:
            self._deny_other(left or group, mutual)
        else:
            self._deny_asked(UNNAMED)
        self._left = group or self._left

    def _deny_other(self, one: frozenset[int], mutual: bool) -> None:
        """Of the two that are asked about one is named, and "it" stands for the other."""
        asked, queried = self._asked, self._sample.queried
        if asked in one and queried is not None:
            self._emit(one, frozenset((queried,)), holds=False, mutual=mutual)
        elif queried in one and asked is not None:
            self._emit(frozenset((asked,)), one, holds=False, mutual=mutual)

    def _deny_asked(self, strength: float) -> None:
        if self._asked is not None and self._sample.queried is not None:
            self.claims.append(Claim(self._asked, self._sample.queried, False, strength))

    def _nothing_changes(self, clause: Clause, group: frozenset[int]) -> None:
        one = self._left or self._before
        if self._asked is None or self._sample.queried is None or (one and self._asked not in one):
            return
        self._emit(frozenset((self._asked,)), frozenset((self._sample.queried,)), holds=False)
        self._left = group or self._left

    def _group(self, clause: Clause) -> frozenset[int]:
        if clause.places:
            return self._other(clause)
        told = clause.joint in (Joint.BACKWARD, Joint.CONDITION) or not PRONOUN.isdisjoint(clause.words)
        stands_in = clause.mention.known and told and self._before != self._left
        if stands_in and self._finder.shares_word(clause.words, self._before):
            # "because they are in the filter", of what was spoken of before.
            return self._before
        strange = clause.mention.unknown >= _SHORT and not clause.mention.known
        return frozenset((UNKNOWN,)) if strange else _NOBODY

    def _other(self, clause: Clause) -> frozenset[int]:
        """What a clause names; where that is what it is joined to, the next best, as nothing causes itself."""
        joined = clause.joint in (Joint.FORWARD, Joint.BACKWARD)
        if not joined or not self._left or clause.places != self._left or len(self._left) > 1:
            return clause.places
        return self._finder.find(clause.words, self._left).places or clause.places

    def _emit(
        self,
        causes: Iterable[int],
        effects: Iterable[int],
        *,
        holds: bool,
        strength: float = 1.0,
        mutual: bool = False,
        verdict: bool = False,
    ) -> None:
        ends = tuple(effects)
        for cause in causes:
            for effect in ends:
                if cause != effect:
                    self.claims.append(Claim(cause, effect, holds, strength, mutual, verdict))
