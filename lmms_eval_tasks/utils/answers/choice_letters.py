"""Option letters in a text: whether it states, weighs or rejects each, by rules on the words before and behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Generic, Literal, TypeVar

from lmms_eval_tasks.utils.answers.language import ENGLISH, Token, Words, both_ends
from lmms_eval_tasks.utils.core.patterns import late_pattern

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
# "open": something is said of the letter, and no rule knows what.
Stance = Literal["chosen", "leaning", "preferred", "discussed", "open", "rejected"]
Verdict = TypeVar("Verdict", bound=str)


def until(listed: Iterable[str], ends: Collection[str]) -> list[str]:
    return list(takewhile(lambda word: word not in ends, listed))


_WALK = 14
_GROUP_GAP = 6
GROUP_SIZE = 26
"""The most letters of one group."""
_PADDING = 128
_AROUND_LETTER = CLOSERS | OPENERS | words.OPTION


def padded_words(tokens: Sequence[Token]) -> list[str]:
    """Return the words of a text, with line ends behind it as far as any look around reaches."""
    return [*(token.word for token in tokens), *["\n"] * _PADDING]


class Mention:
    """One letter, or a group such as "A or B", with its surroundings and what the text says about it there."""

    after: After = "open"
    stance: Stance = "discussed"
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

    @property
    def alone(self) -> bool:
        """Whether its line says nothing else."""
        closed = self.after == "closed" and self.cue in ("label", "start", "conclude", "revise")
        return closed and _line_ends(self) and _line_begins(self)

    @property
    def bare(self) -> bool:
        """Whether only its place makes it an answer."""
        return (self.cue == "start" and self.after == "closed") or (self.cue == "favour" and self.after != "affirmed")

    @property
    def settles(self) -> bool:
        """Whether it revises or concludes what was said before."""
        return (
            self.cue in ("revise", "conclude")
            or _is_near(self, words.CORRECTION, sentences=3)
            or _is_near(self, words.CONCLUDE, sentences=1)
        )

    @property
    def listed(self) -> bool:
        """Whether it is the label of its line."""
        mark = next((word for word in self.behind(2) if word != '"'), "")
        return mark in LABELLING and self.cue == "start" and self.word(self.stop) == "\n" and not _line_ends(self)

    @property
    def verdict(self) -> Stance | None:
        """The judgement of the line that it labels."""
        return _line_verdict(self) or _LABEL_VERDICTS.get(self.after)

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
        while at >= 0 and self.at - at <= _WALK and self.word(at) not in STOPS:
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
        for at in range(start, max(start - _WALK, -1), -1):
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

_SENTENCE = 40
_NEAR = 16
_LINE = 14
_LINE_REST = 7
_UNSPACED = "\u2e80"
_WRONG = late_pattern("|".join(map(re.escape, sorted(words.WRONG_STEMS))))
_CLAUSE_MARKS = frozenset("(-–—→:")
_ANNOUNCING = words.BEFORE_LABEL + words.BEFORE_OPTION
_FIELD_WORDS = 3
_LISTED = 60
_VERDICT_WORDS = 6
_CLAUSE_ENDS = frozenset((".", ":", ";", "-", "–", "—", "(", ")", "→", "!"))
_SENTENCE_ENDS = STOPS | words.CONTRAST
_TENTATIVE_ENDS = _SENTENCE_ENDS | words.CONCLUDE | {","}
_DENIAL_ENDS = _SENTENCE_ENDS | {",", ":", "-", "–", "—"}
_DECLINED_ENDS = _TENTATIVE_ENDS | words.OPTION | {":"}

# Right behind a label: "A) wrong".
_LABEL_VERDICTS: dict[str, Stance] = {"affirmed": "chosen", "rejected": "rejected"}


def statements(tokens: Sequence[Token]) -> list[Mention]:
    """Return what the tokens say about single letters, in order; each letter costs a bounded look around."""
    stated: list[Mention] = []
    words_of_text = padded_words(tokens)
    last = -1
    for at in both_ends([at for at, token in enumerate(tokens) if token.is_letter]):
        if at <= last:
            continue
        mention = Mention(tokens, words_of_text, at)
        mention.after = read_after(mention)
        stance = _stance(mention) if _is_plausible(mention) else None
        if stance is not None:
            mention.stance = stance
            stated.append(mention)
        # Of a longer row of letters that says nothing, the rest is not joined anew for each of them.
        if stance not in (None, "open") or len(mention.group) == GROUP_SIZE:
            last = mention.last
    return stated


def _is_plausible(mention: Mention) -> bool:
    """Whether a token that could be a word of some language ("A ball", "I see", "y") is meant as a letter here."""
    token, following = mention.tokens[mention.at], mention.word(mention.last + 1)
    upper = token.raw.isupper()
    behind = mention.tokens[mention.at + 1 : mention.at + 2]
    if token.raw.islower() and token.word in ARTICLE_LIKE and behind[:1] and behind[0].is_letter:
        # An article or preposition before the letter itself: "a opção correta é a C".
        return False
    labelled = mention.option or mention.cue in ("label", "choose")
    if len(mention.group) > 1 or mention.bracketed():
        return True
    if token.word in ARTICLE_LIKE and following[0].isascii() and following[0].isalpha():
        raw = mention.tokens[mention.last + 1].raw
        if token.raw == "I":
            return following in ("is", "because") and labelled
        judged = following in words.PREDICATIVE and mention.word(mention.last + 2) in STOPS
        if judged or mention.is_function(mention.last + 1):
            starts = mention.word(mention.at - 1) in STOPS and following in words.COPULA
            meant = mention.option or following in ("because", "since", "end")
            return upper or meant or (starts and mention.after in ("affirmed", "rejected"))
        return labelled and upper and raw[0].isupper() and (len(raw) == 1 or not raw.isupper())
    if upper or labelled:
        return True
    if following in (".", "\n") and mention.cue in ("believe", "is", "conclude"):
        return following == "." or token.word not in ARTICLE_LIKE
    if following in words.COPULA and following.isalpha() and mention.cue in ("start", "believe", "conclude"):
        return mention.after in ("affirmed", "rejected")
    return mention.word(mention.at - 1) == "\n" and following in (")", "]", ":", ".", "end", "\n")


def _stance(mention: Mention) -> Stance | None:
    if mention.after == "rejected" or mention.cue == "not" or _is_wrong_label(mention):
        return "rejected"
    if _is_later_choice(mention):
        return None
    if _is_doubted(mention):
        return "rejected"
    if _is_question(mention):
        return None
    if mention.cue == "compared" and mention.after != "affirmed":
        # "B is less likely than A."
        preferred = mention.word(mention.stop) == "than" and "less" in mention.before(4, mention.stop)
        return "preferred" if preferred and mention.after == "closed" else None
    firm = _firmness(mention)
    if firm is None:
        return "open" if mention.tokens[mention.at].raw.isupper() else None
    return "leaning" if firm != "discussed" and _is_hedged(mention) else firm


def _firmness(mention: Mention) -> Stance | None:
    cue, after = mention.cue, mention.after
    ended = after in ("closed", "asked")
    if after == "affirmed":
        return "chosen"
    if cue == "label":
        if not mention.copula and not ended:
            return "leaning" if after == "supported" else None
        return None if _is_denied(mention) else "chosen"
    if cue in ("choose", "is"):
        return None if cue == "choose" and _is_declined(mention) else "chosen"
    if after == "discussed":
        return "discussed"
    is_topic = mention.option and mention.word(mention.last + 1) == "," and words.TOPIC & set(mention.before(3))
    if is_topic and cue in ("start", "other"):
        return None
    if ended and cue == "favour":
        return None if _is_denied(mention) else "chosen"
    if ended and (cue in ("believe", "conclude", "revise") or (cue == "start" and not mention.copula)):
        return "chosen"
    if after == "supported":
        return "leaning"
    if cue in ("believe", "conclude", "revise"):
        return None
    before = mention.word(mention.at - 1)
    if ended and before == ":" and _line_ends(mention):
        return None if _is_field(mention) else "chosen"
    named = mention.option or len(mention.group) > 1 or (before == "," and _line_ends(mention))
    bracketed = mention.bracketed() and mention.tokens[mention.at].raw.isupper()
    return "leaning" if (ended and named) or bracketed else None


def _is_doubted(mention: Mention) -> bool:
    """Whether the clause up to the letter takes its verdict back: "I doubt that B is right"."""
    if mention.after not in ("affirmed", "supported"):
        return False
    between = {mention.word(at) for at in range(max(mention.stop, 0), mention.at)}
    if between & PAUSES:
        return False
    return bool(between & words.DOUBT and not between & {"without", "no"}) or _is_denied(mention)


def _is_question(mention: Mention) -> bool:
    """Whether a verb right before the letter opens a question: "Is B the best option?"."""
    near = [word for word in mention.before(4) if word not in words.OPTION]
    asks = bool(near) and near[0] in words.ASKING and mention.after != "closed"
    return asks and (len(near) == 1 or near[1] in STOPS)


def _is_wrong_label(mention: Mention) -> bool:
    """Whether the label asks for a wrong option: "the least likely option is B"."""
    if mention.cue != "label":
        return False
    before = next((word for word in mention.before(3, mention.stop) if word not in words.GOOD), "")
    return before.isalpha() and before not in ("out", "x", "no") and before in words.WRONG_LABEL


def _is_declined(mention: Mention) -> bool:
    """Whether the verb before the letter is negated: "I did not choose B", "non ho scelto B"."""
    for word in until(mention.before(3, mention.stop), _DECLINED_ENDS):
        if word in words.DECLINING or word.endswith("n't"):
            return True
        if len(word) == 1 and word != "i":
            return False
    return False


def _is_later_choice(mention: Mention) -> bool:
    """Whether the letter is chosen after another: "my second choice is B", "second choice: B"."""
    labelled = mention.cue == "label"
    near = mention.before(2, mention.stop if labelled else mention.at)
    return (labelled or mention.option) and not words.BACKUP.isdisjoint(near)


def _is_field(mention: Mention) -> bool:
    """Whether the colon before the letter follows the name of something else than an answer: "Grade: A"."""
    name = until(mention.before(_FIELD_WORDS + 1, mention.at - 1), PAUSES)
    if not words.OTHER_FIELD.isdisjoint(name):
        return True
    unspaced = words.BEFORE_OPTION + words.BEFORE_LABEL
    announced = any(word in words.ANNOUNCING or len(word) == 1 or word.endswith(unspaced) for word in name)
    return len(name) <= _FIELD_WORDS and not announced


def _is_denied(mention: Mention) -> bool:
    """Whether the clause before the label denies it: "I do not think the answer is B"."""
    clause = until(mention.before(9, mention.stop), _DENIAL_ENDS)
    return not words.DENIAL.isdisjoint(clause) or ("way", "no") in pairwise(clause)


def _is_hedged(mention: Mention) -> bool:
    """Whether it is asked, conditional or tentative: "if B were right", "A would be right if …", "it could be B"."""
    words_before = list(mention.before(_SENTENCE))
    # Most letters have no such word before them, and to find where the sentence begins takes longer than to see that.
    if words.TENTATIVE.isdisjoint(words_before) and words.CONDITION.isdisjoint(words_before):
        words_before = []
    sentence = until(words_before, _SENTENCE_ENDS)
    if not words.TENTATIVE.isdisjoint(until(sentence, _TENTATIVE_ENDS)):
        return True
    conditional = not words.CONDITION.isdisjoint(sentence)
    restricted = not {"if", "unless"}.isdisjoint(until(mention.behind(9), PAUSES))
    return mention.after == "asked" or conditional or restricted


def _is_near(mention: Mention, vocabulary: frozenset[str], *, sentences: int) -> bool:
    """Whether one of the words stands before the letter, in its sentence or the last few."""
    for word in mention.before(_NEAR):
        if word in STOPS:
            sentences -= 1
            if not sentences:
                return False
        elif word in vocabulary:
            return True
    return False


def _line_verdict(mention: Mention) -> Stance | None:
    """Read the judgement behind the last dash, colon or stop of a line: "B: it swerves – yes, this is seen"."""
    clause: list[str] = []
    clauses = 0
    for at in range(mention.last + 2, mention.last + _LISTED):
        word = mention.word(at)
        if word == "\n":
            break
        if word in _CLAUSE_ENDS:
            clauses += bool(clause)
            clause = [] if mention.word(at + 1) != "\n" else clause
        else:
            clause.append(word)
    else:
        return None
    if not clauses or not clause:
        return None
    judgement = set(clause[:_VERDICT_WORDS])
    if judgement & words.NEGATIVE_END:
        return "rejected"
    if judgement & words.TENTATIVE or judgement & words.CONTRAST:
        return None
    first = next((word for word in clause if word not in words.UNJUDGING), "")
    return "chosen" if first in words.APPROVING or clause[0] in words.APPROVING else None


def _ending(mention: Mention) -> int:
    """The place behind a letter, its marks and the end of its word in a script without spaces."""
    at = mention.last + 1
    while mention.word(at) in CLOSERS:
        at += 1
    return at + (mention.word(at).startswith(words.AFTER_ENDING) or mention.word(at) in words.AFTER_TALK)


def _begins_clause(mention: Mention, at: int) -> bool:
    """Whether a reason or a contrast begins at a place, in another language than English."""
    word = mention.word(at)
    return mention.is_function(at) and word not in ENGLISH and word[0].isalpha()


def ends_clause(mention: Mention) -> bool:
    """Whether behind a letter its clause ends, or another begins."""
    at = _ending(mention)
    ends = at + (mention.word(at) in words.COPULA)
    return mention.word(ends) in PAUSES or mention.word(at) in _CLAUSE_MARKS or _begins_clause(mention, at)


def stands_alone(mention: Mention) -> bool:
    """Whether its line says nothing else but reasons, or in a script without spaces nothing that denies it."""
    at = _ending(mention)
    while mention.word(at) in PAUSES | OPENERS | words.COPULA and mention.word(at) != "\n":
        at += 1
    line = "".join(until((mention.word(place) for place in range(at, at + _WALK)), "\n"))
    unspaced = line >= _UNSPACED and not any(sign in line for sign in words.DENYING_SIGNS)
    announced = mention.word(mention.at - 1) == ":" and mention.word(mention.at - 2) in words.ANNOUNCING
    return (announced or _line_begins(mention)) and (not line or unspaced or _begins_clause(mention, at))


def denies(mention: Mention) -> bool:
    """Whether the clause before a letter denies it or asks for a wrong option, or a contrast follows it."""
    clause = until(mention.before(_WALK), PAUSES | words.CONTRAST)
    signs = any(sign in word for word in clause for sign in words.DENYING_SIGNS)
    at = _ending(mention)
    revised = mention.word(at) in PAUSES and mention.word(at + 1) in words.CONTRAST and mention.cue != "label"
    return revised or signs or not words.NEGATION.isdisjoint(clause) or any(map(_WRONG.match, clause))


def is_approved(mention: Mention) -> bool:
    """Whether the rest of a letter's clause speaks for it, and nothing in it does not."""
    behind = {*until(mention.behind(_WALK), PAUSES)}
    against = behind & (words.NEGATIVE | words.NEGATION | words.DOUBT)
    return not against and (mention.after == "affirmed" or bool(behind & (words.SUPPORT | words.POSITIVE | words.GOOD)))


def _line_begins(mention: Mention) -> bool:
    for at in range(mention.at - 1, mention.at - _LINE, -1):
        word = mention.word(at)
        if word == "\n" or mention.is_capital(at):
            return word == "\n"
        if word[0].isalnum() and word not in words.LINE_START and not word.endswith(_ANNOUNCING):
            return False
    return False


def _line_ends(mention: Mention) -> bool:
    for word in mention.behind(_LINE_REST):
        if word == "\n" or (word[0].isalnum() and word != "end"):
            return word == "\n"
    return False
