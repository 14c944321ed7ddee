"""What a text says about option letters: whether it states, weighs or rejects each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from lmms_eval_tasks.utils.answers.choice_letters import (
    ARTICLE_LIKE,
    CLOSERS,
    GROUP_SIZE,
    LABELLING,
    OPENERS,
    PAUSES,
    STOPS,
    WALK,
    Mention,
    padded_words,
    read_after,
    until,
    words,
)
from lmms_eval_tasks.utils.answers.language import ENGLISH, Token, both_ends
from lmms_eval_tasks.utils.core.patterns import late_pattern

# "open": something is said of the letter, and no rule knows what.
Stance = Literal["chosen", "leaning", "preferred", "discussed", "open", "rejected"]

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


class Statement(Mention):
    """A letter, or a group of them, with what the text says about it there."""

    stance: Stance = "discussed"

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


def statements(tokens: Sequence[Token]) -> list[Statement]:
    """Return what the tokens say about single letters, in order; each letter costs a bounded look around."""
    stated: list[Statement] = []
    words_of_text = padded_words(tokens)
    last = -1
    for at in both_ends([at for at, token in enumerate(tokens) if token.is_letter]):
        if at <= last:
            continue
        mention = Statement(tokens, words_of_text, at)
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
    line = "".join(until((mention.word(place) for place in range(at, at + WALK)), "\n"))
    unspaced = line >= _UNSPACED and not any(sign in line for sign in words.DENYING_SIGNS)
    announced = mention.word(mention.at - 1) == ":" and mention.word(mention.at - 2) in words.ANNOUNCING
    return (announced or _line_begins(mention)) and (not line or unspaced or _begins_clause(mention, at))


def denies(mention: Mention) -> bool:
    """Whether the clause before a letter denies it or asks for a wrong option, or a contrast follows it."""
    clause = until(mention.before(WALK), PAUSES | words.CONTRAST)
    signs = any(sign in word for word in clause for sign in words.DENYING_SIGNS)
    at = _ending(mention)
    revised = mention.word(at) in PAUSES and mention.word(at + 1) in words.CONTRAST and mention.cue != "label"
    return revised or signs or not words.NEGATION.isdisjoint(clause) or any(map(_WRONG.match, clause))


def is_approved(mention: Mention) -> bool:
    """Whether the rest of a letter's clause speaks for it, and nothing in it does not."""
    behind = {*until(mention.behind(WALK), PAUSES)}
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
