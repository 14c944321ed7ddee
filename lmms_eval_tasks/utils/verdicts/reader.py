"""Reads yes, no or "cannot tell" from a free answer to a counterfactual question."""

from __future__ import annotations

import re
from dataclasses import replace

from lmms_eval_tasks.utils.answers.opening import mark_flags, open_response, plain_text, takes_back
from lmms_eval_tasks.utils.verdicts import vocabulary
from lmms_eval_tasks.utils.verdicts.links import read_links
from lmms_eval_tasks.utils.verdicts.modal_verbs import read_modal_verbs
from lmms_eval_tasks.utils.verdicts.other_languages import read_other_language
from lmms_eval_tasks.utils.verdicts.sentences import CHOICE, Sentence, asked_words, split_sentences
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, UNCLEAR, YES, Assertion, Force
from lmms_eval_tasks.utils.verdicts.yes_no import read_yes_no

VERDICT_READER = "verdict reader 4"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
_JSON_FLAG = re.compile(
    r"\"([^\"\n]{0,30}(?:answer|verdict|pred|happen|outcome|occur|would|still|result)[^\"\n]{0,20})\"\s{0,3}:\s{0,3}\"?"
    r"(true|false|yes|no)\b\"?(?=\s{0,9}(?:[,}\n]|\Z))",
    re.IGNORECASE,
)
_TURNING_KEY = re.compile(r"not_|never|prevent|chang|differ|affect|depend|alter|impact|requir", re.IGNORECASE)
_JSON_REASON = re.compile(
    r"\"(?:reason\w{0,9}|explanation|rationale)\"\s{0,3}:\s{0,3}\"([^\"\n]{1,400})\"", re.IGNORECASE
)
_OFFERING = frozenset({"or", "if", "otherwise"})
_DOUBT = vocabulary.PHRASES["unclear"]
_CONTRAST = re.compile(r"\b(?:but|however|though|yet)\b")


def read_verdict(response: object, question: str = "", *, cut_off: bool = False) -> str:
    """The verdict that a careful reader would find in an answer to "had A not happened, would B still have?".

    "cannot tell" covers refusals, hedges between both, empty and unreadable answers, and whatever else leaves a doubt:
    a wrong guess is worse than none. How it decides:

    1. Marked reasoning (`<think>…</think>`) is not the answer. An answer key of a JSON object decides, unless its
       reason contradicts it. What else such an object holds (a graph, say) is no statement.
    2. The last yes or no behind a label decides ("Answer: yes").
    3. Then the first other yes or no ("No, …", "so yes"), unless a later sentence takes it back ("wait, actually") or
       concludes otherwise. Where what follows only contradicts it, there is no verdict, or the opposite one where its
       own sentence shows that it is of an effect ("No, nothing changes, it would still happen").
    4. Without a yes or no, the last that is stated of the outcome ("it would still happen"), then links between the
       actions ("B requires A"), then plain affirmations ("the ball would roll"), if they all speak for one side.

    The time taken is linear in the length of the response, of which the beginning and the end are read.

    Args:
        response: What the model returned; anything but text cannot be told.
        question: The question that was asked, if it is known: a statement with its words is one of the outcome
            ("would have missed").
        cut_off: Whether the response used all its tokens: then only a yes or no that it begins with, or that stands
            behind a label, in a box or in JSON is its verdict, and none that it merely weighs.

    Returns:
        "yes", "no" or "cannot tell"; raises nothing.
    """
    if not isinstance(response, str):
        return UNCLEAR
    opened = open_response(response, _with_answers, cut_off)
    asked = asked_words(question)
    verdicts = {_read(value, asked) for value in opened.values} - {UNCLEAR}
    if not verdicts:
        return _read(opened.prose, asked, Force.WORD if opened.cut_off else Force.HINT)
    verdict = verdicts.pop()
    reason = _JSON_REASON.search(opened.text)
    stated = [one.verdict for one in _read_statements(reason[1], asked) if one.force is Force.STATED] if reason else []
    contradicted = verdicts or stated[-1:] == [OPPOSITE[verdict]]
    return UNCLEAR if contradicted else verdict


def stated_verdicts(text: str, question: str = "") -> set[str]:
    """The verdicts that a text states, by a yes or no or of the outcome itself, and the one that it is read as."""
    statements = _read_statements(text, asked_words(question))
    return {_decide(statements), *(one.verdict for one in statements if one.force >= Force.STATED)}


def _with_answers(text: str) -> str:
    """A text whose objects have their flags as answers, "outcome_changed" turned round."""

    def say(key: str, value: str) -> str:
        verdict = YES if value in ("true", "yes") else NO
        return OPPOSITE[verdict] if _TURNING_KEY.search(key) else verdict

    return mark_flags(text, _JSON_FLAG, say)


def _read(text: str, asked: frozenset[str], least: Force = Force.HINT) -> str:
    statements = _read_statements(text, asked)
    return _decide(statements) if any(one.force >= least for one in statements) else UNCLEAR


def _read_statements(text: str, asked: frozenset[str]) -> list[Assertion]:
    """All that a text says, in its order."""
    statements: list[Assertion] = []
    revises = replies = False
    for place, sentence in enumerate(split_sentences(plain_text(text), asked)):
        revises = revises or bool(vocabulary.PHRASES["revise"].search(sentence.plain))
        final = revises or bool(vocabulary.PHRASES["conclude"].match(sentence.plain.removeprefix("and ")))
        if statements and takes_back(sentence.text):
            statements.clear()
            continue
        whole = sentence.of_outcome or sentence.plain.count(" ") < 1
        said = [replace(one, place=place, final=final, whole=whole) for one in _statements(sentence)]
        statements += [one for one in said if not (replies and one.force >= Force.WORD)]
        # A yes or no to a question of the answer's own is no verdict: "Was he in position? Yes."
        replies = sentence.asks and "still" not in sentence.known and not any(one.force is Force.WORD for one in said)
    return statements


def _statements(sentence: Sentence) -> list[Assertion]:
    """All that a sentence says; what is only asked or considered is left out."""
    if vocabulary.PHRASES["tempting"].search(sentence.plain):
        contrasts = [at for at, word in enumerate(sentence.words) if word in ("but", "however", "yet")]
        sentence = replace(sentence, words=sentence.words[contrasts[0] + 1 :] if contrasts else ())
    verdict = read_yes_no(sentence)
    if not verdict and CHOICE in sentence.known and not sentence.asks:
        return [Assertion(UNCLEAR, Force.STATED)]
    said = [verdict] if verdict else []
    if sentence.asks:
        return said
    gives_up = sentence.text.startswith("whether ") or _DOUBT.search(_CONTRAST.split(sentence.plain)[-1])
    if vocabulary.MODAL & sentence.known:
        said += read_modal_verbs(sentence)
    elif not gives_up:
        said += read_other_language(sentence)
    if _OFFERING & sentence.known and {YES, NO} <= sentence.known | {one.verdict for one in said}:
        return [Assertion(UNCLEAR, Force.STATED)]
    said += read_links(sentence)
    # "We cannot know what he would have done": a doubt counts last, unless a contrast leaves it behind.
    doubts = [one for one in said if one.verdict == UNCLEAR and not _CONTRAST.search(sentence.plain)]
    return [*said, *doubts, *[Assertion(UNCLEAR, Force.STATED)] * bool(gives_up)]


def _decide(statements: list[Assertion]) -> str:
    known = [one for one in statements if one.verdict != UNCLEAR]
    labels = [one for one in known if one.force is Force.LABEL]
    if labels:
        last = labels[-1]
        if _doubled(last, known):
            return UNCLEAR
        if revised := [one for one in known if one.place > last.place and one.final and one.force >= Force.STATED]:
            return revised[-1].verdict
        stated = {one.verdict for one in known if one.force is Force.STATED}
        return UNCLEAR if OPPOSITE[last.verdict] in stated and labels[0].verdict != last.verdict else last.verdict
    if word := next((one for one in known if one.force is Force.WORD), None):
        return _unless_contradicted(word, statements)
    for force in (Force.STATED, Force.LINK, Force.HINT):
        verdicts = [one.verdict for one in statements if one.force is force]
        if verdicts:
            return verdicts[-1] if force is Force.STATED or len({*verdicts}) == 1 else UNCLEAR
    return UNCLEAR


def _unless_contradicted(word: Assertion, statements: list[Assertion]) -> str:
    """The verdict of a leading yes or no, unless what follows takes it back or contradicts it."""
    behind = [one for one in statements if one.place >= word.place and one is not word]
    stated = [one for one in behind if one.force >= Force.STATED and one.verdict != UNCLEAR]
    later = [one for one in stated if one.place > word.place]
    if final := [one for one in later if one.final]:
        return final[-1].verdict
    if any(one.force is Force.WORD and one.verdict != word.verdict for one in later):
        return UNCLEAR
    if _doubled(word, later) and not any(one.verdict != word.verdict for one in stated if one.place == word.place):
        return UNCLEAR
    if any(one.verdict == word.verdict for one in stated):
        return word.verdict
    near = [one for one in behind if one.place <= word.place + 1]
    if not stated and word.verdict == NO and any(one.verdict == UNCLEAR for one in near):
        return UNCLEAR
    links = [one for one in near if one.force is Force.LINK]
    if any(one.verdict == word.verdict for one in links):
        links = []
    if links or stated[: len(stated) - len(later)]:
        return OPPOSITE[word.verdict] if stated and len(stated) + len(links) > 1 else UNCLEAR
    return UNCLEAR if stated and word.place else word.verdict


def _doubled(word: Assertion, statements: list[Assertion]) -> bool:
    """Whether the sentence behind a yes or no says the other and nothing else: "No. It would still happen."."""
    return any(one.whole and one.verdict != word.verdict and one.place == word.place + 1 for one in statements)
