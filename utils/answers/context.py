"""What stands around an option letter: the cue before it, the letters joined to it, and what is said after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.tokens import CLOSERS, LABELLING, OPENERS, STOPS, Token, is_letter

# What leads to the letter: "the answer is", "I choose", "it is", "I think", "points to", "so", "wait,", "not", "than"…
Cue = Literal["label", "choose", "is", "believe", "favour", "conclude", "correct", "not", "compared", "start", "other"]
# What becomes of it: the clause ends, a question, "is right", "is wrong", "fits", what the option says or a sentence
# cut off ("states that", "is"), or a sentence about something else.
After = Literal["closed", "asked", "affirmed", "rejected", "supported", "discussed", "open"]

_WALK = 14
_GROUP_GAP = 6
_GROUP_SIZE = 26
_PREDICATE = 8
_PHRASE = 6
_ASIDE = 20
# Behind "no" they make it the answer to a question or a correction: "No, B", "no: B".
_AFTER_NO = frozenset((",", "..", "-", "–", "—", ":", ";", "→"))


class Mention:
    """One letter, or a group such as "A or B", and its surroundings. Every look around is bounded in tokens.

    Attributes: `at` and `last` are the first and last token of the group, `letters` its upper-case letters, `stop` the
    token where the cue was found; `option` says that a word like "option" stands directly before, `copula` that a verb
    or colon connects letter and cue.
    """

    def __init__(self, tokens: Sequence[Token], at: int) -> None:
        self.tokens = tokens
        self.at = self.last = self.stop = at
        self.letters = [tokens[at].word.upper()]
        self.option = False
        self.copula = False
        self.cue = self._left()
        self._group()
        self.after = self._right()

    def word(self, at: int) -> str:
        """Return the word at a token position; before and behind the text there are line ends."""
        return self.tokens[at].word if 0 <= at < len(self.tokens) else "\n"

    def before(self, reach: int, start: int | None = None) -> Iterator[str]:
        """Yield up to `reach` words before `start` (the letter), nearest first."""
        start = self.at if start is None else start
        return (self.word(at) for at in range(start - 1, max(start - 1 - reach, -1), -1))

    def bracketed(self) -> bool:
        """Whether brackets enclose the letters: "(B)"."""
        return self.word(self.at - 1) in ("(", "[") and self.word(self.last + 1) in (")", "]")

    def _left(self) -> Cue:
        seen: set[str] = set()
        cue: Cue | None = None
        at = self.at - 1
        while at >= 0 and self.at - at <= _WALK and self.word(at) not in STOPS:
            word = self.word(at)
            cue = self._cue(word, at)
            if cue:
                break
            if word in words.COPULA and not self._links(word, at):
                self.copula = True
            elif self._is_other_letter(at) or not self._is_filler(word, at):
                cue = "other"
                break
            seen.add(word)
            at -= 1
        self.stop = at
        if cue in (None, "other") and self.copula and seen & words.DECISIVE:
            return "label"
        if cue in (None, "other") and seen & words.PRONOUN and self.copula:
            return "is"
        if cue == "other" and self.copula and self._is_described(at):
            return "label"
        return cue or ("conclude" if "→" in seen else "start")

    def _is_other_letter(self, at: int) -> bool:
        return is_letter(self.tokens[at]) and self.tokens[at].raw.isupper() and self.word(at + 1) != ":"

    def _links(self, word: str, at: int) -> bool:
        """Whether the word ties a verb to the letter: "points to B", "narrows it down to B"."""
        if word not in words.FAVOUR_LINK or self.copula:
            return False
        return any(self.word(at - step) in words.FAVOUR_LINKED for step in (1, 2, 3))

    def _is_described(self, start: int) -> bool:
        """Whether the subject is an option that something speaks for: "the option that best fits the scene is B"."""
        passed: set[str] = set()
        for at in range(start, max(start - _WALK, -1), -1):
            word = self.word(at)
            if word in STOPS or word == "," or word in words.NEGATION | words.NEGATIVE | words.WRONGLY:
                return False
            if word in words.OPTION | words.LABEL | words.NAMED:
                fitting = words.SUPPORT | words.FAVOUR | words.FAVOUR_LINKED | words.POSITIVE | words.GOOD | words.MOST
                return self.word(at + 1) in words.RELATIVE and bool(passed & fitting)
            passed.add(word)
            if len(word) == 1 and self.tokens[at].raw.isupper():
                return False
        return False

    def _is_filler(self, word: str, at: int) -> bool:
        if word in words.OPTION or word.endswith(words.BEFORE_OPTION) or not word[0].isalnum():
            return True
        if _is_adverb(word) or self._links(word, at) or (self.copula and word in words.GOOD | words.MOST):
            return True
        return word in words.FILLER or word in words.PRONOUN or (self.copula and word in words.BRIDGE)

    def _cue(self, word: str, at: int) -> Cue | None:
        if word in words.OPTIONS and self.word(at + 1) in (":", "are", '"'):
            return "other"
        if word in words.OPTION:
            self.option = self.option or not self.copula
            return "label" if self.copula else None
        if word in words.NEGATION and not (word in words.CORRECT and self.word(at + 1) in _AFTER_NO):
            return "not"
        if word in words.WRONGLY:
            return "not"
        if word in words.FAVOUR_LINKED and self.word(at + 1) in words.FAVOUR_LINK:
            return "not" if self.word(at - 1) in words.WRONGLY | words.NEGATION else "favour"
        if word == "end" and self.word(at - 1) == "the":
            return "conclude"
        for vocabulary, cue in _CUES:
            if word in vocabulary:
                return cue
        if word in words.CONTRAST:
            return "conclude" if self.word(at - 1) == "," or len(self.word(at - 1)) == 1 else "other"
        if word == "like" and self.word(at - 1) in ("looks", "seems", "sounds"):
            return "is"
        if word in words.DECISIVE_VERB and self.copula:
            return "label"
        if word == "be" and self.word(at - 1) in ("must", "should", "to"):
            return "not" if self.word(at - 2) in words.WRONGLY | words.NEGATION else "believe"
        return None if word[0].isascii() or not word[0].isalpha() else self._unspaced_cue(word)

    def _unspaced_cue(self, word: str) -> Cue | None:
        if word.endswith(words.BEFORE_NEGATION):
            return "not"
        if word.endswith(words.BEFORE_OPTION):
            self.option = True
            return "choose" if word.startswith(words.BEFORE_LABEL) and word not in words.BEFORE_OPTION else None
        if word.endswith(words.BEFORE_LABEL) or any(label in word for label in words.BEFORE_LABEL if len(label) > 1):
            self.copula = True
            return "label"
        return "is" if word.endswith(words.BEFORE_IS) and not word.endswith(words.BEFORE_CLAUSE) else None

    def _group(self) -> None:
        """Take in the letters joined to this one: "A or B", "A/B", "A, B and C", "(A) (B)"."""
        while len(self.letters) < _GROUP_SIZE:
            joiner = ""
            at = self.last + 1
            while at - self.last <= _GROUP_GAP:
                word = self.word(at)
                if word in words.JOINERS and not (at < len(self.tokens) and self.tokens[at].raw.isupper()):
                    joiner = word
                elif not (
                    word in CLOSERS
                    or word in OPENERS
                    or word in words.OPTION
                    or (word in words.PERHAPS and joiner not in ("", ","))
                ):
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
        if may_be_word and following[0].isalpha() and following not in words.FUNCTION | words.JOINERS:
            return False
        is_subject = following in words.COPULA | words.AUXILIARY | words.NEGATION | words.FUNCTION - words.CONNECTIVE
        if not joiner:
            between = [self.word(step) for step in range(self.last + 1, at)]
            return not is_subject and between[:1] not in (["("], ["["]) and set("()[]\"'").issuperset(between)
        if is_subject and token.word.upper() in self.letters:
            return False
        # "The answer is B and A is wrong": a verb behind the second letter starts a new clause.
        starts_clause = joiner == "," if self.cue == "not" else joiner in words.MEANWHILE
        if self.cue in ("conclude", "correct", "believe") and not self.copula:
            starts_clause = starts_clause and not self._share_verb(at, following)
        return not (is_subject and starts_clause and self.cue not in ("start", "other"))

    def _share_verb(self, at: int, verb: str) -> bool:
        """Whether the letters so far and the one at `at` are subject together: "so A and B are wrong"."""
        apart = len(self.letters) == 1 and "," in (self.word(self.last + 1), self.word(at - 1))
        return verb in words.PLURAL or not (apart or verb in words.SINGULAR)

    def _right(self) -> After:
        at = self.last + 1
        while self.word(at) in CLOSERS:
            at += 1
        word = self.word(at)
        if word == "?":
            return "rejected" if self.word(at + 1) in words.NO else "asked"
        if not word[0].isalnum() and (word in words.NEGATIVE or word in words.POSITIVE):
            return "rejected" if word in words.NEGATIVE else "affirmed"
        if at >= len(self.tokens) and self.cue == "other" and self._opens_clause():
            return "discussed"
        if word == "," and not self.copula and (beyond := self._beyond_aside(at + 1)):
            return beyond
        if word in STOPS or not word[0].isalnum():
            return self._verdict(at + 1) if word in LABELLING or word == "=" else "closed"
        if word == "end" or (word == "it" and self.word(at + 1) in ("is", "must")):
            return "closed"
        if word in words.NO and self.word(at - 1) in CLOSERS:
            return "closed"
        after = self._unspaced_predicate(word + self.word(at + 1)) or self._predicate(at)
        if self._is_only():
            is_left = self.word(at) in words.COPULA and self.word(at + 1) in words.ONLY_LEFT
            after = "affirmed" if is_left or after == "supported" else after
        labels = self.cue == "start" or self.tokens[self.at].raw.isupper()
        return "closed" if after == "open" and labels and self.word(self.last + 1) in (")", "]") else after

    def _opens_clause(self) -> bool:
        """Whether the letter starts what the end of the text cuts off: "…, whereas option B"."""
        before = next((word for word in self.before(3) if word not in words.OPTION), "")
        return before in words.WHEREAS

    def _beyond_aside(self, at: int) -> After | None:
        """Judge what goes on behind a clause between commas ("A, where she stops, is wrong"); None without one."""
        if self.word(at) not in words.ASIDE and self.word(at + 1) not in words.ASIDE:
            return None
        verbs = words.COPULA | words.AUXILIARY | words.SUPPORT | words.NEGATION - words.NOT
        for step in range(at + 1, at + _ASIDE):
            if self.word(step) in STOPS:
                return "discussed" if step == len(self.tokens) == at + 1 else None
            if self.word(step) == "," and self.word(step + 1) in verbs:
                return self._predicate(step + 1)
        return None

    def _is_only(self) -> bool:
        before = next((word for word in self.before(4) if word.isalnum() and word not in words.OPTION), "")
        return before == "only"

    def _verdict(self, at: int) -> After:
        """Judge what follows a label: "A: correct", "B - no", "C: this is wrong"."""
        word = self.word(at)
        if word in words.PRONOUN:
            after = "closed" if self._negates_another(at + 1) else self._predicate(at + 1)
            return after if after in ("rejected", "affirmed") else "closed"
        if word in words.NEGATIVE:
            return "closed" if word in words.NO and self.word(at - 1) in (".", ")") else "rejected"
        return "affirmed" if word in words.POSITIVE - words.OPTION - words.LABEL else "closed"

    def _negates_another(self, at: int) -> bool:
        """Whether what is negated is another letter: "A. It is not B", "B. It can't be option A"."""
        negated = False
        for step in range(at, at + _PREDICATE):
            word = self.word(step)
            if negated and step < len(self.tokens) and self._is_other_letter(step):
                return self.tokens[step].word.upper() not in self.letters
            negated = negated or word in words.NEGATION
            if word not in words.NEGATION | words.COPULA | words.FILLER | words.OPTION | OPENERS:
                return False
        return False

    def _unspaced_predicate(self, following: str) -> After | None:
        if following[0].isascii():
            return None
        rest = following.lstrip("都均也皆被")
        talk = next((phrase for phrase in words.AFTER_TALK if rest.startswith(phrase)), "")
        for said in (rest, rest[len(talk) :]):
            if said.startswith(words.AFTER_NEGATIVE):
                return "rejected"
            if said.startswith(words.AFTER_POSITIVE):
                return "affirmed"
            if said.startswith(words.AFTER_ENDING):
                return "closed" if said is rest else "affirmed"
        return "open" if talk else None

    def _predicate(self, at: int) -> After:
        rightly = wrongly = False
        while _is_adverb(self.word(at)) or self.word(at) in words.RIGHTLY:
            rightly = rightly or self.word(at) in words.RIGHTLY
            wrongly = wrongly or self.word(at) in words.WRONGLY
            at += 1
            if at - self.last > _PREDICATE:
                break
        first = self.word(at)
        if wrongly:
            return "rejected"
        if rightly and first in words.SUPPORT:
            return "supported" if self._is_qualified(at) else "affirmed"
        if rightly and first in STOPS:
            return "affirmed"
        if first in words.LEFT_OVER and (self.word(at + 1) in STOPS or self.word(at + 1) == ","):
            return "affirmed"
        if first in ("the", "as"):
            return self._noun_phrase(at + 1 if first == "the" else at + 2)
        if first in words.NEGATIVE:
            return "rejected"
        if first in words.POSITIVE:
            return "affirmed"
        if first in words.SUPPORT:
            return "rejected" if self.word(at + 1) in words.NEGATION else self._degree(at)
        elliptic = first in ("does", "is") and self.word(at + 1) in STOPS and self.cue != "conclude"
        if elliptic and self.word(self.at - 1) in words.CLAUSE_START:
            return "affirmed"
        if first in words.NEGATION:
            return "closed" if first in words.NOT else "rejected"
        if first not in words.COPULA and first not in words.AUXILIARY:
            contrasted = self.word(at + 1) in words.FUNCTION_BEFORE.get(first, ())
            if first in words.TALK and self.word(at + 1) == "what":
                return "supported"
            if first in words.TALK or (first in words.UNFINISHED and at + 1 >= len(self.tokens)):
                return "discussed"
            return "closed" if first in words.FUNCTION or contrasted else "open"
        for step in range(at + 1, at + _PREDICATE):
            word = self.word(step)
            if word in STOPS or word == ",":
                if step == at + 1 and step >= len(self.tokens) and first.isascii():
                    return "discussed"
                return "closed" if step == at + 1 else "open"
            if word in words.NEGATION and self.word(step + 1) in ("only", "just", "merely"):
                continue
            if word in words.NEGATION or word in words.NEGATIVE or word in words.WRONGLY:
                return "rejected"
            if word in ("the", "a", "an") and (judged := self._noun_phrase(step + 1, word)) != "closed":
                return judged
            if word == "what" and self.word(step + 1) != "if":
                return "supported"
            if word in words.MOST and self.word(step + 1) in words.GOOD:
                return "affirmed"
            if word in words.POSITIVE or word in words.LABEL:
                return "affirmed"
            if word in words.SUPPORT:
                return "supported"
            if (
                word not in words.FILLER | words.COPULA
                and word not in ("more", "have", "one", "like", "both", "all")
                and not _is_adverb(word)
            ):
                break
        return "open"

    def _noun_phrase(self, at: int, article: str = "the") -> After:
        """Judge "the most suitable option", "a poor match", "the wrong answer"; "closed" if it is no such phrase."""
        passed: set[str] = set()
        for step in range(at, at + _PHRASE):
            word = self.word(step)
            if word in words.NEGATIVE | words.NEGATION | words.OTHER | words.WRONGLY:
                return "rejected"
            if word in words.LABEL | words.OPTION | words.PHRASE:
                behind = [self.word(step + further) for further in range(1, _PHRASE)]
                if behind[0] in words.TENTATIVE or behind[0] == "would" or not (passed or self._speaks_for(behind)):
                    return "open"
                if article == "the" or passed & words.POSITIVE:
                    return "affirmed"
                return "supported" if passed & words.GOOD else "closed"
            if word in STOPS or word == ",":
                break
            passed.add(word)
        return "closed"

    def _speaks_for(self, behind: Sequence[str]) -> bool:
        """Whether what follows "the option" speaks for it: "… that fits", "… I choose", but not "… with the lane"."""
        if behind[0] in STOPS or behind[0] == ",":
            return True
        fitting = words.SUPPORT | words.POSITIVE - words.OPTION - words.LABEL | words.FAVOUR | words.CHOOSE
        return bool(fitting & set(behind)) and not words.NEGATION & set(behind)

    def _degree(self, at: int) -> After:
        """Tell "fits better", "matches the video best" and "makes more sense" from "fits"."""
        for step in range(at + 1, at + _PHRASE):
            word = self.word(step)
            if word in ("better", "best") or (word in words.MOST and self.word(step + 1) == "sense"):
                return "supported" if self._is_qualified(at) else "affirmed"
            if word not in words.FILLER | words.BRIDGE:
                break
        return "supported"

    def _is_qualified(self, at: int) -> bool:
        """Whether the clause is taken back in part: "B correctly describes the start, but …"."""
        for step in range(at, at + _WALK):
            if self.word(step) in words.CONTRAST:
                return True
            if self.word(step) in STOPS:
                return False
        return False


def _is_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in words.LABEL


_CUES: tuple[tuple[frozenset[str], Cue], ...] = (
    (words.PRONOUN_IS, "is"),
    (words.CONCLUDE, "conclude"),
    (words.CORRECT, "correct"),
    (words.COMPARED, "compared"),
    (words.LABEL, "label"),
    (words.CHOOSE, "choose"),
    (words.BELIEVE, "believe"),
    (words.FAVOUR, "favour"),
)
