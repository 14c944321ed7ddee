"""Answers to the question of whether a clip is possible: the verdict in a free text, and its grader."""

from __future__ import annotations

import re
from typing import NamedTuple

from lmms_eval_tasks.utils.answers.hooks import Fields, Grade, Stratum, grader
from lmms_eval_tasks.utils.answers.opening import fold, mark_flags, open_response, plain_text, takes_back
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.metrics import Metric, share_of

POSSIBLE = "A"
"""The letter of the option that what a clip shows is possible."""
IMPOSSIBLE = "B"
"""The letter of the option that it is not."""
PLAUSIBILITY_READER = "plausibility reader 2"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""

_OTHER = {POSSIBLE: IMPOSSIBLE, IMPOSSIBLE: POSSIBLE}
_FLAG = re.compile(
    r"[\"'](?![^\"'\n]{0,40}(?:confid|probab))([^\"'\n]{0,30}(?:answer|verdict|pred|plausib|possib|label|result|score|output"
    r"|response|judge?ment|violat|real|consistent|valid)[^\"'\n]{0,20})[\"']\s{0,3}:\s{0,3}[\"']?(true|false|yes|no|[01])\b"
    r"[\"']?(?=\s{0,9}(?:[,}]|\Z))",
    re.IGNORECASE,
)
_TURNING_KEY = re.compile(r"impossib|implausib|violat|unreal|invalid|inconsist", re.IGNORECASE)
_MARKS = re.compile(r"[>\"«»\[\]()]+")
_NUMBERED = re.compile(r"^[ \t]*[0-9]{1,2}[.)][ \t]+(?=\S)", re.MULTILINE)
_SECOND = re.compile(r"^[ \t]*2[.)][ \t]", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^.!?;\n。]|[.](?=[0-9]))+[.!?;。]?")
_CONTRAST = re.compile(r",?\s*\b(?:but|however|yet|although|though)\b,?\s*")
_LABEL = re.compile(
    r"^.{0,60}?\b(?:answer|verdict|conclusion|judge?ment|prediction|output|result|label|classification|plausible"
    r"|possible|plausibility|response|score|rating|assessment|decision)\b"
    r"(?:[^:=\n]{0,12}[:=]|\s*\b(?:is|would be|should be)\b:?|\s*(?:→|->))\s*"
    r"|^.{0,30}?(?:答案|回答|结论|判断|结果|答え|答)[是为は]?\s*[:,]?\s*"
)
_LABELS = 3
_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence|well|wait|actually|oh|hmm|sure|overall|finally|in short"
    r"|in conclusion|probably|likely|most likely|definitely|certainly"
    r"|i(?: would|'d)? (?:say|think|choose|believe|answer|go with)|my answer is)\b[\s,:]*)*"
)
_YES = (
    "yes|yep|yeah|1|possible|plausible|true|physically possible|physically plausible|normal|realistic|of course"
    "|ja|oui|si|sim|да|возможно|tak|evet|ya|moglich|posible|possivel|possibile|mungkin|はい|可能です|ありえます|예|네|가능"
    "|가능합니다|是|是的|对|可能|有可能|可以|合理|符合"
)
_NO = (
    "no|nope|not|absolutely not|definitely not|certainly not|0|impossible|implausible|false|physically impossible"
    "|physically implausible|not possible|not plausible|not physically possible|not physically plausible|unrealistic"
    "|no way|no chance|not really|not at all|nein|non|nao|нет|невозможно|nie|hayır|hayir|tidak|unmoglich|imposible"
    "|impossivel|impossibile|mustahil|いいえ|不可能です|ありえません|아니요|아니오|불가능|불가능합니다|否|不|不是|不可能|不可以"
    "|不合理|不符合|不对"
)
_BARE = {**dict.fromkeys(fold(_YES).split("|"), POSSIBLE), **dict.fromkeys(fold(_NO).split("|"), IMPOSSIBLE)}
_FOREIGN = fold(
    "ja|oui|si|sim|да|tak|evet|nein|non|nao|нет|nie|hayir|tidak|是的|是|可能|对|否|不可能|不是|不对|不|はい|いいえ|예|네|아니요|아니오"
)
_BETWEEN = re.compile(r"[\s/,;|→=–—-]+(?:(?:and|or)\b\s*)?")
_SELF_CONTAINED = {word for word in _BARE if " " not in word} - {"not"}
_WORD = re.compile(
    # "No violations are seen": before a noun it is no answer.
    r"^(yes|yep|yeah|nope|no(?!\s+(?!(?:it|this|that|the|there|these|they|because|since|as|i|we|not|but|so|no)\b)\w)"
    rf"|(?:{_FOREIGN})(?=\s*(?:[,:–—-]|$))|[01](?=\s*(?:[,:–—-]|because\b|since\b)))(?![\w'])"
    r"(?!\s+(?:doubt|matter|longer))[\s,:—–-]*(.*)$",
    re.DOTALL,
)
# "No real object can do that": nothing does what is shown.
_NO_CAUSE = re.compile(
    r"^no (?:[\w'-]+ ){1,6}?(?:(?:can|could|would)\b(?! be\b)|explains?|explained|accounts? for|allows?|permits?"
    r"|justif(?:y|ies))\b"
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
    r"|\b(?:what|as|anything that) (?:can|could) (?:happen|occur)\b"
    r"|\bphysical(?:ly)? plausibility\b"
)
_LAWS = (
    r"(?:[\w'-]+ ){0,4}?(?:physics|physical|laws?|gravity|solidity|permanence|continuity|nature|reality|inertia"
    r"|momentum)"
)
_CAN = "(?:can|could|(?:would|will|does|do)(?= ?n))"
_LOOKS = "(?:look|seem|appear|behav|mov|act|fall|roll|bounc|is|are|was|were|be)"
_NORMAL = (
    "(?:normal(?:ly)?|natural(?:ly)?|ordinary|reasonable|believable|as usual|like in real(?:ity| life)|real(?=$|[,;]))"
)
_BAD = (
    r"\b(?:impossible|implausible|infeasible|unphysical|non-physical|nonphysical|unrealistic|unnatural|impossibilit\w+"
    r"|implausibilit\w+|inconsistenc\w+|irregularit\w+|abnormal\w*|inconsistent with"
    r"|incompatible with|contrary to|at odds with|counter to"
    rf"|violat\w+|def(?:y|ies|ied|ying) {_LAWS}|break(?:s|ing)? {_LAWS}|broke {_LAWS}|contradict\w* {_LAWS}"
    r"|magic(?:al|ally)?|supernatural\w*|anomal(?:y|ies|ous)|fake|(?:contrary|against) (?:to )?the laws"
    rf"|{_LOOKS}\w*(?:n't| not| never)(?: [\w'-]+){{0,3}} {_NORMAL}"
    rf"|{_CAN}(?:'t|n't| ?not| never)(?: \w+)? (?:happen|occur|exist|take place|be real))\b"
)
_GOOD = (
    r"\b(?:possible|plausible|plausibly|feasible|realistic|realistically|physically (?:consistent|valid|sound|correct"
    r"|reasonable|natural)"
    rf"|consistent with {_LAWS}|in (?:line|accordance|agreement) with {_LAWS}|compatible with {_LAWS}"
    rf"|(?:obey|follow|respect|adhere to|conform to|agree with|comply with)(?:s|ing|ed)? {_LAWS}"
    rf"|(?:adheres|conforms|agrees|complies) (?:to|with) {_LAWS}"
    rf"|{_CAN}(?: \w+)? (?:happen|occur|exist|take place|be real)|it (?:still )?(?:happens|occurs) anyway"
    rf"|{_LOOKS}\w*(?: (?!not\b|never\b)[\w'-]+){{0,3}} {_NORMAL}"
    r"|as (?:expected|one would expect|it should|they should|you would expect)|behav\w+ (?:naturally|normally))\b"
)
# What nothing real does; that it is not done says nothing of the rest.
_EVENT = (
    r"\b(?:teleport\w*|levitat\w+|(?:out of|from|into) (?:thin air|nowhere|nothing)"
    r"|without (?:any |a )?(?:cause|reason|explanation)"
    r"|pass(?:es|ed|ing)? (?:right |straight )?through (?:a |the |an )?"
    r"(?:solid [\w-]+|wall|floor|table|barrier|each other|one another))\b"
)
# What is not there where all is as it should be; where it is there, nothing follows.
_STRANGE = (
    r"\b(?:unusual|strange|weird|wrong|suspicious|surprising|unexpected|out of the ordinary|out of place|problems?"
    r"|issues?|glitch(?:es)?|errors?|artifacts?)\b"
)
_CLAIM = re.compile(rf"(?P<bad>{_BAD})|(?P<good>{_GOOD})|(?P<event>{_EVENT})|(?P<strange>{_STRANGE})")
_BROKEN_LAW = re.compile(r"(\b(?:laws?|rules?|principles?|physics|gravity)\b[^.,;]{0,40}) (?:broken|breached|defied)\b")
_IS_NOT = re.compile(r"\b(?:is|are|does|do|did|was|were)(?:n't| not)$")
_NOT = re.compile(
    r"\b(?:not|n't|never|no|nothing|none|neither|nor|without|hardly|cannot|can't|isn't|aren't|doesn't|don't|wasn't"
    r"|far from|free of|free from|lacks?|fails? to|unlikely|instead of|anything but|nowhere near|rather than"
    r"|less than|barely|in no way)\b"
)
_BEFORE, _AFTER = 160, 400
_STOPS = re.compile(r",|:|\b(?:and|because|since|as|so|while|where|with)\b")
_NO_OBJECT = re.compile(r"\s*(?:no|none|nothing)\b")
_EXCEPT = re.compile(r"\b(?:except|apart from|aside from|other than)\b")
_KEEPS = re.compile(
    r"\b(?:not|no|nothing|never|isn't|doesn't) (?:only|just|merely)\b|\b(?:no|without) (?:doubt|question)\b"
)


class _Statement(NamedTuple):
    letter: str | None
    bare: bool
    concludes: bool
    labelled: bool = False
    place: int = 0


def read_plausibility(response: object, *, cut_off: bool = False) -> str | None:
    """Return the verdict on the clip that a careful reader would take from a response."""
    if not isinstance(response, str):
        return None
    opened = open_response(response, _with_answers, cut_off)
    letters = {_read_text(value) for value in opened.values} - {None}
    return letters.pop() if len(letters) == 1 else None if letters else _read_text(opened.prose, opened.cut_off)


def _with_answers(text: str) -> str:
    """A text whose objects have their flags as answers, "violates_physics" turned round."""

    def say(key: str, value: str) -> str:
        positive = value in ("true", "yes", "1")
        return "possible" if positive != bool(_TURNING_KEY.search(key)) else "impossible"

    return mark_flags(text, _FLAG, say)


def _read_text(response: str, cut_off: bool = False) -> str | None:
    text = plain_text(response).lower()
    if _SECOND.search(text):
        text = _NUMBERED.sub("", text)
    said: list[_Statement] = []
    asked: str | None = None
    for place, sentence in enumerate(_SENTENCE.findall(_MARKS.sub(" ", text))):
        one = _read(sentence)
        if said and (one is None or one.bare) and takes_back(sentence):
            one = _Statement(None, bare=False, concludes=True)
        if one and asked and one.bare and (word := " ".join(sentence.split()).strip(" .!,")) in ("yes", "no"):
            # "Does it violate physics? No."
            one = one._replace(letter=asked if word == "yes" else _OTHER[asked])
        asked = None if one else _asked(sentence)
        if one:
            said.append(one._replace(place=place))
    begins = _WORD.match(_LEAD.sub("", _MARKS.sub(" ", text).strip())) is not None
    return _decide(said, begins, cut_off)


def _decide(said: list[_Statement], begins: bool, cut_off: bool) -> str | None:
    if not said:
        return None
    bare = [number for number, one in enumerate(said) if one.bare]
    number = bare[-1] if bare else 0 if said[0].letter and begins else None
    if number is None:
        return None if cut_off else said[-1].letter
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
    return _stated(plain.rstrip("? ")) or (IMPOSSIBLE if re.search(_STRANGE, plain) else None)


def _read(sentence: str) -> _Statement | None:
    plain = " ".join(sentence.split())
    if plain.endswith("?"):
        return None
    plain = plain.strip(" .!;:,。")
    labelled = plain
    for _ in range(_LABELS):
        labelled = _LABEL.sub("", labelled)
    for rest in (plain, labelled):
        answer = _LEAD.sub("", rest)
        core = answer.strip(" .,:'-")
        # "- 1" is a list's only point, "-1" a number that means neither.
        if core in _BARE and not _MINUS.search(answer):
            return _Statement(_BARE[core], True, _CONCLUDES.search(plain) is not None, labelled != plain)
        parts = _BETWEEN.split(core)
        if len(parts) > 1 and _SELF_CONTAINED.issuperset(parts):
            letters = {_BARE[part] for part in parts}
            return _Statement(letters.pop() if len(letters) == 1 else None, True, True, labelled != plain)
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
    letter = stated if stated and word[1] not in _FOREIGN.split("|") else _BARE[word[1]]
    return _Statement(letter, bare=labelled != plain, concludes=concludes)


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
        fields: Columns that a record repeats among its fields, or names and values from a row, the response and the
            task.
    """

    def read(row: Row, response: object) -> str | None:
        return read_plausibility(response, cut_off=row.get("cut_off", False))

    return grader(read, stratum, fields)


SAYS_POSSIBLE = Metric("says_possible", "says possible", share_of(POSSIBLE), higher_is_better=None)
"""Percent of the read answers that say possible: 50 of the keys, where each possible clip has an impossible one."""
