"""Reads yes, no or "cannot tell" from a free answer to a counterfactual question."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

from lmms_eval_tasks.utils.answers.text import open_response, plain_text
from lmms_eval_tasks.utils.verdicts import words
from lmms_eval_tasks.utils.verdicts.outcomes import read_outcomes
from lmms_eval_tasks.utils.verdicts.poles import names_both, read_pole, without_choices
from lmms_eval_tasks.utils.verdicts.sentences import Sentence, is_mark, outcome_words, split_sentences
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, UNCLEAR, YES, Assertion, Force

_JSON_FLAG = re.compile(
    r"\"([^\"\n]{0,30}(?:answer|verdict|pred|happen|outcome|occur|would|still|result)[^\"\n]{0,20})\"\s{0,3}:\s{0,3}\"?"
    r"(true|false|yes|no)\b\"?",
    re.IGNORECASE,
)
_DIRECT = 12
_JOINTS = frozenset({",", ";", ":", "because", "since", "and", "but", "so", "nothing", "anyway", "regardless"})
_JSON_REASON = re.compile(
    r"\"(?:reason\w{0,9}|explanation|rationale)\"\s{0,3}:\s{0,3}\"([^\"\n]{1,400})\"", re.IGNORECASE
)
_TURNING_KEY = re.compile(r"not_|never|prevent|chang|differ|affect|depend|alter|impact|requir", re.IGNORECASE)


def read_verdict(response: object, question: str = "") -> str:
    """The verdict that a careful reader would find in an answer to "had A not happened, would B still have?".

    "cannot tell" covers refusals, hedges between both, empty and unreadable answers, and whatever else leaves a doubt:
    a wrong guess is worse than none. How it decides:

    1. Marked reasoning (`<think>…</think>`) is not the answer; if nothing follows it, only a labelled last line counts.
       An answer key of a JSON object decides. What else such an object holds (a graph, say) is no statement.
    2. A yes or no behind a label or alone in its line decides, the last of them; what takes it back ("wait, actually")
       decides instead.
    3. Then the yes or no with which the answer opens, unless a later sentence revises it or concludes otherwise, or its
       own sentence goes on to state the opposite of the outcome ("No, nothing changes, it would still happen") or is
       of an effect ("No, that has no effect"). A reply to a question of the answer's own is of what that question
       asks. Where it only opens a refusal ("No, I cannot tell"), there is no verdict.
    4. Without a yes or no, what is stated of the outcome ("it would still happen"): a conclusion before a statement,
       the last one where they differ. Then links between the actions ("B requires A"), if they all speak for one side.
       Then a plain affirmation ("the ball would roll").

    The time taken is linear in the length of the response, of which the beginning and the end are read.

    Args:
        response: What the model returned; anything but text cannot be told.
        question: The question that was asked, if it is known: a statement with its words is one of the outcome
            ("would have missed").

    Returns:
        "yes", "no" or "cannot tell"; raises nothing.
    """
    if not isinstance(response, str):
        return UNCLEAR
    opened = open_response(response, _with_answers)
    asked = outcome_words(question)
    verdicts = {_read(value, asked) for value in opened.values} - {UNCLEAR}
    if verdicts:
        verdict = verdicts.pop()
        return UNCLEAR if verdicts or _reason_denies(verdict, opened.text, asked) else verdict
    if opened.rest.strip() or opened.values:
        return _read(opened.prose, asked)
    sentences = split_sentences(plain_text(opened.closing))
    labelled = [one for one in read_statements(sentences) if one.force is Force.LABEL]
    # A verdict with more behind it may be cut off before it is taken back.
    return labelled[0].pole if len(sentences) == len(labelled) == 1 and _is_last_word(sentences[0]) else UNCLEAR


def stated_verdicts(text: str, question: str = "") -> set[str]:
    """The verdicts that a text states, by a yes or no or of the outcome itself; links between actions are no verdict.

    Args:
        text: The text.
        question: The question, as for `read_verdict`.
    """
    statements = read_statements(split_sentences(plain_text(text), outcome_words(question)))
    return {one.pole for one in statements if one.force >= Force.STATED}


def _with_answers(text: str) -> str:
    """A text whose objects have their flags as answers."""
    numbers = count()
    return _JSON_FLAG.sub(lambda flag: _flag(flag, next(numbers)), text)


def _flag(flag: re.Match[str], number: int) -> str:
    """A field such as `"would_still_happen": false` of an object, as one of its answers; the opposite for "changed".

    Its key keeps its own words, which say whether it is final, and has a number, so that no other field replaces it.
    """
    pole = YES if flag[2].lower() in ("true", "yes") else NO
    return f'"answer {number} {flag[1]}": "{OPPOSITE[pole] if _TURNING_KEY.search(flag[1]) else pole}"'


def _reason_denies(verdict: str, text: str, asked: frozenset[str]) -> bool:
    """Whether the reason of a JSON object is one sentence that states the opposite of its answer and nothing else."""
    reason = _JSON_REASON.search(text)
    sentences = split_sentences(plain_text(reason[1]), asked) if reason else []
    stated = read_statements(sentences) if len(sentences) == 1 else []
    return [(one.force, one.pole) for one in stated] == [(Force.STATED, OPPOSITE[verdict])]


def _is_last_word(sentence: Sentence) -> bool:
    last = sentence.text.rpartition(" ")[2]
    return last in words.YES or last in words.NO


def _read(text: str, asked: frozenset[str]) -> str:
    return _decide(read_statements(split_sentences(plain_text(text), asked)))


def read_statements(sentences: list[Sentence]) -> list[Assertion]:
    """All that the sentences say, in the order of the text; what is only asked or considered is left out."""
    statements: list[Assertion] = []
    revises = False
    for place, sentence in enumerate(sentences):
        marked = bool(words.PHRASES["revise"].search(sentence.text))
        revises = revises or marked
        concludes = bool(words.PHRASES["conclude"].match(sentence.text.removeprefix("and ")))
        assertions = _statements(_without_temptation(sentence), place in (0, len(sentences) - 1))
        if place and sentences[place - 1].asks:
            assertions = _replies(assertions, sentences[place - 1])
        statements += [replace(one, place=place, revises=revises, concludes=concludes) for one in assertions]
        if assertions:
            # "No, sorry, I misread it. Yes, …": what takes back the verdict before it holds for what comes next.
            revises = marked and [one.force for one in assertions] == [Force.LEAD] and not concludes
    return statements


def _replies(assertions: list[Assertion], question: Sentence) -> list[Assertion]:
    """The statements behind a question of the answer's own, whose yes or no may be of something else.

    The lack of a thing is asked about ("would its lack have made B impossible? No"): a reply speaks for the opposite.
    Without a modal verb ("was he in position? Yes") it is no verdict.
    """
    asked = {*question.words}
    turned = asked & (words.EFFECT | words.EFFECT_NOUN | words.FAILING | words.ABSENCE)
    if "still" in asked or (words.MODAL & asked and not turned) or not words.ENGLISH & asked:
        return assertions
    kept = [one for one in assertions if one.force < Force.LEAD]
    replies = [one for one in assertions if one.force == Force.LEAD] if turned else []
    return [*(replace(one, pole=OPPOSITE[one.pole], force=Force.LEANING) for one in replies), *kept]


def _statements(sentence: Sentence, at_an_end: bool) -> list[Assertion]:
    chosen = without_choices(sentence)
    if names_both(chosen):
        return [Assertion(UNCLEAR, Force.STATED)]
    pole = read_pole(chosen, at_an_end)
    if pole and _denies_itself(pole, chosen):
        return [Assertion(UNCLEAR, Force.STATED)]
    if pole is None and chosen is not sentence and not sentence.asks:
        return [Assertion(UNCLEAR, Force.STATED)]
    return [*([pole] if pole else []), *([] if sentence.asks else read_outcomes(chosen))]


def _denies_itself(lead: Assertion, sentence: Sentence) -> bool:
    """Whether nothing but the opposite of a leading yes or no is behind it: "No, he would still have made coffee"."""
    behind = sentence.words[2:-1]
    if lead.force is not Force.LEAD or len(behind) > _DIRECT or not is_mark(sentence.word(1)) or {*behind} & _JOINTS:
        return False
    outcome = list(read_outcomes(replace(sentence, words=sentence.words[2:])))
    return [one.force for one in outcome] == [Force.STATED] and outcome[0].pole == OPPOSITE[lead.pole]


def _without_temptation(sentence: Sentence) -> Sentence:
    """The sentence without a verdict that it only considers: "at first glance yes, but …"."""
    if not words.PHRASES["tempting"].search(sentence.text):
        return sentence
    contrasts = [at for at, word in enumerate(sentence.words) if word in ("but", "however", "yet")]
    return replace(sentence, words=sentence.words[contrasts[0] + 1 :] if contrasts else ())


def _decide(statements: list[Assertion]) -> str:
    known = [one for one in statements if one.pole != UNCLEAR]
    unclear = [one for one in statements if one.pole == UNCLEAR]
    for force in (Force.LABEL, Force.LEAD):
        if given := [one for one in known if one.force is force]:
            if force is Force.LABEL and _labels_deny_themselves(given, known):
                return UNCLEAR
            first = given[-1] if force is Force.LABEL else given[0]
            return _unless_taken_back(first, known, unclear)
    stated = [one for one in known if one.force is Force.STATED]
    if stated:
        last = _weightiest(stated)
        return UNCLEAR if any(one.place >= last.place for one in unclear) else last.pole
    if unclear:
        return UNCLEAR
    for force in (Force.LEANING, Force.HINT):
        poles = {one.pole for one in known if one.force is force}
        if poles:
            return poles.pop() if len(poles) == 1 else UNCLEAR
    return UNCLEAR


def _labels_deny_themselves(labels: list[Assertion], known: list[Assertion]) -> bool:
    """Whether labels differ and all that is stated behind the last of them is its opposite."""
    last = labels[-1]
    stated = {one.pole for one in known if one.force is Force.STATED and one.place > last.place}
    return labels[0].pole != last.pole and stated == {OPPOSITE[last.pole]}


def _weightiest(stated: list[Assertion]) -> Assertion:
    """The statement that decides: the last that revises, else the last that concludes, else the last."""
    for kind in ("revises", "concludes"):
        if chosen := [one for one in stated if getattr(one, kind)]:
            return chosen[-1]
    return stated[-1]


def _unless_taken_back(given: Assertion, known: list[Assertion], unclear: list[Assertion]) -> str:
    """The pole of a yes or no, unless what follows revises it, concludes otherwise or contradicts it."""
    if given.pole == NO and any(0 <= one.place - given.place <= 1 for one in unclear):
        agrees = [one for one in known if one.pole == NO and one is not given and one.force >= Force.STATED]
        if not agrees:
            return UNCLEAR
    later = [one for one in known if one.place > given.place and one.force >= Force.STATED]
    final = [one for one in later if one.revises or (one.concludes and one.force >= Force.STATED)]
    if final and given.force is not Force.LABEL:
        return final[-1].pole
    if revised := [one for one in later if one.revises]:
        return revised[-1].pole
    leads = [one for one in later if one.force >= Force.LEAD]
    if leads and leads[-1].force is Force.LEAD and leads[-1].place > given.place + 1 and not given.opens:
        return leads[-1].pole
    if leads and leads[-1].pole != given.pole and given.force is Force.LEAD:
        return UNCLEAR
    if given.force is Force.LEAD and _answers_otherwise(given, known):
        return OPPOSITE[given.pole]
    beside = [one for one in known if one.place >= given.place and one is not given and one.force is Force.STATED]
    contradicted = beside and all(one.pole == OPPOSITE[given.pole] for one in beside)
    if given.force is Force.LEAD and contradicted and beside[0].place == given.place:
        # "No, it does not matter, it would still happen" denies something else than the outcome.
        return beside[0].pole
    return given.pole


def _answers_otherwise(given: Assertion, known: list[Assertion]) -> bool:
    """Whether a leading yes or no answers something else than the question, as the statements of the outcome show.

    Either its own sentence speaks of the effect ("No, that has no effect", "Yes, it would make a difference. B would
    not have happened"), or it concedes a point in the middle of a text that ends with the opposite.
    """
    stated = [one for one in known if one.force is Force.STATED and one.place >= given.place]
    if any(one.pole == given.pole for one in stated):
        return False
    effects = [one for one in known if one.force is Force.LEANING]
    for reach in (given.place, given.place + 1):
        effect = [one for one in effects if given.place <= one.place <= reach]
        if effect and all(one.pole == OPPOSITE[given.pole] for one in effect):
            return bool(stated) or (given.pole == NO and reach == given.place)
    return given.place > 0 and bool(stated) and stated[-1].place > given.place
