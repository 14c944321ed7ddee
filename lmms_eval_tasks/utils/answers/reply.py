"""A reply: what came back for one request to a model, and why there is no answer where there is none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmms_eval_tasks.utils.core.text import hide_forms, hide_keys, hide_secrets, printable, printable_controls, quote
from lmms_eval_tasks.utils.scoring.record import Record, UnscoredReason

Why = tuple[UnscoredReason, str]
"""A reason, and the same in more words."""

EMPTY = "empty"
"""The detail of the record of a reply without a text."""
COUNTED = "empty although tokens were counted"
"""The same where a server counted tokens, which it may have put into another field."""
REASONED = "empty beside its reasoning"
"""The same where a field for reasoning is all that a server filled."""
CALLED = "a tool call in place of a text"
"""The same where a model called a tool."""
ELSEWHERE = (COUNTED, REASONED)
"""Details of replies whose text may be in another field."""
SILENCES = (EMPTY, *ELSEWHERE, CALLED)

LENGTH = "length"
"""The finish reason of a reply that used all of its tokens."""
_BLOCKING = re.compile(r"content.?filter|safety|prohibited|blocklist|recitation|sensitive|^refusal$", re.IGNORECASE)
"""Finish reasons of providers that block a reply: OpenAI's and Azure's, Gemini's, Zhipu's and Anthropic's."""
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_DEEPEST = 4
"""How deep parts of parts are looked into."""
_REASONING_PARTS = ("thinking", "reasoning", "redacted_thinking")

BUDGET = "[LMMS_EVAL_BUDGET_EXCEEDED]"
FAILED = "[LMMS_EVAL_REQUEST_FAILED]"
_FAILED = re.compile(
    r"\[LMMS_EVAL_REQUEST_FAILED[^\]]*\]\s*|\[GENERATION_FAILED\]\s*|\[ERROR\] (?=Unknown\Z|Empty prompt\Z)"
    r"|(?=Video [^\n]+ (?:can not load|generate failed), check the source\Z)"
)
"""How the texts of `openai`, `async_openai`, `gemini`, `cosmos_wm`, `llava_vid` and `oryx` begin."""
_BLOCKED = re.compile(r"\[SAFETY_BLOCKED:([^\]]*)\]")
"""The text of `gemini` where the provider blocked a reply."""


@dataclass(frozen=True)
class Finish:
    """What a server says beside the text; all of it is empty where it does not, or where nobody could see it.

    Attributes:
        reason: Its ``finish_reason``.
        refusal: The text of its refusal field.
        reasoning: The field that has reasoning, such as ``reasoning_content``.
        tools: The names of the tools that the model called.
    """

    reason: str = ""
    refusal: str = ""
    reasoning: str = ""
    tools: tuple[str, ...] = ()

    @property
    def said(self) -> dict[str, Any]:
        """What tells more than that the reply ended."""
        return {name: value for name, value in vars(self).items() if value and (name, value) != ("reason", "stop")}


NOTHING_SAID = Finish()


@dataclass(frozen=True)
class Reply:
    """What came back for one request.

    Attributes:
        text: The text as returned, without keys; empty where nothing came.
        missing: Why there is no answer; None where there is one, or the model said nothing.
        detail: The same in more words.
        counts: Its tokens, as lmms-eval counts them; None where they are not known.
        finish: What the server says beside the text.
    """

    text: str = ""
    missing: UnscoredReason | None = None
    detail: str = ""
    counts: Any = None
    finish: Finish = NOTHING_SAID

    @classmethod
    def of_response(cls, content: object, counts: Any = None, secrets: Sequence[str] | None = None) -> Reply:
        """Read what an adapter returned: a text, one in place of an answer, a list of parts, a number, None or a reply.

        Without `secrets` a text is taken as it is; those of a server are not.
        """
        if isinstance(content, Reply):
            return content
        text, finish = _read_content(content)
        why = _read_why(text.strip())
        if why is None:
            return cls(text, counts=counts, finish=finish)._safe(secrets)._judged()
        reason, detail = why
        return cls(text, reason, detail, counts)._safe(secrets)

    @classmethod
    def of_choice(cls, choice: Any, counts: Any = None, secrets: Sequence[str] | None = None) -> Reply:
        """Read a choice of a reply in OpenAI's form, as its client holds it."""
        message = choice.message
        text, finish = _read_content(message.content)
        reasoning = (name for name in _REASONING_FIELDS if getattr(message, name, None))
        calls = getattr(message, "tool_calls", None) or ()
        finish = Finish(
            reason=str(choice.finish_reason or ""),
            refusal=str(getattr(message, "refusal", None) or finish.refusal),
            reasoning=next(reasoning, finish.reasoning),
            tools=tuple(str(getattr(getattr(call, "function", None), "name", "")) for call in calls),
        )
        return cls(text, counts=counts, finish=finish)._safe(secrets)._judged()

    @classmethod
    def failed(cls, detail: str, counts: Any = None, secrets: Sequence[str] | None = None) -> Reply:
        """Return the reply of a request that failed, and why it did."""
        return cls(f"{FAILED} {detail}", UnscoredReason.FAILED, detail, counts)._safe(secrets)

    @classmethod
    def of_record(cls, record: Record, response: object) -> Reply:
        """Read a line of a sample log: the response as logged, and why and how it ended as its record says."""
        if not record.asked:
            return cls(missing=record.unscored_reason)
        read = cls.of_response(response)
        if read.missing:
            return read
        if record.is_silent([response]):
            return replace(read, missing=record.unscored_reason, detail=record.detail)
        finish = Finish(LENGTH) if record.ran_out else NOTHING_SAID
        return replace(read, detail=record.detail if record.detail in SILENCES else "", finish=finish)

    def _safe(self, secrets: Sequence[str] | None) -> Reply:
        """The reply without keys, and without what a terminal would obey."""
        if secrets is None:
            return self

        def clean(text: str) -> str:
            return text and printable(hide_secrets(hide_forms(text, secrets), {}))

        finish = self.finish
        if finish != NOTHING_SAID:
            tools = tuple(map(clean, finish.tools))
            finish = replace(finish, reason=clean(finish.reason), refusal=clean(finish.refusal), tools=tools)
        text = clean(self.text) if self.missing else printable_controls(hide_keys(self.text, secrets))
        if (text, finish) == (self.text, self.finish) and not self.detail:
            return self
        return replace(self, text=text, detail=clean(self.detail), finish=finish)

    def _judged(self) -> Reply:
        """The reply with why there is no answer, where a provider blocked it; a part of a text is no answer."""
        if _BLOCKING.search(self.finish.reason):
            after = f", after {quote(self.text)}" if self.text.strip() else ""
            return replace(self, text="", missing=UnscoredReason.BLOCKED, detail=f"{self.finish.reason}{after}")
        if self.finish.refusal and not self.text.strip():
            return replace(self, text="", missing=UnscoredReason.BLOCKED, detail=f"refused: {self.finish.refusal}")
        return self

    @property
    def why(self) -> Why | None:
        """Why there is no answer, and the same in more words; None where there is one."""
        return (self.missing, self.detail) if self.missing else None

    @property
    def cut_off(self) -> bool:
        """Whether it used all of its tokens."""
        return self.finish.reason == LENGTH

    def used_all(self) -> Reply:
        """The reply as one that used all of its tokens."""
        return replace(self, finish=replace(self.finish, reason=LENGTH))

    @property
    def silence(self) -> str:
        """How a model said nothing, one of `SILENCES`; empty where it said something or could not."""
        if self.missing or self.text.strip():
            return ""
        if self.finish.tools:
            return CALLED
        if self.finish.reasoning:
            return REASONED
        return self.detail or (COUNTED if getattr(self.counts, "output_tokens", None) else EMPTY)

    @property
    def is_answer(self) -> bool:
        """Whether it says something, and that does not stand in place of an answer."""
        return not self.missing and bool(self.text.strip())

    @property
    def is_plain(self) -> bool:
        """Whether its text and counts say all that is known of it."""
        return not (self.finish.said or self.missing or self.detail)

    def to_json(self) -> dict[str, Any]:
        """What is kept of an answer, as JSON values; what the server did not say is left out."""
        counts, said = None if self.counts is None else dict(vars(self.counts)), self.finish.said
        return {"text": self.text, "tokens": counts} | ({"finish": said} if said else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any], read_counts: Any) -> Reply:
        """Read what `to_json` wrote.

        Raises:
            TypeError, KeyError: where it is something else.
        """
        text, tokens, said = value["text"], value["tokens"], value.get("finish", {})
        if not isinstance(text, str):
            raise TypeError(f"Expected a text, but got {text!r}.")
        finish = Finish(**{**said, "tools": tuple(said.get("tools", ()))})
        return replace(cls.of_response(text), counts=None if tokens is None else read_counts(**tokens), finish=finish)


def as_reply(said: object) -> Reply:
    """Return a reply as it is, or one of a text alone; of anything else one that is empty."""
    return said if isinstance(said, Reply) else Reply(said if isinstance(said, str) else "")


def describe_empty(details: Iterable[str], whose: str = "") -> str | None:
    """Return how many answers were empty, by the details of their records, and what to look at; None where none was."""
    counts = Counter(detail for detail in details if detail in SILENCES)
    if not counts:
        return None
    total, elsewhere = counts.total(), sum(counts[one] for one in ELSEWHERE)
    called = f", {counts[CALLED]:,} with a tool call in its place" if counts[CALLED] else ""
    said = f"{total:,} {'answer was' if total == 1 else 'answers were'} empty{whose}{called}"
    if not elsewhere:
        return f"{said}; the same command asks again, once"
    number = "" if elsewhere == total else f"{elsewhere:,} of them "
    return (
        f"{said}, {number}although tokens were counted: the server may put them into `reasoning_content`; see "
        "docs/api_models.md, Empty answers"
    )


def _read_content(content: object, depth: int = 0) -> tuple[str, Finish]:
    """Return the text of a message's content, whatever its shape, and what else its parts say."""
    if content is None or depth > _DEEPEST:
        return "", NOTHING_SAID
    if isinstance(content, str):
        return content, NOTHING_SAID
    if not isinstance(content, list | tuple | Mapping):
        return json.dumps(content, default=str), NOTHING_SAID
    texts, finish = [], NOTHING_SAID
    for part in [content] if isinstance(content, Mapping) else content:
        if not isinstance(part, Mapping):
            texts.append(_read_content(part, depth + 1)[0])
        elif str(part.get("type")) in _REASONING_PARTS:
            finish = replace(finish, reasoning=str(part["type"]))
        elif isinstance(part.get("refusal"), str):
            finish = replace(finish, refusal=part["refusal"])
        else:
            texts.append(_read_content(part.get("text", part.get("content")), depth + 1)[0])
    return "".join(texts), finish


def _read_why(text: str) -> Why | None:
    if text.startswith(BUDGET):
        return UnscoredReason.BUDGET, ""
    if blocked := _BLOCKED.match(text):
        return UnscoredReason.BLOCKED, blocked[1]
    failed = _FAILED.match(text)
    return (UnscoredReason.FAILED, text[failed.end() :]) if failed else None
