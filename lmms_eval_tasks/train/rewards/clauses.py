"""The clauses of a sentence."""

from __future__ import annotations

import re

from lmms_eval_tasks.train.rewards.clause import Clause, Joint
from lmms_eval_tasks.train.rewards.cues import BEFORE_A_NOUN, find_cue, lacks, negates, stands_between
from lmms_eval_tasks.train.rewards.mentions import ActionFinder
from lmms_eval_tasks.train.rewards.words import MODAL, OPENS_SUBJECT, content_stem, stem

_GERUND = re.compile(r"ing\b")
_TOKEN = re.compile(r"→|[^\W_]+(?:['-][^\W_]+)*|[,:()–—|\"]")
_MOST_TOKENS = 400
"""Tokens of a sentence that are read: a longer one is a loop."""
_INFERRING = frozenset({"so", "therefore", "thus", "hence", "consequently", "accordingly", "as"})
_GETS = frozenset({"gets", "got"})
_BEHIND, _ENDS = frozenset({"as", "in"}), frozenset({"", ",", "and", "then"})
_VERDICT = ["no"]
_NOUNS = frozenset({"cause", "reason", "trigger", "basis", "what"})
_WITH_A_VERB = frozenset({"if", "unless", "because", "since", "had"})
_LACKS_THEN, _LACKS = frozenset({"no", "nothing", "nobody", "there"}), frozenset({"never", "not"})
_STANDS_IN = frozenset({"this", "that", "it"})
_INVERTS = frozenset({"does", "do", "did", "can", "could", "will", "would"})
_SUBJECT = 2
"""Words of content that name who acts, at most."""
_DENIED_BY_ASIDE = (Joint.ASIDE, Joint.TIME)
_DENIABLE = (Joint.FORWARD, Joint.BACKWARD, Joint.NO_EFFECT, Joint.NO_RELATION, Joint.RELATION)


def split_clauses(sentence: str, finder: ActionFinder) -> list[Clause]:
    """The clauses of a sentence with what they speak of, in time that is linear in its length."""
    words = _TOKEN.findall(sentence)[:_MOST_TOKENS]
    clauses = [Clause([Joint.START])]
    at = 0
    while at < len(words):
        current = clauses[-1]
        cue = find_cue(words, at, current, finder)
        if cue is None:
            if _acts_next(words, at, current, finder):
                # "Pressing the button opens the door."
                current = Clause([Joint.FORWARD])
                clauses.append(current)
            elif (start := _consequence_start(words[at], current)) is not None:
                current.words, subject = current.words[:start], current.words[start:]
                current = Clause([Joint.THEN], subject)
                clauses.append(current)
            current.words.append(words[at])
            at += 1
            continue
        joint, length = cue
        after = words[at + length] if at + length < len(words) else ""
        if joint is Joint.FORWARD and words[at] in _BEHIND and current.words and after in _ENDS:
            # "Then B, as a result."
            current.joints.append(Joint.FORWARD)
        else:
            joined = _join(current, joint, words[at], length)
            if current.words or current.joints == [Joint.START]:
                clauses.append(joined)
            else:
                current.joints += joined.joints
                current.negated = current.negated or joined.negated
                current.infers, current.cue = joined.infers, joined.cue
        at += length
    for before, clause in zip([clauses[0], *clauses], clauses, strict=False):
        clause.mention = finder.find(clause.words, numbered="→" in words)
        empty = before is not clause and not before.mention.says_something and clause.joint in _DENIED_BY_ASIDE
        # "There is no moment at which …"
        clause.denied_before = empty and before.denies and before.words != _VERDICT
        if clause.joint in (Joint.FORWARD, Joint.BACKWARD) and before is not clause:
            if clause.is_arrow:
                clause.negated = before.lacks != clause.lacks
            elif clause.lacks:
                # "He could not B because he had not A."
                clause.negated = False
    return clauses


def _join(current: Clause, joint: Joint, cue: str, length: int) -> Clause:
    """The clause behind a cue of so many words that opens with this one."""
    negated = joint in _DENIABLE and negates(current.words, cue)
    if joint is Joint.NO_EFFECT and length == 1:
        # "does not affect": a verb of effect whose negation is before it.
        joint, negated = (Joint.NO_EFFECT, False) if negated else (Joint.FORWARD, False)
    # "Not cracking the eggs does not allow him to whisk them": both deny, and the link holds.
    negated = negated and not lacks(current.words)
    if joint is Joint.RELATION and negated:
        joint, negated = Joint.NO_RELATION, False
    bare = current.words and not any(content_stem(word) for word in current.words)
    # "B because of A, not because of C", "and does not depend on C".
    goes_on = bare and current.joints[-1] in (Joint.AND, Joint.COMMA)
    joints = [Joint.AND, joint] if goes_on or (cue == "but" and length > 1) else [joint]
    forward = joint is Joint.FORWARD
    return Clause(
        joints, negated=negated, infers=forward and cue in _INFERRING, names_cause=forward and cue in _NOUNS, cue=cue
    )


def supposes_otherwise(clauses: list[Clause]) -> bool:
    """Whether a sentence says what would have been: "without A …", "A not done → B not done"."""
    return any(
        clause.joint in (Joint.CONDITION, Joint.REGARDLESS)
        or (clause.joint in (Joint.FORWARD, Joint.BACKWARD) and before.lacks and clause.lacks)
        for before, clause in zip([clauses[0], *clauses], clauses, strict=False)
    )


def _acts_next(words: list[str], at: int, current: Clause, finder: ActionFinder) -> bool:
    """Whether the verb of another action stands behind one that is its subject: "pressing the button opens"."""
    word = words[at]
    is_verb = word in _GETS or (word.endswith(("s", "ed")) and not word.endswith("ss"))
    if not is_verb or words[at - 1] in BEFORE_A_NOUN:
        return False
    deed = _names_a_deed(current.words, finder) and (word in _GETS or finder.has_word(stem(word)))
    others = finder.done_by_another(stem(word), current.words)
    if not deed and not others:
        return False
    effects = stands_between(words, at, current, finder)
    return bool(effects if deed else effects & others)


def _names_a_deed(words: list[str], finder: ActionFinder) -> bool:
    """Whether words open with "pressing the button" or "the pressed button"."""
    if _GERUND.search(" ".join(words[:2])):
        return True
    inflected = len(words) > 1 and words[0] in BEFORE_A_NOUN and stem(words[1]) != words[1]
    return inflected and not words[1].endswith("s") and finder.has_word(stem(words[1]))


def _names(words: list[str]) -> bool:
    return any(content_stem(word) or word in _STANDS_IN for word in words)


def _consequence_start(word: str, current: Clause) -> int | None:
    """Where in a clause that opened with a condition or cause its consequence starts without a comma; None if not yet.

    The consequence has a subject of its own: "without filling the pot | the water could not boil".
    """
    opened = current.joint in (Joint.CONDITION, Joint.BACKWARD, Joint.REGARDLESS)
    # "Only because A does he B", "without A there is no B".
    opens = (current.cue == "only" and word in _INVERTS) or (current.cue == "without" and word in _LACKS_THEN)
    if opened and opens and _names(current.words):
        return len(current.words)
    lacking = current.cue == "without" and word in _LACKS
    if not opened or not (word in MODAL or word == "able" or lacking):
        return None
    starts = [at for at, one in enumerate(current.words) if at and one in OPENS_SUBJECT]
    start = next((at for at in reversed(starts) if _names(current.words[:at])), None)
    if start is not None:
        return start
    own = sum(content_stem(one) is not None for one in current.words)
    # "If the keeper could not …": the verb is of the condition itself.
    return len(current.words) if own > (_SUBJECT if current.cue in _WITH_A_VERB else 0) else None
