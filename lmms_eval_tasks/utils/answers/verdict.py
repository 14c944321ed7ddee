"""Yes, no or "cannot tell" in free answers to counterfactual questions: the reader by sentences, grader and scores."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, partial
from itertools import takewhile

from lmms_eval_tasks.utils.answers.hooks import Fields, Grade, Stratum, grader
from lmms_eval_tasks.utils.answers.language import Words, both_ends, is_english, spell_out, takes_back, tokenize
from lmms_eval_tasks.utils.answers.opening import mark_flags, open_response, plain_text
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.patterns import late_pattern
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.metrics import Metric, share_of
from lmms_eval_tasks.utils.scoring.record import UnparsedReason, right

_WORDS = Words("verdict_words.json")
_any_of = _WORDS.any_of
_PHRASE_ROLES = "anyway conclude dependent flip independent no_phrase revise tempting unclear yes_phrase"
PHRASES = {role: late_pattern(_any_of(role)) for role in _PHRASE_ROLES.split()}
# Statements of other languages by what they mean; one counts where none before it is found.
PATTERNS = {meaning: late_pattern(pattern) for meaning, pattern in _WORDS.patterns.items()}

YES = "yes"
"""The verdict of an answer that says yes."""
NO = "no"
"""The verdict of an answer that says no."""
UNCLEAR = "cannot tell"
"""The verdict of an answer that says neither, or both."""
OPPOSITE = {YES: NO, NO: YES, UNCLEAR: UNCLEAR}


class Force(IntEnum):
    FOREIGN = 0
    """What a sentence in another language seems to state: it is no answer, but may contradict one."""
    HINT = 1
    """The outcome in plain words: "the ball would have rolled"."""
    LINK = 2
    """A link between the actions: "B requires A"."""
    STATED = 3
    """The outcome, affirmed or denied: "it would still happen"."""
    WORD = 4
    """A yes or no that opens a sentence or ends its conclusion."""
    LABEL = 5
    """A yes or no behind a label."""


@dataclass(frozen=True)
class Assertion:
    verdict: str
    force: Force
    place: int = 0
    final: bool = False
    whole: bool = False


CHOICE = "yesorno"
"""Stands in a sentence for "yes or no", which names both and chooses none."""
_OR = r"\W{0,3}(?:or|and|nor|vs\.?|[/|])(?: a)?\W{0,3}\b"
_REPLACED = (
    # What is beyond doubt is not in doubt.
    (late_pattern(r"\b(?:there is |i have |have )?(?:no|little|without a|without any) (?:doubt|question)\b"), " "),
    (late_pattern(r"\bno longer\b"), "not"),
    (late_pattern(r"\b(?:out of|beyond)(?: (?:her|his|their|its|the|anyone's))? reach\b"), "unreachable"),
    (late_pattern(r"\b(?:with)?in(?: (?:her|his|their|its))? reach\b"), "accessible"),
    (late_pattern(r"\by[ .-]e[ .-]s\b"), "yes"),
    (late_pattern(r"\bn[ .-]o\b"), "no"),
    (late_pattern(rf"\b(?:yes\b{_OR}no|no\b{_OR}yes)\b|(?<=options: )yes, no\b|(?<=answers: )yes, no\b"), CHOICE),
)
# A full stop ends a sentence before white space or the end, so that "2.5" and "e.g." do not, and not in "No. 2"; marks
# of other scripts always do.
_END = late_pattern(r"\n+|(?<=[.!?;…])[\"')\]]{0,3}(?:\s+(?!\d)|\Z)|(?<=[。！？；।۔])")
_OUTCOME = late_pattern(
    r"(?:(?:and|but|so|then|yet) )?(?:it|that|this|nothing|the (?:outcome|event|result|second(?: \w+)?)) "
    r"(?:[\w']+ ){0,4}?(?:happens?|happened|occurs?|occurred|takes? place|possible|impossible|prevented|come about)"
    r"(?: [\w']+){0,3}"
)


def is_mark(word: str) -> bool:
    """Whether a token is a mark and no word; the signs that answer for themselves (✓) are words."""
    return bool(word) and not word[0].isalnum() and unicodedata.category(word[0]) != "So"


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and marks in lower case with contractions spelled out."""

    words: tuple[str, ...]
    asked: frozenset[str] = frozenset()
    of_english: bool = True
    """Whether the text around it is English, for a sentence that no word tells of."""

    @cached_property
    def text(self) -> str:
        return " ".join(self.words)

    @cached_property
    def plain(self) -> str:
        return " ".join(word for word in self.words if not is_mark(word))

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset(self.words)

    @property
    def of_outcome(self) -> bool:
        """Whether it is short and says nothing but whether the outcome comes: "it would still happen"."""
        return _OUTCOME.fullmatch(self.plain) is not None

    @cached_property
    def is_english(self) -> bool:
        return is_english(self.text, otherwise=self.of_english)

    @property
    def asks(self) -> bool:
        return bool({"?", "؟"} & {*self.words[-2:]})


_STEM = 4
"""The letters at a word's beginning that its forms share: "missed" and "miss"."""


def asked_words(question: str) -> frozenset[str]:
    """Stems of the words with which a question "had A not happened, would B still have?" asks about B."""
    asked = re.split(r"\bwould\b", question.casefold())[-1]
    return frozenset(word[:_STEM] for word in asked.split() if word.isalpha() and len(word) >= _STEM)


def split_sentences(plain: str, asked: frozenset[str] = frozenset()) -> list[Sentence]:
    """The sentences of a plain text in order, for a question about `asked`; time is linear in its length."""
    text = spell_out(plain.casefold())
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    parts = (tuple(both_ends([token.word for token in tokenize(part)])) for part in _END.split(text))
    sentences, of_english = both_ends([one for one in parts if not all(map(is_mark, one))]), is_english(text)
    return [Sentence(words, asked, of_english) for words in sentences]


_REACH = 4
_DENYING = frozenset({"not", "no", "never", "nor", "neither", "nothing", "none", "without", "hardly"})


_IMPOSSIBLE = late_pattern(r"\b(?:is|are|becomes?) (?:(?!not\b)\w+ )?impossible\b(?! (?:to|that|for)\b)")
_DENIED = late_pattern(
    r"\b(?:is|are|becomes?) (?:(?!not\b)\w+ ){0,2}(?:impossible|prevented|excluded|ruled out)\b(?! to)"
    r"|\b(?:does|do|can) (?:not|never) (?:\w+ )?(?:happen|occur|take place)\b|\b(?:never|not) (?:happens|occurs)\b"
)


def in_any_case(sentence: Sentence) -> bool:
    return PHRASES["anyway"].search(sentence.plain) is not None


def read_links(sentence: Sentence) -> Iterator[Assertion]:
    """Yield the assertions of a sentence about the link between the actions."""
    if not _WORDS.MODAL & sentence.known and in_any_case(sentence):
        yield Assertion(YES, Force.LINK)
    if (found := _IMPOSSIBLE.search(sentence.plain)) and not _DENYING & {
        *sentence.plain[: found.start()].split()[-_REACH:]
    }:
        yield Assertion(NO, Force.STATED)
    elif sentence.of_outcome and _DENIED.search(sentence.plain):
        yield Assertion(NO, Force.LINK)
    for role, verdict in (("independent", YES), ("dependent", NO)):
        for phrase in PHRASES[role].finditer(sentence.text):
            # A phrase with a negation of its own is not turned round by another: "not doing it changes nothing".
            before = re.split(r" [^\w\s]+ ", sentence.text[: phrase.start()])[-1].split()[-_REACH:]
            turned = _DENYING & {*before} and not _DENYING & {*phrase.group().split()}
            yield Assertion(OPPOSITE[verdict] if turned else verdict, Force.LINK)


_MEANINGS = {"unclear": UNCLEAR, "undone": NO, "yes": YES, "doubted": UNCLEAR, "no_then": NO}


def read_other_language(sentence: Sentence) -> list[Assertion]:
    """Return what the first matching pattern says, which is no answer by itself."""
    # Scripts without spaces between words are looked through without those between tokens.
    joined = "".join(sentence.words)
    for meaning, verdict in _MEANINGS.items():
        if PATTERNS[meaning].search(sentence.text) or PATTERNS[meaning].search(joined):
            return [Assertion(verdict, Force.FOREIGN)]
    return []


_MARK = r"(?<![^ ])[^\w\s]{1,2}(?![^ ])"
_TURN = r"(?P<turn>(?:not|never) )?"
_YES, _NO = r"y+e+s+\b(?: yes)*", r"n+o+\b(?: no)*"
_WORD = rf"{_TURN}(?:(?P<yes>{_any_of('yes')}|{_YES})|(?P<no>{_any_of('no')}|{_NO}))"
_ALONE = (
    rf"{_TURN}(?:(?P<yes>{_any_of('yes', 'yes_alone')}|{_YES})|(?P<no>{_any_of('no', 'no_alone')}|{_NO}|(?<= )not\b))"
)
_ENDS = rf"(?= (?![-/]){_MARK}|$)"
_FILLER = rf"(?:{_any_of('label_filler', 'label')}|{_MARK})"
_LABELLED = late_pattern(rf"(?:{_any_of('label')}|{CHOICE})(?: {_FILLER}){{1,12}} {_WORD}(?! {_any_of('effect_noun')})")
_OPENING = late_pattern(
    rf"(?:(?:{_any_of('lead_filler')}|{_MARK}|\d+) ){{0,14}}?{_ALONE}{_ENDS}(?!(?: {_MARK})*? {_any_of('revise')})"
)
_LEADING = late_pattern(rf"{_ALONE}(?= [-/] )")
_SHORT = 8
_CHANGED_END = late_pattern(r"(?: [^\w\s])* (?:instead|rather|i mean|after all)(?= [^\w\s]|$)")
_ENDED = late_pattern(rf" {_MARK}")
_ENDING = late_pattern(rf"{_WORD}(?: {_MARK})*$")
_SAID = late_pattern(
    rf"(?:{_any_of('say', 'conclude', 'revise')}(?: {_any_of('label_filler')}){{0,3}}|{_MARK}|\bbut) {_WORD}{_ENDS}"
)


def read_yes_no(sentence: Sentence) -> Assertion | None:
    """The yes or no of a sentence by its words alone; None where it has none, unclear where it has both."""
    labelled = _LABELLED.search(sentence.text)
    found = labelled or _OPENING.match(sentence.text)
    if found and found["turn"] and PHRASES["unclear"].search(found[0]):
        return None  # "not sure"
    if found:
        force, rest = Force.LABEL if labelled else Force.WORD, sentence.text[found.end() :]
        word = _unless_doubled(Assertion(_verdict(found), force), rest)
        if not sentence.is_english and rest.strip() and not _ENDED.match(rest):
            return replace(word, verdict=UNCLEAR)
        ends = None if sentence.is_english else _ENDING.search(rest)
        return replace(word, verdict=UNCLEAR) if ends and _verdict(ends) != word.verdict else word
    for verdict, role in ((YES, "yes_phrase"), (NO, "no_phrase")):
        if PHRASES[role].fullmatch(sentence.plain):
            return Assertion(verdict, Force.WORD)
    if sentence.is_english and not sentence.asks and (said := _SAID.search(sentence.text)):
        leading = _LEADING.match(sentence.text)
        doubled = leading and _verdict(leading) != _verdict(said)
        return Assertion(UNCLEAR, Force.STATED) if doubled else Assertion(_verdict(said), Force.WORD)
    return None


def _unless_doubled(word: Assertion, rest: str) -> Assertion:
    """A yes or no, unless the rest of its sentence takes it back ("no, not really") or is the other ("no (yes)")."""
    other = next((one for one in _SAID.finditer(rest) if _verdict(one) != word.verdict), None)
    if other and PHRASES["revise"].search(rest[: other.end()]):
        return replace(word, verdict=_verdict(other))
    return replace(word, verdict=UNCLEAR) if other or takes_back(rest) else word


def _verdict(found: re.Match[str]) -> str:
    verdict = YES if found["yes"] else NO
    return OPPOSITE[verdict] if found["turn"] else verdict


_VERB_REACH = 12
_NEAR = 4
_WEAK = frozenset({"might", "may"})
_NARRATORS = frozenset({"i", "we"})
_WHOLE = frozenset({"outcome", "outcomes", "result", "results", "everything", "events", "ending", "rest"})
"""Subjects that stand for all that happens: where they stay the same, so does what is asked about."""


def read_modal_verbs(sentence: Sentence) -> Iterator[Assertion]:
    words = sentence.words
    for at, word in enumerate(words):
        before = " ".join(words[max(0, at - _VERB_REACH) : at]).rpartition(": ")[2].split()
        if word not in _WORDS.MODAL or _is_beside_the_point(before) or (word in _WEAK and "but" in words[at:]):
            continue
        turned = PHRASES["flip"].search(" ".join(before))
        start = at + 1
        while words[start : start + 1] and words[start] in _WORDS.JOINING:
            start += 1
        behind = [*takewhile(lambda one: one not in _WORDS.CLAUSE_END, words[start : start + _VERB_REACH])]
        end = words[start + len(behind) : start + len(behind) + 2]
        statement = _read(_subject(before), before, behind, sentence, end)
        if statement and turned:
            yield replace(statement, verdict=OPPOSITE[statement.verdict], force=Force.STATED)
        elif statement:
            yield statement


def _is_beside_the_point(before: list[str]) -> bool:
    """Whether a verb stands in a question that is only repeated, in a clause of time or in a concession."""
    clause = takewhile(lambda word: not is_mark(word), reversed(before))
    return any(word in ("whether", "before", "until", "once") or word in _WORDS.CONCESSION for word in clause)


def _subject(before: list[str]) -> list[str]:
    """The words since the last mark or joining word: the subject and what belongs to it."""
    clause: list[str] = []
    for word in before:
        begins = is_mark(word) or (word in _WORDS.CLAUSE_START and clause[-1:] != ["of"])
        clause = [] if begins else [*clause, word]
    return clause


def _read(  # noqa: C901
    subject: list[str], before: list[str], behind: list[str], sentence: Sentence, end: tuple[str, ...]
) -> Assertion | None:
    """Read the assertion of one modal verb from its subject and the words after it; the rules are tried in order."""
    verbs = [word for word in behind if word not in _WORDS.VERB_FILLER]
    verb = verbs[0] if verbs else ""
    known = {*behind}
    negated = bool(_WORDS.NEGATION & {*behind[:_NEAR]}) or "never" in known
    by_subject = bool(_WORDS.NEGATIVE_SUBJECT & {*subject[:1], *before[-2:-1]})
    denied = negated != by_subject
    if verb in _WORDS.SAY:
        return None
    telling = _WORDS.TELLING & {*verbs[:2]} - ({"access"} if not _NARRATORS & {*subject} else set())
    if negated and telling:
        return Assertion(UNCLEAR, Force.STATED)
    noun = _WORDS.EFFECT_NOUN & {*known, *subject[1:3]}
    if noun and (denied or "no" in known):
        return Assertion(YES, Force.STATED)
    if "difference" in noun:
        return Assertion(NO, Force.LINK)
    if verb in _WORDS.EFFECT or (verb in ("keep", "kept") and "from" in known):
        return Assertion(YES if denied else NO, Force.STATED)
    if verb[:_STEM] in sentence.asked and not {"no", "nothing", *_WORDS.KEEPING} & {verb, *behind[:5]}:
        return Assertion(NO if denied else YES, Force.STATED)
    if _WORDS.FAILING & {*verbs} or (
        verb in _WORDS.ENDING and "up" not in known and not negated and not in_any_case(sentence)
    ):
        return Assertion(YES if denied else NO, Force.STATED)
    if {"no", "nothing", "nobody", "none"} & {*behind[:5]}:
        return Assertion(NO, Force.STATED)
    if denied:
        return Assertion(YES if _WORDS.CHANGED & known else NO, Force.STATED)
    if in_any_case(sentence):
        return Assertion(YES, Force.STATED)
    keeps = verb in _WORDS.KEEPING
    if _WORDS.UNCHANGED & {*verbs[keeps : keeps + 1]} or (keeps and _WHOLE & {*subject[-1:]}):
        return Assertion(YES, Force.STATED)
    if keeps or ({"be", "been"} & known and verb in _WORDS.STATE):
        return Assertion(NO, Force.LINK)
    cut_short = not verbs and is_mark(sentence.words[-1])
    if _WORDS.STILL & {*behind[:3]} or verb in _WORDS.OCCURRING or cut_short:
        return Assertion(YES, Force.STATED)
    if {"different", "differently", "differ"} & known:
        return Assertion(NO, Force.LINK)
    without = end[:1] == ("without",) and end[-1].endswith("ing")
    if not verbs or verb in _WORDS.ASIDE or _WORDS.CHANGED & known or without:
        return None
    return Assertion(YES, Force.HINT)


VERDICT_READER = "verdict reader 6"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
_JSON_FLAG = late_pattern(
    r"\"([^\"\n]{0,30}(?:answer|verdict|pred|happen|outcome|occur|would|still|result)[^\"\n]{0,20})\"\s{0,3}:\s{0,3}\"?"
    r"(true|false|yes|no)\b\"?(?=\s{0,9}(?:[,}\n]|\Z))",
    re.IGNORECASE,
)
_TURNING_KEY = late_pattern(r"not_|never|prevent|chang|differ|affect|depend|alter|impact|requir", re.IGNORECASE)
_with_answers = partial(mark_flags, flags=_JSON_FLAG, turning=_TURNING_KEY, yes=YES, no=NO)
_JSON_REASON = late_pattern(
    r"\"(?:reason\w{0,9}|explanation|rationale)\"\s{0,3}:\s{0,3}\"([^\"\n]{1,400})\"", re.IGNORECASE
)
_OFFERING = frozenset({"or", "if", "otherwise"})
_DOUBT = PHRASES["unclear"]
_CONTRAST = late_pattern(r"\b(?:but|however|though|yet)\b")


def read_verdict(reply: object, question: str = "") -> str:
    """The verdict that a careful reader would find in an answer to "had A not happened, would B still have?".

    "cannot tell" covers refusals, hedges between both, empty and unreadable answers, and whatever else leaves a doubt:
    a wrong guess is worse than none. How it decides:

    1. Marked reasoning (`<think>…</think>`) is not the answer. An answer key of a JSON object decides, unless its
       reason contradicts it. What else such an object holds (a graph, say) is no statement.
    2. The last yes or no behind a label decides ("Answer: yes").
    3. Then the first other yes or no ("No, …", "so yes"), unless a later sentence takes it back ("wait, actually") or
       concludes otherwise. Where what follows only contradicts it, there is no verdict, or the opposite one where its
       own sentence shows that it is of an effect ("No, nothing changes, it would still happen").
    4. In another language than English a yes or no alone, behind a label or at the beginning is read, unless what
       follows seems not to agree with it.
    5. Without a yes or no, the last that is stated of the outcome ("it would still happen"), then links between the
       actions ("B requires A"), then plain affirmations ("the ball would roll"), if they all speak for one side.
    6. Of a reply that used all of its tokens only a yes or no that it begins with, or that stands behind a label, in a
       box or in JSON is read, and none that it merely weighs.

    The time taken is linear in the length of the response, of which the beginning and the end are read.

    Args:
        reply: What came back, or its text; of anything else the verdict cannot be told.
        question: The question that was asked, if it is known: a statement with its words is one of the outcome
            ("would have missed").

    Returns:
        "yes", "no" or "cannot tell"; raises nothing.
    """
    opened = open_response(reply, _with_answers)
    asked = asked_words(question)
    verdicts = {_read_text(value, asked) for value in opened.values} - {UNCLEAR}
    if not verdicts:
        return _read_text(opened.prose, asked, Force.WORD if opened.broken_off else Force.HINT)
    verdict = verdicts.pop()
    reason = _JSON_REASON.search(opened.text)
    stated = [one.verdict for one in _read_statements(reason[1], asked) if one.force is Force.STATED] if reason else []
    contradicted = verdicts or stated[-1:] == [OPPOSITE[verdict]]
    return UNCLEAR if contradicted else verdict


def stated_verdicts(text: str, question: str = "") -> set[str]:
    """The verdicts that a text states, by a yes or no or of the outcome itself, and the one that it is read as."""
    statements = _read_statements(text, asked_words(question))
    return {_decide(statements), *(one.verdict for one in statements if one.force >= Force.STATED)}


def why_no_verdict(response: str, question: str = "") -> UnparsedReason:
    """Why `read_verdict` cannot tell what a response says."""
    opened, asked = open_response(response, _with_answers), asked_words(question)
    text = "\n".join([*opened.values, opened.prose])
    said = {one.verdict for one in _read_statements(text, asked) if one.force is not Force.FOREIGN}
    known = frozenset[str]().union(*(sentence.known for sentence in split_sentences(plain_text(text))))
    if CHOICE in known or {YES, NO} <= known | said:
        return UnparsedReason.SEVERAL
    return UnparsedReason.NO_OPTION if is_english(plain_text(text)) else UnparsedReason.OTHER_LANGUAGE


def _read_text(text: str, asked: frozenset[str], least: Force = Force.HINT) -> str:
    statements = _read_statements(text, asked)
    return _decide(statements) if any(one.force >= least for one in statements) else UNCLEAR


def _read_statements(text: str, asked: frozenset[str]) -> list[Assertion]:
    statements: list[Assertion] = []
    revises = replies = False
    for place, sentence in enumerate(split_sentences(plain_text(text), asked)):
        revises = revises or bool(PHRASES["revise"].search(sentence.plain))
        final = revises or bool(PHRASES["conclude"].match(sentence.plain.removeprefix("and ")))
        if statements and takes_back(sentence.text):
            statements.clear()
            continue
        whole = sentence.of_outcome or sentence.plain.count(" ") < 1
        if any(one.force >= Force.WORD for one in statements) and (changed := _changed_to(sentence)):
            statements.append(Assertion(changed, Force.WORD, place, final))
            continue
        said = [replace(one, place=place, final=final, whole=whole) for one in _statements(sentence)]
        statements += [one for one in said if not (replies and one.force >= Force.WORD)]
        # A yes or no to a question of the answer's own is no verdict: "Was he in position? Yes."
        replies = sentence.asks and "still" not in sentence.known and not any(one.force is Force.WORD for one in said)
    return statements


def _changed_to(sentence: Sentence) -> str | None:
    """The yes or no to which a short sentence changes what was answered: "I meant no"."""
    found = _ENDING.search(_CHANGED_END.sub("", sentence.text)) if len(sentence.words) <= _SHORT else None
    return _verdict(found) if found and not sentence.asks and not read_yes_no(sentence) else None


def _statements(sentence: Sentence) -> list[Assertion]:
    """All that a sentence says; what is only asked or considered is left out."""
    if PHRASES["tempting"].search(sentence.plain):
        contrasts = [at for at, word in enumerate(sentence.words) if word in ("but", "however", "yet")]
        sentence = replace(sentence, words=sentence.words[contrasts[0] + 1 :] if contrasts else ())
    verdict = read_yes_no(sentence)
    if not verdict and CHOICE in sentence.known and not sentence.asks:
        return [Assertion(UNCLEAR, Force.STATED)]
    said = [verdict] if verdict else []
    if sentence.asks:
        return said
    if not sentence.is_english:
        return [*said, *read_other_language(sentence)]
    gives_up = sentence.text.startswith("whether ") or _DOUBT.search(_CONTRAST.split(sentence.plain)[-1])
    said += read_modal_verbs(sentence)
    if _OFFERING & sentence.known and {YES, NO} <= sentence.known | {one.verdict for one in said}:
        return [Assertion(UNCLEAR, Force.STATED)]
    said += read_links(sentence)
    # "We cannot know what he would have done": a doubt counts last, unless a contrast leaves it behind.
    doubts = [one for one in said if one.verdict == UNCLEAR and not _CONTRAST.search(sentence.plain)]
    return [*said, *doubts, *[Assertion(UNCLEAR, Force.STATED)] * bool(gives_up)]


def _decide(statements: list[Assertion]) -> str:
    """The verdict of what is said, unless what is said in another language does not agree with it."""
    verdict = _decide_among([one for one in statements if one.force is not Force.FOREIGN])
    agreed = all(one.verdict == verdict for one in statements if one.force is Force.FOREIGN)
    return verdict if agreed else UNCLEAR


def _decide_among(statements: list[Assertion]) -> str:
    known = [one for one in statements if one.verdict != UNCLEAR]
    if any(one.force >= Force.WORD for one in statements) and not any(one.force >= Force.WORD for one in known):
        return UNCLEAR
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
    if any(one.force >= Force.WORD and one.verdict != word.verdict for one in behind):
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


def verdict_grader(stratum: Stratum = (), fields: Fields = ()) -> Grade:
    """Return a grader of free answers to "had A not happened, would B still have?", with the keys yes and no.

    The answer is the verdict that `read_verdict` finds. An item is unscored where its clip is missing or its key is
    withheld, and unparsed where there is no verdict. A record's field ``prompt`` has the prompt's signature.

    Args:
        stratum: Columns of the prepared table by which scores are broken down, or names and values from a row.
        fields: Columns that a record repeats among its fields, or names and values from a row, the reply and the task.
    """

    def read(row: Row, reply: Reply) -> str | None:
        verdict = read_verdict(reply, row["question"])
        return None if verdict == UNCLEAR else verdict

    return grader(read, lambda row, text: why_no_verdict(text, row["question"]), stratum, fields)


VERDICT_ACCURACY = Metric("verdict_accuracy", "verdict accuracy", right, errors="clustered")
"""Percent of scored items with the right verdict; an answer without one is wrong."""

BALANCED_ACCURACY = Metric("balanced_accuracy", "balanced accuracy", right, stratum=lambda record: str(record.expected))
"""The unweighted mean of the accuracies where yes and where no is right: 50 for a constant, where both occur."""

YES_RATE = Metric("yes_rate", "says yes", share_of(YES), higher_is_better=None)
"""Percent of read verdicts that are yes."""
