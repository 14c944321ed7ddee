"""Multiple-choice answers: the option that a free-text response chooses, and the record of the item."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from string import ascii_uppercase
from typing import NamedTuple

from lmms_eval_tasks.utils.answers.choice_letters import words
from lmms_eval_tasks.utils.answers.choice_statements import (
    Statement,
    denies,
    ends_clause,
    is_approved,
    stands_alone,
    statements,
)
from lmms_eval_tasks.utils.answers.hooks import Fields, Grade, RunningTask, Stratum, grader
from lmms_eval_tasks.utils.answers.language import Token, fold, is_english, letter_ordinals, takes_back, tokenize
from lmms_eval_tasks.utils.answers.opening import open_response, plain_text
from lmms_eval_tasks.utils.answers.reply import Reply, as_reply
from lmms_eval_tasks.utils.core.patterns import late_pattern
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.record import GradedItem, UnparsedReason

_POLES = ("yes", "no")
_WORD = late_pattern(r"[^\W_]+(?:'[^\W_]+)?")
# "No" before words is none ("no option fits"), "No. 2" a number.
_LEAD = late_pattern(
    r"\W{0,9}(?:(?:the )?(?:final )?answer(?: is)?[:=\s]{1,3})?(yes|no)"
    r"(?:\s{0,3}(?=[.,;:!\n\-–—](?!\s?\d))|[\s\"'.!)\]>|]{0,9}\Z)",
    re.IGNORECASE,
)
_END = late_pattern(
    r"(?:\b(?:answer|verdict|conclusion)(?: is| would be)?[\s:=]{1,3}|(?<!\?)\n\W{0,9}"
    r"|\b(?:so|therefore|thus|hence|i(?: would|'d)? (?:say|answer|choose))[\s,:]{1,3})(yes|no)\W{0,9}\Z",
    re.IGNORECASE,
)
_ALONE = late_pattern(r"(?<![^\s(/>→.,;:!?])(yes|no)(?=\s{0,3}(?:[.,;:!?)/\n]|\Z))", re.IGNORECASE)
_CLAUSE_END = late_pattern(r"[,;:()]|\b(?:because|since|as|and|so)\b")
_DENYING = ("not", "never", "cannot")
_SENTENCE_CHARS = 400
_SENTENCE_END = late_pattern(r"[.!?\n]")


def _polar(text: str, options: Sequence[str]) -> str | None:
    """The letter of the option that begins with the yes or no of a text, where one option begins with each."""
    option_words = [_WORD.findall(fold(option[:_SENTENCE_CHARS]).casefold()) for option in options]
    places = {pole: [i for i, option in enumerate(option_words) if option[:1] == [pole]] for pole in _POLES}
    if any(len(at) != 1 for at in places.values()):
        return None
    yes, no = (set(option_words[places[pole][0]][1:]) for pole in _POLES)
    end = _END.search(text[-_SENTENCE_CHARS:])
    answers = {_leading(text, {"yes": yes - no, "no": no - yes}), end and end[1].casefold()} - {None}
    return ascii_uppercase[places[answers.pop() or ""][0]] if len(answers) == 1 else None


def _leading(text: str, own: dict[str, set[str]]) -> str | None:
    """The yes or no that leads the text; its sentence may neither say what the other option does nor deny its own."""
    lead = _LEAD.match(text)
    if not lead:
        return None
    pole = lead[1].casefold()
    other = _POLES[pole == "yes"]
    rest = text[lead.end() :].lstrip(" .,;:!\n-–—")
    if takes_back(rest) or any(word[1].casefold() == other for word in _ALONE.finditer(rest)):
        return None
    sentence = _SENTENCE_END.split(rest[:_SENTENCE_CHARS], maxsplit=1)[0].casefold()
    said: dict[bool, set[str]] = {False: set(), True: set()}
    for clause in _CLAUSE_END.split(sentence):
        denied = False
        for word in _WORD.findall(clause):
            denied = denied or word in _DENYING or word.endswith("n't")
            said[denied].add(word)
    opposing = words.TAKEN_BACK | {other} | ({"nothing"} if pole == "no" else set())
    wrong = opposing & (said[False] | said[True]) or own[other] & said[False] or own[pole] & said[True]
    return None if wrong else pole


_SPACELESS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_QUOTED_WORD = late_pattern(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+")
# "A" is an article only before a word: "(A) The ball" and "lane A" name a letter.
_ARTICLE = late_pattern(r"\b(?:an|the|a(?=[ \t]+(?!an?\b|the\b)[^\W_]))\b")
_SAME = {"toward": "to", "towards": "to"}
# "…, not to the left": a contrast that ends the text.
_CONTRAST = late_pattern(r",\s{0,3}(?:and |but )?not (?=[^\W_])", re.IGNORECASE)
_OPTION_WORDS = 400
_QUOTING_CHARS = 20_000
_EXTRA_WORDS = 40
_TYPO_WORDS = 24
_TYPO_CHARS = range(5, 31)
_TYPO_RATIO = 0.8
_NEAR_WORDS = 3
_NEAR_SHARE = 0.6
_PART_WORDS = 4
_PART_SHARE = 0.5


class Echo(NamedTuple):
    """An option repeated in full behind its own letter: the letter's place in the text, the end, the option's place."""

    start: int
    end: int
    option: int


def _echoes(text: str, options: Sequence[str]) -> list[Echo]:
    """Return where a folded text repeats options in full behind their letters ("(A) … (B) …")."""
    repeated: list[Echo] = []
    lowered = text.casefold()
    for index, option in enumerate(options):
        parts = _QUOTED_WORD.findall(fold(option))[:_OPTION_WORDS]
        # Most responses repeat no option, and a pattern for each takes longer than all the rest of reading.
        if parts and max(parts, key=len).casefold() in lowered:
            phrase = r"[\W_]{0,6}".join(map(re.escape, parts))
            labelled = rf"(?<![^\W_]){ascii_uppercase[index]}[\W_]{{1,6}}{phrase}(?![^\W_])"
            repeated += [Echo(*match.span(), index) for match in re.finditer(labelled, text, re.IGNORECASE)]
    repeated.sort()
    if repeated and (cut := _broken_echo(text, repeated, options)):
        repeated.append(cut)
    return repeated


def _broken_echo(text: str, repeated: Sequence[Echo], options: Sequence[str]) -> Echo | None:
    """Return the next option of the list if the end of the text cuts it off: "(A) … (B) … (C) The cyc"."""
    last = repeated[-1]
    index = last.option + 1
    if index >= len(options) or len(text) - last.end > len(options[index]) + _EXTRA_WORDS:
        return None
    label = re.match(rf"\n?[^\n]{{0,9}}(?<![^\W_]){ascii_uppercase[index]}(?![^\W_])", text[last.end :])
    if not label:
        return None
    begun = "".join(_QUOTED_WORD.findall(text[last.end + label.end() :].casefold()))
    whole = "".join(_QUOTED_WORD.findall(fold(options[index]).casefold()))
    listed = len(repeated) > 1 and "\n" not in label.group()
    named = whole.startswith(begun) and (begun or listed)
    return Echo(last.end + label.end() - 1, len(text), index) if named else None


class Options:
    """The options of a question, as they are looked for in a text without case, accents, articles and marks."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def _spelled(self) -> list[str]:
        return [_spell(_words(text)[:_OPTION_WORDS]) for text in self.texts]

    @cached_property
    def words(self) -> frozenset[str]:
        """All their words in plain letters."""
        return frozenset(re.findall(r"[^\W\d_]+", " ".join(map(fold, self.texts)).casefold()))

    def left_out(self, text: str) -> str:
        """A plain text without the options that it quotes, whose words tell nothing of its language."""
        rest = text.casefold()
        for option in sorted(map(fold, self.texts), key=len, reverse=True):
            rest = rest.replace(option.casefold().strip(" ."), " ") if " " in option else rest
        return rest

    @cached_property
    def _longest(self) -> int:
        return max(len(option.split()) for option in self._spelled)

    def _places(self, fits: Callable[[str], bool]) -> list[int]:
        return [place for place, option in enumerate(self._spelled) if fits(option)]

    def equal(self, text: str) -> str | None:
        """The letter of the one option that a text equals."""
        if len(text) > 4 * max(map(len, self.texts)) + _EXTRA_WORDS:
            return None
        return _only(self._places(_spell(_words(text)).__eq__))

    def all_quoted(self, text: str) -> set[str]:
        """The letters of all options that a text quotes in full, but for those within longer ones."""
        said = _spell(_words(text[:_QUOTING_CHARS]))
        within = self._places(lambda option: option in said)
        longest = [place for place in within if not self._in_longer(place, within)]
        return {ascii_uppercase[place] for place in longest}

    def _in_longer(self, place: int, within: list[int]) -> bool:
        option = self._spelled[place]
        return any(option in self._spelled[other] and option != self._spelled[other] for other in within)

    def starting(self, text: str) -> str | None:
        """The letter of the option of two words or more with which a text starts (the longest)."""
        said = _spell(_words(text[: 40 * self._longest]))
        begun = self._places(lambda option: option.count(" ") > 2 and said.startswith(option))
        longest = max((len(self._spelled[place]) for place in begun), default=0)
        return _only([place for place in begun if len(self._spelled[place]) == longest])

    def quoted(self, text: str) -> str | None:
        """The letter of the one option that a short text quotes, in full or nearly."""
        return self._quoted(text) or self._quoted(self._without_contrast(text))

    def _without_contrast(self, text: str) -> str:
        contrast = _CONTRAST.search(text)
        if not contrast:
            return ""
        behind = text[contrast.end() :].rstrip(" .!\n")
        first = _words(behind[:_OPTION_WORDS])[:1]
        telling = first and (self._places(lambda option: f" {first[0]} " in option) or "other way" in behind)
        return text[: contrast.start()] if telling and not re.search(r"[.!?\n]", behind) else ""

    def _quoted(self, text: str) -> str | None:
        said = _words(text[: 40 * (self._longest + _EXTRA_WORDS)])
        if not said or len(said) > self._longest + _EXTRA_WORDS:
            return None
        said = self._undo_typos(said)
        fitting = self._places(_spell(said).__eq__) or self._contained(_spell(said))
        return _only(fitting) if fitting else self._shortened(said)

    def _contained(self, said: str) -> list[int]:
        within = self._places(lambda option: option in said)
        fitting = [place for place in within if not self._in_longer(place, within)]
        if len(fitting) != 1:
            return fitting
        option = self._spelled[fitting[0]]
        beside = {*said.replace(option, " ", 1).split()}
        others = {word for other in self._spelled for word in other.split()} - {*option.split()}
        doubted = beside & words.QUOTE_DOUBT or (len(option.split()) == 1 and len(said.split()) > 12)
        return [] if doubted or beside & others else fitting

    def _undo_typos(self, said: list[str]) -> list[str]:
        """Replace misspelt words by the one option word that starts with the same letter and is nearly the same."""
        every = {word for option in self._spelled for word in option.split()}
        vocabulary = sorted(word for word in every if len(word) in _TYPO_CHARS)
        unknown = [word for word in dict.fromkeys(said) if word not in every and len(word) in (4, *_TYPO_CHARS)]
        meant = {}
        for word in unknown[:_TYPO_WORDS]:
            candidates = [other for other in vocabulary if other[0] == word[0]][:_OPTION_WORDS]
            near = difflib.get_close_matches(word, candidates, 2, _TYPO_RATIO)
            if len(near) == 1:
                meant[word] = near[0]
        return [meant.get(word, word) for word in said]

    def _shortened(self, said: list[str]) -> str | None:
        if len(said) < _NEAR_WORDS:
            return None
        if begun := self._places(lambda option: option.startswith(_spell(said).rstrip())):
            return _only(begun)
        fitting = self._places(lambda option: _is_subsequence(said, option.split()))
        if len(fitting) != 1:
            return None
        option = self._spelled[fitting[0]].split()
        piece = len(said) >= max(_PART_WORDS, _PART_SHARE * len(option)) and _spell(said) in _spell(option)
        near = piece or len(said) >= _NEAR_SHARE * len(option)
        lost = Counter(option) - Counter(said)
        return _only(fitting) if near and words.QUOTE_DOUBT.isdisjoint(lost) else None


def _only(fitting: Sequence[int]) -> str | None:
    return ascii_uppercase[fitting[0]] if len(fitting) == 1 else None


def _words(text: str) -> list[str]:
    return [_SAME.get(word, word) for word in _QUOTED_WORD.findall(_ARTICLE.sub(" ", fold(text).casefold()))]


def _spell(said: list[str]) -> str:
    """Words as one text in which each has a space on either side, so that whole words are looked for."""
    return f" {' '.join(said)} "


def _is_subsequence(said: list[str], option: list[str]) -> bool:
    rest = iter(option)
    return all(word in rest for word in said)


EXTRACTOR = "choice reader 4"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
_BETWEEN = " \n.,:;)]>\"'-–—|→"
_ANSWER_LABEL = late_pattern(
    r"(?i)\b(?:answer|choice|option|antwort|reponse|respuesta|resposta|risposta)\W{0,3}(?:is\b|:|=)|答案[是为:]"
)
_LABELLED_LINE = late_pattern(r"\W{0,9}\w{2,}")
# Most answers are no more than this: "B", "(B)", "Answer: B".
_ONLY_LETTER = late_pattern(
    r"(?:[^\w?]*|(?:the )?(?:final |correct )?answer(?: is)?: [(\[\"']?)([A-Za-z])(?:[^\w?+°%-]|-$)*(?:END\W*)?\Z",
    re.IGNORECASE,
)
# The same where nothing has to be opened first. A letter with nothing but one of these around it has no markup.
_BARE_LETTER = re.compile(
    r"(?:(?:[Tt]he )?(?:[Ff]inal |[Cc]orrect )?[Aa]nswer(?: is)?: )?(?:([A-Z])|\(([A-Z])\))\.?\s?\Z"
)
_BESIDE = 40
_LETTER_BEFORE = late_pattern(
    r"(?:\A|\n|:\s{0,3}|\bis )[(\[\"']{0,2}([A-Z])[)\]\"']{0,2}\s?[.,;/!?→(=]{1,2}[\s>(]{0,3}\Z"
)
_ENDS = late_pattern(r"[^\w\n]{0,9}(?:\n|\Z)")
_LETTER_BEHIND = late_pattern(r"[)\]\"']{0,2}\s?[.,;/!?→(=]{1,2}[\s>(]{0,3}([A-Z])[)\]\"']{0,2}\s{0,3}(?:[.!?)\n]|\Z)")
_NAME = late_pattern(r"[A-Z]\. ([a-z]+)\W*\Z")
# A bare no behind a letter can only take it back, unless its option says so ("B. No"); "B. no" is kept as labelled.
_DENIED = late_pattern(
    r"(?-i:(?!\W*no\Z))\W*(?:(?:oh|but|no|wait|hmm+|actually|sorry|well|on second thoughts?)\b\W+)*"
    r"(?:nope|no|(?:maybe|perhaps|possibly|probably) not|i (?:don't|do not) think so)\W*(?:\n|\Z)",
    re.IGNORECASE,
)
_SAYS_NO = late_pattern(r"\W*no\b", re.IGNORECASE)
_BETWEEN_SENTENCES = late_pattern(r"(?<=[.!?])\s|[。！？]")


def read_choice(reply: object, options: Sequence[str]) -> str | None:
    """Return the letter of the option that a careful reader would say a reply, or its text, chooses, or None."""
    if not 2 <= len(options) <= len(ascii_uppercase):
        raise ValueError(f"Expected 2 to 26 options but got {len(options)}")
    if letter := _read_bare(as_reply(reply), options):
        return letter
    opened = open_response(reply)
    known = Options(options)
    letters = {_read(value, known) for value in opened.values} - {None}
    letter = (
        (letters.pop() if len(letters) == 1 else None)
        or _read(opened.rest, known, opened.broken_off)
        or _closing(opened.closing)
    )
    return letter if letter and letter in ascii_uppercase[: len(options)] else None


def _read_bare(reply: Reply, options: Sequence[str]) -> str | None:
    """The letter that is all of a reply, as it is of most; None where it is more, or an option might read the same."""
    bare = None if reply.cut_off else _BARE_LETTER.match(reply.text)
    letter = bare and (bare[1] or bare[2])
    if not letter or letter not in ascii_uppercase[: len(options)]:
        return None
    return None if any("answer" in option.casefold() for option in options) else letter


def why_no_choice(text: str, options: Sequence[str]) -> UnparsedReason:
    """Why `read_choice` finds no option that a response chooses."""
    opened, known = open_response(text), Options(options)
    plain = plain_text("\n".join([*opened.values, opened.rest]))
    lettered = letter_ordinals(plain, len(options))
    weighed = ("chosen", "leaning", "preferred", "discussed")
    named = {letter for one in statements(tokenize(lettered)) if one.stance in weighed for letter in one.letters}
    quoted = known.all_quoted(plain)
    if len(named) == 1 and len(quoted) == 1 and named != quoted:
        return UnparsedReason.DISAGREES
    if len(named | quoted) > 1:
        return UnparsedReason.SEVERAL
    in_english = is_english(known.left_out(lettered), known.words, otherwise=True)
    return UnparsedReason.NO_OPTION if in_english else UnparsedReason.OTHER_LANGUAGE


def _read(text: str, options: Options, broken_off: bool = False) -> str | None:
    plain = plain_text(text)
    if " " in plain and (same := options.equal(plain)):
        return same
    if alone := _ONLY_LETTER.match(plain):
        return alone[1].upper()
    name = _NAME.match(plain)
    if (
        name
        and name[1] not in words.NO_NAME
        and not any(name[1] in fold(option).casefold() for option in options.texts)
    ):
        # An initial and one lower-case word that no option has, such as "E. coli".
        return None
    lettered = letter_ordinals(plain, len(options.texts))
    tokens = tokenize(lettered)
    weighed = {"leaning", "preferred"} if broken_off else {"preferred"} if len(options.texts) > 2 else set()
    said = statements(tokens)
    every = [s for s in said if s.stance not in {*weighed, "open"}]
    in_english = is_english(options.left_out(lettered), options.words, otherwise=True)
    if not in_english:
        every = [s for s in every if s.stance in ("rejected", "discussed") or _is_clear(s)]
    stated = _without_echoes(_without_listing(every, tokens), _echoes(lettered, options.texts))
    decided = _decide(stated, lettered)
    if decided is None:
        if any(s.stance == "chosen" for s in stated):
            return None
        read = _judged_in_list(every) or (
            _quoted_beside_echoes(plain, options) if in_english else options.equal(_ANSWER_LABEL.split(plain)[-1])
        )
        return read if read or every or not in_english else _polar(plain, options.texts)
    before, behind = lettered[: decided.begins], lettered[decided.ends :]
    unclear = len(decided.letters) > 1 or takes_back(behind) or _doubled(decided, before, behind)
    unclear = unclear or _outdone(decided, said) or _denied(decided, behind, options.texts)
    unclear = unclear or _contradicted(decided, lettered, options)
    return None if unclear else decided.letters[0]


def _closing(line: str) -> str | None:
    plain = plain_text(line)
    alone = [s for s in statements(tokenize(plain)) if s.alone and s.stance == "chosen"]
    last = alone[-1].letters if alone and _LABELLED_LINE.match(plain) else ()
    return last[0] if len(last) == 1 else None


def _decide(stated: list[Statement], text: str) -> Statement | None:
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
    if differs and text.count("\n", before.begins, decided.begins) <= 1:
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


def _without_echoes(stated: list[Statement], quoted: list[Echo]) -> list[Statement]:
    """Drop letters that only label options repeated in full, wherever they stand; one alone may be an answer."""
    firm = {s.begins: s.stance for s in stated if not s.bare and s.stance not in ("leaning", "discussed")}
    labels = {echo.start: echo.option for echo in quoted if echo.start not in firm}
    answered = any(firm.get(echo.start) == "chosen" for echo in quoted)
    if len(set(labels.values())) < 2 and not answered:
        return stated
    return [s for s in stated if s.begins not in labels]


def _further_labels(label: Statement, tokens: list[Token]) -> list[int]:
    """Return where the list that a label starts goes on in its line: "A. … B. … C. …"."""
    further: list[int] = []
    following = chr(ord(label.letters[0]) + 1)
    opened = False
    for at in range(label.last + 1, len(tokens) - 1):
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


def _doubled(decided: Statement, before: str, behind: str) -> bool:
    """Whether another letter stands right beside the decided one: "B (C)", "B => C", "B."""
    beside = (_LETTER_BEFORE.search(before[-_BESIDE:]) if _ENDS.match(behind) else None, _LETTER_BEHIND.match(behind))
    return any(letter is not None and letter[1] not in decided.letters for letter in beside)


def _outdone(decided: Statement, said: list[Statement]) -> bool:
    """Whether what only leans to a letter may be outdone by something about another that no rule knows."""
    open_letters = {letter for one in said if one.stance == "open" for letter in one.letters}
    return decided.stance in ("leaning", "preferred") and not open_letters <= {*decided.letters}


def _denied(decided: Statement, behind: str, options: Sequence[str]) -> bool:
    place = ascii_uppercase.index(decided.letters[0])
    says_no = _SAYS_NO.match(behind) and any(map(_SAYS_NO.match, options[place : place + 1]))
    return bool(_DENIED.match(behind)) and not says_no


def _contradicted(decided: Statement, text: str, options: Options) -> bool:
    behind = text[decided.ends :].lstrip(_BETWEEN)
    behind = behind.removeprefix("END").removeprefix("end").lstrip(_BETWEEN)
    quoted = options.starting(behind)
    if quoted is None and decided.stance == "leaning":
        quoted = options.quoted(text)
    return quoted not in (None, *decided.letters)


def _is_clear(stated: Statement) -> bool:
    """Whether a letter in another language than English is an answer by a form that needs no more of its words."""
    if denies(stated):
        return False
    if is_approved(stated):
        return True
    return (
        stated.after != "affirmed"
        and ends_clause(stated)
        and (stated.cue not in ("start", "other") or stands_alone(stated))
    )


def _quoted_beside_echoes(plain: str, options: Options) -> str | None:
    repeated = _echoes(plain, options.texts)
    if len({echo.option for echo in repeated}) > 1:
        for echo in reversed(repeated):
            plain = f"{plain[: echo.start]}\n{plain[echo.end :]}"
    first, last = plain.partition("\n")[0], plain.rpartition("\n")[2]
    labelled = [part for line in (last, first) if (part := _ANSWER_LABEL.split(line)[-1]) != line]
    for parts in (labelled, [plain], [*_ends(first), *_ends(last)]):
        quoted = {options.quoted(part) for part in parts} - {None}
        if quoted:
            return quoted.pop() if len(quoted) == 1 else None
    return None


def _ends(line: str) -> list[str]:
    sentences = [part for part in _BETWEEN_SENTENCES.split(line) if part.strip()]
    return [line, *sentences[:1], *sentences[-1:]]


def choice_grader(
    read_official: Callable[[str], str | None] | None = None, stratum: Stratum = (), fields: Fields = ()
) -> Grade:
    """Return a grader of multiple-choice items.

    The answer is the option that a response names by its letter or text. An item is unscored where its clip is missing
    or its key is withheld, and unparsed where nothing is read. A record's field ``prompt`` has the prompt's signature.

    Args:
        read_official: The benchmark's own extractor, which then reads a response as well: the record's fields
            ``official_answered`` and ``official_correct``, for `OFFICIAL_ACCURACIES`.
        stratum: Columns of the prepared table by which scores are broken down, or names and values from a row.
        fields: Columns that a record repeats among its fields, or names and values from a row, the reply and the task.
    """
    plain = grader(
        lambda row, reply: read_choice(reply, row["options"]),
        lambda row, text: why_no_choice(text, row["options"]),
        stratum,
        fields,
    )
    if read_official is None:
        return plain

    def grade(row: Row, reply: Reply, task: RunningTask) -> GradedItem:
        record = plain(row, reply, task).record
        official = None if reply.missing else read_official(reply.text)
        correct = None if record.unscored_reason else official == record.expected
        return GradedItem(record.with_fields(official_answered=official, official_correct=correct))

    return grade
