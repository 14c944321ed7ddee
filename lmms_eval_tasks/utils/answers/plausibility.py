"""Reads from a free answer whether it takes a clip for possible."""

from __future__ import annotations

import re
from typing import NamedTuple

from lmms_eval_tasks.utils.answers.text import committed

POSSIBLE = "A"
"""The letter of the option that what a clip shows is possible."""
IMPOSSIBLE = "B"
"""The letter of the option that it is not."""
PLAUSIBILITY_READER = "plausibility reader 1"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
LONGEST = 20_000
"""Characters of a response that are read, from its end."""

_OTHER = {POSSIBLE: IMPOSSIBLE, IMPOSSIBLE: POSSIBLE}
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKS = re.compile(r"[*_`#>$\"“”«»{}\[\]()]+|\\boxed|\\text|</?\w{1,20}")
_NUMBERED = re.compile(r"^[ \t]*[0-9]{1,2}[.)][ \t]+(?=\S)", re.MULTILINE)
_SECOND = re.compile(r"^[ \t]*2[.)][ \t]", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^.!?;\n。]|[.](?=[0-9]))+[.!?;。]?")
_CONTRAST = re.compile(r",?\s*\b(?:but|however|yet|although|though)\b,?\s*")
_LABEL = re.compile(
    r"^.{0,60}?\b(?:answer|verdict|conclusion|judge?ment|prediction|output|result|label|classification|plausible"
    r"|possible|plausibility|is_possible|response|score)\b"
    r"(?:[^:=\n]{0,12}[:=]|\s*\b(?:is|would be|should be)\b:?|\s*(?:→|->))\s*"
)
_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence|well|sure|overall|finally|in short|in conclusion|probably|likely|most likely"
    r"|definitely|certainly|i(?: would|'d)? (?:say|think|choose|believe|answer|go with)|my answer is)\b[\s,:]*)*"
)
_BARE = {
    **dict.fromkeys(
        ("yes", "yep", "yeah", "1", "possible", "plausible", "true", "physically possible", "physically plausible"),
        POSSIBLE,
    ),
    **dict.fromkeys(
        (
            "no",
            "nope",
            "not",
            "absolutely not",
            "definitely not",
            "certainly not",
            "0",
            "impossible",
            "implausible",
            "false",
            "physically impossible",
            "physically implausible",
        ),
        IMPOSSIBLE,
    ),
}
_WORD = re.compile(
    r"^(yes|yep|yeah|no|nope|[01](?=\s*(?:[,:–—-]|because\b|since\b)))\b(?!\s+(?:doubt|matter|longer))[\s,:—–-]*(.*)$",
    re.DOTALL,
)
_MINUS = re.compile(r"-[0-9]")
_LAST = re.compile(r",|\b(?:so|hence|therefore|thus)\b")
_CONCLUDES = re.compile(
    r"\b(?:so|thus|therefore|hence|overall|in conclusion|to conclude|in summary|in short|finally|ultimately|actually"
    r"|wait|correction|as a result|consequently|all in all|on balance|final|i conclude)\b"
)
_DOUBTS = re.compile(
    r"\b(?:(?:can(?:no|')?t|can not|cannot|could not|couldn't|unable to|not able to|hard to|difficult to|impossible to"
    r"|not possible to|do not|don't|not) "
    r"(?:be )?(?:tell|told|determined?|say|said|know|known|judged?|assess(?:ed)?|decided?|answer(?:ed)?|see the video"
    r"|view|watch|access|sure|certain|clear|enough information|confirm(?:ed)?|conclude)"
    r"|unclear|unsure|uncertain|ambiguous|insufficient|inconclusive|may or may not|might or might not"
    r"|both possible and impossible|not enough)\b"
)
_OPEN = re.compile(
    r"\bwhether\b|\b(?:possible|plausible|yes|1|real\w*|true) ?(?:or|/|and|,) ?(?:not|impossible|implausible|no|0"
    r"|unreal\w*|false)\b|\b(?:impossible|implausible|no|0|false) ?(?:or|/|and|,) ?(?:possible|plausible|yes|1|true)\b"
    r"|\bif (?:the video|it|this|the behaviou?r|something|anything|everything|i|the events?) (?:is|was|were|had|are)\b"
    r"|\bi (?:need|have) to\b|\blet(?:'s| us| me)\b|\bto (?:decide|determine|judge|answer|assess)\b"
)
_NO_CLAIM = re.compile(
    r"\b(?:as|if|where|when|whenever|best|every|any|all|other|the only|one|another) possible\b"
    r"|\bpossible (?:that|explanations?|reasons?|causes?|answers?|ways?|outcomes?|reading|to see|to follow)\b"
    r"|\bphysical(?:ly)? plausibility\b"
)
_LAWS = (
    r"(?:[\w'-]+ ){0,4}?(?:physics|physical|laws?|gravity|solidity|permanence|continuity|nature|reality|inertia"
    r"|momentum)"
)
_BAD = (
    r"\b(?:impossible|implausible|infeasible|unphysical|non-physical|nonphysical|unrealistic|unnatural|impossibilit\w+"
    r"|implausibilit\w+|inconsistent with|incompatible with|contrary to|at odds with|counter to"
    rf"|violat\w+|def(?:y|ies|ied|ying) {_LAWS}|break(?:s|ing)? {_LAWS}|broke {_LAWS}|contradict\w* {_LAWS}"
    r"|magic(?:al|ally)?|supernatural\w*|anomal(?:y|ies|ous))\b"
)
_GOOD = (
    r"\b(?:possible|plausible|plausibly|feasible|realistic|realistically|physically (?:consistent|valid|sound|correct"
    r"|reasonable|natural)"
    rf"|consistent with {_LAWS}|in (?:line|accordance|agreement) with {_LAWS}|compatible with {_LAWS}"
    rf"|(?:obey|follow|respect|adhere to|conform to|agree with|comply with)(?:s|ing|ed)? {_LAWS}"
    rf"|(?:adheres|conforms|agrees|complies) (?:to|with) {_LAWS}"
    r"|as (?:expected|one would expect|it should|they should|you would expect)|behav\w+ (?:naturally|normally))\b"
)
_CLAIM = re.compile(rf"(?P<bad>{_BAD})|(?P<good>{_GOOD})")
_NOT = re.compile(
    r"\b(?:not|n't|never|no|nothing|none|neither|nor|without|hardly|cannot|can't|isn't|aren't|doesn't|don't|wasn't"
    r"|far from|free of|free from|lacks?|fails? to|unlikely|instead of|anything but|nowhere near|rather than"
    r"|less than|barely|in no way)\b"
)
_STOPS = re.compile(r",|:|\b(?:and|because|since|as|so|while|where|with)\b")
_NO_OBJECT = re.compile(r"\s*(?:no|none|nothing)\b")
_EXCEPT = re.compile(r"\b(?:except|apart from|aside from|other than)\b")
_KEEPS = re.compile(
    r"\b(?:not|no|nothing|never|isn't|doesn't) (?:only|just|merely)\b|\b(?:no|without) (?:doubt|question)\b"
)


class _Statement(NamedTuple):
    """What a sentence says: the letter, None for a doubt; whether it says nothing else, and whether it concludes."""

    letter: str | None
    bare: bool
    concludes: bool


def read_plausibility(response: object, *, cut_off: bool = False) -> str | None:
    """What a careful reader would take a response to say of its clip.

    1. Marked reasoning (`<think>…</think>`) is not the answer.
    2. The last sentence that says nothing but an answer decides ("Answer: no", "**Yes**", "0"), unless a later one
       concludes otherwise.
    3. Else the first sentence, where it begins with yes or no, unless a later one concludes otherwise.
    4. Else the last sentence that says that something is possible or not. What is only asked, offered or supposed says
       nothing, and a doubt takes back what was said before it.

    In a sentence a statement stands above its yes or no ("No, nothing here is impossible"), and a negation turns it:
    "not physically possible" is impossible. The time taken is linear in the length of the response.

    Args:
        response: What the model returned; anything but text says nothing.
        cut_off: Whether the response used all its tokens: then only an answer that it begins with, or that stands
            behind a label, in a box or in JSON is read, and none that it merely weighs.

    Returns:
        The letter of the option; None where it cannot be told.
    """
    if not isinstance(response, str):
        return None
    text = _THOUGHT.sub(" ", response[-LONGEST:])
    text = text.rpartition("</think>")[2].replace("’", "'").replace("‘", "'").lower()
    if cut_off:
        text = committed(text)
    if _SECOND.search(text):
        text = _NUMBERED.sub("", text)
    said = [one for sentence in _SENTENCE.findall(_MARKS.sub(" ", text)) if (one := _read(sentence))]
    if not said:
        return None
    bare = [place for place, one in enumerate(said) if one.bare]
    decided = bare[-1] if bare else 0 if said[0].letter and _starts(text) else None
    if decided is None:
        return None if cut_off else said[-1].letter
    later = [one.letter for one in said[decided + 1 :] if one.concludes]
    return later[-1] if later else said[decided].letter


def _starts(text: str) -> bool:
    """Whether a response begins with a yes or no."""
    return _WORD.match(_LEAD.sub("", _MARKS.sub(" ", text).strip())) is not None


def _read(sentence: str) -> _Statement | None:
    """What a sentence says; None where it says nothing of possible or not."""
    plain = " ".join(sentence.split())
    if plain.endswith("?"):
        return None
    plain = plain.strip(" .!;:,。")
    labelled = _LABEL.sub("", plain)
    for rest in (plain, labelled):
        answer = _LEAD.sub("", rest)
        core = answer.strip(" .,:'-")
        # "- 1" is a list's only point, "-1" a number that means neither.
        if core in _BARE and not _MINUS.search(answer):
            return _Statement(_BARE[core], bare=True, concludes=True)
    *_, last = _CONTRAST.split(plain)
    if _DOUBTS.search(plain) and not _DOUBTS.search(last):
        # "It is hard to say, but my answer is no."
        return _read(last)
    if _DOUBTS.search(plain):
        return _Statement(None, bare=False, concludes=True)
    if _OPEN.search(plain):
        return None
    if (end := _LAST.split(plain)[-1].strip()) in _BARE:
        return _Statement(_BARE[end], bare=False, concludes=True)
    concludes = _CONCLUDES.search(plain) is not None
    word = _WORD.match(_LEAD.sub("", labelled))
    stated = _stated(word[2] if word else plain)
    if word is None:
        return _Statement(stated, bare=False, concludes=concludes) if stated else None
    letter = stated or (POSSIBLE if word[1][0] in "y1" else IMPOSSIBLE)
    return _Statement(letter, bare=labelled != plain, concludes=concludes)


def _stated(sentence: str) -> str | None:
    """What a sentence says by its last clause that says anything."""
    for clause in reversed(_CONTRAST.split(sentence)):
        claims = list(_CLAIM.finditer(_NO_CLAIM.sub(lambda match: "-" * len(match[0]), clause)))
        if not claims:
            continue
        # Of several in one clause an impossible one decides: "possible until it passes through, which is impossible".
        letters = [_turned(clause, claim) for claim in claims]
        return IMPOSSIBLE if IMPOSSIBLE in letters else POSSIBLE
    return None


def _turned(clause: str, claim: re.Match[str]) -> str:
    """What a claim says with the negations before it."""
    letter = IMPOSSIBLE if claim["bad"] else POSSIBLE
    before = _KEEPS.sub(" ", clause[: claim.start()])[-80:]
    near = _STOPS.split(before)[-1]
    after = clause[claim.end() :]
    if _EXCEPT.search(after):
        return IMPOSSIBLE
    turns = len(_NOT.findall(near)) + bool(claim["bad"] and (_NO_OBJECT.match(after) or " no " in claim[0]))
    return _OTHER[letter] if turns % 2 else letter
