"""An option letter, the cue before it and the letters joined to it; tables of rules about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.tokens import CLOSERS, OPENERS, PAUSES, STOPS, Token, is_letter

# What leads to the letter: "the answer is", "I choose", "it is", "I think", "points to", "so", "wait,", "not", "than"…
Cue = Literal["label", "choose", "is", "believe", "favour", "conclude", "revise", "not", "compared", "start", "other"]
# What becomes of it: the clause ends, a question, "is right", "is wrong", "fits", what the option says or a sentence
# cut off ("states that", "is"), or a sentence about something else.
After = Literal["closed", "asked", "affirmed", "rejected", "supported", "discussed", "open"]
Verdict = TypeVar("Verdict", bound=str)
Words: TypeAlias = frozenset[str] | tuple[str, ...]

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
    """One letter, or a group such as "A or B", and its surroundings."""

    after: After = "open"
    option = copula = False

    def __init__(self, tokens: Sequence[Token], words: Sequence[str], at: int) -> None:
        """Take the tokens, their words as `padded_words` returns them, and the letter's place."""
        self.tokens = tokens
        self._words = words
        self.at = self.last = self.stop = at
        self.letters = [tokens[at].word.upper()]
        self.cue = self._read_cue()
        self._join_group()

    def word(self, at: int) -> str:
        """Return the word at a token position; before and behind the text there are line ends."""
        return self._words[at] if at >= 0 else "\n"

    def before(self, reach: int, start: int | None = None) -> Iterator[str]:
        """Yield up to `reach` words before `start` (the letter), nearest first."""
        start = self.at if start is None else max(start, 0)
        return reversed(self._words[max(start - reach, 0) : start])

    def behind(self, reach: int) -> Sequence[str]:
        """Return the `reach` words behind the letters."""
        return self._words[self.last + 1 : self.last + 1 + reach]

    def is_capital(self, at: int) -> bool:
        """Whether the token at a position is a capital letter."""
        return is_letter(self.tokens[at]) and self.tokens[at].raw.isupper()

    def is_function(self, at: int) -> bool:
        """Whether the words at a position may follow a letter but not the article "A": "because", "rather than"."""
        return self.word(at) in words.FUNCTION or f"{self.word(at)}_{self.word(at + 1)}" in words.FUNCTION_PAIR

    def bracketed(self) -> bool:
        """Whether brackets enclose the letters: "(B)"."""
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
            if passed & words.DECISIVE:
                return "label"
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
        while len(self.letters) < GROUP_SIZE:
            joiner = ""
            at = self.last + 1
            while at - self.last <= _GROUP_GAP:
                word = self.word(at)
                if word in words.JOINERS and not (at < len(self.tokens) and self.tokens[at].raw.isupper()):
                    joiner = word
                elif word not in _AROUND_LETTER and (word not in words.PERHAPS or joiner in ("", ",")):
                    break
                at += 1
            if at >= len(self.tokens) or not is_letter(self.tokens[at]) or not self._joins(at, joiner):
                return
            self.letters.append(self.word(at).upper())
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
        if is_subject and token.word.upper() in self.letters:
            return False
        # "The answer is B and A is wrong": a verb behind the second letter starts a new clause.
        starts_clause = joiner == "," if self.cue == "not" else joiner in words.AND
        if self.cue in ("conclude", "revise", "believe") and not self.copula:
            # "So A and B are wrong": the letters so far and this one are subject together.
            apart = len(self.letters) == 1 and "," in (self.word(self.last + 1), self.word(at - 1))
            shared = following in words.PLURAL or not (apart or following in words.SINGULAR)
            starts_clause = starts_clause and not shared
        return not (is_subject and starts_clause and self.cue not in ("start", "other"))


@dataclass(frozen=True)
class Rule(Generic[Verdict]):
    """A row of a table of rules."""

    example: str
    words: Words | None
    then: Verdict | Callable[[Mention, int], Verdict | None]
    before: Words | None = None
    following: Words | None = None


class RuleTable(Generic[Verdict]):
    """Rules that are tried in order at one word of a text."""

    def __init__(self, *rules: Rule[Verdict]) -> None:
        self.rules = rules
        self._of_any = [rule for rule in rules if rule.words is None]
        known = {word for rule in rules for word in rule.words or ()}
        self._of = {word: [rule for rule in rules if rule.words is None or word in rule.words] for word in known}

    def decide(self, mention: Mention, at: int) -> Verdict | None:
        """Return the verdict of the first rule that has one for the word at a token position, or None."""
        for rule in self._of.get(mention.word(at), self._of_any):
            if rule.before is not None and mention.word(at - 1) not in rule.before:
                continue
            if rule.following is None or mention.word(at + 1) in rule.following:
                verdict = rule.then if isinstance(rule.then, str) else rule.then(mention, at)
                if verdict is not None:
                    return verdict
        return None


def is_adverb(word: str) -> bool:
    """Whether the word ends like an English adverb: "clearly"."""
    return len(word) > 4 and word.endswith("ly") and word not in words.LABEL


def _after_option(mention: Mention, _: int) -> Cue | None:
    mention.option = mention.option or not mention.copula
    return "label" if mention.copula else None


def _after_be(mention: Mention, at: int) -> Cue:
    return "not" if mention.word(at - 2) in words.DENYING else "believe"


def _unspaced(mention: Mention, at: int) -> Cue | None:
    word = mention.word(at)
    if word[0].isascii() or not word[0].isalpha():
        return None
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
    Rule("In the end B", ("end",), "conclude", before=("the",)),
    Rule("It's B", words.PRONOUN_IS, "is"),
    Rule("Therefore B", words.CONCLUDE, "conclude"),
    Rule("Wait, B", words.CORRECTION, "revise"),
    Rule("A over B", words.COMPARED, "compared"),
    Rule("The answer is B", words.LABEL, "label"),
    Rule("I choose B", words.CHOOSE, "choose"),
    Rule("I think B", words.BELIEVE, "believe"),
    Rule("The clip supports B", words.FAVOUR, "favour"),
    Rule("A fits, but B", words.CONTRAST, lambda m, at: "conclude" if len(m.word(at - 1)) == 1 else "other"),
    Rule("It looks like B", ("like",), "is", before=words.SEEMING),
    Rule("Final: B", words.FINAL, lambda m, _: "label" if m.copula else None),
    Rule("It must be B", ("be",), _after_be, before=words.OBLIGING),
    Rule("答案是B", None, _unspaced),
)
