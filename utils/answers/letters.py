"""Finds what a text says about option letters: which it states, weighs or rejects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.context import Mention
from lmms_eval_tasks.utils.answers.tokens import ARTICLE_LIKE, LABELLING, STOPS, Token, is_letter

Stance = Literal["chosen", "leaning", "rejected"]

_SENTENCE = 40
_NEAR = 16
_LINE = 14
_LINE_REST = 8


class Statement(NamedTuple):
    """What one place of a text says about one or more letters.

    `stance` is "chosen", "leaning" (a mere mention, a guess among others) or "rejected"; several letters chosen
    together make a hedge. `at` and `end` count tokens. `alone`: the whole line says nothing else. `bare`: no word
    around says that the letter is an answer. `settles`: words announce a conclusion or correction. `listed`: the letter
    labels the text behind it on a line.
    """

    letters: tuple[str, ...]
    stance: Stance
    at: int
    end: int
    alone: bool = False
    bare: bool = False
    settles: bool = False
    listed: bool = False


def statements(tokens: Sequence[Token]) -> list[Statement]:
    """Return what the tokens say about single letters, in order; each letter costs a bounded look around."""
    said = []
    end = 0
    for at, token in enumerate(tokens):
        if at < end or not is_letter(token) or _is_article(tokens, at):
            continue
        mention = Mention(tokens, at)
        stance = _stance(mention) if _is_plausible(mention) else None
        if stance is not None:
            said.append(_statement(mention, stance))
            end = mention.last + 1
    return said


def _is_article(tokens: Sequence[Token], at: int) -> bool:
    """Whether a lower-case article or preposition stands before the letter proper: "a opção correta é a C"."""
    token = tokens[at]
    return token.raw.islower() and token.word in ARTICLE_LIKE and at + 1 < len(tokens) and is_letter(tokens[at + 1])


def _statement(mention: Mention, stance: Stance) -> Statement:
    closed = mention.after == "closed"
    bare = mention.cue == "start" and closed
    alone = closed and mention.cue in ("label", "start", "conclude", "correct")
    behind = (mention.word(mention.last + 1), mention.word(mention.last + 2))
    label = next((word for word in behind if word != '"'), "") in LABELLING
    return Statement(
        letters=tuple(dict.fromkeys(mention.letters)),
        stance=stance,
        at=mention.at,
        end=mention.last + 1,
        alone=alone and _line_ends(mention) and _line_begins(mention),
        bare=bare,
        settles=mention.cue in ("correct", "conclude")
        or _is_near(mention, words.CORRECT, sentences=3)
        or _is_near(mention, words.CONCLUDE | {"final"}, sentences=1),
        listed=label and mention.cue == "start" and mention.word(mention.stop) == "\n" and not _line_ends(mention),
    )


def _is_plausible(mention: Mention) -> bool:
    """Whether a token that could be a word of some language ("A ball", "I see", "y") is meant as a letter here."""
    token, following = mention.tokens[mention.at], mention.word(mention.last + 1)
    upper = token.raw.isupper()
    labelled = mention.option or mention.cue in ("label", "choose")
    if len(mention.letters) > 1 or mention.bracketed():
        return True
    if token.word in ARTICLE_LIKE and following[0].isascii() and following[0].isalpha():
        raw = mention.tokens[mention.last + 1].raw
        if token.raw == "I":
            return following in ("is", "because") and labelled
        beyond = mention.word(mention.last + 2)
        judged = (following in words.POSITIVE or following in words.NEGATIVE) and beyond in STOPS
        if judged or following in words.FUNCTION or beyond in words.FUNCTION_BEFORE.get(following, ()):
            return upper or mention.option or following in ("because", "since", "end")
        return labelled and upper and raw[0].isupper() and (len(raw) == 1 or not raw.isupper())
    if upper or labelled:
        return True
    return mention.word(mention.at - 1) == "\n" and following in (")", "]", ":", ".", "end", "\n")


def _stance(mention: Mention) -> Stance | None:
    if mention.after == "rejected" or mention.cue == "not":
        return "rejected"
    if mention.cue == "compared" and mention.after != "affirmed":
        return None
    firm = _firmness(mention)
    doubtful = mention.after == "asked" or _is_conditional(mention) or _is_restricted(mention) or _is_tentative(mention)
    return "leaning" if firm and doubtful else firm


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
        return "chosen"
    if ended and (cue in ("believe", "conclude", "correct") or (cue == "start" and not mention.copula)):
        return "chosen"
    if after == "supported":
        return "leaning"
    if cue in ("believe", "conclude", "correct"):
        return None
    before = mention.word(mention.at - 1)
    if ended and before == ":" and _line_ends(mention):
        return "chosen"
    named = mention.option or len(mention.letters) > 1 or (before == "," and _line_ends(mention))
    bracketed = mention.bracketed() and mention.tokens[mention.at].raw.isupper()
    return "leaning" if (ended and named) or bracketed else None


def _is_denied(mention: Mention) -> bool:
    """Whether the clause before the label denies it: "I do not think the answer is B"."""
    for word in mention.before(9, mention.stop):
        if word in STOPS or word in (",", ":", "-", "–", "—") or word in words.CONTRAST:
            return False
        if word in words.NEGATION and word not in ("no", "non", "out"):
            return True
    return False


def _is_conditional(mention: Mention) -> bool:
    """Whether the sentence starts with a condition, other than "if I had to choose"."""
    passed: list[str] = []
    for word in mention.before(_SENTENCE):
        if word in STOPS or word in words.CONTRAST:
            return False
        if word in words.CONDITION:
            return not words.FORCED & set(passed[-5:])
        passed.append(word)
    return False


def _is_restricted(mention: Mention) -> bool:
    """Whether a condition follows: "A would be right if …"."""
    for at in range(mention.last + 1, mention.last + 10):
        word = mention.word(at)
        if word in STOPS or word == ",":
            return False
        if word in ("if", "unless"):
            return True
    return False


def _is_tentative(mention: Mention) -> bool:
    """Whether the clause up to the letter is tentative: "it could be B"."""
    for word in mention.before(_SENTENCE):
        if word in STOPS or word == "," or word in words.CONTRAST or word in words.CONCLUDE:
            return False
        if word in words.TENTATIVE:
            return True
    return False


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


def _line_begins(mention: Mention) -> bool:
    for at in range(mention.at - 1, mention.at - _LINE, -1):
        word = mention.word(at)
        if word == "\n":
            return True
        if is_letter(mention.tokens[at]) and mention.tokens[at].raw.isupper():
            return False
        if word[0].isalnum() and word not in words.LINE_START and not word.endswith(words.BEFORE_LABEL):
            return False
    return False


def _line_ends(mention: Mention) -> bool:
    for at in range(mention.last + 1, mention.last + _LINE_REST):
        word = mention.word(at)
        if word == "\n":
            return True
        if word[0].isalnum() and word != "end":
            return False
    return False
