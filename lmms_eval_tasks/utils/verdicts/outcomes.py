"""What a sentence says of the outcome without the words yes and no: "it would still happen", "B requires A"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from lmms_eval_tasks.utils.verdicts import sentences, words
from lmms_eval_tasks.utils.verdicts.concessions import gives_up, is_conceded, without_concession
from lmms_eval_tasks.utils.verdicts.links import DENYING, in_any_case, read_links
from lmms_eval_tasks.utils.verdicts.odds import read_odds
from lmms_eval_tasks.utils.verdicts.sentences import QUOTES, Sentence, is_mark
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, UNCLEAR, YES, Assertion, Force

_BEHIND = 10
_BEFORE = 12
_NEAR = 4
_PHRASE = 3
_ENGLISH_EACH = 6
"""An English sentence has one of the commonest words in so many at least; others share some of them."""
_SHORT = 5
_NO_WITHOUT = re.compile(
    r"(?:no|without) \w+(?: \w+){0,5} (?:[,;:→–—-] |means |and )?(?:then )?no (?!it |he |she |they )\w+"
)
_NO_MORE = frozenset({"longer", "matter", "doubt", "less"})
_SUGGESTING = frozenset({"suggest", "suggests", "indicate", "indicates", "imply", "implies", "shows"})
_WHOLE = frozenset({"outcome", "outcomes", "result", "results", "everything", "events", "ending", "rest"})
"""Subjects that stand for all that happens: where they stay the same, so does what is asked about."""
_UNTELLING = frozenset(
    {"is", "has", "was", "needs", "requires", "depends", "relies", "lacks", "fails", "unless", "this"}
)
_OCCURS = frozenset({"happens", "occurs", "proceeds", "continues"})
_PRESENT = frozenset({"does", "do", "is", "are", "can", "takes", "never", *_OCCURS})
_SEEN = frozenset({"video", "clip", "footage", "frame", "frames", "shown"})
_GOES_ON = frozenset({"stay", "rema"})
"""Stems of a question that is itself of a state that goes on."""
_STAYS = frozenset({"stays", "remains", "stay", "remain", "keeps", "keep"})
_ENDING = frozenset({"run out", "fallen short", "come up", "come undone", "fallen apart"})
_DECIDED = words.MODAL - {"might", "may", "could"}
_GOING_ON = ("carried on", "carry on", "gone on", "go on", "gone ahead", "kept going", "come anyway")
_OCCURRING = frozenset({"come about", "take place", "taken place", "go ahead", "made it", "make it", *_GOING_ON})
_CONDITION = frozenset({"had", "did", "were", "was", "not", "happened", "skipped"})


def read_outcomes(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says, in order of kind: what would be, what is, and how the actions are linked."""
    undecided = gives_up(sentence)
    if undecided:
        yield Assertion(UNCLEAR, Force.STATED)
    if likely := read_odds(sentence):
        yield Assertion(likely, Force.STATED)
        return
    if words.MODAL & sentence.known:
        statements = without_concession(list(_modals(sentence)), sentence)
        if not _DECIDED & sentence.known and {YES, NO} <= {one.pole for one in statements}:
            # "He might have, or he might not have."
            statements = [Assertion(UNCLEAR, Force.STATED)]
        yield from statements
    elif not undecided:
        yield from _plainly(sentence)
    yield from read_links(_behind_verdict(sentence))


def _behind_verdict(sentence: Sentence) -> Sentence:
    """The sentence without the no with which it opens, which turns round nothing behind it: "No, he needed it"."""
    if phrase := words.PHRASES["no_phrase"].match(sentence.text):
        count = len(phrase.group().split())
        if is_mark(sentence.word(count)):
            return replace(sentence, words=sentence.words[count + 1 :])
    opens = sentence.word(0) == "no" and (is_mark(sentence.word(1)) or sentence.word(1) in words.NO_FOLLOWER)
    return replace(sentence, words=sentence.words[1:]) if opens else sentence


def _modals(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says would be, could be or will be."""
    for at, word in enumerate(sentence.words):
        if word not in words.MODAL or _is_condition(sentence, at) or is_conceded(sentence, at):
            continue
        before = sentence.words[max(0, at - _BEFORE) : at]
        behind = _clause(sentence, at + 1)
        for mark in (":", ";"):
            before = before[len(before) - before[::-1].index(mark) :] if mark in before else before
        turned = words.PHRASES["flip"].search(" ".join(before))
        subject = before[len(" ".join(before)[: turned.end()].split()) :] if turned else before
        statement = _modal(_last_clause(subject), behind, sentence, at)
        unsupported = sentence.word(0) in words.NEGATIVE_SUBJECT and _SUGGESTING & {*before}
        if statement and (turned or unsupported):
            statement = replace(statement, pole=OPPOSITE[statement.pole], force=max(statement.force, Force.STATED))
        if statement:
            yield statement


def _clause(sentence: Sentence, start: int) -> list[str]:
    """The words behind a modal verb, up to the end of its clause."""
    # "It would, therefore, have stayed": what only joins the sentences ends no clause.
    while sentence.word(start) in words.JOINING or sentence.word(start) == sentence.word(start + 2) == ",":
        start += 1
    reach = sentence.words[start : start + _BEHIND]
    clause = takewhile(lambda word: word not in words.CLAUSE_END and word not in words.MODAL, reach)
    return [word for word in clause if word not in QUOTES]


def _last_clause(before: Sequence[str]) -> list[str]:
    """The words since the last mark or joining word: the subject and what belongs to it."""
    clause: list[str] = []
    for word in before:
        begins = is_mark(word) or (word in words.CLAUSE_START and clause[-1:] != ["of"])
        clause = [] if begins else [*clause, word]
    return clause


def _is_condition(sentence: Sentence, at: int) -> bool:
    """Whether a modal verb stands in a condition, or in a question that is only repeated."""
    before = sentence.words[max(0, at - _BEFORE) : at]
    for step, word in enumerate(reversed(before)):
        if word in (",", ";", ":"):
            return False
        if word in ("whether", "before", "until", "once"):
            return True
        if word == "if":
            return step <= _NEAR and not _CONDITION & set(before[len(before) - step :])
    return False


def _modal(subject: list[str], behind: list[str], sentence: Sentence, at: int) -> Assertion | None:
    """What one modal verb says, by its subject and the words behind it; the rules are tried in order."""
    verbs = [word for word in behind if word not in words.VERB_FILLER]
    verb = verbs[0] if verbs else ""
    negated = any(word in words.NEGATION for word in behind[:4]) or "never" in behind
    negated = negated or _near(behind, "no", {"longer"}) or "never" in (sentence.word(at - 1), sentence.word(at - 2))
    if behind[:1] == ["not"] and "only" in behind[1:3]:
        negated = False
    by_subject = bool(subject) and subject[0] in words.NEGATIVE_SUBJECT
    if sentence.word(at - 1) in ("that", "who", "which") and sentence.word(at - 2) in words.NEGATIVE_SUBJECT:
        by_subject = True
    denies = negated != by_subject
    if subject[-1:] in (["i"], ["we"]) and (verb in words.SAY or verb in words.ASIDE or verb in words.SEARCHING):
        return None
    if negated and verbs[:1] in (["see"], ["imagine"]) and {"how", "why"} & {*verbs, sentence.word(at + 3)}:
        return None
    judging = any(word in words.TELLING for word in verbs[:2]) and _judges(subject, behind, sentence.word(at))
    if negated and (judging or "necessarily" in behind[:4]):
        return Assertion(UNCLEAR, Force.STATED)
    if motive := _motive(behind, sentence):
        return motive
    noun = words.EFFECT_NOUN & set(behind)
    if noun and (denies or _near(behind, "no", words.EFFECT_NOUN)):
        return Assertion(YES, Force.STATED)
    if by_subject and words.EFFECT_NOUN & set(subject[1:3]):
        return Assertion(NO if negated else YES, Force.STATED)
    if "difference" in noun:
        return Assertion(NO, Force.LEANING)
    keeps_from = verb in ("keep", "kept") and bool({"from", "him", "her", "them"} & {*behind})
    if keeps_from or (
        verb in words.EFFECT and not (verb in ("need", "needed") and behind[behind.index(verb) + 1 :][:1] == ["to"])
    ):
        if denies:
            return Assertion(YES, Force.STATED)
        return Assertion(NO, Force.STATED if keeps_from or verb in words.PREVENTING else Force.LEANING)
    if sentences.stem(verb) in sentence.asked and not {"no", "nothing", *words.KEEPING} & {verb, *behind[:_SHORT]}:
        return Assertion(NO if denies else YES, Force.STATED)
    if _fails(behind, verbs, sentence):
        return Assertion(YES if denies else NO, Force.STATED)
    if any(word in ("no", "nothing", "nobody", "none") for word in behind[:5]) and not _near(behind, "no", _NO_MORE):
        return Assertion(NO, Force.STATED)
    if denies:
        return Assertion(YES if words.CHANGED & set(behind) else NO, Force.STATED)
    return _affirmed(behind, verbs, sentence, at)


def _affirmed(behind: list[str], verbs: list[str], sentence: Sentence, at: int) -> Assertion | None:
    """What a modal verb says that nothing negates."""
    verb = verbs[0] if verbs else ""
    if in_any_case(sentence) and not _is_state(behind, verbs):
        return Assertion(YES, Force.STATED)
    if behind[-1:] == ["been"] and sentence.word(at + 1 + len(behind)) == "without":
        return Assertion(NO, Force.STATED)
    keeps = verb in words.KEEPING and (verb != "left" or "been" in behind)
    state = verbs[1] if keeps and len(verbs) > 1 else verb
    same = keeps and verbs[1:3] == ["the", "same"] and sentence.word(at - 1) in _WHOLE
    named = keeps and {sentences.stem(verb), sentences.stem(state)} <= sentence.asked
    if state in words.UNCHANGED or same or named:
        return Assertion(YES, Force.STATED)
    if keeps or _is_state(behind, verbs):
        return Assertion(NO, Force.LEANING)
    stays = bool(words.STILL & set(behind[:3])) or sentence.word(at - 1) in words.STILL
    stays = stays or bool((words.STILL - {"still"}) & set(behind))
    # "The second action would" without a full stop is cut off.
    elliptical = (
        not verbs
        and not words.LABEL & {sentence.word(at - 1)}
        and "have" not in behind[1:]
        and (is_mark(sentence.words[-1]) or at < _SHORT)
    )
    occurs = verb in words.OCCURRING or " ".join(verbs[:2]) in _OCCURRING
    if elliptical and not stays and sentence.word(at) in ("might", "may"):
        return Assertion(UNCLEAR, Force.STATED)
    if stays or occurs or elliptical:
        return Assertion(YES, Force.STATED)
    if {"different", "differ", "differently", "differed"} & set(behind):
        return Assertion(NO, Force.LEANING)
    end = sentence.words[at + 1 + len(behind) : at + 3 + len(behind)]
    makes = (
        verb == "made" and sentence.word(at + 1) == "have" and verbs[1:2] not in (["it"], ["him"], ["her"], ["them"])
    )
    if (
        (verb in words.ASIDE and not makes)
        or words.CHANGED & set(behind)
        or (end[:1] == ("without",) and end[-1].endswith("ing"))
    ):
        return None
    return Assertion(YES, Force.HINT) if verbs else None


def _motive(behind: list[str], sentence: Sentence) -> Assertion | None:
    """What "would have no reason to wipe it" says, whose reason is for the outcome; None where none is named."""
    nouns = [at for at, word in enumerate(behind) if word in words.MOTIVE and "no" in behind[max(0, at - 3) : at]]
    if not nouns:
        return None
    after = behind[nouns[0] + 1 :]
    if "not" in after or {"why", "against"} & {*after}:
        return Assertion(YES, Force.STATED)
    named = bool(sentence.asked & {sentences.stem(word) for word in after})
    return Assertion(NO, Force.STATED) if named or after[:1] == ["to"] else None


def _judges(subject: Sequence[str], behind: Sequence[str], modal: str) -> bool:
    """Whether a verb of knowing is the speaker's: "it cannot be known", not "he would not have known what to do"."""
    own = {*subject[-1:]} <= {"i", "we", "you", "one", "it", "that", "this"}
    return modal != "would" or own or bool({"be", "been"} & {*behind[:3]})


def _fails(behind: Sequence[str], verbs: Sequence[str], sentence: Sentence) -> bool:
    """Whether the words behind a modal verb deny an outcome: "would have failed"; "would have ended up" does not."""
    if any(word in words.FAILING for word in verbs):
        return True
    ends = (
        verbs[:1]
        and (verbs[0] in words.ENDING or " ".join(verbs[:2]) in _ENDING)
        and "up" not in behind
        and not in_any_case(sentence)
    )
    return bool(ends) and not any(word in words.NEGATION for word in behind)


def _is_state(behind: Sequence[str], verbs: Sequence[str]) -> bool:
    """Whether a state is named: "would have been in the box", and not "would have been put in the box"."""
    return bool({"be", "been"} & {*behind[:4]}) and bool(verbs) and verbs[0] in words.STATE


def _near(behind: Sequence[str], first: str, others: Collection[str]) -> bool:
    """Whether a word stands before one of others, at most two words between them."""
    return any(
        word == first and any(other in others for other in behind[at + 1 : at + 4]) for at, word in enumerate(behind)
    )


def _plainly(sentence: Sentence) -> Iterator[Assertion]:
    """Statements without a modal verb: "it still happens", "B is impossible", and those of other languages."""
    for at, word in enumerate(sentence.words):
        following, denied = sentence.words[at + 1 : at + 4], sentence.word(at - 1) in DENYING
        if word == "still" and following[:1] and (following[0] in words.OCCURRING or following[0] in ("does", "goes")):
            yield Assertion(YES, Force.STATED)
        elif word in ("is", "was", "becomes", "became", "are", "remains") and {"impossible", "unlikely"} & {
            *following[:1]
        }:
            yield Assertion(NO, Force.STATED)
        elif word in ("stays", "remains", "is", "stay", "remain") and words.UNCHANGED & {*following[:2]}:
            if "not" not in following and not denied:
                yield Assertion(YES, Force.STATED if word not in ("is",) else Force.LEANING)
        elif (word in _STAYS and {*following[:1]} & (words.STATE | {"put"}) and not denied) or (
            word in _STAYS and following and following[0].endswith("ed") and not denied
        ):
            yield Assertion(NO, Force.LEANING)
        elif word == "still" and following and following[0].endswith("s") and following[0] not in _UNTELLING:
            yield Assertion(YES, Force.LEANING)
        elif word in words.LOSING:
            yield Assertion(YES if denied else NO, Force.LEANING)
    yield from _present(sentence)
    english = sum(word in words.ENGLISH for word in sentence.words)
    if english > 1 and english * _ENGLISH_EACH >= len(sentence.words):
        return
    if not any(map(str.isalpha, sentence.text)):
        return
    text = "".join(word if not word.isascii() else f" {word} " for word in sentence.words).replace("  ", " ")
    for candidate in dict.fromkeys((" ".join(sentence.words), text)):
        if not words.ANY_PATTERN.search(candidate):
            continue
        for role, pole in (("unclear", UNCLEAR), ("undone", NO), ("no", NO), ("yes", YES), ("no_then", NO)):
            if role == "undone" and _GOES_ON & sentence.asked:
                continue
            if any(pattern.search(candidate) for pattern in words.PATTERNS[role]):
                yield Assertion(pole, Force.STATED)
                return


def _present(sentence: Sentence) -> Iterator[Assertion]:
    """An outcome in the present: "so B does not occur", "B takes place", "no rebound, no dunk"."""
    if len(sentence.words) < _PHRASE:
        return
    text = sentence.text
    concluded = words.PHRASES["conclude"].match(text.removeprefix("and ")) is not None
    if words.PHRASES["denied"].search(text) and not _CONDITION & sentence.known - {"not"}:
        yield Assertion(NO, Force.STATED)
    if sentence.word(0) in ("no", "without") and _NO_WITHOUT.match(" ".join(sentence.words)):
        yield Assertion(NO, Force.STATED)
    if not _PRESENT & sentence.known:
        return
    if (
        _SEEN & sentence.known
        or in_any_case(sentence)
        or words.PHRASES["dependent"].search(text)
        or "whether" in sentence.words
    ):
        return
    supposed = concluded or bool({"without", "if", "then"} & set(sentence.words[:_BEFORE]))
    if supposed and "never" in sentence.known:
        yield Assertion(NO, Force.STATED)
    for at, word in enumerate(sentence.words):
        if supposed and word == "no" and sentence.word(at - 1) in ("is", "are") and sentence.word(at - 2) == "there":
            yield Assertion(NO, Force.STATED)
        if word not in _PRESENT:
            continue
        verbs = [one for one in sentence.words[at + 1 : at + 5] if one not in words.VERB_FILLER]
        verb = verbs[0] if verbs else ""
        of_effect = {verb, *verbs[1:2]} & (words.EFFECT | words.EFFECT_NOUN | words.TELLING | words.CHANGED)
        before = set(_last_clause(sentence.words[max(0, at - _BEFORE) : at]))
        related = {"which", "where"} & {*sentence.words[max(0, at - _NEAR - 1) : at]}
        if of_effect or related or not verbs or {"if", "without", "since", "because", "when"} & before:
            continue
        if sentence.word(at + 1) in words.NEGATION and word in ("does", "do", "is", "are", "can"):
            if supposed or (word in ("does", "do") and verb in ("happen", "occur", "take", "follow")):
                yield Assertion(NO, Force.STATED)
        elif concluded and not DENYING & before and (word in _OCCURS or (word == "takes" and verb == "place")):
            yield Assertion(YES, Force.STATED)
