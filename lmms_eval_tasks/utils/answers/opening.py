"""From a raw response to the plain text in which an answer is looked for: the one way for all readers of responses."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from lmms_eval_tasks.utils.answers.language import breaks_off, committed, fold
from lmms_eval_tasks.utils.answers.reply import Reply, as_reply
from lmms_eval_tasks.utils.core.patterns import late_pattern
from lmms_eval_tasks.utils.scoring.record import UnparsedReason

HEAD_CHARS = 6_000
TAIL_CHARS = 14_000
RECENT_TEXTS = 64
"""How many texts are kept as they were read: most answers to questions with options are one of a few letters."""

_REASON = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|analysis|rationale|reflection|monologue|cot)"
_THINK_TAG = late_pattern(
    r"[<◁\[]\s{0,2}\|?(?P<close>/|(?:end|stop)_(?:of_)?)?\s{0,2}(?:(?:begin|start)_(?:of_)?)?(?:[a-z]{1,12}[:_]?)?"
    rf"{_REASON}(?:_[a-z_]{{1,24}})?\|?\s{{0,2}}[>▷\]]|<\|channel>\s?\w{{1,12}}|<unused94>(?:thought\b)?"
    r"|(?P<closed><channel\|>|<unused95>)",
    re.IGNORECASE,
)
_TAGGED_CHARS = 400
_TAGGED_END = late_pattern(
    rf"<(?:answer|\|?begin_of_box\|?)>[^<]{{1,{_TAGGED_CHARS}}}<(?:/answer|\|?end_of_box\|?)>\s*\Z", re.IGNORECASE
)
"""An answer that ends reasoning which nothing closes."""
_HEADING = late_pattern(rf"\[(?!/)(?!think){_REASON}\]", re.IGNORECASE)
"""A heading ("[Reasoning]"), unless something closes it."""
# gpt-oss: what is said before the final channel is reasoning, and without one all that other channels say. Where its
# special tokens were left out, their names remain.
_FINAL_CHANNEL = late_pattern(r"<\|channel\|>\s?final\b[^<]{0,40}<\|message\|>")
_OTHER_CHANNEL = late_pattern(r"<\|channel\|>\s?\w{1,20}[^<]{0,40}<\|message\|>")
_BARE_CHANNEL = late_pattern(r"\s{0,9}(?:analysis|commentary)(?P<speaks>[A-Z\"'])?")
_BARE_FINAL = "assistantfinal"

_SPEAKER = r"(?P<speaker{}>assistant|model|user|human|system|tool|gpt|bot|ipython|developer)"
_TURN = late_pattern(
    r"<\|?(?:im_start|start_header_id|start_of_role|start_of_turn|start_of_turn_token|turn|start|begin)\|?>\s{0,3}"
    rf"(?:<\|?)?{_SPEAKER.format('')}?(?:_token)?\b(?:\|?>)?(?:<\|?(?:end_header_id|end_of_role|message|content)\|?>)?"
    rf"|<\|{_SPEAKER.format(2)}(?:_token)?\|>|\[\|{_SPEAKER.format(3)}\|\]"
    r"|(?:\A|(?<=\n))[ \t]{0,9}(?:#{1,6} )?\**(?P<speaker4>assistant|user|human)\**[ \t]?(?:\n|:\**(?!//))"
    rf"|(?<=[^\s\w])(?P<speaker5>assistant|user)\n\n|(?-i:(?<=\s)(?P<speaker6>ASSISTANT|Assistant|USER|HUMAN):)|(?P<user>\[INST\])|(?P<model>\[/INST\])"
    r"|(?P<end></s>|<eos>|<\|?(?:im_end|eot_id|eom_id|end|eos|endoftext|return|call|turn|end_?of_?(?:text|turn|sentence"
    r"|utterance|role|response|message|dialog|seq|turn_token))\|?>|\[\|endofturn\|\]|\[EOS\])",
    re.IGNORECASE,
)
# Reasoning that no tag closes but the model's own next turn: it is announced as such, or ends with a question.
_REASONS = late_pattern(r"\A\s{0,9}(?:/think\b|<\|think\|>)|\?\s{0,9}\Z")
_OWN_TURN_NEXT = late_pattern(
    r"(?:\s{0,9}<\|?[a-z_]{2,20}\|?>)??\s{0,9}<\|?(?:im_start|start_header_id|start_of_role|start_of_turn|turn|start|begin)"
    r"\|?>\s{0,3}(?:assistant|model)\b",
    re.IGNORECASE,
)
_ASKING = ("user", "human", "system", "tool", "ipython", "developer")
# Before a bare "User:" it makes that line a turn of an invented talk; otherwise it may describe what is shown.
_HOLDS_ANSWER = late_pattern(
    r"\b(?:(?-i:[A-HJ-Z])|yes|no|[01]|(?:im)?(?:possible|plausible))\b(?!['-]?\w|:| (?!because|since|as)\w)"
    r"|\b(?:answer|verdict|choice|option)\b[^.!?\n]{0,30}\bis\b|\b(?:would|can)\b|boxed|<answer>",
    re.IGNORECASE,
)
_NO_CONTENT = late_pattern(r"<\|[^|<>\n]{1,40}\|>|</?(?:s|bos|pad|unk)>|[\s*`]+")
# "B", then a question of the model's own.
_NEXT_QUESTION = late_pattern(
    r"(\A\W{0,9}(?:(?:the )?(?:final |correct |best )?answer(?: is)?\W{0,4})?(?:[A-Z]|yes|no|[01]|(?:im)?possible)\b"
    r"[^\n]{0,200}\n)\W{0,9}(?:next )?question\b[^\n]{0,9}:.*",
    re.IGNORECASE | re.DOTALL,
)
_SPLIT_WORD = late_pattern(r"(?<=[^\W\d_]{2})[-\u00ad\u2010](?:\r?\n)[ \t]{0,9}(?=[^\W\d_A-Z]{2})")
FENCE = "```"
_BEFORE = late_pattern(r"(?:<\|?[a-z_]{1,30}\|?>\s{0,9})*", re.IGNORECASE)
_BEHIND = late_pattern(r"(?:\s{0,9}</?\|?[a-z_]{1,30}\|?>)+\Z", re.IGNORECASE)
_BEHIND_CHARS = 100
_SPACES = late_pattern(r"[^\S\n]+")
_BLANK_LINES = late_pattern(r"\n\s*")

_ANSWER_TAGS = "(?:(?:final|your|my)[ _-]?)?(?:answer|choice|option|conclusion|response|verdict|solution)"
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (late_pattern(r"~~[^~\n]{1,200}~~|<(s|del|strike)>[^<\n]{1,200}</\1>", re.IGNORECASE), " "),
    # Two answers side by side are one that names both.
    (late_pattern(rf"</{_ANSWER_TAGS}>\W{{0,9}}<{_ANSWER_TAGS}>", re.IGNORECASE), " or "),
    (late_pattern(r"(\\boxed\s?\{[^{}\n]{1,40})\}[\s,;$]{0,9}(?:and|or)?[\s$]{0,9}\\boxed\s?\{"), r"\1 or "),
    (
        late_pattern(rf"<{_ANSWER_TAGS}>|\[ANSWER\]|<\|?begin_of_(?:box|solution)\|?>", re.IGNORECASE),
        "\nfinal answer: ",
    ),
    (late_pattern(rf"</{_ANSWER_TAGS}>|\[/ANSWER\]|<\|?end_of_(?:box|solution)\|?>", re.IGNORECASE), "\n"),
    (late_pattern(r"<\|[^|<>\n]{1,40}\|>|</?(?:s|bos|eos|pad|unk)>"), "\n"),
    # Mathematics beside an answer: a box with an equation, and what an index names.
    (late_pattern(r"\\f?boxed\s{0,3}\{\s{0,3}(?!answer|ans\b|option|choice)[\w\\]{1,12}\s?=[^{}\n]{0,60}\}"), " "),
    (late_pattern(r"(?<![^\W_])([a-z])_\{?[A-Za-z0-9]{1,3}\}?(?![^\W_])"), r"\1"),
    (late_pattern(r"\\f?boxed\s{0,3}\{?"), " final answer: "),
    (late_pattern(r"\\(?:begin|end)\s?\{[a-zA-Z*]{1,20}\}"), "\n"),
    (late_pattern(r"\\n(?![a-z])"), "\n"),
    (late_pattern(r"\\(?:right|left)?arrow|-->|->|=>|→|⇒|➡"), " → "),
    (late_pattern(r"\\(?:therefore|implies)|∴"), " therefore "),
    (late_pattern(r"\\[a-zA-Z]{1,20}(?:\s{0,2}\{)?|\\[()\[\],;! ]"), " "),
    (late_pattern(r"<([A-Z])>(?!.{0,20}</\1>)"), r"(\1)"),
    (late_pattern(r"<(?:br|p|div|li|hr|h\d)\b[^<>\n]{0,100}>|</(?:p|div|li|h\d)>", re.IGNORECASE), "\n"),
    (late_pattern(r"</?[a-zA-Z][^<>\n]{0,100}>"), ""),
    (late_pattern(r"(?m)^\s{0,4}```[^\n]{0,30}$"), ""),
    (late_pattern(r"(?m)^\s{0,8}(?:#{1,6}|>+|[-*•+])\s{1,4}"), ""),
    (late_pattern(r"[*`$#]|~~+"), ""),
    (late_pattern(r"[_{}\\]"), " "),
    (late_pattern(r"(?i:\b(answer|option|choice|letter))-(?=[A-Za-z]\b)"), r"\1 "),
    (late_pattern(r"\b([Aa]nswer|[Oo]ption|[Cc]hoice|[Ll]etter)([A-Z])\b"), r"\1 \2"),
    (late_pattern(r"\b(ANSWER|OPTION|CHOICE|LETTER)([A-CE-RT-Z])\b"), r"\1 \2"),
    (late_pattern(r"(?i)((?:letter|answer)\s{0,3}(?:is)?\s{0,3}:?\s{0,3}[(\[\"']?)([A-Z])(END)\b"), r"\1\2 \3"),
    (late_pattern(r"\A\s{0,20}([A-Z])END\W{0,20}\Z"), r"\1 END"),
    (late_pattern(r"(?m)(?<![\w'-])([A-Z])-(?=[A-Z][a-z]+ )"), r"\1 - "),
)


def content(text: str) -> str:
    """Return the content of a response without its reasoning, tokens, answer tags and surrounding code fence.

    A text that begins with an object or a fence is looked into no further: what stands in its strings is its own.
    """
    said = text.replace("\ufeff", "").strip()
    if not said.startswith(("{", FENCE)):
        said = answer_part(said)[0]
    said = _BEFORE.sub("", said.strip(), count=1)
    said = f"{said[:-_BEHIND_CHARS]}{_BEHIND.sub('', said[-_BEHIND_CHARS:])}".strip()
    if said.startswith(FENCE) and said.endswith(FENCE) and len(said) >= 2 * len(FENCE):
        fenced = said[len(FENCE) : -len(FENCE)].lstrip(" \t")
        return (fenced[4:] if fenced[:4].lower() == "json" else fenced).strip()
    return said


def answer_part(text: str) -> tuple[str, str]:
    """Return the part of a response that may hold its answer, as written, and a line of its reasoning."""
    visible, closing = _split_reasoning(_own_turn(text))
    return _NEXT_QUESTION.sub(r"\1", visible), closing


def _own_turn(text: str) -> str:
    return _first_turn(_final_channel(_TOOL_CALL.sub(_called_with, _text_parts(_plain_tokens(text)))))


_PARTS_CHARS = 200_000
_PARTS = late_pattern(
    r"\s{0,9}(?:\[\s{0,9})?\{\s{0,9}[\"'](?:type|role)[\"']\s{0,3}:\s{0,3}[\"'](?P<first>\w{1,30})[\"']"
)
_TEXT_PARTS = ("text", "output_text", "refusal")


def _text_parts(text: str) -> str:
    """The text of a message or of its content parts, in JSON or as Python prints it, without its reasoning."""
    parts = _PARTS.match(text) if len(text) <= _PARTS_CHARS else None
    if not parts:
        return text
    written = _BEHIND.sub("", text.strip())
    try:
        said = _said(json.loads(written, strict=False))
    except (ValueError, RecursionError):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes in what the model wrote
                said = _said(ast.literal_eval(written))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            # Broken or cut off: what is written of its reasoning is no answer.
            return text if parts["first"] in _TEXT_PARTS else f"<think>{text}"
    return text if said is None else " ".join(said)


def _said(part: Any) -> list[str] | None:
    """The texts of content parts; None where a value is none."""
    if isinstance(part, list):
        found = [_said(one) for one in part]
        return None if None in found else [text for texts in found for text in texts or ()]
    if isinstance(part, dict) and "content" in part and "role" in part:
        return [part["content"]] if isinstance(part["content"], str) else _said(part["content"] or [])
    if not isinstance(part, dict) or not isinstance(kind := part.get("type"), str):
        return None
    text = part.get(kind, part.get("text")) if kind in _TEXT_PARTS else None
    return [text] if isinstance(text, str) else []


_TOOL_CALL = late_pattern(
    r"(?:<tool_call>\s{0,9}[\w.-]{0,60}\s{0,9})?"
    r"((?:<arg_key>[^<]{1,60}</arg_key>\s{0,9}<arg_value>[^<]{0,4000}(?:</arg_value>\s{0,9}|\Z)){1,20})(?:</tool_call>)?"
)
_ARGUMENT = late_pattern(r"<arg_key>\s*([^<]*?)\s*</arg_key>\s*<arg_value>([^<]*)")


def _called_with(call: re.Match[str]) -> str:
    """The arguments of a tool that a model calls to answer, as a JSON object."""
    return json.dumps(dict(_ARGUMENT.findall(call[1])), ensure_ascii=False)


def _plain_tokens(text: str) -> str:
    """A text without byte order marks, with tokens such as ``<｜end▁of▁sentence｜>`` in ASCII, and with whole words
    where a line's end splits them."""
    text = _SPLIT_WORD.sub("", text.replace("\ufeff", ""))
    return text.replace("<｜", "<|").replace("｜>", "|>").replace("▁", "_") if "｜>" in text else text


def _final_channel(text: str) -> str:
    if final := _FINAL_CHANNEL.search(text):
        return text[final.end() :]
    if bare := _BARE_CHANNEL.match(text):
        reasoning, final_channel, answer = text.partition(_BARE_FINAL)
        if final_channel or bare["speaks"]:
            return answer if final_channel else f"<think>{reasoning[bare.start('speaks') :]}"
    return _OTHER_CHANNEL.sub("<think>", text) if "<|channel|>" in text else text


def _first_turn(text: str) -> str:
    """The first turn of a text that is the model's own and says anything; the whole text where none is."""
    begin = seen = 0
    asks = bare = False
    for turn in _TURN.finditer(text):
        if turn["speaker6"] and not asks:
            continue
        said = text[seen : turn.start()]
        if not asks and (seen > begin or _NO_CONTENT.sub("", said)):
            if turn["speaker4"] and not _HOLDS_ANSWER.search(said):
                seen = turn.start()
                continue
            if not (_REASONS.search(said) and _OWN_TURN_NEXT.match(text, turn.start())):
                return text[begin : turn.start()]
        named = next((name for key, name in turn.groupdict().items() if name and key.startswith("speaker")), "")
        begin = seen = turn.end()
        asks, bare = bool(turn["user"]) or named.lower() in _ASKING, bool(turn["speaker4"])
    return "" if asks and begin and not bare else text[begin:]


def ends_in_reasoning(response: str) -> bool:
    """Whether marked reasoning in a response never closes, as where it used all of its tokens."""
    return _find_reasoning(_own_turn(response))[0] >= 0


def why_unread(reply: Reply) -> UnparsedReason | None:
    """Why there is nothing to read in a reply, whatever is asked; None where there is something."""
    if not reply.text.strip():
        return UnparsedReason.EMPTY
    if reply.cut_off or ends_in_reasoning(reply.text):
        return UnparsedReason.CUT_OFF
    return None if _NO_CONTENT.sub("", answer_part(reply.text)[0]) else UnparsedReason.EMPTY


def _find_reasoning(text: str) -> tuple[int, int, int]:
    """Return the start of reasoning that never closes, and the start and closing-tag position of the last reasoning
    that closes."""
    open_at, close_at, block_at = -1, -1, -1
    for tag in _THINK_TAG.finditer(text):
        if tag["close"] or tag["closed"]:
            close_at, block_at, open_at = tag.end(), tag.start(), -1
        elif open_at < 0 and not (_HEADING.match(tag[0]) and "[/" not in text):
            open_at = tag.start()
    return open_at, close_at, block_at


def _split_reasoning(text: str) -> tuple[str, str]:
    open_at, close_at, block_at = _find_reasoning(text)
    visible = text[max(close_at, 0) : open_at if open_at >= 0 else None]
    if visible.strip():
        return visible, "" if open_at < 0 else _last_line(text[open_at:])
    if answer := _TAGGED_END.search(text, max(open_at, 0, len(text) - 2 * _TAGGED_CHARS)):
        return answer[0], ""
    return "", _last_line(text[open_at:] if open_at >= 0 else text[: max(block_at, 0)])


def _last_line(text: str) -> str:
    return _THINK_TAG.sub("\n", text[-TAIL_CHARS:]).strip().rpartition("\n")[2]


def shorten(text: str) -> str:
    """Squeeze white space and keep both ends of a very long text, so that reading takes bounded time."""
    squeezed = _BLANK_LINES.sub("\n", _SPACES.sub(" ", text.replace("\r", "\n"))).strip()
    is_short = len(squeezed) <= HEAD_CHARS + TAIL_CHARS
    return squeezed if is_short else f"{squeezed[:HEAD_CHARS]}\n…\n{squeezed[-TAIL_CHARS:]}"


@lru_cache(maxsize=RECENT_TEXTS)
def plain_text(text: str) -> str:
    """A text in plain letters, without markup, in which a reader can look for words."""
    text = fold(text)
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return _BLANK_LINES.sub("\n", _SPACES.sub(" ", text)).strip()


_JSON_ATTEMPTS = 24
_LOOSE_CHARS, _LOOSE_ATTEMPTS = 4_000, 4
_SINGLE_QUOTED = late_pattern(r"(?<=[{,:\[\s])'((?:[^'\\\n]|\\.|'(?!\s{0,9}[,:}\]])){0,1000})'(?=\s{0,9}[,:}\]])")
_PYTHON_NAMES = {"True": "true", "False": "false", "None": "null"}
_LOOSE = late_pattern(r"\b(?:True|False|None)\b(?=\s{0,9}[,}\]])|,(?=\s{0,9}[}\]])")
_JSON_DEPTH = 12
_ANSWER_KEY = late_pattern(r"answer|choice|option|prediction|selected|selection|response|result|output|letter|verdict")
_OTHER_KEY = late_pattern(
    r"reason|rationale|expla|why|analysis|thought|evidence|confidence|choices|options|wrong|incorrect"
)
_EXACT_KEYS = ("final", "pred", "label", "value", "text", "id", "key")
# The answer of an object that is broken or cut off.
_FIELD = late_pattern(
    r"""["']([^"'\n]{1,80})["']\s{0,3}:\s{0,3}(?:"""
    r""""([^"\n]{1,300})"|'([^'\n]{1,300})'|([01]|true|false)\b)""",
    re.IGNORECASE,
)
# An answer that no letter can be read from, in what is not quite JSON; reasons that stand before it do not replace it.
_UNREADABLE = late_pattern(
    r"""["'](?:final_?)?(?:answer|choice|prediction)["']\s{0,3}:\s{0,3}"""
    r"""(?:null|None|true|false|True|False|-?\d[\d.]{0,9}|\[\s?\]|""|'')?\s{0,3}(?:[,}]|\Z)"""
)


def json_answers(text: str) -> tuple[list[str], str]:
    """Return the values of the last JSON object with a key such as "answer", and the text without such objects."""
    objects = ((_answer_values(parsed), start, end) for parsed, start, end in json_objects(text))
    found = [(answers, (start, end)) for answers, start, end in objects if answers is not None]
    rest = _without(text, [span for _, span in found])
    opens = rest.find("{")
    fields = [field for field in _FIELD.finditer(rest, opens) if _key_rank(field[1], 0)] if opens >= 0 else []
    if fields and not found:
        ends = max(rest.rfind("}") + 1, len(rest) * (rest.rfind("}") < opens))
        return [fields[0][2] or fields[0][3] or fields[0][4]], rest[:opens] + rest[max(ends, fields[0].end()) :]
    unreadable = max((match.end() for match in _UNREADABLE.finditer(rest)), default=0)
    return found[-1][0] if found else [], rest[unreadable:]


def without_objects(text: str) -> str:
    return _without(text, [(start, end) for _, start, end in json_objects(text)])


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    begins, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return "\n".join(text[begin:end] for begin, end in zip(begins, ends, strict=True))


def mark_flags(text: str, flags: re.Pattern[str], turning: re.Pattern[str], yes: str, no: str) -> str:
    """A text whose objects have their flags, such as `"would_still_happen": false`, as answers.

    A key that turns its flag round ("outcome_changed", "violates_physics") is answered with the opposite.
    """
    numbers = count()

    def answer(flag: re.Match[str]) -> str:
        affirmed = (flag[2].lower() in ("true", "yes", "1")) != bool(turning.search(flag[1]))
        return f'"answer {next(numbers)} {flag[1]}": "{yes if affirmed else no}"'

    return flags.sub(answer, text)


@dataclass(frozen=True)
class OpenedResponse:
    text: str
    values: list[str]
    rest: str
    closing: str
    broken_off: bool
    """Whether it stops before its end, as where it used all of its tokens."""

    @property
    def prose(self) -> str:
        return without_objects(self.rest)


def open_response(said: object, rewrite: Callable[[str], str] = str) -> OpenedResponse:
    """Return the part of a reply, or of its text, that may hold its answer, without marked reasoning and with JSON
    objects separated from prose."""
    reply = as_reply(said)
    return _open(reply.text, rewrite, reply.cut_off)


@lru_cache(maxsize=RECENT_TEXTS)
def _open(text: str, rewrite: Callable[[str], str], broken_off: bool) -> OpenedResponse:
    visible, closing = answer_part(text)
    text = rewrite(shorten(visible))
    values, rest = json_answers(text)
    broken_off = broken_off or breaks_off(rest)
    return OpenedResponse(text, values, committed(rest) if broken_off else rest, shorten(closing), broken_off)


def json_objects(text: str) -> Iterator[tuple[object, int, int]]:
    """The outermost JSON objects of a text, with where each begins and ends; so many attempts are made and no more."""
    decoder = json.JSONDecoder(strict=False)
    at, attempts, loose = text.find("{"), 0, 0
    while at >= 0 and attempts < _JSON_ATTEMPTS:
        attempts += 1
        try:
            parsed, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = text.find("}", at, at + _LOOSE_CHARS) + 1 if loose < _LOOSE_ATTEMPTS else 0
            parsed = _read_loosely(text[at:end]) if end else None
            loose += bool(end)
            if parsed is None:
                at = text.find("{", at + 1)
                continue
        yield parsed, at, end
        at = text.find("{", end)


def _read_loosely(text: str) -> object:
    """A flat object in Python's form or with a comma too many; None where it is none."""
    quoted = _SINGLE_QUOTED.sub(lambda match: json.dumps(match[1].replace("\\'", "'")), text)
    try:
        return json.loads(_LOOSE.sub(lambda match: _PYTHON_NAMES.get(match[0], ""), quoted), strict=False)
    except (ValueError, RecursionError):
        return None


def _answer_values(parsed: object) -> list[str] | None:
    """Return the values under the best answer keys; empty if none of them is text, None if there is no such key."""
    ranked: list[tuple[int, str]] = []
    keyed = False
    stack: list[tuple[Any, int, int]] = [(parsed, 0, 0)]
    while stack:
        node, rank, depth = stack.pop()
        keyed = keyed or bool(rank)
        if isinstance(node, str) and rank:
            ranked.append((rank, node))
        elif isinstance(node, dict) and depth < _JSON_DEPTH:
            stack.extend((value, _key_rank(str(key), rank), depth + 1) for key, value in node.items())
        elif isinstance(node, list) and depth < _JSON_DEPTH:
            stack.extend((value, rank, depth + 1) for value in node)
    best = max((rank for rank, _ in ranked), default=0)
    return [value for rank, value in ranked if rank == best] if keyed else None


def _key_rank(key: str, parent_rank: int) -> int:
    name = key.casefold()
    if _OTHER_KEY.search(name):
        return 0
    if "final" in name or "correct" in name:
        return 3
    if "answer" in name:
        return max(2, parent_rank)
    if _ANSWER_KEY.search(name):
        return max(1, parent_rank)
    return parent_rank if parent_rank and name in _EXACT_KEYS else int(name in ("pred", "label"))
