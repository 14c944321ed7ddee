"""The form of an answer that rewards read, claims in lines and then the answer, and the check that it ends rightly.

Nothing is read as language: a verdict is the word yes or no alone, as any longer text can take it back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmms_eval_tasks.train.rewards.reward_sample import RewardSample

YES, NO = "yes", "no"
HAPPENED, LINK, NO_LINK, CONCLUSION = "happened", "link", "no link", "conclusion"
ARROW = "->"
_TAG = r"(?i:/?(?:think|claims|answer)\b)"
_TEXT = rf"[^<]*(?:<(?!{_TAG})[^<]*)*"
_FORM = re.compile(
    rf"\s*<think>(?P<prose>{_TEXT})<claims>(?P<block>{_TEXT})</claims>\s*</think>\s*<answer>(?P<answer>{_TEXT})</answer>\s*"
)
_LINE = re.compile(rf"({HAPPENED}|{NO_LINK}|{LINK}|{CONCLUSION})\s*:(.*)", re.IGNORECASE)
_BEFORE = r"[^<]*(?:<(?!(?i:/?answer\b))[^<]*)*"
_ANSWERED = re.compile(rf"{_BEFORE}<answer>(?P<answer>[^<]*)</answer>\s*")
# Without ASCII, other letters that have the same lower case match as well.
_VERDICT = re.compile(r"(yes|no)\.?", re.IGNORECASE | re.ASCII)


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


def answer_text(response: object) -> str:
    """The text of what a model said: a text, or messages as trainers pass them, of which the assistant's last counts.

    A message without content, as one that only calls a tool, is an empty text.

    Raises:
        TypeError: what is given is no answer.
    """
    if isinstance(response, str):
        return response
    messages = [response] if isinstance(response, Mapping) else response
    if isinstance(messages, Sequence) and not isinstance(messages, bytes) and messages:
        said = [one for one in messages if isinstance(one, Mapping) and {"role", "content"} <= one.keys()]
        content = next((one["content"] for one in reversed(said) if one["role"] == "assistant"), _NOTHING)
        if len(said) == len(messages) and (text := _content_text(content)) is not None:
            return text
    raise TypeError(
        "Expected an answer as a text or as messages with role and content, one of them the assistant's, but got "
        f"{type(response).__name__}: {repr(response)[:200]}"
    )


_NOTHING = object()


def _content_text(content: object) -> str | None:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        return None
    parts = [part if isinstance(part, Mapping) else {"text": part} for part in content]
    texts = [part["text"] for part in parts if part.get("type", "text") == "text" and "text" in part]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


@lru_cache(maxsize=32)
def read_answer(response: str) -> FormedAnswer | None:
    """An answer that has the form as a whole; takes time that is linear in its length."""
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


def verdict_of(text: str) -> str | None:
    """The verdict of a text that is yes or no, in any case and with one full stop at most; None for any other text."""
    whole = _VERDICT.fullmatch(text.strip())
    return whole[1].lower() if whole else None


def answered_verdict(response: str) -> str | None:
    """The verdict between the only tags of an answer, behind which nothing stands; what is before them is not read."""
    answered = _ANSWERED.fullmatch(response)
    return verdict_of(answered["answer"]) if answered else None


def format_reward(response: str, sample: object = None) -> float:
    """1 where a response has the form with at least one claim, one conclusion and no fault, else 0."""
    answer = read_answer(response)
    if answer is None or answer.faults or len(answer.conclusions) != 1 or not (answer.happened or answer.links):
        return 0.0
    return float(None not in map(verdict_of, (answer.conclusions[0], answer.answer)))


WRONG_END = 0.1
"""The most that an answer earns which does not end rightly."""


def ends_rightly(answer: FormedAnswer, sample: RewardSample) -> bool:
    """Whether the one conclusion and the answer are the key, or one and the same verdict where there is none."""
    if len(answer.conclusions) != 1:
        return False
    said = set(map(verdict_of, (*answer.conclusions, answer.answer)))
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
