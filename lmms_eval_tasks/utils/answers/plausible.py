"""Answers to the question of whether a clip is possible: the verdict in a free text, and its grader."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from lmms_eval_tasks.utils.answers.hooks import Fields, Grade, Stratum, grader
from lmms_eval_tasks.utils.answers.language import Words, is_english, takes_back
from lmms_eval_tasks.utils.answers.opening import mark_flags, open_response, plain_text
from lmms_eval_tasks.utils.core.patterns import late_pattern
from lmms_eval_tasks.utils.scoring.metrics import Metric, share_of
from lmms_eval_tasks.utils.scoring.record import UnparsedReason

POSSIBLE = "A"
"""The letter of the option that what a clip shows is possible."""
IMPOSSIBLE = "B"
"""The letter of the option that it is not."""
PLAUSIBILITY_READER = "plausibility reader 4"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""

_OTHER = {POSSIBLE: IMPOSSIBLE, IMPOSSIBLE: POSSIBLE}
_FLAG = late_pattern(
    r"[\"'](?![^\"'\n]{0,40}(?:confid|probab))([^\"'\n]{0,30}(?:answer|verdict|pred|plausib|possib|label|result|score|output"
    r"|response|judge?ment|violat|real|consistent|valid)[^\"'\n]{0,20})[\"']\s{0,3}:\s{0,3}[\"']?(true|false|yes|no|[01])\b"
    r"[\"']?(?=\s{0,9}(?:[,}]|\Z))",
    re.IGNORECASE,
)
_TURNING_KEY = late_pattern(r"impossib|implausib|violat|unreal|invalid|inconsist", re.IGNORECASE)
_with_answers = partial(mark_flags, flags=_FLAG, turning=_TURNING_KEY, yes="possible", no="impossible")
_MARKS = late_pattern(r"[>\"«»\[\]()]+")
_NUMBERED = late_pattern(r"^[ \t]*[0-9]{1,2}[.)][ \t]+(?=\S)", re.MULTILINE)
_SECOND = late_pattern(r"^[ \t]*2[.)][ \t]", re.MULTILINE)
_SENTENCE = late_pattern(r"(?:[^.!?;\n。]|[.](?=[0-9]))+[.!?;。]?")
_CONTRAST = late_pattern(r",?\s*\b(?:but|however|yet|although|though)\b,?\s*")

_WORDS = Words("plausible_words.json")
_LABEL = late_pattern(
    rf"^.{{0,60}}?{_WORDS.pattern('label')}(?:[^:=\n]{{0,12}}[:=]|\s*\b(?:is|would be|should be)\b:?|\s*(?:→|->))\s*"
    rf"|^.{{0,30}}?(?:{_WORDS.patterns['label_unspaced']})[是为は]?\s*[:,]?\s*"
)
_LABELS = 3
_ENDS = " .!;:,。"
_LINE_ENDS = (".", "!", "?", ":", "。")
_LEAD = late_pattern(rf"^(?:{_WORDS.pattern('lead')}[\s,:]*)*")
_FOREIGN = _WORDS.phrases("yes_leading", "no_leading")
_BARE = {
    **dict.fromkeys(_WORDS.phrases("yes_alone", "yes_leading"), POSSIBLE),
    **dict.fromkeys(_WORDS.phrases("no_alone", "no_leading"), IMPOSSIBLE),
}
_BETWEEN = late_pattern(r"[\s/,;|→=–—-]+(?:(?:and|or)\b\s*)?")
_SELF_CONTAINED = {word for word in _BARE if " " not in word} - {"not"}
_WORD = late_pattern(
    # "No violations are seen": before a noun it is no answer.
    r"^(yes|yep|yeah|nope|no(?!\s+(?!(?:it|this|that|the|there|these|they|because|since|as|i|we|not|but|so|no)\b)\w)"
    rf"|(?:{'|'.join(_FOREIGN)})(?=\s*(?:[,:–—-]|$))|[01](?=\s*(?:[,:–—-]|because\b|since\b)))(?![\w'])"
    r"(?!\s+(?:doubt|matter|longer))[\s,:—–-]*(.*)$",
    re.DOTALL,
)
# "No real object can do that": nothing does what is shown.
_NO_CAUSE = late_pattern(
    r"^no (?:[\w'-]+ ){1,6}?(?:(?:can|could|would)\b(?! be\b)|explains?|explained|accounts? for|allows?|permits?"
    r"|justif(?:y|ies))\b"
)
_MINUS = late_pattern(r"-[0-9]")
_LAST = late_pattern(r",|\b(?:so|hence|therefore|thus)\b")
_CONCLUDES, _DOUBTS, _OPEN, _NO_CLAIM, _STRANGE, _NOT = (
    late_pattern(_WORDS.pattern(role)) for role in ("concludes", "doubts", "open", "no_claim", "strange", "not")
)
# An event is something that nothing real does: that it is not done says nothing of the rest. Something strange is not
# there where all is as it should be; where it is there, nothing follows.
_CLAIM = late_pattern("|".join(f"(?P<{role}>{_WORDS.pattern(role)})" for role in ("bad", "good", "event", "strange")))
_BROKEN_LAW = late_pattern(
    r"(\b(?:laws?|rules?|principles?|physics|gravity)\b[^.,;]{0,40}) (?:broken|breached|defied)\b"
)
_IS_NOT = late_pattern(r"\b(?:is|are|does|do|did|was|were)(?:n't| not)$")
_BEFORE, _AFTER = 160, 400
_STOPS = late_pattern(r",|:|\b(?:and|because|since|as|so|while|where|with)\b")
_NO_OBJECT = late_pattern(r"\s*(?:no|none|nothing)\b")
_EXCEPT = late_pattern(r"\b(?:except|apart from|aside from|other than)\b")
_KEEPS = late_pattern(
    r"\b(?:not|no|nothing|never|isn't|doesn't) (?:only|just|merely)\b|\b(?:no|without) (?:doubt|question)\b"
)


class _Statement(NamedTuple):
    letter: str | None
    bare: bool
    concludes: bool
    labelled: bool = False
    place: int = 0


def read_plausibility(reply: object) -> str | None:
    """Return the verdict on the clip that a careful reader would take from a reply or its text."""
    opened = open_response(reply, _with_answers)
    letters = {_read_text(value) for value in opened.values} - {None}
    return letters.pop() if len(letters) == 1 else None if letters else _read_text(opened.prose, opened.broken_off)


def why_no_plausibility(response: str) -> UnparsedReason:
    """Why `read_plausibility` finds no verdict in a response."""
    opened = open_response(response, _with_answers)
    text = _MARKS.sub(" ", plain_text("\n".join([*opened.values, opened.prose])).lower())
    said = {one.letter for sentence in _SENTENCE.findall(text) if (one := _read(sentence))}
    if {POSSIBLE, IMPOSSIBLE} <= said or _OPEN.search(text):
        return UnparsedReason.SEVERAL
    return UnparsedReason.NO_OPTION if is_english(text) else UnparsedReason.OTHER_LANGUAGE


def _read_text(response: str, broken_off: bool = False) -> str | None:
    text = plain_text(response).lower()
    if _SECOND.search(text):
        text = _NUMBERED.sub("", text)
    text = _MARKS.sub(" ", text)
    if not is_english(text):
        return _read_foreign(text)
    said: list[_Statement] = []
    asked: str | None = None
    for place, sentence in enumerate(_SENTENCE.findall(text)):
        one = _read(sentence)
        if said and (one is None or one.bare) and takes_back(sentence):
            one = _Statement(None, bare=False, concludes=True)
        if one and asked and one.bare and (word := " ".join(sentence.split()).strip(" .!,")) in ("yes", "no"):
            # "Does it violate physics? No."
            one = one._replace(letter=asked if word == "yes" else _OTHER[asked])
        asked = None if one else _asked(sentence)
        if one:
            said.append(one._replace(place=place))
    begins = _WORD.match(_LEAD.sub("", text.strip())) is not None
    return _decide(said, begins, broken_off)


def _read_foreign(text: str) -> str | None:
    """The verdict of a text in another language: of its words alone, behind a label, or in its last line."""
    said = [_read_word(" ".join(one.split())) for one in _SENTENCE.findall(text) if any(map(str.isalnum, one))]
    labelled = {word.letter for word in said if word and word.labelled}
    alone = {word.letter if word else None for word in said}
    before, _, line = text.strip().rpartition("\n")
    last = _read_word(" ".join(line.split())) if before.rstrip().endswith(_LINE_ENDS) else None
    letters = labelled or (alone if len(alone) == 1 or last is None else {last.letter})
    return letters.pop() if len(letters) == 1 else None


def _decide(said: list[_Statement], begins: bool, broken_off: bool) -> str | None:
    if not said:
        return None
    bare = [number for number, one in enumerate(said) if one.bare]
    number = bare[-1] if bare else 0 if said[0].letter and begins else None
    if number is None:
        return None if broken_off else said[-1].letter
    decided, later = said[number], said[number + 1 :]
    if concluding := [one.letter for one in later if one.concludes]:
        return concluding[-1]
    before = said[number - 1] if number else decided
    doubled = before.bare and before.letter != decided.letter and decided.place == before.place + 1
    contradicted = (
        later
        and later[0].place == decided.place + 1
        and {one.letter for one in later} == {_OTHER.get(decided.letter or "")}
    )
    return None if (doubled and not (decided.labelled or decided.concludes)) or contradicted else decided.letter


def _asked(sentence: str) -> str | None:
    """Return the verdict that a yes to a question such as "does it violate physics?" would give."""
    plain = " ".join(sentence.split())
    if not plain.endswith("?") or _OPEN.search(plain):
        return None
    return _stated(plain.rstrip("? ")) or (IMPOSSIBLE if _STRANGE.search(plain) else None)


def _read(sentence: str) -> _Statement | None:
    plain = " ".join(sentence.split())
    if plain.endswith("?"):
        return None
    if word := _read_word(plain):
        return word
    if not is_english(plain, otherwise=True):
        return _Statement(None, bare=False, concludes=True)
    return _read_clauses(plain.strip(_ENDS))


def _labelled(plain: str) -> str:
    """What a sentence says behind its labels."""
    for _ in range(_LABELS):
        plain = _LABEL.sub("", plain)
    return plain


def _read_word(sentence: str) -> _Statement | None:
    """The verdict of a sentence that has no other words than those of one, or its label."""
    plain = sentence.strip(_ENDS)
    labelled = _labelled(plain)
    for rest in (plain, labelled):
        answer = _LEAD.sub("", rest)
        core = answer.strip(" .,:'-")
        # "- 1" is a list's only point, "-1" a number that means neither.
        if core in _BARE and not _MINUS.search(answer):
            return _Statement(_BARE[core], True, _CONCLUDES.search(plain) is not None, labelled != plain)
        parts = _BETWEEN.split(core)
        if len(parts) > 1 and _SELF_CONTAINED.issuperset(parts):
            letters = {_BARE[part] for part in parts}
            if parts[0] in _FOREIGN and core.startswith(f"{parts[0]} "):
                letters.add("")  # "tidak mustahil": perhaps a negation
            return _Statement(letters.pop() if len(letters) == 1 else None, True, True, labelled != plain)
    word = _WORD.match(_LEAD.sub("", labelled))
    if word and word[1] in _FOREIGN and labelled != plain:
        return _Statement(_BARE[word[1]], True, False, labelled=True)
    return None


def _read_clauses(plain: str) -> _Statement | None:
    labelled = _labelled(plain)
    word = _WORD.match(_LEAD.sub("", labelled))
    if word and takes_back(word[2]):
        return _Statement(None, bare=False, concludes=True)
    *_, last = _CONTRAST.split(plain)
    if _DOUBTS.search(plain) and not _DOUBTS.search(last):
        # "It is hard to say, but my answer is no."
        return _read(last)
    if _DOUBTS.search(plain):
        return _Statement(None, bare=False, concludes=True)
    if _OPEN.search(plain):
        return None
    if (end := _LEAD.sub("", _LAST.split(plain)[-1].strip())) in _BARE:
        return _Statement(_BARE[end], bare=False, concludes=True)
    concludes = _CONCLUDES.search(plain) is not None
    stated = _stated(word[2] if word else plain)
    if word is None and not stated and _NO_CAUSE.match(plain):
        stated = IMPOSSIBLE
    if word is None:
        return _Statement(stated, bare=False, concludes=concludes) if stated else None
    return _Statement(stated or _BARE[word[1]], bare=labelled != plain, concludes=concludes)


def _stated(sentence: str) -> str | None:
    clauses = _CONTRAST.split(_BROKEN_LAW.sub(r"\1 violated", sentence))
    for place, clause in enumerate(reversed(clauses)):
        claims = list(_CLAIM.finditer(_NO_CLAIM.sub(lambda match: "-" * len(match[0]), clause)))
        if not claims:
            continue
        # Of several in one clause an impossible one decides: "possible until it passes through, which is impossible".
        letters = [letter for claim in claims if (letter := _turned(clause, claim))]
        if not letters:
            continue
        if place and _IS_NOT.search(clauses[-1]):
            # "The first half is possible, but the second is not."
            return IMPOSSIBLE
        return IMPOSSIBLE if IMPOSSIBLE in letters else POSSIBLE
    return None


def _turned(clause: str, claim: re.Match[str]) -> str | None:
    """Return the verdict of a claim after applying the negations before it; None if it expresses none."""
    letter = POSSIBLE if claim["good"] else IMPOSSIBLE
    before = _KEEPS.sub(" ", clause[max(claim.start() - _BEFORE, 0) : claim.start()])[-80:]
    near = _STOPS.split(before)[-1]
    after = clause[claim.end() : claim.end() + _AFTER]
    if _EXCEPT.search(after):
        return IMPOSSIBLE
    turns = len(_NOT.findall(near)) + bool(claim["bad"] and (_NO_OBJECT.match(after) or " no " in claim[0]))
    if (claim["strange"] and not turns % 2) or (claim["event"] and turns):
        return None
    return _OTHER[letter] if turns % 2 else letter


def plausibility_grader(stratum: Stratum = (), fields: Fields = ()) -> Grade:
    """Return a grader of free answers to whether the content of a clip is possible, with the keys A, possible, and B.

    The answer is what `read_plausibility` finds. An item is unscored where its clip is missing or its key is withheld,
    and unparsed where nothing is read. A record's field ``prompt`` has the prompt's signature.

    Args:
        stratum: Columns of the prepared table by which scores are broken down, or names and values from a row.
        fields: Columns that a record repeats among its fields, or names and values from a row, the reply and the task.
    """
    return grader(lambda _, reply: read_plausibility(reply), lambda _, text: why_no_plausibility(text), stratum, fields)


SAYS_POSSIBLE = Metric("says_possible", "says possible", share_of(POSSIBLE), higher_is_better=None)
"""Percent of the read answers that say possible: 50 of the keys, where each possible clip has an impossible one."""
