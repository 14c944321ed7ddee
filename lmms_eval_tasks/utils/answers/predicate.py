"""What becomes of an option letter in the words behind it: "is right", "does not fit", "states that"."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.context import After, Mention, Rule, RuleTable, is_adverb
from lmms_eval_tasks.utils.answers.tokens import CLOSERS, LABELLING, OPENERS, PAUSES, STOPS, until

_REACH = 8
_PHRASE = 6
_ASIDE = 20
_QUALIFIED = 14


def read_after(mention: Mention) -> After:
    """Return what becomes of the letters in the words behind them."""
    at = mention.last + 1
    while mention.word(at) in CLOSERS:
        at += 1
    after = _MARKS.decide(mention, at)
    if after:
        return after
    after = _unspaced(mention.word(at) + mention.word(at + 1)) or _predicate(mention, at)
    nearest = next((word for word in mention.before(4) if word.isalnum() and word not in words.OPTION), "")
    is_left = mention.word(at) in words.COPULA and mention.word(at + 1) in words.ONLY_LEFT
    if nearest == "only" and (is_left or after == "supported"):
        return "affirmed"
    labels = mention.cue == "start" or mention.tokens[mention.at].raw.isupper()
    return "closed" if after == "open" and labels and mention.word(mention.last + 1) in (")", "]") else after


def _predicate(mention: Mention, at: int) -> After:
    """Judge the verb or adjective at a token position, whose subject the letters are."""
    adverbs = set()
    while is_adverb(mention.word(at)) or mention.word(at) in words.RIGHTLY:
        adverbs.add(mention.word(at))
        at += 1
        if at - mention.last > _REACH:
            break
    if adverbs & words.WRONGLY:
        return "rejected"
    rightly = _RIGHTLY.decide(mention, at) if adverbs & words.RIGHTLY else None
    return rightly or _PREDICATES.decide(mention, at) or "open"


def _complement(mention: Mention, verb: int) -> After:
    """Judge what stands behind a verb: "is the best option", "does not fit"."""
    for at in range(verb + 1, verb + _REACH):
        word = mention.word(at)
        only = word in words.NEGATION and mention.word(at + 1) in words.ONLY
        if not only and (after := _COMPLEMENTS.decide(mention, at)):
            return after
        if not (only or word in words.COMPLEMENT_FILLER or is_adverb(word)):
            break
    return "open"


def _noun_phrase(mention: Mention, at: int, article: str = "the") -> After | None:
    """Judge "the most suitable option", "a poor match", "the wrong answer"; None if it is no such phrase."""
    passed: set[str] = set()
    for step in range(at, at + _PHRASE):
        word = mention.word(step)
        if word in words.REJECTING or word in words.OTHER:
            return "rejected"
        if word in words.JUDGED_NOUN:
            behind = [mention.word(step + further) for further in range(1, _PHRASE)]
            # What follows "the option" may speak for it: "… that fits", "… I choose", but not "… with the lane".
            speaks_for = not words.SPEAKING_FOR.isdisjoint(behind) and words.NEGATION.isdisjoint(behind)
            judges = passed or behind[0] in PAUSES or speaks_for
            if behind[0] in words.TENTATIVE or behind[0] == "would" or not judges:
                return "open"
            if article == "the" or passed & words.POSITIVE:
                return "affirmed"
            return "supported" if passed & words.GOOD else None
        if word in PAUSES:
            break
        passed.add(word)
    return None


def _unless_qualified(mention: Mention, at: int) -> After:
    """Affirm a letter whose clause is not taken back in part: "B correctly describes the start, but …"."""
    clause = until((mention.word(step) for step in range(at, at + _QUALIFIED)), STOPS)
    return "affirmed" if words.CONTRAST.isdisjoint(clause) else "supported"


def _degree(mention: Mention, at: int) -> After:
    """Tell "fits better", "matches the video best" and "makes more sense" from "fits"."""
    for step in range(at + 1, at + _PHRASE):
        word = mention.word(step)
        if word in words.BEST or (word in words.COMPARATIVE and mention.word(step + 1) == "sense"):
            return _unless_qualified(mention, at)
        if word not in words.DEGREE_FILLER:
            break
    return "supported"


def _ellipsis(mention: Mention, _: int) -> After | None:
    return "affirmed" if mention.cue != "conclude" and mention.word(mention.at - 1) in words.CLAUSE_START else None


def _cut_off(mention: Mention, at: int) -> After | None:
    """Find a letter that starts what the end of the text cuts off: "…, whereas option B"."""
    nearest = next((word for word in mention.before(3) if word not in words.OPTION), "")
    return "discussed" if at >= len(mention.tokens) and mention.cue == "other" and nearest in words.WHEREAS else None


def _beyond_aside(mention: Mention, comma: int) -> After | None:
    """Judge what goes on behind a clause between commas ("A, where she stops, is wrong"); None without one."""
    if mention.copula or words.ASIDE.isdisjoint((mention.word(comma + 1), mention.word(comma + 2))):
        return None
    for at in range(comma + 2, comma + 1 + _ASIDE):
        if mention.word(at) in STOPS:
            return "discussed" if at == len(mention.tokens) == comma + 2 else None
        if mention.word(at) == "," and mention.word(at + 1) in words.ASIDE_VERB:
            return _predicate(mention, at + 1)
    return None


def _pronoun(mention: Mention, at: int) -> After:
    after = "closed" if _negates_another(mention, at + 1) else _predicate(mention, at + 1)
    return after if after in ("rejected", "affirmed") else "closed"


def _negates_another(mention: Mention, start: int) -> bool:
    negated = False
    for at in range(start, start + _REACH):
        word = mention.word(at)
        if negated and at < len(mention.tokens) and mention.is_capital(at) and mention.word(at + 1) != ":":
            return word.upper() not in mention.letters
        negated = negated or word in words.NEGATION
        if word not in words.NEGATION_FILLER and word not in OPENERS:
            return False
    return False


def _unspaced(following: str) -> After | None:
    if following[0].isascii():
        return None
    rest = following.lstrip("都均也皆被")
    topic = max((phrase for phrase in words.AFTER_TALK if rest.startswith(phrase)), key=len, default="")
    for start in (rest, rest[len(topic) :]):
        if start.startswith(words.AFTER_NEGATIVE):
            return "rejected"
        if start.startswith(words.AFTER_POSITIVE):
            return "affirmed"
        if start.startswith(words.AFTER_ENDING):
            return "closed" if start is rest else "affirmed"
    return "open" if topic else None


# Right behind the letters and their closing marks.
_MARKS: RuleTable[After] = RuleTable(
    Rule("B? No", ("?",), "rejected", following=words.NO),
    Rule("B?", ("?",), "asked"),
    Rule("B ✗", words.CROSS, "rejected"),
    Rule("B ✓", words.TICK, "affirmed"),
    Rule("It stops, whereas option B", ("\n",), _cut_off),
    Rule("B, which has him stop, is wrong", (",",), _beyond_aside),
    Rule("B: this is wrong", LABELLING | {"="}, lambda m, at: _LABELLED.decide(m, at + 1) or "closed"),
    Rule("B, as he stops", None, lambda m, at: None if m.word(at)[0].isalnum() else "closed"),
    Rule("B END", ("end",), "closed"),
    Rule("B it is", ("it",), "closed", following=("is", "must")),
    Rule("(B) no car stops", words.NO, "closed", before=CLOSERS),
)
# Behind a mark that makes the letter a label.
_LABELLED: RuleTable[After] = RuleTable(
    Rule("B: this is wrong", words.PRONOUN, _pronoun),
    Rule("B. No car stops", words.NO & words.NEGATIVE, "closed", before=(".", ")")),
    Rule("B - no", words.NEGATIVE, "rejected"),
    Rule("B: correct", words.RIGHT, "affirmed"),
)
# Behind "correctly", "best".
_RIGHTLY: RuleTable[After] = RuleTable(
    Rule("B correctly describes the clip", words.SUPPORT, _unless_qualified),
    Rule("B exactly.", STOPS, "affirmed"),
)
_PREDICATES: RuleTable[After] = RuleTable(
    Rule("Only B remains.", words.LEFT_OVER, "affirmed", following=PAUSES),
    Rule("B the better option", ("the",), lambda m, at: _noun_phrase(m, at + 1) or "closed"),
    Rule("B as the answer", ("as",), lambda m, at: _noun_phrase(m, at + 2) or "closed"),
    Rule("B wrong", words.NEGATIVE, "rejected"),
    Rule("B correct", words.POSITIVE, "affirmed"),
    Rule("B fits nothing", words.SUPPORT, "rejected", following=words.NEGATION),
    Rule("B fits best", words.SUPPORT, _degree),
    Rule("A does not fit, B does.", ("does", "is"), _ellipsis, following=STOPS),
    Rule("B not A", words.NOT, "closed"),
    Rule("B doesn't fit", words.NEGATION, "rejected"),
    Rule(
        "So B is",
        words.VERB,
        lambda m, at: "discussed" if at + 1 >= len(m.tokens) and m.word(at).isascii() else "closed",
        following=PAUSES,
    ),
    Rule("B is right", words.VERB, _complement),
    Rule("B shows what happens", words.REPORTING, "supported", following=("what",)),
    Rule("B states that he stops", words.REPORTING, "discussed"),
    Rule("So B and", words.UNFINISHED, lambda m, at: "discussed" if at + 1 >= len(m.tokens) else None),
    Rule("B because he stops", None, lambda m, at: "closed" if m.is_function(at) else None),
)
# Behind a verb, at each word until one decides.
_COMPLEMENTS: RuleTable[After] = RuleTable(
    Rule("B is here now.", PAUSES, "open"),
    Rule("B is not right", words.REJECTING, "rejected"),
    Rule("B is the best option", words.ARTICLE, lambda m, at: _noun_phrase(m, at + 1, m.word(at))),
    Rule("B is what we see", ("what",), lambda m, at: None if m.word(at + 1) == "if" else "supported"),
    Rule("B is more plausible", words.COMPARATIVE, "affirmed", following=words.GOOD),
    Rule("B is right", words.POSITIVE | words.LABEL, "affirmed"),
    Rule("B is consistent with the clip", words.SUPPORT, "supported"),
)
