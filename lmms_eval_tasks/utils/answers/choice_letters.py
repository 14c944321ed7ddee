"""Option letters in a text, and by rules on the words around each what leads to it and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, Literal, TypeVar

from lmms_eval_tasks.utils.answers.language import Token, Words

words = Words("words.json")
STOPS = frozenset({"\n", ".", "!", "?", "。", "।", "۔", "…", ";", ".."})
PAUSES = STOPS | {","}
OPENERS = frozenset("\"'([<{«「『【〈《|>*-–—→=:")
CLOSERS = frozenset("\"')]>}»」』】〉》*|")
# Behind a letter they make it the label of what follows: "A) …", "A: …".
LABELLING = frozenset(".):-–—]|、→(")
# Letters that are words of some language: the article "a", Spanish "y", Portuguese "o"…
ARTICLE_LIKE = frozenset("aioeyu")

# What leads to the letter: "the answer is", "I choose", "it is", "I think", "points to", "so", "wait,", "not", "than"…
Cue = Literal["label", "choose", "is", "believe", "favour", "conclude", "revise", "not", "compared", "start", "other"]
# What becomes of it: the clause ends, a question, "is right", "is wrong", "fits", what the option says or a sentence
# cut off ("states that", "is"), or a sentence about something else.
After = Literal["closed", "asked", "affirmed", "rejected", "supported", "discussed", "open"]
Verdict = TypeVar("Verdict", bound=str)


def until(listed: Iterable[str], ends: Collection[str]) -> list[str]:
    return list(takewhile(lambda word: word not in ends, listed))


WALK = 14
"""Words that are looked at on one side of a letter."""
_GROUP_GAP = 6
GROUP_SIZE = 26
"""The most letters of one group."""
_PADDING = 128
_AROUND_LETTER = CLOSERS | OPENERS | words.OPTION


def padded_words(tokens: Sequence[Token]) -> list[str]:
    """Return the words of a text, with line ends behind it as far as any look around reaches."""
    return [*(token.word for token in tokens), *["\n"] * _PADDING]


class Mention:
    """One letter, or a group such as "A or B", with its surroundings."""

    after: After = "open"
    option = copula = False

    def __init__(self, tokens: Sequence[Token], words: Sequence[str], at: int) -> None:
        self.tokens = tokens
        self._words = words
        self.at = self.last = self.stop = at
        self.group = [tokens[at].word.upper()]
        self.cue = self._read_cue()
        self._join_group()
        self.letters = tuple(dict.fromkeys(self.group))
        self.begins, self.ends = tokens[self.at].start, tokens[self.last].end
        """Places in the text."""

    def word(self, at: int) -> str:
        """Return the word at a token position; before and behind the text there are line ends."""
        return self._words[at] if at >= 0 else "\n"

    def before(self, reach: int, start: int | None = None) -> Iterator[str]:
        """Yield up to `reach` words before `start` (the letter), nearest first."""
        start = self.at if start is None else max(start, 0)
        return reversed(self._words[max(start - reach, 0) : start])

    def behind(self, reach: int) -> Sequence[str]:
        return self._words[self.last + 1 : self.last + 1 + reach]

    def is_capital(self, at: int) -> bool:
        return self.tokens[at].is_letter and self.tokens[at].raw.isupper()

    def is_function(self, at: int) -> bool:
        """Whether the words at a position may follow a letter but not the article "A": "because", "rather than"."""
        return self.word(at) in words.FUNCTION or f"{self.word(at)}_{self.word(at + 1)}" in words.FUNCTION_PAIR

    def bracketed(self) -> bool:
        return self.word(self.at - 1) in ("(", "[") and self.word(self.last + 1) in (")", "]")

    def _read_cue(self) -> Cue:
        passed: set[str] = set()
        cue: Cue | None = None
        at = self.at - 1
        while at >= 0 and self.at - at <= WALK and self.word(at) not in STOPS:
            cue = _CUES.decide(self, at)
            if cue:
                break
            if self.word(at) in words.COPULA and not self._links(at):
                self.copula = True
            elif (self.is_capital(at) and self.word(at + 1) != ":") or not self._is_filler(at):
                cue = "other"
                break
            passed.add(self.word(at))
            at -= 1
        self.stop = at
        if cue in (None, "other") and self.copula:
            if passed & words.PRONOUN:
                return "is"
            if cue == "other" and self._is_described(at):
                return "label"
        return cue or ("conclude" if "→" in passed else "start")

    def _links(self, at: int) -> bool:
        """Whether the word ties a verb to the letter: "points to B", "narrows it down to B"."""
        if self.word(at) not in words.FAVOUR_LINK or self.copula:
            return False
        return any(self.word(at - step) in words.FAVOUR_LINKED for step in (1, 2, 3))

    def _is_filler(self, at: int) -> bool:
        word = self.word(at)
        if word.endswith(words.BEFORE_OPTION) or not word[0].isalnum() or is_adverb(word) or self._links(at):
            return True
        return word in words.CUE_FILLER or (self.copula and word in words.SUBJECT_FILLER)

    def _is_described(self, start: int) -> bool:
        """Whether the subject is an option that something speaks for: "the option that best fits the scene is B"."""
        passed: set[str] = set()
        for at in range(start, max(start - WALK, -1), -1):
            word = self.word(at)
            if word in PAUSES or word in words.REJECTING:
                return False
            if word in words.ANSWER_NOUN:
                return self.word(at + 1) in words.RELATIVE and bool(passed & words.FITTING)
            passed.add(word)
            if len(word) == 1 and self.tokens[at].raw.isupper():
                return False
        return False

    def _join_group(self) -> None:
        """Take in the letters joined to this one: "A or B", "A/B", "A, B and C", "(A) (B)"."""
        while len(self.group) < GROUP_SIZE:
            joiner = ""
            at = self.last + 1
            while at - self.last <= _GROUP_GAP:
                word = self.word(at)
                if word in words.JOINERS and not (at < len(self.tokens) and self.tokens[at].raw.isupper()):
                    joiner = word
                elif word not in _AROUND_LETTER and (word not in words.PERHAPS or joiner in ("", ",")):
                    break
                at += 1
            if at >= len(self.tokens) or not self.tokens[at].is_letter or not self._joins(at, joiner):
                return
            self.group.append(self.word(at).upper())
            self.last = at

    def _joins(self, at: int, joiner: str) -> bool:
        token, following = self.tokens[at], self.word(at + 1)
        if following in CLOSERS and following != "|":
            following = self.word(at + 2)
        may_be_word = token.raw.islower() or token.raw in ("A", "I")
        if may_be_word and following[0].isalpha() and following not in words.LETTER_FOLLOWER:
            return False
        is_subject = following in words.SUBJECT_VERB
        if not joiner:
            between = [self.word(step) for step in range(self.last + 1, at)]
            return not is_subject and between[:1] not in (["("], ["["]) and set("()[]\"'").issuperset(between)
        if is_subject and token.word.upper() in self.group:
            return False
        # "The answer is B and A is wrong": a verb behind the second letter starts a new clause.
        starts_clause = joiner == "," if self.cue == "not" else joiner in words.AND
        if self.cue in ("conclude", "revise", "believe") and not self.copula:
            # "So A and B are wrong": the letters so far and this one are subject together.
            apart = len(self.group) == 1 and "," in (self.word(self.last + 1), self.word(at - 1))
            shared = following in words.PLURAL or not apart
            starts_clause = starts_clause and not shared
        return not (is_subject and starts_clause and self.cue not in ("start", "other"))


@dataclass(frozen=True)
class Rule(Generic[Verdict]):
    example: str
    words: Collection[str] | None
    then: Verdict | Callable[[Mention, int], Verdict | None]
    before: Collection[str] | None = None
    following: Collection[str] | None = None


class RuleTable(Generic[Verdict]):
    def __init__(self, *rules: Rule[Verdict]) -> None:
        self.rules = rules
        self._of_any = [rule for rule in rules if rule.words is None]
        known = {word for rule in rules for word in rule.words or ()}
        self._of = {word: [rule for rule in rules if rule.words is None or word in rule.words] for word in known}

    def decide(self, mention: Mention, at: int) -> Verdict | None:
        for rule in self._of.get(mention.word(at), self._of_any):
            if rule.before is not None and mention.word(at - 1) not in rule.before:
                continue
            if rule.following is None or mention.word(at + 1) in rule.following:
                verdict = rule.then if isinstance(rule.then, str) else rule.then(mention, at)
                if verdict is not None:
                    return verdict
        return None


def is_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in words.LABEL


def _after_option(mention: Mention, _: int) -> Cue | None:
    mention.option = mention.option or not mention.copula
    return "label" if mention.copula else None


def _unspaced(mention: Mention, at: int) -> Cue | None:
    word = mention.word(at)
    if word.endswith(words.BEFORE_NEGATION):
        return "not"
    if word.endswith(words.BEFORE_OPTION):
        mention.option = True
        return "choose" if word.startswith(words.BEFORE_LABEL) and word not in words.BEFORE_OPTION else None
    if word.endswith(words.BEFORE_LABEL) or any(label in word for label in words.BEFORE_LABEL if len(label) > 1):
        mention.copula = True
        return "label"
    return "is" if word.endswith(words.BEFORE_IS) and not word.endswith(words.BEFORE_CLAUSE) else None


_CUES: RuleTable[Cue] = RuleTable(
    Rule("The options: B", words.OPTIONS, "other", following=(":", "are", '"')),
    Rule("The best option is B", words.OPTION, _after_option),
    Rule("No, B", words.NEGATION & words.CORRECTION, "revise", following=(",", "..", "-", "–", "—", ":", ";", "→")),
    Rule("It is not B", words.NEGATION, "not"),
    Rule("It is hardly B", words.WRONGLY, "not"),
    Rule("It does not point to B", words.FAVOUR_LINKED, "not", before=words.DENYING, following=words.FAVOUR_LINK),
    Rule("The clip points to B", words.FAVOUR_LINKED, "favour", following=words.FAVOUR_LINK),
    Rule("It's B", words.PRONOUN_IS, "is"),
    Rule("Therefore B", words.CONCLUDE, "conclude"),
    Rule("Wait, B", words.CORRECTION, "revise"),
    Rule("A over B", words.COMPARED, "compared"),
    Rule("The answer is B", words.LABEL, "label"),
    Rule("I choose B", words.CHOOSE, "choose"),
    Rule("I think B", words.BELIEVE, "believe"),
    Rule("The clip supports B", words.FAVOUR, "favour"),
    Rule("A fits, but B", words.CONTRAST, lambda m, at: "conclude" if len(m.word(at - 1)) == 1 else "other"),
    Rule("答案是B", None, _unspaced),
)

_REACH = 8
_PHRASE = 6
_ASIDE = 20
_QUALIFIED = 14


def read_after(mention: Mention) -> After:
    at = mention.last + 1
    while mention.word(at) in CLOSERS:
        at += 1
    after = _MARKS.decide(mention, at)
    if after:
        return after
    after = _predicate_unspaced(mention.word(at) + mention.word(at + 1)) or _predicate(mention, at)
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
    if adverbs & words.RIGHTLY and mention.word(at) in words.SUPPORT:
        return _unless_qualified(mention, at)
    return _PREDICATES.decide(mention, at) or "open"


def _complement(mention: Mention, verb: int) -> After:
    """Judge what stands behind a verb: "is the best option", "does not fit"."""
    for at in range(verb + 1, verb + _REACH):
        if after := _COMPLEMENTS.decide(mention, at):
            return after
        if not (mention.word(at) in words.COMPLEMENT_FILLER or is_adverb(mention.word(at))):
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
    """Tell "fits better" and "matches the video best" from "fits"."""
    for step in range(at + 1, at + _PHRASE):
        word = mention.word(step)
        if word in words.BEST:
            return _unless_qualified(mention, at)
        if word not in words.DEGREE_FILLER:
            break
    return "supported"


def _broken_off(mention: Mention, at: int) -> After | None:
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


def _predicate_unspaced(following: str) -> After | None:
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
    Rule("It stops, whereas option B", ("\n",), _broken_off),
    Rule("B, which has him stop, is wrong", (",",), _beyond_aside),
    Rule("B: this is wrong", LABELLING | {"="}, lambda m, at: _LABELLED.decide(m, at + 1) or "closed"),
    Rule("B, as he stops", None, lambda m, at: None if m.word(at)[0].isalnum() else "closed"),
    Rule("(B) no car stops", words.NO, "closed", before=CLOSERS),
)
# Behind a mark that makes the letter a label.
_LABELLED: RuleTable[After] = RuleTable(
    Rule("B: this is wrong", words.PRONOUN, _pronoun),
    Rule("B. No car stops", words.NO & words.NEGATIVE, "closed", before=(".", ")")),
    Rule("B - no", words.NEGATIVE, "rejected"),
)
_PREDICATES: RuleTable[After] = RuleTable(
    Rule("B the better option", ("the",), lambda m, at: _noun_phrase(m, at + 1) or "closed"),
    Rule("B fits nothing", words.SUPPORT, "rejected", following=words.NEGATION),
    Rule("B fits best", words.SUPPORT, _degree),
    Rule(
        "A does not fit, B does.",
        ("does", "is"),
        lambda m, _: "affirmed" if m.cue != "conclude" and m.word(m.at - 1) in words.CLAUSE_START else None,
        following=STOPS,
    ),
    Rule("B doesn't fit", words.NEGATION, "rejected"),
    Rule(
        "So B is",
        words.VERB,
        lambda m, at: "discussed" if at + 1 >= len(m.tokens) and m.word(at).isascii() else "closed",
        following=PAUSES,
    ),
    Rule("B is right", words.VERB, _complement),
    Rule("B states that he stops", words.REPORTING, "discussed"),
    Rule("So B and", words.UNFINISHED, lambda m, at: "discussed" if at + 1 >= len(m.tokens) else None),
    Rule("B because he stops", None, lambda m, at: "closed" if m.is_function(at) else None),
)
# Behind a verb, at each word until one decides.
_COMPLEMENTS: RuleTable[After] = RuleTable(
    Rule("B is here now.", PAUSES, "open"),
    Rule("B is not right", words.REJECTING, "rejected"),
    Rule("B is the best option", words.ARTICLE, lambda m, at: _noun_phrase(m, at + 1, m.word(at))),
    Rule("B is right", words.POSITIVE | words.LABEL, "affirmed"),
)
