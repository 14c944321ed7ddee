"""The form of an answer that rewards read, claims in lines and then the answer, and the check that it ends rightly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lmms_eval_tasks.train.rewards.reward_sample import RewardSample
from lmms_eval_tasks.utils.answers.verdict import NO, YES, read_verdict, stated_verdicts

HAPPENED, LINK, NO_LINK, CONCLUSION = "happened", "link", "no link", "conclusion"
ARROW = "->"
_TAG = r"/?(?:think|claims|answer)\b"
_TEXT = rf"[^<]*(?:<(?!{_TAG})[^<]*)*"
_FORM = re.compile(
    rf"\s*<think>(?P<prose>{_TEXT})<claims>(?P<block>{_TEXT})</claims>\s*</think>\s*<answer>(?P<answer>{_TEXT})</answer>\s*"
)
_LINE = re.compile(rf"({HAPPENED}|{NO_LINK}|{LINK}|{CONCLUSION})\s*:(.*)", re.IGNORECASE)
_OPENING = re.compile(r"[\s*_]*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class LinkClaim:
    """A claim about two actions, each in words: that the one is a cause of the other, or that it is not."""

    cause: str
    effect: str
    holds: bool = True


@dataclass(frozen=True)
class FormedAnswer:
    happened: tuple[str, ...] = ()
    links: tuple[LinkClaim, ...] = ()
    conclusions: tuple[str, ...] = ()
    answer: str = ""
    prose: str = ""
    faults: int = 0


def read_answer(response: object) -> FormedAnswer | None:
    """An answer that has the form as a whole; raises nothing, and takes time that is linear in its length."""
    return _read(response) if isinstance(response, str) else None


@lru_cache(maxsize=32)
def _read(response: str) -> FormedAnswer | None:
    form = _FORM.fullmatch(response)
    if form is None:
        return None
    # Keys of mappings, as what is said twice counts once.
    happened: dict[str, None] = {}
    links: dict[LinkClaim, None] = {}
    conclusions: dict[str, None] = {}
    faults = set()
    for line in map(" ".join, map(str.split, form["block"].splitlines())):
        parts = _LINE.fullmatch(line)
        kind, text = (parts[1].lower(), parts[2].strip()) if parts else ("", "")
        ends = [end.strip() for end in text.split(ARROW)]
        if kind in (LINK, NO_LINK) and len(ends) == 2 and all(ends):
            links[LinkClaim(ends[0], ends[1], kind == LINK)] = None
        elif kind == HAPPENED and text and len(ends) == 1:
            happened[text] = None
        elif kind == CONCLUSION and text:
            conclusions[text] = None
        elif line:
            faults.add(line)
    prose, answer = form["prose"].strip(), form["answer"].strip()
    return FormedAnswer(tuple(happened), tuple(links), tuple(conclusions), answer, prose, len(faults))


def write_answer(answer: FormedAnswer) -> str:
    """An answer in the form, of which `read_answer` makes an equal one; without its faults."""
    lines = [f"{HAPPENED}: {text}" for text in answer.happened]
    lines += [f"{LINK if link.holds else NO_LINK}: {link.cause} {ARROW} {link.effect}" for link in answer.links]
    lines += [f"{CONCLUSION}: {text}" for text in answer.conclusions]
    block = "".join(f"{line}\n" for line in lines)
    prose = f"{answer.prose}\n" if answer.prose else ""
    written = f"<think>{prose}<claims>\n{block}</claims></think>\n<answer>{answer.answer}</answer>"
    if answer.faults or read_answer(written) != answer:
        raise ValueError(f"Expected claims of one line each, without tags or {ARROW} in them, but got {answer!r}.")
    return written


def opening_verdict(text: str) -> str | None:
    """The yes or no that a text begins with, in lower case; None where it begins otherwise."""
    opening = _OPENING.match(text)
    return opening[1].lower() if opening else None


def format_reward(response: object, sample: object = None) -> float:
    """1 where a response has the form with at least one claim, one conclusion and no fault, else 0."""
    answer = read_answer(response)
    if answer is None or answer.faults or len(answer.conclusions) != 1 or not (answer.happened or answer.links):
        return 0.0
    return float(None not in map(opening_verdict, (answer.conclusions[0], answer.answer)))


WRONG_END = 0.1
"""The most that an answer earns which does not end rightly."""


def ends_rightly(answer: FormedAnswer, sample: RewardSample) -> bool:
    """Whether the one conclusion and the answer are the key; false where either says anything else as well."""
    if len(answer.conclusions) != 1:
        return False
    said = {stated_verdict(text, sample.question) for text in (*answer.conclusions, answer.answer)}
    expected = expected_verdict(sample)
    return said == {expected} if expected else said in ({YES}, {NO})


def expected_verdict(sample: RewardSample) -> str | None:
    """The key where it is yes or no, else what follows from the graph; None where neither is known."""
    key = (sample.key or "").strip().casefold()
    if key in (YES, NO):
        return key
    if sample.queried is None:
        return None
    return NO if sample.asks_for_a_chain else YES


def stated_verdict(text: str, question: str = "") -> str | None:
    """The verdict with which a text opens; None where it has none, or states another."""
    opening = opening_verdict(text)
    is_whole = read_verdict(text, question) == opening and stated_verdicts(text, question) == {opening}
    return opening if is_whole else None
