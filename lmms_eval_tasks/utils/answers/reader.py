"""Reads the chosen option from a model's free-text response."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.letters import Statement, statements
from lmms_eval_tasks.utils.answers.opening import fold, letter_ordinals, open_response, plain_text, takes_back
from lmms_eval_tasks.utils.answers.polar import polar_option
from lmms_eval_tasks.utils.answers.quotes import Echo, echoes, equal_option, quoted_option, starts_with_option
from lmms_eval_tasks.utils.answers.tokens import Token, tokenize

EXTRACTOR = "choice reader 2"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
_BETWEEN = " \n.,:;)]>\"'-–—|→"
_ANSWER_LABEL = re.compile(
    r"(?i)\b(?:answer|choice|option|antwort|reponse|respuesta|resposta|risposta)\W{0,3}(?:is\b|:|=)|答案[是为:]"
)
_LABELLED_LINE = re.compile(r"\W{0,9}\w{2,}")
_ONLY_LETTER = re.compile(r"[^\w?]*([A-Za-z])(?:[^\w?+°%-]|-$)*(?:END\W*)?\Z", re.IGNORECASE)
_BESIDE = 40
_LETTER_BEFORE = re.compile(
    r"(?:\A|\n|:\s{0,3}|\bis )[(\[\"']{0,2}([A-Z])[)\]\"']{0,2}\s?[.,;/!?→(=]{1,2}[\s>(]{0,3}\Z"
)
_ENDS = re.compile(r"[^\w\n]{0,9}(?:\n|\Z)")
_LETTER_BEHIND = re.compile(r"[)\]\"']{0,2}\s?[.,;/!?→(=]{1,2}[\s>(]{0,3}([A-Z])[)\]\"']{0,2}\s{0,3}(?:[.!?)\n]|\Z)")
_NAME = re.compile(r"[A-Z]\. ([a-z]+)\W*\Z")
# A bare no behind a letter can only take it back, unless its option says so ("B. No"); "B. no" is kept as labelled.
_DENIED = re.compile(
    r"(?-i:(?!\W*no\Z))\W*(?:(?:oh|but|no|wait|hmm+|actually|sorry|well|on second thoughts?)\b\W+)*"
    r"(?:nope|no|(?:maybe|perhaps|possibly|probably) not|i (?:don't|do not) think so)\W*(?:\n|\Z)",
    re.IGNORECASE,
)
_SAYS_NO = re.compile(r"\W*no\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|[。！？]")


def read_choice(text: str, options: Sequence[str], *, cut_off: bool = False) -> str | None:
    """Return the letter of the option that a careful reader would say the response chooses, or None."""
    if not 2 <= len(options) <= len(ascii_uppercase):
        raise ValueError(f"Expected 2 to 26 options but got {len(options)}")
    opened = open_response(text, cut_off=cut_off)
    letters = {_read(value, options) for value in opened.values} - {None}
    letter = (
        (letters.pop() if len(letters) == 1 else None)
        or _read(opened.rest, options, opened.cut_off)
        or _closing(opened.closing)
    )
    return letter if letter and letter in ascii_uppercase[: len(options)] else None


def _read(text: str, options: Sequence[str], cut_off: bool = False) -> str | None:
    plain = plain_text(text)
    if " " in plain and (same := equal_option(plain, options)):
        return same
    if alone := _ONLY_LETTER.match(plain):
        return alone[1].upper()
    name = _NAME.match(plain)
    if name and name[1] not in words.NO_NAME and not any(name[1] in fold(option).casefold() for option in options):
        # An initial and one lower-case word that no option has, such as "E. coli".
        return None
    lettered = letter_ordinals(plain, len(options))
    tokens = tokenize(lettered)
    weighed = {"leaning", "preferred"} if cut_off else {"preferred"} if len(options) > 2 else set()
    every = [s for s in statements(tokens) if s.stance not in weighed]
    stated = _without_echoes(_without_listing(every, tokens), tokens, echoes(lettered, options))
    decided = _decide(stated, tokens)
    if decided is None:
        if any(s.stance == "chosen" for s in stated):
            return None
        read = _judged_in_list(every) or _quoted_beside_echoes(plain, options)
        return read if read or every else polar_option(plain, options)
    behind = lettered[tokens[decided.end - 1].end :]
    unclear = len(decided.letters) > 1 or takes_back(behind) or _doubled(decided, tokens, lettered)
    unclear = unclear or _denied(decided, behind, options) or _contradicted(decided, tokens, lettered, options)
    return None if unclear else decided.letters[0]


def _closing(line: str) -> str | None:
    plain = plain_text(line)
    alone = [s for s in statements(tokenize(plain)) if s.alone and s.stance == "chosen"]
    last = alone[-1].letters if alone and _LABELLED_LINE.match(plain) else ()
    return last[0] if len(last) == 1 else None


def _decide(stated: list[Statement], tokens: list[Token]) -> Statement | None:
    chosen = [s for s in stated if s.stance == "chosen"]
    if not chosen:
        return _only_leaning(stated)
    decided = chosen[-1]
    # The last answer may narrow a line of several letters: "Answer: A/B", then "Answer: B".
    narrows = decided.alone or not decided.bare
    lines = [s for s in chosen if s.alone and not (narrows and set(decided.letters) < set(s.letters))]
    if lines and not decided.alone:
        later = [s for s in chosen if s.at > lines[-1].at]
        settled = [s for s in later if s.settles]
        if settled:
            decided = settled[-1]
        elif any(len(s.letters) == 1 and s.letters != lines[-1].letters for s in later):
            return None
        else:
            decided = lines[-1]
    bare = {s.letters for s in chosen if s.bare and not s.alone}
    bare |= {s.letters for s in stated if s.stance == "discussed" and s.at < decided.at}
    if decided.bare and not decided.alone and not decided.settles and len(bare) > 1:
        return None
    before = next((s for s in reversed(lines) if s.at < decided.at), decided)
    differs = decided.alone and not decided.settles and before.letters != decided.letters
    # Two answer lines contradict each other where no line between them explains the second.
    if differs and sum(token.raw == "\n" for token in tokens[before.at : decided.at]) <= 1:
        return None
    rejected = {letter for s in stated if s.stance == "rejected" and s.at > decided.at for letter in s.letters}
    return None if decided.letters[0] in rejected else decided


def _only_leaning(stated: list[Statement]) -> Statement | None:
    rejected = {letter for s in stated if s.stance == "rejected" for letter in s.letters}
    leaning = [s for s in stated if s.stance in ("leaning", "preferred")]
    named = {letter for s in leaning for letter in s.letters} - rejected
    last = next((s for s in reversed(leaning) if set(s.letters) == named), None) if len(named) == 1 else None
    if last and any(s.stance == "discussed" and s.at > last.at and s.letters != last.letters for s in stated):
        return None
    return last


def _judged_in_list(stated: list[Statement]) -> str | None:
    """Return the one letter of a discussed list whose line ends in approval, if all other lines end in rejection."""
    listed = [s for s in stated if s.listed]
    chosen = [s.letters[0] for s in listed if s.verdict == "chosen"]
    return chosen[0] if len(listed) > 1 and len(set(chosen)) == 1 and all(s.verdict for s in listed) else None


def _without_listing(stated: list[Statement], tokens: list[Token]) -> list[Statement]:
    """Drop letters that only label lines: of a repeated or discussed option list ("A. … B. …"), or beside an answer."""
    labels = {s.letters[0] for s in stated if s.listed}
    answered = any(s.stance == "chosen" and not s.bare for s in stated)
    dropped = set()
    for s in stated:
        if s.listed and s.bare and ((further := _further_labels(s, tokens)) or answered or len(labels) > 1):
            dropped |= {s.at, *(at for at in further if tokens[at - 1].word not in words.OPTION)}
    return [s for s in stated if not (s.bare and s.at in dropped)]


def _without_echoes(stated: list[Statement], tokens: list[Token], quoted: list[Echo]) -> list[Statement]:
    """Drop letters that only label options repeated in full, wherever they stand; one alone may be an answer."""
    firm = {tokens[s.at].start: s.stance for s in stated if not s.bare and s.stance not in ("leaning", "discussed")}
    labels = {echo.start: echo.option for echo in quoted if echo.start not in firm}
    answered = any(firm.get(echo.start) == "chosen" for echo in quoted)
    if len(set(labels.values())) < 2 and not answered:
        return stated
    return [s for s in stated if tokens[s.at].start not in labels]


def _further_labels(label: Statement, tokens: list[Token]) -> list[int]:
    """Return where the list that a label starts goes on in its line: "A. … B. … C. …"."""
    further: list[int] = []
    following = chr(ord(label.letters[0]) + 1)
    opened = False
    for at in range(label.end, len(tokens) - 1):
        if tokens[at].raw == "\n":
            break
        if tokens[at].raw == following and _labels(tokens, at, opened=opened):
            further.append(at)
            following = chr(ord(following) + 1)
        if tokens[at].raw in ("(", ")"):
            opened = tokens[at].raw == "("
    return further


def _labels(tokens: list[Token], at: int, *, opened: bool) -> bool:
    """Whether a letter within a line labels what follows; one that ends a sentence ("unlike B.") does not."""
    quoted = tokens[at + 1].raw == '"' and at + 2 < len(tokens)
    mark = tokens[at + 2 if quoted else at + 1].raw
    before = tokens[at - 1].word
    if not before[0].isalnum() or mark == ":":
        return mark in (")", ".", ":")
    if mark == ")":
        return not opened
    ends_line = at + 2 >= len(tokens) or tokens[at + 2].raw == "\n"
    return mark == "." and not ends_line and before not in words.TAKES_LETTER


def _doubled(decided: Statement, tokens: list[Token], plain: str) -> bool:
    """Whether another letter stands right beside the decided one: "B (C)", "B => C", "B."""
    before, behind = plain[: tokens[decided.at].start][-_BESIDE:], plain[tokens[decided.end - 1].end :][:_BESIDE]
    beside = (_LETTER_BEFORE.search(before) if _ENDS.match(behind) else None, _LETTER_BEHIND.match(behind))
    return any(letter is not None and letter[1] not in decided.letters for letter in beside)


def _denied(decided: Statement, behind: str, options: Sequence[str]) -> bool:
    place = ascii_uppercase.index(decided.letters[0])
    says_no = _SAYS_NO.match(behind) and any(map(_SAYS_NO.match, options[place : place + 1]))
    return bool(_DENIED.match(behind)) and not says_no


def _contradicted(decided: Statement, tokens: list[Token], plain: str, options: Sequence[str]) -> bool:
    behind = plain[tokens[decided.end - 1].end :].lstrip(_BETWEEN)
    behind = behind.removeprefix("END").removeprefix("end").lstrip(_BETWEEN)
    quoted = starts_with_option(behind, options)
    if quoted is None and decided.stance == "leaning":
        quoted = quoted_option(plain, options)
    return quoted not in (None, *decided.letters)


def _quoted_beside_echoes(plain: str, options: Sequence[str]) -> str | None:
    repeated = echoes(plain, options)
    if len({echo.option for echo in repeated}) > 1:
        for echo in reversed(repeated):
            plain = f"{plain[: echo.start]}\n{plain[echo.end :]}"
    first, last = plain.partition("\n")[0], plain.rpartition("\n")[2]
    labelled = [part for line in (last, first) if (part := _ANSWER_LABEL.split(line)[-1]) != line]
    for parts in (labelled, [plain], [*_ends(first), *_ends(last)]):
        quoted = {quoted_option(part, options) for part in parts} - {None}
        if quoted:
            return quoted.pop() if len(quoted) == 1 else None
    return None


def _ends(line: str) -> list[str]:
    sentences = [part for part in _SENTENCE_END.split(line) if part.strip()]
    return [line, *sentences[:1], *sentences[-1:]]
